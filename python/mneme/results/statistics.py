"""How much faster one configuration is than another, and how sure that is (docs/reference/results.md#speed-ups).

What is claimed was measured in turn, in rounds (`speed_up`). The logarithm of the ratio of a round's medians is one
observation; what drifts slowly, as clocks and temperatures do, is in both. The interval of the mean is Student's.

What a search has measured once is only seen (`speed_up_seen`): it has no interval, for the best of many was in part
lucky, and no interval of its own times can tell by how much.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from mneme.errors import InvalidArgumentError

FASTER, SLOWER, NO_DIFFERENCE = "faster", "slower", "no difference"
LEAST_ROUNDS = 5
"""Of fewer rounds the noise is hardly known: they prove nothing."""


@dataclasses.dataclass(frozen=True)
class SpeedUp:
    """How many times as fast, with the interval that holds the true value with probability `confidence`.

    `claim` is "faster" or "slower" where the interval leaves out 1, else "no difference": what is inside the noise is
    none.

    >>> print(speed_up([100.0, 101.0, 99.0], [80.0, 81.0, 79.0]))
    1.25 (1.24 to 1.26, 95 %)
    """

    value: float
    low: float
    high: float
    confidence: float
    rounds: int

    @property
    def claim(self) -> str:
        """What can be said."""
        return FASTER if self.low > 1 else SLOWER if self.high < 1 else NO_DIFFERENCE

    def to_dict(self) -> dict[str, Any]:
        """As JSON; a bound that is not known is null."""
        members = dataclasses.asdict(self)
        members["low"] = None if self.low == 0 else self.low
        members["high"] = None if math.isinf(self.high) else self.high
        return {**members, "claim": self.claim}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> SpeedUp:
        """What `to_dict` made."""
        low, high = members["low"], members["high"]
        return cls(
            members["value"],
            0.0 if low is None else low,
            math.inf if high is None else high,
            members["confidence"],
            members["rounds"],
        )

    @property
    def figure(self) -> str:
        """The value, with more digits near to 1."""
        return f"{self.value:.{self._digits}f}"

    @property
    def interval(self) -> str:
        """Its bounds."""
        return f"{self.low:.{self._digits}f} to {self.high:.{self._digits}f}"

    @property
    def _digits(self) -> int:
        return 3 if abs(self.value - 1) < 0.1 else 2

    def __str__(self) -> str:
        """With its interval."""
        return f"{self.figure} ({self.interval}, {100 * self.confidence:g} %)"


def speed_up(baseline: Sequence[float], candidate: Sequence[float], *, confidence: float = 0.95) -> SpeedUp:
    """Of the candidate over the baseline, from the median times of as many rounds of both; any unit.

    With one round nothing is known of the noise, and the interval is everything. Raises InvalidArgumentError for other
    than as many positive times of both.
    """
    if len(baseline) != len(candidate) or not baseline or min(*baseline, *candidate) <= 0:
        raise InvalidArgumentError("a speed-up needs rounds, each with a positive time of both")
    if not 0 < confidence < 1:
        raise InvalidArgumentError(f"a confidence is between 0 and 1, and is {confidence}")
    logs = [math.log(slow / fast) for slow, fast in zip(baseline, candidate, strict=True)]
    mean, rounds = statistics.fmean(logs), len(logs)
    if rounds == 1:
        return SpeedUp(math.exp(mean), 0.0, math.inf, confidence, rounds)
    spread = student_quantile((1 + confidence) / 2, rounds - 1) * statistics.stdev(logs) / math.sqrt(rounds)
    return SpeedUp(math.exp(mean), math.exp(mean - spread), math.exp(mean + spread), confidence, rounds)


def speed_up_seen(baseline: float | None, time: float | None) -> float | None:
    """The ratio of two medians, in any one unit: how many times as fast it seems. None where one of them is not known.

    >>> speed_up_seen(20.0, 8.0), speed_up_seen(None, 8.0)
    (2.5, None)
    """
    return baseline / time if baseline and time else None


def student_quantile(probability: float, freedom: int) -> float:
    """Of Student's distribution, for a probability from one half on.

    >>> round(student_quantile(0.975, 9), 3)
    2.262
    """
    low, high = 0.0, 1.0
    while _student(high, freedom) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student(value: float, freedom: int) -> float:
    """The distribution function at a value from zero on: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for i in range(2 + odd, freedom, 2):
        term *= cosine * cosine * (i - 1) / i
        total += term
    part = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return 0.5 + part / 2
