"""A search space as JSON and YAML have it: presets by their names, parameters and constraints of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError
from mneme.tune import presets
from mneme.tune.names import check_keys
from mneme.tune.parameters import parameter_of
from mneme.tune.space import SearchSpace

if TYPE_CHECKING:
    from mneme import Instance


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
