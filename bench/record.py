#!/usr/bin/env python3
"""What recording costs: programs bare, and recorded by two versions of Mneme, in turn, as medians.

    bench/record.py --before PREFIX --after PREFIX [--device cuda] [--runs 9] [--only NAME]... [--folder DIR] [--scale 1.0]

A PREFIX is where a package was unpacked or Mneme was installed. The programs are the recordable ones of the package --after
(libexec/mneme, from bench/programs), which both versions record. Each line of JSON is one way to record one program, with the
figures that bound it: what the device copies at, and what the disk of --folder takes.

solver        conjugate gradients on 2 GiB, the first launch of each kernel
solver_all    the same, every launch of 10 iterations
slices_all    1 % of 2 GiB changes in each of 200 launches, every launch
kernels       100 kernels of 1 MiB, the first launch of each
large         conjugate gradients on 32 GiB, the first launch of each kernel

"before_compression_gb" is what would be on the disk if pages were not compressed: the pages that were new to the database, and all
files that are no packs of pages. Of `slices` it is told as a multiple of what the launches change, which the program knows.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CASES = {
    "solver": ("solver", [2048, 3], ["--max", "1"]),
    "solver_all": ("solver", [2048, 10], ["--max", "100000"]),
    "slices_all": ("slices", [2048, 200, 100], ["--max", "100000"]),
    "kernels": ("many_kernels", [1024, 1], ["--max", "1"]),
    "large": ("solver", [32768, 3], ["--max", "1"]),
}
# For what the program waited, but `committing`, of which most is done while it goes on.
STAGES = ["opening", "capturing", "hashing", "pinning", "copying", "digesting", "waiting", "ending", "committing"]


def run(command: list[str]) -> float:
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return seconds


def changed_bytes(program: str, sizes: list[int]) -> int | None:
    """How much memory the launches of a program change in all; None where that is not known."""
    if program != "slices":
        return None
    mib, launches, slices = sizes
    return (mib << 20) * launches // slices


def disk_rate(folder: str) -> float:
    """GB/s at which a file of 2 GiB is written and synchronised."""
    block = os.urandom(1 << 24)
    path = pathlib.Path(folder, "rate")
    begin = time.monotonic()
    with path.open("wb") as file:
        for _ in range(128):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    seconds = time.monotonic() - begin
    path.unlink()
    return 128 * len(block) / seconds / 1e9


def recorded(prefix: pathlib.Path, program: list[str], arguments: list[str], device: str, folder: str) -> dict:
    """One recording into an empty database: its seconds, and what `mneme record --json` and the database say."""
    database, told = pathlib.Path(folder, "db"), pathlib.Path(folder, "told.json")
    command = [str(prefix / "bin/mneme"), "record", "-rdb", str(database), "--device", device, "--json", str(told)]
    seconds = run([*command, *arguments, "--", *program])
    result = json.loads(told.read_text())
    result["seconds"] = seconds
    files = [path for path in database.rglob("*") if path.is_file()]
    result["disk_bytes"] = sum(path.stat().st_size for path in files)
    if "new_page_bytes" in result:
        packs = sum(path.stat().st_size for path in files if path.parent.name == "pages")
        result["before_compression_bytes"] = result["new_page_bytes"] + result["disk_bytes"] - packs
    result["state_file_bytes"] = sum(path.stat().st_size for path in files if path.name.startswith("DeviceState"))
    shutil.rmtree(database)
    return result


def measure(name: str, options: argparse.Namespace, folder: str) -> dict:
    program, sizes, arguments = CASES[name]
    sizes = [max(1, int(sizes[0] * options.scale)), *sizes[1:]]
    prefixes = {"before": options.before, "after": options.after}
    command = [str(options.after / "libexec/mneme" / program), *map(str, sizes)]
    bare: list[float] = []
    results: dict[str, list[dict]] = {version: [] for version in prefixes}
    bare_command = [str(options.after / "bin/mneme"), "run", "--device", "cpu", "--", *command] if options.device == "cpu" else command
    for _ in range(options.runs):
        bare.append(run(bare_command))
        for version, prefix in prefixes.items():
            results[version].append(recorded(prefix, command, arguments, options.device, folder))
    line = {"case": name, "command": " ".join([program, *map(str, sizes), *arguments]), "runs": options.runs,
            "bare_s": round(statistics.median(bare), 3), "bare_range_s": [round(min(bare), 3), round(max(bare), 3)]}
    for version, all_results in results.items():
        seconds = [result["seconds"] for result in all_results]
        last = all_results[-1]
        line[version] = {
            "recorded_s": round(statistics.median(seconds), 3),
            "range_s": [round(min(seconds), 3), round(max(seconds), 3)],
            "more_s": round(statistics.median(seconds) - statistics.median(bare), 3),
            "over_bare": round(statistics.median(seconds) / statistics.median(bare), 3),
            "instances": last["recorded"],
            "memory_gb": round(last["memory_bytes"] / 1e9, 3),
            "disk_gb": round(last["disk_bytes"] / 1e9, 3),
            "state_files_gb": round(last["state_file_bytes"] / 1e9, 3),
        }
        if "before_compression_bytes" in last:
            changed = changed_bytes(program, sizes)
            line[version] |= {
                "changed_gb": round(changed / 1e9, 3) if changed else None,
                "new_pages_gb": round(last["new_page_bytes"] / 1e9, 3),
                "before_compression_gb": round(last["before_compression_bytes"] / 1e9, 3),
                "before_compression_over_changed": round(last["before_compression_bytes"] / changed, 3) if changed else None,
            }
        if "copied_bytes" in last:
            copying = statistics.median(result["copying_s"] for result in all_results)
            line[version] |= {
                "copied_gb": round(last["copied_bytes"] / 1e9, 3),
                "copying_s": round(copying, 4),
                "copying_gb_s": round(last["copied_bytes"] / 1e9 / copying, 1) if copying else None,
                "stages_s": {stage: round(statistics.median(result[f"{stage}_s"] for result in all_results), 4)
                             for stage in STAGES if f"{stage}_s" in last},
                "disk_over_copied": round(last["disk_bytes"] / last["copied_bytes"], 3) if last["copied_bytes"] else None,
            }
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, required=True)
    parser.add_argument("--after", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", action="append", choices=CASES)
    parser.add_argument("--folder", help="where the databases are written (default: a temporary folder)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the programs' memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps({"disk_gb_s": round(disk_rate(folder), 2), "processors": os.cpu_count()}), flush=True)
        for name in options.only or CASES:
            print(json.dumps(measure(name, options, folder)), flush=True)


if __name__ == "__main__":
    main()
