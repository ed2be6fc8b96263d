"""How a run of tuning is shown: a bar on a terminal or in a notebook, else a line now and then; a table at its end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from mneme._views import Table, duration
from mneme.tune.statistics import NO_DIFFERENCE
from mneme.tune.study import Study
from mneme.tune.trials import Trial

_EVERY = 10.0  # seconds between two lines where there is no terminal
_REDRAW = 0.1
_SHORT = 0.1  # seconds that are too few for a rate


def progress_line(study: Study, stage: str) -> str:
    """How far it is, in one line.

    >>> from pathlib import Path
    >>> print(progress_line(Study("scale", ("time",), Path("r"), wanted=500), "search"))
    0 of 500
    """
    if stage == "confirm":
        return "measuring the best and the baseline in turn"
    parts = [f"{len(study.trials)} of {study.wanted}" if study.wanted else f"{len(study.trials)} trials"]
    if study.best is not None:
        gain = f" ({study.speed_up_seen:.2f} x)" if study.speed_up_seen else ""
        parts.append(f"best {_first_value(study, study.best)}{gain}")
    if study.observations and study.seconds >= _SHORT:
        parts.append(f"{study.observations_per_second:.1f} measured/s")
    if pruned := study.count("pruned"):
        parts.append(f"{pruned} given up")
    if failures := study.failures:
        parts.append("failed: " + ", ".join(f"{kind.count} {name}" for name, kind in failures.items()))
    return ", ".join(parts)


class Display:
    """Shows a study while it runs: called with it and the stage, closed at the end.

    By rich where that is there and can draw.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream`: by default standard error."""
        self._stream = sys.stderr if stream is None else stream
        self._last = time.monotonic()
        self._stage = ""
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, study: Study, stage: str) -> None:
        """Shows it, unless it has just done so."""
        now = time.monotonic()
        if self._bar is None and not self._begin(study):
            if now - self._last >= _EVERY:
                self._last = now
                print(progress_line(study, stage), file=self._stream, flush=True)
        elif now - self._last >= _REDRAW or stage != self._stage:
            self._last, self._stage = now, stage
            self._bar.update(self._task, completed=len(study.trials), text=progress_line(study, stage))

    def close(self) -> None:
        """Leaves what is on the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _begin(self, study: Study) -> bool:
        try:
            from rich.console import Console
            from rich.markup import escape
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            return False
        console = Console(file=self._stream)
        if not (console.is_terminal or console.is_jupyter):
            return False
        name = escape(study.kernel.split("(")[0])
        self._bar = Progress(
            TextColumn(name),
            BarColumn(24),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(name, total=study.wanted, text="starting")
        self._bar.start()
        return True


def summary_text(study: Study, *, top: int = 10, width: int | None = None) -> str:
    """The table of the best, what became of the others, and what may be said of the winner.

    `width`: of the table, in characters.
    """
    parts = []
    if shown := (study.front if len(study.objectives) > 1 else study.ranking())[:top]:
        parts.append(_best_table(study, shown, width))
    parts += ["", _counts(study)]
    for name, kind in study.failures.items():
        parts.append(f"  {kind.count} {name}, the first: {_one_line(kind.reason)}")
    parts += ["", _baseline(study), _verdict(study)]
    if study.best is not None:
        parts.append(f"  {' '.join(_changes(study, study.best)) or 'as recorded'}")
    return "\n".join(parts)


def only_recorded(study: Study) -> bool:
    """Whether the one trial that was asked for is the launch as recorded, with which a search begins."""
    if study.wanted != 1 or len(study.trials) != 1:
        return False
    return set(_changes(study, study.trials[0])) <= set(_flat("", study.base))


def _best_table(study: Study, trials: list[Trial], width: int | None) -> str:
    # What all have from what they begin with pushes out what differs.
    alike = set(_flat("", study.base)).intersection(*(_changes(study, trial) for trial in trials))
    asked = "compile_time" in study.objectives
    rows = []
    for rank, trial in enumerate(trials, start=1):
        gain = study.speed_up_of(trial)
        row = [str(rank), str(trial.number), _time(trial.time), "-" if gain is None else f"{gain:.3f}"]
        compiling = [_time(trial.compile_time)] if asked else []
        differs = " ".join(text for text in _changes(study, trial) if text not in alike)
        rows.append([*row, _number(trial.registers), _number(trial.object_size), *compiling, differs])
    columns = [
        "RANK",
        "TRIAL",
        "TIME",
        "SPEED-UP",
        "REGISTERS",
        "OBJECT",
        *(["COMPILING"] if asked else []),
        "CONFIGURATION",
    ]
    title = f"{'Pareto front' if len(study.objectives) > 1 else 'Best'} of {study.kernel}"
    lines = Table(title, columns, rows).text().splitlines()
    return "\n".join(line if width is None or len(line) <= width else line[: width - 1] + "…" for line in lines)


def _changes(study: Study, trial: Trial) -> list[str]:
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


def _counts(study: Study) -> str:
    trials = "1 trial" if len(study.trials) == 1 else f"{len(study.trials)} trials"
    text = f"{trials}: {study.count('complete')} right, {study.count('failed')} failed"
    if pruned := study.count("pruned"):
        text += f", {pruned} given up as clearly slower"
    rate = f", {study.observations_per_second:.1f} a second" if study.seconds >= _SHORT else ""
    measured = f"{study.observations} measured in {study.seconds:.2f} s{rate}"
    return f"{text}; {measured} ({study.seconds_before:.2f} s until the device was ready)"


def _baseline(study: Study) -> str:
    baseline = study.baseline
    if baseline.begin is None and baseline.end is None:
        return f"as recorded (default<O3>): {_one_line(baseline.problem) or 'not measured'}"
    return f"as recorded (default<O3>): {_time(baseline.begin)} at the begin, {_time(baseline.end)} at the end"


def _verdict(study: Study) -> str:
    if study.best is None:
        return "no configuration is right" if study.trials else "nothing was measured"
    name = f"trial {study.best.number}"
    if study.speed_up is None:
        seen = f"seems {study.speed_up_seen:.3f} times as fast as recorded" if study.speed_up_seen else "is the best"
        return f"{name} {seen}; that is not confirmed"
    if study.keep_recorded:
        beyond = " beyond the noise" if study.speed_up.claim == NO_DIFFERENCE else ""
        found = f"{name}, measured in turn with it, is {study.speed_up} times as fast"
        return f"no configuration is faster than as recorded{beyond}: {found}"
    return f"{name}, measured in turn with the launch as recorded, is {study.speed_up} times as fast"


def _first_value(study: Study, trial: Trial) -> str:
    name = study.objectives[0]
    value = trial.values([name])[0]
    return _time(value) if name in ("time", "compile_time") else f"{value:g} {name}"


def _time(nanoseconds: float | None) -> str:
    return "-" if nanoseconds is None else duration(nanoseconds)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
