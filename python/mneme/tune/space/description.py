"""A search space as JSON and YAML have it: presets by their names, parameters and constraints of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError
from mneme.tune.names import check_keys, nearest
from mneme.tune.space import passes, presets
from mneme.tune.space.choices import Bool, Categorical
from mneme.tune.space.numeric import Float, Int
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.pipeline import Pipeline
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from mneme.database import Instance


def space_of(description: Mapping[str, Any], *, beside: SearchSpace | None = None) -> SearchSpace:
    """A space from JSON or YAML: `parameters` by name, and `constraints`. Joined to `beside`, these are for both.

    Raises InvalidArgumentError for what is none, and where a name is in both.

    >>> space_of({"parameters": {"block.x": {"int": [64, 128]}}, "constraints": ["block.x % 32 == 0"]}).size
    65
    """
    check_keys("search space", description, ("parameters", "constraints"))
    parameters = description.get("parameters", None if beside is None else {})
    constraints = description.get("constraints", ())
    if not isinstance(parameters, Mapping) or not (parameters or beside is not None):
        raise InvalidArgumentError("search space: 'parameters' must have each parameter by its name")
    if not isinstance(constraints, list | tuple) or not all(isinstance(text, str) for text in constraints):
        raise InvalidArgumentError("search space: 'constraints' must be a list of texts")
    made = SearchSpace({str(name): parameter_of(str(name), value) for name, value in parameters.items()})
    return (made if beside is None else beside | made).constrained(constraints)


def joined(name: str, own: Mapping[str, Any], instance: Instance, kind: str) -> str | SearchSpace:
    """The preset of that name for a device of that kind, with what is one's own beside it; without any, the name."""
    return space_of(own, beside=presets.preset(name, instance, device=kind)) if own else name


def space_again(description: Mapping[str, Any], name: str | None, instance: Instance, kind: str) -> SearchSpace:
    """The space that `SearchSpace.describe` has described, with the preset of that name in it."""
    if name is None:
        return space_of(description)
    preset = presets.preset(name, instance, device=kind)
    there = preset.describe()
    parameters = {key: value for key, value in description["parameters"].items() if key not in there["parameters"]}
    constraints = [text for text in description.get("constraints", ()) if text not in there.get("constraints", ())]
    return space_of({"parameters": parameters, "constraints": constraints}, beside=preset)


_KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Int, Float, Categorical, Bool, Pipeline)}


def parameter_of(name: str, description: Any) -> Parameter:
    """A parameter from JSON or YAML: "bool", {"int": [0, 3]}, {"int": {"low": 0, "high": 3}}.

    Raises InvalidArgumentError, which names the parameter and the nearest word that is known.

    >>> parameter_of("codegen.level", {"int": [0, 3]})
    Int(low=0, high=3, step=1, log=False)
    """
    if isinstance(description, str):
        description = {description: None}
    if not isinstance(description, Mapping) or len(description) != 1:
        raise InvalidArgumentError(
            f"parameter '{name}': {description!r} is no parameter: write one of {', '.join(_KINDS)}, "
            "as in {int: [0, 3]}"
        )
    kind, value = next(iter(description.items()))
    if kind not in _KINDS:
        raise InvalidArgumentError(f"parameter '{name}': there is no kind '{kind}'{nearest(kind, _KINDS)}")
    try:
        return _read(kind, value)
    except (InvalidArgumentError, TypeError) as error:
        raise InvalidArgumentError(f"parameter '{name}': {error}") from None


def _read(kind: str, value: Any) -> Parameter:
    if value is None:
        value = {}
    elif kind in ("int", "float") and isinstance(value, list | tuple) and len(value) == 2:
        value = {"low": value[0], "high": value[1]}
    elif kind == "categorical" and isinstance(value, list | tuple):
        value = {"choices": value}
    elif kind == "pipeline" and isinstance(value, list | tuple):
        value = {"passes": value}
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{kind} takes no {value!r}")
    known = {
        "int": ("low", "high", "step", "log"),
        "float": ("low", "high", "step", "log"),
        "categorical": ("choices", "ordered"),
        "bool": (),
        "pipeline": ("passes", "min_length", "max_length", "first"),
    }[kind]
    check_keys(kind, value, known)
    arguments = dict(value)
    positional = [arguments.pop(key) for key in ("low", "high", "choices") if key in arguments]
    if kind == "pipeline":
        positional = [passes.named(arguments.pop("passes", "useful"))]
        if "first" in arguments:
            arguments["first"] = passes.named(arguments["first"])
    if kind in ("int", "float") and len(positional) < 2:
        raise InvalidArgumentError(f"{kind} needs low and high")
    if kind == "categorical" and not positional:
        raise InvalidArgumentError("categorical needs choices")
    return _KINDS[kind](*positional, **arguments)
