"""A sampler to ask and to tell: a search whose loop is yours, beside an `Executor` or whatever else measures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mneme.errors import InvalidArgumentError
from mneme.results.trials import COMPLETE, Trial
from mneme.tune.arguments import as_base, as_objectives, as_seed, at_least
from mneme.tune.search.loop import CompileTimes, require_objectives
from mneme.tune.search.samplers import Source, source_of
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from mneme.config import Config
    from mneme.result import Result


class Sampler:
    """Proposes trials of a space, and learns from what it is told of them. One thread at a time.

    `tune` does more: it measures the best anew, keeps what it found, and gives up what is slow.

    >>> space = {"block.x": mneme.tune.Categorical([64, 128, 256]), "codegen.level": mneme.tune.Int(1, 3)}
    >>> sampler = mneme.tune.Sampler(space, "random", seed=1, config=mneme.Config(keep_threads=True))
    >>> with mneme.Executor(instance, device="cpu") as executor:
    ...     for _ in range(2):
    ...         asked = [(trial, executor.submit(trial.config)) for trial in sampler.ask(4)]
    ...         for trial, future in asked:
    ...             _ = sampler.tell(trial, future.result())
    >>> len(sampler.trials), sampler.best.state, sampler.best.time == min(trial.time for trial in sampler.ranking())
    (8, 'complete', True)
    """

    def __init__(
        self,
        space: SearchSpace | Mapping[str, Parameter],
        sampler: str | BaseSampler = "tpe",
        *,
        objectives: str | Sequence[str] = ("time",),
        seed: int | None = None,
        trials: int | None = None,
        config: Config | None = None,
    ) -> None:
        """Of a space, such as `mneme.tune.preset("launch", instance)`, or of parameters by name.

        Args:
            space: What is searched.
            sampler: As for `tune`: a name, or a sampler of Optuna's.
            objectives: What is to be small, as for `tune`; what a trial is told must have it.
            seed: The same proposals for the same seed, where it is told the same in the same order.
            trials: How many there will be, where that is known: NSGA-II makes its generations so large.
            config: What the space changes.

        Raises:
            InvalidArgumentError: Something unknown, with the nearest that is known.
            UnavailableError: A package is missing.
        """
        if not isinstance(space, SearchSpace | Mapping):
            raise InvalidArgumentError(
                "a sampler's space must be a SearchSpace, as mneme.tune.preset('launch', instance), or parameters by "
                f"name, and is {space!r}"
            )
        self.space = space if isinstance(space, SearchSpace) else SearchSpace(space)
        self.objectives = tuple(as_objectives(objectives))
        self.trials: list[Trial] = []
        """What it was told of, in that order."""
        self._config = as_base(config)
        wanted = None if trials is None else at_least("trials", trials, 1)
        self._source: Source = source_of(
            sampler, self.space, objectives=self.objectives, seed=as_seed(seed), trials=wanted
        )
        self._source.restore([])
        self._asked: dict[int, Trial] = {}
        self._compile_times = CompileTimes()
        self._began = time.monotonic()

    def ask(self, count: int = 1) -> list[Trial]:
        """Up to `count` further trials, whose `config` is to be measured; none where the space has no more points.

        More may be asked for before the former are told; one that learns knows less then. What is never told is as if
        it were still being measured. Raises what the space's `derive` raises.
        """
        made = []
        for number, params in self._source.propose(at_least("count", count, 1)):
            made.append(Trial(number, params, self.space.derive(params, self._config)))
        self._asked.update((trial.number, trial) for trial in made)
        return made

    def tell(self, trial: Trial, result: Result) -> Trial:
        """What became of a trial that was asked for, in any order: fills it in, and returns it.

        Raises InvalidArgumentError for a trial of another sampler, and for one that was told before;
        UnsupportedError where the result lacks an objective, which the device does not tell.
        """
        if not isinstance(trial, Trial) or self._asked.get(trial.number) is not trial:
            raise InvalidArgumentError(
                f"telling a sampler of {trial!r}: it is none that it asked for, or was told of it"
            )
        assert trial.config is not None
        seconds = time.monotonic() - self._began
        done = Trial.of(trial.number, trial.params, trial.config, result, pruned=False, seconds=seconds)
        if done.state == COMPLETE:
            done.compile_time = self._compile_times.notice(result)
        require_objectives(done, self.objectives)
        del self._asked[trial.number]
        trial.__dict__.update(done.__dict__)
        self.trials.append(trial)
        self._source.tell(trial)
        return trial

    def ranking(self) -> list[Trial]:
        """Those that are right, best first by the first objective."""
        right = [trial for trial in self.trials if trial.state == COMPLETE]
        return sorted(right, key=lambda trial: (trial.values(self.objectives), trial.number))

    @property
    def best(self) -> Trial | None:
        """The best so far, by what it was told; None where nothing was right yet.

        It is the best of many in part by luck: measure it again, in turn with the launch as recorded, before you claim
        anything (`mneme.tune.speed_up`).
        """
        return next(iter(self.ranking()), None)
