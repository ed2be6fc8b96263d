#!/usr/bin/env python3
"""What the recorder before the CUDA driver costs a launch that it does not record, of a kernel and of a graph.

    bench/driver_latency.py BUILD [OTHER_BUILD…] [--kernels 1000] [--rounds 5]

Builds driver_latency.c over the driver of the tests, whose launches do nothing, and runs it bare and under `mneme record` of each
build tree, in turn. Prints the time per call of each, in ns: the least of all rounds, and what is added to it. A call of a kernel is also
timed with so much other code between calls that the caches hold nothing else, as after a driver that does something.
"""

import argparse
import pathlib
import subprocess
import tempfile

CUDA_HOME = "/usr/local/cuda-13.0"
OPTIONS = {"no kernel matches": ["--kernels", "nothing_matches"], "--max 1 is reached": ["--max", "1"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", metavar="BUILD", nargs="+", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=1000, help="of the graph")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cuda", default=CUDA_HOME, help="where cuda.h is")
    arguments = parser.parse_args()
    builds = [build.resolve() for build in arguments.builds]
    driver = builds[0] / "lib" / "fake_driver"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        source = pathlib.Path(__file__).with_suffix(".c")
        include = f"-I{arguments.cuda}/include"
        subprocess.run(["clang-22", "-O2", include, source, "-o", program, f"-L{driver}", "-l:libcuda.so.1"], check=True)
        command = [program, builds[0] / "mneme" / "record" / "driver" / "add_one.cubin", str(arguments.kernels), "2000", "300"]
        ways = {"bare": (builds[0], [])}
        for number, build in enumerate(builds):
            for what, options in OPTIONS.items():
                record = [build / "bin" / "mneme", "record", "-rdb", f"{folder}/{number}", "--device", "cuda", "--vass", "1"]
                ways[f"{build}, {what}"] = (build, [*record, *options, "--"])
        best = {}
        for _ in range(arguments.rounds):
            for name, (build, way) in ways.items():
                environment = {"LD_LIBRARY_PATH": f"{driver}:{build}/lib", "PATH": "/usr/bin:/bin"}
                run = subprocess.run([*way, *command], env=environment, check=True, text=True, capture_output=True)
                times = [float(word) for word in run.stdout.split()]
                best[name] = [min(pair) for pair in zip(times, best.get(name, times), strict=True)]
        for name, (kernel, cold, graph) in best.items():
            added = [time - bare for time, bare in zip((kernel, cold, graph), best["bare"], strict=True)]
            print(
                f"{name}: a kernel {kernel:.0f} ns (+{added[0]:.0f}), with other code between {cold:.0f} ns (+{added[1]:.0f}), "
                f"a graph of {arguments.kernels} {graph:.0f} ns (+{added[2]:.0f})"
            )


main()
