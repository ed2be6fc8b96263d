"""Who the winner is and what it gains: measured anew, in turn, and what may be claimed then."""

import json
import math
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError
from mneme.results.statistics import student_quantile
from mneme.results.trials import Trial
from mneme.tune import Categorical, SearchSpace, SpeedUp, Study, command, speed_up
from mneme.tune.shown.summary import summary_text

from fake_executor import FakeExecutor, fake_instance, go, measure, use


def test_winner_and_baseline_are_measured_in_turn(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", confirm=5)
    assert executor.labels[0] == "baseline at the begin" and executor.labels[-1] == "baseline at the end"
    assert executor.labels[-11:-1] == [
        "baseline, round 1",
        "best, round 1",
        "best, round 2",
        "baseline, round 2",
        "baseline, round 3",
        "best, round 3",
        "best, round 4",
        "baseline, round 4",
        "baseline, round 5",
        "best, round 5",
    ]
    places = [label.split(", ")[1] for label in executor.labels[1:-11]]
    assert places == [f"place {place}" for place in (1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 2, 3, 4, 5)]


def test_luck_does_not_come_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Lucky(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = lambda config: 2000.0 if config.to_dict()["passes"] == "default<O2>" else measure(config)
            return super().measure_anew(config, label)

    use(monkeypatch, Lucky(measure))
    study = go(tmp_path / "r")
    assert study.config == mneme.Config(block=64, passes="default<O3>")
    assert json.loads((tmp_path / "r/best.json").read_text())["configuration"] == {
        "block": {"x": 64},
        "passes": "default<O3>",
    }


def test_one_measurement_is_one_finalist(tmp_path: Path) -> None:
    study = Study("kernel()", ("time",), tmp_path)
    study.add(Trial(0, {"a": 0}, state="complete", time=5.0, digest="first"))
    for number in range(1, 7):
        trial = Trial(number, {"a": number}, state="complete", time=5.0, digest=f"{number}", origin="shared")
        trial.shared_with = "first"
        study.add(trial)
    study.add(Trial(7, {"a": 7}, state="complete", time=6.0, digest="other"))
    assert [trial.number for trial in study.ranking()] == [0, 7]


def test_winner_is_measured_on_one_of_several_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Two(FakeExecutor):
        devices = (2, 3)

    opened = [Two(measure), FakeExecutor(measure)]
    asked: list[Any] = []
    use(monkeypatch, opened[0])

    def open_executor(instances: Any, options: Any) -> FakeExecutor:
        asked.append(options)
        return opened[len(asked) - 1]

    monkeypatch.setattr("mneme.tune.run.open_executor", open_executor)
    study = go(tmp_path / "r", confirm=5, devices=[2, 3])
    assert [options["devices"] for options in asked] == [[2, 3], (2,)] and asked[1]["resume"] is True
    assert opened[0].labels == ["baseline at the begin"] and opened[0].closed and opened[1].closed
    assert opened[1].labels[-3:] == ["baseline, round 5", "best, round 5", "baseline at the end"]
    assert study.speed_up is not None


def test_a_claim_inside_the_noise_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = iter(range(1, 10_000))
    use(monkeypatch, FakeExecutor(lambda config: 1000.0 + (next(times) * 7919) % 101))
    study = go(tmp_path / "r")
    assert study.speed_up_seen is not None and study.speed_up_seen > 1.02  # the luck of the best
    assert study.speed_up is not None and study.speed_up.claim == "no difference"
    assert json.loads((tmp_path / "r/best.json").read_text())["claim"] == "no difference"


@pytest.mark.parametrize(
    ("best", "options", "verdict"),
    [
        (1200.0, {"confirm": 5}, "no configuration is faster than as recorded: trial 0, measured in turn with it, is"),
        (1000.0, {"confirm": 5}, "no configuration is faster than as recorded beyond the noise: trial 0, "),
        (1200.0, {"confirm": 0}, "trial 0 seems 0.833 times as fast as recorded; that is not confirmed"),
        (800.0, {"confirm": 5}, "trial 0, measured in turn with the launch as recorded, is 1.25"),
        (
            1200.0,
            {"confirm": 5, "objectives": "registers"},
            "trial 0, measured in turn with the launch as recorded, is",
        ),
    ],
)
def test_a_best_that_is_no_faster_is_no_gain(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    best: float,
    options: dict[str, Any],
    verdict: str,
) -> None:
    use(monkeypatch, FakeExecutor(lambda config: best if "block" in config.to_dict() else 1000.0))
    study = go(tmp_path / "r", space=SearchSpace({"block.x": Categorical([64])}), **options)
    assert str(study).splitlines()[-2].startswith(verdict)
    command._say_what_next({"instance": [fake_instance()]}, study)
    replay = f"mneme replay record-db {'5' * 32} -rid dddddddd --config {tmp_path}/r/best.json\n"
    kept = "nothing faster than the launch as recorded was found: keep it as recorded; the best that was tried"
    what = "the best" if best < 1000 or "objectives" in options else kept
    assert capsys.readouterr().err == f"mneme tune: {what}: {replay}"
    assert json.loads((tmp_path / "r/best.json").read_text())["configuration"] == {
        "block": {"x": 64},
        "passes": "as-built",
    }


def test_confirmed_come_first_and_others_are_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Busy(FakeExecutor):
        """In the search, the launch as recorded was slower by chance."""

        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            slow = label == "baseline at the begin"
            self.measure = (lambda config: 2000.0) if slow else lambda config: times.get(_block(config), 1040.0)
            future = super().measure_anew(config, label)
            self.measure = in_search
            return future

    times = {64: 1040.0, 32: 1000.0}  # in turn, blocks of 32 are faster
    searched = {32: 1020.0, 64: 1010.0, 256: 1500.0}

    def in_search(config: mneme.Config) -> float:
        return searched.get(_block(config), 1040.0)

    use(monkeypatch, Busy(in_search))
    space = SearchSpace({"block.x": Categorical([128, 32, 64, 256])})
    study = go(tmp_path / "r", space=space, confirm=5)
    rows = [line.split("  ") for line in str(study).splitlines()[1:6]]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["RANK", "TRIAL", "TIME", "SPEED-UP", "95 % INTERVAL", "REGISTERS", "OBJECT", "CONFIGURATION"],
        ["1", "1", "1.00 us", "1.040", "1.040 to 1.040", "40", "4096", "block.x=32"],
        ["-", "0", "1.04 us", "1.00", "as recorded", "40", "4096"],
        ["2", "2", "1.01 us", "1.03", "not confirmed", "40", "4096", "block.x=64"],
        ["3", "3", "1.50 us", "0.69", "not confirmed", "40", "4096", "block.x=256"],
    ]
    # The launch as recorded is none of those that are asked for.
    for top, ranks in ((1, ["1", "-"]), (2, ["1", "-", "2"]), (4, ["1", "-", "2", "3"])):
        lines = summary_text(study, top=top).splitlines()[2:]
        assert [line.split()[0] for line in lines[: lines.index("")]] == ranks


def test_a_narrow_terminal_cuts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 500.0 if _block(config) == 64 else 1000.0))
    study = go(tmp_path / "r", space=SearchSpace({"block.x": Categorical([64, 128])}), confirm=0)
    wide, narrow = summary_text(study).splitlines(), summary_text(study, width=len("  RANK  TRIAL  TIME")).splitlines()
    assert wide[1].split()[-1] == "CONFIGURATION" and wide[3].split()[-1] == "block.x=64"
    assert narrow[2] == "      CONFIGURATION" and "      block.x=64" in narrow
    assert summary_text(study, width=max(map(len, wide[1:4]))).splitlines() == wide


def test_where_nothing_is_confirmed_the_recorded_launch_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 500.0 if _block(config) == 64 else 1000.0))
    study = go(tmp_path / "r", space=SearchSpace({"block.x": Categorical([64, 128])}), confirm=0)
    rows = [line.split() for line in str(study).splitlines()[2:4]]
    assert rows[0][:7] == ["-", "1", "1.00", "us", "1.00", "as", "recorded"]
    assert rows[1][:7] == ["1", "0", "500", "ns", "2.00", "not", "confirmed"]


def test_a_best_that_is_the_recorded_launch_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 1000.0 if _block(config) == 128 else 2000.0))
    study = go(tmp_path / "r", space=SearchSpace({"block.x": Categorical([64, 128])}))
    lines = str(study).splitlines()
    assert lines[2].split()[:7] == ["1", "1", "1.00", "us", "1.00", "as", "recorded"]
    assert lines[3].split()[:7] == ["2", "0", "2.00", "us", "0.50", "not", "confirmed"]
    assert lines[-1] == "no configuration is faster than as recorded: trial 1 is the launch as recorded"


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_few_rounds_are_refused(executor: FakeExecutor, tmp_path: Path, rounds: int) -> None:
    proves = "1 round proves" if rounds == 1 else f"{rounds} rounds prove"
    with pytest.raises(InvalidArgumentError) as refused:
        go(tmp_path / "r", confirm=rounds)
    assert str(refused.value) == (
        f"tuning: confirm: {proves} nothing: give 5 at least, or 0 to leave the winner unconfirmed"
    )
    assert not (tmp_path / "r").exists() and not executor.labels


def _block(config: mneme.Config) -> Any:
    return config.to_dict().get("block", {}).get("x", 128)


def test_winner_that_cannot_be_confirmed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Flaky(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            if label.startswith("best") and config.to_dict()["passes"] == "default<O2>":
                self.measure = lambda config: "wrong_result"
            future = super().measure_anew(config, label)
            self.measure = measure
            return future

    use(monkeypatch, Flaky(measure))
    study = go(tmp_path / "r")
    assert study.remarks[0].startswith("trial ") and study.remarks[0].endswith(
        "could not be confirmed: best: wrong_result: it is a wrong_result"
    )
    assert study.config == mneme.Config(block=64, passes="default<O3>")


CHECK = (
    " does not give the recorded memory here: `mneme check` tells whether the kernel is deterministic, and proposes "
    "the --tolerance that accepts what it does"
)


NOT_AS_RECORDED = f"the launch as recorded{CHECK}"


def test_baseline_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: "wrong_result" if config == mneme.Config() else 5.0))
    study = go(tmp_path / "r")
    assert study.best is not None and study.speed_up is None and study.speed_up_seen is None
    assert "the launch as recorded could not be measured: wrong_result: it is a wrong_result" in study.remarks
    assert study.remarks.count(NOT_AS_RECORDED) == 1


def test_baseline_that_is_not_wrong_has_no_word_of_tolerances(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: "run_timeout" if config == mneme.Config() else 5.0))
    assert not [remark for remark in go(tmp_path / "r").remarks if "tolerance" in remark]


def test_what_is_right_only_once_is_no_winner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Once(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = lambda config: "wrong_result" if label.startswith("finals") else measure(config)
            return super().measure_anew(config, label)

    use(monkeypatch, Once(measure))
    study = go(tmp_path / "r")
    assert study.speed_up is None
    assert "none of the best was right each time when it was measured anew" in study.remarks


@pytest.mark.parametrize("rounds", ["1", "2", "3"])
@pytest.mark.parametrize("failure", ["wrong_result", "run_timeout"])
def test_a_finalist_that_fails_in_one_round_is_no_winner(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rounds: str, failure: str
) -> None:
    class Once(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = (lambda config: failure) if label == f"finals, place 1, round {rounds}" else measure
            return super().measure_anew(config, label)

    use(monkeypatch, Once(measure))
    study = go(tmp_path / "r")
    assert study.config == mneme.Config(block=64, passes="default<O3>")  # the second, though slower
    assert study.speed_up is not None and study.time == 1011  # both pipelines have names as long as the other


@pytest.mark.parametrize(
    ("label", "failure", "said"),
    [
        ("finals, place 1, round 3", "wrong_result", "trial {winner}, which was right in the search,"),
        ("best, round 2", "wrong_result", "trial {winner}, which was right in the search,"),
        ("baseline, round 2", "wrong_result", "the launch as recorded"),
        ("baseline at the end", "wrong_result", "the launch as recorded"),
        ("best, round 2", "run_timeout", None),
        ("finals, place 1, round 3", "run_timeout", None),
    ],
)
def test_what_is_wrong_only_when_it_is_measured_again_may_not_be_deterministic(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    label: str,
    failure: str,
    said: str | None,
) -> None:
    class Unsteady(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label_now: str) -> Any:
            self.measure = (lambda config: failure) if label_now == label else measure
            return super().measure_anew(config, label_now)

    use(monkeypatch, Unsteady(measure))
    study = go(tmp_path / "r")
    (winner,) = (trial.number for trial in study.trials if trial.config == mneme.Config(block=64, passes="default<O2>"))
    hints = [remark for remark in study.remarks if CHECK in remark]
    assert hints == ([] if said is None else [said.format(winner=winner) + CHECK])
    assert json.loads((tmp_path / "r/summary.json").read_text())["remarks"] == study.remarks
    command._report(command.parser().parse_args([]), {"instance": [fake_instance()]}, study)
    told = capsys.readouterr().err
    assert all(f"mneme tune: {hint}\n" in told for hint in hints)


@pytest.mark.parametrize(("fails", "tried"), [("baseline, round 2", 1), ("best, round 2", 3)])
def test_what_fails_in_turn_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str, tried: int
) -> None:
    """The other rounds of it; and where the launch as recorded fails, so it would against the next best."""
    cancelled: list[Any] = []

    class Failing(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = (lambda config: "run_timeout") if label == fails else measure
            future = super().measure_anew(config, label)
            monkeypatch.setattr(future, "cancel", lambda: cancelled.append(label))
            return future

    executor = use(monkeypatch, Failing(measure))
    study = go(tmp_path / "r", confirm=5)
    assert study.speed_up is None and sum("could not be confirmed" in remark for remark in study.remarks) == tried
    turns = [label for label in executor.labels if ", round " in label and not label.startswith("finals")]
    assert len(turns) == 10 * tried and {"baseline, round 5", "best, round 5"} <= set(cancelled) <= set(turns)


def test_speed_up_has_an_interval() -> None:
    found = speed_up([100.0, 102.0, 98.0, 101.0], [50.0, 51.0, 49.0, 50.5])
    assert math.isclose(found.value, 2) and math.isclose(found.low, 2) and found.claim == "faster"
    assert speed_up([100.0, 104.0, 97.0], [101.0, 99.0, 103.0]).claim == "no difference"
    assert speed_up([1.0, 1.01, 0.99], [2.0, 2.01, 2.02]).claim == "slower"
    alone = speed_up([2.0], [1.0])
    assert alone.claim == "no difference" and alone.to_dict()["low"] is None and alone.to_dict()["high"] is None
    assert str(SpeedUp(1.25, 1.2, 1.3, 0.95, 10)) == "1.25 (1.20 to 1.30, 95 %)"
    for baseline, candidate in (([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0])):
        with pytest.raises(InvalidArgumentError, match="a speed-up needs rounds, each with a positive time of both"):
            speed_up(baseline, candidate)
    with pytest.raises(InvalidArgumentError, match="a confidence is between 0 and 1, and is 95"):
        speed_up([1.0], [1.0], confidence=95)


def test_interval_of_few_rounds_is_that_of_a_sample() -> None:
    # By hand: the sample's deviation of the logarithms, and Student's 4.3027 of two degrees of freedom.
    found = speed_up([110.0, 120.0, 130.0], [100.0, 100.0, 100.0])
    assert math.isclose(found.value, 1.197216, rel_tol=1e-6)
    assert math.isclose(found.low, 0.972822, rel_tol=1e-6) and math.isclose(found.high, 1.473369, rel_tol=1e-6)
    assert found.claim == "no difference"


def test_interval_holds_the_truth_as_often_as_it_says() -> None:
    import random

    source = random.Random(1)
    held = 0
    for _ in range(400):
        drift = [1 + 0.1 * i for i in range(6)]
        slow = [120 * d * source.lognormvariate(0, 0.02) for d in drift]
        fast = [100 * d * source.lognormvariate(0, 0.02) for d in drift]
        found = speed_up(slow, fast)
        held += found.low <= 1.2 <= found.high
    assert 0.92 < held / 400 < 0.98


def test_student() -> None:
    for probability, freedom, expected in (
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 9, 2.262),
        (0.995, 5, 4.032),
        (0.95, 30, 1.697),
    ):
        assert round(student_quantile(probability, freedom), 3) == expected
