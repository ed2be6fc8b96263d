"""What is refused before anything is compiled: passes of a space that do not parse."""

from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from mneme.tune import Categorical, Int, LaunchFacts, Pipeline, SearchSpace
from mneme.tune.checks import check_base, check_space
from mneme.tune.space import passes, presets
from mneme.tune.space.parameters import Parameter

from fake_executor import fake_instance

NONE = mneme.Config()


def check(parameter: Parameter, config: mneme.Config = NONE) -> None:
    check_space(SearchSpace({"passes": parameter}), config, "cpu")


def test_passes_that_parse() -> None:
    check(Pipeline(passes.registered(), first=passes.DEFAULTS))
    check(Pipeline(["nosuch"], max_length=0, first=["default<O1>"]))  # of which none is chosen
    check(Pipeline(["function(gvn)", "gvn", "globalopt"], min_length=1))  # together they may not
    check(Categorical(["default<O3>", "gvn,sink", "globalopt"]))
    for device in ("cuda", "cpu"):
        facts = LaunchFacts((313, 1, 1), (128, 1, 1), scalars=("n",), device=device)
        check_space(presets.full(facts), NONE, device)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (
            Pipeline(["function(gvn)", "function(gvnn)"], first=passes.DEFAULTS),
            "pass pipeline 'function(gvnn)' does not parse: unknown function pass 'gvnn'; did you mean 'gvn'?",
        ),
        (
            Pipeline(["function(gvn)"], first=["default<O3>", "default<O9>"]),
            "pass pipeline 'default<O9>' does not parse: invalid optimization level 'O9'; "
            "the levels are O0, O1, O2, O3, Os and Oz",
        ),
        (
            Categorical(["function(gvn", "sink)"]),
            "pass pipeline 'function(gvn' does not parse: invalid pipeline 'function(gvn'",
        ),
        (
            Categorical(["function(gvn)", "sink),function(gvn"]),
            "pass pipeline 'sink),function(gvn' does not parse: invalid pipeline 'sink),function(gvn'",
        ),
        (
            Categorical(["default<O3>", ""]),
            "pass pipeline '' does not parse: unknown pass name ''; the least there is, is default<O0>",
        ),
    ],
)
def test_passes_that_do_not_parse(parameter: Parameter, message: str) -> None:
    for space in (
        SearchSpace({"passes": parameter}),
        SearchSpace({"n": Categorical([1])}, derive=lambda params: {}) | SearchSpace({"passes": parameter}),
    ):
        with pytest.raises(InvalidArgumentError) as error:
            check_space(space, NONE, "cpu")
        assert str(error.value) == f"parameter 'passes': {message}"


@pytest.mark.parametrize("levels", [[3, 99], [99, 3]])
def test_a_point_that_is_none_does_not_end_the_check(levels: list[int]) -> None:
    wrong = SearchSpace({"codegen.level": Categorical(levels), "passes": Categorical(["default<O9>"])})
    with pytest.raises(InvalidArgumentError, match="parameter 'passes': pass pipeline 'default<O9>' does not parse"):
        check_space(wrong, NONE, "cpu")
    check_space(SearchSpace({"codegen.level": Categorical(levels)}), NONE, "cpu")
    # These are for the samplers to say.
    check_space(SearchSpace({"codegen.level": Categorical([99])}), NONE, "cpu")
    check_space(SearchSpace({"codegen.level": Int(0, 3)}, constraints=["False"]), NONE, "cpu")


@pytest.mark.parametrize("levels", [[3, 99], [99, 3]])
def test_a_knob_that_the_device_has_no_use_for(levels: list[int]) -> None:
    knob = SearchSpace({"codegen.level": Categorical(levels), "assembler.max_registers": Categorical([32, 64])})
    with pytest.raises(UnsupportedError):
        check_space(knob, NONE, "cpu")


def test_passes_of_plugins(hostile_plugin: str) -> None:
    choices = Categorical(["default<O3>", "function(hostile-miscompile)"])
    with pytest.raises(InvalidArgumentError, match=r"parameter 'passes': .*unknown function pass 'hostile-miscompile'"):
        check(choices)
    check(choices, mneme.Config(pass_plugins=[hostile_plugin]))
    # Where a space chooses among plugins, or makes the configuration itself, it is not known.
    check_space(SearchSpace({"passes": choices, "pass_plugins": Categorical([[], [hostile_plugin]])}), NONE, "cpu")
    with pytest.raises(InvalidArgumentError, match=r"parameter 'passes': .*unknown pass name 'nosuch'"):
        check(Categorical(["nosuch"]), mneme.Config(pass_plugins=[hostile_plugin]))


def test_what_derive_makes_of_passes_is_not_known() -> None:
    words = Categorical(["fast", "small"])
    made = SearchSpace({"passes": words}, derive=lambda params: {"passes": "default<O1>"})
    check_space(made, NONE, "cpu")


def test_a_tolerance_is_of_every_instance(instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="there is no buffer 'outt' in the recorded launch"):
        check_base(mneme.Config(tolerance=["outt: f32, 1e-5, relative"]), [instance], "cpu")
    checked: list[Any] = []
    monkeypatch.setattr(mneme._native, "check_tolerances", lambda *of: checked.append(of[2]))
    others = [fake_instance(_native=number) for number in range(3)]
    for other in others:
        other.database._native = other.kernel._native = None
    check_base(mneme.Config(tolerance=["out: f32, 1e-5, relative"]), others, "cpu")
    assert checked == [0, 1, 2]
    check_base(NONE, others, "cpu")
    assert checked == [0, 1, 2]


def test_what_the_code_of_an_instance_lacks_is_refused() -> None:
    instance = mneme.Database(Path(__file__).parents[1] / "corpora" / "3.0")["scale"][0]
    check_base(mneme.Config(assembler={"level": 1}), [instance], "cuda")
    with pytest.raises(UnsupportedError, match=r"^codegen\.level: the kernel was recorded as PTX: there is no IR"):
        check_base(mneme.Config(codegen={"level": 1}), [instance], "cuda")
    with pytest.raises(UnsupportedError, match=r"not on the CPU device$"):
        check_base(NONE, [instance], "cpu")


def test_passes_that_every_trial_begins_with_are_parsed_with_their_plugins(hostile_plugin: str) -> None:
    check_base(mneme.Config(passes="function(gvn)"), [], "cpu")
    passes = "function(hostile-miscompile)"
    with pytest.raises(InvalidArgumentError, match="unknown function pass 'hostile-miscompile'"):
        check_base(mneme.Config(passes=passes), [], "cpu")
    check_base(mneme.Config(passes=passes, pass_plugins=[hostile_plugin]), [], "cpu")
    with pytest.raises(NotFoundError, match=r"the pass plugin /nowhere/plugin\.so: there is no such file"):
        check_base(mneme.Config(pass_plugins=["/nowhere/plugin.so"]), [], "cpu")
