"""A recording of a HIP program: all is done with it that is done with others. Neither ROCm nor a GPU is needed."""

import os
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme import llvm
from mneme.tune import tune
from mneme.tune.command import main
from mneme.tune.space import presets
from mneme.tune.space.facts import LaunchFacts, warp_of

RECORDING = Path(__file__).parent.parent / "recordings" / "hip"
MI300 = "compile:gfx942"


@pytest.fixture(scope="module")
def instance() -> Any:
    return mneme.Database(RECORDING)["scale"][0]


def test_it_says_what_it_was_compiled_for(instance: Any) -> None:
    assert (instance.kernel.target, instance.kernel.architecture) == ("amdgcn", "gfx90a")


def test_it_is_replayed_on_the_cpu_device(instance: Any) -> None:
    assert mneme.replay(instance, device="cpu").verified
    assert mneme.replay(instance, mneme.Config(grid={"x": 1}), device="cpu").failure == "wrong_result"
    specialised = mneme.Config(specialise={"arguments": ["n"], "dimensions": True}, block={"x": 64}, keep_threads=True)
    assert mneme.replay(instance, specialised, device="cpu").verified


def test_its_code_is_made_for_any_amd_gpu(instance: Any) -> None:
    as_recorded, other = (mneme.replay(instance, device=device) for device in ("compile:gfx90a", MI300))
    assert as_recorded.details["device"] == "gfx90a" and other.details["device"] == "gfx942"
    assert as_recorded.details["reg_usage"] > 0 and other.instructions is not None and other.spills == 0
    for_nvidia = mneme.replay(instance, device="compile:sm_90")
    assert for_nvidia.failure == "compile_error" and "not for NVIDIA GPUs" in for_nvidia.reason


def test_what_it_makes_of_its_launch_is_known(instance: Any) -> None:
    facts = LaunchFacts.of(instance, device="cpu")
    along_x = facts.directions["x"]
    assert along_x.sizes and along_x.threads and not along_x.blocks
    assert along_x.reason == "blockIdx.x counts threads only"
    assert facts.directions["y"].reason == "the kernel does not read threadIdx.y"


def test_its_blocks_are_whole_wavefronts(instance: Any) -> None:
    assert LaunchFacts.of(instance, device="cpu").warp == 64
    sizes: Any = presets.preset("launch", instance, device=MI300).parameters["block.x"]
    assert {size % 64 for size in sizes.choices if size != instance.block[0]} == {0}


@pytest.mark.parametrize(
    ("processor", "features", "warp"),
    [
        ("gfx90a", "", 64),
        ("gfx942", "+wavefrontsize64", 64),
        ("gfx803", "", 64),
        ("gfx9-4-generic", "", 64),
        ("gfx1100", "", 32),
        ("gfx1100", "+dot5-insts,+wavefrontsize64", 64),
        ("gfx1030", "-wavefrontsize64,+wavefrontsize32", 32),
        ("gfx10-1-generic", "", 32),
        ("sm_90", "+ptx88", 32),
    ],
)
def test_the_wavefront_is_the_one_that_code_was_compiled_for(processor: str, features: str, warp: int) -> None:
    attributes = f'"target-cpu"="{processor}" "target-features"="{features}"'
    module = llvm.parse(f"define void @kernel() {attributes} {{ ret void }}")
    assert warp_of(module, "kernel") == warp


def test_presets_have_the_knobs_of_amd(instance: Any) -> None:
    specialise = presets.preset("specialise", instance, device=MI300).parameters
    assert "specialise.waves_per_eu" in specialise and "specialise.min_blocks" not in specialise
    assert not [name for name in presets.preset("compiler", instance, device=MI300).parameters if "assembler" in name]


def test_its_launch_is_tuned(instance: Any, tmp_path: Path) -> None:
    study = tune(instance, "launch", trials=4, seed=1, device="cpu", results_dir=tmp_path / "launched")
    assert study.count("complete") >= 1
    assert study.best is not None and study.best.time is not None


def test_registers_are_tuned_where_nothing_is_run(tmp_path: Path) -> None:
    results = tmp_path / "tuned"
    asked = [
        "--compile-only",
        "--arch",
        "gfx942",
        "--space",
        "specialise",
        "--objective",
        "spills,registers",
        "--trials",
        "4",
    ]
    assert main([os.fspath(RECORDING), "scale", *asked, "--results-dir", str(results), "--json"]) == 0
    assert (results / "results.jsonl").exists()


def test_a_pass_of_amds_parses_for_it(instance: Any, tmp_path: Path) -> None:
    config = mneme.Config(passes="function(amdgpu-promote-kernel-arguments),default<O1>")
    study = tune(instance, "launch", config=config, trials=1, seed=1, device="cpu", results_dir=tmp_path / "passes")
    assert study.count("complete") == 1
