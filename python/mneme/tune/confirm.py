"""Who the winner is, and what it gains over the baseline: by measuring anew, in turn."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mneme.results.statistics import SpeedUp, speed_up
from mneme.results.trials import Trial
from mneme.tune.kept.findings import Findings

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.executor import Executor
    from mneme.result import Result

# How many of the best are measured anew to find the winner, how often, and how many of them are tried when one cannot
# be confirmed.
_FINALISTS, _FINALS, _CANDIDATES = 5, 3, 3
_WRONG = "wrong_result"


def announce(study: Findings, executor: Executor, baseline: Config, *, rounds: int) -> None:
    """Finds the study's winner, measures it and the baseline `rounds` times in turn, and gives the study its speed-up.

    What cannot be confirmed is a remark of the study's; the next best takes its place. What is wrong now, and was right
    before, is `Study.unsteady`.
    """
    finalists = _finalists(study, executor)
    if not finalists:
        study.remarks.append("none of the best was right each time when it was measured anew")
    for trial in finalists[:_CANDIDATES]:
        assert trial.config is not None
        found = confirm(executor, baseline, trial.config, rounds=rounds)
        if found.speed_up is not None:
            if study.best is not trial:
                study.best = trial
            trial.result = found.result
            study.time, study.speed_up = found.time, found.speed_up
            study.baseline.in_turn = found.baseline_time
            return
        study.remarks.append(f"trial {trial.number} could not be confirmed: {found.problem}")
        of_baseline = found.problem.startswith("baseline")
        if found.wrong:
            study.unsteady = "the launch as recorded" if of_baseline else study.unsteady or _unsteady(trial)
        if of_baseline:
            return


def _finalists(study: Findings, executor: Executor) -> list[Trial]:
    """The best by the search; where that is by their times, by times that are measured anew."""
    trials = study.ranking()[:_FINALISTS]
    if study.objectives[0] != "time" or len(trials) == 1:
        return trials
    configs = [trial.config for trial in trials if trial.config is not None]
    right, wrong = finals(executor, configs, rounds=_FINALS)
    if wrong:
        study.unsteady = _unsteady(trials[wrong[0]])
    return [trials[place] for place in right]


def _unsteady(trial: Trial) -> str:
    return f"trial {trial.number}, which was right in the search,"


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """The speed-up, both times in ns (medians of the rounds) and the candidate's last result; or why there is none.

    `wrong`: because one of them did not leave the recorded memory.
    """

    speed_up: SpeedUp | None
    time: float | None = None
    baseline_time: float | None = None
    result: Result | None = None
    problem: str = ""
    wrong: bool = False


def confirm(executor: Executor, baseline: Config, candidate: Config, *, rounds: int) -> Confirmation:
    """Measures both `rounds` times on one device, in the order b c, c b, b c, …, so that what drifts evenly is in both.

    `executor` must have one device: two GPUs are not alike. What fails, and a single round that does, is the `problem`.
    """
    turns = [turn for i in range(rounds) for turn in ((0, i), (1, i))[:: 1 if i % 2 == 0 else -1]]
    names, configs = ("baseline", "best"), (baseline, candidate)
    futures = [(who, executor.measure_anew(configs[who], f"{names[who]}, round {i + 1}")) for who, i in turns]
    medians: tuple[list[float], list[float]] = ([], [])
    last: Result | None = None
    for who, future in futures:
        result = future.result()
        if result.failed or result.time is None:
            for _, other in futures:
                other.cancel()
            problem = f"{names[who]}: {result.failure}: {result.reason}"
            return Confirmation(None, problem=problem, wrong=result.failure == _WRONG)
        medians[who].append(result.time)
        last = result if who == 1 else last
    of_baseline, of_candidate = map(statistics.median, medians)
    return Confirmation(speed_up(*medians), of_candidate, of_baseline, last)


def finals(executor: Executor, configs: Sequence[Config], *, rounds: int) -> tuple[list[int], list[int]]:
    """The places of the configurations, fastest first, by the median of as many measurements of each, in turn.

    The fastest of a search is so in part by luck, which does not come twice. What is not right each time is left out;
    the places of those that were wrong once are the second list.
    """
    futures = [
        (place, executor.measure_anew(configs[place], f"finals, place {place + 1}, round {i + 1}"))
        for i in range(rounds)
        for place in (range(len(configs)) if i % 2 == 0 else reversed(range(len(configs))))
    ]
    times: dict[int, list[float]] = {}
    wrong: set[int] = set()
    for place, future in futures:
        result = future.result()
        if result.failure == _WRONG:
            wrong.add(place)
        if result.time is not None:
            times.setdefault(place, []).append(result.time)
    right = [place for place, found in times.items() if len(found) == rounds]
    return sorted(right, key=lambda place: statistics.median(times[place])), sorted(wrong)
