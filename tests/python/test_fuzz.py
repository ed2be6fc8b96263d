"""Whatever the bindings are given, they answer with a value or an exception: the interpreter goes on."""

import inspect
import json
import operator
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mneme import _native
from mneme.errors import MnemeError

FEW = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

KEYS = [
    *("passes", "pass_plugins", "grid", "block", "keep_threads", "shared_memory", "ir", "ir_digest", "module"),
    *("specialise", "codegen", "assembler", "execution", "tolerance", "verdict", "x", "y", "z", "level", "arguments"),
    *("iterations", "relative_error", "buffer", "type", "threshold", "norm", "nan", "max_threads", "features", ""),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["default<O3>", "f32", "on", "data: f32, 1", "\ud800", "\0", "cpu", "2860", "scale"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=4),
    max_leaves=12,
)
ANYTHING = (
    JSON
    | st.binary(max_size=20)
    | st.sets(st.integers(), max_size=2)
    | st.builds(object)
    | st.just(mneme)
    | st.just(print)
    | st.builds(mneme.Config)
    | st.complex_numbers()
    | st.just(Path("/nowhere"))
)
OPTIONS = sorted(inspect.signature(mneme.Executor).parameters.keys() - {"progress", "log", "resume"})


def refused_or(call: Callable[..., Any], *arguments: Any, others: tuple[type[Exception], ...] = ()) -> Any:
    try:
        return call(*arguments)
    except MnemeError:
        return None
    except others:
        return None


@FEW
@given(JSON)
def test_configurations_of_any_json(members: Any) -> None:
    config = refused_or(mneme.Config.from_dict, members)
    if config is not None:
        assert mneme.Config.from_json(config.to_json()) == config
        assert mneme.Config.from_dict(json.loads(config.to_json())) == config
        assert hash(mneme.Config.from_dict(config.to_dict())) == hash(config)
        assert eval(repr(config), {"Config": mneme.Config, "inf": float("inf")}) == config


@FEW
@given(st.dictionaries(st.sampled_from(KEYS[:-1]) | st.text(string.ascii_letters, min_size=1), ANYTHING, max_size=4))
def test_configurations_of_any_arguments(members: dict[str, Any]) -> None:
    config = refused_or(lambda: mneme.Config(**members))
    if config is not None:
        refused_or(lambda: config.replace(**members))


@FEW
@given(st.text() | st.binary() | st.builds(json.dumps, JSON))
def test_configurations_of_any_text(text: Any) -> None:
    refused_or(mneme.Config.from_json, text)


@FEW
@given(ANYTHING)
def test_keys_of_any_kind(database: mneme.Database, key: Any) -> None:
    kernel = database["scale"]
    for container in (database, kernel, kernel[0].buffers()):
        refused_or(operator.getitem, container, key, others=(TypeError,))
        refused_or(operator.contains, container, key, others=(TypeError,))
    refused_or(database.find, key)


@FEW
@given(ANYTHING)
def test_results_of_any_dictionary(members: Any) -> None:
    result = refused_or(mneme.Result.from_dict, members)
    if result is not None:
        for name in ("time", "times", "registers", "object_size", "compile_time", "verified", "failure", "details"):
            refused_or(getattr, result, name, others=(TypeError, KeyError))


@FEW
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "configuration": JSON,
            "failure": SCALARS,
            "reason": SCALARS,
            "label": SCALARS,
            "shared_with": SCALARS,
            "result": st.dictionaries(st.sampled_from(["exec_time", "times", "instances", "reg_usage"]), JSON),
        },
    )
)
def test_results_that_are_nearly_right(members: Any) -> None:
    result = refused_or(lambda: mneme.Result.from_dict({"configuration": {}, "failure": None, **members}))
    if result is not None:
        repr(result.config)
        assert mneme.Result.from_dict(result.to_dict()).failure == result.failure


@FEW
@given(st.sampled_from(OPTIONS), ANYTHING)
def test_executors_of_any_options(instance: mneme.Instance, name: str, value: Any) -> None:
    options = {"instance": instance, "device": "cpu", "resume": True, name: value}
    refused_or(lambda: mneme.Executor(**options))  # without a log it is always refused


def native_calls() -> list[Any]:
    found: list[Any] = []
    for name, value in vars(_native).items():
        if inspect.isclass(value):
            own = [member for member in vars(value) if member in ("__init__", "__eq__") or not member.startswith("__")]
            found += [
                pytest.param(getattr(value, one), id=f"{name}.{one}") for one in own if callable(getattr(value, one))
            ]
        elif callable(value):
            found.append(pytest.param(value, id=name))
    return found


@pytest.mark.parametrize("call", native_calls())
def test_native_functions_of_wrong_arguments(call: Any, database: mneme.Database, instance: mneme.Instance) -> None:
    natives = [database._native, instance._native, instance.kernel._native, mneme.Config()._value]
    wrong = [None, 1, -1, 2**70, 1.5, "text", "\ud800", b"bytes", [], {}, object(), *natives]
    for arguments in [(), *((one,) for one in wrong), *((one, other) for one in wrong for other in wrong)]:
        refused_or(call, *arguments, others=(TypeError, ValueError, AttributeError))


@pytest.mark.filterwarnings("ignore:nanobind. attempted to access an uninitialized instance")
def test_what_was_never_made_is_refused() -> None:
    for name in (
        "Configuration",
        "PoolResult",
        "Session",
        "Pool",
        "KernelDocument",
        "InstanceRecord",
        "RecordedMemory",
    ):
        kind = getattr(_native, name)
        with pytest.raises((TypeError, MnemeError)):
            kind()
        unmade = kind.__new__(kind)
        for member in dir(kind):
            if not member.startswith("__"):
                refused_or(operator.methodcaller(member), unmade, others=(TypeError,))
