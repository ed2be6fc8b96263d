#!/usr/bin/env python3
"""What a point costs each sampler of `mneme tune`, and how good the points are. No device is used.

    bench/sampling.py [--cost] [--search] [--quality] [--trials 500] [--seeds 10] [--seed 1] [--samplers tpe,random,…]

Points are of the space `full` of a launch on a GPU (21 axes in Optuna's terms). They are proposed in batches, and told so many later, as
`mneme tune` does; what they are told is made up.

  --cost      processor time of one core for a point, from the proposal until its result was told, by how many points are known
  --search    processor time of one core for a trial of a whole search, from the proposal to the line in trials.jsonl, where measuring takes no time
  --quality   the best time of all after so many points, over several seeds, with the same made-up kernel: it has one best pipeline, block and
              grid depend on each other, some knobs help only together, some points fail, times have 1 % of noise. 1.00 is the best there is
  own-tpe     Optuna's TPESampler(multivariate=True, constant_liar=True), asked and told as any other
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import pathlib
import random
import statistics
import tempfile
import time
import types
import warnings

import mneme
import optuna
from mneme.results.trials import TrialLog
from mneme.tune import LaunchFacts, Trial
from mneme.tune.arguments import usual_ahead
from mneme.tune.search.loop import Search
from mneme.tune.search.proposals import BATCH
from mneme.tune.search.samplers import source_of
from mneme.tune.space.presets import full

SPACE = full(LaunchFacts((80000, 1, 1), (256, 1, 1), scalars=("n", "a")))
SAMPLERS = ("random", "tpe", "own-tpe", "nsga2", "cmaes")


BEST = 0.85 * 0.82 * 0.95


def cost_of(params):
    """Of a kernel that there is not; or why it fails."""
    passes = params["passes"]
    head, tail = passes[0], passes[1:]
    threads, registers = params["block.x"], params["assembler.max_registers"] or 255
    if registers * threads > 80 * 1024 or (params["specialise.max_threads"] and threads > 512):
        return "invalid_launch"
    if any("unroll" in text for text in tail) and params["specialise.alignment"] and not params["specialise.no_alias"]:
        return "wrong_result"
    cost = {"default<O3>": 1.10, "default<O2>": 1.08, "default<O1>": 1.0, "default<Os>": 1.2, "default<Oz>": 1.3}[head]
    # The best block is another with every grid; few registers want large blocks.
    best = 128 if params["grid"] == "threads" else 512
    cost *= 1 + 0.08 * abs((threads / best - 1) if threads > best else (best / threads - 1))
    cost *= 1.05 if params["grid"] == "threads" else 1.0
    cost *= 1 + 0.15 * abs(registers - (64 if params["specialise.dimensions"] else 96)) / 96
    # A constant unrolls a loop, and then a pass behind it gains.
    if params["specialise.arguments.n"]:
        cost *= 0.85
        gain = sum(text in tail for text in ("function(gvn)", "function(slp-vectorizer)")) if "default<O1>" == head else 0
        cost *= (1.0, 0.92, 0.82)[gain]
    cost *= 0.95 if params["specialise.no_alias"] and params["assembler.load_cache"] == "ca" else 1.0
    cost *= 1 + 0.04 * (3 - params["codegen.level"])
    cost *= 1.1 if params["assembler.level"] == 1 else 1.0
    return cost


def measured(number, params, noise):
    cost = cost_of(params)
    if isinstance(cost, str):
        return Trial(number, params, state="failed", failure=cost)
    return Trial(number, params, state="complete", time=1e5 * cost * noise.gauss(1, 0.01))


def source(name, seed, trials):
    sampler = name
    if name == "own-tpe":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    return source_of(sampler, SPACE, objectives=["time"], seed=seed, trials=trials)


def search(name, seed, trials):
    """Each trial, in the order of the numbers, with the processor time until then in seconds."""
    asked, noise, depth = source(name, seed, trials), random.Random(seed), usual_ahead(trials) // BATCH
    waiting = collections.deque()
    spent = 0.0
    for first in range(0, trials, BATCH):
        began = time.process_time()
        while len(waiting) >= depth:
            for trial in waiting.popleft():
                asked.tell(trial)
        points = asked.propose(min(BATCH, trials - first))
        spent += time.process_time() - began
        waiting.append([measured(number, params, noise) for number, params in points])
        for trial in waiting[-1]:
            yield trial, spent


def print_cost(options):
    parts = range(0, options.trials, 100)
    print("| sampler | " + " | ".join(f"points {first} to {first + 99}" for first in parts) + " |")
    print("|" + " --- |" * (1 + len(parts)))
    for name in options.samplers:
        spent = [seconds for _, seconds in search(name, options.seed, options.trials)]
        cells = [
            f"{(spent[min(first + 100, len(spent)) - 1] - spent[first]) * 1e3 / (min(first + 100, len(spent)) - first):.2f} ms" for first in parts
        ]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


class MadeUpExecutor:
    """Measures nothing: each configuration is done at once."""

    def __init__(self, seed):
        self._source = random.Random(seed)

    def submit(self, config):
        future = concurrent.futures.Future()
        told = {"failed": False, "failure": None, "reason": "", "times": (), "time": self._source.lognormvariate(10, 0.3), "registers": 32}
        told |= {"object_size": 4096, "compile_time": 1e6, "origin": "measured", "shared_with": None}
        future.set_result(types.SimpleNamespace(**told))
        return future


def print_search(options):
    print("| sampler | a trial |\n| --- | --- |")
    for name in options.samplers:
        with tempfile.TemporaryDirectory() as folder:
            log = TrialLog(pathlib.Path(folder) / "trials.jsonl")
            asked, ahead = source(name, options.seed, options.trials), usual_ahead(options.trials)
            began = time.process_time()
            search = Search(SPACE, asked, mneme.Config(), trials=options.trials, ahead=ahead, prune=False, on_trial=log.append)
            search.run(MadeUpExecutor(options.seed))
            log.close()
            print(f"| {name} | {(time.process_time() - began) * 1e3 / options.trials:.2f} ms |", flush=True)


def print_quality(options):
    afters = [after for after in (100, 300, 500, 1000) if after <= options.trials]
    print("| sampler | " + " | ".join(f"best of {after}" for after in afters) + " | failed | different |")
    print("|" + " --- |" * (3 + len(afters)))
    for name in options.samplers:
        found, failed, different = collections.defaultdict(list), [], []
        for seed in range(options.seed, options.seed + options.seeds):
            trials = [trial for trial, _ in search(name, seed, options.trials)]
            for after in afters:
                found[after].append(min(cost_of(trial.params) for trial in trials[:after] if trial.time) / BEST)
            failed.append(sum(trial.state == "failed" for trial in trials))
            different.append(len({str(trial.params) for trial in trials}))
        cells = [f"{statistics.median(found[after]):.3f} ({min(found[after]):.3f}–{max(found[after]):.3f})" for after in afters]
        print("| " + " | ".join([name, *cells, f"{statistics.mean(failed):.0f}", f"{statistics.mean(different):.0f}"]) + " |", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samplers", type=lambda text: text.split(","), default=SAMPLERS)
    return parser.parse_args()


def main():
    options = arguments()
    parts = {"cost": print_cost, "search": print_search, "quality": print_quality}
    wanted = [name for name in parts if getattr(options, name)]
    for name in wanted or parts:
        parts[name](options)


if __name__ == "__main__":
    main()
