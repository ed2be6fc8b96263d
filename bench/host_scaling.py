#!/usr/bin/env python3
"""What a machine's cores give when more of them compile: the limit of whatever is bound by compiling, with nothing of Mneme in it.

    bench/host_scaling.py 15 30 [--seconds 6] [--rounds 3] [--compiler gcc]

For each number, so many processes at once, each compiling the same file of C over and over: compilations a second, and the ratio
to the first number's, scaled. Cores that share caches, memory and power give less each when all of them work: this says how much.
Needs Python 3.9 and a C compiler.
"""

import argparse
import pathlib
import subprocess
import tempfile
import threading
import time

FUNCTION = """
int f{i}(int *p, int n, double *q) {{
  int s = {i};
  for (int k = 0; k < n; ++k) {{
    if (p[k] % {odd} == 1) s += p[k] * {i}; else if (p[k] & {i}) q[k] = s * 1.5 + q[n - k]; else s ^= p[k] << {shift};
    switch (s & 7) {{ case 0: s += 3; break; case 1: s *= 7; break; case 5: p[k] = s; break; default: q[k] -= s; }}
  }}
  return s;
}}
"""


def compilations_a_second(command, at_once, seconds):
    done = [0] * at_once
    end = time.monotonic() + seconds

    def compile_until_the_end(number):
        while time.monotonic() < end:
            subprocess.run(command, check=True)
            done[number] += time.monotonic() < end

    threads = [threading.Thread(target=compile_until_the_end, args=(number,)) for number in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("at_once", nargs="+", type=int, metavar="N", help="processes at once")
    parser.add_argument("--seconds", type=float, default=6, help="for each (6)")
    parser.add_argument("--rounds", type=int, default=3, help="of all numbers in turn (3)")
    parser.add_argument("--compiler", default="gcc", help="a C compiler (gcc)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "functions.c")
        source.write_text("".join(FUNCTION.format(i=i + 1, odd=i + 3, shift=i % 31) for i in range(60)))
        command = [options.compiler, "-O2", "-S", "-o", "/dev/null", str(source)]
        print("| at once | a second | to linear |\n| --- | --- | --- |")
        for _ in range(options.rounds):
            first = None
            for at_once in options.at_once:
                rate = compilations_a_second(command, at_once, options.seconds)
                first = first or rate / at_once
                print(f"| {at_once} | {rate:.1f} | {rate / at_once / first:.3f} |" if first else f"| {at_once} | none was done | – |", flush=True)


if __name__ == "__main__":
    main()
