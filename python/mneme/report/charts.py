"""The report's charts, as Plotly figures.

Colours are names of the page's style (`var(--…)`), which the page puts in for each theme.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from mneme.results.factors import Factor, Value, at_most
from mneme.results.front import pareto
from mneme.results.importance import importance, medians_by_value
from mneme.results.run import Run
from mneme.results.trials import PRUNED, Trial

#: About so many points are drawn in a chart of which there are several.
MANY_POINTS = 3000
#: Charts of parameters, and axes of the parallel plot.
MOST_PARAMETERS = 9
TICK_LENGTH = 22
#: Characters of a text at an axis of the parallel plot.
SHORT = 16

QUANTITIES = {
    "reg_usage": "registers",
    "obj_size": "object size (B)",
    "compile_time": "compile time (ms)",
}


def microseconds(trials: Sequence[Trial]) -> list[float]:
    """The times of trials, in us; of those that were given up, until then."""
    return [(trial.time or 0.0) / 1000 for trial in trials]


def _figure(traces: Sequence[Any], **layout: Any) -> go.Figure:
    axis = {
        "automargin": True,
        "zeroline": False,
        "gridcolor": "var(--line)",
        "linecolor": "var(--line)",
        "tickcolor": "var(--line)",
    }
    settings: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--soft)", "size": 12},
        "hoverlabel": {
            "bgcolor": "var(--card)",
            "bordercolor": "var(--line)",
            "font": {"color": "var(--ink)"},
            "align": "left",
        },
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "showlegend": False,
        "xaxis": axis,
        "yaxis": axis,
    }
    figure = go.Figure(data=list(traces), layout={**settings, "template": None})
    return figure.update_layout(**layout)


def thinning(run: Run) -> int:
    """Which trials are drawn where each is drawn in several charts: every one, every second, …"""
    return 1 + len(run.timed) // MANY_POINTS


def _points(trials: Sequence[Trial], x: Sequence[Any], y: Sequence[Any], **how: Any) -> go.Scatter:
    numbers = [trial.number for trial in trials]
    hover = {"customdata": numbers, "hovertemplate": "%{text}<extra></extra>"}
    return go.Scatter(x=list(x), y=list(y), mode="markers", **hover, **how)


def _time_axis(times: Sequence[float]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": "time (us)"}}
    if not times or not max(times) > 6 * min(times) > 0:
        return axis
    powers = range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1)
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    return {**axis, "type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def best_so_far(run: Run) -> go.Figure:
    """Every time as it came, the best so far, and the baseline; what failed stands below."""
    right = run.right
    shared = [trial for trial in right if trial.origin == "shared"]
    measured = [trial for trial in right if trial.origin != "shared"]
    failed = [trial for trials in run.failures.values() for trial in trials]
    end = len(run.trials)
    lines = [("best so far", _falling(right, end), "var(--green)", "solid")]
    if run.baseline is not None:
        lines.append(("baseline", [(1, run.baseline / 1000), (end, run.baseline / 1000)], "var(--soft)", "dash"))
    traces = [
        _as_it_came(shared, "shared", _marker("var(--faint)", 5)),
        _as_it_came([trial for trial in run.timed if trial.state == PRUNED], "given up", _marker("var(--orange)", 5)),
        _as_it_came(measured, "measured", _marker("var(--blue)", 6)),
        *(_line(name, points, {"color": color, "dash": dash}) for name, points, color, dash in lines),
    ]
    layout: dict[str, Any] = {"showlegend": True, "legend": _legend()}
    if failed:
        marker = {"symbol": "line-ns-open", "size": 9, "color": "var(--red)", "line": {"width": 1}}
        traces.append(_as_it_came(failed, "failed", marker).update(y=[0] * len(failed), yaxis="y2"))
        layout["yaxis2"] = {"domain": [0, 0.07], "visible": False, "fixedrange": True, "range": [-1, 1]}
    figure = _figure([trace for trace in traces if trace.x], **layout)
    return figure.update_layout(
        xaxis={"title": {"text": "configurations done"}, "anchor": "free", "position": 0},
        yaxis={**_time_axis(microseconds(right)), "domain": [0.09 if failed else 0, 1]},
    )


def _as_it_came(trials: Sequence[Trial], name: str, marker: dict[str, Any]) -> Any:
    return _points(trials, [trial.number for trial in trials], microseconds(trials), name=name, marker=marker)


def _falling(trials: Sequence[Trial], end: int) -> list[tuple[float, float]]:
    """Where the smallest time so far becomes smaller, and the end."""
    points: list[tuple[float, float]] = []
    for trial, time in zip(trials, microseconds(trials), strict=True):
        if not points or time < points[-1][1]:
            points.append((trial.number, time))
    return [*points, (end, points[-1][1])] if points else []


def _line(name: str, points: Sequence[tuple[float, float]], line: dict[str, Any]) -> go.Scatter:
    x, y = [x for x, _ in points], [y for _, y in points]
    return go.Scatter(x=x, y=y, name=name, mode="lines", line={"shape": "hv", "width": 2, **line}, hoverinfo="skip")


def _marker(color: str, size: float, opacity: float = 0.75) -> dict[str, Any]:
    return {"color": color, "size": size, "opacity": opacity, "line": {"width": 0}}


def _legend() -> dict[str, Any]:
    return {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left", "bgcolor": "rgba(0,0,0,0)"}


def importances(found: dict[str, float]) -> go.Figure:
    """What each parameter explains of the variance, the largest on top, then all others, and what none explains."""
    shown = list(found.items())[:MOST_PARAMETERS]
    others = sum(part for _, part in list(found.items())[MOST_PARAMETERS:])
    ends = [
        *([("other parameters", others)] if others >= 0.005 else []),
        ("together, or noise", 1 - sum(found.values())),
    ]
    names = [plain(at_most(34, name)) for name, _ in shown] + [name for name, _ in ends]
    parts = [part for _, part in shown] + [max(0.0, part) for _, part in ends]
    colors = ["var(--blue)"] * len(shown) + ["var(--faint)"] * len(ends)
    bars = go.Bar(
        x=[100 * part for part in parts],
        y=names,
        orientation="h",
        marker={"color": colors, "line": {"width": 0}},
        text=[f"{100 * part:.0f} %" for part in parts],
        textposition="outside",
        textfont={"color": "var(--ink)"},
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure = _figure([bars], bargap=0.35)
    figure.update_xaxes(visible=False, range=[0, 115 * max(0.05, *parts)], fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True, showgrid=False, tickfont={"color": "var(--ink)"})
    return figure


def chosen(run: Run) -> list[Factor]:
    """The parameters that the charts show, the most important first: those that differ among what is right."""
    found = importance(run.studied, run.timed)
    names = list(found)
    differing = [parameter for parameter in run.studied if len(_seen(parameter, run.timed).values) > 1]
    worth = [parameter for parameter in differing if not parameter.derived or found[parameter.name] >= 0.01]
    return sorted(worth, key=lambda parameter: names.index(parameter.name))[:MOST_PARAMETERS]


def plain(text: str) -> str:
    """A text that Plotly, which takes some HTML, shows as it is.

    >>> plain("default<O2>")
    'default&lt;O2&gt;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_of(value: Value) -> str:
    """A value as the page writes it.

    >>> text_of(True), text_of(None), text_of(64)
    ('true', 'as by default', '64')
    """
    if value is None:
        return "as by default"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seen(parameter: Factor, trials: Sequence[Trial]) -> Factor:
    """The parameter with those of its values that trials have."""
    seen = {repr(trial.params[parameter.name]) for trial in trials}
    return Factor(parameter.name, tuple(value for value in parameter.values if repr(value) in seen))


def slices(run: Run, parameter: Factor) -> go.Figure:
    """Times by the values of one parameter, with the median at each value; what was given up is in its own colour."""
    trials = run.timed
    parameter = _seen(parameter, trials)
    # Names, and numbers that are few, stand side by side.
    side_by_side = not parameter.is_number or len(parameter.values) <= 12
    places = {repr(value): index if side_by_side else value for index, value in enumerate(parameter.values)}

    def place(trial: Trial) -> float:
        spread = 0.36 * ((trial.number * 0.6180339887) % 1 - 0.5) if side_by_side else 0.0
        return float(places[repr(trial.params[parameter.name])] or 0) + spread

    traces = []
    for color, some in (("var(--orange)", run.given_up), ("var(--blue)", run.right)):
        shown = [trial for trial in some if trial.time is not None][:: thinning(run)]
        traces.append(_points(shown, list(map(place, shown)), microseconds(shown), marker=_marker(color, 5, 0.5)))
    medians = medians_by_value(parameter, trials)
    if len(medians) <= 40:
        points = [(places[repr(value)], time) for value, time in medians]
        traces.append(_medians(points, connected=parameter.is_number, width=22 if side_by_side else 9))
    figure = _figure([trace for trace in traces if trace.x])
    figure.update_yaxes(**{**_time_axis(microseconds(trials)), "title": None})
    if side_by_side:
        texts = [plain(at_most(TICK_LENGTH, text_of(value))) for value in parameter.values]
        figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, range=[-0.5, len(texts) - 0.5])
    return figure


def _medians(points: Sequence[tuple[Value, float]], *, connected: bool, width: float) -> go.Scatter:
    return go.Scatter(
        x=[x for x, _ in points],
        y=[time / 1000 for _, time in points],
        mode="lines+markers" if connected else "markers",
        marker={"symbol": "line-ew-open", "size": width, "line": {"width": 2.5}, "color": "var(--ink)"},
        line={"color": "var(--ink)", "width": 1, "dash": "dot"},
        hovertemplate="median %{y:.4s} us<extra></extra>",
    )


def parallel(run: Run, parameters: Sequence[Factor]) -> go.Figure:
    """A line for each right configuration through its parameters to its time."""
    right = run.right
    times = microseconds(right)
    dimensions = [
        _dimension(_seen(parameter, right), label, right)
        for parameter, label in zip(parameters, short_names(parameters), strict=True)
    ]
    texts = [len(str(text)) for text in dimensions[0].get("ticktext", [])] if dimensions else []
    dimensions.append({"label": "time (us)", "values": times})
    lines = go.Parcoords(
        dimensions=dimensions,
        line={"color": times, "colorscale": [[0, "var(--green)"], [0.35, "var(--blue)"], [1, "var(--faint)"]]},
        unselected={"line": {"color": "var(--line)", "opacity": 0.25}},
        labelfont={"color": "var(--ink)", "size": 12},
        tickfont={"color": "var(--ink)", "size": 11},
        rangefont={"color": "rgba(0,0,0,0)", "size": 1},
    )
    # The first axis' texts stand left of it.
    return _figure([lines], margin={"l": max(70, 16 + 7 * max(texts, default=0)), "r": 60, "t": 46, "b": 16})


def short_names(parameters: Sequence[Factor]) -> list[str]:
    """Names for a place that is short: a long one by its last part, where that is of no other.

    >>> short_names([Factor("assembler.max_registers", (1, 2)), Factor("block.x", (1, 2))])
    ['max_registers', 'block.x']
    """
    parts = [re.split(r": |\.", parameter.name)[-1] for parameter in parameters]
    names = [
        part if len(parameter.name) > SHORT and parts.count(part) == 1 else parameter.name
        for parameter, part in zip(parameters, parts, strict=True)
    ]
    return [at_most(SHORT, name) for name in names]


def _dimension(parameter: Factor, label: str, trials: Sequence[Trial]) -> dict[str, Any]:
    if parameter.is_number and len(parameter.values) > 12:
        return {"label": label, "values": [trial.params[parameter.name] for trial in trials]}
    places = {repr(value): index for index, value in enumerate(parameter.values)}
    return {
        "label": label,
        "values": [places[repr(trial.params[parameter.name])] for trial in trials],
        "tickvals": list(places.values()),
        "ticktext": [at_most(SHORT, text_of(value)) for value in parameter.values],
        "range": [-0.3, len(places) - 0.7],
    }


def fronts(run: Run) -> dict[str, go.Figure]:
    """Time against each other quantity of which there is more than one value, with the Pareto front."""
    found = {}
    for key, name in QUANTITIES.items():
        trials = [trial for trial in run.right if run.line_of(trial).quantity(key) is not None]
        scale = 1e6 if key == "compile_time" else 1
        values = [(run.line_of(trial).quantity(key) or 0.0) / scale for trial in trials]
        if len(set(values)) > 1:
            found[name] = _front(trials, values, name, thinning(run))
    return found


def _front(trials: Sequence[Trial], values: Sequence[float], name: str, step: int) -> go.Figure:
    times = microseconds(trials)
    best = pareto(list(zip(times, values, strict=True)))
    front = [trials[index] for index in best]
    x, y = [times[index] for index in best], [values[index] for index in best]
    steps = go.Scatter(
        x=[*x, max(times)],
        y=[*y, y[-1]],
        mode="lines",
        line={"shape": "hv", "color": "var(--orange)", "width": 1.5},
        hoverinfo="skip",
    )
    traces = [
        _points(trials[::step], times[::step], values[::step], marker=_marker("var(--blue)", 5, 0.45)),
        steps,
        _points(front, x, y, marker={"color": "var(--orange)", "size": 9}),
    ]
    figure = _figure(traces)
    figure.update_xaxes(**_time_axis(times))
    figure.update_yaxes(title={"text": name})
    return figure


def failures(run: Run) -> go.Figure:
    """How many configurations failed for which reason."""
    kinds = run.failures
    bars = go.Bar(
        x=[len(trials) for trials in kinds.values()],
        y=[plain(kind) for kind in kinds],
        orientation="h",
        marker={"color": "var(--red)", "line": {"width": 0}},
        text=[str(len(trials)) for trials in kinds.values()],
        textposition="outside",
        textfont={"color": "var(--ink)"},
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure = _figure([bars], bargap=0.4)
    figure.update_xaxes(visible=False, fixedrange=True, range=[0, 1.15 * max(map(len, kinds.values()), default=1)])
    figure.update_yaxes(autorange="reversed", fixedrange=True, showgrid=False, tickfont={"color": "var(--ink)"})
    return figure
