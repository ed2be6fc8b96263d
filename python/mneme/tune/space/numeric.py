"""Parameters that are numbers: whole ones, and real ones."""

from __future__ import annotations

import dataclasses
import decimal
import math
import random
from collections.abc import Mapping
from typing import Any, ClassVar

from mneme.errors import InvalidArgumentError
from mneme.tune.space.parameters import Axis, Coordinates, Parameter, Range


@dataclasses.dataclass(frozen=True)
class Int(Parameter):
    """Whole numbers from `low` to `high`, both included, by `step`; `log`: small ones are as likely as large ones.

    >>> Int(64, 256, step=64).size
    4
    """

    kind: ClassVar[str] = "int"
    low: int
    high: int
    step: int = dataclasses.field(default=1, kw_only=True)
    log: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Raises InvalidArgumentError for a range that is none."""
        for name in ("low", "high", "step"):
            if not is_whole(getattr(self, name)):
                raise InvalidArgumentError(f"Int: {name} must be a whole number, and is {getattr(self, name)!r}")
        _check_range("Int", self.low, self.high, self.step, self.log)
        if self.log and self.step != 1:
            raise InvalidArgumentError("Int: log and step exclude each other")

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.high - self.low) // self.step + 1

    def at(self, index: int) -> int:
        """The value at a place."""
        return self.low + index * self.step

    def draw(self, source: random.Random) -> int:
        """A value by chance."""
        if self.log:
            drawn = math.exp(source.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
            return min(max(round(drawn), self.low), self.high)
        return self.at(source.randrange(self.size))

    def contains(self, value: Any) -> bool:
        """Whether that is one of the values."""
        return is_whole(value) and self.low <= value <= self.high and (value - self.low) % self.step == 0

    def axes(self) -> dict[str, Axis]:
        """One axis."""
        return {"": Range(self.low, self.at(self.size - 1), self.step, self.log)}

    def coordinates(self, value: Any) -> Coordinates:
        """The number itself."""
        return {"": value}

    def value(self, coordinates: Mapping[str, Any]) -> int:
        """The number itself."""
        return int(coordinates[""])

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {"int": {"low": self.low, "high": self.high, "step": self.step, "log": self.log}}


@dataclasses.dataclass(frozen=True)
class Float(Parameter):
    """Numbers from `low` to `high`; by `step` where that is given; `log`: small ones are as likely as large ones.

    >>> Float(0.0, 1.0, step=0.25).size
    5
    """

    kind: ClassVar[str] = "float"
    low: float
    high: float
    step: float | None = dataclasses.field(default=None, kw_only=True)
    log: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Raises InvalidArgumentError for a range that is none."""
        for name in ("low", "high", "step"):
            value = getattr(self, name)
            if not _is_number(value) and not (name == "step" and value is None):
                raise InvalidArgumentError(f"Float: {name} must be a number, and is {value!r}")
        _check_range("Float", self.low, self.high, self.step, self.log)
        if self.log and self.step is not None:
            raise InvalidArgumentError("Float: log and step exclude each other")

    @property
    def size(self) -> int | None:
        """How many values there are, with a step."""
        if self.step is None:
            return None
        return int((_decimal(self.high) - _decimal(self.low)) // _decimal(self.step)) + 1

    def at(self, index: int) -> float:
        """The value at a place, as one writes it: 0.7, not what 0.1 + 6 * 0.1 is rounded to, which is more."""
        return min(float(self.high), float(_decimal(self.low) + index * _decimal(self.step or 0.0)))

    def draw(self, source: random.Random) -> float:
        """A value by chance."""
        if self.size is not None:
            return self.at(source.randrange(self.size))
        if self.log:
            return min(max(math.exp(source.uniform(math.log(self.low), math.log(self.high))), self.low), self.high)
        return source.uniform(self.low, self.high)

    def contains(self, value: Any) -> bool:
        """Whether that is one of the values."""
        if not (_is_number(value) and self.low <= value <= self.high):
            return False
        return self.step is None or abs(value - self._next_to(value)) <= 1e-9 * self.step

    def axes(self) -> dict[str, Axis]:
        """One axis."""
        high = self.high if self.size is None else self.at(self.size - 1)
        return {"": Range(self.low, high, self.step, self.log, whole=False)}

    def coordinates(self, value: Any) -> Coordinates:
        """The number itself; with a step the value that it is next to."""
        return {"": self._next_to(value)}

    def value(self, coordinates: Mapping[str, Any]) -> float:
        """The number itself; with a step the value next to it, as a sampler may round otherwise."""
        return self._next_to(float(coordinates[""]))

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {"float": {"low": self.low, "high": self.high, "step": self.step, "log": self.log}}

    def _next_to(self, number: float) -> float:
        if self.step is None or self.size is None:
            return number
        return self.at(min(round((number - self.low) / self.step), self.size - 1))


def is_whole(value: Any) -> bool:
    """Whether that is a whole number; True is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _decimal(number: float) -> decimal.Decimal:
    return decimal.Decimal(str(number))


def _check_range(kind: str, low: float, high: float, step: float | None, log: bool) -> None:
    if low > high:
        raise InvalidArgumentError(f"{kind}: from {low} to {high} there is nothing")
    if step is not None and step <= 0:
        raise InvalidArgumentError(f"{kind}: a step must be above zero, and is {step}")
    if log and low <= 0:
        raise InvalidArgumentError(f"{kind}: with log, low must be above zero, and is {low}")
