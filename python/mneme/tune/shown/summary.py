"""What a run of tuning came to, for people: the table of the best, what became of the others, what may be said of it.

What was confirmed comes first, with its interval; then the launch as recorded, which all speed-ups are over; then what
only the search has measured, which is marked as not confirmed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mneme._views import MOST, Table, duration, shown, shown_lines
from mneme.results.statistics import NO_DIFFERENCE
from mneme.results.trials import COMPLETE, Trial
from mneme.tune.kept.findings import Findings

AS_RECORDED, NOT_CONFIRMED = "as recorded", "not confirmed"
_IS_RECORDED = "is the launch as recorded"
# Of a configuration, what the launch as recorded is measured with too.
_OF_BASELINE = ("execution", "tolerance", "verdict")
# Columns of objectives that are shown where they are asked for.
_MORE = {"compile_time": "COMPILING", "instructions": "INSTRUCTIONS", "spills": "SPILLS"}
_SHORT = 0.1  # seconds that are too few for a rate


def summary_text(study: Findings, *, top: int = 10, width: int | None = None) -> str:
    """The table of the best, what became of the others, and what may be said of the winner.

    `width`: of the table's lines, in characters.
    """
    table = best_table(study, top=top)
    return "\n".join([*([] if table is None else [table.text(width)]), *summary_lines(study)])


def summary_lines(study: Findings) -> list[str]:
    """What stands below the table."""
    failures = [f"  {kind.count} {name}, the first: {_one_line(kind.reason)}" for name, kind in study.failures.items()]
    lines = ["", _counts(study), *failures, "", _baseline(study), _verdict(study)]
    if study.best is not None and not lines[-1].endswith(_IS_RECORDED):
        lines.append(f"  {shown_lines(' '.join(_changes(study, study.best))) or AS_RECORDED}")
    return lines


def best_table(study: Findings, *, top: int = 10) -> Table | None:
    """The best trials and the launch as recorded; None where nothing is right."""
    shown = (study.front if len(study.objectives) > 1 else study.ranking())[:top]
    if not shown:
        return None
    is_recorded = _recorded(study)
    best = study.best if study.speed_up is not None else None
    others = [trial for trial in shown if trial is not best and not is_recorded(trial)]
    # What all have from what they begin with pushes out what differs.
    alike = set(_flat("", study.base)).intersection(*(_changes(study, trial) for trial in shown))
    ranks = itertools.count(1)
    rows = []
    if best is not None and study.speed_up is not None and not is_recorded(best):
        rows.append(_row(study, next(ranks), best, study.time, (study.speed_up.figure, study.speed_up.interval), alike))
    rows += _recorded_row(study, is_recorded, ranks)
    for trial in others[: top - len(rows) + 1]:
        gain = study.speed_up_of(trial)
        figure = "-" if gain is None else f"{gain:.2f}"
        rows.append(_row(study, next(ranks), trial, trial.time, (figure, NOT_CONFIRMED), alike))
    compiling = [name for key, name in _MORE.items() if key in study.objectives]
    columns = ["RANK", "TRIAL", "TIME", "SPEED-UP", "95 % INTERVAL", "REGISTERS", "OBJECT", *compiling, "CONFIGURATION"]
    title = f"{'Pareto front' if len(study.objectives) > 1 else 'Best'} of {study.kernel}"
    return Table(title, columns, rows)


def only_recorded(study: Findings) -> bool:
    """Whether the one trial that was asked for is the launch as recorded, with which a search begins."""
    if study.wanted != 1 or len(study.trials) != 1:
        return False
    return set(_changes(study, study.trials[0])) <= set(_flat("", study.base))


def _recorded(study: Findings) -> Callable[[Trial], bool]:
    """Whether a trial is the launch as recorded, or ended in the same code and launch."""
    with_it = set(_flat("", {name: value for name, value in study.base.items() if name in _OF_BASELINE}))
    keys = {
        trial.shared_with or trial.digest
        for trial in study.trials
        if trial.state == COMPLETE and trial.config is not None and set(_changes(study, trial)) <= with_it
    }
    return lambda trial: (trial.shared_with or trial.digest) in keys


def _recorded_row(study: Findings, is_recorded: Callable[[Trial], bool], ranks: Iterator[int]) -> list[list[str]]:
    """The launch as recorded, with its own measurements; a rank where nothing was found that is better."""
    trial = next((trial for trial in study.ranking() if is_recorded(trial)), None)
    time = study.baseline.time or (None if trial is None else trial.time)
    if time is None:
        return []
    rank = next(ranks) if study.best is not None and is_recorded(study.best) else None
    return [[*_row(study, rank, trial, time, ("1.00", AS_RECORDED), set())[:-1], ""]]


def _row(
    study: Findings, rank: int | None, trial: Trial | None, time: float | None, gain: tuple[str, str], alike: set[str]
) -> list[str]:
    names = ["-" if rank is None else str(rank), "-" if trial is None else str(trial.number)]
    trial = trial or Trial(-1, {})
    compiling = [
        _time(trial.compile_time) if key == "compile_time" else _number(getattr(trial, key))
        for key in _MORE
        if key in study.objectives
    ]
    told = [_number(trial.registers), _number(trial.object_size), *compiling]
    return [*names, _time(time), *gain, *told, " ".join(text for text in _changes(study, trial) if text not in alike)]


def _changes(study: Findings, trial: Trial) -> list[str]:
    """What is not as recorded or as by default."""
    recorded = set(_flat("", study.recorded))
    members = trial.config.to_dict() if trial.config else {}
    return [text for text in _flat("", members) if text not in recorded]


def _flat(prefix: str, members: Mapping[str, Any]) -> Iterator[str]:
    for name, value in members.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        elif value is True:
            yield prefix + name
        else:
            yield f"{prefix}{name}={value if isinstance(value, str) else json.dumps(value)}"


def _counts(study: Findings) -> str:
    trials = "1 trial" if len(study.trials) == 1 else f"{len(study.trials)} trials"
    text = f"{trials}: {study.count('complete')} right, {study.count('failed')} failed"
    if pruned := study.count("pruned"):
        text += f", {pruned} given up as clearly slower"
    rate = f", {study.observations_per_second:.1f} a second" if study.seconds >= _SHORT else ""
    measured = f"{study.observations} measured in {study.seconds:.2f} s{rate}"
    return f"{text}; {measured} ({study.seconds_before:.2f} s until the device was ready)"


def _baseline(study: Findings) -> str:
    baseline, passes = study.baseline, study.recorded.get("passes", "")
    built = f": {study.as_built}" if passes == "as-built" and study.as_built else ""
    launch = f"as recorded ({passes}{built})" if passes else "as recorded"
    if baseline.begin is None and baseline.end is None:
        return f"{launch}: {_one_line(baseline.problem) or 'not measured'}"
    in_turn = f", {_time(baseline.in_turn)} in turn with the best" if baseline.in_turn is not None else ""
    return f"{launch}: {_time(baseline.begin)} at the begin, {_time(baseline.end)} at the end{in_turn}"


def _verdict(study: Findings) -> str:
    if study.best is None:
        return "no configuration is right" if study.trials else "nothing was measured"
    name = f"trial {study.best.number}"
    if study.speed_up is None:
        seen = f"seems {study.speed_up_seen:.3f} times as fast as recorded" if study.speed_up_seen else "is the best"
        return f"{name} {seen}; that is not confirmed"
    if _recorded(study)(study.best):
        return f"no configuration is faster than as recorded: {name} {_IS_RECORDED}"
    if study.keep_recorded:
        beyond = " beyond the noise" if study.speed_up.claim == NO_DIFFERENCE else ""
        found = f"{name}, measured in turn with it, is {study.speed_up} times as fast"
        return f"no configuration is faster than as recorded{beyond}: {found}"
    return f"{name}, measured in turn with the launch as recorded, is {study.speed_up} times as fast"


def _time(nanoseconds: float | None) -> str:
    return "-" if nanoseconds is None else duration(nanoseconds)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _one_line(text: str) -> str:
    return shown(" ".join(text.split()), MOST)
