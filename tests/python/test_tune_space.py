"""Search spaces: parameters, constraints, and what a point becomes."""

import json
import random
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, UnavailableError
from mneme.tune import Bool, Categorical, Float, Int, Pipeline, SearchSpace
from mneme.tune.space import passes
from mneme.tune.space.constraints import Constraint
from mneme.tune.space.description import parameter_of, space_of
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.search_space import key_of

PIPELINE = Pipeline(["function(gvn)", "function(sink)"], max_length=2, first=["default<O2>", "default<O3>"])
PARAMETERS: dict[str, Parameter] = {
    "int": Int(2, 11, step=3),
    "int, log": Int(1, 1000, log=True),
    "float": Float(0.0, 1.0, step=0.25),
    "float, tenths": Float(0.0, 1.0, step=0.1),
    "float, log": Float(1e-3, 1.0, log=True),
    "categorical": Categorical(["a", None, 3, [1]]),
    "ordered": Categorical([32, 64, 128], ordered=True),
    "bool": Bool(),
    "pipeline": PIPELINE,
    "pipeline of fixed length": Pipeline(["a", "b"], min_length=2, max_length=2),
}


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
        "float, tenths": 11,
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
    # The last step ends before `high`, and nearer to it than to the value before.
    coarse = Float(0.0, 1.0, step=0.6)
    assert not coarse.contains(1.0)
    assert coarse.value({"": 1.0}) == 0.6
    assert coarse.coordinates(1.0) == {"": 0.6}


def test_what_is_no_such_sequence() -> None:
    pipeline = Pipeline(["a", "b"], min_length=1, max_length=2, first=["x"])
    assert all(pipeline.contains(value) for value in (("x", "a"), ("x", "b", "a"), ["x", "a"]))
    for value in ((), ("x",), ("a",), ("a", "b"), ("x", "a", "b", "a"), ("x", "x"), ("x", "c"), "xa", None):
        assert not pipeline.contains(value), value


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
    level = SearchSpace({"codegen.level": Int(0, 3)})
    for both, config in (
        (level | whole, mneme.Config(block=32)),
        (whole | level, mneme.Config(block=32, codegen={"level": 2})),
    ):
        assert both.derive({"codegen.level": 2, "n": 32}, mneme.Config(keep_threads=True)) == config
    joined = level | changes
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


def test_registered_passes() -> None:
    registered = passes.registered()
    assert "function(gvn)" in registered and "cgscc(inline)" in registered and "globalopt" in registered
    assert "function(loop-mssa(licm))" in registered
    assert "function(loop(loop-rotate))" in registered
    assert not any(word in registered for word in ("print", "verify", "asan", "function(print)", "function(lint)"))
    assert len(registered) > 150
