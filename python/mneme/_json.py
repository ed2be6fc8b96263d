"""JSON of files that somebody else may have written: whatever is in them, it ends in a value or in a ValueError."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 64
"""How deep lists and objects may lie within each other: far deeper than in anything that Mneme writes."""


def loads(text: str | bytes) -> Any:
    """The value that is written in `text`.

    Raises json.JSONDecodeError for what is no JSON, and ValueError for what is nested too deep.

    >>> loads('{"block": {"x": 64}}')
    {'block': {'x': 64}}
    """
    try:
        value = json.loads(text)
    except RecursionError:
        value = None
    else:
        brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
        if brackets <= DEEPEST or not is_too_deep(value):
            return value
    raise ValueError(f"it is nested deeper than {DEEPEST}")


def is_too_deep(value: Any) -> bool:
    """Whether it is nested deeper than `DEEPEST`: what goes through it by recursion is safe otherwise.

    >>> is_too_deep([[1]] * 1000)
    False
    """
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        within = [one for each in level for one in (each.values() if isinstance(each, dict) else each)]
        # Of what is there several times, as YAML can have it, one is enough.
        level = list({id(one): one for one in within if isinstance(one, dict | list | tuple)}.values())
        if not level:
            return False
    return True
