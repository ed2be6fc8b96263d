#!/usr/bin/env python3
"""What deployed code costs a launch on a GPU, of several packages in turn, and what --verify and --race do with it.

    bench/deployed.py PACKAGE [OTHER_PACKAGE…] [--device auto|cpu] [--rounds 5]

A package is an unpacked one (make dist). The program is launch_rate.cu, which the first package has compiled, recordable and plain; vecadd
and cg are its examples. The first package records, sweeps and deploys. Prints the time of a launch bare, of the recordable program alone,
and with deployed code by each package, in the recordable program and in the plain one: the least of all rounds in turn, and what is added
to bare.
Then the closing lines of `mneme run --tuned --verify 2 --race`, and whether the output is that without.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def deploy(mneme, device, program, folder):
    """Deploys what is found for every kernel of a program, also what is no faster; returns the file."""
    run([mneme, "record", "-rdb", folder / "db", "--device", device, "--max", "1", "--", *program])
    results = []
    for number, name in enumerate(kernels_of(mneme, folder / "db")):
        results.append(folder / f"found{number}")
        run([mneme, "sweep", folder / "db", name, "--device", device, "--iterations", "5", "--grid", "passes=default<O3>", "--results-dir", results[-1]])
    run([mneme, "deploy", *results, "--unconfirmed", "-o", folder / "app.tuned"])
    return folder / "app.tuned"


def deploy_plain(mneme, device, program, folder):
    """As deploy(), of a program whose machine code alone is recorded: the launch is the recorded one."""
    run([mneme, "record", "-rdb", folder / "plain-db", "--device", device, "--max", "1", "--", program])
    run([mneme, "sweep", folder / "plain-db", "--device", device, "--iterations", "5", "--grid", "block.x=128", "--results-dir", folder / "plain-found"])
    run([mneme, "deploy", folder / "plain-found", "--unconfirmed", "-o", folder / "plain.tuned"])


def kernels_of(mneme, database):
    """Names that find one kernel each: demangled, up to the parameters."""
    text = run([mneme, "ls", database]).stdout
    return sorted(set(re.findall(r"([A-Za-z_][A-Za-z_0-9]*)(?:<[^>]*>)?\(", text)))


def launch_times(packages, device, rounds, folder):
    first = packages[0]
    rate = first / "libexec" / "mneme" / "launch_rate"
    tuned = deploy(first / "bin" / "mneme", device, [rate], folder)
    on = ["--device", device]
    ways = {"the recordable program alone": [first / "bin" / "mneme", "run", *on, "--", rate]}
    plain = pathlib.Path(f"{rate}-plain")
    if device != "cpu":
        ways = {"bare": [plain]} | ways
    for package in packages:
        ways[f"deployed code, {package.name}"] = [package / "bin" / "mneme", "run", *on, "--tuned", tuned, "--", rate]
    if device != "cpu":
        # What was not built for recording: before the driver's calls in the place of the runtime's.
        deploy_plain(first / "bin" / "mneme", device, plain, folder)
        for package in packages:
            command = [package / "bin" / "mneme", "run", *on, "--tuned", folder / "plain.tuned", "--", plain]
            ways[f"deployed code before the driver, {package.name}"] = command
    best = {}
    for _ in range(rounds):
        for name, command in ways.items():
            done = run(command)
            if "deployed" in name and not re.search(r"(\d+) of \1 launches ran the deployed code", done.stderr):
                sys.exit(f"{name}: {done.stderr}")
            best[name] = min(float(done.stdout.split()[0]), best.get(name, float("inf")))
    reference = next(iter(best.values()))
    for name, time in best.items():
        print(f"{name}: {time:.0f} ns a launch (+{time - reference:.0f})", flush=True)


def verify(package, device, program, folder):
    mneme = package / "bin" / "mneme"
    tuned = deploy(mneme, device, program, folder)
    plain = run([mneme, "run", "--device", device, "--", *program]).stdout
    done = run([mneme, "run", "--device", device, "--tuned", tuned, "--verify", "2", "--race", "--", *program])
    print(f"{pathlib.Path(program[0]).name}: output {'the same' if done.stdout == plain else 'ANOTHER'}")
    print("    " + done.stderr.strip().replace("\n", "\n    "), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", metavar="PACKAGE", nargs="+", type=pathlib.Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    packages = [package.resolve() for package in arguments.packages]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MNEME_CACHE_DIR"] = f"{folder}/cache"
        places = [pathlib.Path(folder) / name for name in ("rate", "vecadd", "cg")]
        for place in places:
            place.mkdir()
        launch_times(packages, arguments.device, arguments.rounds, places[0])
        examples = packages[0] / "examples"
        verify(packages[0], arguments.device, [examples / "vecadd"], places[1])
        verify(packages[0], arguments.device, [examples / "cg", "10", "100"], places[2])


if __name__ == "__main__":
    main()
