"""Trials: what was tried and what became of it, and the files that keep them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mneme import _json
from mneme._views import with_units
from mneme.errors import CorruptError
from mneme.results.files import told

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.result import Result

Params = dict[str, Any]
"""The value of each parameter by its name: a point of a search space."""

OBJECTIVES: dict[str, str] = {
    "time": "ns",
    "registers": "",
    "object_size": "B",
    "compile_time": "ns",
    "instructions": "",
    "spills": "",
}
"""What can be made small, with its unit; each is an attribute of a `Result`. Times of runs are medians."""

COMPLETE, FAILED, PRUNED = "complete", "failed", "pruned"


@dataclasses.dataclass
class Trial:
    """One point of the space: what it is, and what was measured.

    `state` is "complete", "failed" (see `failure` and `reason`) or "pruned": given up between two timed runs, with the
    `time` until then. Times are nanoseconds, sizes bytes. `seconds` is when it was done, since the search began.
    `baseline` is the launch as recorded at the begin of the run that measured it, in ns, where that was known by then.
    `result` is kept of the best only.
    """

    number: int
    params: Params
    config: Config | None = None
    state: str = "running"
    time: float | None = None
    registers: float | None = None
    object_size: float | None = None
    compile_time: float | None = None
    instructions: float | None = None
    spills: float | None = None
    failure: str | None = None
    reason: str = ""
    origin: str = "measured"
    shared_with: str | None = None
    digest: str = ""
    seconds: float = 0.0
    baseline: float | None = None
    result: Result | None = dataclasses.field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, number: int, params: Params, config: Config, result: Result, *, pruned: bool, seconds: float) -> Trial:
        """What a pool's result says of a point."""
        trial = cls(number, params, config, digest=config.digest, origin=result.origin, seconds=seconds, result=result)
        trial.shared_with = result.shared_with
        if pruned and result.failure in (None, "cancelled"):
            trial.state = PRUNED
            trial.time = statistics.median(map(float, result.times)) if len(result.times) else None
        elif not result.failed:
            trial.state, trial.time = COMPLETE, result.time
            for name in ("registers", "object_size", "compile_time", "instructions", "spills"):
                setattr(trial, name, getattr(result, name))
        else:
            trial.state, trial.failure, trial.reason = FAILED, result.failure, result.reason
        return trial

    def __repr__(self) -> str:
        """All of it, times with their units.

        >>> Trial(3, {"block.x": 64}, time=1500.0)
        Trial(number=3, params={'block.x': 64}, config=None, state='running', time=1.50 us, ...)
        """
        return with_units(self, ("time", "compile_time", "baseline"))

    def values(self, objectives: Sequence[str]) -> list[float]:
        """Of the objectives, in their order; the trial is complete."""
        return [float(getattr(self, objective)) for objective in objectives]

    def to_dict(self) -> dict[str, Any]:
        """As a line of trials.jsonl has it."""
        members = {name: getattr(self, name) for name in _MEMBERS}
        members["config"] = None if self.config is None else self.config.to_dict()
        return members

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Trial:
        """What `to_dict` wrote."""
        from mneme.config import Config

        trial = cls(**members)
        trial.params = {
            name: tuple(value) if isinstance(value, list) else value for name, value in trial.params.items()
        }
        trial.config = None if members["config"] is None else Config.from_dict(members["config"])
        return trial


_MEMBERS = [field.name for field in dataclasses.fields(Trial) if field.name != "result"]


class TrialLog:
    """trials.jsonl: a line for each trial, in the order in which they were done, written whole."""

    def __init__(self, path: Path) -> None:
        """Makes the file, or writes on behind what is whole in it."""
        self._path = path
        with told(path):
            self._file: IO[str] = path.open("a", encoding="utf-8")

    def append(self, trial: Trial) -> None:
        """Writes one line."""
        with told(self._path):
            self._file.write(json.dumps(trial.to_dict(), separators=(",", ":")) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(OSError):  # what could not be written was told
            self._file.close()


def read_trials(path: Path) -> list[Trial]:
    """All trials of a trials.jsonl. A last line that was cut off is left out, and removed from the file.

    Raises CorruptError, with file and line, for what is no trial.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with told(path):
            os.truncate(path, whole)
    trials = []
    for number, line in enumerate(data[:whole].decode("utf-8", "replace").splitlines(), start=1):
        try:
            trials.append(Trial.from_dict(_json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptError(f"{path}: line {number} is no trial: {error}") from None
    return trials


def rows(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """A flat row for each trial: parameters are columns "params.<name>", sequences of passes texts."""
    made = []
    for trial in sorted(trials, key=lambda trial: trial.number):
        row = {name: getattr(trial, name) for name in _MEMBERS if name not in ("params", "config")}
        row.update({f"params.{name}": _cell(value) for name, value in trial.params.items()})
        row["configuration"] = None if trial.config is None else json.dumps(trial.config.to_dict())
        made.append(row)
    return made


def write_parquet(path: Path, trials: Iterable[Trial]) -> bool:
    """Writes `rows` as Parquet; False where pyarrow is not installed, and nothing is written."""
    try:
        arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError:
        return False
    table = rows(trials)
    columns = {name: _alike([row.get(name) for row in table]) for name in (table[0] if table else {"number": 0})}
    with told(path):
        parquet.write_table(arrow.table(columns), path)
    return True


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, list | dict) else value


def _alike(column: list[Any]) -> list[Any]:
    """A column of one type: where there are several, their JSON."""
    kinds = {type(value) for value in column if value is not None}
    if len(kinds) <= 1:
        return column
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    return [None if value is None else json.dumps(value) for value in column]
