#!/usr/bin/env python3
"""How near a replay's time is to the time of the same launch in the program, by the same clock.

    bench/fidelity.py --mneme BIN [--device auto|cuda|cpu] [--l2 warm] [--programs FOLDER] ["PROGRAM ARGUMENT..." ...]

Records each program with `mneme record --profile`, replays one instance of each kernel under the recorded configuration, and
prints a table: kernel, its median time in the program, its median time on replay, and the ratio of the two. Programs are recordable
ones: those named, every executable of --programs (its arguments in FILE.args beside it), or without either the examples, which are
taken from the package or compiled. Each program is given --limit seconds.

The program's time is the median of the launches that were not recorded and have the same shape; where there are none, that of the
recorded launch itself (marked *). --l2 says what a timed launch finds in the L2 cache on replay. The default, warm, is what a program
is like that launches its kernels again and again on the same memory, and also what the recorded launch finds, before which all memory
was read. --l2 all prints a column for each.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

L2_MODES = ("warm", "as_it_comes", "cold")
# Enough work for a GPU, and for the CPU device; and launches enough beside those that are recorded.
EXAMPLE_ARGUMENTS = {
    "cuda": {"vecadd": "16000000 20", "cg": "48 2000", "stencil": "4096 20", "reduction": "16000000 20"},
    "cpu": {"vecadd": "100000 20", "cg": "12", "stencil": "120 20", "reduction": "50000 20"},
}
TARGET = 0.03


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, limit):
    """The finished process, or None when it took too long."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def executables(folder, device):
    programs = []
    for path in sorted(pathlib.Path(folder).iterdir()):
        if not path.is_file() or not os.access(path, os.X_OK) or path.name.endswith("-plain"):
            continue
        arguments = path.with_name(path.name + ".args")
        usual = EXAMPLE_ARGUMENTS["cpu" if device == "cpu" else "cuda"].get(path.name.removesuffix("-shared"), "")
        words = arguments.read_text() if arguments.exists() else usual
        programs.append([str(path.resolve()), *shlex.split(words)])
    return programs


def examples(mneme, folder, device):
    """Those of the package, or compiled from an installation's sources."""
    prefix = pathlib.Path(subprocess.check_output([mneme, "config", "prefix"], text=True).strip())
    if (prefix / "examples").is_dir():
        return executables(prefix / "examples", device)
    flags = {key: shlex.split(subprocess.check_output([mneme, "config", key], text=True)) for key in ("cxx", "cxxflags", "ldflags")}
    for source in sorted((prefix / "share/mneme/examples").glob("*/*.cu")):
        say(f"compiling {source.stem}")
        output = pathlib.Path(folder, source.stem)
        subprocess.run([*flags["cxx"], "-O3", "-std=c++17", *flags["cxxflags"], str(source), "-o", str(output), *flags["ldflags"]],
                       check=True)
    return executables(folder, device)


def record(options, program, database):
    command = [options.mneme, "record", "--profile", "-rdb", database, "--device", options.device, "--max", options.max]
    if options.kernels:
        command += ["--kernels", options.kernels]
    done = run([*command, "--", *program], options.limit)
    if done is None:
        say(f"{program[0]}: not done after {options.limit} s")
    elif done.returncode != 0:
        say(f"{program[0]}: exit status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}")
    return done is not None and done.returncode == 0


def choose_instance(document):
    """The one with the most unrecorded launches of its shape; of equal ones the last."""
    timed = [i for i in document["instances"] if i.get("recorded_time")]
    return max(reversed(timed), key=lambda i: i["recorded_time"]["others"]["launches"], default=None)


def replay(options, kernel, instance, l2):
    command = [options.mneme, "replay", "-rdb", kernel, "-rid", instance["dynamic_hash"], "--device", options.device, "--warm-up", "3",
               "--stop", "relative_error", "--relative-error", "0.002", "--min-iterations", "20", "--max-iterations", "200"]
    if l2 != "as_it_comes":
        command += ["--l2", l2]
    done = run([*command, options.pipeline], options.limit)
    if done is None:
        return {"error": f"not done after {options.limit} s"}
    try:
        return json.loads(done.stdout)["result"]
    except (ValueError, KeyError):
        return {"error": done.stderr.strip()}


def measure(options, program, kernel):
    """One line of the table, or None when the kernel has no time in the program."""
    shown = run([options.mneme, "show", "--json", kernel], options.limit)
    document = json.loads(shown.stdout)
    instance = choose_instance(document)
    if instance is None:
        say(f"{document['demangled']}: the recording has no time of it")
        return None
    recorded = instance["recorded_time"]
    others = recorded["others"]
    line = {"program": pathlib.Path(program[0]).name, "kernel": document["demangled"], "grid": instance["grid"], "block": instance["block"],
            "memory_bytes": instance["memory_bytes"], "clock_source": recorded["clock_source"], "launches": others["launches"],
            "program_ns": others.get("median", recorded.get("captured")), "captured_ns": recorded.get("captured"), "replays": {}}
    for l2 in options.modes:
        result = replay(options, kernel, instance, l2)
        times = result.get("exec_time_stats")
        line["replays"][l2] = {"verified": result.get("verified", False), "error": result.get("error"),
                               "replay_ns": times["median"] if times else None,
                               "ratio": times["median"] / line["program_ns"] if times and line["program_ns"] else None,
                               "clock_source": result.get("clock_source"), "clocks": result.get("clocks"),
                               "relative_error": times["relative_error"] if times else None}
    return line


def short(name, width=48):
    name = name.split("(")[0].removeprefix("void ")
    return name if len(name) <= width else name[:width - 1] + "…"


def row(line, modes):
    mark = " " if line["launches"] else "*"
    text = f"{line['program'][:16]:16} {short(line['kernel']):48} {line['program_ns'] / 1e3:11.2f}{mark}"
    for mode in modes:
        replayed = line["replays"][mode]
        if replayed["ratio"] is None:
            text += f"  {'failed':>11} {'':>6}"
        else:
            text += f"  {replayed['replay_ns'] / 1e3:11.2f} {replayed['ratio']:6.3f}{' ' if replayed['verified'] else '!'}"
    return text


def summary(lines, mode):
    ratios = [line["replays"][mode]["ratio"] for line in lines if line["replays"][mode]["ratio"]]
    near = sum(abs(ratio - 1) <= TARGET for ratio in ratios)
    worst = max((abs(ratio - 1) for ratio in ratios), default=0)
    return f"{mode}: {near} of {len(lines)} kernels within {TARGET:.0%}; the furthest is off by {worst:.1%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="*", help="a recordable program with its arguments, as one word")
    parser.add_argument("--mneme", required=True)
    parser.add_argument("--programs", help="a folder of recordable programs")
    parser.add_argument("--device", default="cuda", choices=("auto", "cuda", "cpu"))
    parser.add_argument("--l2", default="warm", choices=(*L2_MODES, "all"))
    parser.add_argument("--pipeline", default="default<O3>", help="what the programs were compiled with")
    parser.add_argument("--kernels", help="only kernels in whose name this expression is found")
    parser.add_argument("--max", default="2", help="instances of each kernel to record")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one program or replay")
    parser.add_argument("--json", help="a file for all that was measured")
    options = parser.parse_args()
    options.modes = L2_MODES if options.l2 == "all" else (options.l2,)
    if options.device == "cpu":
        options.modes = ("as_it_comes",)

    lines = []
    with tempfile.TemporaryDirectory() as folder:
        programs = [shlex.split(program) for program in options.program]
        if options.programs:
            programs += executables(options.programs, options.device)
        if not programs:
            built = pathlib.Path(folder, "programs")
            built.mkdir()
            programs = examples(options.mneme, built, options.device)
        print(f"{'program':16} {'kernel':48} {'program us':>12}" + "".join(f"  {mode + ' us':>11} {'ratio':>6} " for mode in options.modes))
        for number, program in enumerate(programs):
            database = pathlib.Path(folder, f"db{number}")
            if not record(options, program, database):
                continue
            for kernel in sorted(database.glob("[0-9a-f]*.json")):
                line = measure(options, program, kernel)
                if line is None:
                    continue
                lines.append(line)
                print(row(line, options.modes), flush=True)
                for mode, replayed in line["replays"].items():
                    if replayed["error"]:
                        say(f"  {mode}: {replayed['error']}")
    if not lines:
        say("no kernel was measured")
        return 1
    sources = sorted({line["clock_source"] for line in lines} | {r["clock_source"] or "none" for line in lines for r in line["replays"].values()})
    print(f"\nclock: {', '.join(sources)}; * the recorded launch itself, there was no other; ! not as recorded")
    for mode in options.modes:
        print(summary(lines, mode))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(lines, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
