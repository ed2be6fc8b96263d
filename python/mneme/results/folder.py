"""The folder of results that `mneme sweep` and `mneme tune` write (docs/reference/results.md), and who may write there.

The rules are those of mneme/sweep/folder.h: a run has its folder alone while it works there, and begins only in one
that has no results of either command.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mneme.errors import InvalidArgumentError, NotFoundError, UnavailableError
from mneme.results.files import told

COMMANDS = ("sweep", "tune")
"""Those that write such folders; the plan of each has its name."""


@dataclass(frozen=True)
class ResultsFolder:
    """The files of a folder. Not all of them need be there."""

    path: Path

    @property
    def command(self) -> str:
        """The command whose results these are, by its plan; "sweep" where there is none."""
        return "tune" if self.plan_of("tune").is_file() else "sweep"

    def plan_of(self, command: str) -> Path:
        """What that command was asked for."""
        return self.path / f"{command}.json"

    @property
    def log(self) -> Path:
        """Every measurement as it came: the truth of a run."""
        return self.path / "results.jsonl"

    @property
    def trials(self) -> Path:
        """Each trial of a run of tuning as it was done."""
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
    def explained(self) -> Path:
        """What each thing of the best configuration is worth, if `mneme deploy --explain` was asked."""
        return self.path / "explained.json"

    @property
    def summary(self) -> Path:
        """What the last run came to."""
        return self.path / "summary.json"

    @property
    def has_results(self) -> bool:
        """Whether a run of either command has begun in it."""
        return self.log.exists() or any(self.plan_of(command).exists() for command in COMMANDS)

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
                raise self.nothing() from None
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

    def refuse_results(self) -> None:
        """Raises InvalidArgumentError where it has results: a run of tuning begins in a folder without any."""
        if self.plan_of("sweep").exists():
            raise InvalidArgumentError(f"{self.path} has the results of a sweep already: name another folder")
        if self.has_results:
            raise InvalidArgumentError(
                f"{self.path} has results already: resume them (--resume, resume=True), or name another folder"
            )

    def nothing(self) -> NotFoundError:
        """What is raised where there is no run of tuning to go on with."""
        return NotFoundError(f"{self.path} has no tune.json: give the folder of results of an earlier `mneme tune`")


def make_fresh_folder(command: str, parent: Path = Path()) -> Path:
    """Makes a folder that was not there yet, <command>-<date>-<time>: no two calls make the same one.

    Raises IoError.
    """
    name = time.strftime(f"{command}-%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        path = parent / (name if number == 1 else f"{name}-{number}")
        with told(path), contextlib.suppress(FileExistsError):
            path.mkdir()
            return path
    raise AssertionError  # of endless numbers one was free
