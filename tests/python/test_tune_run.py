"""tune() over an executor that measures nothing: what is tried, given up, written and shown."""

import json
import math
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, IoError, MnemeError, UnavailableError, UnsupportedError
from mneme.results.files import write_json
from mneme.results.trials import Trial, read_trials
from mneme.tune import Bool, Int, SearchSpace, Study, run
from mneme.tune.kept.storage import Storage

from fake_executor import SPACE, FakeExecutor, FakeResult, fake_instance, go, measure, use


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


def test_the_baseline_is_timed_and_judged_as_the_trials_are() -> None:
    config = mneme.Config(
        block=64,
        passes="default<O1>",
        shared_memory=64,
        keep_threads=True,
        specialise={"dimensions": True},
        codegen={"level": 1},
        assembler={"max_registers": 32},
        execution={"iterations": 3},
        tolerance=["out: f32, 1e-5, relative"],
        verdict={"mask": False},
    )
    members = config.to_dict()
    assert run.baseline_of(config).to_dict() == {
        "passes": "as-built",
        **{name: members[name] for name in ("execution", "tolerance", "verdict")},
    }


def test_what_is_recorded_is_what_all_instances_have() -> None:
    one = fake_instance(grid=(2, 3, 4), block=(5, 6, 7), shared_memory=8)
    other = fake_instance(grid=(2, 9, 4), block=(5, 6, 9), shared_memory=16)
    assert run.recorded_launch([one]) == {
        "passes": "as-built",
        "grid": {"x": 2, "y": 3, "z": 4},
        "block": {"x": 5, "y": 6, "z": 7},
        "shared_memory": 8,
    }
    assert run.recorded_launch([one, other]) == {
        "passes": "as-built",
        "grid": {"x": 2, "y": None, "z": 4},
        "block": {"x": 5, "y": 6, "z": None},
        "shared_memory": None,
    }


def test_what_the_executor_has_to_say(executor: FakeExecutor, tmp_path: Path) -> None:
    executor.problem = MnemeError("the disk is full")
    assert "the disk is full" in go(tmp_path / "r", trials=2, confirm=0).remarks


def test_shows_itself(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r")
    assert str(study).splitlines()[0] == "Best of scale(int*, int)"
    assert "is 1.063 (1.063 to 1.063, 95 %) times as fast" in str(study)
    html = study._repr_html_()
    assert html.startswith("<div><p>Best of scale(int*, int)</p><table>") and "is 1.063 (1.063 to 1.063, 95 %)" in html
    assert '<td style="text-align:left">not confirmed</td>' in html
    assert "time=1.01 us" in repr(study) and "begin=1.07 us" in repr(study.baseline)
    assert "time=1.01 us" in repr(study.best)


def test_optunas_study_is_at_hand(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r")
    optunas = study.optuna_study()
    assert len(optunas.trials) == 64 and optunas.best_value == 1011
    assert [trial.state.name for trial in optunas.trials].count("PRUNED") == 16  # what failed
    assert optunas.best_trial.user_attrs["number"] == study.ranking()[0].number
    study.trials.append(Trial(99, {"block.x": 48, "codegen.level": 3, "passes": ("default<O2>",)}, state="failed"))
    assert len(study.optuna_study().trials) == 64, "of a space that has become smaller"
    with pytest.raises(InvalidArgumentError, match="needs the search space, which this study does not have"):
        Study("scale", ("time",), tmp_path).optuna_study()


def test_a_study_is_plotted(executor: FakeExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = go(tmp_path / "r")
    traces = {trace.name: trace for trace in study.plot().data}
    assert set(traces) == {"right", "failed", "best so far", "as recorded"}
    assert len(traces["right"].x) == 48 and len(traces["failed"].x) == 16
    assert min(traces["right"].y) == traces["best so far"].y[-1] == 1.011
    assert set(traces["as recorded"].y) == {1.075}
    assert not Study("<b>\x1b[2J", ("time",), tmp_path).plot().data
    assert Study("<b>\x1b[2J", ("time",), tmp_path).plot().layout.title.text == r"&lt;b>\x1b[2J"
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(UnavailableError, match=r"a figure of a study needs the package plotly.* pip install plotly"):
        study.plot()


def test_a_figure_has_each_trial_at_its_place(tmp_path: Path) -> None:
    study = Study("scale", ("time",), tmp_path)
    study.baseline.begin, study.baseline.end = 6000.0, 8000.0
    times = [("complete", 9000.0), ("failed", None), ("complete", 5000.0), ("pruned", 4000.0), ("complete", 5000.0)]
    for place, (state, time) in enumerate(times):
        failure = "wrong_result" if state == "failed" else None
        study.add(Trial(10 - place, {"a": "<b>"}, state=state, time=time, failure=failure, digest=f"{place}"))
    figure = study.plot()
    assert {trace.name: (list(trace.x), list(trace.y)) for trace in figure.data} == {
        "right": ([1, 3, 5], [9.0, 5.0, 5.0]),
        "given up": ([4], [4.0]),
        "failed": ([2], [0]),
        "best so far": ([1, 3, 5], [9.0, 5.0, 5.0]),
        "as recorded": ([1, 5], [7.0, 7.0]),
    }
    texts = {trace.name: list(trace.text) for trace in figure.data if trace.text}
    assert texts["failed"] == ["trial 9: wrong_result<br>a = &lt;b>"]
    assert texts["right"][1] == "trial 8: 5.00 us<br>a = &lt;b>"
    (level,) = Study("scale", ("time",), tmp_path, baseline=study.baseline).plot().data
    assert (level.name, list(level.x), list(level.y)) == ("as recorded", [1, 1], [7.0, 7.0])


def test_nothing_is_left_where_nothing_could_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(measure))

    def refuse(instances: Any, options: Any) -> FakeExecutor:
        raise MnemeError("there is no such device")

    monkeypatch.setattr("mneme.tune.run.open_executor", refuse)
    for storage in (None, "journal"):
        with pytest.raises(MnemeError, match="there is no such device"):
            go(tmp_path / "r", storage=storage)
        assert not (tmp_path / "r/tune.json").exists()


def test_a_space_with_as_many_points_as_trials_has_enough(executor: FakeExecutor, tmp_path: Path) -> None:
    said = "the space has 64 points, fewer than 65 trials: --sampler exhaustive tries each once"
    assert said not in go(tmp_path / "enough", sampler="random", trials=64, confirm=0).remarks
    assert go(tmp_path / "enough", sampler="random", trials=64, confirm=0, resume=True).remarks == []
    assert said in go(tmp_path / "few", sampler="random", trials=65, confirm=0).remarks


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


def test_nothing_is_given_up_for_its_time_where_that_is_one_objective_of_several(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def slow(config: mneme.Config) -> Any:
        block = config.to_dict().get("block", {}).get("x", 128)
        return 1000.0 if block <= 128 else [1300.0, 1100.0, 1250.0, 1260.0]

    use(monkeypatch, FakeExecutor(slow))
    assert go(tmp_path / "r", objectives=["time", "registers"], timeout=2).count("pruned") == 0


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


def test_others_errors_are_not_the_folders(executor: FakeExecutor, tmp_path: Path) -> None:
    def progress(study: Study, stage: str) -> None:
        raise ConnectionRefusedError("dashboard")

    with pytest.raises(ConnectionRefusedError, match="dashboard"):
        go(tmp_path / "r", trials=4, progress=progress)


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


def test_files_that_are_links_or_no_files(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.json").symlink_to("elsewhere/best.json")
    write_json(tmp_path / "link.json", [1])
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "elsewhere/best.json").read_text()) == [1]
    os.mkfifo(tmp_path / "fifo")
    with ThreadPoolExecutor() as threads:
        heard = threads.submit((tmp_path / "fifo").read_text)
        write_json(tmp_path / "fifo", [2])
        assert json.loads(heard.result()) == [2]
    assert (tmp_path / "fifo").is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "fifo", "link.json"]


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


def test_storage_of_several_objectives(executor: FakeExecutor, tmp_path: Path) -> None:
    import optuna

    study = go(tmp_path / "r", trials=20, storage="sqlite", objectives="registers,time", confirm=0)
    (kept,) = optuna.get_all_study_summaries(f"sqlite:///{tmp_path}/r/optuna.db")
    assert [direction.name for direction in kept.directions] == ["MINIMIZE"] * 2
    loaded = optuna.load_study(study_name=kept.study_name, storage=f"sqlite:///{tmp_path}/r/optuna.db")
    assert loaded.metric_names == study.optuna_study().metric_names == ["registers", "time"]
    for trials in (loaded.trials, study.optuna_study().trials):
        found = {trial.user_attrs["number"]: (trial.values, trial.user_attrs) for trial in trials}
        assert len(found) == len(study.trials) == 20
        for trial in study.trials:
            told: dict[str, Any] = {"number": trial.number, "digest": trial.digest, "origin": trial.origin}
            if trial.state == "failed":
                assert found[trial.number] == (None, told | {"failure": trial.failure, "reason": trial.reason})
            else:
                assert found[trial.number] == ([trial.registers, trial.time], told)


def test_storage_that_fails_later_is_a_remark(
    monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor, tmp_path: Path
) -> None:
    import optuna

    def full(self: Any, trial: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(optuna.Study, "add_trial", full)
        study = go(tmp_path / "r", trials=8, storage="journal")
    assert study.remarks == ["the storage could not be written: the disk is full"]
    assert json.loads((tmp_path / "r/summary.json").read_text())["remarks"] == study.remarks
    assert len(study.trials) == 8 and study.speed_up is not None
    # What it lacks is written where nothing is left to measure, too.
    submitted = len(executor.submitted)
    go(tmp_path / "r", trials=8, storage="sqlite", resume=True)
    (kept,) = optuna.get_all_study_summaries(f"sqlite:///{tmp_path}/r/optuna.db")
    assert kept.n_trials == 8 and len(executor.submitted) == submitted


def test_a_storage_is_waited_for_no_longer_than_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import optuna

    may_write = threading.Event()
    add = optuna.Study.add_trial

    def add_later(self: Any, trial: Any) -> None:
        assert may_write.wait(60)
        add(self, trial)

    def opened() -> Storage:
        return Storage("journal", "scale", folder=tmp_path, space=SPACE, objectives=["time"])

    def trial(number: int) -> Trial:
        params = {"block.x": 64, "codegen.level": 1, "passes": ("default<O2>",)}
        return Trial(number, params, state="complete", time=9.0)

    monkeypatch.setattr(optuna.Study, "add_trial", add_later)
    verbosity = optuna.logging.get_verbosity()
    store = opened()
    assert optuna.logging.get_verbosity() == verbosity != optuna.logging.ERROR
    for number in (0, 1):
        store.append(trial(number))
    assert store.close(wait=0) == "not all trials are in the storage yet; --resume writes the others"
    may_write.set()
    assert store.close() is None
    again = opened()
    for number in (0, 2, 1):
        again.append(trial(number))
    assert again.close() is None
    assert [each.user_attrs["number"] for each in again._study.trials] == [0, 1, 2]


def test_bool_objective_of_a_space_without_numbers(executor: FakeExecutor, tmp_path: Path) -> None:
    study = go(tmp_path / "r", space=SearchSpace({"keep_threads": Bool()}), sampler="tpe", trials=5, seed=1)
    assert len(study.trials) == 5 and study.best is not None
