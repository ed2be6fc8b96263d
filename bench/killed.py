#!/usr/bin/env python3
"""What a kill loses: a program that is recorded with all its launches is killed at several points of its run, and what opening the
database lists afterwards is compared with what the program had launched.

    bench/killed.py --prefix PREFIX [--device cuda] [--runs 9] [--folder DIR] [MIB [LAUNCHES [SLICES]]]

A PREFIX is where a package was unpacked or Mneme was installed. The program is `slices` (bench/programs), which writes one of SLICES
parts of MIB mebibytes in each launch: 2048, 400 and 100 without arguments. Each run is a line of JSON, the last one sums up. The launch
that is under way when the program is killed is one of the lost, and one more may be (`mneme record --in-flight`). A run whose program had ended by itself, or had not begun, tells nothing,
and does not count.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def children(process: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def runs(process: int, program: pathlib.Path) -> bool:
    """Whether the process is the program: neither what is about to become it, nor one that has ended, nor another one."""
    try:
        return pathlib.Path(f"/proc/{process}/exe").samefile(program)
    except OSError:
        return False


class Recording:
    """One run of the program under `mneme record`, into an empty database."""

    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self.database, self.told = pathlib.Path(folder, "db"), pathlib.Path(folder, "told.json")
        self.mneme = str(options.prefix / "bin/mneme")
        shutil.rmtree(self.database, ignore_errors=True)
        self.told.unlink(missing_ok=True)
        command = [self.mneme, "record", "-rdb", str(self.database), "--max", "all", "--device", options.device, "--json", str(self.told)]
        self.program = options.prefix / "libexec/mneme/slices"
        self.begin = time.monotonic()
        program = [str(self.program), *map(str, options.sizes)]
        self.process = subprocess.Popen([*command, "--", *program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill(self) -> None:
        for child in children(self.process.pid):
            if runs(child, self.program):
                os.kill(child, signal.SIGKILL)

    def end(self) -> dict:
        """How many launches were seen, and how many are listed once the database was opened. `seconds` are those of the recording, and
        `killed` is whether the program was, as `mneme record` exits as it does."""
        _, words = self.process.communicate()
        seconds = time.monotonic() - self.begin
        if not self.told.exists():
            sys.exit(f"mneme record ended with {self.process.returncode}: {words[-2000:]}")
        told = json.loads(self.told.read_text())
        listed = subprocess.run([self.mneme, "ls", "--json", str(self.database)], capture_output=True, text=True, check=False)
        kernels = json.loads(listed.stdout)["kernels"] if listed.stdout else []
        return {"seconds": round(seconds, 2), "killed": self.process.returncode == -signal.SIGKILL, "seen": told["launches"],
                "recorded": told["recorded"], "being_stored": told["being_stored_at_the_end"],
                "listed": sum(len(kernel["instances"]) for kernel in kernels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--folder", help="where the database is written (default: a temporary folder)")
    parser.add_argument("sizes", type=int, nargs="*", default=[2048, 400, 100])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        whole = Recording(options, folder).end()
        print(json.dumps({"whole": True, **whole}), flush=True)
        lost = []
        for run in range(options.runs):
            recording = Recording(options, folder)
            time.sleep(whole["seconds"] * (0.1 + 0.8 * run / max(1, options.runs - 1)))
            recording.kill()
            after = recording.end()
            if after["killed"]:
                lost.append(after["seen"] - after["listed"])
                after["lost"] = lost[-1]
            print(json.dumps(after), flush=True)
        if not lost:
            sys.exit("no kill has met the program: give it more or larger launches")
        print(json.dumps({"kills": len(lost), "lost_median": statistics.median(lost), "lost_most": max(lost)}), flush=True)


if __name__ == "__main__":
    main()
