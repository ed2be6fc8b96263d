"""Where points come from: all of them, by chance, or from a sampler of Optuna's that learns from what was measured."""

from __future__ import annotations

import abc
import contextlib
import datetime
import itertools
import random
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError, UnavailableError
from mneme.results.trials import COMPLETE, FAILED, PRUNED, Params, Trial
from mneme.tune.extras import need
from mneme.tune.names import nearest
from mneme.tune.space.parameters import Axis, Choice
from mneme.tune.space.search_space import SearchSpace, key_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

    from mneme.tune.search.batched_tpe import BatchedTPESampler

SAMPLERS: dict[str, str] = {
    "exhaustive": "every point, in order; also called grid",
    "random": "points by chance, none twice",
    "tpe": "Optuna's tree-structured Parzen estimator",
    "cmaes": "Optuna's CMA-ES, for numbers; choices without an order are drawn by chance",
    "nsga2": "Optuna's NSGA-II, for several objectives",
    "gp": "Optuna's Gaussian process; needs torch",
}
"""By name, what each is."""

_ALIASES = {"grid": "exhaustive"}
# Points that a sampler may propose in a row of which no one meets the constraints.
_REFUSED = 64
# Draws until a point is taken that was there before.
_REPEATED = 100
NO_LESSON = ("worker_lost", "cancelled")
"""Failures that say nothing of the point."""
# So many times the worst that was measured is what a failure is told as, and what that is before anything was.
_WORSE, _UNKNOWN = 2.0, 1e12

Numbered = tuple[int, Params]


class Source(abc.ABC):
    """Proposes points. Not thread-safe: one thread has it."""

    learns: bool = False
    """Whether what it proposes depends on what it was told."""

    @property
    def waits(self) -> bool:
        """Whether it must be told of all that it proposed before it proposes more."""
        return False

    @abc.abstractmethod
    def restore(self, trials: Sequence[Trial]) -> None:
        """What an earlier run has tried. Called once, before anything is proposed."""

    @abc.abstractmethod
    def propose(self, count: int) -> list[Numbered]:
        """Up to `count` further points with their numbers; none: there are no more."""

    def tell(self, trial: Trial) -> None:  # noqa: B027
        """What became of a point that was proposed; nothing to one that does not learn."""


class Listed(Source):
    """Points of a sequence that is the same each time; what an earlier run has done is left out."""

    def __init__(self, points: Iterator[Params], first: int = 0) -> None:
        """`points` in their order, the number of the first."""
        self._points = enumerate(points, first)
        self._done: set[int] = set()

    def restore(self, trials: Sequence[Trial]) -> None:
        """Leaves these out."""
        self._done = {trial.number for trial in trials}

    def propose(self, count: int) -> list[Numbered]:
        """The next points."""
        return list(itertools.islice((point for point in self._points if point[0] not in self._done), count))


def drawn(space: SearchSpace, seed: int) -> Iterator[Params]:
    """First `space.start`, then points by chance, each once while there are others: the same ones for the same seed."""
    seen: set[str] = set()
    start = space.start
    for number in itertools.count():
        source = random.Random(f"{seed}/{number}")
        for _ in range(_REPEATED):
            params = start[number] if number < len(start) else space.draw(source)
            if number < len(start) or key_of(params) not in seen:
                break
        seen.add(key_of(params))
        yield params
        if space.size is not None and len(seen) >= space.size:
            return


class FromOptuna(Source):
    """Points from a sampler of Optuna's, over a study in memory."""

    learns = True

    def __init__(
        self, space: SearchSpace, sampler: BaseSampler, objectives: Sequence[str], seed: int, first: int = 0
    ) -> None:
        """`first`: the number of the first point.

        `seed` is of what is drawn where the sampler proposes nothing that meets the constraints.
        """
        optuna = need("optuna", "this sampler")
        self._space = space
        self._objectives = tuple(objectives)
        from mneme.tune.search.shared_axes import shared

        self._axes = shared(distributions(space))
        self._random = random.Random(seed)
        self._state = optuna.trial.TrialState
        self._study = _study(sampler, len(self._objectives))
        self._asked: dict[int, Any] = {}  # trials of Optuna's, by our number
        self._is_tpe = isinstance(sampler, optuna.samplers.TPESampler)
        self._worst: list[float] = []  # of each objective, of what was measured
        self._next = first
        self._start = space.start

    def restore(self, trials: Sequence[Trial]) -> None:
        """Lets the sampler know of those that the space still has."""
        tried = {key_of(trial.params) for trial in trials}
        self._start = [params for params in self._start if key_of(params) not in tried]
        for trial in sorted(trials, key=lambda trial: trial.number):
            self._next = max(self._next, trial.number + 1)
            if not self._space.contains(trial.params):
                continue
            if trial.state == COMPLETE:
                self._notice(trial.values(self._objectives))
            self._add(trial, coordinates(self._space, trial.params))

    def propose(self, count: int) -> list[Numbered]:
        """Asks the sampler."""
        made = []
        for _ in range(count):
            trial, params = self._ask()
            self._asked[self._next] = trial
            made.append((self._next, params))
            self._next += 1
        return made

    def tell(self, trial: Trial) -> None:
        """A failure is worse than all that was measured; what is left of a pruned one is its time until then."""
        asked = self._asked.pop(trial.number)
        if trial.state == COMPLETE:
            values = trial.values(self._objectives)
            self._notice(values)
            self._study.tell(asked, values)
        elif trial.state == PRUNED:
            if trial.time is not None:
                asked.report(trial.time, step=0)
            self._study.tell(asked, state=self._state.PRUNED)
        elif trial.failure in NO_LESSON:
            self._study.tell(asked, state=self._state.FAIL)
        elif (failed := self._failed()) is not None:
            self._study.tell(asked, failed)
        else:
            self._study.tell(asked, state=self._state.PRUNED)

    def _add(self, trial: Trial, params: dict[str, Any]) -> None:
        failed = self._failed() if trial.state == FAILED and trial.failure not in NO_LESSON else None
        self._study.add_trial(optuna_trial(trial, params, self._axes, self._objectives, failed=failed))

    def _notice(self, values: Sequence[float]) -> None:
        self._worst = [max(pair) for pair in zip(self._worst or values, values, strict=True)]

    def _failed(self) -> list[float] | None:
        # For TPE it is among the bad ones without a value, behind what was pruned; others look at nothing without one.
        if self._is_tpe:
            return None
        return [_WORSE * max(worst, 1.0) for worst in self._worst or [_UNKNOWN] * len(self._objectives)]

    def _ask(self) -> tuple[Any, Params]:
        if self._start:
            return self._ask_for(self._start.pop(0))
        for _ in range(_REFUSED):
            trial = self._study.ask(self._axes)
            params = point(self._space, trial.params)
            if self._space.allows(params):
                return trial, params
            self._study.tell(trial, state=self._state.FAIL)
        return self._ask_for(self._space.draw(self._random))

    def _ask_for(self, params: Params) -> tuple[Any, Params]:
        self._study.enqueue_trial(coordinates(self._space, params))
        return self._study.ask(self._axes), params


class FromTpe(FromOptuna):
    """Points of the TPE that makes several at once. A trial comes into the study when it is done.

    Asking Optuna for each trial, and telling it, takes longer than the estimate.
    """

    def __init__(
        self, space: SearchSpace, sampler: BatchedTPESampler, objectives: Sequence[str], seed: int, first: int = 0
    ) -> None:
        """As of any sampler."""
        super().__init__(space, sampler, objectives, seed, first)
        self._sampler = sampler
        self._free = {name: axis for name, axis in self._axes.items() if not axis.single()}
        self._fixed = {
            name + suffix: axis.labels[0] if isinstance(axis, Choice) else axis.low
            for name, parameter in space.parameters.items()
            for suffix, axis in parameter.axes().items()
            if name + suffix not in self._free
        }

    def propose(self, count: int) -> list[Numbered]:
        """The start points, then of each point's candidates the best one that meets the constraints."""
        points, self._start = self._start[:count], self._start[count:]
        made = [(coordinates(self._space, params), params) for params in points]
        if left := count - len(made):
            candidates = list(self._sampler.candidates(self._study, self._free, left)) or [iter(())] * left
            made += map(self._choose, candidates)
        numbers = range(self._next, self._next + count)
        self._next += count
        self._asked.update(zip(numbers, (asked for asked, _ in made), strict=True))
        return list(zip(numbers, (params for _, params in made), strict=True))

    def tell(self, trial: Trial) -> None:
        """A failure is worse than all that was measured; what is left of a pruned one is its time until then."""
        self._add(trial, self._asked.pop(trial.number))

    def _choose(self, candidates: Iterator[dict[str, Any]]) -> tuple[dict[str, Any], Params]:
        for candidate in candidates:
            asked = self._fixed | candidate
            params = point(self._space, asked)
            if self._space.allows(params):
                return asked, params
        params = self._space.draw(self._random)
        return coordinates(self._space, params), params


def source_of(
    sampler: str | BaseSampler,
    space: SearchSpace,
    *,
    objectives: Sequence[str],
    seed: int,
    trials: int | None = None,
    first: int = 0,
) -> Source:
    """The source for a sampler's name, or for a sampler of Optuna's. `first`: the number of its first point.

    Raises InvalidArgumentError for an unknown name, with the nearest one; UnavailableError where a package is missing.
    """
    if not isinstance(sampler, str):
        optuna = need("optuna", "a sampler of Optuna's")
        if not isinstance(sampler, optuna.samplers.BaseSampler):
            raise InvalidArgumentError(f"sampler {sampler!r} is neither a name nor a sampler of Optuna's")
        return FromOptuna(space, sampler, objectives, seed, first)
    name = _ALIASES.get(sampler, sampler)
    if name not in SAMPLERS:
        raise InvalidArgumentError(f"there is no sampler '{sampler}'{nearest(sampler, [*SAMPLERS, *_ALIASES])}")
    if name == "exhaustive":
        return Listed(space.points(), first)
    if name == "random":
        return Listed(drawn(space, seed), first)
    if name == "cmaes" and len(objectives) > 1:
        raise InvalidArgumentError(
            f"sampler 'cmaes' has one objective, and {len(objectives)} are asked for: tpe and nsga2 take several"
        )
    if name == "tpe" and (batched := _batched_tpe(seed)) is not None:
        return FromTpe(space, batched, objectives, seed, first)
    return FromOptuna(space, _make(name, seed, trials), objectives, seed, first)


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """The space as Optuna has it."""
    return {
        name + suffix: _distribution(axis)
        for name, parameter in space.parameters.items()
        for suffix, axis in parameter.axes().items()
    }


def coordinates(space: SearchSpace, params: Params) -> dict[str, Any]:
    """A point as Optuna has it."""
    return {
        name + suffix: value
        for name, parameter in space.parameters.items()
        for suffix, value in parameter.coordinates(params[name]).items()
    }


def point(space: SearchSpace, coordinates: dict[str, Any]) -> Params:
    """A point from what Optuna has."""
    return {
        name: parameter.value({suffix: coordinates[name + suffix] for suffix in parameter.axes()})
        for name, parameter in space.parameters.items()
    }


def optuna_trial(
    trial: Trial,
    params: dict[str, Any],
    axes: dict[str, BaseDistribution],
    objectives: Sequence[str],
    *,
    failed: Sequence[float] | None = None,
) -> Any:
    """A trial that is done, as Optuna has it. What became of it stands in its user attributes.

    `params`: its `coordinates` on `axes`, the space's `distributions`. `failed`: the values of one that failed, where a
    sampler is to learn from it.
    """
    optuna = need("optuna", "a study of Optuna's")
    state = optuna.trial.TrialState
    attributes = {"number": trial.number, "digest": trial.digest, "origin": trial.origin}
    if trial.failure:
        attributes.update(failure=trial.failure, reason=trial.reason)
    intermediate = {0: trial.time} if trial.state == PRUNED and trial.time is not None and len(objectives) == 1 else {}
    values = trial.values(objectives) if trial.state == COMPLETE else failed
    without = state.FAIL if trial.failure in NO_LESSON else state.PRUNED
    now = datetime.datetime.now()
    return optuna.trial.FrozenTrial(  # create_trial() takes longer than all else that becomes of a trial
        number=-1,
        trial_id=-1,
        state=without if values is None else state.COMPLETE,
        value=None,
        values=values,
        params=params,
        distributions=axes,
        intermediate_values=intermediate,
        user_attrs=attributes,
        system_attrs={},
        datetime_start=now,
        datetime_complete=now,
    )


def optuna_study(space: SearchSpace, trials: Sequence[Trial], objectives: Sequence[str]) -> Study:
    """A study in memory of these trials, but for those that the space does not have."""
    need("optuna", "a study of Optuna's")
    study, axes = _study(objectives=len(objectives)), distributions(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is experimental
        study.set_metric_names(list(objectives))
    for trial in sorted(trials, key=lambda trial: trial.number):
        if space.contains(trial.params):
            study.add_trial(optuna_trial(trial, coordinates(space, trial.params), axes, objectives))
    return study


def _distribution(axis: Axis) -> BaseDistribution:
    from optuna import distributions

    if isinstance(axis, Choice):
        return distributions.CategoricalDistribution(axis.labels)
    if axis.whole:
        return distributions.IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=int(axis.step or 1))
    return distributions.FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)


def _make(name: str, seed: int, trials: int | None) -> BaseSampler:
    optuna = need("optuna", f"sampler '{name}'")
    if name == "gp":
        need("torch", "sampler 'gp'", install="torch scipy")
        need("scipy", "sampler 'gp'", install="torch scipy")
    if name == "cmaes":
        need("cmaes", "sampler 'cmaes'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that something of Optuna's is experimental
        if name == "tpe":
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)  # type: ignore[no-any-return]
        if name == "cmaes":
            sampler = optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
            return sampler  # type: ignore[no-any-return]
        if name == "nsga2":
            # About ten generations, of as many as NSGA-II needs to be one.
            population = max(10, min(50, (trials or 500) // 10))
            return optuna.samplers.NSGAIISampler(seed=seed, population_size=population)  # type: ignore[no-any-return]
        return optuna.samplers.GPSampler(seed=seed)  # type: ignore[no-any-return]


def _study(sampler: BaseSampler | None = None, objectives: int = 1) -> Study:
    """In memory, without a word about it."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
    optuna.logging.set_verbosity(verbosity)
    return study


def _batched_tpe(seed: int) -> BatchedTPESampler | None:
    """None where Optuna is missing, or the parts that it is made of are others (before Optuna 5)."""
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mneme.tune.search.batched_tpe import BatchedTPESampler, fits

        if fits(_study()):
            return BatchedTPESampler(seed=seed)
    return None


__all__ = ["SAMPLERS", "FromOptuna", "Listed", "Source", "UnavailableError", "drawn", "source_of"]
