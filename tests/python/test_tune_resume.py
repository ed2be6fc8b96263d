"""Going on with a run: nothing is measured twice, and another search is refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import (
    CorruptError,
    IncompatibleError,
    InvalidArgumentError,
    MnemeError,
    NotFoundError,
    UnavailableError,
    UnsupportedError,
)
from mneme.results.trials import read_trials
from mneme.tune import command
from mneme.tune.kept.asked import Asked, Folder

from fake_executor import FakeExecutor, fake_instance, go, measure, use


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


def test_a_run_of_an_older_version_is_gone_on_with(executor: FakeExecutor, tmp_path: Path) -> None:
    config = mneme.Config(verdict={"mask": False})
    go(tmp_path / "r", trials=8, confirm=0, config=config)
    for name in ("tune.json", "trials.jsonl", "best.json", "summary.json"):
        path = tmp_path / "r" / name
        path.write_text(path.read_text().replace('"mask"', '"poison"'))
    assert '"poison"' in (tmp_path / "r/tune.json").read_text()
    submitted = len(executor.submitted)
    go(tmp_path / "r", trials=8, confirm=0, config=config, resume=True)
    assert len(executor.submitted) == submitted
    study = go(tmp_path / "r", trials=12, confirm=0, config=config, resume=True)
    assert len(executor.submitted) == submitted + 4 and len(study.trials) == 12
    assert all(trial.config is not None and trial.digest == trial.config.digest for trial in study.trials)


def test_resuming_what_is_done_with_other_rounds_measures_only_the_winner(
    executor: FakeExecutor, tmp_path: Path
) -> None:
    go(tmp_path / "r", confirm=0)
    submitted = len(executor.submitted)
    study = go(tmp_path / "r", resume=True, confirm=5)
    assert len(study.trials) == 64 and len(executor.submitted) == submitted
    assert study.speed_up is not None and study.speed_up.rounds == 5


def test_resuming_what_is_done_with_fewer_rounds_measures_the_winner_so_often(
    executor: FakeExecutor, tmp_path: Path
) -> None:
    go(tmp_path / "r", confirm=6)
    study = go(tmp_path / "r", resume=True, confirm=5)
    assert study.speed_up is not None and study.speed_up.rounds == 5


def test_what_is_interrupted_in_its_rounds_goes_on(
    executor: FakeExecutor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = go(tmp_path / "r", trials=8, confirm=0)
    study.interrupted = True
    command._say_what_next({"instance": [fake_instance()]}, study)
    assert capsys.readouterr().err.startswith(
        f"mneme tune: not all is done; mneme tune --resume {tmp_path}/r goes on\n"
    )


def test_what_is_done_is_kept_where_a_run_cannot_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(measure))
    go(tmp_path / "r", trials=8)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.name != "tune.json"}

    def refuse(instances: Any, options: Any) -> FakeExecutor:
        raise MnemeError("there is no such device")

    monkeypatch.setattr("mneme.tune.run.open_executor", refuse)
    with pytest.raises(MnemeError, match="there is no such device"):
        go(tmp_path / "r", trials=12, resume=True)
    assert kept == {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir() if path.name != "tune.json"}
    use(monkeypatch, FakeExecutor(measure))
    assert len(go(tmp_path / "r", trials=12, resume=True).trials) == 12


def test_failures_are_kept_where_the_device_does_not_tell_an_objective(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Untold(FakeExecutor):
        def submit(self, config: mneme.Config) -> Any:
            future = super().submit(config)
            future.result().registers = None
            return future

    use(monkeypatch, FakeExecutor(lambda config: "run_timeout"))
    go(tmp_path / "r", trials=4, objectives="time,registers")
    use(monkeypatch, Untold(lambda config: 1000.0))
    with pytest.raises(UnsupportedError):
        go(tmp_path / "r", trials=8, objectives="time,registers", resume=True)
    assert len(read_trials(tmp_path / "r/trials.jsonl")) == 4


def test_a_recording_that_is_still_at_its_place_is_used_there(tmp_path: Path) -> None:
    for where in ("here", "copy"):
        (tmp_path / where / "db").mkdir(parents=True)
        (tmp_path / where / "db" / f"{ASKED.static_hash}.json").touch()
    asked = dataclasses.replace(ASKED, database=str(tmp_path / "here/db"))
    Folder(tmp_path / "here/r").path.mkdir()
    Folder(tmp_path / "here/r").begin(asked)
    (tmp_path / "here/r").rename(tmp_path / "copy/r")
    assert Folder(tmp_path / "copy/r").read() == asked
    asked.kernel_file.unlink()
    assert Folder(tmp_path / "copy/r").read().database == str(tmp_path / "copy/db")


def test_a_summary_that_is_nested_too_deep_is_written_anew(executor: FakeExecutor, tmp_path: Path) -> None:
    go(tmp_path / "r", trials=4)
    (tmp_path / "r/summary.json").write_text("[" * 100_000)
    assert len(go(tmp_path / "r", trials=4, resume=True).trials) == 4
    assert json.loads((tmp_path / "r/summary.json").read_text())["trials"] == 4


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
    first, again = (str(study).splitlines()[3] for study in (before, after))  # below the launch as recorded
    assert first == again and "not confirmed" in first


def test_a_trial_that_was_done_before_its_baseline_has_that_of_its_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, FakeExecutor(lambda config: 1000.0 if config == mneme.Config() else 500.0))
    go(tmp_path / "r", trials=8, confirm=0)
    log = tmp_path / "r/trials.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["baseline"] for line in lines} == {1000.0}
    for line in lines[:3]:
        line["baseline"] = None
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    use(monkeypatch, FakeExecutor(lambda config: 3000.0 if config == mneme.Config() else 1000.0))
    after = go(tmp_path / "r", trials=12, confirm=0, resume=True)
    assert [trial.baseline for trial in after.trials] == [1000.0] * 8 + [3000.0] * 4
    done = {line["number"] for line in lines if line["state"] == "complete"}
    assert {after.speed_up_of(trial) for trial in after.trials if trial.number in done} <= {1.0, 2.0}


ASKED = Asked(
    database="/a/database",
    kernel="scale(int*)",
    static_hash="5" * 32,
    instances=["d" * 32],
    device="cpu",
    space={"parameters": {}},
    preset="launch",
    sampler="tpe",
    seed=3,
    trials=10,
    timeout=5.0,
    objectives=["time"],
    configuration={"passes": "as-built"},
    ahead=16,
    prune=True,
    confirm=5,
    storage=None,
    storage_name="scale",
    limits={},
    probe=4,
)
OTHERS: dict[str, Any] = {
    "database": "/another",
    "kernel": "other()",
    "static_hash": "6" * 32,
    "instances": ["e" * 32],
    "device": "cuda",
    "space": {"parameters": {"a": 1}},
    "preset": None,
    "sampler": "random",
    "seed": 4,
    "trials": 20,
    "timeout": None,
    "objectives": ["registers", "time"],
    "configuration": {"passes": "default<O1>"},
    "ahead": 32,
    "prune": False,
    "confirm": 10,
    "storage": "journal",
    "storage_name": "other",
    "limits": {"run_timeout": 3},
    "share": False,
    "compile_workers": 2,
    "recorded_passes": "default<O3>",
    "probe": 0,
    "weights": {"by": "program", "of": [1.5, 0.5]},
}


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Asked)])
def test_only_what_changes_no_result_may_be_asked_anew(tmp_path: Path, name: str) -> None:
    folder = Folder(tmp_path)
    folder.begin(ASKED)
    assert folder.read() == ASKED
    other = dataclasses.replace(ASKED, **{name: OTHERS[name]})
    assert other != ASKED
    if name in ("trials", "timeout", "storage", "confirm", "database", "limits", "share", "compile_workers"):
        assert folder.resume(other) == other == folder.read()
    elif name in (
        "seed",
        "ahead",
        "probe",
        "storage_name",
        "recorded_passes",
        "weights",
    ):  # of the earlier run, where they are not asked for
        assert folder.resume(other) == ASKED
        if name not in ("storage_name", "recorded_passes"):
            given: Any = "program" if name == "weights" else OTHERS[name]
            with pytest.raises(InvalidArgumentError, match=f"its {name} is "):
                folder.resume(other, **{name: given})
    else:
        with pytest.raises(InvalidArgumentError, match="cannot be resumed so: its "):
            folder.resume(other)
        assert folder.read() == ASKED


@pytest.mark.parametrize("version", [0, 4, "2"])
def test_a_run_of_a_version_that_is_not_known_is_refused(tmp_path: Path, version: Any) -> None:
    folder = Folder(tmp_path)
    folder.begin(ASKED)
    members = json.loads(folder.asked.read_text())
    folder.asked.write_text(json.dumps({**members, "mneme_tune": version}))
    with pytest.raises(IncompatibleError, match=f"its version is {version}, and 3 is known"):
        folder.read()
    folder.asked.write_text(json.dumps({**members, "of_tomorrow": 1}))
    with pytest.raises(CorruptError, match="of_tomorrow"):
        folder.read()


@pytest.mark.parametrize("version", [1, 2])
def test_where_no_pipeline_was_named_an_older_run_goes_on_as_it_began(tmp_path: Path, version: int) -> None:
    folder = Folder(tmp_path)
    folder.begin(ASKED)
    members = json.loads(folder.asked.read_text())
    del members["recorded_passes"]
    members |= {"mneme_tune": version, "configuration": {"passes": "default<O3>"}}
    if version == 1:
        for name in ("limits", "share", "compile_workers"):
            del members[name]
        members["executor"] = {}
    folder.asked.write_text(json.dumps(members))
    assert folder.read().recorded_passes == "default<O3>"
    for _ in range(2):  # and what it wrote anew
        gone_on = folder.resume(ASKED)
        assert gone_on.configuration == {"passes": "default<O3>"} and gone_on.recorded_passes == "default<O3>"
    with pytest.raises(InvalidArgumentError, match="its configuration is "):
        folder.resume(dataclasses.replace(ASKED, configuration={"passes": "default<O1>"}))


@pytest.mark.parametrize(("done", "trials", "kept"), [(12, 10, 12), (12, None, None), (10, 10, 10), (3, 10, 10)])
def test_what_is_kept_is_no_fewer_trials_than_are_done(
    tmp_path: Path, done: int, trials: int | None, kept: int | None
) -> None:
    folder = Folder(tmp_path)
    folder.begin(ASKED)
    folder.trials.write_text("{}\n" * done + "{")
    other = dataclasses.replace(ASKED, trials=trials)
    assert folder.resume(other) == other
    assert folder.read() == dataclasses.replace(other, trials=kept)


def test_what_is_long_is_cut_where_it_differs(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.begin(dataclasses.replace(ASKED, kernel="k" * 78))
    with pytest.raises(InvalidArgumentError) as error:
        folder.resume(dataclasses.replace(ASKED, kernel="k" * 79))
    assert str(error.value).endswith(f'its kernel is "{"k" * 78}", and "{"k" * 76}… is asked for')


def test_what_an_executor_is_opened_with_is_what_was_given() -> None:
    assert ASKED.executor == {}
    given = dataclasses.replace(ASKED, share=False, compile_workers=2, limits={"run_timeout": 3})
    for _ in range(2):
        assert given.executor == {"run_timeout": 3, "share": False, "compile_workers": 2}
        assert given.limits == {"run_timeout": 3}


def test_what_is_undone_leaves_only_what_others_put_there(tmp_path: Path) -> None:
    for others in ([], ["notes.txt"]):
        folder = Folder(tmp_path / "r")
        folder.path.mkdir()
        folder.begin(ASKED)
        for path in (folder.log, folder.trials, *(folder.path / name for name in others)):
            path.touch()
        folder.undo()
        assert ([path.name for path in folder.path.iterdir()] if folder.path.exists() else []) == others
        assert folder.path.exists() == bool(others)


def test_what_goes_on_draws_other_points(executor: FakeExecutor, tmp_path: Path) -> None:
    for trials in (8, 16):
        study = go(tmp_path / "r", sampler="tpe", seed=3, trials=trials, confirm=0, resume=trials > 8)
    points = [trial.params for trial in sorted(study.trials, key=lambda trial: trial.number)]
    assert len(points) == 16 and points[8:] != points[:8]
    assert sum(point in points[:8] for point in points[8:]) < 4


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
    (tmp_path / "r/trials.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(CorruptError, match=r"trials\.jsonl: line 1 is no trial: it is nested deeper than 64"):
        go(tmp_path / "r", trials=4, resume=True)
    (tmp_path / "r/tune.json").write_text("[" * 100_000)
    with pytest.raises(CorruptError, match=r"tune\.json: it is not what mneme tune wrote: it is nested deeper than 64"):
        go(tmp_path / "r", trials=4, resume=True)
    (tmp_path / "r/tune.json").write_text("{}")
    with pytest.raises(CorruptError, match=r"tune\.json: it is not what mneme tune wrote"):
        go(tmp_path / "r", trials=4, resume=True)
