"""The probe before a search: what is tried alone, what is left out then, and how a run goes on behind it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme import llvm
from mneme.results.trials import Params, Trial, read_trials
from mneme.tune import Categorical, LaunchFacts, SearchSpace, tune
from mneme.tune.search.probe import Probed
from mneme.tune.search.proposals import Proposals
from mneme.tune.search.samplers import Source, source_of
from mneme.tune.space.launches import launch
from mneme.tune.space.search_space import Line

from fake_executor import FakeExecutor, InterruptedExecutor, Outcome, fake_instance, use

SIZES = [32, 64, 96, 128, 160, 256, 512]
SPACE = SearchSpace(
    {"block.x": Categorical(SIZES, ordered=True), "grid": Categorical(["threads", "recorded"])},
    start=[{"block.x": 128, "grid": "threads"}],
    lines=[
        Line(tuple({"grid": grid, "block.x": size} for size in away))
        for grid in ("threads", "recorded")
        for away in ([96, 64, 32], [160, 256, 512])
    ],
)


def run(space: SearchSpace, right: Callable[[Params], bool], *, most: int = 100) -> tuple[list[Params], Any, list[str]]:
    """What the probe tries, what is left of the space, and what is said of it."""
    left: list[Any] = []
    notes: list[str] = []

    def go_on(space: SearchSpace, first: int) -> Source:
        left.append((space, first))
        return source_of("random", space, objectives=["time"], seed=1, first=first)

    source = Probed(space, go_on, most=most, note=notes.append)
    source.restore([])
    tried: list[Params] = []
    while not left:
        batch = source.propose(8)
        assert [number for number, _ in batch] == list(range(len(tried), len(tried) + len(batch)))
        tried += [params for _, params in batch]
        for number, params in batch:
            source.tell(trial_of(number, params, right(params)))
    assert left[0][1] == len(tried)
    return tried, left[0][0], notes


def trial_of(number: int, params: Params, right: bool, failure: str = "wrong_result") -> Trial:
    if right:
        return Trial(number, params, state="complete", time=1.0)
    return Trial(number, params, state="failed", failure=failure)


def points(space: SearchSpace) -> set[tuple[int, str]]:
    return {(point["block.x"], point["grid"]) for point in space.points()}


def test_other_start_points_are_left() -> None:
    starts = [*SPACE.start, {"block.x": 64, "grid": "recorded"}, {"block.x": 160, "grid": "threads"}]
    space = SearchSpace(SPACE.parameters, start=starts, lines=SPACE.lines)
    _, left, _ = run(space, lambda params: params["grid"] == "threads")
    assert left.start == [{"block.x": 160, "grid": "threads"}]


def test_what_is_right_far_away_is_right_between() -> None:
    tried, left, notes = run(SPACE, lambda params: True)
    # As recorded, the far ends, and the farthest sizes that are no power of two.
    assert [(p["block.x"], p["grid"]) for p in tried] == [
        (128, "threads"),
        *((size, grid) for grid in ("threads", "recorded") for size in (32, 512)),
        *((size, grid) for grid in ("threads", "recorded") for size in (96, 160)),
    ]
    assert points(left) == points(SPACE) and left.start == [] and notes == []


def test_what_fails_far_away_and_near_is_left_out_without_trying_more() -> None:
    tried, left, notes = run(SPACE, lambda params: params["grid"] == "threads" or params["block.x"] == 128)
    assert sum(params["grid"] == "recorded" for params in tried) == 4
    assert points(left) == {(size, "threads") for size in SIZES}
    grid = left.parameters["grid"]
    assert isinstance(grid, Categorical) and grid.choices == ("threads",)
    assert notes == ["block.x: 32, 64, …, 512 (6 values) left out under grid 'recorded': wrong_result when tried alone"]


def test_where_far_and_near_differ_all_are_tried() -> None:
    tried, left, notes = run(SPACE, lambda params: params["block.x"] not in (512, 256))
    assert {(params["block.x"], params["grid"]) for params in tried} >= {(256, "threads"), (160, "recorded")}
    assert points(left) == {(size, grid) for size in (32, 64, 96, 128, 160) for grid in ("threads", "recorded")}
    assert notes == [
        f"block.x: 256, 512 left out under grid '{grid}': wrong_result when tried alone"
        for grid in ("threads", "recorded")
    ]


def test_what_constraints_forbid_is_not_tried() -> None:
    space = SPACE.constrained(["block.x <= 256 or grid == 'recorded'", lambda params: params["block.x"] >= 64])
    tried, left, _ = run(space, lambda params: True)
    assert all(map(space.allows, tried))
    assert {(params["block.x"], params["grid"]) for params in tried} >= {(256, "threads"), (512, "recorded")}
    assert points(left) == points(space)
    never = SPACE.constrained(["block.x == 128"])
    assert run(never, lambda params: True)[0] == []


def test_the_farthest_size_that_is_no_power_of_two_is_tried() -> None:
    sizes = [128, 160, 192, 256]
    space = SearchSpace(
        {"block.x": Categorical(sizes)},
        start=[{"block.x": 128}],
        lines=[Line(tuple({"block.x": size} for size in sizes[1:]))],
    )
    assert [params["block.x"] for params in run(space, lambda params: True)[0]] == [128, 256, 192]


def test_powers_of_two_only() -> None:
    _, left, _ = run(SPACE, lambda params: params["block.x"] not in (96, 160))
    assert points(left) == {(size, grid) for size in (32, 64, 128, 256, 512) for grid in ("threads", "recorded")}


def test_a_value_that_is_wrong_under_one_grid_stays_under_the_other() -> None:
    _, left, _ = run(SPACE, lambda params: params["grid"] == "threads" or params["block.x"] >= 128)
    assert points(left) == {(size, "threads") for size in SIZES} | {(s, "recorded") for s in SIZES if s >= 128}
    assert "grid != 'recorded' or block.x not in [32, 64, 96]" in left.constraints


def test_the_block_as_recorded_stays_where_all_others_are_wrong_under_its_grid() -> None:
    _, left, _ = run(SPACE, lambda params: params["grid"] == "recorded" or params["block.x"] == 128)
    assert points(left) == {(128, "threads"), *((size, "recorded") for size in SIZES)}


def test_values_that_cannot_be_tried_alone_go_with_the_others() -> None:
    space = SearchSpace(
        {"block.x": Categorical([2, 4, 8]), "block.y": Categorical([8, 16])},
        start=[{"block.x": 8, "block.y": 8}],
        lines=[Line(({"block.x": 4},), beyond=({"block.x": 2},)), Line(({"block.y": 16},))],
    )
    _, left, _ = run(space, lambda params: params["block.x"] == 8)
    assert [(point["block.x"], point["block.y"]) for point in left.points()] == [(8, 8), (8, 16)]


def test_others_are_not_as_recorded_meanwhile() -> None:
    space = SearchSpace(
        {"block.x": Categorical([64, 128]), "memory": Categorical(["a", "b"])},
        start=[{"block.x": 64, "memory": "a"}],
        lines=[Line(({"block.x": 128},), others={"memory": "b"})],
    )
    tried, _, _ = run(space, lambda params: True)
    assert tried == [{"block.x": 64, "memory": "a"}, {"block.x": 128, "memory": "b"}]
    assert run(space.constrained(["block.x == 64 or memory == 'a'"]), lambda params: True)[0] == []


def test_nothing_is_left_out_where_the_launch_as_recorded_fails() -> None:
    tried, left, notes = run(SPACE, lambda params: False)
    assert len(tried) == 5 and points(left) == points(SPACE) and notes == []


def test_a_probe_is_no_longer_than_it_may_be() -> None:
    assert run(SPACE, lambda params: False, most=4)[0] == []
    _, whole, _ = run(SPACE, lambda params: False, most=4)
    assert whole is SPACE
    # The far ends fail, and there is no trial left for the near ones.
    tried, left, _ = run(SPACE, lambda params: params["block.x"] == 128, most=5)
    assert len(tried) == 5 and {size for size, _ in points(left)} == {64, 96, 128, 160, 256}


def test_what_says_nothing_of_a_point_leaves_nothing_out() -> None:
    left: list[SearchSpace] = []

    def go_on(space: SearchSpace, first: int) -> Source:
        left.append(space)
        return source_of("random", space, objectives=["time"], seed=1, first=first)

    source = Probed(SPACE, go_on, most=50)
    source.restore([])
    while not left:
        for number, params in source.propose(8):
            source.tell(trial_of(number, params, params["block.x"] == 128, "worker_lost"))
    assert points(left[0]) == points(SPACE)


def test_a_round_is_waited_for() -> None:
    events: list[Any] = []
    source = Probed(
        SPACE, lambda space, first: source_of("random", space, objectives=["time"], seed=1, first=first), most=50
    )
    source.restore([])
    told: list[int] = []
    proposals = Proposals(source, count=12, ahead=8, put=lambda batch: answer(batch))

    def answer(batch: Any) -> None:
        events.append(batch)
        for number, params in reversed(batch or []):
            told.append(number)
            proposals.tell(trial_of(number, params, right=True))

    proposals.start()
    proposals._thread.join(60)
    assert [[number for number, _ in batch] for batch in events[:3]] == [[*range(5)], [*range(5, 9)], [*range(9, 12)]]
    assert events[3] is None and sorted(told) == [*range(12)]


# Over tune().


def measure(config: mneme.Config) -> Outcome:
    """Of a kernel without a bounds check, with shared memory for 256 threads: it needs exactly its threads."""
    members = config.to_dict()
    block = members.get("block", {}).get("x", 128)
    if block > 256:
        return "device_fault"
    return float(1000 - block) if block == 128 or members.get("keep_threads") else "wrong_result"


def go(results: Path, **options: Any) -> Any:
    return tune(
        fake_list(),
        "full",
        **{"device": "cpu", "results_dir": results, "seed": 7, "confirm": 0, "trials": 100, **options},
    )


def fake_list() -> list[Any]:
    return [fake_instance(grid=(256, 1, 1))]


@pytest.mark.parametrize("sampler", ["random", "tpe", "nsga2", "cmaes"])
def test_search_goes_on_in_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sampler: str) -> None:
    use(monkeypatch, FakeExecutor(measure))
    study = go(tmp_path / "r", sampler=sampler)
    assert len(study.trials) == 100 and study.count("failed") <= 8
    assert sorted(trial.number for trial in study.trials) == [*range(100)]
    assert study.trials[0].config == mneme.Config(block=128)
    failed = [trial.number for trial in study.trials if trial.state == "failed"]
    assert max(failed) < 25
    assert any("left out under grid 'recorded': " in text for text in study.remarks)
    assert json.loads((tmp_path / "r/summary.json").read_text())["remarks"] == study.remarks

    use(monkeypatch, FakeExecutor(measure))
    again = go(tmp_path / "again", sampler=sampler)
    assert {t.number: t.params for t in again.trials} == {t.number: t.params for t in study.trials}
    without = go(tmp_path / "without", sampler=sampler, probe=False)
    assert without.count("failed") > study.count("failed") and without.remarks == []


@pytest.mark.parametrize("after", [3, 6, 30])
def test_resumed_in_the_probe_and_behind_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, after: int) -> None:
    use(monkeypatch, FakeExecutor(measure))
    whole = go(tmp_path / "whole", sampler="random")
    use(monkeypatch, InterruptedExecutor(measure, after=after))
    assert go(tmp_path / "r", sampler="random").interrupted
    kept = len(read_trials(tmp_path / "r/trials.jsonl"))
    second = use(monkeypatch, FakeExecutor(measure))
    # A probe is as long as it was meant to be, however many trials are wanted now.
    study = go(tmp_path / "r", sampler="random", resume=True, trials=120)
    assert len(second.submitted) == 120 - kept and len(study.trials) == 120
    params = {trial.number: trial.params for trial in study.trials}
    assert {trial.number: trial.params for trial in whole.trials} == {number: params[number] for number in range(100)}
    assert set(whole.remarks) <= set(study.remarks)


def test_exhaustive_tries_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(measure))
    study = tune(fake_list(), "launch", sampler="exhaustive", device="cpu", results_dir=tmp_path / "r", confirm=0)
    assert len(study.trials) == launch(LaunchFacts((256, 1, 1), (128, 1, 1))).size


BUILT_IN = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @_Z5scalePii(ptr %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr %out, i32 %i
  store i32 1, ptr %at
  ret void
}
"""


def test_a_space_without_anything_to_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, FakeExecutor(measure))
    with pytest.raises(mneme.errors.InvalidArgumentError) as error:
        tune([fake_instance(module=lambda: llvm.parse(BUILT_IN))], "launch", device="cpu", results_dir=tmp_path / "r")
    assert (
        str(error.value)
        == "space 'launch' has nothing to search: block.x stays 128: the kernel does not read blockDim.x"
    )
