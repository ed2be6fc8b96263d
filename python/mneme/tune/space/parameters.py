"""What one member of a search space is: numbers (`numeric`), one of some values (`choices`), or passes (`pipeline`).

A parameter knows its values (how many there are, one by its place, one by chance) and how a sampler sees them: as one
axis or several, each a range of numbers or a choice.
"""

from __future__ import annotations

import abc
import dataclasses
import random
from collections.abc import Mapping
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True)
class Range:
    """An axis of whole numbers (`step` is one) or of real ones, ends included."""

    low: float
    high: float
    step: float | None = None
    log: bool = False
    whole: bool = True


@dataclasses.dataclass(frozen=True)
class Choice:
    """An axis of labels that have no order."""

    labels: tuple[str, ...]


Axis = Range | Choice
Coordinates = dict[str, Any]


class Parameter(abc.ABC):
    """One member of a search space. Immutable."""

    kind: ClassVar[str]

    @property
    @abc.abstractmethod
    def size(self) -> int | None:
        """How many values there are; None: more than can be counted."""

    @abc.abstractmethod
    def at(self, index: int) -> Any:
        """The value at a place from 0 to `size` - 1."""

    @abc.abstractmethod
    def draw(self, source: random.Random) -> Any:
        """A value by chance."""

    @abc.abstractmethod
    def contains(self, value: Any) -> bool:
        """Whether that is one of the values."""

    @abc.abstractmethod
    def axes(self) -> dict[str, Axis]:
        """How a sampler sees it, by suffix: one axis has the suffix ''."""

    @abc.abstractmethod
    def coordinates(self, value: Any) -> Coordinates:
        """A value on the axes: numbers, or labels."""

    @abc.abstractmethod
    def value(self, coordinates: Mapping[str, Any]) -> Any:
        """What stands there on the axes."""

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """As JSON: what `parameter_of` reads."""

    def setting(self, value: Any) -> Any:
        """The value as a configuration has it."""
        return value
