"""The report: what it reads and refuses, what it claims, and the page in a browser."""

from __future__ import annotations

import contextlib
import html
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mneme import errors, report
from mneme.report import code, command
from mneme.results.factors import Factor
from mneme.results.importance import importance, never_right
from mneme.results.run import read
from mneme.results.statistics import SpeedUp, speed_up
from mneme.results.trials import COMPLETE, FAILED, PRUNED, Trial

CORPUS = Path(__file__).parents[1] / "corpora" / "1.1"
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
HOSTILE = (
    "</script><script>window.taken = 1</script><img src='http://127.0.0.1:9/' onerror='window.taken = 1'>{{ 7 * 7 }}"
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of a recorded kernel on the CPU device, with a failure."""
    folder = tmp_path_factory.mktemp("swept")
    kernel = next(CORPUS.glob("[0-9a-f]*.json"))
    plugin = os.environ.get("MNEME_TEST_HOSTILE_PLUGIN")
    if not plugin:
        pytest.skip("MNEME_TEST_HOSTILE_PLUGIN names no plugin")
    grid = ["--grid", "block.x=32|64|128|256", "--grid", "passes=default<O1>|function(mem2reg)|function(hostile-crash)"]
    grid += ["--load-pass-plugin", plugin]
    arguments = ["mneme", "sweep", str(kernel), "--device", "cpu", "--iterations", "5", "--keep-threads", *grid]
    subprocess.run([*arguments, "--results-dir", str(folder / "results")], check=True, capture_output=True)
    return folder / "results"


def line(number: int, configuration: dict[str, Any], time: float | None, **members: Any) -> str:
    """A line of a log; a configuration without a time has failed."""
    result = (
        {"exec_time": [time * 0.99, time, time * 1.01], "verified": True, "obj_size": 4000 - number} if time else {}
    )
    failure = {"failure": None} if time else {"failure": "wrong_result", "reason": "memory differs"}
    return json.dumps(
        {"configuration": configuration, "digest": f"{number:032x}", "result": result, **failure, **members}
    )


def made(folder: Path, lines: list[str], about: dict[str, Any] | None = None) -> Path:
    """A folder of results with these lines."""
    folder.mkdir(exist_ok=True)
    begin = json.dumps(
        {"mneme_log": 1, "about": about or {"database": "/nowhere", "static_hash": "5be9", "instances": ["2a9e"]}}
    )
    (folder / "results.jsonl").write_text("".join(f"{each}\n" for each in [begin, *lines]))
    return folder


def baselines(time: float) -> list[str]:
    """The baseline at the begin and at the end."""
    labels = ("baseline at the begin", "baseline at the end")
    return [line(900 + index, {"passes": "default<O3>"}, time, label=label) for index, label in enumerate(labels)]


# What is read


def test_a_sweep_is_read(swept: Path) -> None:
    run = read(swept)
    assert len(run.trials) == 12
    assert len(run.baselines) == 2
    assert [(each.name, each.is_number, len(each.values)) for each in run.factors] == [
        ("block.x", True, 4),
        ("passes", False, 3),
    ]
    assert list(run.failures) == ["compile_error", "invalid_launch"]
    assert run.best is not None
    best = run.line_of(run.best)
    assert best.configuration == json.loads((swept / "best.json").read_text())["configuration"]
    assert best.quantity("obj_size") == run.best.object_size != 0


def test_the_last_line_of_a_digest_holds_and_a_cut_one_is_left_out(tmp_path: Path) -> None:
    made(tmp_path, [line(1, {"passes": "a"}, None), line(2, {"passes": "b"}, 20.0), line(1, {"passes": "a"}, 10.0)])
    with (tmp_path / "results.jsonl").open("a") as log:
        log.write('{"configuration": {"pas')
    assert [(trial.number, trial.time) for trial in read(tmp_path).trials] == [(1, 10.0), (2, 20.0)]


def test_what_a_configuration_leaves_out_is_as_recorded(tmp_path: Path) -> None:
    shape = {"block": {"x": 256, "y": 1, "z": 1}, "exec_time": [9.0]}
    first = line(9, {"passes": "default<O3>"}, 9.0, label="baseline at the begin", result=shape)
    run = read(
        made(tmp_path, [first, line(1, {"block": {"x": 64}}, 5.0), line(2, {"specialise": {"dimensions": True}}, 6.0)])
    )
    assert [trial.params for trial in run.trials] == [
        {"block.x": 64, "specialise.dimensions": False},
        {"block.x": 256, "specialise.dimensions": True},
    ]


def tuned(folder: Path) -> Path:
    """What `mneme tune` leaves: points of its space, a trial that was given up, rounds of the winner."""
    configurations = [{"passes": f"default<O{number % 4}>", "block": {"x": 32 << number % 3}} for number in range(12)]
    times = [20.0 - number for number in range(11)]
    lines = [line(number, configurations[number], time) for number, time in enumerate(times)]
    slow = {"exec_time": [99.0, 99.0]}
    lines.append(line(11, configurations[11], None, failure="cancelled", reason="given up", result=slow))
    for number in range(5):
        lines.append(line(900, {"passes": "default<O3>"}, 23.0 + number, label=f"baseline, round {number + 1}"))
        lines.append(line(10, configurations[10], 11.0 + number, label=f"best, round {number + 1}"))
    made(folder, [*baselines(20.0), *lines])
    points = [
        {
            "digest": f"{number:032x}",
            "params": {"passes": ["sroa", "gvn"][: 1 + number % 2], "block.x": 32 << number % 3},
        }
        for number in range(12)
    ]
    (folder / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    best = {
        "configuration": configurations[10],
        "time": 10.0,
        "speed_up": 1.9,
        "interval": [1.8, 2.0],
        "claim": "faster",
    }
    (folder / "best.json").write_text(json.dumps(best))
    (folder / "summary.json").write_text(json.dumps({"remarks": ["the baseline took 6 % longer at one end"]}))
    (folder / "tune.json").write_text(json.dumps({"kernel": "vadd(int)", "sampler": "tpe", "preset": "full"}))
    return folder


def test_a_tuning_run_is_read(tmp_path: Path) -> None:
    run = read(tuned(tmp_path))
    assert (run.command, len(run.trials), len(run.right), len(run.given_up), run.failures) == ("tune", 12, 11, 1, {})
    assert run.trials[1].params == {"passes": "sroa,gvn", "block.x": 64}
    assert run.speed_up == SpeedUp(1.9, 1.8, 2.0, confidence=0.95, rounds=5)
    assert (run.baseline, run.best_time, len(run.rounds)) == (25.0, 13.0, 5)
    page = report.write(tmp_path).read_text()
    assert "12 trials of 12 configurations: 11 measured, 1 given up; by <code>mneme tune</code> (tpe, full)" in page
    assert "Both were measured anew, in turn, 5 times: speed-up and times here are of that." in page
    assert "vadd(int)" in page
    assert "The baseline took 6 % longer at one end." in page


def test_many_pipelines_are_told_apart_by_their_passes(tmp_path: Path) -> None:
    pipelines = [f"function({'gvn,' if number < 20 else ''}{'dce,' * (number % 10)}sroa)" for number in range(40)]
    run = read(made(tmp_path, [line(number, {"passes": each}, 9.0) for number, each in enumerate(pipelines)]))
    assert [factor.name for factor in run.columns] == ["passes"]
    assert [factor.name for factor in run.studied] == ["passes: length", "passes: dce", "passes: gvn"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        errors.NotFoundError, match=r"has no results\.jsonl; give the folder that `mneme tune` or `mneme sweep` named"
    ):
        report.write(tmp_path)
    log = tmp_path / "results.jsonl"
    log.write_text("{}\n")
    with pytest.raises(errors.CorruptError, match="does not begin with the line of a log of version 1"):
        report.write(tmp_path)
    made(tmp_path, ["not json"])
    with pytest.raises(errors.CorruptError, match=r"results\.jsonl, line 2 is not JSON"):
        report.write(tmp_path)
    made(tmp_path, ["[]"])
    with pytest.raises(errors.CorruptError, match=r"results\.jsonl, line 2 is not a JSON object"):
        report.write(tmp_path)
    for wrong in ({"configuration": 1}, {"digest": 1}, {"result": [1]}, {"result": "x"}):
        made(tmp_path, [json.dumps({"configuration": {}, "digest": "1", "result": {}} | wrong)])
        with pytest.raises(errors.CorruptError, match=r"results\.jsonl, line 2 is not a result"):
            report.write(tmp_path)
    made(tmp_path, [])
    (tmp_path / "best.json").write_text("{")
    with pytest.raises(errors.CorruptError, match=r"best\.json is not JSON"):
        report.write(tmp_path)
    (tmp_path / "best.json").unlink()
    with pytest.raises(errors.IoError, match=r"writing a report: /nowhere/page\.html: No such file or directory"):
        report.write(tmp_path, "/nowhere/page.html")


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a": ' + "[" * 65 + "]" * 65 + "}"])
@pytest.mark.parametrize("name", ["results.jsonl", "trials.jsonl", "sweep.json", "best.json", "summary.json"])
def test_json_that_is_nested_too_deep_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, deep: str
) -> None:
    folder = made(tmp_path, baselines(20.0))
    (folder / name).write_text(deep + "\n")
    assert command.main([str(folder)]) == 2
    place = f"{name}, line 1" if name.endswith("l") else name
    assert capsys.readouterr().err == (
        f"mneme: reading results: {folder}/{place} is not JSON: it is nested deeper than 64\n"
    )


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([{"a": 1}], """have numbers, not {"a": 1}"""),
        ([[]], "have numbers, not []"),
        ([1.5, "x\x1b"], r'''have numbers, not "x\u001b"'''),
        ([True], "have numbers, not true"),
        ([10**400], f"have numbers, not 1{'0' * 76}..."),
        ({"a": "b" * 5000}, f'''be a list, not {{"a": "{"b" * 70}...'''),
    ],
)
def test_times_that_are_no_numbers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: Any, told: str
) -> None:
    folder = made(tmp_path, [*baselines(20.0), line(0, {"block": {"x": 64}}, 9.0, result={"exec_time": times})])
    assert command.main([str(folder)]) == 2
    place = f"{folder}/results.jsonl, line 4"
    assert capsys.readouterr().err == f"mneme: reading results: {place} is not a result: its 'exec_time' must {told}\n"


@pytest.mark.parametrize("interval", [["x", 2], [1, []], [1], {"low": 1}, 3, False, [1, 10**400]])
def test_an_interval_that_is_no_numbers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], interval: Any
) -> None:
    folder = made(tmp_path, baselines(20.0))
    (folder / "best.json").write_text(json.dumps({"speed_up": 1.5, "interval": interval}))
    assert command.main([str(folder)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"mneme: reading results: {folder}/best.json: 'interval' must be two numbers, not ")
    assert len(told) < len(str(folder)) + 200


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mneme.report.page", raising=False)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(
        errors.UnavailableError,
        match=r"it needs plotly.*; pip install plotly jinja2 pygments, the extra 'report' of Mneme",
    ):
        report.write(made(tmp_path, []))


# What is claimed


def test_what_was_measured_once_has_no_interval(tmp_path: Path) -> None:
    lines = [line(0, {"block": {"x": 32}}, 10.0), line(1, {"block": {"x": 64}}, 12.0)]
    folder = made(tmp_path, [*baselines(20.0), *lines])
    run = read(folder)
    assert run.speed_up == SpeedUp(2.0, 0.0, math.inf, confidence=0.95, rounds=0) and not run.is_confirmed
    page = report.write(folder, stages=[]).read_text()
    assert "2.00<small>\u00d7 as fast in the search: not confirmed" in page
    assert 'class="interval">95 %' not in page


@pytest.mark.parametrize(("rounds", "confirmed"), [(4, False), (5, True)])
def test_rounds_in_the_log_are_told_as_the_command_tells_them(tmp_path: Path, rounds: int, confirmed: bool) -> None:
    before, after = [20.0, 21.0, 20.5, 19.5, 20.0][:rounds], [10.0, 10.5, 10.0, 9.5, 10.2][:rounds]
    lines = [line(0, {"block": {"x": 32}}, 10.0)]
    for number, (slow, fast) in enumerate(zip(before, after, strict=True), 1):
        lines.append(line(900, {"passes": "default<O3>"}, slow, label=f"baseline, round {number}"))
        lines.append(line(0, {"block": {"x": 32}}, fast, label=f"best, round {number}"))
    run = read(made(tmp_path, [*baselines(20.0), *lines]))
    assert run.is_confirmed == confirmed
    assert run.speed_up_in_turn == (speed_up(before, after) if confirmed else None)


def trial(number: int, time: float | None, shared_with: str = "", **params: Any) -> Trial:
    state, failure = (COMPLETE, None) if time else (FAILED, "wrong_result")
    return Trial(
        number, params, state=state, time=time, failure=failure, shared_with=shared_with or None, digest=str(number)
    )


def test_importance_finds_what_matters() -> None:
    trials = [trial(number, 100.0 * (1 + number % 4), a=number % 4, b=number % 5, c=number) for number in range(40)]
    factors = [Factor("b", tuple(range(5))), Factor("a", tuple(range(4))), Factor("c", tuple(range(40)))]
    found = importance(factors, trials)
    assert next(iter(found)) == "a"
    assert found["a"] == pytest.approx(1.0)
    assert found["b"] < 0.1 and found["c"] < 0.2


def test_importances_add_up() -> None:
    # b is a by another name, and c is so in part: by themselves they explain 100, 100 and about 70 %.
    trials = [
        trial(number, 100.0 * (1 + number % 4), a=number % 4, b=f"block {number % 4}", c=number % 4 // 2, d=number % 3)
        for number in range(48)
    ]
    factors = [Factor("c", (0, 1)), Factor("a", tuple(range(4))), Factor("d", tuple(range(3)))]
    factors.append(Factor("b", tuple(f"block {number}" for number in range(4))))
    found = importance(factors, trials)
    assert sum(found.values()) == pytest.approx(1.0) and set(found) == {"a", "b", "c", "d"}
    assert found["a"] + found["b"] + found["c"] > 0.99 and found["d"] == 0.0
    noisy = [trial(number, 100.0 + number % 4 + number * 7 % 13, a=number % 4, d=number % 13) for number in range(52)]
    both = importance([Factor("a", tuple(range(4))), Factor("d", tuple(range(13)))], noisy)
    assert both["a"] > 0 and both["d"] > 0 and both["a"] + both["d"] <= 1


def test_importance_is_none_where_there_is_too_little_to_tell() -> None:
    factor = Factor("a", (1, 2))
    assert importance([factor], []) == {"a": 0.0}
    assert importance([factor], [trial(1, 5.0, a=1), trial(2, 9.0, a=2)]) == {"a": 0.0}
    # Many that share two measurements are two.
    shared = [trial(number, 5.0 + number % 2, f"{number % 2}", a=number % 2) for number in range(30)]
    assert importance([factor], shared) == {"a": 0.0}


def test_values_that_are_never_right_are_found() -> None:
    trials = [trial(number, None if number % 2 else 5.0, a=number % 2) for number in range(8)]
    assert never_right([Factor("a", (0, 1))], trials) == [("a", 1, 4)]
    assert never_right([Factor("a", (0, 1))], trials[:4]) == []
    # What was given up as slower was right as far as it came.
    given_up = [replace(each, state=PRUNED, failure=None, time=9.0) if each.failure else each for each in trials]
    assert never_right([Factor("a", (0, 1))], given_up) == []


# The code


def test_numbers_that_a_compiler_counts_up_are_not_compared() -> None:
    old = ["  %3 = load float, ptr %2, !tbaa !5", "  %4 = fmul float %3, %3", "  ret void"]
    new = ["  %9 = load float, ptr %8, !tbaa !7", "  %10 = fadd float %9, %9", "  ret void", "!7 = !{}"]
    found = code.difference("optimised", "llvm", old, new)
    assert [(each.kind, each.text.strip()) for each in found.hunks[0]] == [
        ("same", new[0].strip()),
        ("gone", old[1].strip()),
        ("new", new[1].strip()),
        ("same", "ret void"),
    ]
    assert found.counts == (("fadd", 0, 1), ("fmul", 1, 0))


@pytest.mark.parametrize(
    ("stage", "text", "language"),
    [
        ("asm", ".version 8.0\n.target sm_90\n", "ptx"),
        ("asm", "\tmovl\t%eax, %ebx\n", "asm"),
        ("optimised", "define", "llvm"),
    ],
)
def test_the_language_of_a_stage(stage: str, text: str, language: str) -> None:
    assert code.language_of(stage, text) == language


def test_a_text_too_long_to_compare_says_so() -> None:
    found = code.difference("asm", "asm", ["\tnop"] * (code.MOST_LINES + 1), ["\tnop"])
    assert found.problem == "30,001 lines are too many to compare here"


def test_a_long_difference_is_cut() -> None:
    found = code.difference("asm", "asm", [f"\tadd {number}" for number in range(4000)], ["\tret"])
    assert sum(map(len, found.hunks)) == code.MOST_SHOWN
    assert found.problem == "1,001 more lines of what differs are left out here"


# The page


def test_the_page_of_a_sweep(swept: Path) -> None:
    path = report.write(swept)
    assert path == swept / "report.html"
    page = path.read_text()
    assert "scale(int*, int, int)" in page
    assert f"--config {swept / 'best.json'}" in page
    assert "LLVM IR" in page and "Assembly" in page
    assert 'class="gone"' in page
    assert "the compiler crashed: its process ended by signal 11" in page
    assert page.count("plotly.js v") == 1


def test_the_page_counts_and_divides_as_the_table_of_the_run(tmp_path: Path) -> None:
    configurations = [{"block": {"x": 32 << number}} for number in range(5)]
    lines = [line(number, configurations[number], 10.0 + number) for number in range(3)]
    lines.append(line(3, configurations[3], 10.0, origin="shared", shared_with=f"{0:032x}"))
    lines.append(line(4, configurations[4], None))
    for number in range(2):
        lines.append(line(900, {"passes": "default<O3>"}, 15.0, label=f"baseline, round {number + 1}"))
        lines.append(line(0, configurations[0], 10.0, label=f"best, round {number + 1}"))
    folder = made(tmp_path, [*baselines(20.0), *lines])
    tried = [(0, None), (1, 20.0), (1, 20.0), (2, 24.0), (3, 24.0), (4, 24.0)]
    points: list[dict[str, Any]] = [
        {"digest": f"{number:032x}", "params": {}, "baseline": baseline} for number, baseline in tried
    ]
    (folder / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    page = report.write(folder, stages=[]).read_text()
    assert "<title>5be9: report of 6 trials</title>" in page
    assert (
        "6 trials of 5 configurations: 3 measured, 1 shared another&#39;s measurement, 1 failed; by <code>mneme sweep"
        in page
    )
    assert "over the launch as recorded in the run that measured each, 15 ns to 24 ns, as in the table" not in page
    assert "over the launch as recorded in the run that measured each, 20 ns to 24 ns, as in the table" in page
    assert "the dashed line is the baseline as it was measured in turn with the best." in page
    assert "only 2 times: that proves nothing." in page
    assert shown_rows(page) == [
        ("\u2013", "15 ns", "1.00", "as recorded"),
        ("1", "10 ns", f"{20 / 10:.2f}", "not confirmed"),
        ("2", "11 ns", f"{20 / 11:.2f}", "not confirmed"),
        ("3", "12 ns", f"{24 / 12:.2f}", "not confirmed"),
    ]


def test_the_baseline_of_the_best_is_that_of_its_own_rounds(tmp_path: Path) -> None:
    lines = [line(number, {"block": {"x": 32 << number}}, 10.0 + number) for number in range(2)]
    # The first could not be confirmed: it was wrong in the last of its rounds.
    for number in range(2):
        lines.append(line(900, {}, 90.0, label=f"baseline, round {number + 1}"))
        time = 10.0 if number == 0 else None
        lines.append(line(0, {"block": {"x": 32}}, time, label=f"best, round {number + 1}"))
    for number in range(2):
        lines.append(line(900, {}, 15.0, label=f"baseline, round {number + 1}"))
        lines.append(line(1, {"block": {"x": 64}}, 12.0, label=f"best, round {number + 1}"))
    folder = made(tmp_path, lines)
    (folder / "best.json").write_text(json.dumps({"configuration": {"block": {"x": 64}}}))
    run = read(folder)
    assert (run.baseline, run.best_time) == (15.0, 12.0)
    assert [(baseline.time, best.time) for baseline, best in run.rounds] == [(15.0, 12.0)] * 2


def shown_rows(page: str) -> list[tuple[str, ...]]:
    """Rank, time, speed-up and interval of each row of the table of the fastest."""
    row = r'<td>([^<]*)</td><td data-value="[^"]*">([^<]*)</td>\s*<td>([^<]*)</td><td class="text said">([^<]*)</td>'
    return re.findall(row, page)


def test_the_page_has_what_is_confirmed_first_and_marks_the_others(tmp_path: Path) -> None:
    rows = shown_rows(report.write(tuned(tmp_path), stages=[]).read_text())
    assert rows[:3] == [
        ("1", "13 ns", "1.900", "1.800 to 2.000"),
        ("\u2013", "25 ns", "1.00", "as recorded"),
        ("2", "11 ns", f"{25 / 11:.2f}", "not confirmed"),
    ]
    assert len(rows) == 12 and {row[3] for row in rows[2:]} == {"not confirmed"}


@pytest.mark.parametrize(
    ("rounds", "said"),
    [(4, "1.50<small>\u00d7 as fast in the search: not confirmed"), (5, "1.50<small>\u00d7 as fast<")],
)
def test_fewer_rounds_than_five_confirm_nothing(tmp_path: Path, rounds: int, said: str) -> None:
    lines = [line(0, {"block": {"x": 32}}, 10.0)]
    for number in range(rounds):
        lines.append(line(900, {"passes": "default<O3>"}, 15.0, label=f"baseline, round {number + 1}"))
        lines.append(line(0, {"block": {"x": 32}}, 10.0, label=f"best, round {number + 1}"))
    folder = made(tmp_path, [*baselines(15.0), *lines])
    best = {"configuration": {"block": {"x": 32}}, "speed_up": 1.5, "interval": [1.4, 1.6], "claim": "faster"}
    (folder / "best.json").write_text(json.dumps(best))
    page = report.write(folder, stages=[]).read_text()
    assert said in page and ("proves nothing" in page) == (rounds < 5)


def test_the_recorded_launch_among_the_trials_is_one_row(tmp_path: Path) -> None:
    lines = [line(0, {"passes": "default<O3>"}, 10.0), line(1, {"passes": "default<O3>", "block": {"x": 64}}, 5.0)]
    rows = shown_rows(report.write(made(tmp_path, [*baselines(20.0), *lines]), stages=[]).read_text())
    assert rows == [("\u2013", "20 ns", "1.00", "as recorded"), ("1", "5 ns", "4.00", "not confirmed")]
    (tmp_path / "best.json").write_text(json.dumps({"configuration": {"passes": "default<O3>"}}))
    rows = shown_rows(report.write(tmp_path, stages=[]).read_text())
    assert rows == [("1", "20 ns", "1.00", "as recorded"), ("2", "5 ns", "4.00", "not confirmed")]


@pytest.mark.parametrize("trials", [0, 1])
def test_one_configuration_is_one(tmp_path: Path, trials: int) -> None:
    folder = made(tmp_path, [line(0, {"passes": "default<O1>"}, 10.0)])
    if trials:
        (folder / "trials.jsonl").write_text('{"number": 0}\n')
    page = report.write(folder).read_text()
    assert f"{'1 trial of ' if trials else ''}1 configuration: 1 measured" in page
    assert f"report of 1 {'trial' if trials else 'configuration'}</title>" in page
    assert "1 measured configuration; a click" in page
    wrong = report.write(made(tmp_path, [line(0, {}, None)])).read_text()
    assert "Of 1 configuration none ran" in wrong and "1 of 1 configuration failed" in wrong


def test_a_database_that_is_gone_is_told(tmp_path: Path) -> None:
    made(tmp_path, [*baselines(20.0), line(1, {"passes": "a"}, 10.0), line(2, {"passes": "b"}, 12.0)])
    page = report.write(tmp_path).read_text()
    assert "/nowhere/5be9.json is not there any more, and the code is made from it" in page


def test_a_database_that_lies_elsewhere_is_named(swept: Path, recordings: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(swept, tmp_path / "results"))
    log = folder / "results.jsonl"
    log.write_text(log.read_text().replace(str(CORPUS), "/nowhere"))
    assert "is not there any more" in report.write(folder).read_text()
    page = report.write(folder, database=recordings, stages=["asm"]).read_text()
    assert "is not there any more" not in page and "scale(int*, int, int)" in page and "Assembly" in page


def test_where_nothing_is_right(tmp_path: Path) -> None:
    page = report.write(made(tmp_path, [line(1, {"passes": "a"}, None)])).read_text()
    assert "nothing is right" in page and "memory differs" in page


def test_a_gain_inside_the_noise_is_none(tmp_path: Path) -> None:
    lines = [*baselines(10.0), line(1, {"passes": "a"}, 9.99)]
    for number, time in enumerate([10.1, 9.9, 10.0, 10.2, 9.8], 1):
        lines.append(line(900, {"passes": "default<O3>"}, 10.0, label=f"baseline, round {number}"))
        lines.append(line(1, {"passes": "a"}, time, label=f"best, round {number}"))
    page = report.write(made(tmp_path, lines)).read_text()
    assert "no gain shown" in page and "within the noise" in page


def hostile(folder: Path) -> Path:
    """Results in which every text is an attack."""
    lines = baselines(20.0) + [
        line(number, {"passes": HOSTILE + "x" * (number % 3), "block": {"x": 32 * (1 + number % 4)}}, 10.0 + number)
        for number in range(12)
    ]
    failed = line(50, {"passes": HOSTILE}, None, failure=HOSTILE, reason=HOSTILE)
    return made(
        folder,
        [*lines, failed],
        {"database": HOSTILE, "static_hash": HOSTILE, "instances": [HOSTILE], "device": HOSTILE},
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("there is no chromium-headless-shell here: scripts/install-packages installs it")
    from playwright.sync_api import sync_playwright

    # The parallel plot is drawn by WebGL, in software here; and no name resolves.
    arguments = [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--no-sandbox",
    ]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield opened
        opened.close()


@contextlib.contextmanager
def opened(browser: Any, page: Path) -> Iterator[Any]:
    """The page in a tab; afterwards nothing else must have been requested, and no error told."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(100_000)
    wrong: list[str] = []
    requests: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_function(
        "[...document.querySelectorAll('[data-figure]')].every((each) => each.querySelector('.main-svg'))"
    )
    yield tab
    assert wrong == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [page.as_uri()]
    tab.close()


def test_the_page_in_a_browser(browser: Any, swept: Path) -> None:
    page = report.write(swept)
    with opened(browser, page) as tab:
        assert tab.locator("[data-figure]").count() >= 6
        for width, scheme, paper in (
            (1280, "light", "246, 247, 249"),
            (1280, "dark", "16, 19, 23"),
            (390, "dark", "16, 19, 23"),
        ):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme=scheme)
            assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({paper})"
            # A chart that is redrawn for the width fits in its card.
            tab.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
            picture = page.with_name(f"{scheme}-{width}.png")
            assert len(tab.screenshot(full_page=True, path=picture)) > 50_000
        assert tab.locator("#table tbody tr").first.locator("td").all_text_contents()[2:4] == ["1.00", "as recorded"]
        ranks = tab.locator("#table tbody tr:not(:has-text('as recorded')) td:first-child")
        assert ranks.all_text_contents() == sorted(ranks.all_text_contents(), key=int)
        tab.click("#table th:first-child")
        tab.click("#table th:first-child")
        assert ranks.all_text_contents() == sorted(ranks.all_text_contents(), key=int, reverse=True)
        tab.click(".answer [data-copy] >> nth=0")
        tab.wait_for_selector(".answer [data-copy]:text('copied')")
        tab.click("#theme")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"


def test_hostile_texts_are_only_texts(browser: Any, tmp_path: Path) -> None:
    page = report.write(hostile(tmp_path))
    with opened(browser, page) as tab:
        assert HOSTILE in tab.locator("body").text_content()
        tab.hover(".chart[data-figure='progress'] .points path >> nth=0", force=True)
        assert tab.evaluate("window.taken") is None
        assert tab.locator("img").count() == 0


def test_texts_of_files_are_shown_without_control_characters(tmp_path: Path) -> None:
    evil = "\x1b]0;taken\x07\u202egnp.\ud800\x9b2J\nVerified"
    configuration = {"passes": evil + "x" * 5000, "block": {"x": 64}}
    lines = [*baselines(20.0), line(0, configuration, 10.0), line(1, {"passes": evil, "block": {"x": 32}}, 11.0)]
    lines.append(line(2, {"passes": "a"}, None, failure=evil, reason=evil + "y" * 5000))
    about = {"database": evil, "static_hash": evil, "instances": [evil], "device": evil}
    folder = made(tmp_path, lines, about)
    (folder / "tune.json").write_text(json.dumps({"kernel": f"{evil}{'k' * 5000}(int)", "sampler": evil}))
    (folder / "summary.json").write_text(json.dumps({"remarks": [evil]}))
    (folder / "best.json").write_text(json.dumps({"configuration": configuration}))
    page = report.write(folder).read_text(encoding="utf-8")
    ours, data = page.split("<script", 1)[0], re.findall('id="data">(.*?)</script>', page, re.S)[0]
    control = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]"
    assert not re.search(control, ours) and not re.search(control, data)
    assert "u001b" not in data and "x1b]0;taken" in data
    assert r"\x1b]0;taken\x07\u202egnp.\xed\xa0\x80\u009b2J\nVerified" in ours
    assert "k" * 121 not in re.findall("<title>(.*?)</title>", ours)[0] and "y" * 2001 not in ours
    copied = [json.loads(html.unescape(text)) for text in re.findall(r'data-copy="([^"]+)"', ours)]
    assert configuration in copied


def test_the_commands_errors_are_shown_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path / "a\x1b[2J\u202e")]) == 2
    error = capsys.readouterr().err
    assert r"a\x1b[2J\u202e has no results.jsonl" in error and "\x1b" not in error
    folder = made(tmp_path / "b\x1b[2J", [])
    assert command.main([str(folder)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/b\\x1b[2J/report.html\n"


def test_the_page_may_request_nothing(browser: Any, tmp_path: Path) -> None:
    page = report.write(made(tmp_path, []))
    tab = browser.new_page()
    tab.goto(page.as_uri())
    assert tab.evaluate("fetch('http://127.0.0.1:9/').then(() => 'done', () => 'refused')") == "refused"
    violated = """new Promise((done) => {
        document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective), {once: true});
        new Image().src = "http://127.0.0.1:9/x.png";
    })"""
    assert tab.evaluate(violated) == "img-src"
    tab.close()


def explained(folder: Path, **changed: Any) -> None:
    """What `mneme deploy --explain` leaves in it."""
    parts = [
        {"key": "block", "in_source": HOSTILE, "verified": True, "failure": None, "share": 0.75}
        | {"speed_up": {"value": 1.62, "interval": [1.5, 1.75]}},
        {"key": "passes", "in_source": "opt", "verified": False, "failure": "not verified: <3 bytes>", "share": None}
        | {"speed_up": None},
    ]
    best = json.loads((folder / "best.json").read_text())["configuration"]
    one = {"kernel": "vadd(int)", "instance": "2a9e", "device": "CPU", "failure": None, "ingredients": parts}
    said = {"mneme_explained": 1, "configuration": best}
    said["instances"] = [one | {"speed_up": {"value": 1.9, "interval": [1.8, 2.0]}} | changed]
    (folder / "explained.json").write_text(json.dumps(said))


def test_what_the_best_configuration_is_made_of_is_shown(tmp_path: Path) -> None:
    folder = tuned(tmp_path)
    before = report.write(folder, stages=[]).read_text()
    assert "What it is made of" not in before
    assert f"is measured by <code>mneme deploy --explain {folder}</code>" in before
    explained(folder)
    (one,) = read(folder).explained
    assert (one.instance, one.speed_up) == ("2a9e", (1.9, 1.8, 2.0))
    assert [(part.key, part.share, part.failure) for part in one.ingredients] == [
        ("block", 0.75, ""),
        ("passes", None, "not verified: <3 bytes>"),
    ]
    page = report.write(folder, stages=[]).read_text()
    assert "What it is made of" in page
    assert "A report that is made afterwards" not in page
    assert "<td>1.620\u00d7</td><td>1.500 to 1.750</td><td>75 %</td>" in page
    assert "not measured without it: not verified: &lt;3 bytes&gt;" in page
    assert HOSTILE not in page
    explained(folder, failure="the recording is gone", speed_up=None, ingredients=[])
    assert "It could not be measured: The recording is gone." in report.write(folder, stages=[]).read_text()
    # Of another configuration than the present best it says nothing.
    best = json.loads((folder / "best.json").read_text())
    (folder / "best.json").write_text(json.dumps(best | {"configuration": {"passes": "default<O1>"}}))
    assert read(folder).explained == ()


@pytest.mark.parametrize("change", [{"ingredients": 7}, {"speed_up": None}, {"ingredients": [{"key": "block"}]}])
def test_an_explanation_that_cannot_be_read_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = tuned(tmp_path)
    explained(folder, **change)
    with pytest.raises(errors.CorruptError, match=r"explained\.json is not what `mneme deploy --explain` writes"):
        read(folder)


# The command


def test_mneme_report(swept: Path, tmp_path: Path) -> None:
    program = tmp_path / "mneme-report"
    program.write_text(f"#!{sys.executable}\nfrom mneme.report.command import main\nraise SystemExit(main())\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["mneme", "report", *arguments], env=environment, capture_output=True, text=True)

    done = ran(str(swept), "--no-code", "-o", str(tmp_path / "page.html"))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'page.html'}\n")
    assert "LLVM IR" not in (tmp_path / "page.html").read_text()
    refused = ran(str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"mneme: reading results: {tmp_path} has no results.jsonl")
    wrong = ran()
    assert wrong.returncode == 64
    assert "the following arguments are required: RESULTS" in wrong.stderr
    help_text = ran("--help").stdout
    assert help_text.startswith(
        "Writes one self-contained HTML page of what `mneme tune` or `mneme sweep` found.\n\nExamples:\n  # "
    )
    assert "\nusage: mneme report" in help_text
    assert ran("--help-all").stdout == help_text


def test_the_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEME_COMMAND", "/opt/mneme")
    assert code.command() == "/opt/mneme"
    monkeypatch.delenv("MNEME_COMMAND")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(errors.UnavailableError, match="it is not on the PATH; set MNEME_COMMAND to it"):
        code.command()


def test_main_is_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main([str(tmp_path)]) == 2
    assert "has no results.jsonl" in capsys.readouterr().err
