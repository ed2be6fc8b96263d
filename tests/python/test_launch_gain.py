"""What deployed code gains in programs: bench/launch_gain.py, launch by launch; what bench/deployed_gain.py refuses."""

import importlib.util
import statistics
import sys
import types
from pathlib import Path
from types import ModuleType

import mneme
import pytest

BENCH = Path(__file__).parents[2] / "bench"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


bench = load("launch_gain")
measurement = load("deployed_gain")
SMALL, LARGE, HALVED = (
    bench.Shape((blocks, 1, 1), (threads, 1, 1)) for blocks, threads in ((8, 64), (8, 256), (16, 32))
)
RULE = bench.Rule("shape", SMALL, HALVED)
PROMISE = bench.Promise("_Z1kPf", "k(float*)", RULE, 2.0, 1.9, 2.1)


def launches(shape: object, *times: int, kernel: str = "_Z1kPf") -> list[object]:
    return [bench.Launch(kernel, shape, time) for time in times]


def test_only_what_was_replaced_is_compared_with_the_promise() -> None:
    bare = launches(SMALL, 200, 100, 100) + launches(LARGE, 1000) + launches(SMALL, 9, kernel="other")
    tuned = launches(HALVED, 150, 50, 50) + launches(LARGE, 1000)
    gain = bench.gain(PROMISE, [(bare, tuned, 3)])
    assert (gain.launches, gain.replaced, gain.problem) == (4, 3, None)
    assert gain.of_replaced(statistics.mean) == 400 / 250 and gain.of_replaced(statistics.median) == 2
    assert gain.whole == 1400 / 1250
    (shape,) = gain.shapes
    figures = shape.figures(PROMISE)
    assert figures["promised_for"] and figures["shape"] == "8x1x1 blocks of 64x1x1"
    assert figures["becomes"] == "16x1x1 blocks of 32x1x1"
    assert (figures["kept"], figures["kept_median"], figures["bare_first_ns"]) == (
        pytest.approx(0.8),
        1.0,
        200,
    )


def test_shapes_are_weighed_by_their_launches_over_all_runs() -> None:
    promise = bench.Promise("_Z1kPf", "k(float*)", bench.Rule("any", SMALL, SMALL), 2.0, 1.9, 2.1)
    bare = launches(SMALL, 100, 100, 100) + launches(LARGE, 400)
    tuned = launches(SMALL, 50, 50, 50) + launches(LARGE, 400)
    gain = bench.gain(promise, [(bare, tuned, 4), (bare, tuned, 4)])
    assert (gain.launches, gain.replaced) == (4, 4)
    assert gain.of_replaced(statistics.mean) == gain.whole == 700 / 550
    figures = [shape.figures(promise) for shape in gain.shapes]
    assert [(one["promised_for"], one["launches"], one["kept"]) for one in figures] == [
        (False, 2, 0.5),
        (True, 6, 1.0),
    ]


@pytest.mark.parametrize(
    ("tuned", "said", "problem"),
    [
        (launches(HALVED, 50), 1, "2 launches bare, 1 with deployed code"),
        (launches(HALVED, 50, 50), 1, "2 launches have shapes that the rule covers, and 1 ran the deployed code"),
        (launches(HALVED, 50, 50), None, "2 launches have shapes that the rule covers, and None ran the deployed code"),
    ],
)
def test_what_cannot_be_told_is_not(tuned: list[object], said: int | None, problem: str) -> None:
    gain = bench.gain(PROMISE, [(launches(SMALL, 100, 100), tuned, said)])
    assert (gain.problem, gain.replaced, gain.shapes) == (problem, None, [])
    assert gain.of_replaced(statistics.mean) is None


def test_rules_are_those_of_a_file_of_deployed_code() -> None:
    wide = bench.Shape((8, 1, 1), (64, 2, 1), 16)
    by_block = bench.Rule("block", wide, bench.Shape((4, 2, 1), (128, 1, 1), 16))
    assert by_block.apply(wide) == bench.Shape((4, 2, 1), (128, 1, 1), 16)
    assert by_block.apply(bench.Shape((3, 1, 1), (64, 2, 1), 16)) is None  # 192 threads in blocks of 128
    assert by_block.apply(bench.Shape((8, 1, 1), (64, 2, 1))) is None  # other shared memory
    assert bench.Rule("any", SMALL, SMALL, 128).apply(SMALL) == SMALL
    assert bench.Rule("any", SMALL, SMALL, 128).apply(LARGE) is None
    assert RULE.apply(LARGE) is None


def test_launches_stand_in_the_order_in_which_they_began() -> None:
    text = "20 7 8,1,1 64,1,1 0 void k<int, float>(int)\n10 9 1,2,3 4,5,6 128 _Z1kPf\n"
    assert bench.read_launches(text) == [
        bench.Launch("_Z1kPf", bench.Shape((1, 2, 3), (4, 5, 6), 128), 9),
        bench.Launch("void k<int, float>(int)", SMALL, 7),
    ]


def test_what_ran_is_read_from_the_last_lines() -> None:
    said = "mneme: tuned: k(float*): 36 of 39 launches ran the deployed code; the others: 3 another launch shape\n"
    assert bench.said_to_have_run("before\n" + said, "k(float*)") == 36
    assert bench.said_to_have_run(said, "other(float*)") is None


def test_promises_are_read_from_the_file(swept: Path, tmp_path: Path) -> None:
    mneme.deploy(swept, tmp_path / "app.tuned", unconfirmed=True)
    (promise,) = bench.promises((tmp_path / "app.tuned").read_bytes()).values()
    assert promise.demangled == "scale(int*, int, int)" and promise.low <= promise.value <= promise.high
    assert promise.rule.apply(promise.rule.recorded) == promise.rule.tuned


def listed(*names: str) -> list[dict[str, str]]:
    return [
        {"demangled": name, "name": f"_Z{name}", "static_hash": f"{number:032x}"} for number, name in enumerate(names)
    ]


def test_kernels_of_a_list_are_found_by_regular_expressions() -> None:
    kernels = listed("gelu(float*)", "gelu_base(float*)", "softmax")
    found = measurement.chosen(["^softmax$", "gelu_base", r"gelu\("], kernels)
    assert [one["demangled"] for one in found] == ["softmax", "gelu_base(float*)", "gelu(float*)"]


def test_an_expression_that_fits_no_kernel_is_told_with_the_names_that_there_are() -> None:
    kernels = listed("softmax", "layer_norm", "gelu(float*)", "gelu_base(float*)")
    with pytest.raises(measurement.Failed) as failure:
        measurement.chosen(["^norm", "softmax", "gelu"], kernels)
    assert str(failure.value) == (
        "'^norm' fits no recorded kernel; 'gelu' fits 2 kernels (gelu(float*), gelu_base(float*)). Nothing was tuned; "
        "`kernels` in the list has an expression for each of: gelu(float*), gelu_base(float*), layer_norm, softmax"
    )


def test_nothing_that_was_recorded_is_told() -> None:
    with pytest.raises(measurement.Failed, match=r"an expression for each of: none$"):
        measurement.chosen(["softmax"], [])


def test_a_search_that_does_not_end_says_so() -> None:
    def ended(trials: int, wanted: int | None, exhausted: bool = False) -> object:
        return measurement.not_ended("k", {"trials": trials, "wanted": wanted, "exhausted": exhausted})

    assert ended(120, 500) == "the search of k ended after 120 of 500 trials: what it found by then is deployed"
    assert ended(500, 500) is None and ended(9, 500, exhausted=True) is None and ended(9, None) is None


def test_a_step_that_does_not_end_says_so(tmp_path: Path) -> None:
    options = types.SimpleNamespace(limit=0.3)
    program = measurement.Program(
        {"name": "one", "kernels": ["k"], "command": "true"}, tmp_path, options, tmp_path, None
    )
    with pytest.raises(measurement.Failed, match=r"^sleep 60: it did not end in 0\.3 s, and was ended \(--limit\)$"):
        program.do(["sleep", "60"])
