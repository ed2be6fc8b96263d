"""The report's charts, as Plotly figures.

Colours are names of the page's style (`var(--…)`), which the page puts in for each theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from mneme.report.run import Parameter, Run, Trial, Value, at_most
from mneme.report.statistics import importance, medians_by_value, pareto

#: More points than this are drawn by the GPU.
MANY_POINTS = 3000
#: Charts of parameters, and axes of the parallel plot.
MOST_PARAMETERS = 9
TICK_LENGTH = 22

QUANTITIES = {
    "reg_usage": "registers",
    "obj_size": "object size (B)",
    "compile_time": "compile time (ms)",
}


def microseconds(trials: Sequence[Trial]) -> list[float]:
    """The times of trials that have one, in µs."""
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


def _points(trials: Sequence[Trial], x: Sequence[Any], y: Sequence[Any], **how: Any) -> Any:
    kind = go.Scattergl if len(trials) > MANY_POINTS else go.Scatter
    return kind(
        x=list(x),
        y=list(y),
        mode="markers",
        customdata=[trial.number for trial in trials],
        hovertemplate="%{text}<extra></extra>",
        **how,
    )


def _time_axis(times: Sequence[float]) -> dict[str, Any]:
    wide = bool(times) and max(times) > 6 * min(times) > 0
    return {"title": {"text": "time (µs)"}, "type": "log" if wide else "linear", **({"dtick": "D2"} if wide else {})}


def best_so_far(run: Run) -> go.Figure:
    """Every time as it came, the best so far, and the baseline; what failed stands below."""
    right = run.right
    times = microseconds(right)
    measured = [trial for trial in right if trial.origin != "shared"]
    shared = [trial for trial in right if trial.origin == "shared"]
    failed = [trial for trial in run.trials if trial.failure is not None]
    steps, lowest = [], float("inf")
    for trial, time in zip(right, times, strict=True):
        if time < lowest:
            steps.append((trial.number, time))
            lowest = time
    steps.append((len(run.trials), lowest))
    traces = [
        _points(
            shared,
            [trial.number for trial in shared],
            microseconds(shared),
            name="shared",
            marker=_marker("var(--faint)", 5),
        ),
        _points(
            measured,
            [trial.number for trial in measured],
            microseconds(measured),
            name="measured",
            marker=_marker("var(--blue)", 6),
        ),
        go.Scatter(
            x=[number for number, _ in steps],
            y=[time for _, time in steps],
            name="best so far",
            mode="lines",
            line={"shape": "hv", "color": "var(--green)", "width": 2.5},
            hoverinfo="skip",
        ),
    ]
    traces = [trace for trace in traces if trace.x]
    layout: dict[str, Any] = {"showlegend": True, "legend": _legend()}
    if failed:
        marker = {"symbol": "line-ns-open", "size": 9, "color": "var(--red)", "line": {"width": 1}}
        traces.append(
            _points(
                failed, [trial.number for trial in failed], [0] * len(failed), name="failed", marker=marker, yaxis="y2"
            )
        )
        layout["yaxis2"] = {"domain": [0, 0.07], "visible": False, "fixedrange": True, "range": [-1, 1]}
    figure = _figure(traces, **layout)
    figure.update_layout(
        xaxis={"title": {"text": "configurations done"}, "anchor": "free", "position": 0},
        yaxis={**_time_axis(times), "domain": [0.09 if failed else 0, 1]},
    )
    if run.baseline is not None:
        figure.add_hline(
            y=run.baseline / 1000,
            line={"dash": "dash", "color": "var(--soft)", "width": 1.2},
            annotation={
                "text": "baseline",
                "font": {"color": "var(--soft)"},
                "xanchor": "right",
                "x": 1,
                "yanchor": "bottom",
            },
        )
    return figure


def _marker(color: str, size: float, opacity: float = 0.75) -> dict[str, Any]:
    return {"color": color, "size": size, "opacity": opacity, "line": {"width": 0}}


def _legend() -> dict[str, Any]:
    return {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left", "bgcolor": "rgba(0,0,0,0)"}


def importances(found: dict[str, float]) -> go.Figure:
    """What each parameter explains of the variance, the largest on top, and what none explains by itself."""
    shown = list(found.items())[:MOST_PARAMETERS]
    rest = max(0.0, 1 - sum(found.values()))
    names = [plain(at_most(34, name)) for name, _ in shown] + ["together, or noise"]
    parts = [part for _, part in shown] + [rest]
    colors = ["var(--blue)"] * len(shown) + ["var(--faint)"]
    bars = go.Bar(
        x=[100 * part for part in parts],
        y=names,
        orientation="h",
        marker={"color": colors},
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


def chosen(run: Run) -> list[Parameter]:
    """The parameters that the charts show, the most important first: those that differ among what is right."""
    found = importance(run.studied, run.trials)
    names = list(found)
    differing = [parameter for parameter in run.studied if len(_seen(parameter, run.right).values) > 1]
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


def _seen(parameter: Parameter, trials: Sequence[Trial]) -> Parameter:
    """The parameter with those of its values that trials have."""
    seen = {repr(trial.params[parameter.name]) for trial in trials}
    return Parameter(parameter.name, tuple(value for value in parameter.values if repr(value) in seen))


def slices(run: Run, parameter: Parameter) -> go.Figure:
    """Times by the values of one parameter, with the median at each value."""
    right = run.right
    parameter = _seen(parameter, right)
    medians = medians_by_value(parameter, right)
    # Names, and numbers that are far from evenly spaced, stand side by side.
    positions: dict[str, float] = {repr(value): index for index, value in enumerate(parameter.values)}
    side_by_side = not parameter.is_number or len(parameter.values) <= 12
    if not side_by_side:
        positions = {repr(value): float(value or 0) for value in parameter.values}
    x = [positions[repr(trial.params[parameter.name])] for trial in right]
    if side_by_side:
        x = [place + 0.36 * ((trial.number * 0.6180339887) % 1 - 0.5) for place, trial in zip(x, right, strict=True)]
    traces = [_points(right, x, microseconds(right), marker=_marker("var(--blue)", 5, 0.5))]
    if len(medians) <= 40:
        marks = go.Scatter(
            x=[positions[repr(value)] for value, _ in medians],
            y=[time / 1000 for _, time in medians],
            mode="lines+markers" if parameter.is_number else "markers",
            marker={"symbol": "line-ew-open", "size": 22, "line": {"width": 2.5}, "color": "var(--orange)"},
            line={"color": "var(--orange)", "width": 1, "dash": "dot"},
            hovertemplate="median %{y:.4s} µs<extra></extra>",
        )
        traces.append(marks)
    figure = _figure(traces)
    figure.update_yaxes(**{**_time_axis(microseconds(right)), "title": None})
    if side_by_side:
        texts = [plain(at_most(TICK_LENGTH, text_of(value))) for value in parameter.values]
        figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, range=[-0.5, len(texts) - 0.5])
    return figure


def parallel(run: Run, parameters: Sequence[Parameter]) -> go.Figure:
    """A line for each right configuration through its parameters to its time."""
    right = run.right
    times = microseconds(right)
    dimensions = [_dimension(parameter, right) for parameter in parameters]
    dimensions.append({"label": "time (µs)", "values": times})
    lines = go.Parcoords(
        dimensions=dimensions,
        line={"color": times, "colorscale": [[0, "var(--green)"], [0.35, "var(--blue)"], [1, "var(--faint)"]]},
        unselected={"line": {"color": "var(--line)", "opacity": 0.25}},
        labelfont={"color": "var(--ink)", "size": 12},
        tickfont={"color": "var(--ink)", "size": 11},
        rangefont={"color": "rgba(0,0,0,0)", "size": 1},
    )
    return _figure([lines], margin={"l": 70, "r": 60, "t": 46, "b": 16})


def _dimension(parameter: Parameter, trials: Sequence[Trial]) -> dict[str, Any]:
    label = at_most(24, parameter.name)
    parameter = _seen(parameter, trials)
    if parameter.is_number and len(parameter.values) > 12:
        return {"label": label, "values": [trial.params[parameter.name] for trial in trials]}
    places = {repr(value): index for index, value in enumerate(parameter.values)}
    return {
        "label": label,
        "values": [places[repr(trial.params[parameter.name])] for trial in trials],
        "tickvals": list(places.values()),
        "ticktext": [at_most(16, text_of(value)) for value in parameter.values],
        "range": [-0.3, len(places) - 0.7],
    }


def fronts(run: Run) -> dict[str, go.Figure]:
    """Time against each other quantity of which there is more than one value, with the Pareto front."""
    found = {}
    for key, name in QUANTITIES.items():
        trials = [trial for trial in run.right if trial.quantity(key) is not None]
        scale = 1e6 if key == "compile_time" else 1
        values = [(trial.quantity(key) or 0.0) / scale for trial in trials]
        if len(set(values)) > 1:
            found[name] = _front(trials, values, name)
    return found


def _front(trials: Sequence[Trial], values: Sequence[float], name: str) -> go.Figure:
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
        _points(trials, times, values, marker=_marker("var(--blue)", 5, 0.45)),
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
        marker={"color": "var(--red)"},
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
