"""The presets: search spaces made for a recorded launch and a device."""

import dataclasses
import math
import random
import types
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme import llvm
from mneme.tune import Categorical, LaunchFacts, SearchSpace
from mneme.tune.space import passes, presets
from mneme.tune.space.indexing import ANY, Direction
from mneme.tune.space.launches import launch

from fake_executor import fake_instance

FACTS = LaunchFacts((313, 1, 1), (128, 1, 1), scalars=("n", "a"))


def test_presets_begin_with_the_recorded_launch() -> None:
    for name, make in presets.PRESETS.items():
        space = make(FACTS)
        assert space.derive(space.start[0]) in (mneme.Config(), mneme.Config(block=128)), name


def test_full_begins_with_what_is_tried_first_by_hand() -> None:
    """As recorded, then specialised to all that is known under each of LLVM's pipelines."""
    every = {"arguments": ["n", "a"], "max_threads": 128}
    every |= dict.fromkeys(("dimensions", "ranges", "alignment", "no_alias"), True)
    facts = LaunchFacts((40000, 1, 1), (128, 1, 1), scalars=("n", "a"), device="cuda")
    pipelines = ("as-built", *passes.DEFAULTS)
    assert started(presets.full(facts)) == [("as-built", None), *((pipeline, every) for pipeline in pipelines)]
    assert started(presets.compiler(facts)) == [(pipeline, None) for pipeline in pipelines]
    assert started(presets.specialise(facts)) == [("as-built", None), ("as-built", every)]
    of_machine_code = presets.compiler(dataclasses.replace(facts, passes="default<O3>"))
    assert started(of_machine_code) == [(default, None) for default in passes.DEFAULTS]
    assert len(launch(facts).start) == 1


def started(space: SearchSpace) -> list[tuple[str, Any]]:
    configs = [space.derive(point).to_dict() for point in space.start]
    return [(config["passes"], config.get("specialise")) for config in configs]


def test_launch_knows_legal_blocks() -> None:
    sizes = launch(FACTS).parameters["block.x"]
    assert isinstance(sizes, Categorical) and sizes.choices == tuple(range(32, 1025, 32))
    bound = launch(LaunchFacts((10, 1, 1), (100, 1, 1), most_threads=256)).parameters["block.x"]
    assert isinstance(bound, Categorical) and bound.choices == (32, 64, 96, 100, 128, 160, 192, 224, 256)
    small = launch(LaunchFacts((1, 1, 1), (40, 1, 1))).parameters["block.x"]
    assert isinstance(small, Categorical) and small.choices == (32, 40, 64)


def test_blocks_are_whole_wavefronts() -> None:
    sizes = launch(LaunchFacts((313, 1, 1), (128, 1, 1), warp=64)).parameters["block.x"]
    assert isinstance(sizes, Categorical) and sizes.choices == tuple(range(64, 1025, 64))
    small = launch(LaunchFacts((1, 1, 1), (40, 1, 1), warp=64)).parameters["block.x"]
    assert isinstance(small, Categorical) and small.choices == (40, 64)
    tiles = launch(LaunchFacts((10, 7, 1), (32, 8, 1), warp=64))
    assert "64 <= block.x * block.y <= 1024" in tiles.constraints


def test_without_ir_what_the_code_lacks_stays_out() -> None:
    def made(name: str, code: str) -> SearchSpace:
        return presets.PRESETS[name](LaunchFacts((313, 1, 1), (128, 1, 1), code=code))

    for code, recorded in (("ptx", "PTX"), ("cubin", "machine code (cubin)")):
        assert set(made("launch", code).parameters) == set(launch(FACTS).parameters)
        assert not made("specialise", code).parameters
        assert made("specialise", code).notes == (
            "no fact of the launch goes into the code: the kernel was recorded without IR",
        )
        assert recorded in made("compiler", code).notes[0]
        full = made("full", code)
        assert full.derive(full.start[0]) in (mneme.Config(), mneme.Config(block=128))
        assert not {name.split(".")[0] for name in full.parameters} & {"passes", "linkage", "codegen", "specialise"}
    assert set(made("compiler", "ptx").parameters) == {
        "assembler.level",
        "assembler.max_registers",
        "assembler.load_cache",
        "assembler.store_cache",
    }
    assert not made("compiler", "cubin").parameters


def test_what_is_known_of_a_launch_without_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = mneme.Database(Path(__file__).parents[1] / "corpora" / "3.0")["scale"][0]
    facts = LaunchFacts.of(instance)
    assert (facts.code, facts.grid, facts.block, facts.scalars) == ("ptx", (313, 1, 1), (128, 1, 1), ())
    assert set(facts.directions.values()) == {ANY}
    native = types.SimpleNamespace(required_block=lambda kernel: (128, 1, 1))
    bound = fake_instance(
        kernel=types.SimpleNamespace(code="cubin", _native=None), database=types.SimpleNamespace(_native=native)
    )
    space = launch(LaunchFacts.of(bound))
    assert not space.parameters
    assert space.notes == ("block.x stays 128: the kernel's code can be launched with this block only (.reqntid)",)


def test_what_is_known_of_a_launch() -> None:
    arguments = [
        types.SimpleNamespace(name=name, kind=kind)
        for name, kind in (("n", "integer"), ("", "integer"), ("x", "pointer"), ("a", "floating"), ("s", "bytes"))
    ]
    launch = fake_instance(grid=(3, 5, 7), block=(2, 4, 8), shared_memory=96, arguments=arguments, device_kind="cuda")
    facts = LaunchFacts.of(launch)
    assert (facts.grid, facts.block, facts.threads, facts.shared_memory) == ((3, 5, 7), (2, 4, 8), 64, 96)
    assert (facts.scalars, facts.device, facts.most_threads) == (("n", "a"), "cuda", 1024)
    assert [LaunchFacts.of(launch, device).device for device in ("cpu", "cuda:1", None)] == ["cpu", "cuda", "cuda"]


def test_launch_bounds_of_the_kernel() -> None:
    for attribute, most in (
        ('"nvvm.maxntid"="256"', 256),
        ('"nvvm.maxntid"="16,16,1"', 256),
        ('"nvvm.maxntid"="2048"', 1024),
        ("", 1024),
    ):
        text = f"define void @_Z5scalePii() {attribute} {{ ret void }}"
        launch = fake_instance(module=lambda text=text: llvm.parse(text))
        assert LaunchFacts.of(launch).most_threads == most


def test_launch_of_a_kernel_that_requires_its_block() -> None:
    text = 'define void @_Z5scalePii() "nvvm.reqntid"="128" { ret void }'
    space = launch(LaunchFacts.of(fake_instance(module=lambda: llvm.parse(text))))
    assert "block.x" not in space.parameters
    assert space.notes == ("block.x stays 128: the kernel is compiled for this block only (nvvm.reqntid)",)


BUILT_IN = Direction(sizes=False, reason="built in")


BY_BLOCKS = Direction(threads=False, reason="tiles")


def choices(facts: LaunchFacts) -> dict[str, tuple[Any, ...]]:
    parameters = launch(facts).parameters
    return {
        name: parameter.choices
        for name, parameter in parameters.items()
        if isinstance(parameter, Categorical) and name.startswith("block")
    }


def test_launch_where_a_direction_of_the_block_is_built_in() -> None:
    """What is tried in the other goes with it: from a warp to as many threads as a block may have."""
    tiles = {"x": BUILT_IN, "y": BY_BLOCKS, "z": ANY}
    assert choices(LaunchFacts((10, 7, 1), (32, 8, 1), directions=tiles)) == {"block.y": (1, 2, 4, 8, 16, 32)}
    assert choices(LaunchFacts((10, 7, 1), (16, 16, 1), directions=tiles)) == {"block.y": (2, 4, 8, 16, 32, 64)}
    assert choices(LaunchFacts((10, 7, 1), (24, 6, 1), directions=tiles)) == {"block.y": (2, 4, 6, 8, 16, 32)}
    bounded = LaunchFacts((10, 7, 1), (32, 8, 1), directions=tiles, most_threads=256)
    assert choices(bounded) == {"block.y": (1, 2, 4, 8)}
    small = LaunchFacts((10, 7, 1), (4, 2, 1), directions=tiles)  # of 8 threads
    assert choices(small) == {"block.y": (2, 4, 8, 16, 32, 64, 128, 256)}
    in_z = LaunchFacts((10, 7, 9), (8, 1, 8), directions={"x": BUILT_IN, "y": BUILT_IN, "z": BY_BLOCKS})
    assert choices(in_z) == {"block.z": (4, 8, 16, 32, 64)}
    rows = {"x": ANY, "y": BUILT_IN, "z": ANY}
    assert choices(LaunchFacts((10, 56, 1), (32, 4, 1), directions=rows)) == {
        "block.x": (8, 16, 32, 64, 96, 128, 160, 192, 224, 256)
    }
    # Eight rows are no more than eight threads can do.
    few = {"x": BUILT_IN, "y": ANY, "z": ANY}
    assert choices(LaunchFacts((10, 1, 1), (32, 8, 1), directions=few)) == {"block.y": (1, 2, 4, 8)}


def test_launch_where_nothing_but_the_recorded_block_is_possible() -> None:
    directions = {"x": BUILT_IN, "y": BY_BLOCKS, "z": ANY}
    space = launch(LaunchFacts((10, 7, 1), (1024, 1, 1), directions=directions))
    assert space.parameters == {}
    assert space.notes == ("block.x stays 1024: built in", "block.y stays 1: a block has 32 to 1024 threads")


def test_launch_has_no_more_blocks_than_a_grid() -> None:
    directions = {"x": BUILT_IN, "y": ANY, "z": ANY}
    facts = LaunchFacts((1, 40000, 1), (32, 8, 1), directions=directions)
    assert choices(facts) == {"block.y": (8, 16, 32)}


def test_launch_counts_the_threads_of_the_direction_that_is_built_in() -> None:
    directions = {"x": BUILT_IN, "y": ANY, "z": ANY}
    space = launch(LaunchFacts((1, 65535, 65535), (32, 8, 4), directions=directions))
    assert (space.parameters["block.y"], space.parameters["block.z"]) == (
        Categorical([8, 16, 32], ordered=False),
        Categorical([4, 8, 16, 32], ordered=False),
    )
    assert {(point["block.y"], point["block.z"]) for point in space.points()} == {(8, 4)}
    assert "32 <= block.y * block.z * 32 <= 1024" in space.constraints


def test_launch_has_as_many_blocks_along_x_as_a_grid_may() -> None:
    # Of one warp there would be one more than there may be.
    assert choices(LaunchFacts((1 << 30, 1, 1), (64, 1, 1))) == {"block.x": (64, 128, 256, 512, 1024)}
    assert choices(LaunchFacts(((1 << 30) - 1, 1, 1), (64, 1, 1)))["block.x"][0] == 32


@pytest.mark.parametrize("seed", range(8))
def test_launch_has_no_block_that_is_refused(seed: int) -> None:
    """Whichever directions are built in, count threads, or blocks."""
    source = random.Random(seed)
    kinds = [ANY, BUILT_IN, BY_BLOCKS, Direction(blocks=False, reason="threads")]
    for _ in range(60):
        sizes = [source.choice((1, 2, 3, 4, 8, 16, 32, 100, 256, 1024)) for _ in "xyz"]
        block = (sizes[0], sizes[1], min(sizes[2], 64))
        grid = (source.choice((1, 3, 1000)), source.choice((1, 7, 65535)), source.choice((1, 5)))
        bound = source.choice((64, 256, 1024))
        facts = LaunchFacts(grid, block, most_threads=bound, directions={name: source.choice(kinds) for name in "xyz"})
        if facts.threads > bound:
            continue
        space = launch(facts)
        for point in [*space.points(), *(value for line in space.lines for value in line.values)]:
            config = space.derive({**space.start[0], **point}).to_dict()
            sizes = [config.get("block", {}).get(name, size) for name, size in zip("xyz", block, strict=True)]
            assert min(32, facts.threads) <= math.prod(sizes) <= bound, (facts, config)
            assert sizes[0] <= 1024 and sizes[1] <= 1024 and sizes[2] <= 64, (facts, config)
            blocks = [-(-count * size // new) for count, size, new in zip(grid, block, sizes, strict=True)]
            made = (
                blocks
                if config.get("keep_threads")
                else [config.get("grid", {}).get(name, count) for name, count in zip("xyz", grid, strict=True)]
            )
            assert made[1] <= 65535 and made[2] <= 65535, (facts, config)


def test_launch_of_a_kernel_that_counts_blocks() -> None:
    """A row for each block, and its threads go along the row, however many."""
    rows = {
        "x": Direction(threads=False, reason="rows"),
        "y": Direction(sizes=False, reason="no threadIdx.y"),
        "z": ANY,
    }
    space = launch(LaunchFacts((64, 2, 1), (96, 1, 1), directions=rows))
    sizes = space.parameters["block.x"]
    assert list(space.parameters) == ["block.x"] and isinstance(sizes, Categorical)
    assert sizes.choices == tuple(range(32, 1025, 32))
    assert space.derive({"block.x": 64}) == mneme.Config(block=64)
    assert space.notes == ("grid.x stays as recorded: rows", "block.y stays 1: no threadIdx.y")
    assert [line.values[0] for line in space.lines] == [{"block.x": 64}, {"block.x": 128}]


def test_launch_of_a_kernel_that_counts_threads() -> None:
    by_threads = Direction(blocks=False, reason="threads only")
    space = launch(LaunchFacts((256, 1, 1), (256, 1, 1), directions={"x": by_threads, "y": ANY, "z": ANY}))
    assert list(space.parameters) == ["block.x"]
    assert space.derive({"block.x": 64}) == mneme.Config(block=64, keep_threads=True)
    assert space.notes == ("grid.x goes with block.x: threads only",)
    # One direction counts threads, the other blocks.
    mixed = {"x": by_threads, "y": Direction(threads=False), "z": ANY}
    space = launch(LaunchFacts((8, 8, 1), (16, 16, 1), directions=mixed))
    assert list(space.parameters) == ["block.x", "block.y"]
    assert space.derive({"block.x": 64, "block.y": 8}) == mneme.Config(block=(64, 8), grid={"x": 2})
    # One may be either: the other keeps to what it is.
    mixed = {"x": by_threads, "y": ANY, "z": ANY}
    space = launch(LaunchFacts((8, 8, 1), (16, 16, 1), directions=mixed))
    assert space.derive({"block.x": 64, "block.y": 8, "grid": "recorded"}) == mneme.Config(block=(64, 8), grid={"x": 2})


def test_lines_lead_away_from_the_recorded_launch() -> None:
    space = launch(LaunchFacts((64, 64, 1), (16, 16, 1)))
    below, above = space.lines[:2]
    assert [value["block.x"] for value in below.values] == [8, 4, 2]
    assert [value["block.x"] for value in below.beyond] == [1]  # a block of 16 threads
    assert [value["block.x"] for value in above.values] == [32, 64]
    assert [value["block.x"] for value in above.beyond] == [128, 256, 512, 1024]
    assert all(value["grid"] == "threads" for value in above.values)
    lines = launch(LaunchFacts((10, 1, 1), (128, 1, 1), shared_memory=1024)).lines
    above = next(line for line in lines if line.values[0]["block.x"] > 128)
    assert above.others == {"shared_memory": "per thread"}
    assert any(line.values[0].get("shared_memory") == "recorded" for line in lines)


def test_launch_in_two_directions() -> None:
    space = launch(LaunchFacts((64, 64, 1), (16, 16, 1)))
    assert list(space.parameters) == ["block.x", "block.y", "grid"]
    for point in space.points():
        assert 32 <= point["block.x"] * point["block.y"] <= 1024
    assert space.derive({"block.x": 64, "block.y": 4, "grid": "threads"}) == mneme.Config(
        block=(64, 4), keep_threads=True
    )


def test_launch_keeps_the_threads_or_has_a_few_more() -> None:
    space = launch(FACTS)  # 40064 threads
    assert space.derive({"block.x": 64, "grid": "threads"}) == mneme.Config(block=64, keep_threads=True)
    assert space.derive({"block.x": 96, "grid": "more threads"}) == mneme.Config(block=96, grid=418)
    assert not space.allows({"block.x": 96, "grid": "threads"})
    assert not space.allows({"block.x": 64, "grid": "more threads"})
    assert space.derive({"block.x": 96, "grid": "recorded"}) == mneme.Config(block=96)


def test_launch_keeps_to_blocks_that_divide_the_threads() -> None:
    space = launch(LaunchFacts((256, 1, 1), (256, 1, 1)))
    assert {point["block.x"] for point in space.points()} == {32, 64, 128, 256, 512, 1024}
    assert {point["grid"] for point in space.points()} == {"threads", "recorded"}
    for facts in (LaunchFacts((3, 5, 1), (32, 8, 1)), LaunchFacts((3, 5, 7), (8, 8, 4))):
        threads = [blocks * size for blocks, size in zip(facts.grid, facts.block, strict=True)]
        for point in launch(facts).points():
            exact = all(threads["xyz".index(name)] % point[f"block.{name}"] == 0 for name in "xyz"[: len(point) - 1])
            assert point["grid"] == "recorded" or exact == (point["grid"] == "threads")


def test_launch_with_shared_memory() -> None:
    space = launch(LaunchFacts((10, 1, 1), (128, 1, 1), shared_memory=1024))
    assert space.derive({"block.x": 96, "grid": "recorded", "shared_memory": "per thread"}) == mneme.Config(
        block=96, shared_memory=768
    )
    # What does not come out even is rounded up: too little would be written beyond.
    assert launch(LaunchFacts((10, 1, 1), (128, 1, 1), shared_memory=1000)).derive(
        {"block.x": 96, "grid": "recorded", "shared_memory": "per thread"}
    ) == mneme.Config(block=96, shared_memory=750)
    assert launch(LaunchFacts((10, 1, 1), (128, 1, 1), shared_memory=1001)).derive(
        {"block.x": 96, "grid": "recorded", "shared_memory": "per thread"}
    ) == mneme.Config(block=96, shared_memory=751)


def test_specialise_takes_numbers_and_no_pointers() -> None:
    space = presets.specialise(FACTS)
    point: dict[str, Any] = dict.fromkeys(space.parameters, True) | {
        "specialise.min_blocks": 2,
        "specialise.arguments.a": False,
    }
    assert space.derive(point).to_dict()["specialise"] == {
        "arguments": ["n"],
        "dimensions": True,
        "ranges": True,
        "alignment": True,
        "no_alias": True,
        "max_threads": 128,
        "min_blocks": 2,
    }
    for scalars, all_together in (("abcdef", False), ("abcdefg", True)):
        names = presets.specialise(LaunchFacts((1, 1, 1), (32, 1, 1), scalars=tuple(scalars), device="cpu")).parameters
        assert ("specialise.arguments" in names) is all_together
        assert sum(name.startswith("specialise.arguments.") for name in names) == (0 if all_together else 6)
    many = presets.specialise(LaunchFacts((1, 1, 1), (32, 1, 1), scalars=tuple("abcdefgh"), device="cpu"))
    point = dict.fromkeys(many.parameters, False) | {"specialise.arguments": True}
    assert many.derive(point).to_dict()["specialise"] == {"arguments": list("abcdefgh")}


def test_launch_bounds_follow_the_block() -> None:
    space = presets.full(FACTS)
    point = space.start[0]
    point |= {"block.x": 64, "specialise.max_threads": True}
    assert space.derive(point).to_dict()["specialise"] == {"max_threads": 64}


def test_presets_offer_what_the_device_has() -> None:
    on_gpu, on_cpu = (presets.full(LaunchFacts((10, 1, 1), (128, 1, 1), device=kind)) for kind in ("cuda", "cpu"))
    assert {"assembler.max_registers", "specialise.max_threads"} <= on_gpu.parameters.keys()
    assert not any(name.startswith("assembler") or name == "specialise.max_threads" for name in on_cpu.parameters)


def test_what_the_compiler_is_searched_for() -> None:
    described = presets.compiler(LaunchFacts((10, 1, 1), (128, 1, 1), device="cuda")).describe()["parameters"]
    pipeline = described.pop("passes")["pipeline"]
    assert (pipeline["min_length"], pipeline["max_length"]) == (0, 4)
    assert (tuple(pipeline["first"]), tuple(pipeline["passes"])) == (("as-built", *passes.DEFAULTS), passes.USEFUL)
    registers = [None, 255, 168, 128, 96, 80, 64, 56, 48, 40, 32]  # which occupancy changes at
    expected = {
        "codegen.level": ([3, 2, 1, 0], True),
        "assembler.level": ([None, 4, 2, 1], True),
        "assembler.max_registers": (registers, True),
        "assembler.load_cache": (["default", "ca", "cg", "cs"], False),
        "assembler.store_cache": (["default", "wb", "cg", "cs"], False),
    }
    assert {name: tuple(described[name]["categorical"].values()) for name in expected} == expected
