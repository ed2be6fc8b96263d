"""How a run of tuning is shown while it runs: a bar on a terminal or in a notebook, else a line now and then."""

from __future__ import annotations

from typing import TextIO

from mneme._live import Live
from mneme._views import duration
from mneme.results.trials import Trial
from mneme.tune.kept.findings import Findings

_SHORT = 0.1  # seconds that are too few for a rate


def progress_line(study: Findings, stage: str) -> str:
    """How far it is, in one line.

    >>> from pathlib import Path
    >>> print(progress_line(Findings("scale", ("time",), Path("r"), wanted=500), "search"))
    0 of 500
    """
    if stage == "confirm":
        return "measuring the best and the baseline in turn"
    parts = [f"{len(study.trials)} of {study.wanted}" if study.wanted else f"{len(study.trials)} trials"]
    if study.best is not None:
        gain = f" (seems {study.speed_up_seen:.2f} x)" if study.speed_up_seen else ""
        parts.append(f"best {_first_value(study, study.best)}{gain}")
    if study.observations and study.seconds >= _SHORT:
        parts.append(f"{study.observations_per_second:.1f} measured/s")
    if pruned := study.count("pruned"):
        parts.append(f"{pruned} given up")
    if failures := study.failures:
        parts.append("failed: " + ", ".join(f"{kind.count} {name}" for name, kind in failures.items()))
    return ", ".join(parts)


class Display:
    """Shows a study while it runs: called with it and the stage, closed at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream`: by default standard error."""
        self._stream = stream
        self._live: Live | None = None
        self._stage = ""

    def __call__(self, study: Findings, stage: str) -> None:
        """Shows it, unless it has just done so."""
        if self._live is None:
            self._live = Live(study.kernel.split("(")[0], self._stream, transient=True)
        self._live.update(len(study.trials), study.wanted, progress_line(study, stage), now=stage != self._stage)
        self._stage = stage

    def close(self) -> None:
        """Takes it away where it is drawn: the table that comes then tells more."""
        if self._live is not None:
            self._live.close()
            self._live = None


def _first_value(study: Findings, trial: Trial) -> str:
    name = study.objectives[0]
    value = trial.values([name])[0]
    return duration(value) if name in ("time", "compile_time") else f"{value:g} {name}"
