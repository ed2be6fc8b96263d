"""What tune() is asked: what is wrong is named before anything is made."""

import json
from pathlib import Path
from typing import Any

import pytest
from mneme.errors import InvalidArgumentError, MnemeError
from mneme.results.folder import make_fresh_folder
from mneme.tune import Int, tune

from fake_executor import SPACE, FakeExecutor, fake_instance, go


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
        (
            {"objectives": ()},
            "there must be an objective: of time, registers, object_size, compile_time, instructions, spills",
        ),
        ({"trials": 0}, "tuning: trials must be a whole number from 1 on, and is 0"),
        ({"trials": True}, "tuning: trials must be a whole number from 1 on, and is True"),
        ({"ahead": 0}, "tuning: ahead must be a whole number from 1 on, and is 0"),
        ({"confirm": -1}, "tuning: confirm must be a whole number from 0 on, and is -1"),
        ({"timeout": 0}, "tuning: timeout must be seconds, above zero, and is 0"),
        ({"timeout": True}, "tuning: timeout must be seconds, above zero, and is True"),
        ({"timeout": float("nan")}, "tuning: timeout must be seconds, above zero, and is nan"),
        ({"seed": -1}, "tuning: seed must be a whole number from 0 on, and is -1"),
        ({"seed": "x"}, "tuning: seed must be a whole number from 0 on, and is 'x'"),
        ({"weights": "both"}, 'tuning: weights must be "program" or "equal", and is \'both\''),
        ({"weights": [1, 2]}, 'tuning: weights must be "program" or "equal", and is [1, 2]'),
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


def test_storage_that_is_none(executor: FakeExecutor, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        go(tmp_path / "r", storage="sqlit")
    assert (
        str(error.value)
        == "storage 'sqlit' is neither journal nor sqlite nor a URL of Optuna's; the nearest is 'sqlite'"
    )
    with pytest.raises(MnemeError, match="storage 'nowhere://x'"):
        go(tmp_path / "r2", storage="nowhere://x")


def asked(results: Path) -> dict[str, Any]:
    members: dict[str, Any] = json.loads((results / "tune.json").read_text())
    return members


def test_what_is_not_said_is_as_usual(executor: FakeExecutor, tmp_path: Path) -> None:
    for name in ("one", "other"):
        tune([fake_instance()], SPACE, device="cpu", results_dir=tmp_path / name)
    one, other = asked(tmp_path / "one"), asked(tmp_path / "other")
    assert one.pop("seed") != other.pop("seed")
    usual = {"sampler": "tpe", "trials": 100, "timeout": None, "objectives": ["time"], "ahead": 16, "probe": 25}
    usual |= {"prune": True, "confirm": 10, "storage": None, "limits": {}, "share": True, "compile_workers": None}
    assert {name: one[name] for name in usual} == usual
    for sampler in ("grid", "exhaustive"):
        tune([fake_instance()], SPACE, sampler=sampler, device="cpu", results_dir=tmp_path / sampler, confirm=0)
        assert (asked(tmp_path / sampler)["trials"], asked(tmp_path / sampler)["ahead"]) == (None, 64)


@pytest.mark.parametrize(("trials", "ahead"), [(1, 16), (135, 16), (136, 17), (511, 63), (512, 64), (1000, 64)])
def test_an_eighth_of_the_trials_is_ahead(executor: FakeExecutor, tmp_path: Path, trials: int, ahead: int) -> None:
    go(tmp_path / "r", trials=trials, confirm=0, seed=0)
    assert (asked(tmp_path / "r")["ahead"], asked(tmp_path / "r")["seed"]) == (ahead, 0)


def test_folders_that_are_made_in_one_second_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mneme.results.folder.time.strftime", lambda format: format)
    names = [make_fresh_folder("tune", tmp_path).name for _ in range(3)]
    assert names == ["tune-%Y%m%d-%H%M%S" + suffix for suffix in ("", "-2", "-3")]
    assert all((tmp_path / name).is_dir() for name in names)
