"""The space that is searched: parameters by name, constraints, and the configuration that a point becomes."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError, MnemeError
from mneme.results.trials import Params
from mneme.tune.names import check_keys
from mneme.tune.space.choices import Categorical
from mneme.tune.space.constraints import Constraint, said_by
from mneme.tune.space.parameters import Parameter

if TYPE_CHECKING:
    from mneme.config import Config

Condition = str | Callable[[Mapping[str, Any]], bool]
Derive = Callable[[Mapping[str, Any]], "Config | Mapping[str, Any]"]

# Points by chance that are tried before a space is called empty.
_TRIES = 10_000
_CONSTANTS = "specialise.arguments"
# And an argument's name: whether that is one of them.
_CONSTANT = _CONSTANTS + "."


@dataclasses.dataclass(frozen=True)
class Line:
    """Values that are more and more unlike what was recorded, each tried alone first (`mneme.tune.search.probe`).

    Each of `values` has few parameters, as {"grid": "threads", "block.x": 64}; what fails is left out of the space.
    `others` is what the rest of the start point has meanwhile, where that is not as it begins; `beyond` are values that
    cannot be tried alone, and are left out where all others of the line are.
    """

    values: tuple[Params, ...]
    others: Params = dataclasses.field(default_factory=dict)
    beyond: tuple[Params, ...] = ()


class SearchSpace:
    """Parameters by name, constraints between them, and how a point becomes a configuration.

    Without `derive` a name is a member of a configuration, as in `Config.replace`: "block.x", "passes",
    "codegen.level"; see docs/reference/result.md. Of "specialise.arguments" each argument may be a yes or no of its
    own: "specialise.arguments.n". With `derive`, `derive(params)` returns what changes, as such a mapping, or
    a whole `Config`, which then takes the place of the one that is tuned. `constraints` are texts or functions
    (`mneme.tune.space.constraints`); `start` has points that are tried first, and `lines` what is tried alone from the
    first of them; `notes` say to a person what the space leaves out, and `preset` is the name of the presets that are
    part of it. Spaces are joined with `|`.

    >>> from mneme.tune import Int
    >>> space = SearchSpace({"block.x": Int(64, 256, step=64), "codegen.level": Int(0, 3)},
    ...                     constraints=["block.x * (codegen.level + 1) <= 512"])
    >>> space.size
    16
    >>> sum(1 for _ in space.points())
    12
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        *,
        constraints: Sequence[Condition] = (),
        derive: Derive | None = None,
        start: Sequence[Mapping[str, Any]] = (),
        lines: Sequence[Line] = (),
        notes: Sequence[str] = (),
    ) -> None:
        """Raises InvalidArgumentError, with the name, for what is no parameter, no condition, or no point."""
        for name, parameter in parameters.items():
            if not isinstance(name, str) or not isinstance(parameter, Parameter):
                raise InvalidArgumentError(
                    f"search space: '{name}' is {parameter!r}: give Int, Float, Categorical, Bool or Pipeline"
                )
        self._parameters = dict(parameters)
        self._constraints = [Constraint(condition, self._parameters) for condition in constraints]
        self._steps: list[Derive] = [derive or self._members]
        self._members_of_config = () if derive else tuple(self._parameters)
        self._start = [dict(point) for point in start]
        for point in self._start:
            self.check(point)
        self.lines = tuple(lines)
        self.notes = tuple(notes)
        self.preset: str | None = None

    @property
    def parameters(self) -> dict[str, Parameter]:
        """By name."""
        return dict(self._parameters)

    @property
    def members(self) -> dict[str, Parameter]:
        """Those parameters that are members of a configuration, as no `derive` makes something else of them."""
        return {name: self._parameters[name] for name in self._members_of_config}

    @property
    def constraints(self) -> tuple[str, ...]:
        """As texts."""
        return tuple(str(constraint) for constraint in self._constraints)

    @property
    def start(self) -> list[Params]:
        """Points that are tried first, which meet the constraints, each once."""
        return [dict(point) for point in {key_of(point): point for point in self._start if self.allows(point)}.values()]

    @property
    def size(self) -> int | None:
        """How many points there are, those counted that a constraint forbids; None: more than can be counted."""
        total = 1
        for parameter in self._parameters.values():
            if parameter.size is None:
                return None
            total *= parameter.size
        return total

    def __or__(self, other: SearchSpace) -> SearchSpace:
        """Both together. Start points go in pairs; the space with fewer of them stays at its last.

        One that has none stays at the first value of each of its parameters, where the other has some.

        Raises InvalidArgumentError where a name is in both.
        """
        for name in other._parameters:
            if name in self._parameters:
                raise InvalidArgumentError(f"search space: '{name}' is in both of the spaces that are to be joined")
        joined = SearchSpace({**self._parameters, **other._parameters})
        joined._constraints = [*self._constraints, *other._constraints]
        joined._steps = [*self._steps, *other._steps]
        joined._members_of_config = self._members_of_config + other._members_of_config
        if self._start or other._start:
            left, right = self._start or [self._first()], other._start or [other._first()]
            last = {**left[-1], **right[-1]}
            none: Params = {}
            pairs = itertools.zip_longest(left, right, fillvalue=none)
            joined._start = [{**last, **mine, **its} for mine, its in pairs]
        joined.lines, joined.notes = self.lines + other.lines, self.notes + other.notes
        joined.preset = "+".join(name for name in (self.preset, other.preset) if name) or None
        return joined

    def constrained(self, constraints: Sequence[Condition]) -> SearchSpace:
        """The same space under more constraints, whose texts may name any of its parameters.

        Raises InvalidArgumentError for what is no condition.

        >>> from mneme.tune import Int
        >>> joined = SearchSpace({"a": Int(1, 4)}) | SearchSpace({"b": Int(1, 4)})
        >>> sum(1 for _ in joined.constrained(["a * b <= 4"]).points())
        8
        """
        made = copy.copy(self)
        more = [Constraint(condition, self._parameters) for condition in constraints]
        made._constraints = [*self._constraints, *more]
        return made

    def narrowed(self, without: Mapping[str, Sequence[Any]], constraints: Sequence[Condition]) -> SearchSpace:
        """A space without some values of `Categorical` parameters, under more constraints.

        Its first start point was tried.

        >>> from mneme.tune import Categorical
        >>> SearchSpace({"block.x": Categorical([32, 64, 128])}).narrowed({"block.x": [32]}, []).size
        2
        """
        made = self.constrained(constraints)
        made._parameters = dict(self._parameters)
        for name, values in without.items():
            parameter = self._parameters[name]
            assert isinstance(parameter, Categorical)
            left = [choice for choice in parameter.choices if choice not in values]
            made._parameters[name] = Categorical(left, ordered=parameter.ordered)
        made.lines = ()
        made._start = [
            point for point in self.start[1:] if all(made._parameters[name].contains(point[name]) for name in point)
        ]
        return made

    def check(self, params: Mapping[str, Any]) -> None:
        """Raises InvalidArgumentError for what is no point of the space, whatever the constraints say of it."""
        check_keys("search space", params, self._parameters)
        for name, parameter in self._parameters.items():
            if name not in params:
                raise InvalidArgumentError(f"search space: the point {dict(params)} has no '{name}'")
            if not parameter.contains(params[name]):
                raise InvalidArgumentError(f"search space: '{name}' cannot be {params[name]!r}; it is {parameter}")

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Whether that is a point of the space that meets the constraints."""
        inside = all(parameter.contains(params.get(name)) for name, parameter in self._parameters.items())
        return inside and self.allows(params)

    def allows(self, params: Mapping[str, Any]) -> bool:
        """Whether a point meets all constraints."""
        return all(constraint.holds(params) for constraint in self._constraints)

    def derive(self, params: Mapping[str, Any], config: Config | None = None) -> Config:
        """The configuration of a point: `config` (default: `Config()`) with what the point changes.

        Raises InvalidArgumentError with the point where that is none, or where `derive` fails.
        """
        from mneme.config import Config

        config = Config() if config is None else config
        changes: Params = {}
        try:
            for step in self._steps:
                made = step(params)
                if isinstance(made, Config):
                    config, changes = made, {}
                elif isinstance(made, Mapping):
                    changes.update(made)
                else:
                    raise InvalidArgumentError(
                        f"derive returned {made!r}: it must return what changes, as {{'block.x': 64}}, or a Config"
                    )
            return config.replace(**_with_constants(changes, config))
        except Exception as error:  # derive is a person's own
            if isinstance(error, MnemeError) and not isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(f"the configuration of {dict(params)}: {said_by(error)}") from error

    def points(self) -> Iterator[Params]:
        """Every point that meets the constraints; the last parameter changes fastest.

        Raises InvalidArgumentError where there is a parameter whose values cannot be counted.
        """
        for name, parameter in self._parameters.items():
            if parameter.size is None:
                raise InvalidArgumentError(
                    f"search space: '{name}' has more values than can be tried one by one: give it a step, or sample"
                )
        return self._walk(list(self._parameters.items()), {})

    def _walk(self, names: list[tuple[str, Parameter]], chosen: Params) -> Iterator[Params]:
        if not names:
            if self.allows(chosen):
                yield dict(chosen)
            return
        name, parameter = names[0]
        for index in range(parameter.size or 0):
            yield from self._walk(names[1:], {**chosen, name: parameter.at(index)})

    def draw(self, source: random.Random) -> Params:
        """A point by chance that meets the constraints. Raises InvalidArgumentError where hardly any does."""
        for _ in range(_TRIES):
            params = {name: parameter.draw(source) for name, parameter in self._parameters.items()}
            if self.allows(params):
                return params
        raise InvalidArgumentError(
            f"search space: none of {_TRIES} points by chance meets the constraints: {'; '.join(self.constraints)}"
        )

    def describe(self) -> dict[str, Any]:
        """As JSON: `space_of` reads it, where no Python function is part of the space."""
        described: dict[str, Any] = {
            "parameters": {name: parameter.describe() for name, parameter in self._parameters.items()}
        }
        if self._constraints:
            described["constraints"] = list(self.constraints)
        return described

    def __repr__(self) -> str:
        """Its parameters' names and its size."""
        size = "uncounted" if self.size is None else self.size
        return f"<SearchSpace of {', '.join(self._parameters)}: {size} points>"

    def _first(self) -> Params:
        return {name: parameter.at(0) for name, parameter in self._parameters.items()}

    def _members(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: parameter.setting(params[name]) for name, parameter in self._parameters.items()}


def _with_constants(changes: Params, config: Config) -> Params:
    """`changes` with what they say of single arguments brought into the one list of constants."""
    flags = {name.removeprefix(_CONSTANT): changes[name] for name in changes if name.startswith(_CONSTANT)}
    if not flags:
        return changes
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise InvalidArgumentError(
                f"'{_CONSTANT}{name}', whether an argument is a constant, is yes or no: give bool"
            )
    made = {name: value for name, value in changes.items() if not name.startswith(_CONSTANT)}
    if _CONSTANTS in made:
        others = made[_CONSTANTS] or ()
    else:  # those of which no parameter says anything stay
        others = [name for name in config.to_dict().get("specialise", {}).get("arguments", ()) if name not in flags]
    chosen = [name for name, value in flags.items() if value]
    made[_CONSTANTS] = list(dict.fromkeys([*others, *chosen]))
    return made


def key_of(params: Mapping[str, Any]) -> str:
    """A text that is equal where points are."""
    return json.dumps(params, sort_keys=True)
