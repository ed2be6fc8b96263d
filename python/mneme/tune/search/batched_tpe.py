"""Optuna's TPE, which makes several points of one estimate, and reads probabilities from tables. Imports Optuna."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.samplers._tpe._truncnorm import _log_gauss_mass
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from optuna.samplers._tpe.sampler import _split_trials, default_gamma, default_gamma_multiobjective
from optuna.trial import TrialState, create_trial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

# So many of the worse trials at most, the latest, which weigh the most anyway: what a point costs is bounded.
_BAD = 128
# A point is the best of so many, half as many as with Optuna: more give no better points (docs/adr/0007-tpe.md).
_CANDIDATES = 12
# An estimate is made anew when there are more trials than it is of by so great a part.
_MORE = 1 / 16
# Values of all axes of numbers of which there are tables; with more, Optuna's own functions take less time.
_TABLED = 128

Space = dict[str, BaseDistribution]
Numbers = NDArray[np.float64]


class BatchedTPESampler(TPESampler):
    """TPE that is asked for several points at once.

    A GPU must not wait for it (docs/adr/0007-tpe.md).
    """

    def __init__(self, *, seed: int | None = None) -> None:
        """`seed`: the same points for the same trials."""
        super().__init__(seed=seed, multivariate=True, constant_liar=False, n_ei_candidates=_CANDIDATES)
        self._parzen_estimator_cls = TabledEstimator
        self._observed: dict[int, list[float]] = {}  # by the number of the trial
        self._estimate: tuple[_ParzenEstimator, _ParzenEstimator] | None = None
        self._estimated = 0

    def candidates(self, study: Study, space: Space, count: int) -> Iterator[Iterator[dict[str, Any]]]:
        """For each of `count` points its candidates, the most promising one first.

        Nothing while there are too few trials for an estimate. Each trial of the study has all of `space`, always the
        same.
        """
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        if len(trials) < self._n_startup_trials or not space:
            return
        if self._estimate is None or len(trials) - self._estimated >= _MORE * self._estimated:
            self._estimate, self._estimated = self._estimate_of(study, space, trials), len(trials)
        good, bad = self._estimate
        drawn = good.sample(self._rng.rng, self._n_ei_candidates * count)
        gains = self._compute_acquisition_func(drawn, good, bad).reshape(count, -1)
        rows = np.stack([drawn[name] for name in space], axis=1).reshape(*gains.shape, -1)
        for mine, order in zip(rows, np.argsort(-gains, axis=1), strict=True):
            yield (
                {name: axis.to_external_repr(value) for (name, axis), value in zip(space.items(), row, strict=True)}
                for row in mine[order].tolist()
            )

    def _estimate_of(
        self, study: Study, space: Space, trials: list[FrozenTrial]
    ) -> tuple[_ParzenEstimator, _ParzenEstimator]:
        gamma = default_gamma if len(study.directions) == 1 else default_gamma_multiobjective
        # What failed, pruned without a value, is never among the good, however few there are.
        right = sum(trial.state == TrialState.COMPLETE or bool(trial.intermediate_values) for trial in trials)
        below, above = _split_trials(study, trials, min(gamma(len(trials)), right))
        return (
            self._build_parzen_estimator(study, space, below, handle_below=True),
            self._build_parzen_estimator(study, space, above[-_BAD:], handle_below=False),
        )

    # What TPESampler asks for each time; a trial that is done does not change.
    def _get_internal_repr(self, trials: Sequence[FrozenTrial], search_space: Space, *_: Any) -> dict[str, Numbers]:
        for trial in trials:
            if trial.number not in self._observed:
                self._observed[trial.number] = [
                    axis.to_internal_repr(trial.params[name]) for name, axis in search_space.items()
                ]
        rows = np.array([self._observed[trial.number] for trial in trials], float).reshape(-1, len(search_space))
        return dict(zip(search_space, rows.T, strict=True))


class TabledEstimator(_ParzenEstimator):
    """Optuna's estimate, with the probabilities of all values of each axis in a table that is made once.

    It is the same estimate: Optuna draws a whole number by rounding one of a truncated normal distribution, with the
    probability of all that is rounded to it. Where there are too many numbers, all is computed as Optuna does.
    """

    def __init__(
        self,
        observations: dict[str, Numbers],
        search_space: Space,
        parameters: _ParzenEstimatorParameters,
        predetermined_weights: Numbers | None = None,
    ) -> None:
        """As TPESampler calls it."""
        super().__init__(observations, search_space, parameters, predetermined_weights)
        self._is_tabled = sum(map(_numbers, search_space.values())) <= _TABLED
        if self._is_tabled:
            self._values = [_values(axis) for axis in search_space.values()]
            self._logs = _tables(self._mixture_distribution.distributions, self._values)
            # Of each value but the last, and each kernel, the probability of it and those below.
            self._until = [np.cumsum(np.exp(logs[:-1]), axis=0) for logs in self._logs]

    def sample(self, rng: np.random.RandomState, size: int) -> dict[str, Numbers]:
        """So many points, by name."""
        if not self._is_tabled:
            return super().sample(rng, size)
        weights = self._mixture_distribution.weights
        kernels = rng.choice(len(weights), p=weights, size=size)
        drawn = {}
        for name, values, until in zip(self._search_space, self._values, self._until, strict=True):
            drawn[name] = values[(until[:, kernels] < rng.rand(size)).sum(axis=0)]
        return drawn

    def log_pdf(self, samples_dict: dict[str, Numbers]) -> Numbers:
        """Of each point, the logarithm of its probability."""
        if not self._is_tabled:
            return super().log_pdf(samples_dict)
        size = len(next(iter(samples_dict.values())))
        total = np.tile(np.log(self._mixture_distribution.weights), (size, 1))
        for name, values, logs in zip(self._search_space, self._values, self._logs, strict=True):
            total += logs[np.searchsorted(values, samples_dict[name])]
        most = total.max(axis=1)
        sums: Numbers = np.log(np.exp(total - most[:, None]).sum(axis=1)) + most
        return sums


def fits(study: Study) -> bool:
    """Whether this Optuna is made of the parts that are used here, and they do the same: it is tried.

    `study` has no trials yet.
    """
    space: Space = {"a": CategoricalDistribution(("x", "y")), "b": IntDistribution(0, 9)}
    try:
        sampler = BatchedTPESampler(seed=0)
        for number in range(20):
            params = {"a": "xy"[number % 2], "b": number % 7}
            study.add_trial(create_trial(params=params, distributions=space, value=float(number)))
        chosen = [next(candidates) for candidates in sampler.candidates(study, space, 2)]
        assert sampler._estimate is not None
        points = {"a": np.array([0.0, 1.0]), "b": np.array([3.0, 9.0])}
        same = all(
            np.allclose(each.log_pdf(points), _ParzenEstimator.log_pdf(each, points)) for each in sampler._estimate
        )
    except Exception:  # whatever another Optuna says to it
        return False
    return same and len(chosen) == 2


def _numbers(axis: BaseDistribution) -> float:
    """How many values an axis of numbers has; of labels Optuna has tables anyway."""
    if isinstance(axis, CategoricalDistribution):
        return 0
    assert isinstance(axis, FloatDistribution | IntDistribution)
    return math.inf if axis.step is None else round((axis.high - axis.low) / axis.step) + 1


def _values(axis: BaseDistribution) -> Numbers:
    """All values of an axis, as TPESampler has them."""
    if isinstance(axis, CategoricalDistribution):
        return np.arange(len(axis.choices), dtype=float)
    assert isinstance(axis, FloatDistribution | IntDistribution) and axis.step is not None
    values = axis.low + axis.step * np.arange(_numbers(axis), dtype=float)
    return np.minimum(values, axis.high)  # which the last may be rounded past


def _tables(distributions: Sequence[Any], values: Sequence[Numbers]) -> list[Numbers]:
    """Of each axis, by value and kernel: the logarithm of the probability.

    Those of numbers are computed together, and each pair of mean and deviation once: a call is dear.
    """
    tables = [np.log(each.weights.T, order="C") if hasattr(each, "weights") else np.empty(0) for each in distributions]
    numbers = [place for place, table in enumerate(tables) if not table.size]
    if not numbers:
        return tables
    pairs = [
        np.unique(each.mu + 1j * each.sigma, return_inverse=True) for each in map(distributions.__getitem__, numbers)
    ]
    parts = [
        (_edges(distributions[place], values[place]) - pair.real) / pair.imag
        for place, (pair, _) in zip(numbers, pairs, strict=True)
    ]
    left, right = np.concatenate([part.reshape(2, -1) for part in parts], axis=1)
    masses = np.split(_log_gauss_mass(left, right), np.cumsum([part[0].size for part in parts])[:-1])
    for place, part, (_, kernels), mass in zip(numbers, parts, pairs, masses, strict=True):
        of_pairs = mass.reshape(part.shape[1:])
        tables[place] = (of_pairs[:-1] - of_pairs[-1])[:, kernels]
    return tables


def _edges(distribution: Any, values: Numbers) -> Numbers:
    """Where what is rounded to each value begins and ends, and last the whole range: of shape (2, values + 1, 1)."""
    half = distribution.step / 2
    begins, ends = np.append(values, distribution.low) - half, np.append(values, distribution.high) + half
    edges = np.stack([begins, ends])[:, :, None]
    return np.log(edges) if distribution.is_log else edges
