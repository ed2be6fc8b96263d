"""Optuna's distributions for a study in memory: never copied, and equal to themselves at once. Imports Optuna.

Optuna copies those of every axis with every trial, and compares them with those of earlier trials, which takes half of
the time that NSGA-II needs for a point. In other storages a study has Optuna's own.
"""

from __future__ import annotations

from optuna import distributions
from optuna.distributions import BaseDistribution


class _Shared(BaseDistribution):
    def __deepcopy__(self, memo: object) -> _Shared:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


# They have Optuna's names, by which it writes them.
class CategoricalDistribution(_Shared, distributions.CategoricalDistribution):
    """One of several labels."""


class IntDistribution(_Shared, distributions.IntDistribution):
    """Whole numbers."""


class FloatDistribution(_Shared, distributions.FloatDistribution):
    """Real numbers."""


def shared(axes: dict[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """The same ones."""
    return {name: _shared(axis) for name, axis in axes.items()}


def _shared(axis: BaseDistribution) -> BaseDistribution:
    if isinstance(axis, distributions.CategoricalDistribution):
        return CategoricalDistribution(axis.choices)
    if isinstance(axis, distributions.IntDistribution):
        return IntDistribution(axis.low, axis.high, log=axis.log, step=axis.step)
    assert isinstance(axis, distributions.FloatDistribution)
    return FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)
