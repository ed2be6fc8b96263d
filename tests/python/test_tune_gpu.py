"""Tuning on a GPU: skipped, with the reason, where there is none."""

import json
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme._device import choose_device
from mneme.tune import Categorical, SearchSpace, preset, tune
from mneme.tune.space import passes

pytestmark = pytest.mark.skipif(choose_device(None, "testing")[0] != "cuda", reason="there is no GPU here")


def test_full_space(instance: Any, tmp_path: Path) -> None:
    """Every knob of a GPU; what it tells; a winner that is measured in turn."""
    study = tune(
        instance, trials=80, seed=1, device="cuda", objectives=("time", "registers"), results_dir=tmp_path / "r"
    )
    assert len(study.trials) == 80 and study.count("complete") > 20
    assert study.best is not None and study.best.registers and study.speed_up is not None
    assert study.front and set(study.failures) <= {"wrong_result", "invalid_launch", "compile_error"}
    knobs = [trial.params["assembler.max_registers"] for trial in study.trials if trial.state == "complete"]
    assert len(set(knobs)) > 3
    best = json.loads((tmp_path / "r/best.json").read_text())
    assert best["result"]["device_kind"] == "cuda" and best["result"]["verified"]


def test_grid_of_pipelines_and_blocks(instance: Any, tmp_path: Path) -> None:
    space = SearchSpace({"passes": Categorical(passes.DEFAULTS), "block.x": Categorical(list(range(64, 1025, 64)))})
    study = tune(instance, space, sampler="exhaustive", device="cuda", results_dir=tmp_path / "r")
    assert len(study.trials) == 80 and study.baseline.begin is not None and study.baseline.end is not None


def test_all_gpus(instance: Any, tmp_path: Path) -> None:
    """The search has all of them, the winner one."""
    study = tune(instance, "launch", sampler="random", trials=30, seed=1, results_dir=tmp_path / "r")
    assert len(study.trials) == 30 and study.speed_up is not None


def test_presets_know_the_gpu(instance: Any) -> None:
    assert "assembler.load_cache" in preset("compiler", instance, device="cuda").parameters
    assert "specialise.max_threads" in preset("specialise", instance, device="cuda").parameters
    assert isinstance(instance, mneme.Instance)
