#!/usr/bin/env python3
"""What being recordable costs a kernel launch while nothing is recorded.

    bench/launch_latency.py BUILD [CC]

Builds launch_latency.c plain and recordable over the CUDA runtime of the tests, whose functions do nothing, and prints the time per
call of each, in ns. The difference is what the trampoline adds; a real launch takes some microseconds.
"""

import pathlib
import subprocess
import sys
import tempfile


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    compiler = sys.argv[2] if len(sys.argv) > 2 else "clang-22"
    source = pathlib.Path(__file__).with_suffix(".c")
    lib = build / "lib"
    stub = [str(lib / "libmneme_stub_cudart.so"), f"-Wl,-rpath,{lib}"]
    flags = {"plain": stub, "recordable": [str(lib / "libmneme_runtime.a"), f"-Wl,@{lib / 'mneme' / 'wrap.rsp'}", *stub, "-ldl"]}
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, extra in flags.items():
            program = pathlib.Path(folder) / name
            subprocess.run([compiler, "-O2", source, "-o", program, *extra], check=True)
            times[name] = float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
            print(f"{name}: {times[name]:.2f} ns a call")
    print(f"added: {times['recordable'] - times['plain']:.2f} ns a call")


main()
