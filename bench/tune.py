#!/usr/bin/env python3
"""What tuning finds in recorded kernels, and how fast: time to finish, observations a second, speed-up with its interval, failures.

    bench/tune.py [--sampler NAME,...] [--trials 500] [--device cuda|cpu] [--kernels REGEX] [--json FILE] [--grid] DATABASE ...

Tunes the last recorded launch of every kernel of the databases, one after the other, as `mneme tune` does. After each kernel a line of JSON is
printed and --json is written anew, so that it may be cut off at any time (Ctrl-C, SIGTERM); the table comes at the end. Several samplers
search each launch one after the other, a row of the table for each. Every search begins with nothing compiled: it has a cache of its own.
Needs the Python package, with Optuna for samplers that learn.

  --grid     in place of a search: the exhaustive sweep of 5 pipelines times 16 block sizes, of 1-D kernels such as a vector add
  seconds    of the search, from when the device was ready; "before": until then; "after": measuring winner and baseline in turn
  a second   configurations that were right and measured for themselves, none shared, in those seconds
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import mneme
from mneme.tune import Bool, Categorical, SearchSpace, passes, tune
from mneme.tune.search.samplers import SAMPLERS, source_of


def say(text):
    print(text, file=sys.stderr, flush=True)


def grid_space():
    return SearchSpace(
        {
            "passes": Categorical(passes.DEFAULTS),
            "block.x": Categorical(list(range(64, 1025, 64)), ordered=True),
        }
    )


def instances(options):
    """The last launch of each kernel, with the name of its database; what cannot be read is said."""
    for path in options.database:
        try:
            for kernel in mneme.Database(path).values():
                if len(kernel) and re.search(options.kernels, kernel.demangled):
                    yield pathlib.Path(path).name, kernel[-1]
        except mneme.MnemeError as error:
            say(f"{path}: {error}")


@contextlib.contextmanager
def empty_cache():
    """What one search has compiled is not the next one's."""
    before = os.environ.get("MNEME_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MNEME_CACHE_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["MNEME_CACHE_DIR"]
            if before is not None:
                os.environ["MNEME_CACHE_DIR"] = before


def measure(options, database, instance, number, sampler):
    results = options.results / f"{number:03}-{instance.kernel.hash[:8]}-{sampler}"
    began = time.monotonic()
    study = tune(
        instance,
        grid_space() if options.grid else options.space,
        sampler=sampler,
        trials=None if options.grid else options.trials,
        timeout=options.timeout,
        seed=options.seed,
        config=mneme.Config(execution={"iterations": options.iterations}),
        results_dir=results,
        device=options.device,
        confirm=options.confirm,
        progress=None if options.quiet else True,
    )
    summary = study.summary()
    best = summary.pop("best")
    return {
        "database": database,
        "static_hash": instance.kernel.hash,
        "instance": instance.hash,
        "memory_bytes": instance.memory,
        "sampler": sampler,
        "space": "5 pipelines x 16 blocks" if options.grid else options.space,
        **summary,
        "seconds_after": time.monotonic() - began - study.seconds - study.seconds_before,
        "best": best and {name: best[name] for name in ("number", "config", "time", "registers", "object_size")},
    }


def short(name, width=40):
    name = name.split("(")[0].removeprefix("void ")
    return name if len(name) <= width else name[: width - 1] + "…"


def interval(line):
    found = line["speed_up"]
    if not found:
        return "not confirmed"
    low, high = (f"{found[bound]:.3f}" if found[bound] is not None else "?" for bound in ("low", "high"))
    return f"**{found['value']:.3f}** ({low}–{high}), {found['claim']}"


def print_table(lines):
    head = (
        "kernel",
        "sampler",
        "memory",
        "trials",
        "right",
        "failed, by reason",
        "given up",
        "seconds",
        "before",
        "after",
        "a second",
        "baseline",
        "speed-up",
    )
    print("\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for line in lines:
        failures = ", ".join(f"{kind['count']} {name}" for name, kind in line["failures"].items()) or "none"
        begin = line["baseline"]["begin"]
        row = [
            f"{line['database']}: {short(line['kernel'])}",
            line["sampler"],
            f"{line['memory_bytes'] / 1e6:.1f} MB",
            line["trials"],
            line["complete"],
            failures,
        ]
        row += [
            line["pruned"],
            f"{line['seconds']:.2f}",
            f"{line['seconds_before']:.2f}",
            f"{line['seconds_after']:.2f}",
        ]
        row += [
            f"{line['observations_per_second']:.1f}",
            "–" if begin is None else f"{begin / 1e3:.2f} us",
            interval(line),
        ]
        print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="*")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument(
        "--sampler",
        action="append",
        metavar="NAME[,NAME]",
        help=f"which search: {', '.join(SAMPLERS)}; several are compared, also by giving it again; default: tpe",
    )
    parser.add_argument("--space", default="full")
    parser.add_argument("--grid", action="store_true", help="the sweep in place of a search, see above")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, help="seconds for the search of one kernel")
    parser.add_argument("--iterations", type=int, default=10, help="timed runs of each configuration")
    parser.add_argument("--confirm", type=int, default=10, help="rounds of winner and baseline in turn")
    parser.add_argument("--device", help="cuda or cpu; default: the GPU where there is one")
    parser.add_argument(
        "--kernels",
        default="",
        help="only kernels in whose name the regular expression is found",
    )
    parser.add_argument("--results", help="a folder for the results of each (default: a temporary one)")
    parser.add_argument("--json", help="a file for all that was measured")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args()
    options.samplers = samplers(parser, options)
    return options


def samplers(parser, options):
    """Their names, each of which can be used here."""
    names = [name for text in options.sampler or ["tpe"] for name in text.split(",")]
    if options.grid:
        if options.sampler:
            parser.error("--grid is the sweep in place of a search: it takes no --sampler")
        return ["exhaustive"]
    for name in names:
        if names.count(name) > 1:
            parser.error(f"--sampler: '{name}' is there twice")
        try:
            source_of(name, SearchSpace({"any": Bool()}), objectives=["time"], seed=0)
        except mneme.MnemeError as error:
            parser.error(f"--sampler: {error}")
    return names


def tune_all(options, lines):
    """Adds a line for each kernel and sampler; ends where a search was interrupted."""
    launches = enumerate(instances(options))
    every = ((number, *launch, sampler) for number, launch in launches for sampler in options.samplers)
    for number, database, instance, sampler in every:
        say(f"{database}: {instance.kernel.demangled}, {sampler}")
        try:
            with empty_cache():
                line = measure(options, database, instance, number, sampler)
        except mneme.MnemeError as error:
            say(f"{database}: {instance.kernel.demangled}, {sampler}: {error}")
            continue
        lines.append(line)
        print(json.dumps(line), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(lines, indent=1) + "\n")
        if line["interrupted"]:
            break


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not options.database:
        say("bench/tune.py: no database: give folders that `mneme record` wrote")
        return 64
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        options.results = pathlib.Path(options.results or temporary).resolve()
        options.results.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(KeyboardInterrupt):
            tune_all(options, lines)
    if lines:
        print_table(lines)
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())
