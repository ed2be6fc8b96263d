"""The search: points become configurations, these measurements, and each becomes a trial."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mneme.errors import UnsupportedError
from mneme.results.trials import COMPLETE, Params, Trial
from mneme.tune.search.proposals import Proposals
from mneme.tune.search.samplers import Numbered, Source
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.executor import Executor
    from mneme.result import Result

# A trial is given up when three quarters of its timed runs, so many at least, took so many times the best median.
PRUNE_RUNS = 3
PRUNE_FACTOR = 1.2
_TICK = 0.05  # seconds between two looks at what is being timed


class CompileTimes:
    """What each object took to compile: where others have the same code, the compiler is asked less, or nothing."""

    def __init__(self) -> None:
        """Of none yet."""
        self._longest: dict[str, float] = {}

    def notice(self, result: Result) -> float | None:
        """What the code of `result` took, in nanoseconds, as far as is known by now."""
        code, took = result.object_hash, result.compile_time
        if code is None or took is None:
            return took
        self._longest[code] = max(took, self._longest.get(code, 0.0))
        return self._longest[code]


@dataclasses.dataclass(frozen=True)
class Search:
    """What is searched, and how long.

    `ahead`: so many points at most are without a result. `deadline`: by `time.monotonic()`. `prune`: what is clearly
    slower than the best is given up between two timed runs. `on_trial` is told of each trial as it is done; `on_tick`
    is called about twenty times a second.
    """

    space: SearchSpace
    source: Source
    config: Config
    objectives: Sequence[str] = ("time",)
    trials: int | None = None
    deadline: float | None = None
    ahead: int = 32
    prune: bool = True
    on_trial: Callable[[Trial], None] = lambda trial: None
    on_tick: Callable[[], None] = lambda: None
    compile_times: CompileTimes = dataclasses.field(default_factory=CompileTimes)

    def run(self, executor: Executor) -> bool:
        """Until all trials are done, there are no more points, or time is up; False: time was up.

        What is under way then, or when an exception (also KeyboardInterrupt) ends it, is given up; what is done by then
        was told. Raises what `SearchSpace.derive` raises; UnsupportedError: the device does not tell an objective.
        """
        return _Run(self, executor).run()


def require_objectives(trial: Trial, objectives: Sequence[str]) -> None:
    """Raises UnsupportedError where a trial is complete and an objective of it is not known."""
    for objective in objectives if trial.state == COMPLETE else ():
        if getattr(trial, objective) is None:
            raise UnsupportedError(
                f"objective '{objective}': the device does not tell it; leave it out, or tune on another kind of device"
            )


@dataclasses.dataclass
class _Open:
    params: Params
    config: Config
    future: Any
    pruned: bool = False


class _Run:
    def __init__(self, search: Search, executor: Executor) -> None:
        self._search = search
        self._executor = executor
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._proposals = Proposals(search.source, count=search.trials, ahead=search.ahead, put=self._events.put)
        self._open: dict[int, _Open] = {}
        self._proposing = True
        self._best: float | None = None
        self._began = time.monotonic()

    def run(self) -> bool:
        self._proposals.start()
        next_tick = self._began
        try:
            while (self._proposing or self._open) and not self._late():
                with contextlib.suppress(queue.Empty):
                    self._hear(self._events.get(timeout=_TICK))
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK
                    self._prune()
                    self._search.on_tick()
            return not (self._proposing or self._open)
        finally:
            self._proposals.stop()
            self._proposing = False
            for waiting in self._open.values():
                waiting.future.cancel()
            while not self._events.empty():
                event = self._events.get()
                if isinstance(event, int) and event in self._open:
                    self._finish(event)

    def _late(self) -> bool:
        return self._search.deadline is not None and time.monotonic() >= self._search.deadline

    def _hear(self, event: list[Numbered] | int | Exception | None) -> None:
        if isinstance(event, int):
            self._finish(event)
        elif isinstance(event, Exception):
            raise event
        elif event is None:
            self._proposing = False
        else:
            for number, params in event:
                self._submit(number, params)

    def _submit(self, number: int, params: Params) -> None:
        config = self._search.space.derive(params, self._search.config)
        future = self._executor.submit(config)
        self._open[number] = _Open(params, config, future)
        future.add_done_callback(lambda _: self._events.put(number))

    def _finish(self, number: int) -> None:
        done = self._open.pop(number)
        if done.future.cancelled():
            return
        result = done.future.result()
        seconds = time.monotonic() - self._began
        trial = Trial.of(number, done.params, done.config, result, pruned=done.pruned, seconds=seconds)
        if trial.failure == "cancelled":  # by the end of the search
            return
        trial.compile_time = self._search.compile_times.notice(result) if trial.state == COMPLETE else None
        require_objectives(trial, self._search.objectives)
        if trial.state == COMPLETE and trial.time is not None:
            self._best = trial.time if self._best is None else min(self._best, trial.time)
        self._search.on_trial(trial)
        self._proposals.tell(trial)

    def _prune(self) -> None:
        if not self._search.prune or self._best is None or tuple(self._search.objectives) != ("time",):
            return
        for waiting in self._open.values():
            if waiting.pruned:
                continue
            times = waiting.future.times_so_far()
            if len(times) >= PRUNE_RUNS and sorted(times)[len(times) // 4] > PRUNE_FACTOR * self._best:
                waiting.pruned = True
                waiting.future.cancel()
