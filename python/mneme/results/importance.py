"""How much each factor matters, and the times at each of its values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from mneme.results.factors import Factor, Value
from mneme.results.trials import FAILED, Trial

BINS = 6


def importance(factors: Sequence[Factor], trials: Sequence[Trial]) -> dict[str, float]:
    """What part of the variance of the times' logarithm each factor explains, 0 to 1, the largest first.

    The shares add up to 1 at most: the first is what the factor that explains most does by itself, each next one
    what the factor that explains most of what is left does there (a forward selection). Each is adjusted for the
    number of values (epsilon squared), so that a factor with many values, or few trials, is not important by chance;
    trials that share a measurement are one observation in that. Numbers of many values are put into equally filled
    bins. Trials without a time are left out. What is left at the end is what factors do together, and noise.
    """
    timed = [trial for trial in trials if trial.time]
    left = numpy.log([trial.time or 1.0 for trial in timed])
    groups = {factor.name: _groups(factor, timed) for factor in factors}
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


def _groups(factor: Factor, trials: Sequence[Trial]) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.intp]]:
    """The number of each trial's group."""
    values = [trial.params.get(factor.name) for trial in trials]
    if factor.is_number and len(set(values)) > BINS:
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


def by_value(factor: Factor, trials: Sequence[Trial]) -> list[tuple[Value, list[Trial]]]:
    """The trials that have each value of a factor, in the order of the values."""
    found: dict[str, list[Trial]] = {repr(value): [] for value in factor.values}
    for trial in trials:
        found[repr(trial.params[factor.name])].append(trial)
    return [(value, found[repr(value)]) for value in factor.values]


def medians_by_value(factor: Factor, trials: Sequence[Trial]) -> list[tuple[Value, float]]:
    """The median time in ns at each value of a factor that some trial has a time at."""
    times = [(value, [trial.time for trial in some if trial.time]) for value, some in by_value(factor, trials)]
    return [(value, float(numpy.median(some))) for value, some in times if some]


def never_right(factors: Sequence[Factor], trials: Sequence[Trial], *, least: int = 3) -> list[tuple[str, Value, int]]:
    """The values of factors under which no configuration was right, of at least `least`; with how many."""
    return [
        (factor.name, value, len(some))
        for factor in factors
        for value, some in by_value(factor, trials)
        if len(some) >= least and all(trial.state == FAILED for trial in some)
    ]
