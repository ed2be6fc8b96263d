"""A folder of results as values: what was asked for, and what each configuration came to.

`mneme sweep` and `mneme tune` leave the same log, `results.jsonl` (docs/reference/results.md); what else lies beside it
is optional. Nothing here draws.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mneme import _json, _native
from mneme._views import shown
from mneme.config import with_current_names
from mneme.errors import CorruptError, NotFoundError
from mneme.results.baseline import Baseline
from mneme.results.factors import Factor, Value, factors_of, flatten
from mneme.results.folder import ResultsFolder
from mneme.results.statistics import LEAST_ROUNDS, SpeedUp, speed_up, speed_up_seen
from mneme.results.trials import COMPLETE, FAILED, PRUNED, Trial

#: What holds of a configuration that leaves the key out (docs/reference/result.md).
DEFAULTS: dict[str, Value] = {
    "codegen.level": 3,
    "codegen.ftz": "recorded",
    "codegen.contraction": "recorded",
    "shared_memory": 0,
}

#: Stages of `result.times` in which code was made, or was found in the cache: as `Result.compile_time` adds them up.
COMPILING = tuple(_native.compile_stages())

#: Of the intervals of best.json, which does not say it.
CONFIDENCE = 0.95

#: Characters of a wrong value that a message shows.
MOST_SHOWN = 80


@dataclass(frozen=True)
class LogLine:
    """A line of the log: one configuration and what it came to; times are nanoseconds."""

    configuration: Mapping[str, Any]
    digest: str
    origin: str
    failure: str | None
    reason: str
    label: str
    times: tuple[float, ...]
    result: Mapping[str, Any]
    shared_with: str = ""  # the digest of the one that was measured, where this one ended in the same code and launch

    @property
    def state(self) -> str:
        """As a trial's: what was cancelled was given up while it was timed."""
        return COMPLETE if self.failure is None else PRUNED if self.failure == "cancelled" else FAILED

    @property
    def time(self) -> float | None:
        """The median of its timed launches, in ns; None where it failed."""
        return self.seen if self.failure is None else None

    @property
    def seen(self) -> float | None:
        """The median of what was timed, in ns, also where it was given up."""
        return statistics.median(self.times) if self.times else None

    def quantity(self, key: str) -> float | None:
        """A number of the result (`reg_usage`, `compile_time` in ns); of several instances the largest."""
        found = [_number(result, key) for result in self.instances()]
        return max((value for value in found if value is not None), default=None)

    def instances(self) -> list[Mapping[str, Any]]:
        """The result of each instance that was replayed."""
        parts = self.result.get("instances")
        if not isinstance(parts, list) or not parts:
            return [self.result]
        results = [part.get("result") if isinstance(part, dict) else None for part in parts]
        return [result if isinstance(result, dict) else {} for result in results]


def _number(result: Mapping[str, Any], key: str) -> float | None:
    if key == "compile_time":
        spent = [_number(result, f"times.{stage}") for stage in COMPILING]
        return sum(value for value in spent if value) or None
    if key == "spills":  # bytes, or on AMD GPUs registers
        for names in (("spill_store_bytes", "spill_load_bytes"), ("vgpr_spills", "sgpr_spills")):
            spilled = [_number(result, name) for name in names]
            if spilled != [None, None]:
                return sum(value or 0 for value in spilled)
        return None
    value: Any = result
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Ingredient:
    """One thing of the best configuration, and what it is worth."""

    key: str  # the member of the configuration
    in_source: str  # what a person writes for it
    failure: str  # why it was not measured; empty: what is left without it is right
    speed_up: tuple[float, float, float] | None  # of all over what is left without it, with its interval
    share: float | None  # of the logarithm of the gain


@dataclass(frozen=True)
class Explained:
    """What the best configuration is made of, on one recorded launch."""

    instance: str
    failure: str
    speed_up: tuple[float, float, float] | None  # of all of it over the launch as recorded
    ingredients: tuple[Ingredient, ...]


@dataclass(frozen=True)
class Run:
    """All of a folder of results."""

    folder: Path
    about: Mapping[str, Any]
    asked: Mapping[str, Any]  # tune.json or sweep.json; empty where there is none
    said: Mapping[str, Any]  # best.json
    came_to: Mapping[str, Any]  # summary.json, which a run leaves at its end
    command: str  # "tune", "sweep"
    baselines: tuple[LogLine, ...]
    anew: tuple[LogLine, ...]  # the best ones, measured again in turn with the baseline
    trials: tuple[Trial, ...]  # numbered from 1 in the order in which their configurations were done
    lines: Mapping[str, LogLine]  # of the trials, by their digests
    factors: tuple[Factor, ...]
    explained: tuple[Explained, ...] = ()  # what the best one is made of, by `mneme deploy --explain`
    points: int = 0  # trials of a tuning run, of which several may be of one configuration; 0 of a sweep

    @property
    def columns(self) -> list[Factor]:
        """The factors as they were given: not what is derived from them."""
        return [factor for factor in self.factors if not factor.derived]

    @property
    def studied(self) -> list[Factor]:
        """The factors that can be studied: what is derived stands in place of what is endless."""
        return [factor for factor in self.factors if not factor.is_endless]

    def line_of(self, trial: Trial) -> LogLine:
        """What the log has of a trial: its configuration, all that was measured."""
        return self.lines[trial.digest]

    @property
    def right(self) -> list[Trial]:
        """The trials that are right and have a time."""
        return [trial for trial in self.trials if trial.state == COMPLETE and trial.time is not None]

    @property
    def given_up(self) -> list[Trial]:
        """The trials that were given up while they were timed, because they were clearly slower."""
        return [trial for trial in self.trials if trial.state == PRUNED]

    @property
    def timed(self) -> list[Trial]:
        """The trials of which something is known of the time: those that are right, and those that were given up."""
        return [trial for trial in self.trials if trial.time is not None]

    @property
    def failures(self) -> dict[str, list[Trial]]:
        """The trials that failed, by kind, the most frequent first."""
        kinds: dict[str, list[Trial]] = {}
        for trial in self.trials:
            if trial.state == FAILED:
                kinds.setdefault(str(trial.failure), []).append(trial)
        return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))

    @property
    def best(self) -> Trial | None:
        """What `best.json` names, else the fastest; None where nothing is right."""
        told = self.said.get("configuration")
        named = [trial for trial in self.right if self.line_of(trial).configuration == told]
        return named[0] if named else min(self.right, key=lambda trial: trial.time or 0.0, default=None)

    @property
    def rounds(self) -> list[tuple[LogLine, LogLine]]:
        """The baseline and the best configuration as they were measured in turn."""
        best = self.best
        anew = [line for line in self.anew if best and line.configuration == self.line_of(best).configuration]
        against = [line for line in self.baselines if "round" in line.label]
        return list(zip(against[-len(anew) :], anew, strict=False))

    @cached_property
    def baseline(self) -> float | None:
        """The time of the baseline, in ns, as the command has it that left the folder.

        In turn with the best where that was done; else that of the last run of tuning, which its summary tells; else
        the median of all measurements.
        """
        in_turn = _median([before.time for before, _ in self.rounds])
        told = self.came_to.get("baseline")
        if in_turn is None and isinstance(told, dict) and self.command == "tune":
            numbers = {name: _number(told, name) for name in ("begin", "end", "in_turn")}
            in_turn = Baseline(begin=numbers["begin"], end=numbers["end"], in_turn=numbers["in_turn"]).time
        return in_turn or _median([line.time for line in self.baselines])

    @property
    def best_time(self) -> float | None:
        """The time of the best configuration, in ns; where it was measured again, of that."""
        best = self.best
        return _median([after.time for _, after in self.rounds]) or (best.time if best else None)

    @property
    def speed_up(self) -> SpeedUp | None:
        """Of the best configuration over the baseline: as it was confirmed, else what the search saw.

        None where one of the two has no time. What was only seen has no interval.
        """
        interval, value = self.said.get("interval"), self.said.get("speed_up")
        if isinstance(interval, list) and len(interval) == 2 and isinstance(value, int | float):
            low, high = interval
            bounds = 0.0 if low is None else float(low), math.inf if high is None else float(high)
            return SpeedUp(float(value), *bounds, confidence=CONFIDENCE, rounds=len(self.rounds))
        if (found := self.speed_up_in_turn) is not None:
            return found
        seen = speed_up_seen(self.baseline, self.best_time)
        return None if seen is None else SpeedUp(seen, 0.0, math.inf, confidence=CONFIDENCE, rounds=0)

    @property
    def speed_up_in_turn(self) -> SpeedUp | None:
        """What the rounds in the log say, where there are enough of them."""
        times = [(before.time, after.time) for before, after in self.rounds]
        whole = [(before, after) for before, after in times if before and after]
        if len(whole) < LEAST_ROUNDS:
            return None
        return speed_up([before for before, _ in whole], [after for _, after in whole])

    @property
    def is_confirmed(self) -> bool:
        """Whether the best and the baseline were measured anew in turn, often enough to prove something."""
        if self.said.get("interval") is None:
            return self.speed_up_in_turn is not None
        return not 0 < len(self.rounds) < LEAST_ROUNDS

    def baseline_of(self, trial: Trial) -> float | None:
        """What the speed-up of a trial is over, in ns, as the command's table has it.

        Of another run than the last one only its begin is known.
        """
        last = self.came_to.get("baseline")
        begin = last.get("begin") if isinstance(last, dict) else None
        return self.baseline if trial.baseline in (None, begin) else trial.baseline

    def speed_up_of(self, trial: Trial) -> float | None:
        """How many times as fast a trial seems, as the command's table has it: a hint."""
        return speed_up_seen(self.baseline_of(trial), trial.time)

    def is_recorded(self, trial: Trial) -> bool:
        """Whether a trial is the launch as recorded, or ended in the same code and launch."""
        return (trial.shared_with or trial.digest) in self._recorded

    @cached_property
    def _recorded(self) -> set[str]:
        before = flatten(self.baselines[0].configuration) if self.baselines else None
        return {
            trial.shared_with or trial.digest
            for trial in self.right
            if before is not None and not self.changes(before, flatten(self.line_of(trial).configuration))
        }

    def changes(self, before: Mapping[str, Value], after: Mapping[str, Value]) -> list[tuple[str, Value, Value]]:
        """Each key of configurations, made flat, whose value differs, with both values."""
        rows = []
        for key in {**before, **after}:
            absent = self.left_out(key, [before.get(key, after.get(key))])
            rows.append((key, before.get(key, absent), after.get(key, absent)))
        return [row for row in rows if row[1] != row[2]]

    def left_out(self, key: str, present: Sequence[Value]) -> Value:
        """The value of a key where a configuration leaves it out; `present` are values that others give it."""
        return _left_out(key, present, _launch(self.baselines))


def _median(times: Iterable[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return statistics.median(known) if known else None


def read(folder: Path, *, database: Path | None = None) -> Run:
    """Reads what `mneme sweep` or `mneme tune` left in a folder; `database` is where the recorded kernel lies now.

    A last line that was cut off is left out, and of one configuration's lines the last one holds.

    Raises `mneme.errors.NotFoundError` where there are no results, `mneme.errors.CorruptError` where a file is not what
    it should be.
    """
    files = ResultsFolder(folder)
    log = files.log
    if not log.is_file():
        raise NotFoundError(
            f"reading results: {folder} has no results.jsonl; give the folder that `mneme tune` or `mneme sweep` named"
        )
    documents = _read_lines(log)
    if not documents or documents[0].get("mneme_log") != 1:
        raise CorruptError(f"reading results: {log} does not begin with the line of a log of version 1")
    about = documents[0].get("about")
    about = about if isinstance(about, dict) else {}
    if database is not None:
        folder_of_it = database.parent if database.suffix == ".json" and not database.is_dir() else database
        about = {**about, "database": str(folder_of_it.absolute())}
    lines = [_line(number, line, log) for number, line in enumerate(documents[1:])]
    searched = {line.digest: line for line in lines if not line.label}
    baselines = [line for line in lines if line.label.startswith("baseline")]
    points = _read_lines(files.trials) if files.trials.is_file() else []
    given, against = _given_params(points), _against(points)
    rows = [given.get(line.digest, {}) if given else flatten(line.configuration) for line in searched.values()]
    launch = _launch(baselines)
    factors, values = factors_of(rows, lambda key, present: None if given else _left_out(key, present, launch))
    return Run(
        folder=folder,
        about=about,
        asked=_read_object(files.plan_of(files.command)),
        said=_read_best(files.best),
        explained=_read_explained(files),
        came_to=_read_object(files.summary),
        command=files.command,
        baselines=tuple(baselines),
        anew=tuple(line for line in lines if line.label.startswith("best")),
        trials=tuple(
            _trial(number, params, line, against.get(line.digest))
            for number, (line, params) in enumerate(zip(searched.values(), values, strict=True), 1)
        ),
        lines=searched,
        factors=tuple(factors),
        points=len(points),
    )


def _read_lines(path: Path) -> list[Mapping[str, Any]]:
    """The JSON objects of a file's lines, but for a last one that was cut off."""
    documents: list[Mapping[str, Any]] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            document = _json.loads(line)
        except ValueError as error:
            raise CorruptError(f"reading results: {path}, line {number} is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise CorruptError(f"reading results: {path}, line {number} is not a JSON object")
        documents.append(document)
    return documents


def _given_params(points: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Value]]:
    """By a configuration's digest, the point of the search space that it was derived from."""
    given: dict[str, dict[str, Value]] = {}
    for line in points:
        params = line.get("params")
        if isinstance(params, dict) and line.get("digest"):
            given.setdefault(str(line["digest"]), {key: _one_value(value) for key, value in params.items()})
    return given


def _against(points: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By a configuration's digest, the baseline of the run that tried it first: of the next trial that knew it."""
    found: dict[str, float] = {}
    known: float | None = None
    for line in reversed(points):
        known = _number(line, "baseline") or known
        if known:
            found[str(line.get("digest"))] = known
    return found


def _one_value(value: Any) -> Value:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else value


def _read_object(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        document = _json.loads(path.read_text())
    except ValueError as error:
        raise CorruptError(f"reading results: {path} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CorruptError(f"reading results: {path} is not a JSON object")
    configuration = document.get("configuration")
    if isinstance(configuration, dict):
        document = {**document, "configuration": with_current_names(configuration)}
    return document


def _trial(number: int, params: dict[str, Value], line: LogLine, baseline: float | None) -> Trial:
    """The trial that a line is of. `baseline`: of the run that measured it, in ns."""
    return Trial(
        number,
        params,
        state=line.state,
        time=line.seen if line.state != FAILED else None,
        registers=line.quantity("reg_usage"),
        object_size=line.quantity("obj_size"),
        compile_time=line.quantity("compile_time"),
        instructions=line.quantity("instructions"),
        spills=line.quantity("spills"),
        failure=line.failure if line.state == FAILED else None,
        reason=line.reason,
        origin=line.origin,
        shared_with=line.shared_with or None,
        digest=line.digest,
        baseline=baseline,
    )


def _line(number: int, line: Mapping[str, Any], log: Path) -> LogLine:
    configuration, result = line.get("configuration"), line.get("result") or {}
    if not isinstance(configuration, dict) or not isinstance(result, dict) or not isinstance(line.get("digest"), str):
        raise CorruptError(
            f"reading results: {log}, line {number + 2} is not a result: it lacks a configuration or its digest"
        )
    return LogLine(
        configuration=with_current_names(configuration),
        digest=line["digest"],
        origin=str(line.get("origin", "measured")),
        failure=line.get("failure"),
        reason=str(line.get("reason") or ""),
        label=str(line.get("label") or ""),
        times=_times(result, f"{log}, line {number + 2}"),
        result=result,
        shared_with=str(line.get("shared_with") or ""),
    )


def _times(result: Mapping[str, Any], place: str) -> tuple[float, ...]:
    """The timed launches of a result."""
    times = result.get("exec_time") or []
    if not isinstance(times, list):
        raise CorruptError(
            f"reading results: {place} is not a result: its 'exec_time' must be a list, not {_cut(times)}"
        )
    for time in times:
        if not _is_float(time):
            raise CorruptError(
                f"reading results: {place} is not a result: its 'exec_time' must have numbers, not {_cut(time)}"
            )
    return tuple(map(float, times))


def _read_best(path: Path) -> Mapping[str, Any]:
    """best.json; a bound of its interval that is null is endless."""
    said = _read_object(path)
    interval = said.get("interval")
    bounds = interval if isinstance(interval, list) and len(interval) == 2 else [False]
    if interval is not None and not all(bound is None or _is_float(bound) for bound in bounds):
        raise CorruptError(f"reading results: {path}: 'interval' must be two numbers, not {_cut(interval)}")
    return said


def _read_explained(files: ResultsFolder) -> tuple[Explained, ...]:
    """explained.json, where it is about the best configuration that there is now."""
    said = _read_object(files.explained)
    if not said or said.get("configuration") != _read_object(files.best).get("configuration"):
        return ()

    def speed_up_in(entry: Mapping[str, Any]) -> tuple[float, float, float] | None:
        given = entry["speed_up"]
        if given is None and entry["failure"]:
            return None
        low, high = given["interval"]
        return float(given["value"]), float(low), float(high)

    def ingredient(entry: Mapping[str, Any]) -> Ingredient:
        share = entry["share"]
        return Ingredient(
            str(entry["key"]),
            str(entry["in_source"]),
            str(entry["failure"] or ""),
            speed_up_in(entry),
            None if share is None else float(share),
        )

    try:
        return tuple(
            Explained(
                str(entry["instance"]),
                str(entry["failure"] or ""),
                speed_up_in(entry),
                tuple(ingredient(part) for part in entry["ingredients"]),
            )
            for entry in said["instances"]
        )
    except (KeyError, TypeError, ValueError):
        raise CorruptError(
            f"reading results: {files.explained} is not what `mneme deploy --explain` writes; give that command again"
        ) from None


def _is_float(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _cut(value: Any) -> str:
    return shown(json.dumps(value), MOST_SHOWN)


def _launch(baselines: Iterable[LogLine]) -> Mapping[str, Any]:
    """The result that tells the shape of the launch as it was recorded."""
    return next((line.instances()[0] for line in baselines if line.times), {})


def _left_out(key: str, present: Sequence[Value], shape: Mapping[str, Any]) -> Value:
    """The value of a key that a configuration leaves out."""
    if key in DEFAULTS:
        return DEFAULTS[key]
    if all(isinstance(value, bool) for value in present):
        return key == "verdict.mask"
    extent = _number(shape, key)
    return int(extent) if extent is not None and key.split(".")[0] in ("block", "grid") else None
