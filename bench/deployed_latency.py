#!/usr/bin/env python3
"""What deployed code in the place of a launch costs it before the CUDA driver, beside the code itself.

    bench/deployed_latency.py BUILD [OTHER_BUILD…] [--rounds 5] [--count]

Builds driver_latency.c over the driver of the tests, whose launches do nothing, and runs it bare and with a file of deployed code that
covers every launch, with the interposers of each build tree, in turn. Prints the least time of a launch of all rounds, and what is
added. --count prints the instructions of a launch in place of times, which valgrind counts: they are the same again.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

CUDA_HOME = "/usr/local/cuda-13.0"


def instructions(command, environment, calls):
    """Instructions of a launch: those of a run with so many launches more, divided by these."""
    totals = []
    for count in (1000, 1000 + calls):
        run = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command, str(count), "1"]
        said = subprocess.run(run, env=environment, check=True, text=True, capture_output=True).stderr
        totals.append(int(re.search(r"Collected : (\d+)", said).group(1)))
    return (totals[1] - totals[0]) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", metavar="BUILD", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", action="store_true", help="instructions in place of times")
    parser.add_argument("--cuda", default=CUDA_HOME, help="where cuda.h is")
    arguments = parser.parse_args()
    builds = [build.resolve() for build in arguments.builds]
    driver = builds[0] / "lib" / "fake_driver"
    cubin = builds[0] / "mneme" / "record" / "driver" / "add_one.cubin"
    with tempfile.TemporaryDirectory() as folder:
        program, tuned = pathlib.Path(folder) / "program", pathlib.Path(folder) / "app.tuned"
        source = pathlib.Path(__file__).with_name("driver_latency.c")
        subprocess.run(["clang-22", "-O2", f"-I{arguments.cuda}/include", source, "-o", program, f"-L{driver}", "-l:libcuda.so.1"], check=True)
        subprocess.run([builds[0] / "bin" / "mneme_bench_deployed_code_file", cubin, "add_one", tuned], check=True)
        usual = {"LD_LIBRARY_PATH": f"{driver}:{builds[0]}/lib", "PATH": "/usr/bin:/bin"}
        ways = {"bare": usual}
        for build in builds:
            ways[str(build)] = usual | {
                "LD_PRELOAD": str(build / "lib" / "libmneme_preload.so"),
                "MNEME_DRIVER_INTERPOSER": str(build / "lib" / "libmneme_tuned.so"),
                "MNEME_TUNED": str(tuned),
            }
        command, best = [program, cubin, "1"], {}
        for _ in range(1 if arguments.count else arguments.rounds):
            for name, environment in ways.items():
                if arguments.count:
                    best[name] = instructions(command, environment, 10000)
                    continue
                run = subprocess.run([*command, "100000", "20"], env=environment, check=True, text=True, capture_output=True)
                if name != "bare" and "2000000 of 2000000 launches ran the deployed code" not in run.stderr:
                    raise SystemExit(run.stderr)
                best[name] = min(float(run.stdout.split()[0]), best.get(name, 1e30))
        unit = "instructions" if arguments.count else "ns"
        for name, value in best.items():
            print(f"{name}: {value:.1f} {unit} a launch (+{value - best['bare']:.1f})")


main()
