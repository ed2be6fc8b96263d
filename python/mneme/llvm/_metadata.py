"""Metadata and debug locations."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mneme._native import llvm as _llvm
from mneme.llvm._refs import wrap

if TYPE_CHECKING:
    from mneme.llvm._module import Module
    from mneme.llvm._values import Value


class Metadata:
    """A piece of metadata: a string, a value, a tuple, or a node of debug information.

    >>> module = mneme.llvm.example()
    >>> module.metadata(["unroll", 4])
    <Metadata tuple !{!"unroll", i64 4}>
    """

    __slots__ = ("_module", "_ref")

    def __init__(self, module: Module, ref: _llvm.MetadataRef) -> None:
        self._module = module
        self._ref = ref

    @property
    def module(self) -> Module:
        """The module that it is of."""
        return self._module

    @property
    def kind(self) -> str:
        """string, value, tuple, or the class of debug information, such as DISubprogram.

        >>> mneme.llvm.example().metadata("a name").kind
        'string'
        """
        return _llvm.metadata_info(self._ref)[0]

    @property
    def operands(self) -> tuple[Metadata | None, ...]:
        """What a node is made of; empty for strings and values.

        >>> mneme.llvm.example().metadata(["unroll", None]).operands
        (<Metadata string 'unroll'>, None)
        """
        refs = _llvm.metadata_operands(self._ref)
        return tuple(None if ref is None else Metadata(self._module, ref) for ref in refs)

    @property
    def value(self) -> Value:
        """What metadata of the kind "value" stands for.

        >>> mneme.llvm.example().metadata([4]).operands[0].value
        <Constant i64 4>
        """
        return wrap(self._module, _llvm.metadata_as_value(self._ref))

    def __str__(self) -> str:
        return _llvm.metadata_info(self._ref)[1]

    def __repr__(self) -> str:
        kind, text = _llvm.metadata_info(self._ref)
        text = repr(text) if kind == "string" else text
        return f"<Metadata {kind} {text if len(text) <= 60 else text[:57] + '...'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metadata) and self._ref == other._ref

    def __hash__(self) -> int:
        return hash(self._ref)


class AttachedMetadata(MutableMapping[str, Metadata]):
    """What is attached to an instruction, a function or a global variable, by kind. Strings and lists are made into
    nodes.

    >>> module = mneme.llvm.example()
    >>> load = next(i for i in module.functions["saxpy"].instructions if i.opcode == "load")
    >>> load.metadata["my.note"] = ["streamed", 1]
    >>> print(load)
      %vx = load float, ptr %px, align 4, !my.note !0
    >>> del load.metadata["my.note"]
    >>> len(load.metadata)
    0
    """

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def _all(self) -> dict[str, Metadata]:
        module = self._value.module
        return {kind: Metadata(module, ref) for kind, ref in _llvm.attached_metadata(self._value._ref)}

    def __getitem__(self, kind: str) -> Metadata:
        return self._all()[kind]

    def __setitem__(self, kind: str, metadata: object) -> None:
        node = metadata if isinstance(metadata, Metadata) else self._value.module.metadata(metadata)
        if not isinstance(metadata, (Metadata, list, tuple)):
            node = self._value.module.metadata([node])
        _llvm.set_metadata(self._value._ref, kind, node._ref)

    def __delitem__(self, kind: str) -> None:
        if kind not in self._all():
            raise KeyError(kind)
        _llvm.set_metadata(self._value._ref, kind, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


@dataclass(frozen=True)
class DebugLocation:
    """Where in the source something was written; inlined_at is where that was inlined to, and so on.

    >>> str(DebugLocation(line=9, column=3, file="saxpy.cu", function="saxpy"))
    'saxpy.cu:9:3'
    """

    line: int
    column: int
    file: str = ""
    directory: str = ""
    function: str = ""
    inlined_at: DebugLocation | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def to_location(chain: list[_llvm.SourceLocation]) -> DebugLocation | None:
    """The locations, innermost first, as one."""
    location: DebugLocation | None = None
    for at in reversed(chain):
        location = DebugLocation(at.line, at.column, at.file, at.directory, at.function, location)
    return location
