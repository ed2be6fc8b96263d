"""What was asked of a run, as tune.json keeps it, and the folder of its results."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mneme import _json
from mneme.config import with_current_names
from mneme.errors import CorruptError, IncompatibleError, InvalidArgumentError, NotFoundError, UnavailableError
from mneme.results.files import told, write_json

_VERSION = 1
# The database, from the folder of results.
_FROM_HERE = "database_from_here"


@dataclasses.dataclass
class Asked:
    """A run, as JSON has it. `space` is described, `preset` its name where it has one.

    `storage_name`: of the study there. `probe`: so many trials at most are a probe's.
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
    executor: dict[str, Any]
    probe: int = 0

    @property
    def kernel_file(self) -> Path:
        """What was recorded."""
        return Path(self.database, f"{self.static_hash}.json")

    def to_dict(self) -> dict[str, Any]:
        """As tune.json has it."""
        return {"mneme_tune": _VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Asked:
        """What `to_dict` made. Raises ValueError, TypeError or KeyError for what is none."""
        version = members["mneme_tune"]
        if version != _VERSION:
            raise IncompatibleError(f"a run of tuning: its version is {version}, and {_VERSION} is known")
        asked = cls(**{name: value for name, value in members.items() if name != "mneme_tune"})
        return dataclasses.replace(asked, configuration=with_current_names(asked.configuration))


# What a resumed run may be asked anew changes no result. The others, what says most first: a preset before what it has.
_MAY_CHANGE = {"trials", "timeout", "storage", "confirm", "database", "executor"}
_WORDS = {"preset": "space", "objectives": "objective"}
_SEARCH = sorted(
    {field.name for field in dataclasses.fields(Asked)} - _MAY_CHANGE, key=lambda name: (name == "space", name)
)


@dataclasses.dataclass(frozen=True)
class Folder:
    """A run's files."""

    path: Path

    @property
    def asked(self) -> Path:
        """What was asked."""
        return self.path / "tune.json"

    @property
    def log(self) -> Path:
        """The pool's log: the truth of a run."""
        return self.path / "results.jsonl"

    @property
    def trials(self) -> Path:
        """Each trial as it was done."""
        return self.path / "trials.jsonl"

    @property
    def table(self) -> Path:
        """All trials as Parquet."""
        return self.path / "trials.parquet"

    @property
    def best(self) -> Path:
        """The best configuration."""
        return self.path / "best.json"

    @property
    def summary(self) -> Path:
        """What the run came to."""
        return self.path / "summary.json"

    @contextlib.contextmanager
    def alone(self, *, make: bool = False) -> Iterator[None]:
        """This run alone works on it meanwhile; where it is killed, the kernel lets go. `make`: where there is none.

        Raises UnavailableError where another run works on it, NotFoundError where there is none.
        """
        with told(self.path):
            if make:
                self.path.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                raise self._nothing() from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise UnavailableError(
                f"another run of tuning is working on {self.path}: wait for its end, or name another folder"
            ) from None
        try:
            yield
        finally:
            os.close(descriptor)

    def begin(self, asked: Asked) -> None:
        """Begins in it. Raises InvalidArgumentError where it has results."""
        if self.asked.exists() or self.log.exists():
            raise InvalidArgumentError(
                f"{self.path} has results already: resume them (--resume, resume=True), or name another folder"
            )
        self._write(asked)

    def undo(self) -> None:
        """Takes `begin` back: nothing was measured that is of use."""
        for path in (self.asked, self.log, self.trials):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is something else in it
            self.path.rmdir()

    def resume(self, asked: Asked, *, seed: int | None = None, ahead: int | None = None, probe: bool = True) -> Asked:
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
            raise self._nothing() from None
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

    def _nothing(self) -> NotFoundError:
        return NotFoundError(f"{self.path} has no tune.json: give the folder of results of an earlier `mneme tune`")


def fresh_folder() -> Path:
    """One that is not there yet: tune-<date>-<time>."""
    name = time.strftime("tune-%Y%m%d-%H%M%S")
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(f"{name}-{number}"), number + 1
    return path


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"
