#!/usr/bin/env python3
"""What recording costs: programs bare, and recorded by two versions of Mneme, in turn, as medians.

    bench/record.py --before PREFIX --after PREFIX [--device cuda] [--runs 9] [--only NAME]... [--program 'COMMAND']...
                    [--every 'COMMAND']...
                    [--folder DIR] [--memory-folder /dev/shm] [--scale 1.0]

A PREFIX is where a package was unpacked or Mneme was installed. The programs are the recordable ones of the package --after
(libexec/mneme, from bench/programs), which both versions record. Each line of JSON is one way to record one program.

solver        conjugate gradients on 2 GiB, the first launch of each kernel
solver_all    the same, every launch of 10 iterations
solver_200    the same on 512 MiB, every launch of 200 iterations
slices_all    1 % of 2 GiB changes in each of 200 launches, every launch
kernels       100 kernels of 1 MiB, the first launch of each
large         conjugate gradients on 32 GiB, the first launch of each kernel
slices_10000  1 % of 64 MiB changes in each of 10,000 launches, every launch
COMMAND       a program of somebody else, the first launch of each kernel: --program './main -nx 184 -ny 184 -nz 184'; with --every
              every launch

What bounds a recording is measured in the same run: the rate at which the device copies to pinned memory ("bus"), and the rate at
which the folder's disk takes a file as large as the database, of 256 MiB to 2 GiB ("disk"), without the page cache; where that is
refused, with it and synced. The program waits for the copies, and at its end for the disk, which can take what was recorded from the
first launch on. So it cannot end before bare + bus, nor before the disk has all: "bound_s" is the later of the two, and "over_bound"
what the recording took over it. With --memory-folder a recording of each program is also written there, for which no disk is waited:
what is left then is the recorder's part.

"before_compression_gb" is what would be on the disk if pages were not compressed: the pages that were new to the database, and all
files that are no packs of pages. Of `slices` it is told as a multiple of what the launches change, which the program knows.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bounds

CASES = {
    "solver": ("solver", [2048, 3], ["--max", "1"]),
    "solver_all": ("solver", [2048, 10], ["--max", "100000"]),
    "solver_200": ("solver", [512, 200], ["--max", "100000"]),
    "slices_all": ("slices", [2048, 200, 100], ["--max", "100000"]),
    "kernels": ("many_kernels", [1024, 1], ["--max", "1"]),
    "slices_10000": ("slices", [64, 10000, 100], ["--max", "all"]),
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


def bounded(copied: int, on_disk: int, bare: float, more: float, bus: float | None, folder: str) -> dict:
    """What the hardware allows, beside what the recording took more than the bare program."""
    disk, way = bounds.disk_rate(folder, on_disk)
    bus_s = copied / 1e9 / bus if bus else 0.0
    disk_s = on_disk / 1e9 / disk
    bound = max(bus_s, disk_s - bare)
    return {"bus_s": round(bus_s, 4) if bus else None, "disk_s": round(disk_s, 4), "disk_gb_s": round(disk, 2), "disk_by": way,
            "bound_s": round(bare + bound, 4), "over_bound": round((bare + more) / (bare + bound), 3)}


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


class Case:
    """A program, and what of it is recorded."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        if name not in CASES:
            self.program, self.sizes, self.arguments = None, [], ["--max", "all" if name in options.every else "1"]
            self.command = shlex.split(name)
            self.words = " ".join([name, *self.arguments])
            return
        self.program, sizes, self.arguments = CASES[name]
        self.sizes = [max(1, int(sizes[0] * options.scale)), *sizes[1:]]
        self.command = [str(options.after / "libexec/mneme" / self.program), *map(str, self.sizes)]
        self.words = " ".join([self.program, *map(str, self.sizes), *self.arguments])


def stages_of(results: list[dict]) -> dict[str, float]:
    return {stage: round(statistics.median(result[f"{stage}_s"] for result in results), 4)
            for stage in STAGES if f"{stage}_s" in results[-1]}


def in_memory(case: Case, options: argparse.Namespace, bare: float, needed: int) -> dict:
    """The later version's recordings into --memory-folder; why there are none, where it has not the room."""
    if shutil.disk_usage(options.memory_folder).free < 1.2 * needed + (1 << 26):
        return {"left_out": "no room"}
    with tempfile.TemporaryDirectory(dir=options.memory_folder) as folder:
        results = [recorded(options.after, case.command, case.arguments, options.device, folder) for _ in range(min(options.runs, 3))]
    seconds = statistics.median(result["seconds"] for result in results)
    return {"recorded_s": round(seconds, 3), "more_s": round(seconds - bare, 3), "over_bare": round(seconds / bare, 3),
            "stages_s": stages_of(results)}


def measure(name: str, options: argparse.Namespace, folder: str, bus: float | None) -> dict:
    case = Case(name, options)
    prefixes = {"before": options.before, "after": options.after}
    command = case.command
    bare: list[float] = []
    results: dict[str, list[dict]] = {version: [] for version in prefixes}
    bare_command = [str(options.after / "bin/mneme"), "run", "--device", "cpu", "--", *command] if options.device == "cpu" else command
    for _ in range(options.runs):
        bare.append(run(bare_command))
        for version, prefix in prefixes.items():
            results[version].append(recorded(prefix, command, case.arguments, options.device, folder))
    line = {"case": name, "command": case.words, "runs": options.runs,
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
            changed = changed_bytes(case.program, case.sizes)
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
                "stages_s": stages_of(all_results),
                "disk_over_copied": round(last["disk_bytes"] / last["copied_bytes"], 3) if last["copied_bytes"] else None,
            }
    last, median_bare = results["after"][-1], statistics.median(bare)
    line |= bounded(last.get("copied_bytes", 0), last["disk_bytes"], median_bare, line["after"]["more_s"], bus, folder)
    if options.memory_folder:
        line["in_memory"] = in_memory(case, options, median_bare, last["disk_bytes"])
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, required=True)
    parser.add_argument("--after", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", action="append", choices=CASES, help="of the programs in the package")
    parser.add_argument("--program", action="append", default=[], metavar="COMMAND", help="a program of somebody else")
    parser.add_argument("--every", action="append", default=[], metavar="COMMAND", help="such a program, of which every launch is recorded")
    parser.add_argument("--folder", help="where the databases are written (default: a temporary folder)")
    parser.add_argument("--memory-folder", help="a folder in memory, which is no disk")
    parser.add_argument("--scale", type=float, default=1.0, help="of the programs' memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        gpu = bounds.gpu() if options.device != "cpu" else {}
        bus = gpu.get("from_device_gb_s")
        print(json.dumps({**gpu, "processors": os.cpu_count()}), flush=True)
        for name in [*(options.only or ([] if options.program or options.every else CASES)), *options.program, *options.every]:
            print(json.dumps(measure(name, options, folder, bus)), flush=True)


if __name__ == "__main__":
    main()
