#!/usr/bin/env python3
"""How long a small program takes to start and to end on a GPU, stage by stage: bare, under `mneme run`, and with deployed code.

    bench/deployed_start.py PACKAGE [OTHER_PACKAGE…] [--device auto|cpu] [--runs 9] [--json FILE]

A package is an unpacked one (make dist). The program is start_stages.cu, which the first package has compiled, recordable and plain;
that package records, sweeps and deploys. All ways run in turn. Printed are the medians of each stage in ms:

    start    from before the process is made to main(): the command, the loader, what is preloaded
    driver   cudaGetDeviceCount, which starts the driver
    context  cudaFree(0)
    memory   cudaMalloc and cudaMemset
    first    the first launch, and the wait for it: code is loaded
    more     1000 more launches
    end      from the end of main() to the end of the process

Where nothing else uses the GPU, the driver may bring it up for the first process and down behind the last one. "while held" is the
same with another process that keeps it up.
"""

import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from deployed import deploy, deploy_plain, run

STAGES = ("start", "driver", "context", "memory", "first", "more", "end")


def stages(command, environment):
    """Milliseconds of each stage of one run, and all of it; the program prints the times between them."""
    begin = time.monotonic_ns()
    done = run(command, env={**os.environ, **environment})
    end = time.monotonic_ns()
    if environment or "--tuned" in command:
        if "launches ran the deployed code" not in done.stderr or "of 1001 launches" not in done.stderr:
            sys.exit(f"{command}: {done.stderr}")
    marks = [begin, *map(int, done.stdout.split()[:6]), int(done.stdout.split()[-1])]
    times = [(after - before) / 1e6 for before, after in zip(marks, marks[1:])]
    times[5] += times.pop(6)  # freeing belongs to the work
    return [*times, (end - marks[-1]) / 1e6, (end - begin) / 1e6]


def ways_of(package, device, folder, mark):
    """The commands, by what they are called, and what each has in its environment."""
    mneme = package / "bin" / "mneme"
    on = ["--device", device]
    ways = {f"mneme run{mark}": ([mneme, "run", *on, "--", folder / "recordable"], {})}
    tuned = folder / "app.tuned"
    ways[f"mneme run --tuned{mark}"] = ([mneme, "run", *on, "--tuned", tuned, "--", folder / "recordable"], {})
    if device != "cpu":
        if "CUDA_VISIBLE_DEVICES" not in os.environ:
            # Under a batch system what the system shows is no proof, so that the command starts the driver to count devices.
            ways[f"the same, driver started before it{mark}"] = ([*ways[f"mneme run --tuned{mark}"][0]], {"SLURM_JOB_ID": "1"})
        by_itself = {"MNEME_TUNED": tuned, "MNEME_INTERPOSERS": package / "lib" / "libmneme_tuned.so"}
        ways[f"the same without the command{mark}"] = ([folder / "recordable"], by_itself)
        plain = folder / "plain.tuned"
        if plain.exists():
            ways[f"plain, mneme run --tuned{mark}"] = ([mneme, "run", *on, "--tuned", plain, "--", folder / "plain"], {})
            preloaded = {
                "MNEME_TUNED": plain,
                "LD_PRELOAD": package / "lib" / "libmneme_preload.so",
                "MNEME_DRIVER_INTERPOSER": package / "lib" / "libmneme_tuned.so",
            }
            ways[f"plain, without the command{mark}"] = ([folder / "plain"], preloaded)
    return ways


def table(title, ways, runs, record):
    times = {name: [] for name in ways}
    for _ in range(runs):
        for name, (command, environment) in ways.items():
            times[name].append(stages([str(part) for part in command], {key: str(value) for key, value in environment.items()}))
    print(f"\n{title}, medians of {runs} in ms\n\n| | {' | '.join(STAGES)} | all | least | most |\n|{' --- |' * (len(STAGES) + 4)}")
    for name, all_runs in times.items():
        medians = [statistics.median(column) for column in zip(*all_runs)]
        wholes = [one[-1] for one in all_runs]
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in [*medians, min(wholes), max(wholes)])} |", flush=True)
    record[title] = times


def describe_machine():
    print(f"{len(glob.glob('/dev/nvidia[0-9]*'))} device files")
    try:
        query = "--query-gpu=name,persistence_mode,driver_version"
        print(subprocess.run(["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True).stdout.strip())
    except OSError:
        print("there is no nvidia-smi")
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING"):
        print(f"{name}={os.environ.get(name)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", metavar="PACKAGE", nargs="+", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    packages = [package.resolve() for package in arguments.packages]
    first, device, record = packages[0], arguments.device, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["MNEME_CACHE_DIR"] = f"{folder}/cache"
        programs = first / "libexec" / "mneme"
        (folder / "recordable").symlink_to(programs / "start_stages")
        deploy(first / "bin" / "mneme", device, [folder / "recordable"], folder)
        ways = {}
        if device != "cpu":
            describe_machine()
            (folder / "plain").symlink_to(programs / "start_stages-plain")
            try:
                deploy_plain(first / "bin" / "mneme", device, folder / "plain", folder)
            except SystemExit as failure:  # the ways of the recordable one are worth having without it
                print(f"the plain program is left out of what is deployed: {failure}")
            ways = {"bare": ([folder / "plain"], {}), "recordable, alone": ([folder / "recordable"], {})}
        for package in packages:
            ways |= ways_of(package, device, folder, f", {package.name}" if len(packages) > 1 else "")
        table("alone on the device", ways, arguments.runs, record)
        if device != "cpu":
            with subprocess.Popen([folder / "plain", "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
                holder.stdout.readline()
                table("while held", ways, arguments.runs, record)
                holder.stdin.close()
    if arguments.json:
        arguments.json.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
