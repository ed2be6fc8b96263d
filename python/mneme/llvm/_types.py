"""Types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mneme._native import llvm as _llvm
from mneme.errors import InvalidArgumentError
from mneme.llvm._refs import Number, to_ref, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mneme.llvm._module import Module
    from mneme.llvm._values import Constant


class Type:
    """A type of a module, as textual IR writes it. Two modules share none.

    >>> module = mneme.llvm.example()
    >>> module.type("ptr addrspace(3)")
    <Type ptr addrspace(3)>
    >>> module.type("i32") == module.functions["saxpy"].arguments[0].type
    True
    """

    __slots__ = ("_info", "_module", "_ref")

    def __init__(self, module: Module, ref: _llvm.TypeRef) -> None:
        self._module = module
        self._ref = ref
        self._info = _llvm.type_info(ref)

    @property
    def module(self) -> Module:
        """The module that it is of."""
        return self._module

    @property
    def kind(self) -> str:
        """What it is: void, integer, float, pointer, vector, array, struct, function, label, metadata or other.

        >>> mneme.llvm.example().type("<4 x float>").kind
        'vector'
        """
        return self._info.kind

    @property
    def bits(self) -> int:
        """How many bits an integer or a float has; 0 for other types.

        >>> mneme.llvm.example().type("half").bits
        16
        """
        return self._info.bits

    @property
    def address_space(self) -> int:
        """Of a pointer; 0 for other types. On NVIDIA and AMD GPUs 1 is global memory, 3 shared, 5 local.

        >>> mneme.llvm.example().type("ptr addrspace(3)").address_space
        3
        """
        return self._info.address_space

    @property
    def name(self) -> str:
        """Of a structure that has one, without the percent sign; empty for other types.

        >>> mneme.llvm.parse("%pair = type { i32, float } @p = global %pair zeroinitializer").type("%pair").name
        'pair'
        """
        return self._info.name

    @property
    def is_variadic(self) -> bool:
        """Whether a function takes more arguments than it names.

        >>> mneme.llvm.example().type("i32 (ptr, ...)").is_variadic
        True
        """
        return self._info.is_variadic

    @property
    def is_packed(self) -> bool:
        """Whether a structure has no padding.

        >>> mneme.llvm.example().type("<{ i8, i32 }>").is_packed
        True
        """
        return self._info.is_packed

    @property
    def is_scalable(self) -> bool:
        """Whether a vector's length is a multiple of `len()` that only the machine knows.

        >>> mneme.llvm.example().type("<vscale x 4 x i32>").is_scalable
        True
        """
        return self._info.is_scalable

    def __len__(self) -> int:
        """Elements of a vector or an array, fields of a structure, parameters of a function.

        >>> len(mneme.llvm.example().type("[16 x i8]"))
        16
        """
        return self._info.count

    def __bool__(self) -> bool:
        return True

    @property
    def element(self) -> Type:
        """The type of a vector's or an array's elements.

        >>> mneme.llvm.example().type("[16 x i8]").element
        <Type i8>
        """
        self._expect("vector", "array")
        return self._contained()[0]

    @property
    def fields(self) -> tuple[Type, ...]:
        """The types of a structure's fields.

        >>> mneme.llvm.example().type("{ i32, float }").fields
        (<Type i32>, <Type float>)
        """
        self._expect("struct")
        return self._contained()

    @property
    def result(self) -> Type:
        """What a function of this type returns.

        >>> mneme.llvm.example().type("void (i32, ptr)").result
        <Type void>
        """
        self._expect("function")
        return self._contained()[0]

    @property
    def parameters(self) -> tuple[Type, ...]:
        """The types of a function's parameters.

        >>> mneme.llvm.example().type("void (i32, ptr)").parameters
        (<Type i32>, <Type ptr>)
        """
        self._expect("function")
        return self._contained()[1:]

    @property
    def size(self) -> int:
        """Bytes in memory, with padding, by the module's data layout.

        >>> mneme.llvm.example().type("{ i8, double }").size
        16
        """
        return _llvm.size_of(self._ref)

    def constant(self, value: Number | Sequence[Number]) -> Constant:
        """A constant of this type: of one number for all elements of a vector, or one for each.

        Raises InvalidArgumentError where the number does not fit.

        >>> module = mneme.llvm.example()
        >>> module.type("<2 x i32>").constant([1, -1])
        <Constant <2 x i32> <i32 1, i32 -1>>
        >>> module.type("i8").constant(256)
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: 256 does not fit into i8
        """
        return self._constant(to_ref(self._module, self._ref, value))

    def null(self) -> Constant:
        """Zero: the null pointer, or all elements zero.

        >>> mneme.llvm.example().type("ptr").null()
        <Constant ptr null>
        """
        return self._constant(_llvm.null(self._ref))

    def undef(self) -> Constant:
        """An undefined value.

        >>> mneme.llvm.example().type("float").undef()
        <Constant float undef>
        """
        return self._constant(_llvm.undef(self._ref))

    def poison(self) -> Constant:
        """A value that nothing may depend on.

        >>> mneme.llvm.example().type("float").poison()
        <Constant float poison>
        """
        return self._constant(_llvm.poison(self._ref))

    def _constant(self, ref: _llvm.ValueRef) -> Constant:
        return cast("Constant", wrap(self._module, ref))

    def _contained(self) -> tuple[Type, ...]:
        return tuple(Type(self._module, ref) for ref in _llvm.contained_types(self._ref))

    def _expect(self, *kinds: str) -> None:
        if self.kind not in kinds:
            raise InvalidArgumentError(f"type {self} is no {' or '.join(kinds)}: it is {self.kind}")

    def __str__(self) -> str:
        return self._info.text

    def __repr__(self) -> str:
        return f"<Type {self._info.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self._ref == other._ref

    def __hash__(self) -> int:
        return hash(self._ref)


def to_type(module: Module, type: Type | str) -> _llvm.TypeRef:
    """The type itself, or that which the text says."""
    return type._ref if isinstance(type, Type) else module._ref.type(type)
