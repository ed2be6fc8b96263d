#!/usr/bin/env python3
"""Mneme beside what else finds a kernel's fastest configuration: Kernel Tuner, Nsight Compute and Triton's autotuner, in one run on one GPU.

    bench/peers/compare.py [--only WORD ...] [--works WORD ...] [--json FILE] [--limit SECONDS]

The vector add and the matvec of the examples under the same blocks, grids, assembler levels and register caps, and a matrix product in
Triton in the same tiles. Prints a table in Markdown, and with --json keeps what it is made of as it comes. Everything begins with nothing
compiled. A part that cannot be measured (no Kernel Tuner, no ncu, no Triton) says why, and the others go on; so does one that takes longer
than --limit: what it has by then counts. Needs Python 3.9; Kernel Tuner and CuPy, ncu, and Triton with PyTorch for their own parts.

  verified a second   observations that were checked, over the seconds in which they were measured, compiling included: the rate of a search
  best after          from the start of the first command until every configuration is measured, so that the best is known; recording the
                      program, or making the inputs, is in it
  fastest             the least median (Triton, Nsight Compute: what they tell) of the launches of one configuration
"""

import argparse
import csv
import json
import os
import pathlib
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
START = time.monotonic()
ITERATIONS = 7

BLOCKS = list(range(64, 1025, 64))
PIPELINES = "passes=default<O1>|default<O2>|default<O3>|default<Os>|default<Oz>"
WORKS = {
    "vector add": {"program": "vecadd", "kernel": "add", "blocks": BLOCKS, "grids": [1024], "levels": [2, 3], "registers": [None, 32]},
    "matvec": {"program": "cg", "kernel": "matvec", "blocks": [64, 96, 128, 160], "grids": [792, 1056], "levels": [2, 3], "registers": [None, 64]},
}

# What a tool checks of an observation, and what its user does to the application.
CHECKED = {
    "Mneme": "all memory after the verified and the last timed launch, to the byte",
    "Kernel Tuner": "the output, once before the timed launches, to 1e-6",
    "Nsight Compute": "nothing; the program may check itself",
    "Triton's autotuner": "nothing",
}
CHANGED = {
    "Mneme": "flags of its build",
    "Mneme, Triton": "nothing",
    "Kernel Tuner": "the kernel's text taken out, inputs and right outputs made anew in Python",
    "Nsight Compute": "nothing, but other configurations: an edit and a build for each",
    "Triton's autotuner": "a decorator with a list of configurations",
}


def say(text):
    print(f"{time.monotonic() - START:6.1f} s  {text}", file=sys.stderr, flush=True)


class Failed(Exception):
    """One part could not be measured; the others go on."""


def run(options, command, *, any_status=False):
    """The output and the errors of a command, and its seconds; Failed where it ends with another status than 0 or is not done in time. A
    program that is cut short may say so by its status: with `any_status` the caller looks whether there is what was asked for."""
    began = time.monotonic()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, **options.caches})
    try:
        out, errors = child.communicate(timeout=options.limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failed(f"{shlex.join(map(str, command))[:200]}: not done after {options.limit:g} s") from None
    if child.returncode != 0 and not any_status:
        raise Failed(f"{shlex.join(map(str, command))[:200]}: status {child.returncode}: {(errors or out).strip()[-1500:]}")
    return out, errors, time.monotonic() - began


def last_json(text):
    """What a part's own script printed on its last line."""
    lines = text.strip().splitlines()
    if not lines:
        raise Failed("it printed nothing")
    return json.loads(lines[-1])


# Programs.


def find_mneme():
    packed = HERE.parents[3] / "bin" / "mneme"
    return str(packed) if packed.exists() else "mneme"


def prefix(options):
    return pathlib.Path(subprocess.check_output([options.mneme, "config", "prefix"], text=True).strip())


def source_of(options, work):
    name = work["program"]
    for folder in (prefix(options) / "share/mneme/examples", HERE.parents[1] / "examples"):
        if (folder / name / f"{name}.cu").exists():
            return folder / name / f"{name}.cu"
    raise Failed(f"there is no source of the example {name}")


def program_of(options, work, plain=""):
    program = prefix(options) / "examples" / (work["program"] + plain)
    if not os.access(program, os.X_OK):
        raise Failed(f"there is no {program}: this runs in an unpacked package")
    return program


def arguments_of(options, name):
    return [str(options.elements)] if name == "vector add" else [str(options.cells), "1"]


# Mneme.


def sweep(options, database, kernel, grid):
    """A sweep that shares nothing, so that each configuration is an observation: what it told, and the seconds of its command."""
    results = pathlib.Path(tempfile.mkdtemp(dir=options.folder), "results")
    command = [options.mneme, "sweep", "--rdb", database, kernel, "--device", options.device, "--iterations", ITERATIONS, "--no-share", "--json",
               "--results-dir", results]
    for axis in grid:
        command += ["--grid", axis]
    out, _, seconds = run(options, command)
    told = json.loads(out)
    for reason, kind in told["failures"].items():
        say(f"  {kind.get('count', kind) if isinstance(kind, dict) else kind} configurations: {reason}")
    return told, seconds


def line_of_sweep(tool, told, **more):
    return {"tool": tool, "configurations": told["total"], "observations": told["measured"], "verified": told["verified"],
            "verified_per_second": told["verified"] / told["rate"]["seconds"], "seconds_measuring": told["rate"]["seconds"],
            "best": told["best"][0]["time"] if told["best"] else None, "best_values": told["best"][0]["values"] if told["best"] else None, **more}


def grid_of(work, device):
    """The work's axes as a sweep takes them; the CPU device has neither an assembler nor registers."""
    values = {"block.x": work["blocks"], "grid.x": work["grids"]}
    if device == "cuda":
        values |= {"assembler.level": work["levels"], "assembler.max_registers": work["registers"]}
    return [f"{key}={'|'.join('null' if value is None else str(value) for value in axis)}" for key, axis in values.items()]


def mneme_part(options, name, work):
    database = options.folder / f"{work['program']}-recorded"
    record = [options.mneme, "record", "-rdb", database, "--device", options.device, "--max", "1", "--kernels", f"^{work['kernel']}\\("]
    _, errors, recording = run(options, [*record, "--", program_of(options, work), *arguments_of(options, name)], any_status=True)
    if not any(database.glob("[0-9a-f]*.json")):
        raise Failed(f"recording {work['program']}: {errors.strip()}")
    same, grid = f"{recording:.2f} s of recording in it", grid_of(work, options.device)
    told, seconds = sweep(options, database, work["kernel"], [*grid, "passes=default<O3>"])
    yield line_of_sweep("Mneme", told, seconds_recording=recording, seconds_until_best=recording + seconds, note=same)
    told, seconds = sweep(options, database, work["kernel"], [*grid, PIPELINES])
    yield line_of_sweep("Mneme, five pipelines too", told, seconds_recording=recording, seconds_until_best=recording + seconds, note=same)


# The others, on the examples.


def kernel_tuner_part(options, name, work):
    asked = {**work, "name": name, "source": str(source_of(options, work)), "iterations": ITERATIONS, "within": 0.7 * options.limit,
             "size": options.elements if name == "vector add" else options.cells}
    out, _, seconds = run(options, [options.python, HERE / "kernel_tuner_search.py", json.dumps(asked)])
    told = last_json(out)
    for reason in told.pop("problems"):
        say(f"  {reason}")
    yield {"tool": "Kernel Tuner", "seconds_until_best": seconds if told["observations"] == told["configurations"] else None,
           "verified_per_second": told["verified"] / told["seconds_measuring"], **told}


def nsight_part(options, name, work):
    """One run of the program is one observation: Nsight Compute replays the launch as often as its counters need, and changes nothing of it."""
    ncu = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin:/opt/nvidia/nsight-compute")
    if ncu is None:
        raise Failed("there is no ncu here")
    command = [ncu, "--replay-mode", "kernel", "--clock-control", "none", "--kernel-name", f"regex:^{work['kernel']}$", "--launch-count", "1",
               "--section", "SpeedOfLight", "--section", "MemoryWorkloadAnalysis", "--section", "Occupancy", "--csv", "--page", "raw",
               "--print-units", "base", "--metrics", "gpu__time_duration.sum", program_of(options, work, "-plain"), *arguments_of(options, name)]
    durations, seconds = [], []
    for _ in range(3 if name == "vector add" else 1):
        out, _, took = run(options, command, any_status=True)
        seconds.append(took)
        durations.append(nsight_duration(out))
    a_run = statistics.median(seconds)
    yield {"tool": "Nsight Compute", "configurations": 1, "observations": len(durations), "verified": 0, "verified_per_second": 0.0,
           "observations_per_second": 1 / a_run, "seconds_measuring": sum(seconds), "seconds_until_best": None, "best": min(durations),
           "note": f"{a_run:.2f} s a run of the program; one configuration"}


def nsight_duration(out):
    """
    >>> nsight_duration('==PROF== 9 passes\\n"ID","Kernel Name","gpu__time_duration.sum"\\n"","","ns"\\n"0","add(const float *)","61,024"\\n')
    61024.0
    """
    rows = list(csv.reader(line for line in out.splitlines() if line.startswith('"')))
    try:
        column = rows[0].index("gpu__time_duration.sum")
        return float(rows[2][column].replace(",", ""))
    except (IndexError, ValueError):
        raise Failed(f"no duration in what ncu printed: {out.strip()[-600:]}") from None


# A matrix product in Triton.


def autotuner_part(options, name, work):
    out, _, seconds = run(options, [options.python, HERE / "triton_matmul.py", "autotune", str(options.side)])
    told = last_json(out)
    yield {"tool": "Triton's autotuner", "verified": 0, "verified_per_second": 0.0, "seconds_until_best": seconds,
           "observations_per_second": told["observations"] / told["seconds_measuring"], **told}


def mneme_triton_part(options, name, work):
    """Each tile is a kernel of its own in the recording; Mneme measures Triton's code of it and what other pipelines make of its IR."""
    database = options.folder / "triton-recorded"
    options.caches["TRITON_CACHE_DIR"] = str(options.folder / "triton-of-recording")  # the program compiles as it would without the autotuner
    _, errors, recording = run(options, [options.mneme, "record", "-rdb", database, "--kernels", "^matmul", "--max", "1", "--", options.python,
                                         HERE / "triton_matmul.py", "launch", str(options.side)])
    say("  " + " / ".join(line for line in errors.splitlines() if line.startswith("mneme:"))[:300])
    listed, _, _ = run(options, [options.mneme, "ls", "--json", database])
    kernels = [kernel["static_hash"] for kernel in json.loads(listed)["kernels"] if kernel["instances"]]
    pipelines = ["passes=as-built|default<O2>|default<O3>"]
    told, seconds = [], 0.0
    for kernel in kernels:
        one, took = sweep(options, database, kernel, pipelines)
        told, seconds = [*told, one], seconds + took
    if not told:
        raise Failed("no matrix product was recorded")
    best = min((one["best"][0] for one in told if one["best"]), key=lambda found: found["time"])
    all_of = {key: sum(one[key] for one in told) for key in ("total", "measured", "verified")}
    yield line_of_sweep("Mneme, Triton", {**all_of, "best": [best], "rate": {"seconds": sum(one["rate"]["seconds"] for one in told)}},
                        kernels=len(kernels), seconds_recording=recording, seconds_until_best=recording + seconds,
                        note=f"{len(kernels)} tiles, a sweep each; {recording:.2f} s of recording in it")
    yield from tune_line(options, database, min(zip(told, kernels), key=lambda pair: pair[0]["best"][0]["time"] if pair[0]["best"] else 1e300)[1], recording)


def tune_line(options, database, kernel, recording):
    """`mneme tune` of the fastest tile; nothing where the Python package is not there."""
    if shutil.which("mneme-tune") is None:
        say("  mneme tune: the Python package is not there")
        return
    out, _, seconds = run(options, [options.mneme, "tune", database, kernel, "--trials", "100", "--seed", "1", "--space", "compiler", "--json", "--quiet",
                                    "--results-dir", pathlib.Path(tempfile.mkdtemp(dir=options.folder), "results")])
    told = json.loads(out)
    best = (told.get("best") or {}).get("time")
    yield {"tool": "Mneme, Triton: mneme tune", "configurations": told["trials"], "observations": told["observations"], "verified": told["complete"],
           "verified_per_second": told["observations_per_second"], "seconds_measuring": told["seconds"], "seconds_until_best": recording + seconds,
           "best": best if best is None or isinstance(best, (int, float)) else best.get("median"), "note": "100 trials of the fastest tile's compilation"}


# All of it.

PARTS = {"mneme": mneme_part, "kernel-tuner": kernel_tuner_part, "nsight": nsight_part}
TRITON_PARTS = {"triton": autotuner_part, "mneme": mneme_triton_part}


def parts_of(options):
    works = [(name, work, part, function) for name, work in WORKS.items() for part, function in PARTS.items()]
    works += [("matrix product", None, part, function) for part, function in TRITON_PARTS.items()]
    return [entry for entry in works if (not options.only or entry[2] in options.only) and (not options.works or any(word in entry[0] for word in options.works))]


def measure_all(options, lines):
    for name, work, part, function in parts_of(options):
        say(f"{name}, {part}")
        try:
            for line in function(options, name, work):
                lines.append({"work": name, **line})
                say(f"  {line['tool']}: {line['verified']} verified, {line['verified_per_second']:.1f} a second")
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(lines, indent=1) + "\n")
        except (Failed, OSError, KeyError, ValueError, subprocess.SubprocessError) as reason:
            lines.append({"work": name, "tool": part, "problem": f"{type(reason).__name__}: {reason}"})
            say(f"  {part}: {reason}")


def shown(value, digits, unit=""):
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def table(lines):
    head = ("work", "tool", "configurations", "measured", "verified a second", "best after", "fastest", "checks", "the application changes by", "")
    rows = [head, ["---"] * len(head)]
    for line in lines:
        if "problem" in line:
            rows.append([line["work"], line["tool"], *["–"] * 7, "could not be measured"])
            continue
        tool = line["tool"]
        general = tool.split(",")[0] if tool.startswith("Mneme") else tool
        changed = CHANGED["Mneme, Triton"] if tool.startswith("Mneme, Triton") else CHANGED[general]
        rate = shown(line["verified_per_second"], 1)
        if line.get("observations_per_second"):
            rate = f"0 ({line['observations_per_second']:.2f} unverified)"
        fastest = "–" if line["best"] is None else f"{line['best'] / 1e3:.2f} us"
        rows.append([line["work"], tool, str(line["configurations"]), str(line["observations"]), rate, shown(line["seconds_until_best"], 2, " s"), fastest,
                     CHECKED[general], changed, line.get("note", "")])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", default=find_mneme(), help="the command (default: of this package, or on the PATH)")
    parser.add_argument("--python", default=sys.executable, help="the Python that has Kernel Tuner, CuPy and Triton")
    parser.add_argument("--only", action="append", choices=sorted({*PARTS, *TRITON_PARTS}), help="only this part; repeatable")
    parser.add_argument("--works", action="append", metavar="WORD", help="only works with the word in their name; repeatable")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: Mneme's parts on the CPU device, to try the script")
    parser.add_argument("--elements", type=int, default=20_500_000, help="of each vector (default: 82 MB)")
    parser.add_argument("--cells", type=int, default=183, help="of the matrix along an edge (default: 2.2 GB of state)")
    parser.add_argument("--side", type=int, default=2048, help="of the matrices in Triton")
    parser.add_argument("--limit", type=float, default=35, help="seconds for each command (default: 35)")
    parser.add_argument("--json", metavar="FILE", help="what the table is made of, kept as it comes")
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(prefix="mneme-peers-") as folder:
        options.folder = pathlib.Path(folder)
        options.caches = {"MNEME_CACHE_DIR": f"{folder}/mneme", "CUPY_CACHE_DIR": f"{folder}/cupy", "TRITON_CACHE_DIR": f"{folder}/triton",
                          "CUDA_CACHE_PATH": f"{folder}/cuda"}
        measure_all(options, lines)
    print(table(lines))
    for line in lines:
        if "problem" in line:
            print(f"\n{line['work']}, {line['tool']}: {line['problem']}")
    return 0 if any("problem" not in line for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
