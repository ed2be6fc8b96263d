#!/usr/bin/env python3
"""How many configurations a second `mneme sweep` measures, beside what the hardware allows.

    bench/throughput.py [--mneme BIN] [--device cuda|cpu] [--devices 0,1] [--works WORD] [--scale] [--talk] [DATABASE ...]

An observation is one configuration that was compiled, restored, run and verified to the byte, then timed --iterations times, each
from the restored memory, and that shares nothing with another one: the first sweep of each work is made with --no-share. The second
one shares, as a search does: what ends in the same code and launch is measured once.

The works and their configurations are in throughput.json beside this file; DATABASE, one or more that `mneme record` wrote, adds
every kernel in it. Prints tables in Markdown. Needs Python 3.9 and nothing else.

  bounds   on the devices: how many a second there could be if nothing but the kernels' runs took time; compiling: if all cores
           compiled all the time. The ratio is to the nearer of the two.
  --scale  measures with one device, then with all of --devices, and prints the ratio to linear
  --talk   on the first work: rebuild and rerun the program, one `mneme replay` process a configuration, and the pool
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COMPILING = ("prepare", "optimise", "codegen", "assemble", "lower", "host_optimise", "link")
ON_DEVICE = ("load", "poison", "restore", "start", "meanwhile", "run", "verify", "timed_runs")
CORES = len(os.sched_getaffinity(0))


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


class Failed(Exception):
    """One work could not be measured; the others go on."""


def find_mneme():
    """Of the package that this file is in, or on the PATH."""
    packed = HERE.parent.parent.parent / "bin" / "mneme"
    return str(packed) if packed.exists() else "mneme"


def config(mneme, key):
    return subprocess.check_output([mneme, "config", key], text=True).strip()


def example(options, name):
    """The recordable program: of the package, or compiled."""
    prefix = pathlib.Path(config(options.mneme, "prefix"))
    if os.access(prefix / "examples" / name, os.X_OK):
        return prefix / "examples" / name
    output = options.folder / name
    if not output.exists():
        say(f"compiling {name}")
        compile_example(options, prefix, name, output)
    return output


def compile_example(options, prefix, name, output):
    source = next((folder / name / f"{name}.cu" for folder in (prefix / "share/mneme/examples", HERE.parent / "examples")
                   if (folder / name / f"{name}.cu").exists()), None)
    if source is None:
        raise Failed(f"there is no example {name}")
    flags = {key: shlex.split(config(options.mneme, key)) for key in ("cxx", "cxxflags", "ldflags")}
    done = run([*flags["cxx"], "-O3", "-std=c++17", *flags["cxxflags"], source, "-o", output, *flags["ldflags"]])
    if done.returncode != 0:
        raise Failed(f"compiling {name}: {done.stderr.strip()}")


def record(options, program, arguments, kernel, database):
    say(f"recording {program.name} {arguments}")
    command = [options.mneme, "record", "-rdb", database, "--device", options.device, "--max", "1", "--kernels", f"^{kernel}\\(", "--",
               program, *shlex.split(arguments)]
    done = run(command)
    # A program that is cut short may say so by its exit status.
    if not any(database.glob("[0-9a-f]*.json")):
        raise Failed(f"recording {program.name}: {done.stderr.strip()}")


def kernels_of(options, database):
    """Each kernel of a database: its file, its name, and the last of its instances."""
    listed = run([options.mneme, "ls", "--json", database])
    if not listed.stdout:
        raise Failed(listed.stderr.strip())
    for kernel in json.loads(listed.stdout)["kernels"]:
        if kernel["instances"]:
            yield pathlib.Path(database, kernel["static_hash"] + ".json"), kernel["demangled"], kernel["instances"][-1]


def sweep(options, kernel, instance, grid, devices, *more):
    results = tempfile.mkdtemp(prefix="sweep-", dir=options.folder)
    command = [options.mneme, "sweep", kernel, "-rid", instance["dynamic_hash"], "--device", options.device, "--iterations", options.iterations,
               "--json", "--results-dir", pathlib.Path(results, "results"), *more]
    if options.device == "cuda":
        command += ["--devices", ",".join(map(str, devices))]
    if options.compile_workers:
        command += ["--compile-workers", options.compile_workers]
    for axis in grid:
        command += ["--grid", axis]
    done = run(command)
    if done.returncode not in (0, 1):
        raise Failed(done.stderr.strip())
    for line in done.stderr.splitlines():
        if "warning" in line:
            say(f"  {line}")
    return json.loads(done.stdout)


def per_second(count, nanoseconds, workers):
    return count / nanoseconds * 1e9 * workers if nanoseconds else None


def measure(options, name, kernel, instance, grid, devices):
    """Both sweeps of one work, and what they come to."""
    say(f"{name}: {' '.join(grid)}, on {len(devices)} device(s)")
    alone = sweep(options, kernel, instance, grid, devices, "--no-share")
    shared = sweep(options, kernel, instance, grid, devices)
    rate = alone["rate"]
    stages = rate["stages_ns"]
    compiling = sum(stages.get(stage, 0) for stage in COMPILING)
    on_device = sum(stages.get(stage, 0) for stage in ON_DEVICE)
    kernels = per_second(alone["measured"], rate["kernel_ns"], len(devices))
    compilers = per_second(alone["done"], compiling, CORES)
    bounds = [bound for bound in (kernels, compilers) if bound]
    return {
        "work": name, "kernel": str(kernel), "instance": instance["dynamic_hash"], "memory_bytes": instance["memory_bytes"], "grid": grid,
        "devices": len(devices), "device": alone["device_name"], "configurations": alone["total"], "failed": alone["failed"],
        "observations": alone["measured"], "observations_per_second": rate["measured_per_second"], "seconds": rate["seconds"],
        "seconds_before": rate["seconds_before"], "device_busy": rate["device_busy"], "compile_workers": rate["compile_workers"],
        "compile_busy": rate["compile_busy"], "stages_ns": stages,
        "bound_kernels": kernels, "bound_device_stages": per_second(alone["measured"], on_device, len(devices)), "bound_compiling": compilers,
        "ratio": rate["measured_per_second"] / min(bounds) if bounds else None,
        "distinct_objects": shared["rate"]["distinct_objects"], "sharing_measured": shared["measured"],
        "sharing_done_per_second": shared["rate"]["done_per_second"],
        "sharing_measured_per_second": shared["rate"]["measured_per_second"],
        "fastest": alone["best"][0] if alone["best"] else None, "baseline": alone["baseline"], "failures": alone["failures"],
    }


def number(value, form="{:.1f}"):
    return "–" if value is None else form.format(value)


def shares(stages):
    total = sum(stages.values()) or 1
    parts = sorted(stages.items(), key=lambda stage: -stage[1])
    return ", ".join(f"{stage} {100 * time / total:.0f}" for stage, time in parts if time / total >= 0.01)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
    print(flush=True)


def short(name, width=44):
    name = name.split("(")[0].removeprefix("void ")
    return name if len(name) <= width else name[:width - 1] + "…"


def print_lines(lines, options):
    print(f"\n{lines[0]['device']}, {CORES} cores, compile workers: {lines[0]['compile_workers']}, timed runs of each configuration: {options.iterations}.\n")
    table(("work", "memory", "devices", "observations", "failed", "a second", "device busy", "compilers busy", "bound: kernels", "bound: compiling",
           "ratio to the nearer", "device stages alone"),
          [(line["work"], f"{line['memory_bytes'] / 1e6:.1f} MB", line["devices"], f"{line['observations']} of {line['configurations']}", line["failed"],
            f"**{line['observations_per_second']:.1f}**", f"{100 * line['device_busy']:.0f} %", f"{100 * line['compile_busy']:.0f} %",
            number(line["bound_kernels"]), number(line["bound_compiling"]), number(line["ratio"], "{:.2f}"), number(line["bound_device_stages"]))
           for line in lines])
    print("With sharing, as a search does it: distinct objects, configurations answered a second, of them measured.\n")
    table(("work", "distinct objects", "answered a second", "measured", "measured a second", "share of each stage (without sharing), %"),
          [(line["work"], f"{line['distinct_objects']} of {line['configurations']}", number(line["sharing_done_per_second"]), line["sharing_measured"],
            number(line["sharing_measured_per_second"]), shares(line["stages_ns"])) for line in lines])
    for line in lines:
        for kind, failure in line["failures"].items():
            print(f"- {line['work']}: {failure['count']} {kind}, as {json.dumps(failure['values'])}: {failure['reason']}")


def print_scaling(pairs):
    print("\nSeveral devices:\n")
    table(("work", "one device, a second", "devices", "a second", "to linear"),
          [(one["work"], number(one["observations_per_second"]), many["devices"], number(many["observations_per_second"]),
            number(many["observations_per_second"] / one["observations_per_second"] / many["devices"], "{:.3f}"))
           for one, many in pairs if one["observations_per_second"]])


def rebuild_and_rerun(options, work):
    """Seconds for one candidate in the program itself: to compile it (where there is a compiler) and to run it."""
    program = example(options, work["example"])
    compiling = options.rebuild_seconds
    if compiling is None:
        try:
            start = time.monotonic()
            compile_example(options, pathlib.Path(config(options.mneme, "prefix")), work["example"], options.folder / "rebuilt")
            compiling = time.monotonic() - start
        except (Failed, OSError, subprocess.CalledProcessError):
            say("there is no compiler here: give --rebuild-seconds")
    start = time.monotonic()
    run([options.mneme, "run", "--device", options.device, "--", program, *shlex.split(work["arguments"][options.device].split()[0])])
    return compiling, time.monotonic() - start


def standalone(options, kernel, instance, count=5):
    """Seconds for one `mneme replay` process, which compiles everything."""
    start = time.monotonic()
    for i in range(count):
        done = run([options.mneme, "replay", "-rdb", kernel, "-rid", instance["dynamic_hash"], "--device", options.device, "--iterations", options.iterations,
                    "--no-cache", "--block-dim-x", str(64 * (i + 1)), "default<O3>"])
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
    return (time.monotonic() - start) / count


def print_talk(options, work, line):
    compiling, running = rebuild_and_rerun(options, work)
    alone = standalone(options, pathlib.Path(line["kernel"]), {"dynamic_hash": line["instance"]})
    rebuilt = f"compile {compiling:.1f} s + run {running:.1f} s" if compiling is not None else f"run alone, {running:.1f} s"
    print(f"\nA candidate of {work['name']}, three ways:\n")
    table(("way", "seconds a candidate", "observations a second"),
          (("rebuild and rerun the program", rebuilt, f"{1 / ((compiling or 0) + running):.4f}"),
           ("one `mneme replay` process", f"{alone:.2f}", f"{1 / alone:.3f}"),
           ("pool (`mneme sweep`)", f"{1 / line['observations_per_second']:.4f}", f"{line['observations_per_second']:.1f}")))


def works(options, configurations):
    """Each work as (its entry, name, kernel's file, instance, grid); what cannot be had is said."""
    kind = options.device
    for number_, work in enumerate(configurations["works"]):
        if options.works and not any(word in work["name"] for word in options.works):
            continue
        try:
            arguments = work["arguments"][kind]
            database = options.folder / f"{work['example']}-{arguments.replace(' ', '-')}"
            if not database.exists():
                record(options, example(options, work["example"]), arguments, work["kernel"], database)
            for kernel, _, instance in kernels_of(options, database):
                yield work, work["name"], kernel, instance, work["grid"][kind]
        except Failed as reason:
            say(f"{work['name']}: {reason}")
    for database in options.database:
        try:
            for kernel, name, instance in kernels_of(options, database):
                yield None, f"{pathlib.Path(database).name}: {short(name)}", kernel, instance, configurations["recorded"]["grid"][kind]
        except Failed as reason:
            say(f"{database}: {reason}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", nargs="*", help="a database whose kernels are measured too")
    parser.add_argument("--mneme", default=find_mneme())
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--devices", default="0", help="which GPUs, as 0,1")
    parser.add_argument("--works", action="append", help="only works in whose name this is found; 'none' for databases alone")
    parser.add_argument("--configurations", default=HERE / "throughput.json", help="a file like throughput.json in its place")
    parser.add_argument("--iterations", default="7", help="timed runs of each configuration")
    parser.add_argument("--compile-workers", help="default: as mneme sweep chooses")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--talk", action="store_true")
    parser.add_argument("--rebuild-seconds", type=float, help="for --talk, where there is no compiler: what compiling takes")
    parser.add_argument("--folder", help="for recordings and results (default: a temporary one)")
    parser.add_argument("--json", help="a file for all that was measured")
    return parser.parse_args()


def measure_all(options, configurations):
    devices = [int(word) for word in options.devices.split(",")]
    lines, pairs, talk = [], [], None
    for work, name, kernel, instance, grid in works(options, configurations):
        try:
            one = measure(options, name, kernel, instance, grid, devices[:1] if options.scale else devices)
            lines.append(one)
            if options.scale and len(devices) > 1:
                lines.append(measure(options, name, kernel, instance, grid, devices))
                pairs.append((one, lines[-1]))
            talk = talk or (work and (work, one))
        except Failed as reason:
            say(f"{name}: {reason}")
    if lines:
        print_lines(lines, options)
    if pairs:
        print_scaling(pairs)
    if options.talk and talk:
        try:
            print_talk(options, *talk)
        except Failed as reason:
            say(f"--talk: {reason}")
    return lines


def main():
    options = arguments()
    configurations = json.loads(pathlib.Path(options.configurations).read_text())
    with tempfile.TemporaryDirectory() as temporary:
        options.folder = pathlib.Path(options.folder or temporary).resolve()
        options.folder.mkdir(parents=True, exist_ok=True)
        lines = measure_all(options, configurations)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(lines, indent=1) + "\n")
    if not lines:
        say("nothing was measured: --works takes " + ", ".join(f"'{work['name']}'" for work in configurations["works"])
            + ", a part of a name, or 'none'; it may be repeated")
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())
