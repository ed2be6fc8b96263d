#!/usr/bin/env python3
"""How many configurations a second `mneme sweep` measures, beside what the hardware allows.

    bench/throughput.py [--device cuda|cpu] [--works WORD ...]         the works of throughput.json
    bench/throughput.py --programs PATH ... [--kernels REGEX]          kernels that `mneme record` recorded
    bench/throughput.py --devices 0,1,2,3 --scale ...                  with one device, two, four ... and all

An observation is one configuration that was compiled, restored, run and verified to the byte, then timed --iterations times, each
from the restored memory, and that shares no object and no measurement with another one; a compile worker that has asked LLVM the same
before has its answer still. --sharing sweeps a second time as a search does: what ends in
the same code and launch is measured once.

PATH is a database, a folder with databases somewhere in it, or a file that lists such paths. Of each kernel the last instance is
taken. Prints tables in Markdown; needs Python 3.9 and nothing else. With --json FILE every work is kept there as soon as it is
done, also when the rest is cut off (Ctrl-C prints the tables of what there is), and --resume leaves out what is in it.

  bounds   of the kernels: how many a second there could be if nothing but their runs took time; of compiling: if all cores
           compiled all the time. The ratio is to the nearer of the two.
  floor    a verified launch and the timed ones, each restored, one after another, and one check. What restoring and checking take
           is measured in the same run, by mneme-bench-candidate. Where the verified launch is one of the timed ones
           ("verified_run_timed" in a result) the rate can be above it; the bound of the kernels counts the launches there were.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from throughput_report import bounds_of, kernel_times, print_lines, print_scaling, table

HERE = pathlib.Path(__file__).resolve().parent
PROCESSORS = sorted(os.sched_getaffinity(0))
START = time.monotonic()


def say(text):
    print(f"{time.monotonic() - START:6.1f} s  {text}", file=sys.stderr, flush=True)


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


class Failed(Exception):
    """One work could not be measured; the others go on."""


def find_mneme():
    """Of the package that this file is in, or on the PATH."""
    packed = HERE.parent.parent.parent / "bin" / "mneme"
    return str(packed) if packed.exists() else "mneme"


def find_candidate(mneme):
    """What measures restoring and checking: beside mneme."""
    folder = pathlib.Path(config(mneme, "prefix")) / "bin"
    return next((str(folder / name) for name in ("mneme-bench-candidate", "mneme_bench_candidate") if (folder / name).exists()), None)


def config(mneme, key):
    return subprocess.check_output([mneme, "config", key], text=True).strip()


# Programs and recordings.


def program(options, name):
    """A recordable program, an example or one of bench/programs: of the package, or compiled."""
    prefix = pathlib.Path(config(options.mneme, "prefix"))
    for folder in (prefix / "examples", prefix / "libexec/mneme"):
        if os.access(folder / name, os.X_OK):
            return folder / name
    output = options.folder / name
    if not output.exists():
        say(f"compiling {name}")
        compile_program(options, name, output)
    return output


def compile_program(options, name, output):
    prefix = pathlib.Path(config(options.mneme, "prefix"))
    places = [prefix / "share/mneme/examples" / name, HERE.parent / "examples" / name, HERE / "programs"]
    source = next((place / f"{name}.cu" for place in places if (place / f"{name}.cu").exists()), None)
    if source is None:
        raise Failed(f"there is no program {name}")
    flags = {key: shlex.split(config(options.mneme, key)) for key in ("cxx", "cxxflags", "ldflags")}
    done = run([*flags["cxx"], "-O3", "-std=c++17", *flags["cxxflags"], source, "-o", output, *flags["ldflags"]])
    if done.returncode != 0:
        raise Failed(f"compiling {name}: {done.stderr.strip()}")


def record(options, work, database):
    arguments = work["arguments"][options.device]
    binary = program(options, work["program"])
    say(f"recording {work['program']} {arguments}")
    done = run([options.mneme, "record", "-rdb", database, "--device", options.device, "--max", "1", "--kernels", f"^{work['kernel']}\\(",
                "--", binary, *shlex.split(arguments)])
    # A program that is cut short may say so by its exit status.
    if not any(database.glob("[0-9a-f]*.json")):
        raise Failed(f"recording {work['program']}: {done.stderr.strip()}")


def kernels_of(options, database):
    """Each kernel of a database: its file, its name, and the last of its instances."""
    listed = run([options.mneme, "ls", "--json", database])
    if not listed.stdout:
        raise Failed(listed.stderr.strip())
    for kernel in json.loads(listed.stdout)["kernels"]:
        if kernel["instances"]:
            yield pathlib.Path(database, kernel["static_hash"] + ".json"), kernel["demangled"], kernel["instances"][-1]


def listed(paths):
    """The paths, those in place of a file that the file lists."""
    for path in map(pathlib.Path, paths):
        if path.is_file():
            lines = (line.strip() for line in path.read_text().splitlines())
            yield from (path.parent / line for line in lines if line and not line.startswith("#"))
        else:
            yield path


def databases_in(path):
    found = sorted({file.parent for file in path.rglob("RecordedIR_*.bc")})
    if not found:
        raise Failed(f"{path}: no recording is in it")
    return found


def short(name, width=44):
    """
    >>> short("void step<float>(int, float*)")
    'step<float>'
    """
    name = name.split("(")[0].removeprefix("void ")
    return name if len(name) <= width else name[:width - 1] + "…"


def own_works(options, configurations):
    """Each work of the file as (entry, name, kernel's file, instance, grid); what cannot be had is said."""
    more = configurations["scale"]["grid"][options.device] if options.scale and "scale" in configurations else []
    for work in configurations["works"]:
        if options.works and not any(word in work["name"] for word in options.works):
            continue
        try:
            arguments = work["arguments"][options.device]
            database = options.folder / f"{work['program']}-{arguments.replace(' ', '-')}"
            if not database.exists():
                record(options, work, database)
            for kernel, _, instance in kernels_of(options, database):
                yield work, work["name"], kernel, instance, [*work["grid"][options.device], *more]
        except Failed as reason:
            say(f"{work['name']}: {reason}")


def recorded_works(options, configurations):
    """The same for every kernel of the databases that are given."""
    for path in listed(options.programs):
        try:
            for database in databases_in(path):
                for kernel, name, instance in kernels_of(options, database):
                    if re.search(options.kernels, name):
                        yield None, f"{database.name}: {short(name)}", kernel, instance, configurations["recorded"]["grid"][options.device]
        except Failed as reason:
            say(str(reason))


# Measuring.


def devices_of(options):
    return [int(word) for word in options.devices.split(",")] if options.device == "cuda" else [0]


def place_of(processor):
    """Where it is, so that threads of one core stand side by side; where the system tells nothing, its number."""
    try:
        topology = pathlib.Path(f"/sys/devices/system/cpu/cpu{processor}/topology")
        return [int((topology / name).read_text()) for name in ("physical_package_id", "core_id")] + [processor]
    except (OSError, ValueError):
        return [0, 0, processor]


def processors_for(options, devices):
    """What a sweep with so many of the devices may run on: with --scale their share of the machine, in whole cores."""
    share = len(PROCESSORS) * devices // len(devices_of(options)) if options.scale else len(PROCESSORS)
    return sorted(PROCESSORS, key=place_of)[:max(1, share)]


def sweep(options, kernel, instance, grid, devices, *more):
    """What `mneme sweep --json` prints, and its log's text. One that takes longer than --limit is ended; what it has counts."""
    results = pathlib.Path(tempfile.mkdtemp(prefix="sweep-", dir=options.folder), "results")
    command = [options.mneme, "sweep", kernel, "-rid", instance["dynamic_hash"], "--device", options.device, "--iterations", options.iterations,
               "--json", "--results-dir", results, *more]
    if options.device == "cuda":
        command += ["--devices", ",".join(map(str, devices))]
    command += ["--compile-workers", options.compile_workers] if options.compile_workers else []
    for axis in grid:
        command += ["--grid", axis]
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, processors_for(options, len(devices))))
    over = False
    try:
        try:
            out, errors = child.communicate(timeout=options.limit)
        except subprocess.TimeoutExpired:
            over = True
            child.send_signal(signal.SIGTERM)
            out, errors = child.communicate()
    except BaseException:
        child.send_signal(signal.SIGTERM)
        child.communicate()
        raise
    if child.returncode not in (0, 1, -signal.SIGTERM) or not out:
        raise Failed(errors.strip() or ("it had not begun when --limit was over" if over else f"it ended with {child.returncode}"))
    for line in errors.splitlines():
        if "warning" in line:
            say(f"  {line}")
    return json.loads(out), (results / "results.jsonl").read_text()


def measure_steps(options, kernel, instance, device):
    """What restoring and checking take on the device; None where that cannot be measured."""
    if options.candidate is None:
        return None
    place = [] if options.device == "cpu" else ["--ordinal", device]
    done = run([options.candidate, "--device", options.device, *place, "--record", kernel, instance["dynamic_hash"], "--json"])
    if done.returncode == 0:
        return json.loads(done.stdout)
    say(f"  no floor: {done.stderr.strip()}")
    return None


def measure(options, name, kernel, instance, grid, devices, steps):
    """The line of one work on so many devices."""
    alone, log = sweep(options, kernel, instance, grid, devices, "--no-share")
    observations, objects = kernel_times(log)
    rate, cores = alone["rate"], len(processors_for(options, len(devices)))
    line = {
        "work": name, "kernel": str(kernel), "instance": instance["dynamic_hash"], "memory_bytes": instance["memory_bytes"], "grid": grid,
        "devices": len(devices), "device": alone["device_name"], "cores": cores, "iterations": options.iterations,
        "configurations": alone["total"], "failed": alone["failed"], "interrupted": alone["interrupted"], "failures": alone["failures"],
        "observations": alone["measured"], "observations_per_second": rate["measured_per_second"], "distinct_objects": objects,
        "seconds": rate["seconds"], "seconds_before": rate["seconds_before"], "device_busy": rate["device_busy"],
        "compile_workers": rate["compile_workers"], "compile_busy": rate["compile_busy"], "stages_ns": rate["stages_ns"],
        "steps": steps, **bounds_of(alone, observations, len(devices), cores, steps),
        "fastest": alone["best"][0] if alone["best"] else None, "baseline": alone["baseline"],
    }
    if options.sharing:
        shared, _ = sweep(options, kernel, instance, grid, devices)
        line["sharing"] = {"measured": shared["measured"], "distinct_objects": shared["rate"]["distinct_objects"],
                           **{key: shared["rate"][key] for key in ("done_per_second", "measured_per_second")}}
    return line


def counts_of_devices(devices, scale):
    """
    >>> counts_of_devices([0, 1, 2, 3, 4, 5], True), counts_of_devices([0, 1], False)
    ([1, 2, 4, 6], [2])
    """
    if not scale:
        return [len(devices)]
    return [count for count in (1, 2, 4, 8, 16) if count < len(devices)] + [len(devices)]


def keep(options, lines):
    if options.json:
        new = pathlib.Path(f"{options.json}.new")
        new.write_text(json.dumps(lines, indent=1) + "\n")
        new.replace(options.json)


def measure_all(options, works, lines):
    """Adds the lines of all works to `lines`."""
    devices = devices_of(options)
    known = {(line["kernel"], line["instance"], line["work"], line["devices"]) for line in lines}
    for number, (_, name, kernel, instance, grid) in enumerate(works, 1):
        wanted = [count for count in counts_of_devices(devices, options.scale)
                  if (str(kernel), instance["dynamic_hash"], name, count) not in known]
        if options.within is not None and wanted and time.monotonic() - START >= options.within:
            say(f"{name}: not begun, --within {options.within:g} is over")
            continue
        try:
            steps = measure_steps(options, kernel, instance, devices[0]) if wanted else None
            for count in wanted:
                say(f"{number}: {name}, on {count} device{'s' if count > 1 else ''}")
                line = measure(options, name, kernel, instance, grid, devices[:count], steps)
                lines.append(line)
                keep(options, lines)
                ratio = "no bound" if line["ratio"] is None else f"{line['ratio']:.2f} of the bound of {line['nearer']}"
                say(f"  {line['observations']} of {line['configurations']}, {line['observations_per_second']:.1f} a second, {ratio}")
        except Failed as reason:
            say(f"{name}: {reason}")


# One candidate, three ways.


def rebuild_and_rerun(options, work):
    """Seconds for one candidate in the program itself: to compile it (where there is a compiler) and to run it."""
    binary = program(options, work["program"])
    compiling = options.rebuild_seconds
    if compiling is None:
        try:
            start = time.monotonic()
            compile_program(options, work["program"], options.folder / "rebuilt")
            compiling = time.monotonic() - start
        except (Failed, OSError, subprocess.CalledProcessError):
            say("there is no compiler here: give --rebuild-seconds")
    start = time.monotonic()
    run([options.mneme, "run", "--device", options.device, "--", binary, *shlex.split(work["arguments"][options.device].split()[0])])
    return compiling, time.monotonic() - start


def standalone(options, line, count=5):
    """Seconds for one `mneme replay` process, which compiles everything."""
    start = time.monotonic()
    for i in range(count):
        done = run([options.mneme, "replay", "-rdb", line["kernel"], "-rid", line["instance"], "--device", options.device, "--iterations",
                    options.iterations, "--no-cache", "--block-dim-x", str(64 * (i + 1)), "default<O3>"])
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
    return (time.monotonic() - start) / count


def print_talk(options, work, line):
    compiling, running = rebuild_and_rerun(options, work)
    alone = standalone(options, line)
    rebuilt = f"compile {compiling:.1f} s + run {running:.1f} s" if compiling is not None else f"run alone, {running:.1f} s"
    print(f"\nA candidate of {work['name']}, three ways:\n")
    table(("way", "seconds a candidate", "observations a second"),
          (("rebuild and rerun the program", rebuilt, f"{1 / ((compiling or 0) + running):.4f}"),
           ("one `mneme replay` process", f"{alone:.2f}", f"{1 / alone:.3f}"),
           ("pool (`mneme sweep`)", f"{1 / line['observations_per_second']:.4f}", f"{line['observations_per_second']:.1f}")))


def talk(options, configurations, lines):
    work = next((work for work in configurations["works"] if any(line["work"] == work["name"] for line in lines)), None)
    if work is None:
        say("--talk: no work of the file was measured")
        return
    try:
        print_talk(options, work, next(line for line in lines if line["work"] == work["name"]))
    except Failed as reason:
        say(f"--talk: {reason}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", default=find_mneme())
    parser.add_argument("--candidate", help="the program mneme-bench-candidate (default: beside mneme)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--devices", default="0", help="which GPUs, as 0,1")
    parser.add_argument("--works", action="append", help="only works in whose name this is found; may be repeated")
    parser.add_argument("--programs", nargs="+", default=[], metavar="PATH", help="recordings in place of the works of the file")
    parser.add_argument("--kernels", default="", metavar="REGEX", help="of those only kernels in whose name this is found")
    parser.add_argument("--configurations", default=HERE / "throughput.json", help="a file like throughput.json in its place")
    parser.add_argument("--iterations", default="7", help="timed runs of each configuration")
    parser.add_argument("--compile-workers", help="default: as mneme sweep chooses")
    parser.add_argument("--sharing", action="store_true", help="sweep a second time, with sharing")
    parser.add_argument("--no-floor", action="store_true", help="do not measure what restoring and checking take")
    parser.add_argument("--scale", action="store_true", help="with one device, two, four ... and all of --devices, each number on its share of the cores alone, and more configurations")
    parser.add_argument("--talk", action="store_true",
                        help="of the first work too: rebuild and rerun the program, and one `mneme replay` process a configuration")
    parser.add_argument("--rebuild-seconds", type=float, help="for --talk, where there is no compiler: what compiling takes")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="for one sweep; what it has by then counts (60)")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="after so many no other work is begun")
    parser.add_argument("--folder", help="for recordings and results (default: a temporary one)")
    parser.add_argument("--json", help="a file for all that was measured, kept as it comes")
    parser.add_argument("--resume", action="store_true", help="what --json has already is not measured again")
    return parser.parse_args()


def end(number, frame):
    raise KeyboardInterrupt


def main():
    options = arguments()
    configurations = json.loads(pathlib.Path(options.configurations).read_text())
    options.candidate = None if options.no_floor else options.candidate or find_candidate(options.mneme)
    if options.candidate is None and not options.no_floor:
        say("no floor: there is no mneme-bench-candidate beside mneme")
    lines = json.loads(pathlib.Path(options.json).read_text()) if options.resume and os.path.exists(options.json or "") else []
    signal.signal(signal.SIGTERM, end)
    with tempfile.TemporaryDirectory() as temporary:
        options.folder = pathlib.Path(options.folder or temporary).resolve()
        options.folder.mkdir(parents=True, exist_ok=True)
        works = recorded_works(options, configurations) if options.programs else own_works(options, configurations)
        cut_off = False
        try:
            measure_all(options, works, lines)
        except KeyboardInterrupt:
            cut_off = True
            say("cut off")
        if lines:
            print_lines(lines)
        if options.scale and lines:
            print_scaling(lines)
        if options.talk and lines and not cut_off:
            talk(options, configurations, lines)
    if not lines:
        say("nothing was measured: --works takes a part of " + ", ".join(f"'{work['name']}'" for work in configurations["works"]))
    return 0 if lines and not cut_off else 1


if __name__ == "__main__":
    sys.exit(main())
