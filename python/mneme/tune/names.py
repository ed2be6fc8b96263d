"""Words that are not known, and those that are nearest to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mneme import _native
from mneme.errors import InvalidArgumentError


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that is nearest, whatever the case of its letters; None where none is near.

    By inserted, dropped, replaced and swapped letters (mneme/base/suggestion.h): a third of the known word at most, or
    two, and not all of it.

    >>> closest("TPE", ["random", "tpe"]), closest("bayes", ["cmaes", "tpe"])
    ('tpe', None)
    """
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.lower(), name)
    text = str(word).lower().encode("utf-8", "replace").decode()  # what is no Unicode is near to nothing
    near = _native.nearest(text, list(names))
    return None if near is None else names[near]


def nearest(word: object, known: Iterable[str]) -> str:
    """What an error says behind an unknown word: the nearest known one, or all of them where none is near.

    >>> nearest("tpee", ["random", "tpe"])
    "; the nearest is 'tpe'"
    """
    known = list(known)
    if (near := closest(word, known)) is not None:
        return f"; the nearest is '{near}'"
    return f"; there are: {', '.join(known)}" if known else ""


def check_keys(what: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Raises InvalidArgumentError for a key that is not known."""
    known = list(known)
    for key in given:
        if key not in known:
            raise InvalidArgumentError(f"{what} has no '{key}'{nearest(key, known)}")
