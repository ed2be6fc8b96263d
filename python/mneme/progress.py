"""How an executor's work goes on, and a bar that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mneme._live import Live
from mneme._views import duration, with_units

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """How far an executor has come. Times are nanoseconds.

    Attributes:
        submitted: Configurations that it was given.
        done: Those that have a result: measured, shared, resumed or failed.
        measured: Those with times of their own.
        shared: Those that ended in the same code and launch as another.
        resumed: Those whose result was in the log of an earlier run.
        failures: How many failed, by `Result.failure`.
        compiling: Configurations at a compile worker now.
        ready: Compiled, and waiting for a device.
        measuring: On a device now.
        distinct_objects: Different code that they have ended in.
        workers_replaced: Worker processes that were lost.
        devices_ready: Devices with the recorded memory on them.
        device_busy: What the devices have worked, added.
        compile_busy: What the compile workers have worked, added.
        passed: Since the first worker was ready.
        best_time: The least `Result.time` of what is right, a median; None where there is none yet.
    """

    submitted: int = 0
    done: int = 0
    measured: int = 0
    shared: int = 0
    resumed: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    compiling: int = 0
    ready: int = 0
    measuring: int = 0
    distinct_objects: int = 0
    workers_replaced: int = 0
    devices_ready: int = 0
    device_busy: float = 0.0
    compile_busy: float = 0.0
    passed: float = 0.0
    best_time: float | None = None

    @property
    def rate(self) -> float:
        """Results a second.

        >>> Progress(done=30, passed=2e9).rate
        15.0
        """
        return self.done / (self.passed / 1e9) if self.passed > 0 else 0.0

    def __repr__(self) -> str:
        """All of it, times with their units.

        >>> Progress(passed=2e9)
        Progress(submitted=0, ..., device_busy=0 ns, compile_busy=0 ns, passed=2.00 s, best_time=None)
        """
        return with_units(self, ("device_busy", "compile_busy", "passed", "best_time"))

    def __str__(self) -> str:
        """In one line.

        >>> print(Progress(submitted=40, done=30, passed=2e9, best_time=1500, failures={"wrong_result": 2}))
        30 of 40, 15.0/s, best 1.50 us, failed: 2 wrong_result
        """
        parts = [f"{self.done} of {self.submitted}", f"{self.rate:.1f}/s"]
        parts += [f"best {duration(self.best_time)}"] if self.best_time is not None else []
        if self.failures:
            parts.append("failed: " + ", ".join(f"{number} {name}" for name, number in self.failures.items()))
        return ", ".join(parts)


class Bar:
    """Shows each `Progress` that it is called with, by one thread at a time: in a terminal, a notebook or a file."""

    def __init__(self, title: str) -> None:
        self._live = Live(title)

    def __call__(self, progress: Progress) -> None:
        """Shows it."""
        self._live.update(progress.done, progress.submitted or None, str(progress))

    def close(self) -> None:
        """Leaves the last state on the screen."""
        self._live.close()
