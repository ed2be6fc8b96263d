"""Result: what became of one configuration, and the log that results are kept in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mneme import _native
from mneme._views import Shown, Table, duration, size
from mneme.config import Config, _plain
from mneme.results.factors import flatten

if TYPE_CHECKING:
    import numpy
    import pandas
    from numpy.typing import NDArray
    from rich.table import Table as RichTable

__all__ = ["Log", "Result", "read_log"]

_MOST_ROWS = 20
_COLUMNS = (
    "label", "failure", "reason", "verified", "time", "registers", "object_size", "compile_time", "object_hash",
    "origin", "shared_with",
)  # fmt: skip


class Result(Shown):
    """What became of one configuration: right, with its times, or not, with the reason. Immutable.

    Times are nanoseconds, sizes bytes; what is not known is None. All of it, as docs/reference/result.md has it, is in
    `details`.

    >>> result = mneme.replay(instance, mneme.Config(passes="default<O2>"), device="cpu")
    >>> result.verified, result.failure, result.times.dtype, len(result.times)
    (True, None, dtype('float64'), 10)
    >>> bool(result.time == numpy.median(result.times))
    True
    >>> wrong = mneme.replay(instance, mneme.Config(grid=1), device="cpu")
    >>> wrong.verified, wrong.failure, wrong.time
    (False, 'wrong_result', None)
    >>> print(wrong.reason)
    memory differs in 2 places, first argument 'data' (... bytes, from offset 512 on)...
    """

    def __init__(self, native: _native.PoolResult) -> None:
        self._native = native

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Result:
        """The result that `to_dict` gave, or that a line of a log is. CorruptError: it is none."""
        return cls(_native.PoolResult.from_dict(_plain(members)))

    @property
    def verified(self) -> bool:
        """All memory was as recorded, to the byte or within its tolerance."""
        return self._native.verified

    @property
    def failed(self) -> bool:
        """It has a failure."""
        return self.failure is not None

    @property
    def failure(self) -> str | None:
        """None: it is right.

        Else "wrong_result", "compile_error", "compile_timeout", "invalid_launch", "device_fault", "run_timeout",
        "worker_lost" (docs/guide/sweep.md), or "cancelled".
        """
        return self._native.failure

    @property
    def reason(self) -> str:
        """Of a failure: what was attempted, and why it failed; else empty."""
        return self._native.reason

    @cached_property
    def times(self) -> NDArray[numpy.float64]:
        """The timed runs in their order, in nanoseconds. One that was cancelled has those it came to."""
        times: NDArray[numpy.float64] = self._native.times
        return times

    @property
    def time(self) -> float | None:
        """The median of the times, in nanoseconds; None where it failed or was not timed."""
        return self._native.time

    @property
    def registers(self) -> int | None:
        """Of a thread; of several instances the most."""
        return self._native.registers

    @property
    def object_size(self) -> int | None:
        """Bytes of the device object; of several instances the largest."""
        return self._native.object_size

    @property
    def instructions(self) -> int | None:
        """Machine instructions of the kernel and what it calls; of several instances the most."""
        return self._native.instructions

    @property
    def spills(self) -> int | None:
        """What is spilled, of several instances the most: bytes on NVIDIA GPUs, registers on AMD GPUs."""
        return self._native.spills

    @property
    def object_hash(self) -> str | None:
        """Digest of the object, of several instances' objects joined by "+"; None where there is none."""
        return self._native.object_hash

    @property
    def compile_time(self) -> float | None:
        """What all stages of the compiler took, in nanoseconds; near to nothing where the code was in the cache.

        Zero where it was asked nothing, because others ended in the same code; None where it failed before.
        """
        return self._native.compile_time

    @property
    def origin(self) -> str:
        """How it came: "measured"; "shared" with one that ended in the same code and launch; "resumed" from a log."""
        return self._native.origin

    @property
    def shared_with(self) -> str | None:
        """`Config.digest` of the configuration that was measured, where the origin is "shared"."""
        return self._native.shared_with

    @property
    def label(self) -> str | None:
        """That `Executor.measure_anew` or `Executor.submit` was given."""
        return self._native.label or None

    @cached_property
    def config(self) -> Config:
        """The configuration."""
        return Config._of(self._native.configuration)

    @cached_property
    def details(self) -> dict[str, Any]:
        """All that is known, as `mneme replay` prints it (docs/reference/result.md); what says nothing is missing."""
        details: dict[str, Any] = self._native.details
        return details

    def to_dict(self) -> dict[str, Any]:
        """As a line of a log (docs/reference/results.md).

        >>> sorted(mneme.replay(instance, mneme.Config(), device="cpu").to_dict())
        ['configuration', 'digest', 'failure', 'origin', 'result']
        """
        members: dict[str, Any] = self._native.to_dict()
        return members

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_native" or "_native" in self.__dict__:
            raise AttributeError("a Result does not change")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.config, self.failure, self.time))

    def __reduce__(self) -> tuple[object, tuple[dict[str, Any]]]:
        return type(self).from_dict, (self.to_dict(),)

    def _table(self) -> Table:
        rows = [["configuration", repr(self.config)]]
        if self.label:
            rows.append(["label", self.label])
        if self.time is not None:
            rows.append(["time", f"{duration(self.time)}, the median of {len(self.times)}"])
        if self.registers is not None:
            rows.append(["registers", str(self.registers)])
        if self.object_size is not None:
            rows.append(["object", size(self.object_size)])
        if self.origin != "measured":
            rows.append(["origin", self.origin])
        if self.failed:
            rows.append(["reason", self.reason])
        verdict = "compiled" if self.details.get("stage") == "compiled" else "verified"
        return Table(f"Result: {self.failure.replace('_', ' ') if self.failure else verdict}", ["", ""], rows)

    def __repr__(self) -> str:
        """In one line."""
        parts = [f"failure={self.failure!r}"] if self.failed else []
        parts += [f"time={duration(self.time)}"] if self.time is not None else []
        parts += [f"label={self.label!r}"] if self.label else []
        return f"Result({', '.join([*parts, f'config={self.config!r}'])})"


class Log(NamedTuple):
    """A log of results: `about` is what they are of (database, static hash, instances, device).

    >>> log = mneme.Log({"device": "cpu"}, [mneme.replay(instance, mneme.Config(), device="cpu")])
    >>> title, columns, row = repr(log).splitlines()
    >>> title, row.split()[2:]
    ('Log: 1 result', ['verified', 'measured', 'passes=as-built'])
    """

    about: dict[str, Any]
    results: list[Result]

    def dataframe(self) -> pandas.DataFrame:
        """A pandas table with a row for each result; times are nanoseconds, sizes bytes.

        What the configurations say are columns "config.<key>", such as "config.block.x"; what one leaves out is missing
        there. Raises UnavailableError without pandas.

        >>> with mneme.Executor(instance, device="cpu", log="results.jsonl") as executor:
        ...     futures = [executor.submit(mneme.Config(block=block, keep_threads=True)) for block in (64, 128)]
        ...     times = [future.result().time for future in futures]
        >>> frame = mneme.read_log("results.jsonl").dataframe()
        >>> sorted(frame["config.block.x"]), sorted(frame["time"]) == sorted(times)
        ([64, 128], True)
        """
        from mneme.tune.extras import need

        rows = [
            {name: getattr(result, name) for name in _COLUMNS}
            | {f"config.{key}": value for key, value in flatten(result.config.to_dict()).items()}
            for result in self.results
        ]
        frame: pandas.DataFrame = need("pandas", "a table of results").DataFrame(
            rows, columns=None if rows else list(_COLUMNS)
        )
        return frame

    def _table(self) -> Table:
        rows = [_row(result) for result in self.results[:_MOST_ROWS]]
        if len(self.results) > _MOST_ROWS:
            rows.append(["…", "", "", "", f"{len(self.results) - _MOST_ROWS} more: dataframe() has all"])
        count = "1 result" if len(self.results) == 1 else f"{len(self.results)} results"
        return Table(f"Log: {count}", ["TIME", "VERDICT", "ORIGIN", "LABEL", "CONFIGURATION"], rows)

    def __repr__(self) -> str:
        """As text, the first ones."""
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def __rich__(self) -> RichTable:
        """As rich shows it."""
        return self._table().rich()


def _row(result: Result) -> list[str]:
    time = "-" if result.time is None else duration(result.time)
    verdict = (result.failure or "verified").replace("_", " ")
    members = flatten(result.config.to_dict()).items()
    config = " ".join(key if value is True else f"{key}={value}" for key, value in members)
    return [time, verdict, result.origin, result.label or "", config]


def read_log(path: str | os.PathLike[str]) -> Log:
    """The results in a log, as an `Executor` and `mneme sweep` write it; also one that is being written.

    Raises:
        NotFoundError: There is no such file.
        CorruptError: It is no log; the message names the line.

    >>> with mneme.Executor(instance, device="cpu", log="results.jsonl") as executor:
    ...     _ = executor.submit(mneme.Config()).result()
    >>> [result.failure for result in mneme.read_log("results.jsonl").results]
    [None]
    """
    about, results = _native.read_results(os.fspath(path))
    return Log(about, [Result(result) for result in results])
