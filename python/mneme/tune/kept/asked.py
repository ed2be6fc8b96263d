"""What was asked of a run, as tune.json keeps it, and how a run begins in its folder or goes on there."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mneme import _json
from mneme.config import with_current_names
from mneme.errors import CorruptError, IncompatibleError, InvalidArgumentError
from mneme.results.files import write_json
from mneme.results.folder import ResultsFolder

_VERSION = 3
# The pipeline of a configuration that names none, since version 3 and before.
_AS_BUILT, _BEFORE = "as-built", "default<O3>"
# The database, from the folder of results.
_FROM_HERE = "database_from_here"


@dataclasses.dataclass
class Asked:
    """A run, as JSON has it. `space` is described, `preset` its name where it has one.

    `storage_name`: of the study there. `probe`: so many trials at most are a probe's. `limits` has those of
    compile_timeout, run_timeout and compile_memory that were given; `compile_workers` is None where they were not.
    `recorded_passes` is the pipeline of the baseline. `weights` says how the times of several instances are added:
    `by` "program" or "equal", `of`, a number for each, and `why_equal` where nothing else could be had; None for one.
    """

    database: str
    kernel: str
    static_hash: str
    instances: list[str]
    device: str
    space: dict[str, Any]
    preset: str | None
    sampler: str
    seed: int
    trials: int | None
    timeout: float | None
    objectives: list[str]
    configuration: dict[str, Any]
    ahead: int
    prune: bool
    confirm: int
    storage: str | None
    storage_name: str
    limits: dict[str, Any]
    share: bool = True
    compile_workers: int | None = None
    probe: int = 0
    recorded_passes: str = _AS_BUILT
    weights: dict[str, Any] | None = None

    @property
    def kernel_file(self) -> Path:
        """What was recorded."""
        return Path(self.database, f"{self.static_hash}.json")

    @property
    def executor(self) -> dict[str, Any]:
        """What an `Executor` is opened with beside the device and the log."""
        options = dict(self.limits)
        if self.share is not True:
            options["share"] = self.share
        if self.compile_workers is not None:
            options["compile_workers"] = self.compile_workers
        return options

    def to_dict(self) -> dict[str, Any]:
        """As tune.json has it."""
        return {"mneme_tune": _VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Asked:
        """What `to_dict` made. Raises ValueError, TypeError or KeyError for what is none."""
        version = members["mneme_tune"]
        if version not in (1, 2, _VERSION):
            raise IncompatibleError(f"a run of tuning: its version is {version}, and {_VERSION} is known")
        now = {name: value for name, value in members.items() if name != "mneme_tune"}
        if version == 1:
            now |= split_options(now.pop("executor"))
        if version < _VERSION:
            now["recorded_passes"] = _BEFORE
        asked = cls(**now)
        return dataclasses.replace(asked, configuration=with_current_names(asked.configuration))


def split_options(executor: Mapping[str, Any]) -> dict[str, Any]:
    """The members of `Asked` that say what an executor is opened with, as version 1 had them in one."""
    others = dict(executor)
    share, workers = others.pop("share", True), others.pop("compile_workers", None)
    return {"limits": others, "share": share, "compile_workers": workers}


# What a resumed run may be asked anew changes no result. The others, what says most first: a preset before what it has.
_MAY_CHANGE = {"trials", "timeout", "storage", "confirm", "database", "limits", "share", "compile_workers"}
_WORDS = {"preset": "space", "objectives": "objective"}
_SEARCH = sorted(
    {field.name for field in dataclasses.fields(Asked)} - _MAY_CHANGE, key=lambda name: (name == "space", name)
)


@dataclasses.dataclass(frozen=True)
class Folder(ResultsFolder):
    """The folder of a run of tuning."""

    @property
    def asked(self) -> Path:
        """What was asked."""
        return self.plan_of("tune")

    def begin(self, asked: Asked) -> None:
        """Begins in it. Raises InvalidArgumentError where it has results."""
        self.refuse_results()
        self._write(asked)

    def undo(self) -> None:
        """Takes `begin` back: nothing was measured that is of use."""
        for path in (self.asked, self.log, self.trials):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is something else in it
            self.path.rmdir()

    def resume(
        self,
        asked: Asked,
        *,
        seed: int | None = None,
        ahead: int | None = None,
        probe: bool = True,
        weights: str | None = None,
    ) -> Asked:
        """What goes on: `asked`, under the name of the earlier run, and under its seed and so on but for those given.

        tune.json keeps no fewer trials than are done: fewer are asked for once, and not of whoever resumes it later.

        Raises InvalidArgumentError where another search is asked for, naming the difference; else what `read` raises.
        """
        before = self.read()
        asked = dataclasses.replace(
            asked,
            storage_name=before.storage_name,
            seed=before.seed if seed is None else seed,
            ahead=before.ahead if ahead is None else ahead,
            probe=before.probe if probe else 0,
            recorded_passes=before.recorded_passes,
            weights=before.weights if weights is None else asked.weights,
            configuration=_named_as_then(asked.configuration, before),
        )
        for name in _SEARCH:
            old, new = getattr(before, name), getattr(asked, name)
            if json.dumps(old) != json.dumps(new):
                raise InvalidArgumentError(
                    f"{self.path} cannot be resumed so: its {_WORDS.get(name, name)} is {_short(old)}, "
                    f"and {_short(new)} is asked for"
                )
        kept = asked.trials if asked.trials is None else max(asked.trials, self._done())
        self._write(dataclasses.replace(asked, trials=kept))
        return asked

    def read(self) -> Asked:
        """What was asked; its database beside the folder as it was, where it is no more at its own place.

        Raises NotFoundError, CorruptError or IncompatibleError.
        """
        try:
            text = self.asked.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise self.nothing() from None
        try:
            members = _json.loads(text)
            asked = Asked.from_dict({name: value for name, value in members.items() if name != _FROM_HERE})
            beside = os.path.normpath(self.path.absolute() / members.get(_FROM_HERE, "."))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CorruptError(f"{self.asked}: it is not what mneme tune wrote: {error}") from None
        moved = dataclasses.replace(asked, database=beside)
        return moved if moved.kernel_file.exists() and not asked.kernel_file.exists() else asked

    def _done(self) -> int:
        """How many trials are in their file, whole."""
        return self.trials.read_bytes().count(b"\n") if self.trials.exists() else 0

    def _write(self, asked: Asked) -> None:
        from_here = os.path.relpath(asked.database, self.path.absolute())
        write_json(self.asked, {**asked.to_dict(), _FROM_HERE: from_here})


def _named_as_then(configuration: dict[str, Any], before: Asked) -> dict[str, Any]:
    """A configuration that names no pipeline, as one did in the version that began the run."""
    passes = configuration["passes"]
    return {**configuration, "passes": before.recorded_passes if passes == _AS_BUILT else passes}


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"
