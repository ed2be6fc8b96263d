"""Words that are not known, and those that are nearest to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mneme.errors import InvalidArgumentError


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that is nearest, whatever the case of its letters; None where none is near.

    By inserted, dropped, replaced and swapped letters, as in C++ (mneme/base/suggestion.h): a third of the known word
    at most, or two, and not all of it.

    >>> closest("TPE", ["random", "tpe"]), closest("bayes", ["cmaes", "tpe"])
    ('tpe', None)
    """
    text = str(word).lower()
    found = [(_distance(text, name.lower()), name) for name in known]
    near = [(far, name) for far, name in found if far <= max(2, len(name) // 3) and far < len(name)]
    return min(near, key=lambda one: one[0])[1] if near else None


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


def _distance(a: str, b: str) -> int:
    """Letters that are inserted, dropped, replaced or swapped between the two (optimal string alignment)."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, left in enumerate(a):
        row = [i + 1]
        for j, right in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (left != right)))
            if i and j and left == b[j - 1] and right == a[i - 1]:
                row[-1] = min(row[-1], before[j - 1] + 1)
        before, above = above, row
    return above[-1]
