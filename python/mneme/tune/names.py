"""Words that are not known, and those that are nearest to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from mneme.errors import InvalidArgumentError


def nearest(word: object, known: Iterable[str]) -> str:
    """What an error says behind an unknown word: the nearest known one, or all of them where none is near.

    >>> nearest("tpee", ["random", "tpe"])
    "; the nearest is 'tpe'"
    """
    known = list(known)
    close = difflib.get_close_matches(str(word), known, n=1, cutoff=0.5)
    if close:
        return f"; the nearest is '{close[0]}'"
    return f"; there are: {', '.join(known)}" if known else ""


def check_keys(what: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Raises InvalidArgumentError for a key that is not known."""
    known = list(known)
    for key in given:
        if key not in known:
            raise InvalidArgumentError(f"{what} has no '{key}'{nearest(key, known)}")
