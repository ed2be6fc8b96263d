"""The report's numbers, each as it is made of the results: quantities, shares, fronts, and what charts draw."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mneme.errors import InvalidArgumentError
from mneme.report import charts, code, page
from mneme.results.factors import Factor, Value, at_most, factors_of, flatten
from mneme.results.importance import importance, medians_by_value, never_right
from mneme.results.run import COMPILING, LogLine, Run, read
from mneme.results.statistics import SpeedUp, speed_up
from mneme.results.trials import COMPLETE, FAILED, Trial


def line(number: int, configuration: dict[str, Any], timed: list[float], **members: Any) -> str:
    """A line of a log; `members` that are of its result stand in "result"."""
    failure = members.pop("failure", None)
    outer = {name: members.pop(name) for name in ("label", "origin", "shared_with") if name in members}
    result = {"exec_time": timed, **members}
    return json.dumps(
        {
            "configuration": configuration,
            "digest": f"{number:032x}",
            "failure": failure,
            "reason": "why" if failure else "",
            "result": result,
            **outer,
        }
    )


def run_of(folder: Path, lines: list[str]) -> Run:
    about = {"database": "/nowhere", "static_hash": "5be9", "instances": ["2a9e"]}
    (folder / "results.jsonl").write_text(
        "".join(f"{each}\n" for each in [json.dumps({"mneme_log": 1, "about": about}), *lines])
    )
    return read(folder)


def trial(number: int, time: float | None, **params: Any) -> Trial:
    return Trial(number, params, state=COMPLETE if time else FAILED, time=time, digest=str(number))


def of_result(result: dict[str, Any]) -> LogLine:
    return LogLine({}, "1", "measured", None, "", "", (), result)


def test_a_quantity_of_several_instances_is_the_largest() -> None:
    result = {
        "instances": [
            {"result": {"reg_usage": 30, "occupancy": {"warps": 0.5}, "times": {"codegen": 5.0}}},
            {"result": {"reg_usage": 40, "occupancy": {"warps": 0.25}, "times": {"codegen": 2.0, "assemble": 1.0}}},
            {"result": {}},
            {"failure": "invalid_launch"},
        ]
    }
    found = {key: of_result(result).quantity(key) for key in ("reg_usage", "occupancy.warps", "compile_time", "none")}
    assert found == {"reg_usage": 40, "occupancy.warps": 0.5, "compile_time": 5.0, "none": None}


def test_what_compiling_and_spilling_come_to() -> None:
    times = {stage: 2.0**place for place, stage in enumerate(COMPILING)}
    assert of_result({"times": {**times, "load": 1e6, "verify": 1e6}}).quantity("compile_time") == 2 ** len(times) - 1
    assert of_result({"times": {"load": 1e6}}).quantity("compile_time") is None
    assert of_result({"spill_store_bytes": 8, "spill_load_bytes": 32}).quantity("spills") == 40
    assert of_result({"spill_store_bytes": 0}).quantity("spills") == 0
    assert of_result({}).quantity("spills") is None
    assert of_result({"reg_usage": True}).quantity("reg_usage") is None


@pytest.mark.parametrize("wrong", [None, 3, "x", [], ["x"], [{}], [None], {"codegen": "x"}, True, {"codegen": []}])
@pytest.mark.parametrize("name", ["times", "instances", "spill_store_bytes", "occupancy", "reg_usage"])
def test_what_is_no_number_is_not_known(tmp_path: Path, name: str, wrong: Any) -> None:
    line_of = of_result({"obj_size": 4096, "spill_load_bytes": 8, name: wrong})
    told = {key: line_of.quantity(key) for key, *_ in page.QUANTITIES}
    known = {"obj_size": 4096, "spills": 8} if name != "instances" or not isinstance(wrong, list) or not wrong else {}
    known |= {"reg_usage": 3} if name == "reg_usage" and type(wrong) is int else {}
    known |= {"spills": 11} if name == "spill_store_bytes" and type(wrong) is int else {}
    assert told == {**dict.fromkeys(told), **known}
    run = run_of(tmp_path, [line(1, {}, [9.0], **{name: wrong})])
    assert [each.time for each in run.trials] == [9.0]


def test_what_is_told_of_a_result_has_its_own_name() -> None:
    told = [(key, name, unit) for key, name, unit in page.QUANTITIES]
    assert told == [
        ("reg_usage", "registers", ""),
        ("occupancy.warps", "occupancy", "%"),
        ("local_mem_usage", "local memory of a thread", "B"),
        ("spills", "spilled", "B"),
        ("shared_mem_usage", "static shared memory", "B"),
        ("instructions", "machine instructions", ""),
        ("obj_size", "object", "B"),
        ("compile_time", "compile time", "ns"),
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0.5, "0.50 ns"),
        (9.99, "9.99 ns"),
        (5.0, "5 ns"),
        (10.0, "10 ns"),
        (99.4, "99 ns"),
        (100.0, "100 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 us"),
        (1.5e6, "1.50 ms"),
        (1.5e9, "1.50 s"),
        (5e12, "5000 s"),
    ],
)
def test_a_time_is_shown_in_its_largest_unit(nanoseconds: float, text: str) -> None:
    assert page.duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1023, "B", "1,023 B"),
        (1024, "B", "1.0 KiB"),
        (2_000_000, "B", "1,953.1 KiB"),
        (0.125, "%", "12 %"),
        (1.5e6, "ns", "1.50 ms"),
        (1234.0, "", "1,234"),
        (0, "", "0"),
        (None, "B", "\u2013"),
    ],
)
def test_a_quantity_is_shown_with_its_unit(value: float | None, unit: str, text: str) -> None:
    assert page.quantity(value, unit) == text


def test_the_extents_of_a_launch_are_shown_as_far_as_they_matter() -> None:
    shapes = [{"x": 1, "y": 1, "z": 7}, {"x": 1, "y": 2, "z": 1}, {"x": 1}, {"z": 1, "y": 1, "x": 64}, None]
    assert [page.shape(extents).replace("\u00d7", "x") for extents in shapes] == ["1 x 1 x 7", "1 x 2", "1", "64", "?"]


def test_the_median_of_a_trial_and_of_each_value() -> None:
    trials = [trial(number, time, a=a) for number, (time, a) in enumerate([(9.0, 1), (1.0, 1), (2.0, 1), (8.0, 2)])]
    trials.append(trial(4, None, a=2))
    trials.append(trial(5, None, a=3))
    assert medians_by_value(Factor("a", (1, 2, 3)), trials) == [(1, 2.0), (2, 8.0)]
    several = LogLine({}, "1", "measured", None, "", "", (9.0, 1.0, 2.0, 3.0), {})
    assert several.time == several.seen == 2.5


def test_importance_is_epsilon_squared() -> None:
    times = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]
    trials = [trial(number, math.exp(time), a=number // 3) for number, time in enumerate(times)]
    # By hand: means 2 and 6, squares within 1 + 1 + 4 + 4 = 10 of 4 degrees, in all 34 of 5.
    assert importance([Factor("a", (0, 1))], trials) == {"a": pytest.approx(1 - (10 / 4) / (34 / 5))}


def test_what_is_left_is_shared_out_by_the_next() -> None:
    times = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 5.0, (1, 1): 6.0}
    trials = [
        trial(number, math.exp(times[number % 4 // 2, number % 2]), a=number % 4 // 2, b=number % 2)
        for number in range(8)
    ]
    found = importance([Factor("b", (0, 1)), Factor("a", (0, 1))], trials)
    # By hand: of 34 in all, of 7 degrees, a leaves 2 of 6; of these b leaves nothing.
    of_a = 1 - (2 / 6) / (34 / 7)
    assert list(found) == ["a", "b"]
    assert found == {"a": pytest.approx(of_a), "b": pytest.approx(1 - of_a)}


def test_what_a_parameter_uses_up_is_not_there_for_the_next() -> None:
    points = [(a, b, noise) for a in (-1, 0, 1) for b in (-0.5, 0.5) for noise in (-0.5, 0.5)]
    trials = [trial(number, math.exp(10 * a + b + noise), a=a, b=b) for number, (a, b, noise) in enumerate(points)]
    found = importance([Factor("a", (-1, 0, 1)), Factor("b", (-0.5, 0.5))], trials)
    # By hand: of 806 in all, of 11 degrees, a leaves 6 of 9; of these b leaves 3, of 8.
    of_a = 1 - (6 / 9) / (806 / 11)
    assert found == {"a": pytest.approx(of_a), "b": pytest.approx((1 - of_a) * (1 - (3 / 8) / (6 / 9)))}


def test_numbers_of_many_values_are_put_into_equally_filled_bins() -> None:
    # Six bins of two: within 12 / 4 = 3 of 6 degrees, in all 35 + 3 of 11.
    trials = [trial(number, math.exp(number // 2 + number % 2), a=number) for number in range(12)]
    found = importance([Factor("a", tuple(range(12)))], trials)
    assert found == {"a": pytest.approx(1 - (3 / 6) / (38 / 11))}


def test_numbers_of_six_values_are_in_no_bins() -> None:
    values = [0] * 7 + [1, 2, 3, 4, 5]
    times = [0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    trials = [trial(number, math.exp(time), a=values[number]) for number, time in enumerate(times)]
    found = importance([Factor("a", (0, 1, 2, 3, 4, 5))], trials)
    # Within 1.5 of 6 degrees, in all 5501.5 - 12 * 12.5 ** 2 of 11.
    assert found == {"a": pytest.approx(1 - (1.5 / 6) / ((5501.5 - 1875) / 11))}


def test_a_claim_without_best_json_is_over_the_baselines(tmp_path: Path) -> None:
    lines = [
        line(900 + place, {}, [20.0] * 3, label=f"baseline at the {at}") for place, at in enumerate(("begin", "end"))
    ]
    run = run_of(
        tmp_path, [*lines, line(1, {"block": {"x": 32}}, [10.0] * 3), line(2, {"block": {"x": 64}}, [8.0] * 3)]
    )
    assert run.speed_up == SpeedUp(2.5, 0.0, math.inf, confidence=0.95, rounds=0)
    (tmp_path / "best.json").write_text(json.dumps({"speed_up": 1.5, "interval": [None, None]}))
    assert read(tmp_path).speed_up == SpeedUp(1.5, 0.0, math.inf, confidence=0.95, rounds=0)


def test_failures_are_by_how_many_there_are(tmp_path: Path) -> None:
    kinds = ["compile_error", "run_timeout", "run_timeout", "cancelled", "wrong_result", "wrong_result", "wrong_result"]
    run = run_of(
        tmp_path, [line(number, {"shared_memory": number}, [], failure=kind) for number, kind in enumerate(kinds)]
    )
    assert [(kind, len(trials)) for kind, trials in run.failures.items()] == [
        ("wrong_result", 3),
        ("run_timeout", 2),
        ("compile_error", 1),
    ]
    (bars,) = charts.failures(run).data
    assert (list(bars.x), list(bars.y)) == ([3, 2, 1], ["wrong_result", "run_timeout", "compile_error"])


def test_a_configuration_has_the_point_that_came_to_it_first(tmp_path: Path) -> None:
    points = [
        {"digest": f"{1:032x}", "params": {"a": 1, "list": ["x", "y"]}},
        {"digest": f"{1:032x}", "params": {"a": 2, "list": ["z"]}},
        {"digest": f"{2:032x}", "params": {"a": 3, "list": []}},
        {"digest": "", "params": {"a": 4}},
        {"digest": f"{3:032x}", "params": [1]},
        {"digest": f"{3:032x}"},
        {"digest": f"{3:032x}", "params": {"a": 5, "list": ["w"]}},
    ]
    (tmp_path / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    run = run_of(tmp_path, [line(number, {"shared_memory": number}, [9.0]) for number in (1, 2, 3)])
    params = [{"a": 1, "list": "x,y"}, {"a": 3, "list": ""}, {"a": 5, "list": "w"}]
    assert [trial.params for trial in run.trials] == params
    assert run.points == 7


def test_the_keys_that_a_configuration_leaves_out(tmp_path: Path) -> None:
    shape = {"block": {"x": 256, "y": 2, "z": 1}, "grid": {"x": 7, "y": 3, "z": 1}}
    run = run_of(tmp_path, [line(9, {}, [9.0], label="baseline at the begin", **shape)])
    expected = {
        "block.x": 256,
        "block.y": 2,
        "grid.y": 3,
        "grid.z": 1,
        "shared_memory": 0,
        "codegen.level": 3,
        "codegen.ftz": "recorded",
        "codegen.contraction": "recorded",
        "assembler.max_registers": None,
    }
    assert {key: run.left_out(key, [1]) for key in expected} == expected
    assert run.left_out("keep_threads", [True]) is False and run.left_out("verdict.mask", [False]) is True
    before: dict[str, Value] = {"block.x": 256, "codegen.level": 3, "passes": "a"}
    after: dict[str, Value] = {"passes": "b", "keep_threads": True}
    assert run.changes(before, after) == [("passes", "a", "b"), ("keep_threads", False, True)]


def test_a_log_that_an_older_version_began_is_one_log(tmp_path: Path) -> None:
    old, new = {"verdict": {"poison": False}, "passes": "a"}, {"verdict": {"mask": False}, "passes": "b"}
    (tmp_path / "best.json").write_text(json.dumps({"configuration": old, "time": 7.0}))
    run = run_of(tmp_path, [line(1, old, [7.0]), line(2, new, [5.0])])
    assert [run.line_of(trial).configuration["verdict"] for trial in run.trials] == [{"mask": False}] * 2
    assert not [factor for factor in run.factors if factor.name.startswith("verdict")]
    assert run.best is not None and run.best.number == 1, "as best.json says"


def test_what_is_left_out_is_as_the_first_baseline_that_ran(tmp_path: Path) -> None:
    shape = {"block": {"x": 256, "y": 1, "z": 1}}
    run = run_of(
        tmp_path,
        [
            line(8, {}, [], label="baseline at the begin", failure="run_timeout"),
            line(9, {}, [9.0], label="baseline at the end", **shape),
        ],
    )
    assert run.left_out("block.x", [64]) == 256


def test_what_shares_the_recorded_launch_is_the_recorded_launch(tmp_path: Path) -> None:
    recorded, shared = {"passes": "default<O3>"}, {"passes": "default<O3>,verify"}
    lines = [
        line(900, recorded, [40.0], label="baseline at the begin"),
        line(1, recorded, [40.0]),
        line(2, shared, [40.0], origin="shared", shared_with=f"{1:032x}"),
        line(3, {"passes": "sroa"}, [40.0]),
    ]
    run = run_of(tmp_path, lines)
    assert [run.is_recorded(trial) for trial in run.trials] == [True, True, False]


def test_the_baseline_is_what_the_summary_has_measured_in_turn(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text("{}")
    told = {"begin": 10.0, "end": 30.0, "in_turn": 12.0}
    (tmp_path / "summary.json").write_text(json.dumps({"baseline": told}))
    lines = [line(900, {}, [10.0], label="baseline at the begin"), line(1, {"shared_memory": 8}, [6.0])]
    assert run_of(tmp_path, lines).baseline == 12.0  # of a log without the lines of the rounds
    (tmp_path / "summary.json").write_text(json.dumps({"baseline": {**told, "in_turn": None}}))
    assert read(tmp_path).baseline == 20.0


def test_a_trial_is_against_the_baseline_of_its_run(tmp_path: Path) -> None:
    known = [None, None, 20.0, None, 40.0, None]  # in the order in which they were done, of two runs and a third
    points = [
        {"digest": f"{number:032x}", "params": {"a": number}, "baseline": baseline}
        for number, baseline in enumerate(known)
    ]
    (tmp_path / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    run = run_of(tmp_path, [line(number, {"shared_memory": number}, [9.0]) for number in range(len(known))])
    assert [trial.baseline for trial in run.trials] == [20.0, 20.0, 20.0, 40.0, 40.0, None]


def test_a_trial_of_the_last_run_is_over_all_of_its_baseline(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text("{}")
    (tmp_path / "summary.json").write_text(json.dumps({"baseline": {"begin": 20.0, "end": 40.0, "in_turn": None}}))
    points = [
        {"digest": f"{number:032x}", "params": {"a": number}, "baseline": baseline}
        for number, baseline in enumerate([90.0, 20.0])
    ]
    (tmp_path / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    run = run_of(tmp_path, [line(number, {"shared_memory": number}, [10.0]) for number in range(2)])
    assert [run.baseline_of(trial) for trial in run.trials] == [90.0, 30.0]
    assert [run.speed_up_of(trial) for trial in run.trials] == [9.0, 3.0]


def test_rounds_of_which_one_side_has_no_time_prove_nothing(tmp_path: Path) -> None:
    before, after = [20.0, 21.0, None, 20.5, 19.5, 20.0], [10.0, None, 10.5, 10.0, 9.5, 10.2]
    lines = [line(1, {"shared_memory": 8}, [10.0])]

    def add(slow: float | None, fast: float | None) -> Run:
        for label, configuration, time in (("baseline", {}, slow), ("best", {"shared_memory": 8}, fast)):
            failure = None if time else "run_timeout"
            lines.append(line(1, configuration, [time] if time else [], label=f"{label}, round 1", failure=failure))
        return run_of(tmp_path, lines)

    for slow, fast in zip(before, after, strict=True):
        run = add(slow, fast)
    assert len(run.rounds) == 6 and run.speed_up_in_turn is None and not run.is_confirmed
    assert (run.baseline, run.best_time) == (20.0, 10.0)
    run = add(22.0, 11.0)
    assert run.speed_up_in_turn == speed_up([20.0, 20.5, 19.5, 20.0, 22.0], [10.0, 10.0, 9.5, 10.2, 11.0])


def test_a_baseline_that_failed_once_is_that_of_the_other_times(tmp_path: Path) -> None:
    ends = [line(900 + place, {}, [time], label="baseline at the end") for place, time in enumerate((20.0, 30.0, 90.0))]
    begin = line(990, {}, [], label="baseline at the begin", failure="run_timeout")
    assert run_of(tmp_path, [begin, *ends, line(1, {"shared_memory": 8}, [10.0])]).baseline == 30.0


def test_a_trial_has_what_its_line_has(tmp_path: Path) -> None:
    measured: dict[str, Any] = {"reg_usage": 40, "obj_size": 4096, "times": {COMPILING[0]: 5.0}}
    lines = [
        line(1, {"shared_memory": 1}, [3, 1, 2], **measured, origin="shared", shared_with="f" * 32),
        line(2, {"shared_memory": 2}, [3.0, 1.0], **measured, failure="cancelled"),
        line(3, {"shared_memory": 3}, [3.0, 1.0], **measured, failure="wrong_result", origin="resumed"),
    ]
    usual: dict[str, Any] = {"registers": 40, "object_size": 4096, "compile_time": 5.0}
    expected = [
        Trial(1, {}, state="complete", time=2.0, origin="shared", shared_with="f" * 32, **usual),
        Trial(2, {}, state="pruned", time=2.0, reason="why", **usual),
        Trial(3, {}, state="failed", failure="wrong_result", reason="why", origin="resumed", **usual),
    ]
    for trial in expected:
        trial.digest, trial.params = f"{trial.number:032x}", {"shared_memory": trial.number}
    assert list(run_of(tmp_path, lines).trials) == expected


def test_a_folder_may_be_called_as_a_file_is(tmp_path: Path) -> None:
    database = tmp_path / "recordings.json"
    database.mkdir()
    run_of(tmp_path, [line(1, {}, [9.0])])
    assert read(tmp_path, database=database).about["database"] == str(database)
    assert read(tmp_path, database=database / "5be9.json").about["database"] == str(database)


def test_values_of_which_all_that_were_tried_failed_are_three_at_least() -> None:
    trials = [trial(number, None if number % 2 else 5.0, a=number % 2) for number in range(6)]
    assert never_right([Factor("a", (0, 1))], trials) == [("a", 1, 3)]
    assert never_right([Factor("a", (0, 1))], trials[:5]) == []


def test_a_pass_is_told_apart_by_two_pipelines_that_have_it_and_two_that_have_not() -> None:
    names = {"in_one": 1, "in_two": 2, "not_in_two": 16, "not_in_one": 17}
    rows = [
        {"passes": ",".join(["sroa"] * (1 + row) + [name for name, some in names.items() if row < some])}
        for row in range(18)
    ]
    factors, values = factors_of(rows, lambda key, present: None)
    assert [factor.name for factor in factors] == ["passes", "passes: length", "passes: not_in_two", "passes: in_two"]
    assert [row["passes: in_two"] for row in values] == [True] * 2 + [False] * 16
    assert [factor.is_endless for factor in factors] == [True, False, False, False]
    choice, *others = factors_of(rows[:16], lambda key, present: None)[0]
    assert len(choice.values) == 16 and not choice.is_endless and not others


@pytest.mark.parametrize(("count", "told"), [(57, True), (60, False)])
def test_a_pass_that_a_twentieth_has_is_told_apart(count: int, told: bool) -> None:
    rows: list[dict[str, Value]] = [{"passes": f"p{row},{'gvn' if row < 2 else 'dce'}"} for row in range(count)]
    names = [factor.name for factor in factors_of(rows, lambda key, present: None)[0]]
    # All are of one length, which tells nothing apart.
    assert names == ["passes", *(["passes: dce", "passes: gvn"] if told else [])]


def test_what_a_factor_is_of() -> None:
    values: list[tuple[Value, ...]] = [(1, 2.5), (False, True), (None, 1), ("a", "b")]
    assert [Factor("a", each).is_number for each in values] == [True, False, False, False]
    texts = tuple(f"text {number}" for number in range(17))
    assert [Factor("a", texts[:count]).is_endless for count in (16, 17)] == [False, True]
    assert not Factor("a", tuple(range(99))).is_endless


def test_values_are_in_order_and_what_was_left_out_is_first() -> None:
    rows: list[dict[str, Value]] = [{"text": "z", "number": 9}, {"number": 2.5}, {"text": "a"}, {"text": "z"}]
    factors, values = factors_of(rows, lambda key, present: None)
    assert [factor.values for factor in factors] == [(None, "z", "a"), (None, 2.5, 9)]
    assert values[1] == {"text": None, "number": 2.5}


def test_a_text_that_has_just_room_is_whole() -> None:
    assert [at_most(count, "function(gvn)") for count in (14, 13, 12)] == ["function(gvn)"] * 2 + ["function(gv…"]
    assert at_most(2, "abc") == "a…"
    with pytest.raises(InvalidArgumentError, match="at most 1 characters; two are needed"):
        at_most(1, "abc")


def folder_of_charts(folder: Path) -> Run:
    """Three that are right, one of them shared, one that was given up and one that is wrong."""
    times = [30_000.0, 20_000.0, 25_000.0, 90_000.0, 10_000.0]
    origins = ["measured", "measured", "shared", "measured", "measured"]
    failures = [None, None, None, "cancelled", None]
    lines = [
        line(
            number,
            {"block": {"x": 32 << number}},
            [time],
            origin=origin,
            failure=failure,
            reg_usage=50 - number,
            obj_size=4096 + number,
            times={"codegen": (1 + number) * 1e6},
        )
        for number, (time, origin, failure) in enumerate(zip(times, origins, failures, strict=True))
    ]
    lines.insert(1, line(7, {"block": {"x": 1024}}, [], failure="wrong_result"))
    baseline = line(900, {"passes": "default<O3>"}, [40_000.0], label="baseline at the begin")
    return run_of(folder, [baseline, *lines])


def test_the_chart_of_what_came(tmp_path: Path) -> None:
    traces = {trace.name: trace for trace in charts.best_so_far(folder_of_charts(tmp_path)).data}
    drawn = {name: (list(trace.x), list(trace.y)) for name, trace in traces.items()}
    assert drawn == {
        "measured": ([1, 3, 6], [30.0, 20.0, 10.0]),
        "shared": ([4], [25.0]),
        "given up": ([5], [90.0]),
        "failed": ([2], [0]),
        "best so far": ([1, 3, 6, 6], [30.0, 20.0, 10.0, 10.0]),
        "baseline": ([1, 6], [40.0, 40.0]),
    }


def test_what_became_of_the_trials_is_counted(tmp_path: Path) -> None:
    run = folder_of_charts(tmp_path)
    told = "6 configurations: 3 measured, 1 shared another's measurement, 1 given up, 1 failed"
    assert page._counts(run) == told
    assert page._over(run) == "the launch as recorded, 40.00 us"
    points = [
        {"digest": f"{number:032x}", "params": {}, "baseline": baseline}
        for number, baseline in ((0, 60_000.0), (1, 50_000.0), (7, 10_000.0), (4, 90_000.0))
    ]
    (tmp_path / "trials.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points))
    run = read(tmp_path)
    assert page._counts(run) == f"4 trials of {told}"
    assert page._over(run) == (
        "the launch as recorded in the run that measured each, 40.00 us to 90.00 us, as in the table of mneme tune"
    )


def test_the_charts_of_fronts(tmp_path: Path) -> None:
    fronts = charts.fronts(folder_of_charts(tmp_path))
    drawn = {name: [(list(trace.x), list(trace.y)) for trace in figure.data] for name, figure in fronts.items()}
    times = [30.0, 20.0, 25.0, 10.0]
    assert drawn == {
        "registers": [(times, [50, 49, 48, 46]), ([10.0, 30.0], [46, 46]), ([10.0], [46])],
        "object size (B)": [
            (times, [4096, 4097, 4098, 4100]),
            ([10.0, 20.0, 30.0, 30.0], [4100, 4097, 4096, 4096]),
            ([10.0, 20.0, 30.0], [4100, 4097, 4096]),
        ],
        "compile time (ms)": [
            (times, [1.0, 2.0, 3.0, 5.0]),
            ([10.0, 20.0, 30.0, 30.0], [5.0, 2.0, 1.0, 1.0]),
            ([10.0, 20.0, 30.0], [5.0, 2.0, 1.0]),
        ],
    }


def test_the_chart_of_a_factor(tmp_path: Path) -> None:
    run = folder_of_charts(tmp_path)
    (factor,) = run.factors
    given_up, right, medians = charts.slices(run, factor).data
    assert [round(place) for place in given_up.x] == [3] and list(given_up.y) == [90.0]
    assert [round(place) for place in right.x] == [0, 1, 2, 4] and list(right.y) == [30.0, 20.0, 25.0, 10.0]
    assert (list(medians.x), list(medians.y)) == ([0, 1, 2, 3, 4], [30.0, 20.0, 25.0, 90.0, 10.0])


def test_the_chart_of_importances() -> None:
    (bars,) = charts.importances({"a": 0.5, "b": 0.25}).data
    assert list(bars.y) == ["a", "b", "together, or noise"] and list(bars.x) == [50.0, 25.0, 25.0]
    assert list(bars.text) == ["50 %", "25 %", "25 %"]
    many = {f"p{number}": 0.1 - number / 1000 for number in range(charts.MOST_PARAMETERS + 1)}
    (bars,) = charts.importances(many).data
    assert list(bars.y)[-2:] == ["other parameters", "together, or noise"]
    assert list(bars.x)[-2:] == [pytest.approx(9.1), pytest.approx(100 * (1 - sum(many.values())))]


def test_a_row_of_the_fastest_counts_those_that_share_it(tmp_path: Path) -> None:
    lines = [
        line(900, {}, [40.0], label="baseline at the begin"),
        line(1, {"block": {"x": 32}}, [10.0]),
        line(2, {"block": {"x": 64}}, [10.0], origin="shared", shared_with=f"{1:032x}"),
        line(3, {"block": {"x": 128}}, [10.0], origin="shared", shared_with=f"{1:032x}"),
        line(4, {"block": {"x": 256}}, [20.0]),
        line(5, {"block": {"x": 512}}, [], failure="run_timeout"),
    ]
    rows = page._rows(run_of(tmp_path, lines))
    assert [(row["rank"], row["time"], row["speed_up"], row["interval"], row["alike"]) for row in rows] == [
        (None, 40.0, "1.00", "as recorded", 0),
        (1, 10.0, "4.00", "not confirmed", 2),
        (2, 20.0, "2.00", "not confirmed", 0),
    ]


def test_drift_on_the_page_is_between_begin_and_end(tmp_path: Path) -> None:
    lines = [
        line(900, {}, [20.0], label="baseline at the begin"),
        line(901, {}, [25.0], label="baseline at the end"),
        line(902, {}, [99.0], label="baseline, round 1"),
        line(1, {"block": {"x": 64}}, [10.0]),
    ]
    answer = page._answer(run_of(tmp_path, lines))
    assert answer is not None and answer["drift"] == 0.25


def test_a_configuration_is_flat() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": [1, {"e": 2}]}, "f": None}) == {
        "a.b.c": 1,
        "a.d": '[1, {"e": 2}]',
        "f": None,
    }


def test_a_shared_best_has_its_row(tmp_path: Path) -> None:
    lines = [
        line(900, {}, [40.0], label="baseline at the begin"),
        line(1, {"block": {"x": 32}}, [10.0]),
        line(2, {"block": {"x": 64}}, [9.0], origin="shared", shared_with=f"{1:032x}"),
    ]
    run_of(tmp_path, lines)
    (tmp_path / "best.json").write_text(json.dumps({"configuration": {"block": {"x": 64}}}))
    rows = page._rows(read(tmp_path))
    assert [(row["rank"], row["time"], row["params"]) for row in rows] == [
        (None, 40.0, {}),
        (1, 9.0, {"block.x": 64}),
        (2, 10.0, {"block.x": 32}),
    ]


def test_what_hovering_over_a_trial_says(tmp_path: Path) -> None:
    texts = page._trial_texts(folder_of_charts(tmp_path))
    assert [texts[number].split("<br>")[0] for number in range(1, 7)] == [
        "<b>30.00 us</b>  (no. 1)",
        "<b>wrong_result</b>  (no. 2)",
        "<b>20.00 us</b>  (no. 3)",
        "<b>25.00 us</b>  (no. 4)",
        "<b>given up</b>  (no. 5)",
        "<b>10.00 us</b>  (no. 6)",
    ]


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_within_a_tolerance_on_one_instance_is_not_as_recorded_to_the_byte(tmp_path: Path, place: int) -> None:
    instances: list[dict[str, Any]] = [{"result": {}, "tolerances": []}, {"result": {}, "tolerances": []}]
    recorded = line(900, {}, [40.0], label="baseline at the begin")
    run = run_of(tmp_path, [recorded, line(1, {"shared_memory": 8}, [10.0], instances=instances)])
    answer = page._answer(run)
    assert answer is not None and answer["to_the_byte"]
    instances[place]["tolerances"] = instances[place]["result"]["tolerances"] = [{"where": "totals", "within": True}]
    run = run_of(tmp_path, [recorded, line(1, {"shared_memory": 8}, [10.0], instances=instances)])
    answer = page._answer(run)
    assert answer is not None and not answer["to_the_byte"]


def test_texts_inside_a_script_end_no_line_and_have_no_control_characters() -> None:
    assert page.for_script("a\u2028b\u2029<!--&") == r'"a\u2028b\u2029\u003c!--\u0026"'
    assert page.safe_texts({"a\x1b": ["b\x1b", 1, {"c\x1b": "d\x1b"}]}) == {
        r"a\x1b": [r"b\x1b", 1, {r"c\x1b": r"d\x1b"}]
    }


def test_operations_are_by_how_much_they_differ() -> None:
    old = ["\tadd"] * 5 + ["\tmul"] * 2 + ["\tret"] + ["\tnop"] * 3
    found = code.difference("asm", "asm", old, ["\tmul"] * 6 + ["\tret", "\tsub"])
    assert found.counts == (("add", 5, 0), ("mul", 2, 6), ("nop", 3, 0), ("sub", 0, 1))


def test_what_is_shown_of_a_difference_is_cut_over_all_its_places() -> None:
    same = [f"\tmov {number}" for number in range(10)]
    old = [*(f"\tadd {number}" for number in range(2000)), *same, *(f"\tsub {number}" for number in range(2000))]
    found = code.difference("asm", "asm", old, same)
    assert [len(hunk) for hunk in found.hunks] == [2000 + code.CONTEXT, code.MOST_SHOWN - 2000 - code.CONTEXT]
    left_out = 4000 + 2 * code.CONTEXT - code.MOST_SHOWN
    assert found.problem == f"{left_out:,} more lines of what differs are left out here"


def test_addresses_in_machine_code_are_no_difference() -> None:
    old = ["        /*0010*/                   FADD R0, R1, R2 ;", "        /*0020*/  @P0 BRA `(.L_x_1) ;"]
    new = ["        /*0a10*/                   FADD R0, R1, R2 ;", "        /*0a20*/  @P0 BRA `(.L_x_7) ;"]
    found = code.difference("sass", "sass", old, [*new, "        /*0a30*/                   EXIT ;"])
    assert (found.gone, found.new, found.counts) == (0, 1, (("EXIT", 0, 1),))


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `mneme` command that says what is told to it, and that shows a kernel with two instances, or fails."""
    script, shown = tmp_path / "mneme", tmp_path / "shown.json"
    launches = [
        {"dynamic_hash": name, "grid": {"x": grid}, "block": {"x": 32}} for name, grid in (("1f00", 7), ("2a9e", 9))
    ]
    shown.write_text(json.dumps({"demangled": "add(int)", "instances": launches}))
    script.write_text(
        f"#!/bin/sh\n[ $1 = show ] && exec cat {shown}\n"
        f"[ -e {tmp_path}/fails ] && {{ printf 'a warning\\nthe reason\\n' >&2; exit 2; }}\n"
        'for word in "$@"; do echo "$word"; done\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("MNEME_COMMAND", str(script))
    return tmp_path


def of_instances(folder: Path) -> Run:
    """A run of two instances of a recorded kernel, in another order than the database has them."""
    database = folder / "db"
    database.mkdir()
    (database / "5be9.json").touch()
    run_of(folder, [line(900, {}, [40.0], label="baseline at the begin"), line(1, {"shared_memory": 8}, [10.0])])
    log = folder / "results.jsonl"
    about = {"database": str(database), "static_hash": "5be9", "instances": ["2a9e", "1f00"], "device": "cpu"}
    log.write_text("\n".join([json.dumps({"mneme_log": 1, "about": about}), *log.read_text().splitlines()[1:]]) + "\n")
    return read(folder)


def test_the_launch_on_the_page_is_the_first_that_was_measured(told: Path) -> None:
    about = page._about(of_instances(told))
    assert (about["kernel"], about["grid"], about["block"]) == ("add(int)", "9", "32")


def test_the_code_is_that_of_the_first_instance(told: Path) -> None:
    run = of_instances(told)
    (found,) = code.compare(run, ["asm"])
    assert (found.problem, found.gone, found.new) == ("", 1, 1)
    words = ["ir", str(told / "db/5be9.json"), "-rid", "2a9e", "--device", "cpu", "--stage", "asm", "--config"]
    assert found.lines == (len(words) + 1, len(words) + 1)
    assert [row.text for row in found.hunks[0]][: code.CONTEXT] == words[-code.CONTEXT :]
    assert code._arguments(run, "asm") == words[1:-1]


def test_the_commands_beside_the_code_show_it_again(told: Path) -> None:
    run = of_instances(told)
    (found,) = code.compare(run, ["asm"])
    words = f"mneme ir {code.launch(run, 1)} --device cpu --stage asm "
    assert found.commands == (f"{words}as-built", f"{words}--config {told / 'best.json'}")


def test_a_log_that_names_no_instances_is_of_all(told: Path) -> None:
    run = of_instances(told)
    without: list[dict[str, Any]] = [{}, {"instances": None}, {"instances": []}]
    for unsaid in without:
        about = {name: run.about[name] for name in ("database", "static_hash")} | unsaid
        assert code._arguments(replace(run, about=about), "asm") == [str(told / "db/5be9.json"), "--stage", "asm"]


def test_code_that_cannot_be_had_is_told_by_its_reason_and_sass_is_left_out(told: Path) -> None:
    run = of_instances(told)
    (told / "fails").touch()
    found = list(code.compare(run, ["optimised", "asm", "sass"]))
    assert [(each.stage, each.problem) for each in found] == [("optimised", "the reason"), ("asm", "the reason")]


def test_many_trials_are_thinned_in_the_charts_of_each_factor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MANY_POINTS", 3)
    run = folder_of_charts(tmp_path)
    assert charts.thinning(run) == 2
    (factor,) = run.factors
    given_up, right, medians = charts.slices(run, factor).data
    assert (list(given_up.y), list(right.y), list(medians.y)) == ([90.0], [30.0, 25.0], [30.0, 20.0, 25.0, 90.0, 10.0])


def test_each_axis_of_the_parallel_plot_has_its_name_and_values(tmp_path: Path) -> None:
    run = folder_of_charts(tmp_path)
    (lines,) = charts.parallel(run, run.factors).data
    block, time = lines.dimensions
    assert (block.label, list(block["values"]), list(block.ticktext)) == (
        "block.x",
        [0, 1, 2, 3],
        ["32", "64", "128", "512"],
    )
    assert (time.label, list(time["values"])) == ("time (us)", [30.0, 20.0, 25.0, 10.0])
    many = run_of(tmp_path, [line(number, {"shared_memory": 3 * number}, [9.0]) for number in range(13)])
    (lines,) = charts.parallel(many, many.factors).data
    assert (lines.dimensions[0].label, list(lines.dimensions[0]["values"])) == (
        "shared_memory",
        [3 * number for number in range(13)],
    )


def test_a_name_that_is_short_is_told_apart() -> None:
    names = ["specialise.dimensions.x", "passes: function: x", "assembler.max_registers"]
    assert charts.short_names([Factor(name, (1, 2)) for name in names]) == [
        "specialise.dime\u2026",
        "passes: functio\u2026",
        "max_registers",
    ]


def test_a_time_of_nothing_has_an_axis(tmp_path: Path) -> None:
    assert "type" not in charts._time_axis([0.0, 5.0]) and charts._time_axis([0.5, 5.0])["type"] == "log"


def test_what_a_pipeline_has_is_drawn_where_it_explains_something(tmp_path: Path) -> None:
    rows = ["gvn,sroa", "dce,sroa", "gvn,dce,sroa", "sroa"]
    lines = [
        line(number, {"passes": f"{rows[number % 4]}{',verify' * (number // 4)}"}, [10.0 if number % 2 else 20.0])
        for number in range(20)
    ]
    run = run_of(tmp_path, lines)
    found = importance(run.studied, run.timed)
    worth = [parameter.name for parameter in charts.chosen(run)]
    assert any(part < 0.01 for part in found.values())
    assert worth and all(found[name] >= 0.01 for name in worth)
