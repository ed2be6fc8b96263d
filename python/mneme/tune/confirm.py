"""Who the winner is, and what it gains over the baseline: by measuring anew, in turn."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mneme.tune.statistics import SpeedUp, speed_up

if TYPE_CHECKING:
    from mneme import Config, Executor, Result


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """The speed-up, the candidate's time in ns (the median of its rounds) and its last result; or why there is none."""

    speed_up: SpeedUp | None
    time: float | None = None
    result: Result | None = None
    problem: str = ""


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
            return Confirmation(None, problem=f"{names[who]}: {result.failure}: {result.reason}")
        medians[who].append(result.time)
        last = result if who == 1 else last
    return Confirmation(speed_up(medians[0], medians[1]), statistics.median(medians[1]), last)


def finals(executor: Executor, configs: Sequence[Config], *, rounds: int) -> list[int]:
    """The places of the configurations, fastest first, by the median of as many measurements of each, in turn.

    The fastest of a search is so in part by luck, which does not come twice. What is not right each time is left out.
    """
    futures = [
        (place, executor.measure_anew(configs[place], f"finals, place {place + 1}, round {i + 1}"))
        for i in range(rounds)
        for place in (range(len(configs)) if i % 2 == 0 else reversed(range(len(configs))))
    ]
    times: dict[int, list[float]] = {}
    for place, future in futures:
        time = future.result().time
        if time is not None:
            times.setdefault(place, []).append(time)
    right = [place for place, found in times.items() if len(found) == rounds]
    return sorted(right, key=lambda place: statistics.median(times[place]))
