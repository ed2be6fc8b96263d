"""What one member of a search space may be: whole numbers, numbers, choices, yes or no, sequences of passes.

A parameter knows its values (how many there are, one by its place, one by chance) and how a sampler sees them: as one
axis or several, each a range of numbers or a choice.
"""

from __future__ import annotations

import abc
import dataclasses
import decimal
import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mneme.errors import InvalidArgumentError
from mneme.tune.names import check_keys, nearest


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
            if not _is_whole(getattr(self, name)):
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
        return _is_whole(value) and self.low <= value <= self.high and (value - self.low) % self.step == 0

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


@dataclasses.dataclass(frozen=True, init=False)
class Pipeline(Parameter):
    """A sequence of passes: one of `first`, then `min_length` to `max_length` of `passes`, any of them repeatedly.

    Each pass is a text that LLVM takes at the top of a pipeline: "default<O3>", "function(gvn)", "cgscc(inline)". A
    value is the tuple of them; `setting` is the pipeline's text. `mneme.tune.passes` has lists: `DEFAULTS`, `USEFUL`,
    and all that LLVM has, `registered()`.

    >>> pipeline = Pipeline(["function(gvn)", "function(sink)"], max_length=2, first=["default<O2>", "default<O3>"])
    >>> pipeline.size
    14
    >>> pipeline.setting(("default<O3>", "function(sink)"))
    'default<O3>,function(sink)'
    """

    kind: ClassVar[str] = "pipeline"
    passes: tuple[str, ...]
    min_length: int
    max_length: int
    first: tuple[str, ...]

    def __init__(
        self, passes: Sequence[str], *, max_length: int = 6, min_length: int = 0, first: Sequence[str] = ()
    ) -> None:
        """Raises InvalidArgumentError for what is no list of passes, or no length."""
        for name, texts in (("passes", passes), ("first", first)):
            if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
                raise InvalidArgumentError(f"Pipeline: {name} must be a list of texts, and is {texts!r}")
            if len(set(texts)) != len(texts):
                twice = next(text for text in texts if list(texts).count(text) > 1)
                raise InvalidArgumentError(f"Pipeline: '{twice}' is there twice in {name}")
        if not (_is_whole(min_length) and _is_whole(max_length) and 0 <= min_length <= max_length):
            raise InvalidArgumentError(f"Pipeline: a length from {min_length!r} to {max_length!r} is none")
        if max_length > 0 and not passes:
            raise InvalidArgumentError("Pipeline: there are no passes to choose from")
        if min_length == 0 and not first:
            raise InvalidArgumentError("Pipeline: it may be empty: give `first`, or a min_length of 1")
        object.__setattr__(self, "passes", tuple(passes))
        object.__setattr__(self, "min_length", min_length)
        object.__setattr__(self, "max_length", max_length)
        object.__setattr__(self, "first", tuple(first))

    @property
    def size(self) -> int:
        """How many sequences there are."""
        lengths = range(self.min_length, self.max_length + 1)
        return max(len(self.first), 1) * sum(int(len(self.passes) ** length) for length in lengths)

    def at(self, index: int) -> tuple[str, ...]:
        """The sequence at a place: short ones first."""
        index, head = divmod(index, max(len(self.first), 1))
        length = self.min_length
        while index >= len(self.passes) ** length:
            index -= len(self.passes) ** length
            length += 1
        chosen = []
        for _ in range(length):
            index, place = divmod(index, len(self.passes))
            chosen.append(self.passes[place])
        return self.first[head : head + 1] + tuple(chosen)

    def draw(self, source: random.Random) -> tuple[str, ...]:
        """A sequence by chance: first its length, then its passes."""
        head = (source.choice(self.first),) if self.first else ()
        length = source.randint(self.min_length, self.max_length)
        return head + tuple(source.choice(self.passes) for _ in range(length))

    def contains(self, value: Any) -> bool:
        """Whether that is such a sequence."""
        if not isinstance(value, list | tuple):
            return False
        head, tail = (value[:1], value[1:]) if self.first else ((), value)
        if self.first and (not head or head[0] not in self.first):
            return False
        return self.min_length <= len(tail) <= self.max_length and all(text in self.passes for text in tail)

    def axes(self) -> dict[str, Axis]:
        """The first one, the length, and each place; those behind the length are of no meaning."""
        axes: dict[str, Axis] = {}
        if self.first:
            axes[".first"] = Choice(self.first)
        if self.max_length > self.min_length:
            axes[".length"] = Range(self.min_length, self.max_length, 1)
        for place in range(self.max_length):
            axes[f".{place}"] = Choice(self.passes)
        return axes

    def coordinates(self, value: Any) -> Coordinates:
        """Of a sequence; places behind its end have the first pass."""
        tail = tuple(value[1:]) if self.first else tuple(value)
        made: Coordinates = {".first": value[0]} if self.first else {}
        if self.max_length > self.min_length:
            made[".length"] = len(tail)
        padded = tail + self.passes[:1] * (self.max_length - len(tail))
        made.update({f".{place}": text for place, text in enumerate(padded)})
        return made

    def value(self, coordinates: Mapping[str, Any]) -> tuple[str, ...]:
        """The sequence."""
        length = int(coordinates.get(".length", self.min_length))
        head = (coordinates[".first"],) if self.first else ()
        return head + tuple(coordinates[f".{place}"] for place in range(length))

    def setting(self, value: Any) -> str:
        """The pipeline's text."""
        return ",".join(value)

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "pipeline": {
                "passes": list(self.passes),
                "min_length": self.min_length,
                "max_length": self.max_length,
                "first": list(self.first),
            }
        }


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
        from mneme.tune import passes

        positional = [passes.named(arguments.pop("passes", "useful"))]
        if "first" in arguments:
            arguments["first"] = passes.named(arguments["first"])
    if kind in ("int", "float") and len(positional) < 2:
        raise InvalidArgumentError(f"{kind} needs low and high")
    if kind == "categorical" and not positional:
        raise InvalidArgumentError("categorical needs choices")
    return _KINDS[kind](*positional, **arguments)


def _is_whole(value: Any) -> bool:
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


def _label(kind: str, choice: Any) -> str:
    try:
        return json.dumps(choice, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{kind}: {choice!r} is nothing that JSON has") from None
