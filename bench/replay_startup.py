#!/usr/bin/env python3
"""What starting a replay costs: the time from the start of `mneme replay` to its end, with one verified and one timed run, and its stages.

    bench/replay_startup.py PREFIX [--before PREFIX] [--gib 2.3] [--device auto|cuda|cpu] [--rounds 5] [--folder DIR] [--json FILE]

PREFIX is a folder that a package was unpacked into, or `cmake --install` has written. examples/vecadd of the first one is recorded, whose three arrays make
a state of --gib GiB, with the package's own mneme. Each replay is a process of its own, with warm files and a warm cache of compiled code; with
--before those of the two take turns. Prints a table: for each stage its median, what bounds it, and the ratio to that bound. Then
rows that are waited for as a whole:

first replay    with an empty cache: code is compiled and masked bytes are sought
second replay   the same instance again, as in the table above
sweep           from the start of `mneme sweep` to its first line in the folder of results
keeper warm     a worker of a pool takes the place of a lost one (mneme-bench-replacement): from the loss to the worker's being ready, and to
                its first result. The pool's keeper has the recorded memory, of --gib GiB in two arrays, so that nothing is read

The bounds are measured here and now: how fast this machine's cores read the packs from the page cache; of a GPU, what the bus brings to it from pinned
memory, and what the driver takes to start.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bounds

# The stages of a replay in their order, as "session_times" and "times" have them.
SESSION = ("device", "recording", "addresses", "read", "upload")
STAGES = (*SESSION, "compile", "load", "mask", "restore", "run", "verify", "timed_runs")
COMPILE = ("cache", "prepare", "optimise", "codegen", "assemble", "lower", "host_optimise", "link")


def stages_of(result: dict, total: float) -> dict[str, float]:
    """Seconds of each stage of one replay, and what lies outside of them."""
    times = {name: ns / 1e9 for name, ns in result["times"].items()}
    stages = {name: ns / 1e9 for name, ns in result.get("session_times", {}).items()}
    if not stages:  # an older version
        stages["session"] = times["session"]
    stages["compile"] = sum(times.get(name, 0.0) for name in COMPILE)
    stages |= {name: times.get(name, 0.0) for name in STAGES[len(SESSION) + 1 :]}
    stages["rest"] = total - sum(stages.values())
    stages["total"] = total
    return stages


class Version:
    """One of the versions that are compared."""

    def __init__(self, prefix: str, kernel: pathlib.Path, cache: pathlib.Path, device: str):
        self.command = [prefix + "/bin/mneme", "replay", "--record-db", str(kernel), "--device", device, "--iterations", "1", "--json"]
        self.prefix, self.cache = prefix, cache
        self.environment = {**os.environ, "MNEME_CACHE_DIR": str(cache)}
        self.replays: list[dict[str, float]] = []
        self.first = 0.0

    def replay(self) -> dict[str, float]:
        start = time.monotonic()
        done = subprocess.run(self.command, stdout=subprocess.PIPE, text=True, check=False, env=self.environment)
        total = time.monotonic() - start
        result = json.loads(done.stdout)["result"]
        if done.returncode != 0:
            sys.exit(f"the replay ended with {done.returncode}: {result['error']}")
        return stages_of(result, total)

    def medians(self) -> dict[str, float]:
        return {stage: statistics.median(replay[stage] for replay in self.replays) for stage in self.replays[0]}


def read_all(paths: list[pathlib.Path]) -> float:
    """Seconds in which all cores read the files, which are in the page cache."""
    piece = 1 << 20

    def read(place: tuple[int, int]) -> None:
        os.pread(place[0], piece, place[1])

    files = [os.open(path, os.O_RDONLY) for path in paths]
    places = [(file, at) for file in files for at in range(0, os.fstat(file).st_size, piece)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        start = time.monotonic()
        list(pool.map(read, places))
        seconds = time.monotonic() - start
    for file in files:
        os.close(file)
    return seconds


def sweep(prefix: str, kernel: pathlib.Path, cache: pathlib.Path, device: str, results: pathlib.Path) -> float:
    """Seconds from the start of a sweep to its first result, as who reads its folder sees it."""
    command = [prefix + "/bin/mneme", "sweep", str(kernel), "--device", device, "--iterations", "1",
               "--grid", "passes=default<O1>|default<O3>", "--results-dir", str(results)]
    log = results / "results.jsonl"
    start = time.monotonic()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "MNEME_CACHE_DIR": str(cache)})
    seconds = None
    while seconds is None and running.poll() is None:
        # The first line says what the log is of.
        if log.exists() and log.read_bytes().count(b"\n") > 1:
            seconds = time.monotonic() - start
        time.sleep(0.001)
    _, words = running.communicate()
    if running.returncode != 0 or seconds is None:
        sys.exit(f"the sweep ended with {running.returncode}: {words.decode()[-2000:]}")
    return seconds


def keeper_warm(prefix: str, gib: float, device: str, rounds: int) -> dict[str, float] | None:
    """What mneme-bench-replacement tells of workers that a fault took down; None where the package has none."""
    program = pathlib.Path(prefix, "bin/mneme-bench-replacement")
    if not program.exists():
        return None
    elements = min(int(gib * 2**30 / 8), 10**9)
    kind = "cpu" if device == "cpu" else "cuda"
    told = subprocess.run([program, "--device", kind, "--elements", str(elements), "--rounds", str(rounds)], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    line = next(line for line in told.splitlines() if line.startswith("fault"))
    known, ready, result = (float(figure) for figure in re.findall(r"([0-9.]+) \(", line))
    return {"told of the loss": known, "another worker ready": ready, "its first result": result}


def show_whole(versions: dict[str, "Version"], options: argparse.Namespace, folder: pathlib.Path, least: float) -> dict:
    """The rows that are waited for as a whole; `least` is the driver's start and the bus, which no start from nothing can do without."""
    kernel = next((folder / "db").glob("[0-9a-f]*.json"))
    rows: dict[str, dict[str, float]] = {"first replay": {}, "second replay": {}, "sweep, first result": {}}
    for label, version in versions.items():
        rows["first replay"][label] = version.first
        rows["second replay"][label] = version.medians()["total"]
        starts = [sweep(version.prefix, kernel, version.cache, options.device, folder / f"sweep-{label}-{i}") for i in range(3)]
        rows["sweep, first result"][label] = statistics.median(starts)
    for label, version in versions.items():
        for what, seconds in (keeper_warm(version.prefix, options.gib, options.device, 3) or {}).items():
            rows.setdefault(f"keeper warm: {what}", {})[label] = seconds
    print(f"{'waited for':<36}" + "".join(f"{label:>10}" for label in versions) + "     bound  ratio  by what")
    for row, times in rows.items():
        cells = "".join(f"{times[label]:10.3f}" if label in times else "         -" for label in versions)
        bound, what = (options.driver_s, "the driver's start") if row.startswith("keeper") else (least, "the driver's start and the bus")
        last = list(times.values())[-1]
        ratio = f"{bound:10.3f}{last / bound:7.1f}  {what}" if options.device != "cpu" and "told" not in row else ""
        print(f"{row:<36}{cells}{ratio}")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("--before", help="another version, to compare with")
    parser.add_argument("--vecadd", help="the recordable program (default: the package's)")
    parser.add_argument("--gib", type=float, default=2.3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bus-gb-s", type=float, help="what the bus to the device brings (default: it is measured)")
    parser.add_argument("--driver-s", type=float, help="what cuInit() and the first context take (default: likewise)")
    parser.add_argument("--folder", help="where the database is written (default: a temporary folder)")
    parser.add_argument("--json", help="a file for the medians of each version")
    options = parser.parse_args()
    gpu = bounds.gpu() if options.device != "cpu" else {}
    if options.device != "cpu" and not (gpu.get("to_device_gb_s") and gpu.get("driver_s")):
        print("what bounds it could not be measured here: 55 GB/s and 0.23 s, as of an H200, where nothing else is given", file=sys.stderr)
    options.bus_gb_s = options.bus_gb_s or gpu.get("to_device_gb_s") or 55.0
    options.driver_s = options.driver_s or gpu.get("driver_s") or 0.23

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        elements = int(options.gib * 2**30 / 12)
        program = options.vecadd or options.prefix + "/examples/vecadd"
        record = [options.prefix + "/bin/mneme", "record", "--record-db-dir", str(folder / "db"), "--max", "1", "--device", options.device]
        subprocess.run([*record, "--", program, str(elements)], check=True, stdout=subprocess.DEVNULL)
        kernel = next((folder / "db").glob("[0-9a-f]*.json"))
        versions = {"now": Version(options.prefix, kernel, folder / "cache", options.device)}
        if options.before:
            versions = {"before": Version(options.before, kernel, folder / "cache-before", options.device), **versions}
        for version in versions.values():
            version.first = version.replay()["total"]  # fills the caches
        for _ in range(options.rounds):
            for version in versions.values():
                version.replays.append(version.replay())

        state = 12 * elements
        changed = 4 * elements
        cpu = options.device == "cpu"
        read_s = read_all(list((folder / "db" / "pages").iterdir()))
        bound_of = {"read": (read_s, "reading the packs from the page cache")}
        if not cpu:
            bound_of["device"] = (options.driver_s, "cuInit() and the first context")
            bound_of["upload"] = ((state + changed) / options.bus_gb_s / 1e9, f"the bus, {options.bus_gb_s:g} GB/s")
        medians = {label: version.medians() for label, version in versions.items()}
        print(f"state {state / 1e9:.2f} GB, of which {changed / 1e9:.2f} GB change; {options.rounds} replays of each version, median seconds")
        print(f"{'stage':<12}" + "".join(f"{label:>10}" for label in medians) + "     bound  ratio  by what")
        for stage in ("session", *STAGES, "rest", "total"):
            row = [times.get(stage) for times in medians.values()]
            if all(seconds is None for seconds in row):
                continue
            bound, what = bound_of.get(stage, (None, ""))
            cells = "".join("         -" if seconds is None else f"{seconds:10.3f}" for seconds in row)
            ratio = f"{bound:10.3f}{row[-1] / bound:7.1f}  {what}" if bound and row[-1] is not None else ""
            print(f"{stage:<12}{cells}{ratio}")
        for label, version in versions.items():
            totals = [f"{replay['total']:.3f}" for replay in version.replays]
            print(f"{label}: {', '.join(totals)}")
        whole = show_whole(versions, options, folder, options.driver_s + (state + changed) / options.bus_gb_s / 1e9)
        if options.json:
            told = {"state_bytes": state, "medians": medians, "whole": whole}
            pathlib.Path(options.json).write_text(json.dumps(told, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
