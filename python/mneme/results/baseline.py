"""Baseline: the launch as recorded, which speed-ups are over."""

from __future__ import annotations

import dataclasses
import statistics

from mneme._views import with_units


@dataclasses.dataclass
class Baseline:
    """The launch as recorded, compiled as the program was: medians at begin and end, in ns, or why there are none.

    `in_turn` is the median of its rounds in turn with the best.
    """

    begin: float | None = None
    end: float | None = None
    problem: str = ""
    in_turn: float | None = None

    @property
    def time(self) -> float | None:
        """What was measured in turn with the best, else the median of begin and end, in ns.

        >>> Baseline(begin=10.0, end=30.0).time, Baseline(begin=10.0, end=30.0, in_turn=11.0).time
        (20.0, 11.0)
        """
        if self.in_turn is not None:
            return self.in_turn
        times = [time for time in (self.begin, self.end) if time is not None]
        return statistics.median(times) if times else None

    def __repr__(self) -> str:
        """Times with their units.

        >>> Baseline(begin=1500.0, end=1.6e6)
        Baseline(begin=1.50 us, end=1.60 ms, problem='', in_turn=None)
        """
        return with_units(self, ("begin", "end", "in_turn"))

    @property
    def drift(self) -> float:
        """How far begin and end are apart, as a part of the smaller one."""
        if self.begin is None or self.end is None:
            return 0.0
        return abs(self.begin - self.end) / min(self.begin, self.end)
