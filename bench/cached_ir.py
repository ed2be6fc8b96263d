#!/usr/bin/env python3
"""Of how many kernels of a program is the LLVM IR found in its compiler's cache, and does that IR make code that does the same?

    bench/cached_ir.py PREFIX [--named REGEX] [--pipeline NAME]... [--iterations 7] [--json FILE] -- PROGRAM [ARGUMENT…]

PREFIX is where a package was unpacked. Records one launch of each kernel and replays every instance whose kernel has IR under each pipeline (left out:
as-built, default<O3>, default<O1>), each in a process of its own. --named says which kernels are the compiler's: `triton_` for torch.compile's. Those of
them without IR are named. Exit status: 0 all that have IR verify, 1 not.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command, limit=300):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit, check=False)


def measured(mneme, database, kernel, instance, pipeline, iterations):
    """(whether it verified or why there is no saying, median ns, registers) of a replay."""
    command = [mneme, "replay", f"{database}/{kernel}.json", "-rid", instance, pipeline, "--iterations", str(iterations), "--json"]
    done = run(command)
    if done.returncode not in (0, 1):
        return (done.stderr.strip().splitlines() or ["nothing was said"])[0], None, None
    result = json.loads(done.stdout)["result"]
    return "verified" if done.returncode == 0 else "differs", result.get("exec_time_stats", {}).get("median"), result.get("reg_usage")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", metavar="PREFIX", type=pathlib.Path)
    parser.add_argument("--named", default="", metavar="REGEX", help="the kernels that the compiler has made, by their names (default: all)")
    parser.add_argument("--pipeline", action="append", metavar="NAME", help="to replay under; repeatable")
    parser.add_argument("--iterations", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    pipelines = options.pipeline or ["as-built", "default<O3>", "default<O1>"]
    mneme = options.prefix / "bin" / "mneme"
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder) / "db"
        done = run([mneme, "record", "-rdb", database, "--device", "cuda", "--max", "1", "--", *options.program])
        if done.returncode != 0:
            sys.exit(f"{' '.join(options.program)} ended with {done.returncode}: {done.stderr[-2000:]}")
        for line in done.stderr.splitlines():
            if line.startswith("mneme: "):
                print(line)
        kernels = json.loads(run([mneme, "ls", "--json", database]).stdout)["kernels"]
        made = [kernel for kernel in kernels if re.search(options.named, kernel["demangled"])]
        with_ir = [kernel for kernel in made if kernel["code"] == "ir"]
        print(f"{len(kernels)} kernels, {len(made)} of the compiler's, {len(with_ir)} of these with IR")
        for kernel in made:
            if kernel["code"] != "ir":
                print(f"without IR ({kernel['code']}): {kernel['demangled']}")
        rows = []
        print("| kernel | " + " | ".join(f"{pipeline}: ns (registers)" for pipeline in pipelines) + " |\n|" + " --- |" * (len(pipelines) + 1))
        for kernel in with_ir:
            for instance in kernel["instances"]:
                outcomes = [measured(mneme, database, kernel["static_hash"], instance["dynamic_hash"], pipeline, options.iterations) for pipeline in pipelines]
                rows.append({"kernel": kernel["demangled"], "outcomes": dict(zip(pipelines, outcomes))})
                cells = [f"{time} ({registers})" if verdict == "verified" else verdict for verdict, time, registers in outcomes]
                print("| " + " | ".join([kernel["demangled"], *cells]).replace("\n", " ") + " |", flush=True)
    for pipeline in pipelines:
        print(f"{pipeline}: {sum(row['outcomes'][pipeline][0] == 'verified' for row in rows)} of {len(rows)} verified")
    if options.json:
        options.json.write_text(json.dumps({"kernels": len(kernels), "made": len(made), "with_ir": len(with_ir), "rows": rows}, indent=1) + "\n")
    return 0 if all(outcome[0] == "verified" for row in rows for outcome in row["outcomes"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
