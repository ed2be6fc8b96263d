"""Factors: what differs between the configurations that were tried, and as what it can be studied.

A factor is what was found in results; a parameter (`mneme.tune.Parameter`) is what a search is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mneme.errors import InvalidArgumentError

Value = str | int | float | bool | None

#: Above so many distinct texts a parameter is no choice any more.
MANY_TEXTS = 16


@dataclass(frozen=True)
class Factor:
    """A key of configurations, or a parameter of the search, and the values that were tried, in order."""

    name: str
    values: tuple[Value, ...]
    derived: bool = False  # from a pass pipeline: how long it is, whether a pass is in it

    @property
    def is_number(self) -> bool:
        """Whether its values have distances, and not only names."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    @property
    def is_endless(self) -> bool:
        """Whether its values are too many texts to be a choice between them: pass pipelines."""
        return len(self.values) > MANY_TEXTS and any(isinstance(value, str) for value in self.values)


def factors_of(
    rows: Sequence[Mapping[str, Value]], left_out: Callable[[str, Sequence[Value]], Value]
) -> tuple[list[Factor], list[dict[str, Value]]]:
    """The keys whose values differ between rows, what is derived of those with endless values, and each row's values.

    `left_out(key, values)` is the value of a key where a row has none; `values` are those that others have.
    """
    columns: dict[str, list[Value]] = {}
    factors: list[Factor] = []
    for key in dict.fromkeys(key for row in rows for key in row):
        absent = left_out(key, [row[key] for row in rows if key in row])
        column = [row.get(key, absent) for row in rows]
        factor = Factor(key, _ordered(column))
        if len(factor.values) < 2:
            continue
        columns[key] = column
        factors.append(factor)
        if factor.is_endless:
            derived = _derived(key, column)
            columns |= derived
            factors += [Factor(name, _ordered(values), derived=True) for name, values in derived.items()]
    return factors, [{key: column[row] for key, column in columns.items()} for row in range(len(rows))]


def flatten(configuration: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    """The members of a configuration by their paths; lists as JSON.

    >>> flatten({"passes": "default<O2>", "block": {"x": 64}, "specialise": {"arguments": ["n"]}})
    {'passes': 'default<O2>', 'block.x': 64, 'specialise.arguments': '["n"]'}
    """
    flat: dict[str, Value] = {}
    for key, value in configuration.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = json.dumps(value) if isinstance(value, list) else value
    return flat


def passes_of(pipeline: str) -> list[str]:
    """The names in a textual pass pipeline, without what they are nested in and without their options.

    >>> passes_of("function(instcombine<no-verify-fixpoint>,loop(licm)),gvn")
    ['instcombine', 'licm', 'gvn']
    """
    bare = re.sub(r"<[^<>]*>", "", re.sub(r"\b(default|lto|thinlto)<(O\w)>", r"\1-\2", pipeline))
    return [name for name in re.findall(r"[\w-]+(?![\w(-])", bare) if name]


def _derived(key: str, column: Sequence[Value]) -> dict[str, list[Value]]:
    """Many pipelines as what tells them apart: their length, and which passes are in some of them."""
    named = [passes_of(str(pipeline)) for pipeline in column]
    some = max(2, len(named) // 20)
    counts: dict[str, int] = {}
    for names in named:
        for name in set(names):
            counts[name] = counts.get(name, 0) + 1
    columns: dict[str, list[Value]] = {f"{key}: length": [len(names) for names in named]}
    for name in sorted(counts, key=lambda name: -counts[name]):
        if some <= counts[name] <= len(named) - some:
            columns[f"{key}: {name}"] = [name in names for names in named]
    return {name: values for name, values in columns.items() if len(set(values)) > 1}


def _ordered(column: Sequence[Value]) -> tuple[Value, ...]:
    """The distinct values: numbers by size, others as they came first, what is left out in front."""
    distinct = list({repr(value): value for value in column}.values())
    if all(isinstance(value, bool | int | float | None) for value in distinct):
        numbers = [value for value in distinct if value is not None]
        return (*([None] if None in distinct else []), *sorted(numbers))
    return tuple(sorted(distinct, key=lambda value: value is not None))


def at_most(count: int, text: str) -> str:
    """A text for a place that is short: its begin, and a sign that there is more.

    >>> at_most(8, "function(gvn)")
    'functio…'
    """
    if count < 2:
        raise InvalidArgumentError(f"shortening a text: at most {count} characters; two are needed")
    return text if len(text) <= count else text[: count - 1] + "…"
