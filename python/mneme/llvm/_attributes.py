"""Attributes of functions, calls, arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

from mneme._native import llvm as _llvm

if TYPE_CHECKING:
    from mneme.llvm._values import Value

OF_FUNCTION = -2
OF_RESULT = -1


class Attributes(MutableMapping[str, str]):
    """The attributes at one place, by name: the text of those that have a value, "" for the others.

    Setting an item sets a string attribute; `add` takes any, as textual IR writes them.

    >>> kernel = mneme.llvm.example().functions["saxpy"]
    >>> kernel.attributes["nvvm.maxntid"] = "256"
    >>> kernel.attributes.add("nounwind", "memory(argmem: readwrite)")
    >>> sorted(kernel.attributes.items())
    [('memory', 'argmem: readwrite'), ('nounwind', ''), ('nvvm.maxntid', '256')]
    >>> kernel.attributes.remove("nounwind"); "nounwind" in kernel.attributes
    False
    """

    __slots__ = ("_place", "_value")

    def __init__(self, value: Value, place: int) -> None:
        self._value = value
        self._place = place

    def add(self, *attributes: str) -> None:
        """Adds attributes; one of the same name is replaced.

        Raises InvalidArgumentError for what is none, or cannot stand there.

        >>> mneme.llvm.example().functions["saxpy"].attributes.add("noinlin")
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: 'noinlin' is no attribute of a function: ...
        """
        for attribute in attributes:
            _llvm.add_attribute(self._value._ref, self._place, attribute)

    def remove(self, name: str) -> None:
        """Removes an attribute; nothing happens where it is not there.

        >>> mneme.llvm.example().functions["saxpy"].attributes.remove("noinline")
        """
        _llvm.remove_attribute(self._value._ref, self._place, name)

    def _all(self) -> dict[str, str]:
        return {info.name: info.value for info in _llvm.attributes(self._value._ref, self._place)}

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __setitem__(self, name: str, value: str) -> None:
        _llvm.add_string_attribute(self._value._ref, self._place, name, value)

    def __delitem__(self, name: str) -> None:
        if not _llvm.remove_attribute(self._value._ref, self._place, name):
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr([info.text for info in _llvm.attributes(self._value._ref, self._place)])
