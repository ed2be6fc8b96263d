"""An executor that measures nothing: a function of the test's tells results; and a recorded launch that is none.

`go` tunes that launch with it, by default over all of `SPACE`, of which `measure` tells times.
"""

from __future__ import annotations

import concurrent.futures
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme import llvm
from mneme.tune import Categorical, Int, Pipeline, SearchSpace, Study, run, tune

Outcome = float | str  # nanoseconds, or a failure


class FakeResult:
    """As much of a mneme.Result as tuning looks at."""

    def __init__(
        self, config: mneme.Config, outcome: Outcome, *, times: list[float] | None = None, origin: str = "measured"
    ) -> None:
        self.config = config
        self.failure = outcome if isinstance(outcome, str) else None
        self.failed = self.failure is not None
        self.reason = f"it is a {outcome}" if self.failed else ""
        self.times = times if times is not None else [] if self.failed else [float(outcome)] * 3
        self.time = None if self.failed else float(outcome)
        level = config.to_dict().get("codegen", {}).get("level", 3)
        self.registers = None if self.failed else 64 - 8 * level
        self.object_size = None if self.failed else 4096
        self.compile_time = None if self.failed else 1e6
        self.instructions = None if self.failed else 200 - 8 * level
        self.spills = None if self.failed else 0
        self.object_hash = None
        self.origin = origin
        self.shared_with = None
        self.details = {"exec_time": self.times}


class FakeFuture(concurrent.futures.Future[FakeResult]):
    def __init__(self, config: mneme.Config) -> None:
        super().__init__()
        self.config = config
        self.so_far: list[float] = []

    def cancel(self) -> bool:
        if self.done():
            return False
        self.set_result(FakeResult(self.config, "cancelled", times=self.so_far))
        return True

    def times_so_far(self) -> list[float]:
        return self.so_far


class FakeExecutor:
    """`measure` tells of a configuration a time, a failure, or a list of times after which it is still being timed."""

    device = "cpu"
    problem: Exception | None = None
    devices: tuple[int, ...] = (0,)

    def __init__(
        self, measure: Callable[[mneme.Config], Outcome | list[float]], known: dict[str, FakeResult] | None = None
    ) -> None:
        self.measure = measure
        self.known = {} if known is None else known
        self.submitted: list[mneme.Config] = []
        self.labels: list[str] = []
        self.closed = False

    def submit(self, config: mneme.Config) -> FakeFuture:
        self.submitted.append(config)
        future = FakeFuture(config)
        if config.digest in self.known:
            future.set_result(self.known[config.digest])
            return future
        outcome = self.measure(config)
        if isinstance(outcome, list):
            future.so_far = outcome
        else:
            future.set_result(FakeResult(config, outcome))
            self.known[config.digest] = FakeResult(config, outcome, origin="shared")
        return future

    def measure_anew(self, config: mneme.Config, label: str) -> FakeFuture:
        self.labels.append(label)
        future = FakeFuture(config)
        outcome = self.measure(config)
        assert not isinstance(outcome, list)
        future.set_result(FakeResult(config, outcome))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.closed = True


class InterruptedExecutor(FakeExecutor):
    """Ctrl-C when so many were submitted."""

    def __init__(self, measure: Callable[[mneme.Config], Any], *, after: int) -> None:
        super().__init__(measure)
        self.after = after

    def submit(self, config: mneme.Config) -> Any:
        if len(self.submitted) == self.after:
            raise KeyboardInterrupt
        return super().submit(config)


def fake_instance(**facts: Any) -> Any:
    """A recorded launch of 40000 threads in blocks of 128, with an int 'n', a float 'a' and a pointer."""
    arguments = [
        types.SimpleNamespace(name=name, kind=kind)
        for name, kind in (("x", "pointer"), ("n", "integer"), ("a", "floating"))
    ]
    usual = {
        "hash": "d" * 32,
        "grid": (313, 1, 1),
        "block": (128, 1, 1),
        "shared_memory": 0,
        "arguments": arguments,
        "device_kind": "cpu",
        "database": types.SimpleNamespace(path="record-db"),
        "module": lambda: llvm.parse("define void @_Z5scalePii() { ret void }"),
        "kernel": types.SimpleNamespace(
            demangled="scale(int*, int)",
            name="_Z5scalePii",
            hash="5" * 32,
            code="ir",
            pipeline="default<O2>",
            as_built="default<O2>",
            has_image=False,
            target="nvptx",
        ),
    }
    return types.SimpleNamespace(**usual | facts)


def use(monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor) -> FakeExecutor:
    """Has tune() measure with it."""
    monkeypatch.setattr(run, "open_executor", lambda instances, options: executor)
    return executor


SPACE = SearchSpace(
    {
        "block.x": Categorical([32, 64, 128, 256], ordered=True),
        "codegen.level": Int(0, 3),
        "passes": Pipeline(["function(gvn)"], max_length=1, first=["default<O2>", "default<O3>"]),
    }
)


def measure(config: mneme.Config) -> Outcome:
    """Blocks of 64 are fastest; the lowest level is wrong, and blocks of 256 do not compile there."""
    members = config.to_dict()
    block, level = members.get("block", {}).get("x", 128), members.get("codegen", {}).get("level", 3)
    if level == 0:
        return "compile_error" if block == 256 else "wrong_result"
    return float(1000 + abs(block - 64) + 10 * (3 - level) + len(members["passes"].replace("as-built", "default<O2>")))


def go(results: Path, **options: Any) -> Study:
    return tune(
        [fake_instance()],
        **{"space": SPACE, "sampler": "exhaustive", "device": "cpu", "results_dir": results, **options},
    )
