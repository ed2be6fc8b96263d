"""Code that is made and not run: by executors, by `mneme.replay`, by `tune` and its command. No device is needed."""

import json
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, MnemeError
from mneme.tune import tune
from mneme.tune.command import main

ARCHITECTURE = "compile:x86-64-v3"


def test_one_launch(instance: Any) -> None:
    result = mneme.replay(instance, mneme.Config(passes="default<O1>"), device=ARCHITECTURE)
    assert (result.failure, result.verified, result.time) == (None, False, None)
    assert result.details["stage"] == "compiled"
    assert result.details["device"] == "x86-64-v3"
    assert result.instructions is not None and result.instructions > 0
    assert result.object_size is not None and result.object_size > 0
    assert result.spills is None, "which the CPU device does not tell"
    assert "Result: compiled" in str(result._table().title)
    assert mneme.Result.from_dict(result.to_dict()) == result


def test_an_executor_needs_no_device(instance: Any) -> None:
    with mneme.Executor(instance, device=ARCHITECTURE) as executor:
        results = list(executor.map(mneme.Config(passes=f"default<O{level}>") for level in (0, 3)))
        assert executor.problem is None
    assert [result.failed for result in results] == [False, False]
    assert all(result.instructions for result in results)


def test_what_does_not_compile_says_so(instance: Any) -> None:
    result = mneme.replay(instance, mneme.Config(codegen={"code_object": 6}), device=ARCHITECTURE)
    assert result.failure == "compile_error"
    assert "codegen.code_object has no effect on the CPU device: leave it out there" in result.reason
    with pytest.raises(MnemeError, match="does not know the architecture"):
        mneme.replay(instance, device="compile:gfx9999")
    for_amd = mneme.replay(instance, device="compile:gfx942")
    assert for_amd.failure == "compile_error"
    assert "not for AMD GPUs" in for_amd.reason


def test_tuning_what_is_not_run(instance: Any, tmp_path: Path) -> None:
    study = tune(
        instance,
        "compiler",
        sampler="random",
        trials=6,
        seed=1,
        objectives=["instructions", "object_size"],
        device=ARCHITECTURE,
        results_dir=tmp_path / "tuned",
    )
    assert study.count("complete") + study.count("failed") == 6
    assert study.best is not None and study.best.instructions is not None
    assert study.best.time is None and study.speed_up is None
    assert study.best.instructions == min(trial.values(["instructions"])[0] for trial in study.ranking())
    again = tune(
        instance,
        "compiler",
        sampler="random",
        trials=6,
        objectives=["instructions", "object_size"],
        device=ARCHITECTURE,
        results_dir=tmp_path / "tuned",
        resume=True,
    )
    assert again.best is not None and again.best.number == study.best.number


def test_time_is_no_objective(instance: Any) -> None:
    with pytest.raises(
        InvalidArgumentError,
        match="objective 'time': nothing is run where it is only compiled; there are: registers, object_size",
    ):
        tune(instance, "compiler", device=ARCHITECTURE)


def test_the_command(recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        str(recordings),
        "scale",
        "--space",
        "compiler",
        "--sampler",
        "random",
        "--trials",
        "4",
        "--quiet",
        "--json",
    ]
    only = ["--compile-only", "--arch", "x86-64-v3", "--objective", "instructions"]
    assert main([*asked, *only, "--results-dir", str(tmp_path / "one")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["objectives"] == ["instructions"]
    assert told["device"] == ARCHITECTURE
    assert told["best"]["instructions"] > 0
    for wrong, why in (
        (["--arch", "gfx942"], "--arch is with --compile-only"),
        (["--compile-only", "--device", "cpu"], "--compile-only needs no device: leave --device and --devices out"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*asked, *wrong])
        assert ended.value.code == 64
        assert why in capsys.readouterr().err


def test_presets_have_the_knobs_of_the_kind(instance: Any) -> None:
    from mneme.tune.space import presets

    for_amd = presets.preset("specialise", instance, device="compile:gfx942").parameters
    assert "specialise.waves_per_eu" in for_amd
    assert "specialise.min_blocks" not in for_amd
    for_nvidia = presets.preset("specialise", instance, device="compile:sm_90").parameters
    assert "specialise.min_blocks" in for_nvidia
    assert "specialise.waves_per_eu" not in for_nvidia
    assert not [
        name for name in presets.preset("compiler", instance, device="compile:gfx942").parameters if "assembler" in name
    ]
