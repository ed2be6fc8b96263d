"""What the report claims, and how sure it is: the speed-up, how much each parameter matters, the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from mneme.results.factors import Parameter, Value
from mneme.results.run import Run, Trial

REPLICATES = 2000
BINS = 6


@dataclass(frozen=True)
class SpeedUp:
    """How many times as fast, with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_shown(self) -> bool:
        """Whether the interval is on one side of 1: otherwise the difference is within the noise."""
        return self.low > 1 or self.high < 1


def speed_up(baselines: Sequence[Sequence[float]], times: Sequence[float]) -> SpeedUp:
    """The time of the baseline (the median of its measurements' medians) over the median of `times`, in any one unit.

    The interval is a bootstrap's: of the baseline's measurements one is drawn, so that it also covers by how much they
    differ from each other, and then launches within it. The seed is fixed: the same times give the same interval.

    >>> speed_up([[20.0, 20.0], [20.0, 20.0]], [10.0, 10.0])
    SpeedUp(value=2.0, low=2.0, high=2.0)
    """
    random = numpy.random.default_rng(0)
    baseline = numpy.median([numpy.median(measured) for measured in baselines])
    candidate = numpy.asarray(times)
    ratios = []
    for _ in range(REPLICATES):
        measured = numpy.asarray(baselines[int(random.integers(len(baselines)))])
        above = numpy.median(random.choice(measured, len(measured)))
        ratios.append(above / numpy.median(random.choice(candidate, len(candidate))))
    low, high = numpy.quantile(ratios, [0.025, 0.975])
    return SpeedUp(float(baseline / numpy.median(candidate)), float(low), float(high))


def claim(run: Run) -> SpeedUp | None:
    """The speed-up of the run's best configuration: as it was confirmed, else by what the search measured."""
    interval, value = run.said.get("interval"), run.said.get("speed_up")
    if isinstance(interval, list) and len(interval) == 2 and isinstance(value, int | float):
        low, high = interval
        return SpeedUp(float(value), 0.0 if low is None else float(low), math.inf if high is None else float(high))
    best = run.best
    return speed_up(run.baseline_times, best.times) if best and run.baseline_times else None


def importance(parameters: Sequence[Parameter], trials: Sequence[Trial]) -> dict[str, float]:
    """What part of the variance of the times' logarithm each parameter explains, 0 to 1, the largest first.

    The shares add up to 1 at most: the first is what the parameter that explains most does by itself, each next one
    what the parameter that explains most of what is left does there (a forward selection). Each is adjusted for the
    number of values (epsilon squared), so that a parameter with many values, or few trials, is not important by chance;
    trials that share a measurement are one observation in that. Numbers of many values are put into equally filled
    bins. Trials without a time are left out. What is left at the end is what parameters do together, and noise.
    """
    timed = [trial for trial in trials if trial.seen]
    left = numpy.log([trial.seen or 1.0 for trial in timed])
    groups = {parameter.name: _groups(parameter, timed) for parameter in parameters}
    freedom = len({trial.shared_with or trial.digest for trial in timed}) - 1
    found: dict[str, float] = {}
    part = 1.0
    while groups:
        explained = {name: _explained(codes, left, freedom) for name, codes in groups.items()}
        name = max(explained, key=lambda name: explained[name])
        if explained[name] <= 0:
            break
        codes = groups.pop(name)
        found[name], part = part * explained[name], part * (1 - explained[name])
        left = left - _means(codes, left)[codes]
        freedom -= int(codes.max())
    return found | dict.fromkeys(groups, 0.0)


def _groups(parameter: Parameter, trials: Sequence[Trial]) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.intp]]:
    """The number of each trial's group."""
    values = [trial.params.get(parameter.name) for trial in trials]
    if parameter.is_number and len(set(values)) > BINS:
        numbers = numpy.asarray(values, dtype=float)
        edges = numpy.unique(numpy.quantile(numbers, numpy.linspace(0, 1, BINS + 1)[1:-1]))
        names = [str(group) for group in numpy.searchsorted(edges, numbers, side="right")]
    else:
        names = [repr(value) for value in values]
    numbered = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return numpy.asarray([numbered[name] for name in names], dtype=numpy.intp)


def _means(
    codes: numpy.ndarray[tuple[int], numpy.dtype[numpy.intp]],
    values: numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]],
) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]:
    """Of each group."""
    means: numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]] = numpy.bincount(codes, values) / numpy.bincount(codes)
    return means


def _explained(
    codes: numpy.ndarray[tuple[int], numpy.dtype[numpy.intp]],
    values: numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]],
    freedom: int,
) -> float:
    """What part of the values' variance, of which `freedom` degrees are free, the groups explain (epsilon squared)."""
    used = int(codes.max()) if len(codes) else 0
    total = float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0
    if total <= 1e-12 or freedom <= used or used < 1:
        return 0.0
    within = float(((values - _means(codes, values)[codes]) ** 2).sum())
    return min(1.0, max(0.0, 1.0 - (within / (freedom - used)) / (total / freedom)))


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other one beats in both, by the first; smaller is better.

    >>> pareto([(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0)])
    [0, 1, 4]
    """
    front, lowest = [], math.inf
    for index in sorted(range(len(points)), key=lambda index: points[index]):
        if points[index][1] < lowest:
            front.append(index)
            lowest = points[index][1]
    return front


def by_value(parameter: Parameter, trials: Sequence[Trial]) -> list[tuple[Value, list[Trial]]]:
    """The trials that have each value of a parameter, in the order of the values."""
    found: dict[str, list[Trial]] = {repr(value): [] for value in parameter.values}
    for trial in trials:
        found[repr(trial.params[parameter.name])].append(trial)
    return [(value, found[repr(value)]) for value in parameter.values]


def medians_by_value(parameter: Parameter, trials: Sequence[Trial]) -> list[tuple[Value, float]]:
    """The median time in ns at each value of a parameter that some trial has a time at."""
    times = [(value, [trial.seen for trial in some if trial.seen]) for value, some in by_value(parameter, trials)]
    return [(value, float(numpy.median(some))) for value, some in times if some]


def never_right(
    parameters: Sequence[Parameter], trials: Sequence[Trial], *, least: int = 3
) -> list[tuple[str, Value, int]]:
    """The values of parameters under which no configuration was right, of at least `least`; with how many."""
    return [
        (parameter.name, value, len(some))
        for parameter in parameters
        for value, some in by_value(parameter, trials)
        if len(some) >= least and all(trial.failure not in (None, "cancelled") for trial in some)
    ]
