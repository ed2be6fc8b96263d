"""tune() over an executor that measures nothing: what is tried, kept, given up, resumed and announced."""

import importlib
import json
import math
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import (
    CorruptError,
    InvalidArgumentError,
    IoError,
    MnemeError,
    NotFoundError,
    UnavailableError,
    UnsupportedError,
)
from mneme.tune import (
    Bool,
    Categorical,
    Int,
    Pipeline,
    SearchSpace,
    SpeedUp,
    Study,
    command,
    results,
    run,
    speed_up,
    tune,
)
from mneme.tune.asked import Folder
from mneme.tune.progress import summary_text
from mneme.tune.statistics import student_quantile
from mneme.tune.storage import Storage
from mneme.tune.trials import Trial, read_trials, write_parquet

from fake_executor import FakeExecutor, FakeResult, InterruptedExecutor, Outcome, fake_instance, use

SPACE = SearchSpace(
    {
        "block.x": Categorical([32, 64, 128, 256], ordered=True),
        "codegen.level": Int(0, 3),
        "passes": Pipeline(["function(gvn)"], max_length=1, first=["default<O2>", "default<O3>"]),
    }
)


def measure(config: mneme.Config) -> Outcome:
    """Blocks of 64 are fastest; the lowest level is wrong, and blocks of 256 do not compile there."""
    members = config.to_dict()
    block, level = members.get("block", {}).get("x", 128), members.get("codegen", {}).get("level", 3)
    if level == 0:
        return "compile_error" if block == 256 else "wrong_result"
    return float(1000 + abs(block - 64) + 10 * (3 - level) + len(members["passes"]))


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    return use(monkeypatch, FakeExecutor(measure))


def go(results: Path, **options: Any) -> Study:
    return tune(
        [fake_instance()],
        **{"space": SPACE, "sampler": "exhaustive", "device": "cpu", "results_dir": results, **options},
    )


def test_exhaustive_finds_the_best(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r")
    assert len(study.trials) == 64 and study.count("complete") == 48 and study.count("failed") == 16
    assert study.best is not None and study.best.params == {
        "block.x": 64,
        "codegen.level": 3,
        "passes": ("default<O2>",),
    }
    assert study.config == mneme.Config(block=64, passes="default<O2>")
    assert study.baseline.begin == study.baseline.end == 1075
    assert study.speed_up is not None and study.speed_up.claim == "faster"
    assert math.isclose(study.speed_up.value, 1075 / 1011)
    assert {name: (kind.count, kind.reason) for name, kind in study.failures.items()} == {
        "wrong_result": (12, "it is a wrong_result"),
        "compile_error": (4, "it is a compile_error"),
    }
    assert executor.closed and not study.interrupted


def test_files_of_a_run(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r")
    lines = [json.loads(line) for line in (tmp_path / "r/trials.jsonl").read_text().splitlines()]
    assert sorted(line["number"] for line in lines) == list(range(64))
    assert [trial.number for trial in read_trials(tmp_path / "r/trials.jsonl")] == [
        trial.number for trial in study.trials
    ]
    best = json.loads((tmp_path / "r/best.json").read_text())
    assert best["configuration"] == {"block": {"x": 64}, "passes": "default<O2>"}
    assert (
        best["time"] == 1011
        and best["claim"] == "faster"
        and best["interval"][0] <= best["speed_up"] <= best["interval"][1]
    )
    asked = json.loads((tmp_path / "r/tune.json").read_text())
    assert asked["sampler"] == "exhaustive" and asked["static_hash"] == "5" * 32 and asked["space"] == SPACE.describe()
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert summary["complete"] == 48 and summary["speed_up"]["claim"] == "faster"


def test_parquet_has_a_row_for_each_trial(executor: FakeExecutor, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    go(tmp_path / "r")
    table = pq.read_table(tmp_path / "r/trials.parquet").to_pandas()
    assert len(table) == 64
    assert table["params.block.x"].min() == 32 and set(table["params.passes"]) >= {
        "default<O2>",
        "default<O3>,function(gvn)",
    }
    assert table.loc[table["state"] == "complete", "time"].min() == 1011


def test_dataframe(executor: FakeExecutor, tmp_path: Path) -> None:
    frame = go(tmp_path / "r", trials=8).dataframe()
    assert len(frame) == 8 and {"number", "state", "time", "params.block.x"} <= set(frame.columns)


def test_without_pyarrow_there_is_no_parquet(
    executor: FakeExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    study = go(tmp_path / "r", trials=4)
    assert "no trials.parquet, which needs pyarrow; trials.jsonl has the same" in study.remarks
    assert not (tmp_path / "r/trials.parquet").exists()


def test_winner_and_baseline_are_measured_in_turn(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", confirm=3)
    assert executor.labels[0] == "baseline at the begin" and executor.labels[-1] == "baseline at the end"
    assert executor.labels[-7:-1] == [
        "baseline, round 1",
        "best, round 1",
        "best, round 2",
        "baseline, round 2",
        "baseline, round 3",
        "best, round 3",
    ]
    places = [label.split(", ")[1] for label in executor.labels[1:-7]]
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
    study = go(tmp_path / "r", confirm=1, devices=[2, 3])
    assert [options["devices"] for options in asked] == [[2, 3], (2,)] and asked[1]["resume"] is True
    assert opened[0].labels == ["baseline at the begin"] and opened[0].closed and opened[1].closed
    assert opened[1].labels[-3:] == ["baseline, round 1", "best, round 1", "baseline at the end"]
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
        (1200.0, {"confirm": 3}, "no configuration is faster than as recorded: trial 0, measured in turn with it, is"),
        (1000.0, {"confirm": 3}, "no configuration is faster than as recorded beyond the noise: trial 0, "),
        (1200.0, {"confirm": 0}, "trial 0 seems 0.833 times as fast as recorded; that is not confirmed"),
        (800.0, {"confirm": 3}, "trial 0, measured in turn with the launch as recorded, is 1.25"),
        (
            1200.0,
            {"confirm": 3, "objectives": "registers"},
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
    recorded = Path("record-db").absolute() / f"{'5' * 32}.json"
    replay = f"mneme replay -rdb {recorded} -rid dddddddd --config {tmp_path}/r/best.json\n"
    kept = "nothing faster than the launch as recorded was found: keep it as recorded; the best that was tried"
    what = "the best" if best < 1000 or "objectives" in options else kept
    assert capsys.readouterr().err == f"mneme tune: {what}: {replay}"
    assert json.loads((tmp_path / "r/best.json").read_text())["configuration"] == {
        "block": {"x": 64},
        "passes": "default<O3>",
    }


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


def test_nothing_is_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: "run_timeout"))
    study = go(tmp_path / "r")
    assert study.best is None and study.config is None and study.speed_up is None
    assert not (tmp_path / "r/best.json").exists() and (tmp_path / "r/summary.json").exists()


def test_what_the_space_changes_and_what_the_baseline_has(executor: FakeExecutor, tmp_path: Path) -> None:
    config = mneme.Config(execution={"iterations": 3}, shared_memory=64)
    go(tmp_path / "r", config=config, trials=3, confirm=0)
    assert all(
        one.to_dict()["shared_memory"] == 64 and one.to_dict()["execution"] == {"iterations": 3}
        for one in executor.submitted
    )
    assert json.loads((tmp_path / "r/tune.json").read_text())["configuration"] == config.to_dict()


def test_what_the_executor_has_to_say(executor: FakeExecutor, tmp_path: Path) -> None:
    executor.problem = MnemeError("the disk is full")
    assert "the disk is full" in go(tmp_path / "r", trials=2, confirm=0).remarks


def test_shows_itself(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r")
    assert str(study).splitlines()[0] == "Best of scale(int*, int)"
    assert "is 1.063 (1.063 to 1.063, 95 %) times as fast" in str(study)
    assert study._repr_html_().startswith("<pre>Best of scale(int*, int)")


def test_nothing_is_left_where_nothing_could_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(measure))

    def refuse(instances: Any, options: Any) -> FakeExecutor:
        raise MnemeError("there is no such device")

    monkeypatch.setattr("mneme.tune.run.open_executor", refuse)
    for storage in (None, "journal"):
        with pytest.raises(MnemeError, match="there is no such device"):
            go(tmp_path / "r", storage=storage)
        assert not (tmp_path / "r/tune.json").exists()


def test_what_is_right_only_once_is_no_winner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Once(FakeExecutor):
        def measure_anew(self, config: mneme.Config, label: str) -> Any:
            self.measure = lambda config: "wrong_result" if label.startswith("finals") else measure(config)
            return super().measure_anew(config, label)

    use(monkeypatch, Once(measure))
    study = go(tmp_path / "r")
    assert study.speed_up is None
    assert "none of the best was right each time when it was measured anew" in study.remarks


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


def test_several_objectives_have_a_front(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r", objectives="time,registers")
    front = [(trial.time, trial.registers) for trial in study.front]
    assert front == [(1011, 40)]  # the highest level is best in both here
    study.trials += [Trial(99, {}, state="complete", time=2000.0, registers=8, digest="x")]
    assert [trial.number for trial in study.front][1:] == [99]


def test_an_objective_that_the_device_does_not_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(FakeResult, "registers", None, raising=False)

    class Untold(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            future = super().submit(config)
            if not future.result().failed:
                future.result().registers = None
            return future

    use(monkeypatch, Untold(measure))
    with pytest.raises(UnsupportedError) as error:
        go(tmp_path / "r", objectives=["time", "registers"])
    assert (
        str(error.value)
        == "objective 'registers': the device does not tell it; leave it out, or tune on another kind of device"
    )
    assert not (tmp_path / "r").exists()


def test_same_seed_same_trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    studies = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        use(monkeypatch, FakeExecutor(measure))
        studies.append(go(tmp_path / name, sampler="tpe", trials=40, seed=seed))
    points = [
        [(trial.number, trial.params, trial.time) for trial in sorted(study.trials, key=lambda trial: trial.number)]
        for study in studies
    ]
    assert points[0] == points[1] and points[0] != points[2]


def test_clearly_slower_ones_are_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def slow(config: mneme.Config) -> Any:
        block = config.to_dict().get("block", {}).get("x", 128)
        return 1000.0 if block <= 128 else [1300.0, 1100.0, 1250.0, 1260.0]  # which goes on

    executor = use(monkeypatch, FakeExecutor(slow))
    study = go(tmp_path / "r")
    assert study.count("pruned") == 16 and study.count("complete") == 48
    assert {trial.time for trial in study.trials if trial.state == "pruned"} == {1255.0}
    assert len(executor.submitted) == 64


def test_what_is_only_a_little_slower_is_not_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def slow(config: mneme.Config) -> Any:
        return (
            1000.0
            if config.to_dict().get("block", {}).get("x", 128) <= 128
            else [1300.0, 1190.0, 1300.0, 1199.0, 1300.0]
        )

    use(monkeypatch, FakeExecutor(slow))
    study = go(tmp_path / "r", timeout=2)
    assert study.count("pruned") == 0 and len(study.trials) == 48


def test_time_is_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(
        monkeypatch,
        FakeExecutor(lambda config: 1000.0 if config.to_dict().get("block", {}).get("x", 128) == 128 else []),
    )
    study = go(tmp_path / "r", timeout=1, prune=False)
    assert len(study.trials) == 16 and study.speed_up is not None


@pytest.mark.parametrize("sampler", ["exhaustive", "random", "tpe"])
def test_interrupted_and_resumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sampler: str) -> None:
    first = use(monkeypatch, InterruptedExecutor(measure, after=20))
    study = go(tmp_path / "r", sampler=sampler, trials=48, seed=5)
    assert study.interrupted and first.closed and study.best is not None and study.speed_up is None
    kept = {trial.number: trial.params for trial in read_trials(tmp_path / "r/trials.jsonl")}
    assert 0 < len(kept) <= 20
    assert json.loads((tmp_path / "r/best.json").read_text())["claim"] == "not confirmed"

    second = use(monkeypatch, FakeExecutor(measure))
    whole = go(tmp_path / "r", sampler=sampler, trials=48, resume=True)
    assert not whole.interrupted and len(whole.trials) == 48 and len(second.submitted) == 48 - len(kept)
    assert {trial.number: trial.params for trial in whole.trials if trial.number in kept} == kept
    assert whole.speed_up is not None and whole.speed_up.claim == "faster"
    if sampler != "tpe":
        use(monkeypatch, FakeExecutor(measure))
        at_once = go(tmp_path / "other", sampler=sampler, trials=48, seed=5)
        assert {t.number: t.params for t in whole.trials} == {t.number: t.params for t in at_once.trials}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_results_are_written(
    monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor, tmp_path: Path, number: signal.Signals
) -> None:
    def pressed(path: Path, trials: Any) -> bool:
        signal.raise_signal(number)
        return write_parquet(path, trials)

    monkeypatch.setattr(results, "write_parquet", pressed)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study = go(tmp_path / "r", trials=8)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not study.interrupted and study.speed_up is not None
    assert {"summary.json", "best.json"} <= {path.name for path in (tmp_path / "r").iterdir()}
    assert go(tmp_path / "r", trials=8, resume=True).summary() == study.summary()


def test_interrupted_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Impatient(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            if len(self.submitted) == 20:
                signal.raise_signal(signal.SIGINT)
            return super().submit(config)

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            signal.raise_signal(signal.SIGINT)
            super().shutdown(wait, cancel_futures=cancel_futures)

    first = use(monkeypatch, Impatient(measure))
    study = go(tmp_path / "r", trials=48, seed=5)
    assert study.interrupted and first.closed and 0 < len(study.trials) <= 20
    assert (tmp_path / "r/summary.json").exists()


def test_an_interrupt_that_does_not_raise_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Pressed(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            if len(self.submitted) in (10, 20):
                signal.raise_signal(signal.SIGINT)
            return super().submit(config)

    heard = []

    def handler(number: int, frame: Any) -> None:
        heard.append(number)
        if len(heard) == 2:
            raise KeyboardInterrupt

    use(monkeypatch, Pressed(measure))
    before = signal.signal(signal.SIGINT, handler)
    try:
        study = go(tmp_path / "r", trials=48, seed=5)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert study.interrupted and len(heard) == 2


def test_interrupted_while_the_storage_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor, tmp_path: Path
) -> None:
    waited = []

    def close(self: Storage, *, wait: float | None = None) -> str | None:
        waited.append(wait)
        if wait is None:
            signal.raise_signal(signal.SIGINT)
        return "not all trials are in the storage yet"

    monkeypatch.setattr(Storage, "close", close)
    study = go(tmp_path / "r", trials=8, storage="journal")
    assert waited == [None, 0] and not study.interrupted
    assert "not all trials are in the storage yet" in json.loads((tmp_path / "r/summary.json").read_text())["remarks"]


def test_others_errors_are_not_the_folders(executor: FakeExecutor, tmp_path: Path) -> None:
    def progress(study: Study, stage: str) -> None:
        raise ConnectionRefusedError("dashboard")

    with pytest.raises(ConnectionRefusedError, match="dashboard"):
        go(tmp_path / "r", trials=4, progress=progress)


def test_interrupted_before_anything_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cut_off(config: mneme.Config) -> Outcome:
        return "cancelled"

    use(monkeypatch, InterruptedExecutor(cut_off, after=0))
    study = go(tmp_path / "r", trials=8)
    assert study.interrupted and study.remarks == ["interrupted before anything was measured"]
    text = summary_text(study)
    assert "as recorded (default<O3>): not measured" in text and "nothing was measured" in text


def pressed(what: Callable[..., Any], *, when: str = "before") -> Callable[..., Any]:
    """`what`, with Ctrl-C before or after it."""

    def made(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            signal.raise_signal(signal.SIGINT)
        result = what(*arguments, **named)
        if when == "after":
            signal.raise_signal(signal.SIGINT)
        return result

    return made


BEFORE_THE_FIRST_MEASUREMENT = [
    ("mneme.tune.asked", "Folder", "begin"),
    ("mneme.tune.run", "_Run", "__init__"),
    ("mneme.tune.samplers", "Listed", "restore"),
    ("mneme.tune.storage", "Storage", "__init__"),
    ("mneme.tune.run", "", "open_executor"),
    ("mneme.tune.trials", "TrialLog", "__init__"),
    ("mneme.tune.run", "_Run", "_baseline"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("module", "owner", "function"),
    BEFORE_THE_FIRST_MEASUREMENT,
    ids=[".".join(p) for p in BEFORE_THE_FIRST_MEASUREMENT],
)
def test_interrupted_while_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, owner: str, function: str, when: str
) -> None:
    """Ctrl-C at each step between the folder of results and the first measurement leaves what can be gone on with."""
    executor = use(monkeypatch, FakeExecutor(measure))
    at = importlib.import_module(module)
    at = getattr(at, owner) if owner else at
    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        patched.setattr(at, function, pressed(getattr(at, function), when=when))
        study = go(tmp_path / "r", storage="journal")
    assert study.interrupted and study.remarks[0] == "interrupted before anything was measured"
    assert not study.trials and not executor.submitted
    assert json.loads((tmp_path / "r/summary.json").read_text())["interrupted"] is True
    assert signal.getsignal(signal.SIGINT) is handler
    opened = function in ("open_executor", "_baseline") or owner == "TrialLog"
    assert executor.closed == opened
    whole = go(tmp_path / "r", storage="journal", resume=True)
    assert not whole.interrupted and len(whole.trials) == 64 and whole.speed_up is not None


def test_interrupted_while_it_begins_to_go_on(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", trials=8)
    best = (tmp_path / "r/best.json").read_bytes()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "open_executor", pressed(run.open_executor))
        study = go(tmp_path / "r", trials=12, resume=True)
    assert study.interrupted and len(study.trials) == 8 and study.remarks == []
    assert (tmp_path / "r/best.json").read_bytes() == best
    assert len(go(tmp_path / "r", trials=12, resume=True).trials) == 12


def test_interrupted_where_nothing_is_left_to_do(executor: FakeExecutor, tmp_path: Path) -> None:
    done = go(tmp_path / "r", trials=8)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Study, "finished", pressed(Study.finished))
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "r", trials=8, resume=True)
    assert go(tmp_path / "r", trials=8, resume=True).summary() == done.summary()


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file", "file: File exists"),
        ("file/below", "file/below: Not a directory"),
        ("full", "No space left on device"),
        ("taken", "taken/tune.json.tmp: Is a directory"),
    ],
)
def test_results_that_cannot_be_written(executor: FakeExecutor, tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/trials.jsonl").symlink_to("/dev/full")
    (tmp_path / "taken/tune.json.tmp").mkdir(parents=True)
    with pytest.raises(IoError) as error:
        go(tmp_path / place, trials=4)
    assert str(error.value).startswith(f"results of tuning, {tmp_path / place}")
    assert str(error.value).endswith(reason)


@pytest.mark.parametrize("options", [{}, {"confirm": 0}, {"sampler": "tpe", "trials": 12}, {"trials": 100}])
def test_resuming_what_is_done_measures_nothing(
    executor: FakeExecutor, tmp_path: Path, options: dict[str, Any]
) -> None:
    done = go(tmp_path / "r", **options)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()}
    counts = len(executor.submitted), len(executor.labels)
    study = go(tmp_path / "r", resume=True, **options)
    assert (len(executor.submitted), len(executor.labels)) == counts
    assert str(study) == str(done) and study.summary() == done.summary()
    assert {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()} == kept


def test_resuming_what_is_done_with_other_rounds_measures_only_the_winner(
    executor: FakeExecutor, tmp_path: Path
) -> None:
    go(tmp_path / "r", confirm=0)
    submitted = len(executor.submitted)
    study = go(tmp_path / "r", resume=True, confirm=3)
    assert len(study.trials) == 64 and len(executor.submitted) == submitted
    assert study.speed_up is not None and study.speed_up.rounds == 3


def test_fewer_trials_than_are_done_are_remarked(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", trials=8)
    study = go(tmp_path / "r", trials=5, resume=True)
    assert len(study.trials) == 8
    assert study.remarks == ["8 trials are done already, and 5 are asked for: none was added"]
    assert json.loads((tmp_path / "r/tune.json").read_text())["trials"] == 8  # whoever only resumes asks for no fewer


def test_a_space_without_more_points_does_not_go_on(
    executor: FakeExecutor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for resume in (False, True):
        study = go(tmp_path / "r", trials=100, resume=resume)
        command._say_what_next({"instance": [fake_instance()]}, study)
        assert capsys.readouterr().err.startswith(
            "mneme tune: the space has no more points: all 64 were tried\nmneme tune: the best: "
        )


def test_a_trial_keeps_its_speed_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 1000.0 if config == mneme.Config() else 500.0))
    before = go(tmp_path / "r", trials=8, confirm=0)
    use(monkeypatch, FakeExecutor(lambda config: 3000.0 if config == mneme.Config() else 1000.0))  # another clock
    after = go(tmp_path / "r", trials=12, confirm=0, resume=True)
    gains = {trial.number: after.speed_up_of(trial) for trial in after.trials if trial.state == "complete"}
    for trial in before.trials:
        if trial.state == "complete":
            assert gains[trial.number] == before.speed_up_of(trial)
    assert after.speed_up_seen == 2 and {2.0, 3.0} <= set(gains.values())
    first, again = (str(study).splitlines()[2] for study in (before, after))
    assert first == again


def test_time_that_was_up_is_no_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 1000.0 if "block" not in config.to_dict() else []))
    assert not go(tmp_path / "r", timeout=1, prune=False).exhausted
    use(monkeypatch, FakeExecutor(measure))
    study = go(tmp_path / "r", prune=False, resume=True)
    assert len(study.trials) == 64 and study.exhausted


def test_a_line_that_was_cut_off_is_left_out(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r")
    path = tmp_path / "r/trials.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    study = go(tmp_path / "r", resume=True)
    assert len(study.trials) == 64 and len(read_trials(path)) == 64


def test_one_run_at_a_time_works_on_a_folder(executor: FakeExecutor, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    go(folder, trials=4)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    with Folder(folder).alone():
        for options in ({"resume": True, "trials": 8}, {}):
            with pytest.raises(UnavailableError) as error:
                go(folder, **options)
            assert (
                str(error.value)
                == f"another run of tuning is working on {folder}: wait for its end, or name another folder"
            )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    assert len(go(folder, trials=8, resume=True).trials) == 8


def test_resuming_refuses_another_search(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", trials=4)
    with pytest.raises(InvalidArgumentError) as error:
        go(tmp_path / "r", sampler="random", resume=True)
    assert (
        str(error.value)
        == f'{tmp_path / "r"} cannot be resumed so: its sampler is "exhaustive", and "random" is asked for'
    )
    asked = json.loads((tmp_path / "r/tune.json").read_text())
    for option, value in (("seed", asked["seed"] + 1), ("ahead", asked["ahead"] + 1)):
        with pytest.raises(InvalidArgumentError, match=f"its {option} is {asked[option]}, and {value} is asked for"):
            go(tmp_path / "r", resume=True, **{option: value})
        assert len(go(tmp_path / "r", trials=4, resume=True, **{option: asked[option]}).trials) == 4
    with pytest.raises(InvalidArgumentError) as error:
        go(tmp_path / "r")
    assert (
        str(error.value)
        == f"{tmp_path / 'r'} has results already: resume them (--resume, resume=True), or name another folder"
    )
    with pytest.raises(NotFoundError) as missing:
        go(tmp_path / "none", resume=True)
    assert (
        str(missing.value)
        == f"{tmp_path / 'none'} has no tune.json: give the folder of results of an earlier `mneme tune`"
    )
    (tmp_path / "r/trials.jsonl").write_text('{"number": 1}\n')
    with pytest.raises(CorruptError, match="line 1 is no trial"):
        go(tmp_path / "r", trials=4, resume=True)
    (tmp_path / "r/tune.json").write_text("{}")
    with pytest.raises(CorruptError, match=r"tune\.json: it is not what mneme tune wrote"):
        go(tmp_path / "r", trials=4, resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": "lunch"}, "there is no search space 'lunch'; the nearest is 'launch'"),
        ({"space": 3}, "tuning: space must be a SearchSpace, parameters by name, or the name of a preset, and is 3"),
        ({"space": {"n": 3}}, "search space: 'n' is 3: give Int, Float, Categorical, Bool or Pipeline"),
        ({"space": "launch,compiler"}, "space 'launch,compiler': names are joined by +, as in launch+compiler"),
        ({"sampler": "TPE"}, "there is no sampler 'TPE'; the nearest is 'tpe'"),
        (
            {"sampler": "bayes"},
            "there is no sampler 'bayes'; there are: exhaustive, random, tpe, cmaes, nsga2, gp, grid",
        ),
        ({"sampler": "exhaustiv"}, "there is no sampler 'exhaustiv'; the nearest is 'exhaustive'"),
        ({"objectives": "tme"}, "there is no objective 'tme'; the nearest is 'time'"),
        ({"objectives": "time,time"}, "objective 'time' is there twice"),
        ({"objectives": ()}, "there must be an objective: of time, registers, object_size, compile_time"),
        ({"trials": 0}, "tuning: trials must be a whole number from 1 on, and is 0"),
        ({"timeout": 0}, "tuning: timeout must be seconds, above zero, and is 0"),
        ({"seed": "x"}, "tuning: seed must be a whole number from 0 on, and is 'x'"),
        ({"config": {}}, "tuning: config must be a Config, and is {}"),
        ({"compile_worker": 3}, "tune has no 'compile_worker'; the nearest is 'compile_workers'"),
        ({"objective": "time"}, "tune has no 'objective'; the nearest is 'objectives'"),
        ({"results_dir": None, "resume": True}, "resuming: name the folder of results (results_dir, --results-dir)"),
    ],
)
def test_what_is_wrong_is_named(executor: FakeExecutor, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MnemeError) as error:
        go(**{"results": tmp_path / "r", **options})
    assert str(error.value) == message
    assert not (tmp_path / "r").exists() and not executor.submitted


@pytest.mark.parametrize("instance", ["db", [None], {"a": 3}, 3])
def test_instance_that_is_none(executor: FakeExecutor, tmp_path: Path, instance: Any) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        tune(instance, SPACE, device="cpu", results_dir=tmp_path / "r")
    assert str(error.value) == (
        "tuning: instance must be a recorded launch, as mneme.Database('record-db')['scale'][0], or several "
        f"of one kernel, and is {(instance[0] if isinstance(instance, list) else instance)!r}"
    )


def test_instance_that_says_nothing_of_itself(executor: FakeExecutor, tmp_path: Path) -> None:
    class Silent:
        def __repr__(self) -> str:
            return ""

    with pytest.raises(InvalidArgumentError, match=r", and is a Silent$"):
        tune(Silent(), SPACE, device="cpu", results_dir=tmp_path / "r")  # type: ignore[arg-type]


def test_database_is_no_instance(executor: FakeExecutor, database: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r", and is Database .*: 1 kernel$"):
        tune(database, SPACE, device="cpu", results_dir=tmp_path / "r")


def test_space_may_be_its_parameters_by_name(executor: FakeExecutor, tmp_path: Path) -> None:
    assert len(go(tmp_path / "r", space={"codegen.level": Int(1, 3)}).trials) == 3


def test_derive_that_fails_ends_the_search(executor: FakeExecutor, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the configuration of \{'codegen.level': 4\}: "):
        go(tmp_path / "r", space=SearchSpace({"codegen.level": Int(3, 4)}))
    assert executor.closed and len(read_trials(tmp_path / "r/trials.jsonl")) <= 1


@pytest.mark.parametrize("storage", ["journal", "sqlite"])
def test_storage_of_optuna(executor: FakeExecutor, tmp_path: Path, storage: str) -> None:
    import optuna

    go(tmp_path / "r", trials=8, storage=storage)
    study = go(tmp_path / "r", trials=12, storage=storage, resume=True)
    assert not study.remarks
    if storage == "sqlite":
        kept: Any = f"sqlite:///{tmp_path}/r/optuna.db"
    else:
        kept = optuna.storages.JournalStorage(
            optuna.storages.journal.JournalFileBackend(str(tmp_path / "r/optuna.journal"))
        )
    (name,) = optuna.get_all_study_names(kept)
    assert name == "scale dddddddd r"
    trials = optuna.load_study(study_name=name, storage=kept).trials
    assert sorted(trial.user_attrs["number"] for trial in trials) == list(range(12))
    assert {trial.state.name for trial in trials} == {"COMPLETE", "PRUNED"}


def test_storage_that_is_none(executor: FakeExecutor, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        go(tmp_path / "r", storage="sqlit")
    assert (
        str(error.value)
        == "storage 'sqlit' is neither journal nor sqlite nor a URL of Optuna's; the nearest is 'sqlite'"
    )
    with pytest.raises(MnemeError, match="storage 'nowhere://x'"):
        go(tmp_path / "r2", storage="nowhere://x")


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


def test_bool_objective_of_a_space_without_numbers(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r", space=SearchSpace({"keep_threads": Bool()}), sampler="tpe", trials=5, seed=1)
    assert len(study.trials) == 5 and study.best is not None
