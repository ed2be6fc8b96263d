"""What a study and its trials say: numbers that are made of others, and what is written of them."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.results.baseline import Baseline
from mneme.results.trials import Trial, TrialLog, read_trials, rows, write_parquet
from mneme.tune import SpeedUp, Study, confirm
from mneme.tune.search.loop import CompileTimes
from mneme.tune.shown.progress import progress_line
from mneme.tune.shown.summary import best_table, only_recorded, summary_lines

from fake_executor import FakeExecutor, FakeResult, go, measure, use

# Each member other than the others, and other than it is by default.
TRIAL = Trial(
    number=7,
    params={"block.x": 64, "passes": ("sroa", "gvn"), "ftz": True},
    config=mneme.Config(block=64, passes="default<O1>"),
    state="failed",
    time=1500.5,
    registers=40.0,
    object_size=4096.0,
    compile_time=2.5e6,
    instructions=120.0,
    spills=16.0,
    failure="wrong_result",
    reason="memory differs",
    origin="shared",
    shared_with="f" * 32,
    digest="e" * 32,
    seconds=12.25,
    baseline=2000.5,
)


def test_a_line_of_trials_has_every_member(tmp_path: Path) -> None:
    usual = Trial(0, {})
    for field in dataclasses.fields(Trial):
        if field.name != "result":
            assert getattr(TRIAL, field.name) != getattr(usual, field.name), f"{field.name}: one that says nothing"
    log = TrialLog(tmp_path / "trials.jsonl")
    log.append(TRIAL)
    # Whoever is killed now has it.
    (line,) = (tmp_path / "trials.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "number": 7,
        "params": {"block.x": 64, "passes": ["sroa", "gvn"], "ftz": True},
        "config": {"block": {"x": 64}, "passes": "default<O1>"},
        "state": "failed",
        "time": 1500.5,
        "registers": 40.0,
        "object_size": 4096.0,
        "compile_time": 2.5e6,
        "instructions": 120.0,
        "spills": 16.0,
        "failure": "wrong_result",
        "reason": "memory differs",
        "origin": "shared",
        "shared_with": "f" * 32,
        "digest": "e" * 32,
        "seconds": 12.25,
        "baseline": 2000.5,
    }
    assert read_trials(tmp_path / "trials.jsonl") == [TRIAL]
    log.append(usual)
    log.close()
    assert read_trials(tmp_path / "trials.jsonl") == [TRIAL, usual]


def test_a_row_has_every_member_and_parameter() -> None:
    (row, other) = rows([dataclasses.replace(TRIAL, number=9), TRIAL])
    assert (row["number"], other["number"]) == (7, 9)
    members = dataclasses.asdict(dataclasses.replace(TRIAL, config=None))
    for name in ("params", "config", "result"):
        del members[name]
    assert row == {
        **members,
        "params.block.x": 64,
        "params.passes": "sroa,gvn",
        "params.ftz": True,
        "configuration": '{"block": {"x": 64}, "passes": "default<O1>"}',
    }


def test_a_column_of_the_table_is_of_one_type(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    trials = [
        Trial(0, {"n": 1, "mixed": 1, "flag": True, "list": ("a", "b")}, time=1.5),
        Trial(1, {"n": 2.5, "mixed": "two", "flag": False, "list": ()}),
        Trial(2, {"n": 3, "mixed": None, "flag": True, "list": ("c",)}, time=2.0),
    ]
    assert write_parquet(tmp_path / "trials.parquet", reversed(trials))
    table = pq.read_table(tmp_path / "trials.parquet").to_pydict()
    assert table["number"] == [0, 1, 2] and table["time"] == [1.5, None, 2.0]
    assert table["params.n"] == [1.0, 2.5, 3.0]
    assert table["params.mixed"] == ["1", '"two"', None]
    assert table["params.flag"] == [True, False, True] and table["params.list"] == ["a,b", "", "c"]
    assert write_parquet(tmp_path / "none.parquet", [])


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize(
    ("outcome", "state", "time"),
    [(30.0, "complete", 30.0), ("cancelled", "failed", None), ("wrong_result", "failed", None)],
)
def test_a_trial_is_what_the_result_says(outcome: Any, state: str, time: float | None, pruned: bool) -> None:
    config = mneme.Config(block=64)
    result: Any = FakeResult(config, outcome, times=[10.0, 40.0, 30.0], origin="resumed")
    result.registers, result.object_size, result.compile_time, result.shared_with = 40, 4096, 1e6, "a"
    result.instructions, result.spills = 120, 16
    trial = Trial.of(3, {"block.x": 64}, config, result, pruned=pruned, seconds=1.5)
    if pruned and outcome != "wrong_result":  # given up, also where it came to its end meanwhile
        state, time = "pruned", 30.0
    complete = state == "complete"
    assert trial == Trial(
        3,
        {"block.x": 64},
        config,
        state=state,
        time=time,
        registers=40 if complete else None,
        object_size=4096 if complete else None,
        compile_time=1e6 if complete else None,
        instructions=120 if complete else None,
        spills=16 if complete else None,
        failure=outcome if state == "failed" else None,
        reason=f"it is a {outcome}" if state == "failed" else "",
        origin="resumed",
        shared_with="a",
        digest=config.digest,
        seconds=1.5,
    )
    assert trial.result is result


def test_a_speed_up_is_read_as_it_was_written() -> None:
    known = SpeedUp(1.25, 1.2, 1.3, 0.9, 7)
    assert known.to_dict() == {
        "value": 1.25,
        "low": 1.2,
        "high": 1.3,
        "confidence": 0.9,
        "rounds": 7,
        "claim": "faster",
    }
    endless = SpeedUp(1.25, 0.0, math.inf, 0.95, 1)
    for found in (known, endless):
        assert SpeedUp.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    ("low", "high", "claim"),
    [
        (1.001, 1.2, "faster"),
        (1.0, 1.2, "no difference"),
        (0.8, 1.0, "no difference"),
        (0.8, 0.999, "slower"),
    ],
)
def test_a_claim_needs_an_interval_that_leaves_out_one(low: float, high: float, claim: str) -> None:
    assert SpeedUp((low + high) / 2, low, high, 0.95, 5).claim == claim


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0999, "1.100 (0.500 to 2.000, 95 %)"),
        (0.9001, "0.900 (0.500 to 2.000, 95 %)"),
        (1.11, "1.11 (0.50 to 2.00, 95 %)"),
    ],
)
def test_a_value_near_to_one_has_more_digits(value: float, text: str) -> None:
    assert str(SpeedUp(value, 0.5, 2.0, 0.95, 5)) == text


def test_drift_is_a_part_of_the_smaller_time() -> None:
    assert Baseline(begin=100.0, end=125.0).drift == Baseline(begin=125.0, end=100.0).drift == 0.25
    assert Baseline(begin=100.0).drift == Baseline(end=100.0).drift == Baseline().drift == 0
    assert (Baseline(begin=100.0).time, Baseline(end=90.0).time, Baseline().time) == (100.0, 90.0, None)


@pytest.mark.parametrize(
    ("begin", "end", "said"), [(1000.0, 1050.0, None), (1000.0, 1060.0, 6), (1080.0, 1000.0, 8), (1000.0, 1000.0, None)]
)
def test_a_baseline_that_drifts_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, begin: float, end: float, said: int | None
) -> None:
    class Drifting(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            times = {"baseline at the begin": begin, "baseline at the end": end}
            self.measure = lambda config: times.get(label, 1000.0)
            future = super().measure_anew(config, label)
            self.measure = measure
            return future

    use(monkeypatch, Drifting(measure))
    study = go(tmp_path / "r", trials=4, confirm=0)
    assert (study.baseline.begin, study.baseline.end) == (begin, end)
    assert study.remarks == (
        []
        if said is None
        else [
            f"the baseline took {said} % longer at one end than at the other: "
            "times of the search are no better than that"
        ]
    )


def test_what_a_study_counts(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, seconds=2.0)

    def add(number: int, state: str, *, restored: bool = False, **members: Any) -> bool:
        return study.add(Trial(number, {}, state=state, digest=f"{number}", **members), restored=restored)

    assert add(0, "complete", time=30.0)
    assert add(1, "complete", time=20.0, restored=True), "measured by an earlier run"
    assert not add(2, "complete", time=20.0, origin="shared"), "the first of equals stays the best"
    assert not add(3, "complete", time=25.0)
    assert not add(4, "failed", failure="wrong_result", reason="the first")
    assert not add(5, "failed", failure="wrong_result", reason="the second")
    assert not add(6, "failed", failure="run_timeout", reason="too long")
    assert not add(7, "pruned", time=10.0)
    assert not add(8, "failed", failure="run_timeout", reason="again")
    assert not add(9, "failed", failure="run_timeout", reason="again")
    assert study.best is not None and study.best.number == 1
    assert [study.count(state) for state in ("complete", "failed", "pruned")] == [4, 5, 1]
    assert study.observations == 2 and study.observations_per_second == 1.0
    assert [(name, kind.count, kind.reason) for name, kind in study.failures.items()] == [
        ("run_timeout", 3, "too long"),
        ("wrong_result", 2, "the first"),
    ]
    assert [trial.number for trial in study.ranking()] == [1, 2, 3, 0], "what was measured before what was shared"


def test_the_line_while_it_runs(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, seconds=2.0, baseline=Baseline(begin=3000.0))
    assert progress_line(study, "search") == "0 trials"
    for number, (state, time) in enumerate([("complete", 2000.0), ("pruned", 9.0), ("failed", None), ("failed", None)]):
        failure = "wrong_result" if state == "failed" else None
        study.add(Trial(number, {}, state=state, time=time, registers=40.0, failure=failure, digest=f"{number}"))
    counts = "0.5 measured/s, 1 given up, failed: 2 wrong_result"
    assert progress_line(study, "search") == f"4 trials, best 2.00 us (seems 1.50 x), {counts}"
    study.wanted, study.objectives = 8, ("registers", "time")
    study.baseline.begin = None
    assert progress_line(study, "search") == f"4 of 8, best 40 registers, {counts}"
    assert progress_line(study, "confirm") == "measuring the best and the baseline in turn"


def test_a_speed_up_is_over_the_baseline_of_its_own_run(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, baseline=Baseline(begin=100.0, end=140.0))
    of_own, of_another, of_none = (
        Trial(number, {}, state="complete", time=50.0, baseline=baseline)
        for number, baseline in enumerate((100.0, 400.0, None))
    )
    assert [study.speed_up_of(trial) for trial in (of_own, of_another, of_none)] == [2.4, 8.0, 2.4]
    study.baseline.in_turn = 90.0
    assert [study.speed_up_of(trial) for trial in (of_own, of_another, of_none)] == [1.8, 8.0, 1.8]
    assert study.speed_up_of(Trial(3, {}, baseline=100.0)) is None and study.speed_up_seen is None


@pytest.mark.parametrize(
    ("best", "found", "kept"),
    [
        (50.0, None, False),
        (100.0, None, True),
        (150.0, None, True),
        (50.0, SpeedUp(1.0, 0.9, 1.1, 0.95, 5), True),
        (50.0, SpeedUp(0.8, 0.7, 0.9, 0.95, 5), True),
        (150.0, SpeedUp(1.2, 1.1, 1.3, 0.95, 5), False),
    ],
)
def test_the_recorded_launch_is_kept_where_nothing_is_faster(
    tmp_path: Path, best: float, found: SpeedUp | None, kept: bool
) -> None:
    study = Study("kernel()", ("time",), tmp_path, baseline=Baseline(begin=100.0), speed_up=found)
    study.add(Trial(0, {}, state="complete", time=best))
    assert study.keep_recorded is kept
    assert not dataclasses.replace(study, objectives=("registers", "time")).keep_recorded


def test_more_trials_are_asked_for_where_the_one_was_the_recorded_launch(tmp_path: Path) -> None:
    quick = {"execution": {"iterations": 3}}

    def studied(config: mneme.Config, wanted: int | None = 1, trials: int = 1) -> Study:
        study = Study("kernel()", ("time",), tmp_path, wanted=wanted, base=quick, recorded={"passes": "as-built"})
        for number in range(trials):
            study.add(Trial(number, {}, config, state="complete", time=9.0))
        return study

    recorded = mneme.Config.from_dict(quick)
    assert only_recorded(studied(recorded))
    assert not only_recorded(studied(recorded, wanted=100)), "it was interrupted"
    assert not only_recorded(studied(recorded, wanted=None)) and not only_recorded(studied(recorded, trials=2))
    assert not only_recorded(studied(recorded.replace(block=64)))


def test_what_best_json_has(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, baseline=Baseline(begin=100.0))
    assert study.best_document() is None
    config = mneme.Config(block=64)
    result: Any = FakeResult(config, 80.0)
    study.add(Trial(0, {}, config, state="complete", time=80.0, result=result))
    expected = {"configuration": config.to_dict(), "result": {"exec_time": [80.0] * 3}}
    assert study.best_document() == {
        **expected,
        "time": 80.0,
        "speed_up": 1.25,
        "interval": None,
        "claim": "not confirmed",
    }
    study.time, study.speed_up = 75.0, SpeedUp(1.3, 1.2, 1.4, 0.95, 5)
    assert study.best_document() == {
        **expected,
        "time": 75.0,
        "speed_up": 1.3,
        "interval": [1.2, 1.4],
        "claim": "faster",
    }


def test_what_is_announced_is_of_the_last_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Turns(FakeExecutor):
        """Rounds take different times, of which the median is not the mean."""

        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            who, _, turn = label.partition(", round ")
            times = {
                "baseline": (200.0, 220.0, 210.0, 900.0, 205.0, 1.0),
                "best": (100.0, 110.0, 105.0, 500.0, 104.0, 107.0),
            }
            self.measure = lambda config: times[who][int(turn) - 1] if who in times else 300.0
            future = super().measure_anew(config, label)
            self.measure = measure
            return future

    use(monkeypatch, Turns(measure))
    study = go(tmp_path / "r", confirm=5)
    assert (study.time, study.baseline.in_turn) == (105.0, 210.0)
    assert (study.baseline.begin, study.baseline.end) == (300.0, 300.0)
    best = json.loads((tmp_path / "r/best.json").read_text())
    assert best["time"] == 105.0 and best["result"] == {"exec_time": [104.0] * 3}
    assert study.speed_up is not None and study.speed_up.rounds == 5
    logs = [math.log(value) for value in (2, 2, 2, 9 / 5, 205 / 104)]
    assert math.isclose(study.speed_up.value, math.exp(sum(logs) / 5))
    go(tmp_path / "even", confirm=6)  # whose last turn is the baseline's
    best = json.loads((tmp_path / "even/best.json").read_text())
    assert best["result"] == {"exec_time": [107.0] * 3}


def test_the_finals_are_won_by_the_least_median(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Finals(FakeExecutor):
        """The first is fastest once, and slower otherwise."""

        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            times = {"place 1": (50.0, 200.0, 201.0), "place 2": (100.0, 101.0, 900.0)}
            place = label.removeprefix("finals, ").partition(",")[0]
            self.measure = lambda config: (
                times.get(place, (500.0,) * 3)[int(label[-1]) - 1] if place in label else 400.0
            )
            future = super().measure_anew(config, label)
            self.measure = measure
            return future

    executor = Finals(measure)
    configs = [mneme.Config(block=32 << place) for place in range(3)]
    finals: Any = confirm.finals
    assert finals(executor, configs, rounds=3) == ([1, 0, 2], [])


@pytest.mark.parametrize(
    ("changes", "finished"),
    [
        ({}, True),
        ({"interrupted": True}, False),
        ({"trials": 1}, False),
        ({"exhausted": False}, True),  # as many as are wanted
        ({"speed_up": None}, False),  # not confirmed
    ],
)
def test_what_an_earlier_run_has_come_to_is_taken_over_whole(
    tmp_path: Path, changes: dict[str, Any], finished: bool
) -> None:
    def study() -> Study:
        made = Study("kernel()", ("time",), tmp_path, wanted=2)
        for number, time in enumerate((80.0, 70.0)):
            made.add(Trial(number, {}, state="complete", time=time), restored=True)
        return made

    before = study()
    before.baseline = Baseline(begin=100.0, end=110.0, problem="p", in_turn=105.0)
    before.time, before.speed_up = 75.0, SpeedUp(1.3, 1.2, 1.4, 0.95, 7)
    before.best = before.trials[0]  # confirmed, though another seemed faster
    before.seconds, before.seconds_before, before.observations, before.exhausted = 12.5, 3.5, 9, True
    before.remarks = ["a remark"]
    summary = json.loads(json.dumps(before.summary()))
    after = study()
    assert after.finished({**summary, **changes}, rounds=7) is finished
    if not changes:
        assert after.summary() == before.summary()
    assert not study().finished({**summary, **changes}, rounds=8), "other rounds are asked for"
    after = study()
    after.wanted = 3
    assert after.finished({**summary, **changes}, rounds=7) is (finished and not changes), "more trials are asked for"


def test_at_most_three_of_the_best_are_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Flaky(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = (lambda config: "run_timeout") if label.startswith("best") else measure
            return super().measure_anew(config, label)

    use(monkeypatch, Flaky(measure))
    study = go(tmp_path / "r", confirm=5)
    assert study.speed_up is None and study.time is None
    assert len([remark for remark in study.remarks if "could not be confirmed: best: run_timeout" in remark]) == 3


def test_who_compiled_the_same_code_took_as_long_as_the_first() -> None:
    def result(code: str | None, took: float | None) -> Any:
        made: Any = FakeResult(mneme.Config(), 5.0)
        made.object_hash, made.compile_time = code, took
        return made

    times = CompileTimes()
    assert times.notice(result("a", 9e6)) == 9e6
    assert times.notice(result("a", 0.0)) == 9e6, "shared: the compiler was asked nothing"
    assert times.notice(result("b", 2e6)) == 2e6
    assert times.notice(result("a", 11e6)) == 11e6
    assert times.notice(result("a", 1e6)) == 11e6
    assert times.notice(result(None, 1e6)) == 1e6 and times.notice(result("a", None)) is None


def test_what_is_given_up_is_slower_than_the_best_in_most_of_three_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    times: dict[int, Any] = {32: 1000.0, 64: 2000.0, 128: [9000.0, 9000.0], 256: [1300.0, 1300.0, 1300.0]}

    def by_block(config: mneme.Config) -> Any:
        return times[config.to_dict().get("block", {}).get("x", 128)]

    class Measured(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = lambda config: 1000.0
            future = super().measure_anew(config, label)
            self.measure = by_block
            return future

    use(monkeypatch, Measured(by_block))
    study = go(tmp_path / "r", timeout=1, confirm=0)
    # Two runs say too little, however long; three of 1.3 times the best, not the last, are enough.
    assert study.count("pruned") == 16 and study.count("complete") == 32 and len(study.trials) == 48


def test_what_the_summary_counts(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, baseline=Baseline(begin=100.0, end=90.0))
    for number, time in enumerate((80.0, 70.0)):
        study.add(Trial(number, {}, state="complete", time=time, digest=f"{number}"))
    study.add(Trial(2, {}, state="failed", failure="run_timeout", reason="too\nlong"))
    study.add(Trial(3, {}, state="pruned", time=200.0))
    study.seconds, study.seconds_before = 4.0, 1.25
    assert summary_lines(study)[1:] == [
        "4 trials: 2 right, 1 failed, 1 given up as clearly slower; "
        "2 measured in 4.00 s, 0.5 a second (1.25 s until the device was ready)",
        "  1 run_timeout, the first: too long",
        "",
        "as recorded: 100 ns at the begin, 90 ns at the end",
        "trial 1 seems 1.357 times as fast as recorded; that is not confirmed",
        "  as recorded",
    ]
    study.seconds, study.baseline.in_turn = 0.05, 95.0
    lines = summary_lines(study)
    assert "2 measured in 0.05 s (1.25 s" in lines[1], "too short for a rate"
    assert lines[4].endswith("90 ns at the end, 95 ns in turn with the best")


@pytest.mark.parametrize("top", [1, 2, 3, 5])
def test_a_table_of_the_best_has_as_many_as_are_asked_for(tmp_path: Path, top: int) -> None:
    study = Study("kernel()", ("time",), tmp_path, recorded={"passes": "as-built"})
    for number in range(4):
        config = mneme.Config(block=32 << number)
        study.add(Trial(number, {}, config, state="complete", time=80.0 - number, digest=f"{number}"))

    def shown() -> list[list[str]]:
        table = best_table(study, top=top)
        assert table is not None
        return [[row[0], row[1], row[3]] for row in table.rows]

    found = [[f"{place + 1}", f"{3 - place}", "-"] for place in range(min(top, 4))]
    assert shown() == found
    study.baseline = Baseline(begin=154.0)
    for place, row in enumerate(found):
        row[2] = f"{154 / (77 + place):.2f}"
    assert shown() == [["-", "-", "1.00"], *found]
    study.speed_up, study.time = SpeedUp(1.9, 1.8, 2.0, 0.95, 5), 81.0
    assert shown() == [["1", "3", "1.90"], ["-", "-", "1.00"], *found[1:]]


def test_the_recorded_launch_that_was_only_searched_has_the_time_of_its_trial(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path, recorded={"passes": "as-built"})
    study.add(Trial(0, {}, mneme.Config(), state="complete", time=1500.0, digest="0"))
    study.add(Trial(1, {}, mneme.Config(block=64), state="complete", time=1000.0, digest="1"))
    table = best_table(study)
    assert table is not None
    assert [row[:5] for row in table.rows] == [
        ["-", "0", "1.50 us", "1.00", "as recorded"],
        ["1", "1", "1.00 us", "-", "not confirmed"],
    ]
