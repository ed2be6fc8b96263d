"""What bench/throughput.py makes of a sweep: bounds, ratios, and tables in Markdown.

A line is a dictionary: what was measured of one work on so many devices, as --json keeps it. Times are in nanoseconds.
"""

import json

COMPILING = ("prepare", "optimise", "codegen", "assemble", "lower", "host_optimise", "link")
ON_DEVICE = ("load", "mask", "poison", "restore", "start", "meanwhile", "run", "verify", "timed_runs")
ENOUGH = 0.8  # of the nearer bound; below, the report says what holds a work


def per_second(count, nanoseconds, workers):
    """How many a second `workers` do that together take so long for `count`; None where they took no time.

    >>> per_second(10, 2e9, 4)
    20.0
    """
    return count / nanoseconds * 1e9 * workers if nanoseconds else None


def kernel_times(results):
    """The median and the number of launches of each observation in a log's text, how many launches that would be were the verified
    run none of the timed ones, and how many distinct objects there are.

    >>> kernel_times('{"mneme_log": 1}\\n{"digest": "a", "label": "baseline"}\\n'
    ...              '{"digest": "b", "failure": null, "origin": "measured", "result": '
    ...              '{"exec_time": [1, 2, 3], "exec_time_stats": {"median": 2}, "obj_hash": "o"}}\\n{"cut')
    ([(2, 4, 4)], 1)
    """
    observations, objects = [], set()
    for text in results.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the last line of a sweep that was killed
        if "digest" not in line or "label" in line or line["failure"] is not None or line["origin"] != "measured":
            continue
        result = line["result"]
        apart = 1 + line.get("configuration", {}).get("execution", {}).get("warm_up", 0) + len(result["exec_time"])
        launches = apart - 1 if result.get("verified_run_timed") else apart
        observations.append((result["exec_time_stats"]["median"], launches, apart))
        objects.add(result.get("obj_hash"))
    return observations, len(objects)


def bounds_of(sweep, observations, devices, cores, steps):
    """What the hardware allows, and how near to it a sweep came; `sweep` is what `mneme sweep --json` prints.

    The floor of an observation: a launch that is verified and the timed ones, each restored, and one check, one after another.
    `steps` says what restoring and a check take on that device; without it there is no floor.

    >>> sweep = {"measured": 2, "done": 2, "rate": {"measured_per_second": 100.0, "stages_ns": {"optimise": 8e6, "run": 4e6}}}
    >>> bounds = bounds_of(sweep, [(1e6, 8, 8), (0.5e6, 8, 8)], 1, 4, {"restore_ns": 1e5, "check_ns": 4e5})
    >>> bounds["bound_kernels"], bounds["bound_compiling"], bounds["ratio"], bounds["floor_per_second"]
    (166.66666666666669, 1000.0, 0.6, 138.88888888888889)
    """
    rate, count = sweep["rate"], len(observations)
    stages = rate["stages_ns"]
    kernels = sum(median * launches for median, launches, _ in observations)
    launches = sum(launches for _, launches, _ in observations)
    bounds = {
        "bound_kernels": per_second(count, kernels, devices),
        "bound_compiling": per_second(sweep["done"], sum(stages.get(stage, 0) for stage in COMPILING), cores),
        "bound_device_stages": per_second(count, sum(stages.get(stage, 0) for stage in ON_DEVICE), devices),
        "floor_per_second": None,
        "of_floor": None,
        "launch_ns": kernels / launches if count else None,
        "launches": launches / count if count else None,
    }
    reached = rate["measured_per_second"]
    nearer = [bound for bound in (bounds["bound_kernels"], bounds["bound_compiling"]) if bound]
    bounds["ratio"] = reached / min(nearer) if nearer else None
    bounds["nearer"] = None if not nearer else "kernels" if min(nearer) == bounds["bound_kernels"] else "compiling"
    if steps and count:
        floor = sum((median + steps["restore_ns"]) * apart for median, _, apart in observations) + count * steps["check_ns"]
        bounds["floor_per_second"] = per_second(count, floor, devices)
        bounds["of_floor"] = reached / bounds["floor_per_second"]
    return bounds


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.2f}" if nanoseconds >= 1e5 else f"{nanoseconds / 1e6:.3f}"


def device_time(line):
    """What an observation takes of a device's time, and for what."""
    count, rate = line["observations"], line["observations_per_second"]
    whole = line["devices"] / rate * 1e9
    launches = line["launches"] or 0
    parts = [("kernels", launches * (line["launch_ns"] or 0))]
    steps = line["steps"]
    if steps:
        parts += [("restoring", launches * steps["restore_ns"]), ("two checks", 2 * steps["check_ns"])]
    rest = whole - sum(time for _, time in parts)
    text = ", ".join(f"{name} {milliseconds(time)}" for name, time in parts)
    host = [(stage, line["stages_ns"].get(stage, 0) / count) for stage in ON_DEVICE]
    stages = ", ".join(f"{stage} {milliseconds(time)}" for stage, time in host if time >= 0.01 * whole)
    return f"{milliseconds(whole)} ms an observation and device: {text}, the rest {milliseconds(max(0, rest))} (stages there: {stages})"


def holder(line):
    """What holds a work back, in words; None where it is near enough to its bound.

    >>> holder({"work": "scan", "ratio": 0.0, "observations": 0})
    'scan: no configuration was right, the recorded one neither: what is measured has to be deterministic'
    """
    if line["ratio"] is None or line["ratio"] >= ENOUGH:
        return None
    if not line["observations"]:
        return f"{line['work']}: no configuration was right, the recorded one neither: what is measured has to be deterministic"
    busy = f"device {100 * line['device_busy']:.0f} % busy, compilers {100 * line['compile_busy']:.0f} %"
    if line["compile_busy"] >= max(0.9, line["device_busy"]):
        cause = f"the compilers, which {line['compile_workers']} of {line['cores']} cores have"
    elif line["device_busy"] >= 0.85:
        cause = "the device's worker, of whose time the kernels are a part"
    elif line["seconds"] < 1:
        cause = "begin and end of a sweep this short, and the device's worker"
    else:
        cause = "neither all the time: results come in bursts, or the pool's own thread is busy"
    return f"{line['work']}: {line['ratio']:.2f} of the bound of {line['nearer']}, held by {cause}; {busy}; {device_time(line)}"


def number(value, form="{:.1f}"):
    return "–" if value is None else form.format(value)


def shares(stages):
    """
    >>> shares({"run": 600, "optimise": 400, "load": 1})
    'run 60, optimise 40'
    """
    total = sum(stages.values()) or 1
    parts = sorted(stages.items(), key=lambda stage: -stage[1])
    return ", ".join(f"{stage} {100 * time / total:.0f}" for stage, time in parts if time / total >= 0.01)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
    print(flush=True)


def print_lines(lines):
    first = lines[0]
    print(f"\n{first['device']}, {first['cores']} cores, compile workers: {first['compile_workers']}, timed runs of each configuration: "
          f"{first['iterations']}.\n")
    table(("work", "memory", "devices", "observations", "failed", "a second", "a launch, ms", "device busy", "compilers busy",
           "bound: kernels", "bound: compiling", "ratio to the nearer", "floor", "of the floor"),
          [(line["work"], f"{line['memory_bytes'] / 1e6:.1f} MB", line["devices"], f"{line['observations']} of {line['configurations']}",
            line["failed"], f"**{line['observations_per_second']:.1f}**",
            "–" if line["launch_ns"] is None else f"{line['launch_ns'] / 1e6:.4f}",
            f"{100 * line['device_busy']:.0f} %", f"{100 * line['compile_busy']:.0f} %",
            number(line["bound_kernels"]), number(line["bound_compiling"]), number(line["ratio"], "{:.2f}"),
            number(line["floor_per_second"]), number(line["of_floor"], "{:.2f}")) for line in lines])
    table(("work", "distinct objects", "restore and check on the device, ms", "share of each stage, %"),
          [(line["work"], f"{line['distinct_objects']} of {line['observations']}",
            "–" if not line["steps"] else
            f"{milliseconds(line['steps']['restore_ns'])}, {milliseconds(line['steps']['check_ns'])}", shares(line["stages_ns"]))
           for line in lines])
    sharing = [line for line in lines if line.get("sharing")]
    if sharing:
        print("With sharing, as a search does it: configurations answered a second, of them measured.\n")
        table(("work", "answered a second", "measured", "measured a second"),
              [(line["work"], number(line["sharing"]["done_per_second"]), line["sharing"]["measured"],
                number(line["sharing"]["measured_per_second"])) for line in sharing])
    print_remarks(lines)


def print_remarks(lines):
    for line in lines:
        if line["interrupted"]:
            print(f"- {line['work']}: cut off after {line['observations'] + line['failed']} of {line['configurations']} configurations")
        for kind, failure in line["failures"].items():
            print(f"- {line['work']}: {failure['count']} {kind}, as {json.dumps(failure['values'])}: {failure['reason']}")
        held = holder(line)
        if held:
            print(f"- {held}")
    grids = {}
    for line in lines:
        grids.setdefault(tuple(line["grid"]), []).append(line["work"])
    print("\nConfigurations, every combination:\n")
    for grid, of in grids.items():
        print(f"- {of[0]}{f' and {len(of) - 1} more' if len(of) > 1 else ''}: " + ", ".join(f"`{axis}`" for axis in grid))
    print(flush=True)


def scaling(lines):
    """Rates of works that were measured on one device and on more: (one device's line, the other line).

    >>> one, two = ({"work": "w", "devices": n, "observations_per_second": n * 0.5} for n in (1, 2))
    >>> [(a["devices"], b["devices"]) for a, b in scaling([one, two])]
    [(1, 1), (1, 2)]
    """
    alone = {line["work"]: line for line in lines if line["devices"] == 1}
    return [(alone[line["work"]], line) for line in lines if line["work"] in alone]


def print_scaling(lines):
    print("Several devices:\n")
    table(("work", "devices", "a second", "to linear", "bound: compiling"),
          [(line["work"], line["devices"], number(line["observations_per_second"]),
            number(line["observations_per_second"] / one["observations_per_second"] / line["devices"], "{:.3f}"),
            number(line["bound_compiling"]))
           for one, line in scaling(lines) if one["observations_per_second"]])
