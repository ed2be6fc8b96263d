"""A folder of results as values: what was asked for, and what each configuration came to.

`mneme sweep` and `mneme tune` leave the same log, `results.jsonl` (docs/reference/results.md); what else lies beside it
is optional. Nothing here draws, and nothing needs more than the standard library.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mneme.errors import CorruptError, InvalidArgumentError, NotFoundError

Value = str | int | float | bool | None

#: What holds of a configuration that leaves the key out (docs/reference/result.md).
DEFAULTS: dict[str, Value] = {
    "codegen.level": 3,
    "codegen.ftz": "recorded",
    "codegen.contraction": "recorded",
    "shared_memory": 0,
}

#: Stages of `result.times` that are compiling.
COMPILING = ("prepare", "optimise", "codegen", "assemble", "lower", "host_optimise", "link")

#: Above so many distinct texts a parameter is no choice any more.
MANY_TEXTS = 16


@dataclass(frozen=True)
class Trial:
    """One configuration and what it came to; times are nanoseconds."""

    number: int
    configuration: Mapping[str, Any]
    digest: str
    origin: str
    failure: str | None
    reason: str
    label: str
    times: tuple[float, ...]
    result: Mapping[str, Any]
    shared_with: str = ""  # the digest of the one that was measured, where this one ended in the same code and launch
    params: Mapping[str, Value] = field(default_factory=dict)

    @property
    def time(self) -> float | None:
        """The median of its timed launches, in ns; None where it failed."""
        return statistics.median(self.times) if self.failure is None and self.times else None

    def quantity(self, key: str) -> float | None:
        """A number of the result (`reg_usage`, `compile_time` in ns); of several instances the largest."""
        found = [_number(result, key) for result in self.instances()]
        return max((value for value in found if value is not None), default=None)

    def instances(self) -> list[Mapping[str, Any]]:
        """The result of each instance that was replayed."""
        parts = self.result.get("instances")
        return [part.get("result", {}) for part in parts] if parts else [self.result]


def _number(result: Mapping[str, Any], key: str) -> float | None:
    if key == "compile_time":
        spent = [result.get("times", {}).get(stage) for stage in COMPILING]
        return sum(value for value in spent if value) or None
    if key == "spills":
        spilled = [result.get(name) for name in ("spill_store_bytes", "spill_load_bytes")]
        return None if spilled == [None, None] else sum(value or 0 for value in spilled)
    value: Any = result
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Parameter:
    """What was searched: a key, and the values that were tried, in order."""

    name: str
    values: tuple[Value, ...]
    derived: bool = False  # from a pass pipeline: how long it is, whether a pass is in it

    @property
    def is_number(self) -> bool:
        """Whether its values have distances, and not only names."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)


@dataclass(frozen=True)
class Run:
    """All of a folder of results."""

    folder: Path
    about: Mapping[str, Any]
    asked: Mapping[str, Any]  # tune.json or sweep.json; empty where there is none
    said: Mapping[str, Any]  # best.json
    command: str  # "tune", "sweep"
    baselines: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    parameters: tuple[Parameter, ...]

    @property
    def columns(self) -> list[Parameter]:
        """The parameters as they were given: not what is derived from them."""
        return [parameter for parameter in self.parameters if not parameter.derived]

    @property
    def studied(self) -> list[Parameter]:
        """The parameters that can be studied: what is derived stands in place of texts without end."""
        return [parameter for parameter in self.parameters if not _is_pipelines(parameter)]

    @property
    def right(self) -> list[Trial]:
        """The trials that have a time."""
        return [trial for trial in self.trials if trial.time is not None]

    @property
    def failures(self) -> dict[str, list[Trial]]:
        """The trials that failed, by kind, the most frequent first."""
        kinds: dict[str, list[Trial]] = {}
        for trial in self.trials:
            if trial.failure is not None:
                kinds.setdefault(trial.failure, []).append(trial)
        return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))

    @property
    def best(self) -> Trial | None:
        """What `best.json` names, else the fastest; None where nothing is right."""
        named = [trial for trial in self.right if trial.configuration == self.said.get("configuration")]
        return named[0] if named else min(self.right, key=lambda trial: trial.time or 0.0, default=None)

    @property
    def baseline_times(self) -> list[tuple[float, ...]]:
        """The timed launches of each measurement of the baseline, in ns."""
        return [trial.times for trial in self.baselines if trial.time is not None]

    @property
    def baseline(self) -> float | None:
        """The time of the baseline, in ns: the median of its measurements' medians."""
        medians = [statistics.median(times) for times in self.baseline_times]
        return statistics.median(medians) if medians else None

    def left_out(self, key: str, present: Sequence[Value]) -> Value:
        """The value of a key where a configuration leaves it out; `present` are values that others give it."""
        return _absent(key, present, _launch(self.baselines))


def read(folder: Path) -> Run:
    """Reads what `mneme sweep` or `mneme tune` left in a folder.

    A last line that was cut off is left out, and of one configuration's lines the last one holds.

    Raises `mneme.errors.NotFoundError` where there are no results, `mneme.errors.CorruptError` where a file is not what
    it should be.
    """
    log = folder / "results.jsonl"
    if not log.is_file():
        raise NotFoundError(
            f"reading results: {folder} has no results.jsonl; give the folder that `mneme tune` or `mneme sweep` named"
        )
    about, lines = _read_log(log)
    command = next((name for name in ("tune", "sweep") if (folder / f"{name}.json").is_file()), "sweep")
    asked = _read_object(folder / f"{command}.json")
    trials = [_trial(number, line, log) for number, line in enumerate(lines)]
    baselines = tuple(trial for trial in trials if trial.label)
    latest = {trial.digest: trial for trial in trials if not trial.label}
    searched = [replace(trial, number=number) for number, trial in enumerate(latest.values(), 1)]
    parameters, values = _parameters(searched, baselines)
    searched = [replace(trial, params=params) for trial, params in zip(searched, values, strict=True)]
    return Run(
        folder, about, asked, _read_object(folder / "best.json"), command, baselines, tuple(searched), tuple(parameters)
    )


def _read_log(log: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    documents: list[Mapping[str, Any]] = []
    for number, line in enumerate(log.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            document = json.loads(line)
        except ValueError as error:
            raise CorruptError(f"reading results: {log}, line {number} is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise CorruptError(f"reading results: {log}, line {number} is not a JSON object")
        documents.append(document)
    version = documents[0].get("mneme_log") if documents else None
    if version != 1:
        raise CorruptError(f"reading results: {log} does not begin with the line of a log of version 1")
    about = documents[0].get("about")
    return about if isinstance(about, dict) else {}, documents[1:]


def _read_object(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        document = json.loads(path.read_text())
    except ValueError as error:
        raise CorruptError(f"reading results: {path} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CorruptError(f"reading results: {path} is not a JSON object")
    return document


def _trial(number: int, line: Mapping[str, Any], log: Path) -> Trial:
    configuration, result = line.get("configuration"), line.get("result") or {}
    if not isinstance(configuration, dict) or not isinstance(result, dict) or not isinstance(line.get("digest"), str):
        raise CorruptError(
            f"reading results: {log}, line {number + 2} is not a result: it lacks a configuration or its digest"
        )
    return Trial(
        number=number,
        configuration=configuration,
        digest=line["digest"],
        origin=str(line.get("origin", "measured")),
        failure=line.get("failure"),
        reason=str(line.get("reason") or ""),
        label=str(line.get("label") or ""),
        times=tuple(float(time) for time in result.get("exec_time") or ()),
        result=result,
        shared_with=str(line.get("shared_with") or ""),
    )


def flatten(configuration: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    """The members of a configuration by their paths; lists as JSON.

    >>> flatten({"passes": "default<O2>", "block": {"x": 64}, "specialise": {"arguments": ["n"]}})
    {'passes': 'default<O2>', 'block.x': 64, 'specialise.arguments': '["n"]'}
    """
    flat: dict[str, Value] = {}
    for key, value in configuration.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = json.dumps(value) if isinstance(value, list) else value
    return flat


def _parameters(trials: Sequence[Trial], baselines: Iterable[Trial]) -> tuple[list[Parameter], list[dict[str, Value]]]:
    """What differs between the configurations, and each one's values."""
    flat = [flatten(trial.configuration) for trial in trials]
    keys = list(dict.fromkeys(key for values in flat for key in values))
    shape = _launch(baselines)
    columns: dict[str, list[Value]] = {}
    parameters: list[Parameter] = []
    for key in keys:
        absent = _absent(key, [values[key] for values in flat if key in values], shape)
        column = [values.get(key, absent) for values in flat]
        parameter = Parameter(key, _ordered(column))
        if len(parameter.values) < 2:
            continue
        columns[key] = column
        parameters.append(parameter)
        if _is_pipelines(parameter):
            derived = _pipelines(column)
            columns |= derived
            parameters += [Parameter(name, _ordered(values), derived=True) for name, values in derived.items()]
    return parameters, [{key: column[row] for key, column in columns.items()} for row in range(len(trials))]


def _launch(baselines: Iterable[Trial]) -> Mapping[str, Any]:
    """The result that tells the shape of the launch as it was recorded."""
    return next((trial.instances()[0] for trial in baselines if trial.times), {})


def _absent(key: str, present: Sequence[Value], shape: Mapping[str, Any]) -> Value:
    """The value of a key that a configuration leaves out."""
    if key in DEFAULTS:
        return DEFAULTS[key]
    if all(isinstance(value, bool) for value in present):
        return key == "verdict.poison"
    extent = _number(shape, key)
    return int(extent) if extent is not None and key.split(".")[0] in ("block", "grid") else None


def _is_pipelines(parameter: Parameter) -> bool:
    return parameter.name == "passes" and len(parameter.values) > MANY_TEXTS


def passes_of(pipeline: str) -> list[str]:
    """The names in a textual pass pipeline, without what they are nested in and without their options.

    >>> passes_of("function(instcombine<no-verify-fixpoint>,loop(licm)),gvn")
    ['instcombine', 'licm', 'gvn']
    """
    bare = re.sub(r"<[^<>]*>", "", re.sub(r"\b(default|lto|thinlto)<(O\w)>", r"\1-\2", pipeline))
    return [name for name in re.findall(r"[\w-]+(?![\w(-])", bare) if name]


def _pipelines(column: Sequence[Value]) -> dict[str, list[Value]]:
    """Many pipelines as what tells them apart: their length, and which passes are in some of them."""
    named = [passes_of(str(pipeline)) for pipeline in column]
    some = max(2, len(named) // 20)
    counts: dict[str, int] = {}
    for names in named:
        for name in set(names):
            counts[name] = counts.get(name, 0) + 1
    columns: dict[str, list[Value]] = {"passes: length": [len(names) for names in named]}
    for name in sorted(counts, key=lambda name: -counts[name]):
        if some <= counts[name] <= len(named) - some:
            columns[f"passes: {name}"] = [name in names for names in named]
    return {key: values for key, values in columns.items() if len(set(values)) > 1}


def _ordered(column: Sequence[Value]) -> tuple[Value, ...]:
    """The distinct values: numbers by size, others as they came first, what is left out in front."""
    distinct = list({repr(value): value for value in column}.values())
    if all(isinstance(value, bool | int | float | None) for value in distinct):
        numbers = [value for value in distinct if value is not None]
        return (*([None] if None in distinct else []), *sorted(numbers))
    return tuple(sorted(distinct, key=lambda value: value is not None))


def at_most(count: int, text: str) -> str:
    """A text for a place that is short: its begin, and a sign that there is more.

    >>> at_most(8, "function(gvn)")
    'functio…'
    """
    if count < 2:
        raise InvalidArgumentError(f"shortening a text: at most {count} characters; two are needed")
    return text if len(text) <= count else text[: count - 1] + "…"
