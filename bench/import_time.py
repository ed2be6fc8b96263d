#!/usr/bin/env python3
"""How long `import mneme` takes: the quickest of many fresh interpreters, less what the interpreter takes by itself.

    bench/import_time.py [--runs N] [STATEMENT...]      default: 'import mneme'

The package is taken from where the interpreter that runs this finds it (PYTHONPATH=build/python, or an environment with a wheel).
"""

import argparse
import subprocess
import sys
import time


def seconds(statement):
    """Of one interpreter that runs `statement`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("statements", nargs="*", default=["import mneme"], metavar="STATEMENT")
    arguments = parser.parse_args()
    times = {statement: [] for statement in ["pass", *arguments.statements]}
    for _ in range(arguments.runs):
        for statement, measured in times.items():
            measured.append(seconds(statement))
    bare = min(times.pop("pass"))
    for statement, measured in times.items():
        whole = min(measured)
        print(f"{statement}: {(whole - bare) * 1e3:.0f} ms (the interpreter itself: {bare * 1e3:.0f} ms)")


main()
