"""Search spaces: parameters, constraints, what a point becomes, and the presets."""

import json
import math
import random
from typing import Any

import mneme
import pytest
from mneme import llvm
from mneme.errors import InvalidArgumentError, UnavailableError
from mneme.tune import Bool, Categorical, Float, Int, LaunchFacts, Pipeline, SearchSpace, passes, presets
from mneme.tune.constraints import Constraint
from mneme.tune.description import parameter_of, space_of
from mneme.tune.indexing import ANY, Direction
from mneme.tune.launches import launch
from mneme.tune.parameters import Parameter
from mneme.tune.space import key_of

from fake_executor import fake_instance

PIPELINE = Pipeline(["function(gvn)", "function(sink)"], max_length=2, first=["default<O2>", "default<O3>"])
PARAMETERS: dict[str, Parameter] = {
    "int": Int(2, 11, step=3),
    "int, log": Int(1, 1000, log=True),
    "float": Float(0.0, 1.0, step=0.25),
    "float, log": Float(1e-3, 1.0, log=True),
    "categorical": Categorical(["a", None, 3, [1]]),
    "ordered": Categorical([32, 64, 128], ordered=True),
    "bool": Bool(),
    "pipeline": PIPELINE,
    "pipeline of fixed length": Pipeline(["a", "b"], min_length=2, max_length=2),
}
FACTS = LaunchFacts((313, 1, 1), (128, 1, 1), scalars=("n", "a"))


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=PARAMETERS)
def test_parameter_agrees_with_itself(parameter: Parameter) -> None:
    source = random.Random(1)
    values = [parameter.draw(source) for _ in range(50)]
    if parameter.size is not None and parameter.size <= 100:
        every = [parameter.at(index) for index in range(parameter.size)]
        assert len({key_of({"": value}) for value in every}) == parameter.size
        assert all(value in every for value in values)
        values += every
    for value in values:
        assert parameter.contains(value)
        assert parameter.coordinates(value).keys() == parameter.axes().keys()
        assert parameter.value(parameter.coordinates(value)) == value
    assert parameter_of("p", json.loads(json.dumps(parameter.describe()))) == parameter


def test_sizes() -> None:
    sizes = {name: parameter.size for name, parameter in PARAMETERS.items()}
    assert sizes == {
        "int": 4,
        "int, log": 1000,
        "float": 5,
        "float, log": None,
        "categorical": 4,
        "ordered": 3,
        "bool": 2,
        "pipeline": 14,
        "pipeline of fixed length": 4,
    }


def test_values_of_steps() -> None:
    scale = Float(0.1, 0.75, step=0.1)
    assert [scale.at(index) for index in range(7)] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert scale.contains(0.1 + 0.2)  # 0.30000000000000004
    assert scale.contains(0.1 + 6 * 0.1)
    assert scale.coordinates(0.1 + 6 * 0.1) == {"": 0.7}
    assert scale.value({"": 0.1 + 0.2}) == 0.3
    assert not any(scale.contains(value) for value in (0.05, 0.35, 0.3001, 0.75, 0.8, None, True, "0.1"))
    assert Float(0.0, 1.0).contains(0.3)


def test_log_draws_small_numbers_as_often_as_large_ones() -> None:
    source = random.Random(2)
    small = sum(PARAMETERS["int, log"].draw(source) <= 31 for _ in range(1000))
    assert 400 < small < 600


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Int(1, 2.5), "Int: high must be a whole number, and is 2.5"),  # type: ignore[arg-type]
        (lambda: Int(3, 2), "Int: from 3 to 2 there is nothing"),
        (lambda: Int(0, 8, step=0), "Int: a step must be above zero, and is 0"),
        (lambda: Int(0, 8, log=True), "Int: with log, low must be above zero, and is 0"),
        (lambda: Int(1, 8, step=2, log=True), "Int: log and step exclude each other"),
        (lambda: Float(0.0, float("inf")), "Float: high must be a number, and is inf"),
        (lambda: Categorical([]), "Categorical: there is nothing to choose from: give at least one choice"),
        (lambda: Categorical("abc"), "Categorical: choices must be a list, and is 'abc'"),
        (lambda: Categorical([1, 1]), "Categorical: 1 is there twice"),
        (lambda: Categorical([{1}]), "Categorical: {1} is nothing that JSON has"),
        (lambda: Pipeline([], max_length=1), "Pipeline: there are no passes to choose from"),
        (lambda: Pipeline(["a"], max_length=1), "Pipeline: it may be empty: give `first`, or a min_length of 1"),
        (lambda: Pipeline("a", max_length=1), "Pipeline: passes must be a list of texts, and is 'a'"),
        (lambda: Pipeline(["a", "a"], min_length=1), "Pipeline: 'a' is there twice in passes"),
        (lambda: Pipeline(["a"], min_length=3, max_length=2), "Pipeline: a length from 3 to 2 is none"),
        (
            lambda: parameter_of("p", {"integer": [0, 3]}),
            "parameter 'p': there is no kind 'integer'; there are: int, float, categorical, bool, pipeline",
        ),
        (lambda: parameter_of("p", {"int": [0]}), "parameter 'p': int takes no [0]"),
        (lambda: parameter_of("p", {"int": {"low": 0}}), "parameter 'p': int needs low and high"),
        (lambda: parameter_of("p", {"int": {"lowe": 0}}), "parameter 'p': int has no 'lowe'; the nearest is 'low'"),
        (lambda: parameter_of("p", {"categorical": {}}), "parameter 'p': categorical needs choices"),
        (
            lambda: parameter_of("p", [1]),
            "parameter 'p': [1] is no parameter: write one of int, float, categorical, bool, pipeline, as in {int: [0, 3]}",  # noqa: E501
        ),
        (
            lambda: parameter_of("p", {"pipeline": {"passes": "usefull"}}),
            "parameter 'p': there is no list of passes 'usefull'; the nearest is 'useful'",
        ),
        (
            lambda: SearchSpace({"a": 3}),  # type: ignore[dict-item]
            "search space: 'a' is 3: give Int, Float, Categorical, Bool or Pipeline",
        ),
        (
            lambda: SearchSpace({"a": Bool()}) | SearchSpace({"a": Bool()}),
            "search space: 'a' is in both of the spaces that are to be joined",
        ),
        (
            lambda: SearchSpace({"a": Int(0, 3)}, start=[{"a": 4}]),
            "search space: 'a' cannot be 4; it is Int(low=0, high=3, step=1, log=False)",
        ),
        (
            lambda: SearchSpace({"a": Float(0.0, 1.0, step=0.25)}, start=[{"a": 0.3}]),
            "search space: 'a' cannot be 0.3; it is Float(low=0.0, high=1.0, step=0.25, log=False)",
        ),
        (
            lambda: SearchSpace({"a": Float(0.0, 1.1, step=0.25)}, start=[{"a": 1.1}]),
            "search space: 'a' cannot be 1.1; it is Float(low=0.0, high=1.1, step=0.25, log=False)",
        ),
        (lambda: SearchSpace({"a": Int(0, 3)}, start=[{}]), "search space: the point {} has no 'a'"),
        (
            lambda: SearchSpace({"aa": Int(0, 3)}, start=[{"a": 1, "aa": 1}]),
            "search space has no 'a'; the nearest is 'aa'",
        ),
        (
            lambda: SearchSpace({"a": Float(0, 1)}).points(),
            "search space: 'a' has more values than can be tried one by one: give it a step, or sample",
        ),
        (lambda: space_of({"parameter": {}}), "search space has no 'parameter'; the nearest is 'parameters'"),
        (lambda: space_of({}), "search space: 'parameters' must have each parameter by its name"),
        (
            lambda: space_of({"parameters": {"a": "bool"}, "constraints": "a"}),
            "search space: 'constraints' must be a list of texts",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == message


def test_constraint_of_text() -> None:
    names = ["block.x", "block.y", "passes"]
    point = {"block.x": 64, "block.y": 4, "passes": ("a", "b")}
    for text, holds in {
        "block.x * block.y <= 1024": True,
        "32 <= block.x < 64": False,
        "block.x in [64, 128] and not block.y == 8": True,
        "max(block.x, block.y) - -1 > 64 if len(passes) == 2 else False": True,
        "'a' in passes": True,
    }.items():
        assert Constraint(text, names).holds(point) is holds, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block.z < 3", "constraint 'block.z < 3': there is no parameter 'block.z'; the nearest is 'block.x'"),
        ("block.x <", "constraint 'block.x <': invalid syntax"),
        ("open('f')", "constraint 'open('f')': 'open('f')' is not possible in a constraint"),
        ("[x for x in n]", "constraint '[x for x in n]': '[x for x in n]' is not possible in a constraint"),
        ("n.__class__", "constraint 'n.__class__': there is no parameter 'n.__class__'; there are: block.x, n"),
        ("(lambda: 1)()", "constraint '(lambda: 1)()': '(lambda: 1)()' is not possible in a constraint"),
    ],
)
def test_constraint_that_is_none(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        Constraint(text, ["block.x", "n"])
    assert str(error.value) == message


def test_constraint_that_cannot_be_told() -> None:
    with pytest.raises(InvalidArgumentError) as error:
        Constraint("1 / n > 0", ["n"]).holds({"n": 0})
    assert str(error.value) == "constraint '1 / n > 0' of {'n': 0}: ZeroDivisionError: division by zero"


def test_constraint_and_derive_that_fail_name_the_point_and_why() -> None:
    def below(params: Any) -> bool:
        return bool(params["q"] < 3)

    with pytest.raises(InvalidArgumentError) as error:
        Constraint(below, ["n"]).holds({"n": 3})
    assert str(error.value).endswith(".below' of {'n': 3}: KeyError: 'q'")
    failing: list[tuple[Any, str]] = [
        (lambda params: {"block.x": params["q"]}, "KeyError: 'q'"),
        (
            lambda params: None,
            "derive returned None: it must return what changes, as {'block.x': 64}, or a Config",
        ),
        (lambda params: {"blok": 3}, "configuration: unknown key 'blok'; the nearest is 'block'"),
    ]
    for derive, why in failing:
        with pytest.raises(InvalidArgumentError) as error:
            SearchSpace({"n": Int(3, 4)}, derive=derive).derive({"n": 3})
        assert str(error.value) == f"the configuration of {{'n': 3}}: {why}"

    def unavailable(params: Any) -> mneme.Config:
        raise UnavailableError("no such thing here")

    with pytest.raises(UnavailableError, match="no such thing here"):
        SearchSpace({"n": Int(3, 4)}, derive=unavailable).derive({"n": 3})


def test_points_that_meet_the_constraints() -> None:
    space = SearchSpace(
        {"block.x": Int(32, 128, step=32), "block.y": Int(1, 3)},
        constraints=["block.x * block.y <= 128", lambda p: p["block.y"] != 3],
    )
    points = [(point["block.x"], point["block.y"]) for point in space.points()]
    assert points == [(32, 1), (32, 2), (64, 1), (64, 2), (96, 1), (128, 1)]
    drawn = {tuple(space.draw(random.Random(seed)).values()) for seed in range(200)}
    assert drawn == set(points)


def test_nothing_meets_the_constraints() -> None:
    space = SearchSpace({"n": Int(0, 3)}, constraints=["n > 3"])
    with pytest.raises(InvalidArgumentError, match="none of 10000 points by chance meets the constraints: n > 3"):
        space.draw(random.Random(1))


def test_names_are_members_of_a_configuration() -> None:
    space = SearchSpace({"block.x": Int(32, 64), "passes": PIPELINE, "codegen.level": Int(0, 3)})
    config = space.derive(
        {"block.x": 64, "passes": ("default<O2>", "function(gvn)"), "codegen.level": 1},
        mneme.Config(execution={"iterations": 5}),
    )
    assert config.to_dict() == {
        "block": {"x": 64},
        "passes": "default<O2>,function(gvn)",
        "codegen": {"level": 1},
        "execution": {"iterations": 5},
    }


def test_arguments_that_are_constants_are_chosen_one_by_one() -> None:
    space = space_of({"parameters": {f"specialise.arguments.{name}": "bool" for name in ("n", "a")}})
    config = mneme.Config(specialise={"dimensions": True})
    made = [space.derive(point, config).to_dict()["specialise"] for point in space.points()]
    assert made == [
        {"dimensions": True},
        *({"arguments": arguments, "dimensions": True} for arguments in (["a"], ["n"], ["n", "a"])),
    ]
    others = Categorical([["x"], []])
    both = SearchSpace({"specialise.arguments.n": Bool(), "specialise.arguments": others})
    for _ in range(2):
        point = {"specialise.arguments.n": True, "specialise.arguments": ["x"]}
        assert both.derive(point).to_dict()["specialise"] == {"arguments": ["x", "n"]}
    assert others.choices == (["x"], [])
    with pytest.raises(InvalidArgumentError) as error:
        SearchSpace({"specialise.arguments.n": Int(0, 1)}).derive({"specialise.arguments.n": 1})
    assert str(error.value) == (
        "the configuration of {'specialise.arguments.n': 1}: "
        "'specialise.arguments.n', whether an argument is a constant, is yes or no: give bool"
    )


def constant(name: str) -> SearchSpace:
    return SearchSpace({f"specialise.arguments.{name}": Bool()})


@pytest.mark.parametrize(
    ("n", "m", "arguments"),
    [(True, True, ["n", "m"]), (True, False, ["n"]), (False, True, ["m"]), (False, False, None)],
)
def test_constants_of_joined_spaces(n: bool, m: bool, arguments: list[str] | None) -> None:
    point = {"specialise.arguments.n": n, "specialise.arguments.m": m}
    made = (constant("n") | constant("m")).derive(point).to_dict()
    assert made.get("specialise", {}).get("arguments") == arguments


def test_constants_join_those_that_are_there() -> None:
    def arguments(space: SearchSpace, point: dict[str, Any], base: list[str]) -> Any:
        config = space.derive(point, mneme.Config(specialise={"arguments": base}))
        return config.to_dict().get("specialise", {}).get("arguments")

    # Of what the search begins with.
    assert arguments(constant("m"), {"specialise.arguments.m": True}, ["n"]) == ["n", "m"]
    assert arguments(constant("m"), {"specialise.arguments.m": False}, ["n"]) == ["n"]
    assert arguments(constant("m"), {"specialise.arguments.m": True}, ["m", "n"]) == ["n", "m"]
    assert arguments(constant("m"), {"specialise.arguments.m": False}, ["m", "n"]) == ["n"]  # the point decides
    # Of another parameter, which takes the place of that, or of a function; each once.
    point = {"specialise.arguments": ["n"], "specialise.arguments.n": True, "specialise.arguments.m": True}
    listed = SearchSpace({"specialise.arguments": Categorical([["n"], []])})
    for space in (constant("n") | listed | constant("m"), listed | constant("m") | constant("n")):
        assert sorted(arguments(space, point, ["x"])) == ["m", "n"]
    derived = SearchSpace({"a": Bool()}, derive=lambda params: {"specialise.arguments": ["x"]})
    assert arguments(constant("m") | derived, {"a": True, "specialise.arguments.m": True}, ["n"]) == ["x", "m"]


def test_derive_gives_changes_or_a_configuration() -> None:
    point = {"n": 64}
    changes = SearchSpace(
        {"n": Int(32, 64)}, derive=lambda params: {"block.x": params["n"], "grid.x": 128 // params["n"]}
    )
    assert changes.derive(point).to_dict()["grid"] == {"x": 2}
    whole = SearchSpace({"n": Int(32, 64)}, derive=lambda params: mneme.Config(block=params["n"]))
    assert whole.derive(point) == mneme.Config(block=64)
    joined = SearchSpace({"codegen.level": Int(0, 3)}) | changes
    assert joined.derive({"codegen.level": 2, "n": 32}) == mneme.Config(codegen={"level": 2}, block=32, grid=4)


def test_derive_names_the_point() -> None:
    with pytest.raises(InvalidArgumentError) as error:
        SearchSpace({"codegen.levell": Int(0, 3)}).derive({"codegen.levell": 1})
    assert str(error.value).startswith("the configuration of {'codegen.levell': 1}: ") and "'codegen.level'" in str(
        error.value
    )


def test_space_from_a_description() -> None:
    space = space_of(
        {
            "parameters": {
                "block.x": {"categorical": [64, 128]},
                "specialise.dimensions": "bool",
                "passes": {"pipeline": {"first": "defaults", "passes": "useful", "max_length": 1}},
            },
            "constraints": ["block.x == 64 or not specialise.dimensions"],
        }
    )
    assert space.size == 2 * 2 * 5 * (1 + len(passes.USEFUL))
    assert sum(1 for _ in space.points()) == 3 * 5 * (1 + len(passes.USEFUL))
    assert space_of(json.loads(json.dumps(space.describe()))).describe() == space.describe()


def test_presets_begin_with_the_recorded_launch() -> None:
    for name, make in presets.PRESETS.items():
        space = make(FACTS)
        assert space.derive(space.start[0]) in (mneme.Config(), mneme.Config(block=128)), name


def test_full_begins_with_what_is_tried_first_by_hand() -> None:
    """As recorded, then specialised to all that is known under each of LLVM's pipelines."""
    every = {"arguments": ["n", "a"], "max_threads": 128}
    every |= dict.fromkeys(("dimensions", "ranges", "alignment", "no_alias"), True)
    facts = LaunchFacts((40000, 1, 1), (128, 1, 1), scalars=("n", "a"), device="cuda")
    with_all = [(default, every) for default in passes.DEFAULTS]
    assert started(presets.full(facts)) == [("default<O3>", None), *with_all]
    assert started(presets.compiler(facts)) == [(default, None) for default in passes.DEFAULTS]
    assert started(presets.specialise(facts)) == [("default<O3>", None), ("default<O3>", every)]
    assert len(launch(facts).start) == 1


def started(space: SearchSpace) -> list[tuple[str, Any]]:
    configs = [space.derive(point).to_dict() for point in space.start]
    return [(config["passes"], config.get("specialise")) for config in configs]


def test_start_points_of_joined_spaces_go_in_pairs() -> None:
    a = SearchSpace({"a": Int(0, 9)}, start=[{"a": 1}, {"a": 1}, {"a": 2}])
    b = SearchSpace({"b": Int(0, 9)}, start=[{"b": 3}, {"b": 4}])
    assert a.start == [{"a": 1}, {"a": 2}]
    expected = [{"a": 1, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 4}]
    assert (a | b).start == expected
    assert [sorted(point.items()) for point in (b | a).start] == [sorted(point.items()) for point in expected]


def test_a_space_without_start_points_stays_at_its_first_values() -> None:
    own = SearchSpace({"c": Int(3, 9), "d": Float(0.5, 1.0), "e": Pipeline(["a"], first=["default<O3>"])})
    first = {"c": 3, "d": 0.5, "e": ("default<O3>",)}
    started = SearchSpace({"a": Int(0, 9)}, start=[{"a": 1}, {"a": 2}])
    assert (started | own).start == (own | started).start == [{"a": 1, **first}, {"a": 2, **first}]
    assert (own | SearchSpace({"f": Bool()})).start == []
    assert (started | SearchSpace({"c": Int(0, 9)}, constraints=["c > 0"])).start == []


def test_constraints_over_joined_spaces() -> None:
    joined = SearchSpace({"a": Int(0, 3)}) | SearchSpace({"b": Int(0, 3)}, constraints=["b > 0"])
    more = joined.constrained(["a == b"])
    assert list(more.points()) == [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 3}]
    assert more.constraints == ("b > 0", "a == b") and joined.constraints == ("b > 0",)


def test_launch_knows_legal_blocks() -> None:
    sizes = launch(FACTS).parameters["block.x"]
    assert isinstance(sizes, Categorical) and sizes.choices == tuple(range(32, 1025, 32))
    bound = launch(LaunchFacts((10, 1, 1), (100, 1, 1), most_threads=256)).parameters["block.x"]
    assert isinstance(bound, Categorical) and bound.choices == (32, 64, 96, 100, 128, 160, 192, 224, 256)
    small = launch(LaunchFacts((1, 1, 1), (40, 1, 1))).parameters["block.x"]
    assert isinstance(small, Categorical) and small.choices == (32, 40, 64)


def test_launch_bounds_of_the_kernel() -> None:
    for attribute, most in (('"nvvm.maxntid"="256"', 256), ('"nvvm.maxntid"="16,16,1"', 256), ("", 1024)):
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


def test_registered_passes() -> None:
    registered = passes.registered()
    assert "function(gvn)" in registered and "cgscc(inline)" in registered and "globalopt" in registered
    assert "function(loop-mssa(licm))" in registered
    assert "function(loop(loop-rotate))" in registered
    assert not any(word in registered for word in ("print", "verify", "asan", "function(print)", "function(lint)"))
    assert len(registered) > 150
