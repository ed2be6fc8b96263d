"""The Pareto front: what nothing else beats in every respect."""

from __future__ import annotations

from collections.abc import Sequence

from mneme.results.trials import Trial


def pareto(points: Sequence[Sequence[float]]) -> list[int]:
    """The indices of the points that no other one beats or equals in every coordinate, by the first coordinate.

    Smaller is better; of equal points the first stays.

    >>> pareto([(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0)])
    [0, 1, 4]
    """
    front: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: tuple(points[index])):
        mine = points[index]
        if not any(all(theirs <= ours for theirs, ours in zip(points[one], mine, strict=True)) for one in front):
            front.append(index)
    return front


def pareto_front(trials: Sequence[Trial], objectives: Sequence[str]) -> list[Trial]:
    """Those that no other dominates, by the first objective. `trials` are complete.

    >>> a, b = Trial(0, {}, time=1.0, registers=40), Trial(1, {}, time=2.0, registers=32)
    >>> c = Trial(2, {}, time=3.0, registers=32)
    >>> [trial.number for trial in pareto_front([c, b, a], ["time", "registers"])]
    [0, 1]
    """
    return [trials[index] for index in pareto([trial.values(objectives) for trial in trials])]
