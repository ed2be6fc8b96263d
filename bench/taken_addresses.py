#!/usr/bin/env python3
"""How many replays find a recorded address taken, of launches with memory outside of the recorder's range.

    bench/taken_addresses.py PREFIX [--before PREFIX] [--replays 200] [--device auto|cuda|cpu] [--example managed]

PREFIX is a folder that a package was unpacked into; its examples/NAME is recorded. Each replay is a process of its own, with other random addresses; with
--before those of the two take turns. Where `setarch` may switch random addresses off, further replays run without, of a recording that was made so: the
driver then maps its own memory at the same place each time. Prints, for each: replays, those that ended with "try again", and those that ended otherwise
than verified. Exit status: 0 no replay of PREFIX found an address taken and all were verified, 1 else.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def replays(command: list[str], count: int) -> tuple[int, int]:
    """How many of so many replays found an address taken, and how many ended otherwise than verified."""
    taken = wrong = 0
    for _ in range(count):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            continue
        if "try again" in done.stderr:
            taken += 1
        else:
            wrong += 1
        print(done.stderr.strip()[-600:], file=sys.stderr)
    return taken, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix")
    parser.add_argument("--before")
    parser.add_argument("--replays", type=int, default=200)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--example", default="managed")
    options = parser.parse_args()
    fixed = ["setarch", "-R"]
    may_fix = subprocess.run([*fixed, "true"], capture_output=True, check=False).returncode == 0
    versions = [options.prefix, *([options.before] if options.before else [])]
    right = True
    with tempfile.TemporaryDirectory() as folder:
        for addresses, prefix in (("random", []), ("fixed", fixed)):
            if prefix and not may_fix:
                print("fixed: setarch -R is not allowed here")
                continue
            database = str(pathlib.Path(folder) / addresses)
            record = [options.prefix + "/bin/mneme", "record", "-rdb", database, "--max", "1", "--device", options.device, "--"]
            subprocess.run([*prefix, *record, f"{options.prefix}/examples/{options.example}"], check=True, capture_output=True)
            listed = subprocess.run([options.prefix + "/bin/mneme", "ls", "--json", database], check=True, capture_output=True, text=True)
            kernel = json.loads(listed.stdout)["kernels"][0]["static_hash"]
            sums = {version: [0, 0] for version in versions}
            for _ in range(options.replays):
                for version in versions:
                    words = [version + "/bin/mneme", "replay", database, kernel + "#0", "--device", options.device, "--iterations", "1"]
                    for place, one in enumerate(replays([*prefix, *words], 1)):
                        sums[version][place] += one
            for version, (taken, wrong) in sums.items():
                print(f"{addresses} addresses, {version}: {options.replays} replays, {taken} found an address taken, {wrong} not verified", flush=True)
            right = right and sums[options.prefix] == [0, 0]
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
