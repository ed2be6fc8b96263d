"""Findings: what a run of tuning has found, while it runs and at its end. A `Study` shows them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mneme._views import with_units
from mneme.results.baseline import Baseline
from mneme.results.front import pareto_front
from mneme.results.statistics import FASTER, SpeedUp, speed_up_seen
from mneme.results.trials import COMPLETE, FAILED, PRUNED, Trial

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.tune.space.search_space import SearchSpace


@dataclasses.dataclass
class FailureKind:
    """Trials that failed in the same way, and why the first one did."""

    count: int
    reason: str


@dataclasses.dataclass
class Findings:
    """What a `Study` holds, apart from the ways to show it; `Study` says what its members are."""

    kernel: str
    objectives: tuple[str, ...]
    results_dir: Path
    device: str = ""
    wanted: int | None = None
    recorded: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # the launch, as a configuration
    as_built: str = dataclasses.field(default="", repr=False)  # what "as-built" is of the kernel, for people
    base: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # what every trial begins with
    space: SearchSpace | None = dataclasses.field(default=None, repr=False)
    trials: list[Trial] = dataclasses.field(default_factory=list, repr=False)
    best: Trial | None = None
    baseline: Baseline = dataclasses.field(default_factory=Baseline)
    time: float | None = None
    speed_up: SpeedUp | None = None
    interrupted: bool = False
    exhausted: bool = False
    seconds: float = 0.0
    seconds_before: float = 0.0
    observations: int = 0
    unsteady: str = ""
    remarks: list[str] = dataclasses.field(default_factory=list)
    # Asked for many times a second, of any number of trials.
    _states: Counter[str] = dataclasses.field(default_factory=Counter, repr=False)
    _failures: dict[str, FailureKind] = dataclasses.field(default_factory=dict, repr=False)

    def add(self, trial: Trial, *, restored: bool = False) -> bool:
        """Takes a trial in; True: it is the best so far. `restored`: an earlier run measured it."""
        self.trials.append(trial)
        self._states[trial.state] += 1
        if trial.state == FAILED and trial.failure:
            self._failures.setdefault(trial.failure, FailureKind(0, trial.reason)).count += 1
        if trial.state != COMPLETE:
            trial.result = None
            return False
        self.observations += trial.origin == "measured" and not restored
        if self.best is not None and not self._value(trial) < self._value(self.best):
            trial.result = None
            return False
        if self.best is not None:
            self.best.result = None
        self.best = trial
        return True

    @property
    def config(self) -> Config | None:
        """Of the best trial."""
        return None if self.best is None else self.best.config

    @property
    def front(self) -> list[Trial]:
        """Complete trials than which no other is as good in all objectives and better in one; by the first."""
        return pareto_front(self.ranking(), self.objectives)

    def ranking(self) -> list[Trial]:
        """Complete trials, best first by the first objective; of those that share one measurement, one."""
        unique: dict[Any, Trial] = {}
        for trial in self.trials:
            if trial.state == COMPLETE:
                unique.setdefault(trial.shared_with or trial.digest, trial)
        return sorted(unique.values(), key=lambda trial: (self._value(trial), trial.origin != "measured", trial.number))

    @property
    def failures(self) -> dict[str, FailureKind]:
        """By kind, most frequent first."""
        return dict(sorted(self._failures.items(), key=lambda kind: -kind[1].count))

    def count(self, state: str) -> int:
        """Trials that ended so: "complete", "failed" or "pruned"."""
        return self._states[state]

    @property
    def observations_per_second(self) -> float:
        """Configurations that were right and measured for themselves, a second of the search."""
        return self.observations / self.seconds if self.seconds > 0 else 0.0

    @property
    def speed_up_seen(self) -> float | None:
        """Of the best trial over the baseline as the search saw them: a hint, with the luck of the best in it."""
        return None if self.best is None else self.speed_up_of(self.best)

    def speed_up_of(self, trial: Trial) -> float | None:
        """Over the baseline of the run that measured it, a hint as `speed_up_seen` is: 1 of the launch as recorded.

        Of another run only its begin is known; that of this one may be another machine's.
        """
        own = trial.baseline is None or trial.baseline == self.baseline.begin
        return speed_up_seen(self.baseline.time if own else trial.baseline, trial.time)

    @property
    def keep_recorded(self) -> bool:
        """Whether the fastest is no faster than the launch as recorded, as far as that was measured."""
        if self.best is None or self.objectives[0] != "time":
            return False
        if self.speed_up is not None:
            return self.speed_up.claim != FASTER
        return self.speed_up_seen is not None and self.speed_up_seen <= 1

    def summary(self) -> dict[str, Any]:
        """As JSON: what summary.json has."""
        best = self.best
        return {
            "kernel": self.kernel,
            "device": self.device,
            "objectives": list(self.objectives),
            "wanted": self.wanted,
            "trials": len(self.trials),
            "complete": self.count(COMPLETE),
            "failed": self.count(FAILED),
            "pruned": self.count(PRUNED),
            "observations": self.observations,
            "seconds": self.seconds,
            "seconds_before": self.seconds_before,
            "observations_per_second": self.observations_per_second,
            "failures": {name: dataclasses.asdict(kind) for name, kind in self.failures.items()},
            "baseline": dataclasses.asdict(self.baseline),
            "time": self.time,
            "best": None if best is None else best.to_dict(),
            "front": [trial.number for trial in self.front] if len(self.objectives) > 1 else None,
            "speed_up": None if self.speed_up is None else self.speed_up.to_dict(),
            "interrupted": self.interrupted,
            "exhausted": self.exhausted,
            "remarks": list(self.remarks),
            "results_dir": str(self.results_dir),
        }

    def finished(self, summary: Mapping[str, Any], *, rounds: int) -> bool:
        """Whether an earlier run has come to all that is wanted of these trials; then it is as that run left it.

        `summary` is that run's, `rounds` how often winner and baseline are to be measured in turn. Raises KeyError,
        TypeError or ValueError for what is no summary.
        """
        found = None if summary["speed_up"] is None else SpeedUp.from_dict(summary["speed_up"])
        measured = self.best is None or rounds == (0 if found is None else found.rounds)
        searched = summary["exhausted"] or (self.wanted is not None and len(self.trials) >= self.wanted)
        if summary["interrupted"] or summary["trials"] != len(self.trials) or not (measured and searched):
            return False
        baseline = Baseline(**summary["baseline"])
        if self.best is not None:
            (self.best,) = (trial for trial in self.trials if trial.number == summary["best"]["number"])
        self.baseline, self.speed_up, self.time = baseline, found, summary["time"]
        self.seconds, self.seconds_before = summary["seconds"], summary["seconds_before"]
        self.observations, self.exhausted = summary["observations"], summary["exhausted"]
        self.remarks[:] = summary["remarks"]
        return True

    def __repr__(self) -> str:
        """In one line, times with their units."""
        return with_units(self, ("time",))

    def best_document(self) -> dict[str, Any] | None:
        """What best.json has, and `mneme replay --config` reads."""
        if self.best is None or self.best.config is None:
            return None
        interval = self.speed_up.to_dict() if self.speed_up else {}
        return {
            "configuration": self.best.config.to_dict(),
            "result": None if self.best.result is None else self.best.result.details,
            "time": self.time or self.best.time,
            "speed_up": interval.get("value", self.speed_up_seen),
            "interval": [interval["low"], interval["high"]] if interval else None,
            "claim": interval.get("claim", "not confirmed"),
        }

    def _value(self, trial: Trial) -> float:
        return trial.values(self.objectives[:1])[0]
