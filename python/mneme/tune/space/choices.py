"""Parameters that are one of some values: any that JSON has, and yes or no."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mneme.errors import InvalidArgumentError
from mneme.tune.space.parameters import Axis, Choice, Coordinates, Parameter, Range


@dataclasses.dataclass(frozen=True, init=False)
class Categorical(Parameter):
    """One of `choices`, each what JSON has; `ordered`: what stands side by side is alike, as sizes are.

    >>> Categorical([32, 64, 128], ordered=True).at(1)
    64
    """

    kind: ClassVar[str] = "categorical"
    choices: tuple[Any, ...]
    ordered: bool
    _places: dict[str, int] = dataclasses.field(init=False, repr=False, compare=False)  # by label

    def __init__(self, choices: Sequence[Any], *, ordered: bool = False) -> None:
        """Raises InvalidArgumentError for choices that are none."""
        if isinstance(choices, str | bytes) or not isinstance(choices, Sequence):
            raise InvalidArgumentError(f"Categorical: choices must be a list, and is {choices!r}")
        if not choices:
            raise InvalidArgumentError("Categorical: there is nothing to choose from: give at least one choice")
        labels = [_label("Categorical", choice) for choice in choices]
        for label in labels:
            if labels.count(label) > 1:
                raise InvalidArgumentError(f"Categorical: {label} is there twice")
        object.__setattr__(self, "choices", tuple(choices))
        object.__setattr__(self, "ordered", ordered)
        object.__setattr__(self, "_places", {label: place for place, label in enumerate(labels)})

    @property
    def size(self) -> int:
        """How many choices there are."""
        return len(self.choices)

    def at(self, index: int) -> Any:
        """The choice at a place."""
        return self.choices[index]

    def draw(self, source: random.Random) -> Any:
        """A choice by chance."""
        return self.choices[source.randrange(self.size)]

    def contains(self, value: Any) -> bool:
        """Whether that is one of the choices."""
        return self._index(value) is not None

    def axes(self) -> dict[str, Axis]:
        """One axis: of places where choices have an order."""
        if self.ordered:
            return {"": Range(0, self.size - 1, 1)}
        return {"": Choice(self._labels())}

    def coordinates(self, value: Any) -> Coordinates:
        """Its place, or its label."""
        place = self._index(value)
        return {"": place if self.ordered or place is None else self._labels()[place]}

    def value(self, coordinates: Mapping[str, Any]) -> Any:
        """What has that place, or that label."""
        place = int(coordinates[""]) if self.ordered else self._labels().index(coordinates[""])
        return self.choices[place]

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {"categorical": {"choices": list(self.choices), "ordered": self.ordered}}

    def _labels(self) -> tuple[str, ...]:
        if all(isinstance(choice, str) for choice in self.choices):
            return self.choices
        return tuple(_label("Categorical", choice) for choice in self.choices)

    def _index(self, value: Any) -> int | None:
        try:
            return self._places.get(_label("Categorical", value))
        except InvalidArgumentError:
            return None


@dataclasses.dataclass(frozen=True)
class Bool(Parameter):
    """Yes or no.

    >>> Bool().at(0)
    False
    """

    kind: ClassVar[str] = "bool"

    @property
    def size(self) -> int:
        """Two."""
        return 2

    def at(self, index: int) -> bool:
        """First no, then yes."""
        return index == 1

    def draw(self, source: random.Random) -> bool:
        """One of them by chance."""
        return source.random() < 0.5

    def contains(self, value: Any) -> bool:
        """Whether that is True or False."""
        return isinstance(value, bool)

    def axes(self) -> dict[str, Axis]:
        """One axis."""
        return {"": Choice(("false", "true"))}

    def coordinates(self, value: Any) -> Coordinates:
        """Its label."""
        return {"": "true" if value else "false"}

    def value(self, coordinates: Mapping[str, Any]) -> bool:
        """What has that label."""
        return bool(coordinates[""] == "true")

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {"bool": {}}


def _label(kind: str, choice: Any) -> str:
    try:
        return json.dumps(choice, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{kind}: {choice!r} is nothing that JSON has") from None
