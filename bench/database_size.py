#!/usr/bin/env python3
"""Size of the database over size of the recorded state, for each example program.

    bench/database_size.py --mneme BIN --examples FOLDER [--device auto|cuda|cpu]

FOLDER holds the examples built recordable. The state is the sum of the prologues of all recorded instances. Prints one line of
JSON a program.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

RUNS = {"vecadd": ["1000000"], "cg": ["24"], "stencil": ["512"], "reduction": ["1000000"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()

    for program, arguments in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder, "db")
            subprocess.run([options.mneme, "record", "--record-db-dir", str(database), "--device", options.device, "--",
                            str(pathlib.Path(options.examples, program)), *arguments], check=True, stdout=subprocess.DEVNULL)
            listed = json.loads(subprocess.run([options.mneme, "ls", "--json", str(database)], check=True, capture_output=True).stdout)
            instances = [instance for kernel in listed["kernels"] for instance in kernel["instances"]]
            state = sum(int(instance["memory_bytes"]) for instance in instances)
            size = sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
            print(json.dumps({"program": program, "arguments": arguments, "instances": len(instances), "state_bytes": state,
                              "database_bytes": size, "database_over_state": round(size / state, 4)}))


if __name__ == "__main__":
    main()
