"""The parameter that is a sequence of passes."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mneme.errors import InvalidArgumentError
from mneme.tune.space.numeric import is_whole
from mneme.tune.space.parameters import Axis, Choice, Coordinates, Parameter, Range


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
        if not (is_whole(min_length) and is_whole(max_length) and 0 <= min_length <= max_length):
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
