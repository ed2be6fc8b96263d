#!/usr/bin/env python3
"""Which kernels of many programs are recorded, and which of them verify: a table of a whole suite.

    mneme-survey LIST.toml [--results FOLDER] [--device auto|cuda|cpu] [--jobs N] [--only REGEX] [--limit SECONDS]
                  [--record OPTION]... [--compile-for ARCH]

The list names the programs, which may be any that `mneme record` takes:

    limit = 60                        # seconds that each run of a program may take, if --limit does not say it; left out: 60
    ignore = ["checksum of .* "]      # what is not compared of the output, beside times and rates
    right = "PASS"                    # what the output of a program that is right has; left out: nothing is asked
    wrong = "FAIL|mismatch"           # what it has not

    [[program]]
    name = "heat2d"                   # left out: the first word of the command
    command = "./main 64 64 10"
    directory = "heat2d"              # where it runs, from the list's folder; left out: that folder
    environment = {OMP_NUM_THREADS = "1"}
    limit = 20                        # as right and wrong can be, in place of the list's

Each program is run twice as it is: one that is not right, or whose kernels the CPU device refuses or ends, is told, and left at
that. The others are profiled (which kernels does it launch?), and recorded, one launch of each kernel (--record
'--max 4': other options of `mneme record`). Its exit status and output must stay the same. Each recorded launch is replayed in a
process of its own, under the pipeline `as-built`; where that does not verify, `mneme check` says whether the launch does the same
each time it is replayed. With --compile-for each recorded launch is also compiled for that architecture, which need not be there:
as built, and at the four points of a grid, of which the table tells how many need fewer registers, or are smaller.

What outlives its limit is ended with all that it has started. What was found of a program is a line of FOLDER/programs.jsonl as soon as it is known; a further run goes on with the others.
FOLDER/survey.md is the table, with how long a program takes by itself and recorded. Exit status: 0, 1 when a program was changed by
recording, 2 when the list cannot be used.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import tomllib

NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")
# A line with one of these tells how long or how fast something was: its numbers are not compared.
TIMES = re.compile(
    r"time|second|elapsed|latency|duration|bandwidth|throughput|speed|rate|flop|fps|clock|took|cycles|per\s*sec|/s\b|\b[mun]?s\b|\bsecs?\b",
    re.IGNORECASE,
)
REPLAY_LIMIT = 300  # seconds for one replay, check or sweep
GRID = ("--grid", "passes=default<O1>|default<O3>", "--grid", "specialise.dimensions=false|true")
MARK = "MNEME_SURVEY_RUN"  # in the environment of a command and of what that starts
RUNNING = set()  # commands that have not ended
STARTING = threading.Lock()  # over RUNNING's growth, and STOPPING
STOPPING = threading.Event()  # no other command begins


def say(text):
    print(text, file=sys.stderr, flush=True)


def processes_of(mark):
    """The processes with this text in their environment, wherever they have gone: into other groups and sessions, to other parents."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended, or is somebody else's
    return found


def end(process):
    """Ends a command with all that it has started, also while that starts more."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    deadline = time.monotonic() + 10  # one may be waiting for a disk that is gone
    while (found := processes_of(process.mark)) and time.monotonic() < deadline:
        for one in found:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def rest(process):
    """What a command that was ended has written. What has lost its mark with its environment may live on, and keep the pipes open."""
    try:
        return process.communicate(timeout=3)
    except subprocess.TimeoutExpired as still_open:
        process.stdout.close()
        process.stderr.close()
        process.poll()
        return still_open.output or b"", still_open.stderr or b""


class Interrupted(Exception):
    """The survey ends, and a command was not begun."""


class Finished:
    """How a command ended: `status` as a shell tells it, None when it was ended after the limit; and what it wrote."""

    def __init__(self, command, *, limit, directory=None, environment=None):
        began = time.monotonic()
        environment = {**os.environ, MARK: uuid.uuid4().hex, **(environment or {})}
        with STARTING:
            if STOPPING.is_set():
                raise Interrupted
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            process.mark = environment[MARK].encode()
            RUNNING.add(process)
        try:
            out, err = process.communicate(timeout=limit)
            self.status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        except subprocess.TimeoutExpired:
            end(process)
            out, err = rest(process)
            self.status = None
        RUNNING.discard(process)
        self.seconds = time.monotonic() - began
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def reason(self):
        said = [line for line in self.err.splitlines() if line.startswith("mneme: ") and not line.startswith("mneme: warning: ")]
        return (said or self.err.splitlines() or ["nothing was said"])[0].removeprefix("mneme: ")


def shape(line):
    """What stands around the numbers; in columns a number of other length has other spaces before it."""
    return " ".join(NUMBER.sub("#", line).split())


def first_change(bare, again, recorded, ignore):
    """The first line of a recorded run's output that a bare run would not have written, or None. What two bare runs write
    differently differs by itself: there only the text around the numbers counts."""

    def kept(lines):
        for pattern in ignore:
            lines = [pattern.sub("", line) for line in lines]
        return lines

    bare, again, recorded = kept(bare), kept(again), kept(recorded)
    if len(bare) != len(again):  # as many lines as a thread or a clock had time for
        known = {shape(line) for line in bare + again}
        return next((line for line in recorded if shape(line) not in known), None)
    if len(recorded) != len(bare):
        return f"{len(recorded)} lines in place of {len(bare)}"
    for one, other, line in zip(bare, again, recorded):
        if line == one or line == other:
            continue
        may_differ = one != other or TIMES.search(one)
        if not may_differ or (shape(line) != shape(one) and shape(line) != shape(other)):
            return f"{line!r} in place of {one!r}"
    return None


class Survey:
    def __init__(self, options, listed):
        self.options = options
        self.limit = options.limit or listed.get("limit", 60)
        self.right, self.wrong = listed.get("right", ""), listed.get("wrong")
        self.ignore = [re.compile(pattern) for pattern in listed.get("ignore", [])]
        self.root = pathlib.Path(options.list).resolve().parent

    def mneme(self, command, *arguments, limit=REPLAY_LIMIT, **where):
        return Finished([self.options.mneme, command, "--device", self.options.device, *arguments], limit=limit, **where)

    def program(self, one):
        """What is found of a program, as an entry of programs.jsonl."""
        words = shlex.split(one["command"])
        found = {"name": one.get("name", words[0]), "command": one["command"]}
        where = {
            "directory": self.root / one.get("directory", "."),
            # One mark for all runs, since the program may print its environment.
            "environment": {**{key: str(value) for key, value in one.get("environment", {}).items()}, MARK: uuid.uuid4().hex},
        }
        limit = self.options.limit or one.get("limit", self.limit)
        run = [self.options.mneme, "run", "--device", "cpu", "--"] if self.options.device == "cpu" else []
        bare = [Finished([*run, *words], limit=limit, **where) for _ in range(2)]
        found["seconds"] = round(min(each.seconds for each in bare), 3)
        if any(each.status is None for each in bare):
            return {**found, "outcome": f"does not end in {limit} s by itself"}
        if bare[0].status != bare[1].status or bare[0].status not in (0, 1):
            return {**found, "outcome": f"exit status {bare[0].status} by itself"}
        if reason := self.not_right(one, bare[0]):
            return {**found, "outcome": reason}
        with tempfile.TemporaryDirectory(prefix="mneme-survey-", dir=self.options.scratch) as folder:
            folder = pathlib.Path(folder)
            return {**found, **self.recorded(words, bare, folder, 10 * limit, where)}

    def not_right(self, one, run):
        """Why a program that ended well has not done what it should, or None."""
        said = [line for line in run.err.splitlines() if line.startswith("mneme: error: ")]
        if said:
            return "fails by itself: " + said[0].removeprefix("mneme: error: ")
        right, wrong = one.get("right", self.right), one.get("wrong", self.wrong)
        if not re.search(right, run.out):
            return f"not right by itself: its output has no '{right}'"
        found = re.search(wrong, run.out) if wrong else None
        return f"not right by itself: its output has '{found[0]}'" if found else None

    def recorded(self, words, bare, folder, limit, where):
        profile = self.mneme("profile", "--json", folder / "profile.json", "--", *words, limit=limit, **where)
        report, database = folder / "report.json", folder / "db"
        options = shlex.split(" ".join(self.options.record)) or ["--max", "1"]
        record = self.mneme("record", "-rdb", database, "--json", report, *options, "--", *words, limit=limit, **where)
        found = {"recording_seconds": round(record.seconds, 3)}
        for name, run in (("profiled", profile), ("recorded", record)):
            if run.status is None:
                return {**found, "outcome": f"CHANGED: does not end in {limit} s when {name}"}
            if run.status != bare[0].status:
                return {**found, "outcome": f"CHANGED: exit status {run.status} when {name}: {run.reason()}"}
            change = first_change(*(each.out.splitlines() for each in (*bare, run)), self.ignore)
            if change:
                return {**found, "outcome": f"CHANGED: {name}: {change}"}
        launched = json.loads((folder / "profile.json").read_text())["kernels"]
        found["outcome"] = "unchanged"
        found["report"] = json.loads(report.read_text())
        found["launched"] = sorted({kernel["name"] for kernel in launched})
        found["instances"] = []
        if found["report"]["recorded"] + found["report"]["recorded_before"]:
            listing = json.loads(self.mneme_plain("ls", "--json", database).out)
            for kernel in listing["kernels"]:
                for number in range(len(kernel["instances"])):
                    name = f"{kernel['static_hash']}#{number}"
                    instance = {"kernel": kernel["name"], **self.replayed(database, name)}
                    if self.options.compile_for:
                        instance["compiled"] = self.compiled(database, name, folder / f"sweep-{len(found['instances'])}")
                    found["instances"].append(instance)
        return found

    def mneme_plain(self, command, *arguments):
        return Finished([self.options.mneme, command, *arguments], limit=REPLAY_LIMIT)

    def compiled(self, database, name, results):
        """What the code of --compile-for needs as built, and the least that it needs at a point of the grid."""
        architecture = ("--compile-only", "--arch", self.options.compile_for)
        done = self.mneme_plain("sweep", database, name, *architecture, *GRID, "--results-dir", results)
        if done.status not in (0, 1):
            return {"reason": f"after {REPLAY_LIMIT} s" if done.status is None else done.reason()}
        built, points, refusal = None, [], "no point of the grid was tried"
        for line in (results / "results.jsonl").read_text().splitlines()[1:]:
            tried = json.loads(line)
            if tried["failure"]:
                refusal = f"{tried['failure']}: {tried['reason']}"
            elif tried.get("label", "").startswith("baseline"):
                built = tried["result"]
            else:
                points.append(tried["result"])
        if built is None or not points:
            return {"reason": refusal}
        return {
            "points": len(points),
            "registers": [built["reg_usage"], min(point["reg_usage"] for point in points)],
            "bytes": [built["obj_size"], min(point["obj_size"] for point in points)],
        }

    def replayed(self, database, name):
        # Whether it verifies does not depend on who else uses the GPU; the CPU device is shared anyway.
        shared = ["--shared-device"] if self.options.device != "cpu" and os.path.exists("/dev/nvidiactl") else []
        done = self.mneme("replay", database, name, "as-built", "--iterations", "1", "--json", *shared)
        if done.status == 0:
            return {"verdict": "verified"}
        if done.status != 1:
            return {"verdict": "not replayed", "reason": f"after {REPLAY_LIMIT} s" if done.status is None else done.reason()}
        check = self.mneme("check", database, name, "as-built", "--json")
        try:
            deterministic = json.loads(check.out)["deterministic"]
        except (ValueError, KeyError, TypeError):
            return {"verdict": "differs", "reason": "mneme check: " + check.reason()}
        return {"verdict": "differs" if deterministic else "not deterministic"}


def count(instances, verdict):
    return sum(one["verdict"] == verdict for one in instances)


def lacking(found):
    """The kernels that were launched and have no instance."""
    return sorted(set(found["launched"]) - {one["kernel"] for one in found["instances"]})


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def exceptions(entry, without):
    """Why instances do not verify, and kernels have none."""
    texts = []
    for one in entry["instances"]:
        if one["verdict"] not in ("verified", "not deterministic"):
            texts.append(": ".join([one["kernel"], one["verdict"], *([one["reason"]] if "reason" in one else [])]))
        if "reason" in one.get("compiled", {}):
            texts.append(f"{one['kernel']}: not compiled: {one['compiled']['reason']}")
    if without:
        report = entry["report"]
        reasons = [why["reason"] for why in report["not_recorded"] if not why["reason"].startswith("the kernel has as many")]
        texts.append(f"without an instance: {', '.join(without)} ({'; '.join(reasons) or report['ended_early'] or 'no reason was given'})")
    return texts


def compiled_head(compiled):
    """The line about --compile-for, if it was asked for."""
    if not compiled:
        return []
    good = [one for one in compiled if "points" in one]
    fewer, smaller = (sum(one[what][1] < one[what][0] for one in good) for what in ("registers", "bytes"))
    return [f"{share(len(good), len(compiled))} instances are compiled; a point of the grid has fewer registers for {fewer}, less code for {smaller}."]


def table(entries):
    columns = ("program", "outcome", "bare", "recorded", "kernels", "with an instance", "instances", "verified", "not deterministic", "others, and reasons")
    rows = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    ran = [entry for entry in entries if "by itself" not in entry["outcome"]]
    sums = dict.fromkeys(("kernels", "held", "instances", "verified", "varying"), 0)
    for entry in sorted(ran, key=lambda entry: entry["name"]):
        if "instances" not in entry:
            rows.append(f"| {cell(entry['name'])} | {cell(entry['outcome'])} |" + " |" * (len(columns) - 2))
            continue
        instances, without = entry["instances"], lacking(entry)
        verified, varying = count(instances, "verified"), count(instances, "not deterministic")
        held = len(entry["launched"]) - len(without)
        numbers = f"{entry['seconds']:.1f} s | {entry['recording_seconds']:.1f} s | {len(entry['launched'])} | {held} | {len(instances)} | {verified} | {varying}"
        rows.append(f"| {cell(entry['name'])} | {entry['outcome']} | {numbers} | {cell('; '.join(exceptions(entry, without)))} |")
        for key, value in zip(sums, (len(entry["launched"]), held, len(instances), verified, varying)):
            sums[key] += value
    changed = [entry["name"] for entry in ran if entry["outcome"].startswith("CHANGED")]
    unchanged = f"{share(len(ran) - len(changed), len(ran))} programs that run here by themselves are unchanged by recording"
    held = f"{share(sums['held'], sums['kernels'])} kernels that they launch have an instance"
    right = f"{share(sums['verified'], sums['instances'] - sums['varying'])} instances that do the same each time verify as built"
    head = [f"{unchanged}; {len(entries) - len(ran)} more do not run, end or do right.", f"{held}. {right}; {sums['varying']} are not deterministic."]
    head += compiled_head([one["compiled"] for entry in ran for one in entry.get("instances", []) if "compiled" in one])
    return "\n".join([*head, "", *rows, ""]), changed


def write_table(folder, entries):
    text, changed = table(entries)
    new = folder / "survey.md.new"
    new.write_text(text)
    new.replace(folder / "survey.md")
    return text.split("\n\n")[0].splitlines(), changed


def known_entries(file):
    """What an earlier run has found. A line that was cut off when that was killed is left out."""
    entries = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def read_list(path, only):
    with open(path, "rb") as file:
        listed = tomllib.load(file)
    programs = listed.get("program", [])
    for one in programs:
        if not isinstance(one.get("command"), str) or not one["command"].strip():
            raise ValueError("each [[program]] has a command, as text")
        try:
            one.setdefault("name", shlex.split(one["command"])[0])
        except ValueError as problem:
            raise ValueError(f"the command {one['command']!r}: {problem}") from None
    for one in (listed, *programs):
        for key in ("right", "wrong"):
            try:
                re.compile(one.get(key, ""))
            except (re.error, TypeError) as problem:
                raise ValueError(f"{key} = {one[key]!r}: {problem}") from None
    names = [one["name"] for one in programs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two programs have the name {twice[0]}")
    return listed, [one for one in programs if re.search(only, one["name"])]


def seconds(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return int(value) if value.is_integer() else value


def main():
    parser = argparse.ArgumentParser(prog="mneme-survey", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = pathlib.Path(sys.argv[0]).absolute().parent / "mneme"
    parser.add_argument("list", metavar="LIST.toml")
    parser.add_argument("--results", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path("survey"), help="for what is found (default: survey)")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="where programs run and launches are replayed")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="programs at once (default: 1)")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs in whose name this is found")
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="of each run of a program, in place of the list's limits (default: the list's, or 60)")
    parser.add_argument("--record", action="append", default=[], metavar="OPTION", help="options of mneme record in place of --max 1; repeatable")
    parser.add_argument("--compile-for", metavar="ARCH", help="compile each recorded launch for this architecture too, as gfx942, under a small grid")
    parser.add_argument("--scratch", metavar="FOLDER", help="where recordings are kept while they are looked at (default: the temporary folder)")
    parser.add_argument("--mneme", default=str(beside) if beside.exists() else "mneme", help="the command (default: the one beside this, or on the PATH)")
    options = parser.parse_args()
    try:
        listed, programs = read_list(options.list, options.only)
    except (OSError, ValueError) as problem:
        say(f"mneme-survey: reading {options.list}: {problem}")
        return 2
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / "programs.jsonl"
    entries = known_entries(file)
    names = {entry["name"] for entry in entries}
    waiting = [one for one in programs if one["name"] not in names]
    survey = Survey(options, listed)
    with open(file, "a") as out, concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as threads:
        futures = {threads.submit(survey.program, one): one["name"] for one in waiting}
        try:
            for done in concurrent.futures.as_completed(futures):
                try:
                    entry = done.result()
                except (OSError, ValueError, KeyError) as problem:
                    entry = {"name": futures[done], "outcome": f"cannot be started by itself: {problem}"}
                out.write(json.dumps(entry) + "\n")
                out.flush()
                entries.append(entry)
                say(f"[{len(entries)}/{len(entries) + sum(not future.done() for future in futures)}] {entry['name']}: {entry['outcome']}")
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            with STARTING:
                STOPPING.set()
            for process in list(RUNNING):
                end(process)
            say("mneme-survey: interrupted; the same command goes on")
    head, changed = write_table(options.results, entries)
    say("\n".join([*head, f"The table is {options.results / 'survey.md'}"]))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
