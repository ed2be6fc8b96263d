"""A study as a figure of Plotly's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mneme._views import MOST, duration, shown
from mneme.report import EXTRA
from mneme.results.trials import COMPLETE, FAILED, PRUNED, Trial
from mneme.tune.extras import need

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from mneme.tune.kept.findings import Findings

_BLUE, _ORANGE, _RED, _GREEN, _GREY = "#2563eb", "#d97706", "#dc2626", "#15803d", "#6b7280"


def figure_of(study: Findings) -> Figure:
    """The time of each trial as it was done, the best so far, and the launch as recorded; what failed stands below."""
    go = need("plotly.graph_objects", "a figure of a study", install=EXTRA)
    places = {trial.number: place for place, trial in enumerate(study.trials, start=1)}
    traces = [
        _points(go, name, [trial for trial in study.trials if trial.state == state and trial.time], places, color)
        for name, state, color in (("right", COMPLETE, _BLUE), ("given up", PRUNED, _ORANGE))
    ]
    failed = [trial for trial in study.trials if trial.state == FAILED]
    marks = _points(go, "failed", failed, places, _RED)
    marks.update(y=[0] * len(failed), yaxis="y2", marker={"symbol": "line-ns-open", "size": 9, "color": _RED})
    lines = [_line(go, "best so far", _falling(study, places), _GREEN, "solid")]
    if study.baseline.time is not None:
        level = [(1, study.baseline.time / 1000), (max(1, len(places)), study.baseline.time / 1000)]
        lines.append(_line(go, "as recorded", level, _GREY, "dash"))
    figure = go.Figure([trace for trace in (*traces, marks, *lines) if trace.x])
    title = shown(study.kernel, 80).replace("&", "&amp;").replace("<", "&lt;")
    figure.update_layout(
        title={"text": title},
        xaxis={"title": {"text": "trials done"}, "anchor": "free", "position": 0},
        yaxis={"title": {"text": "time (us)"}, "domain": [0.09, 1]},
        yaxis2={"domain": [0, 0.07], "visible": False, "fixedrange": True, "range": [-1, 1]},
    )
    return figure


def _points(go: Any, name: str, trials: Sequence[Trial], places: dict[int, int], color: str) -> Any:
    return go.Scatter(
        name=name,
        mode="markers",
        marker={"color": color, "size": 6, "opacity": 0.75},
        x=[places[trial.number] for trial in trials],
        y=[(trial.time or 0.0) / 1000 for trial in trials],
        text=[_hover(trial) for trial in trials],
        hovertemplate="%{text}<extra></extra>",
    )


def _hover(trial: Trial) -> str:
    said = trial.failure or ("-" if trial.time is None else duration(trial.time))
    lines = [f"trial {trial.number}: {said}", *(f"{name} = {value}" for name, value in trial.params.items())]
    return "<br>".join(shown(line, MOST).replace("&", "&amp;").replace("<", "&lt;") for line in lines)


def _falling(study: Findings, places: dict[int, int]) -> list[tuple[int, float]]:
    """Where the smallest time so far becomes smaller, and the end."""
    points: list[tuple[int, float]] = []
    for trial in study.trials:
        if trial.state == COMPLETE and trial.time and (not points or trial.time / 1000 < points[-1][1]):
            points.append((places[trial.number], trial.time / 1000))
    return [*points, (len(places), points[-1][1])] if points else []


def _line(go: Any, name: str, points: Sequence[tuple[int, float]], color: str, dash: str) -> Any:
    return go.Scatter(
        name=name,
        mode="lines",
        line={"shape": "hv", "width": 2, "color": color, "dash": dash},
        x=[x for x, _ in points],
        y=[y for _, y in points],
        hoverinfo="skip",
    )
