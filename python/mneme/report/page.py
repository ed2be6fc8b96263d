"""The page: what the template is filled with."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from mneme import _views
from mneme._native import version
from mneme._views import MOST, shown, shown_lines
from mneme.report import charts, code, highlight
from mneme.results.factors import Factor, at_most, flatten
from mneme.results.importance import importance, never_right
from mneme.results.run import LogLine, Run
from mneme.results.statistics import LEAST_ROUNDS, NO_DIFFERENCE
from mneme.results.trials import FAILED, PRUNED, Trial

MOST_ROWS = 100

#: Characters of the kernel's name where it is a title.
_LONGEST_NAME = 120

#: What is told of a result: key, name, unit.
QUANTITIES = (
    ("reg_usage", "registers", ""),
    ("occupancy.warps", "occupancy", "%"),
    ("local_mem_usage", "local memory of a thread", "B"),
    ("spills", "spilled", "B"),
    ("shared_mem_usage", "static shared memory", "B"),
    ("instructions", "machine instructions", ""),
    ("obj_size", "object", "B"),
    ("compile_time", "compile time", "ns"),
)


def duration(nanoseconds: float | None) -> str:
    """A time with a unit that fits it.

    >>> duration(9120.4), duration(2_500_000.0), duration(None)
    ('9.12 us', '2.50 ms', '–')
    """
    return "–" if nanoseconds is None else _views.duration(nanoseconds)


def quantity(value: float | None, unit: str) -> str:
    """A number of a result with its unit.

    >>> quantity(2048, "B"), quantity(0.75, "%"), quantity(None, "")
    ('2.0 KiB', '75 %', '–')
    """
    if value is None:
        return "–"
    if unit == "ns":
        return duration(value)
    if unit == "%":
        return f"{100 * value:.0f} %"
    if unit == "B":
        return f"{value:,.0f} B" if value < 1024 else f"{value / 1024:,.1f} KiB"
    return f"{value:,.0f}"


def shape(extents: Any) -> str:
    """A launch's extents, as far as they matter.

    >>> shape({"x": 9, "y": 1, "z": 1}), shape({"x": 16, "y": 16, "z": 1})
    ('9', '16 × 16')
    """
    if not isinstance(extents, Mapping):
        return "?"
    numbers = [extents.get(axis, 1) for axis in "xyz"]
    while len(numbers) > 1 and numbers[-1] == 1:
        numbers.pop()
    return " × ".join(str(number) for number in numbers)


def sentence(text: str) -> str:
    """A text with a capital at its begin, but where that is a name.

    >>> sentence("the baseline took longer"), sentence("block.x stays 32"), sentence("--sampler gp waits")
    ('The baseline took longer', 'block.x stays 32', '--sampler gp waits')
    """
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


def safe(value: Any) -> Any:
    """What stands in the page: text from outside without control characters, and not longer than one wants to read.

    >>> safe("a\\x1b[2J"), safe(Markup("<b>\\x1b")), safe(5)
    ('a\\\\x1b[2J', Markup('<b>\\x1b'), 5)
    """
    return shown(value, MOST) if isinstance(value, str) and not isinstance(value, Markup) else value


def safe_lines(text: str) -> Markup:
    """The same of text of several lines, such as JSON that is copied: whole, and its lines stay."""
    return escape(shown_lines(text))


def safe_texts(value: Any) -> Any:
    """A figure's JSON with all its texts so."""
    if isinstance(value, str):
        return shown_lines(value)
    if isinstance(value, dict):
        return {safe_texts(key): safe_texts(each) for key, each in value.items()}
    if isinstance(value, list) and not all(isinstance(each, int | float) for each in value):
        return [safe_texts(each) for each in value]
    return value


def for_script(value: Any) -> Markup:
    """JSON that may stand inside a script element, whatever is in its texts.

    >>> print(for_script("</script>"))
    "\\u003c/script\\u003e"
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def html_of(run: Run, *, stages: Sequence[str]) -> str:
    """The page as a text."""
    environment = Environment(
        loader=PackageLoader("mneme.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=safe,
    )
    environment.filters |= {
        "duration": duration,
        "text": charts.text_of,
        "sentence": sentence,
        "lines": safe_lines,
        "at_most": lambda text, count: at_most(count, str(text)),
    }
    folder = Path(__file__).parent
    studied, fronts, rows = charts.chosen(run), charts.fronts(run), _rows(run)
    data = {"figures": _figures(run, studied, fronts), "trials": _trial_texts(run)}
    return environment.get_template("page.html").render(
        style=Markup((folder / "page.css").read_text()),
        script=Markup((folder / "page.js").read_text()),
        plotly=Markup(get_plotlyjs().replace("</script", "<\\/script")),
        data=for_script(safe_texts(data)),
        run=run,
        about=_about(run),
        answer=_answer(run),
        rows=rows,
        measured=sum(row["trial"] is not None for row in rows),
        counted=_counted(run.points, "trial") if run.points else _counted(len(run.trials), "configuration"),
        number_of=_counted,
        counts=_counts(run),
        over=_over(run),
        quantities=[
            (key, name, unit)
            for key, name, unit in QUANTITIES
            if any(run.line_of(trial).quantity(key) for trial in run.right)
        ],
        quantity=quantity,
        slices=[parameter.name for parameter in studied],
        fronts=list(fronts),
        thinning=charts.thinning(run),
        failures=_failures(run),
        never_right=never_right(run.studied, run.trials) if run.right else [],
        code=[_code(comparison) for comparison in code.compare(run, stages)],
        now=datetime.datetime.now().astimezone(),
        version=version,
    )


def _about(run: Run) -> dict[str, Any]:
    """What was tuned: from the database where it is still there, else what the results say."""
    told = code.show(run)
    lines = (*run.baselines, *map(run.line_of, run.right))
    first = next((line.instances()[0] for line in lines if line.result), {})
    names = [str(name) for name in run.about.get("instances") or []]
    recorded: Mapping[str, Any] = next(
        (each for each in told.get("instances", []) if each.get("dynamic_hash") in names[:1]), {}
    )
    launch = recorded or first
    kernel = str(told.get("demangled") or run.asked.get("kernel") or run.about.get("static_hash", "a kernel"))
    return {
        "kernel": kernel,
        "name": shown(kernel.split("(")[0], _LONGEST_NAME),
        "grid": shape(launch.get("grid")),
        "block": shape(launch.get("block")),
        "shared": launch.get("dynamic_shared_memory") or 0,
        "device": first.get("device") or str(run.about.get("device", "?")),
        "device_kind": first.get("device_kind") or run.about.get("device", ""),
        "clock": first.get("clock_source") or "",
        "instances": names,
        "weighed": _weighed(run.asked.get("weights")),
        "database": str(run.about.get("database", "?")),
        "static_hash": str(run.about.get("static_hash", "?")),
        "how": ", ".join(str(run.asked[key]) for key in ("sampler", "preset") if run.asked.get(key)),
    }


def _weighed(weights: object) -> str:
    """How the times of several instances are added; empty where they are as they are, or it is not told."""
    if not isinstance(weights, dict) or weights.get("by") != "program" or not isinstance(weights.get("of"), list):
        return ""
    return "weighed as the program launched them, " + " : ".join(f"{one:.3g}" for one in weights["of"])


def _answer(run: Run) -> dict[str, Any] | None:
    """The best configuration against the baseline, and how to have it again; None where nothing is right."""
    best = run.best
    if best is None:
        return None
    file = run.folder / "best.json"
    replay = f"mneme replay {code.launch(run)} --config {shlex.quote(os.path.abspath(file))}"
    explain = f"mneme deploy --explain {shlex.quote(os.path.abspath(run.folder))}"
    baseline, configuration = run.baselines[0] if run.baselines else None, run.line_of(best).configuration
    return {
        "best": best,
        "line": run.line_of(best),
        "speed_up": run.speed_up,
        "is_shown": run.speed_up is not None and run.speed_up.claim != NO_DIFFERENCE,
        "baseline": baseline,
        "explain": explain if file.is_file() else "",
        "replay": replay if file.is_file() else "",
        "json": _json(configuration, indent=2),
        "changes": run.changes(flatten(baseline.configuration if baseline else {}), flatten(configuration)),
        "to_the_byte": not any(result.get("tolerances") for result in run.line_of(best).instances()),
        "drift": _drift(run),
        "few_rounds": 0 < len(run.rounds) < LEAST_ROUNDS,
    }


def _drift(run: Run) -> float:
    """By how much the baseline at the begin and at the end differ, as a part of the smaller."""
    medians = [line.time for line in run.baselines if line.time and "round" not in line.label]
    return max(medians) / min(medians) - 1 if medians else 0.0


def _rows(run: Run) -> list[dict[str, Any]]:
    """The best where it is confirmed, the launch as recorded, then the fastest by what only the search has measured.

    What shares another's measurement is counted with it.
    """
    alike: dict[str, int] = {}
    for trial in run.right:
        alike[trial.shared_with or trial.digest] = alike.get(trial.shared_with or trial.digest, 0) + 1
    leaders = [trial for trial in run.right if trial.shared_with in (None, trial.digest)]
    best = run.best
    if best and best not in leaders:
        leaders.append(best)
    leaders.sort(key=lambda trial: trial.time or 0.0)
    found = run.speed_up if run.is_confirmed else None
    rows = []
    if found and best and not run.is_recorded(best):
        leaders.remove(best)
        interval = f"{found.low:.3f} to {found.high:.3f}"
        rows.append(_row(run.line_of(best), best, run.best_time, found.value, interval, 3))
    recorded = next((trial for trial in leaders if run.is_recorded(trial)), None)
    if run.baseline is not None:
        line = run.line_of(recorded) if recorded else run.baselines[0]
        rows.append(_row(line, recorded, run.baseline, 1.0, "as recorded"))
    for trial in leaders:
        if run.baseline is None or not run.is_recorded(trial):
            rows.append(_row(run.line_of(trial), trial, trial.time, run.speed_up_of(trial)))
    ranks = itertools.count(1)
    for row in rows:
        row["rank"] = None if row["interval"] == "as recorded" and row["trial"] != best else next(ranks)
        row["alike"] = max(0, alike.get(row["line"].digest, 1) - 1)
    return rows[:MOST_ROWS]


def _row(
    line: LogLine,
    trial: Trial | None,
    time: float | None,
    speed_up: float | None,
    interval: str = "not confirmed",
    digits: int = 2,
) -> dict[str, Any]:
    """Of the table of the fastest; `trial`: None of a line that is none of the search."""
    return {
        "line": line,
        "trial": trial,
        "params": trial.params if trial else {},
        "time": time,
        "speed_up": "–" if speed_up is None else f"{speed_up:.{digits}f}",
        "interval": interval,
        "json": _json(line.configuration),
    }


def _json(value: Mapping[str, Any], indent: int | None = None) -> str:
    """In its own letters, where all of them are some."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def _counts(run: Run) -> str:
    """How many were tried, and what became of them."""
    shared = sum(trial.origin == "shared" for trial in run.right)
    failed = len(run.trials) - len(run.right) - len(run.given_up)
    parts = [
        (len(run.right) - shared, "measured"),
        (shared, "shared another's measurement"),
        (len(run.given_up), "given up"),
        (failed, "failed"),
    ]
    trials = f"{_counted(run.points, 'trial')} of " if run.points else ""
    said = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f"{trials}{_counted(len(run.trials), 'configuration')}: {said or 'none done'}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _over(run: Run) -> str:
    """What the speed-ups of the table of the fastest are over."""
    times = sorted({baseline for trial in run.right if (baseline := run.baseline_of(trial))})
    if len(times) < 2:
        return f"the launch as recorded, {duration(run.baseline)}" if run.baseline else ""
    several = f"{duration(times[0])} to {duration(times[-1])}"
    return f"the launch as recorded in the run that measured each, {several}, as in the table of mneme tune"


def _failures(run: Run) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "count": len(trials), "reason": trials[0].reason, "example": _short(run, trials[0])}
        for kind, trials in run.failures.items()
    ]


def _short(run: Run, trial: Trial) -> str:
    return ", ".join(f"{each.name} = {charts.text_of(trial.params[each.name])}" for each in run.columns)


def _figures(run: Run, studied: Sequence[Factor], fronts: Mapping[str, go.Figure]) -> dict[str, Any]:
    """All charts by the id of their place in the page."""
    figures: dict[str, go.Figure] = {}
    if run.right:
        figures["progress"] = charts.best_so_far(run)
    if studied:
        figures["importance"] = charts.importances(importance(studied, run.timed))
        figures["parallel"] = charts.parallel(run, studied[: charts.MOST_PARAMETERS - 1])
        figures |= {f"slice-{index}": charts.slices(run, parameter) for index, parameter in enumerate(studied)}
    figures |= {f"front-{index}": figure for index, figure in enumerate(fronts.values())}
    if run.failures:
        figures["failures"] = charts.failures(run)
    return {name: json.loads(figure.to_json()) for name, figure in figures.items()}


def _trial_texts(run: Run) -> dict[int, str]:
    """What hovering over a trial says, escaped for Plotly, which takes some HTML."""
    texts = {}
    order = [parameter.name for parameter in run.columns][:8]
    for trial in run.trials:
        failure = {FAILED: trial.failure or "", PRUNED: "given up"}.get(trial.state)
        says = f"<b>{duration(trial.time) if failure is None else charts.plain(failure)}</b>"
        values = [
            f"{charts.plain(at_most(30, name))}: {charts.plain(at_most(44, charts.text_of(trial.params[name])))}"
            for name in order
        ]
        texts[trial.number] = "<br>".join([f"{says}  (no. {trial.number})", *values])
    return texts


def _code(comparison: code.Comparison) -> dict[str, Any]:
    hunks = []
    for hunk in comparison.hunks:
        coloured = highlight.lines(comparison.language, [line.text for line in hunk])
        hunks.append(list(zip(hunk, coloured, strict=True)))
    return {"of": comparison, "hunks": hunks}
