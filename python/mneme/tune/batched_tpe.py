"""Optuna's TPE, which makes its estimate once for several points. Imports Optuna."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from optuna.samplers import TPESampler
from optuna.samplers._tpe import sampler as tpe
from optuna.trial import TrialState

# So many of the worse trials at most, the latest, which weigh the most anyway: what a point costs is bounded.
_BAD = 128


class BatchedTPESampler(TPESampler):
    """TPE that draws `BATCH` points from one estimate, where Optuna makes it anew for each.

    Asked for as many points in a row as a batch has, it takes a quarter of the time: a GPU must not wait for it
    (bench/RESULTS.md). Points of a batch differ, since each is the best of its own candidates.
    """

    BATCH = 8

    def __init__(self, *, seed: int | None = None) -> None:
        """`seed`: the same points for the same values."""
        super().__init__(seed=seed, multivariate=True, constant_liar=False)
        self._known = -1
        self._ready: list[dict[str, Any]] = []

    # What TPESampler calls for the parameters that it samples together.
    def _sample(self, study: Any, trial: Any, search_space: dict[str, Any], *_: Any) -> dict[str, Any]:
        trials = study._get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED), use_cache=True)
        if len(trials) != self._known or not self._ready or self._ready[-1].keys() != search_space.keys():
            gamma = tpe.default_gamma if len(study.directions) == 1 else tpe.default_gamma_multiobjective
            # What failed, pruned without a value, is never among the good, however few there are.
            right = sum(known.state == TrialState.COMPLETE or bool(known.intermediate_values) for known in trials)
            below, above = tpe._split_trials(study, trials, min(gamma(len(trials)), right))
            good = self._build_parzen_estimator(study, search_space, below, handle_below=True)
            bad = self._build_parzen_estimator(study, search_space, above[-_BAD:], handle_below=False)
            candidates = good.sample(self._rng.rng, self._n_ei_candidates * self.BATCH)
            gains = self._compute_acquisition_func(candidates, good, bad).reshape(self.BATCH, -1)
            places = np.argmax(gains, axis=1) + np.arange(self.BATCH) * gains.shape[1]
            self._known = len(trials)
            self._ready = [
                {name: axis.to_external_repr(candidates[name][place].item()) for name, axis in search_space.items()}
                for place in places[::-1]
            ]
        return self._ready.pop()


def tpe_sampler(seed: int) -> TPESampler:
    """The batched one; where the parts that it is made of are others (before Optuna 5), Optuna's own, slower."""
    if _fits():
        return BatchedTPESampler(seed=seed)
    return TPESampler(seed=seed, multivariate=True, constant_liar=True)


def _fits() -> bool:
    parts = ("default_gamma", "default_gamma_multiobjective", "_split_trials")
    if not all(hasattr(tpe, part) for part in parts):
        return False
    takes = list(inspect.signature(tpe._split_trials).parameters)
    own = ("_build_parzen_estimator", "_compute_acquisition_func", "_sample")
    return takes == ["study", "trials", "n_below"] and all(hasattr(TPESampler, name) for name in own)
