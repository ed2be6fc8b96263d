#!/usr/bin/env python3
"""Time from the start of `mneme replay` to its first result, for a snapshot of a given size, and what the database takes.

    bench/replay_startup.py --mneme BIN --vecadd PROGRAM [--gib 2] [--device auto|cuda|cpu] [--runs 3] [--folder DIR]

PROGRAM is examples/vecadd built recordable. Its three arrays make a state of --gib GiB. The first result is that of one
compile, one verified run and one timed run. Prints one line of JSON.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", required=True)
    parser.add_argument("--vecadd", required=True)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", help="where the database is written (default: a temporary folder)")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        elements = int(options.gib * 2**30 / 12)
        record = [options.mneme, "record", "--record-db-dir", folder + "/db", "--max", "1", "--device", options.device]
        start = time.monotonic()
        subprocess.run(record + ["--", options.vecadd, str(elements)], check=True, stdout=subprocess.DEVNULL)
        record_s = time.monotonic() - start
        kernel = next(pathlib.Path(folder, "db").glob("[0-9a-f]*.json"))
        seconds, stages = [], {}
        for _ in range(options.runs):
            start = time.monotonic()
            done = subprocess.run([options.mneme, "replay", "--record-db", str(kernel), "--device", options.device, "--iterations", "1"],
                                  stdout=subprocess.PIPE, text=True, check=False)
            seconds.append(time.monotonic() - start)
            result = json.loads(done.stdout)["result"]
            if done.returncode != 0:
                print(f"the replay ended with {done.returncode}: {result['error']}", file=sys.stderr)
                return 1
            stages = {stage: round(ns / 1e9, 4) for stage, ns in result["times"].items()}
        size = sum(path.stat().st_size for path in pathlib.Path(folder, "db").rglob("*") if path.is_file())
        print(json.dumps({
            "state_bytes": 12 * elements, "device": result["device"], "record_s": round(record_s, 3),
            "first_result_s": [round(s, 3) for s in seconds], "last_run_stages_s": stages,
            "database_bytes": size, "database_over_state": round(size / (12 * elements), 4)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
