"""Values: what all of them have, and constants and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

from mneme._native import llvm as _llvm
from mneme.errors import NotFoundError
from mneme.llvm._attributes import Attributes
from mneme.llvm._metadata import Metadata
from mneme.llvm._refs import OTHER, Number, classes, to_ref, wrap
from mneme.llvm._types import Type

if TYPE_CHECKING:
    from mneme.llvm._function import Function
    from mneme.llvm._module import Module


class Use(NamedTuple):
    """One use of a value: number `operand` of the operands of `user`.

    >>> value = mneme.llvm.example().functions["saxpy"].instructions[0]
    >>> value.uses[0].operand, value.uses[0].user.opcode
    (0, 'icmp')
    """

    user: Value
    operand: int


class Value:
    """A value of a module: what has a type and can be an operand. `str()` is its textual IR.

    Two objects for one value are equal and hash alike. A value that was erased, by you or by a pass, raises
    NotFoundError.

    >>> function = mneme.llvm.example().functions["scaled"]
    >>> product = function.instructions[0]
    >>> str(product)
    '  %product = fmul float %a, %x'
    >>> product.replace(function.arguments[0]); product.erase()
    >>> product.name
    Traceback (most recent call last):
    ...
    mneme.errors.NotFoundError: this LLVM value is gone: it was erased, or a pass removed it
    """

    __slots__ = ("_module", "_ref")

    def __init_subclass__(cls, *, kind: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        if kind:
            classes[kind] = cls

    def __init__(self, module: Module, ref: _llvm.ValueRef) -> None:
        self._module = module
        self._ref = ref

    @property
    def module(self) -> Module:
        """The module that it is of."""
        return self._module

    @property
    def is_alive(self) -> bool:
        """Whether it is still there.

        >>> mneme.llvm.example().functions["saxpy"].is_alive
        True
        """
        return _llvm.ValueRef.is_alive(self._ref)

    @property
    def type(self) -> Type:
        """Its type.

        >>> mneme.llvm.example().functions["scaled"].arguments[0].type
        <Type float>
        """
        return Type(self._module, _llvm.type_of(self._ref))

    @property
    def name(self) -> str:
        """Its name without @ or %, empty where it has none. LLVM adds a number to a local name that is taken.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.name = "times"; function.name
        'times'
        """
        return _llvm.name_of(self._ref)

    @name.setter
    def name(self, name: str) -> None:
        _llvm.set_name(self._ref, name)

    @property
    def uses(self) -> tuple[Use, ...]:
        """Where it is used, oldest first. Nothing is known of the uses of numbers and other simple constants.

        >>> argument = mneme.llvm.example().functions["saxpy"].arguments["n"]
        >>> [str(use.user) for use in argument.uses]
        ['  %inside = icmp slt i32 %tid, %n']
        """
        return tuple(Use(wrap(self._module, user), operand) for user, operand in _llvm.uses(self._ref))

    @property
    def users(self) -> tuple[Value, ...]:
        """What uses it, each once, oldest first.

        >>> [user.name for user in mneme.llvm.example().functions["saxpy"].instructions[0].users]
        ['inside', 'index']
        """
        return tuple(dict.fromkeys(use.user for use in self.uses))

    @property
    def operands(self) -> tuple[Value, ...]:
        """What it is made of: an instruction's operands, a constant's parts; empty for others.

        >>> mneme.llvm.example().functions["scaled"].instructions[0].operands
        (<Argument float %a>, <Argument float %x>)
        """
        return tuple(wrap(self._module, ref) for ref in _llvm.operands(self._ref))

    @property
    def as_metadata(self) -> Metadata:
        """What an operand of type metadata holds.

        Raises InvalidArgumentError for other values.

        >>> module = mneme.llvm.parse('''declare i32 @llvm.read_register.i32(metadata)
        ... define i32 @f() { %sp = call i32 @llvm.read_register.i32(metadata !0) ret i32 %sp }
        ... !0 = !{!"sp"}''')
        >>> module.functions["f"].instructions[0].arguments[0].as_metadata
        <Metadata tuple !{!"sp"}>
        """
        return Metadata(self._module, _llvm.metadata_operand(self._ref))

    def replace(self, replacement: Value | Number) -> None:
        """Puts another value of its type, or a number, in its place wherever it is used. It stays where it is, unused.

        Raises InvalidArgumentError for another type, and for a value of another module or function.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.arguments["x"].replace(2.0)
        >>> str(function.instructions[0])
        '  %product = fmul float %a, 2.000000e+00'
        """
        _llvm.replace_all_uses(self._ref, to_ref(self._module, _llvm.type_of(self._ref), replacement))

    def as_operand(self, *, with_type: bool = True) -> str:
        """As it stands in instructions that use it.

        >>> mneme.llvm.example().functions["scaled"].arguments[0].as_operand()
        'float %a'
        """
        return _llvm.print_as_operand(self._ref, with_type)

    def __str__(self) -> str:
        return _llvm.print(self._ref)

    def _summary(self) -> str:
        return self.as_operand()

    def __repr__(self) -> str:
        try:
            text = self._summary()
        except NotFoundError:
            text = "(gone)"
        return f"<{type(self).__name__} {text if len(text) <= 60 else text[:57] + '...'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._ref == other._ref

    def __hash__(self) -> int:
        return hash(self._ref)


classes[OTHER] = Value


class Constant(Value, kind="constant"):
    """A constant that is no global: a number, null, an aggregate, an expression.

    >>> mneme.llvm.example().type("i32").constant(7)
    <Constant i32 7>
    """

    __slots__ = ()

    @property
    def value(self) -> int | float | None:
        """The number it is: signed for integers of more than one bit. None for other constants.

        >>> module = mneme.llvm.example()
        >>> module.constant("i8 255").value, module.constant("double 0.5").value, module.constant("ptr null").value
        (-1, 0.5, None)
        """
        value = _llvm.constant_value(self._ref)
        return int(value) if isinstance(value, str) else value

    @property
    def kind(self) -> str:
        """integer, float, null, undef, poison, aggregate, expression or other.

        >>> mneme.llvm.example().constant("<2 x i8> zeroinitializer").kind
        'null'
        """
        return _llvm.constant_kind(self._ref)

    @property
    def elements(self) -> tuple[Value, ...]:
        """Of a vector, an array or a structure; empty for other constants.

        >>> [element.value for element in mneme.llvm.example().constant("[3 x i16] [i16 1, i16 2, i16 3]").elements]
        [1, 2, 3]
        """
        return tuple(wrap(self._module, ref) for ref in _llvm.constant_elements(self._ref))

    @property
    def data(self) -> bytes:
        """The bytes of an array or vector of plain numbers, as in memory; empty for other constants.

        >>> mneme.llvm.example().constant('[5 x i8] c"hello"').data
        b'hello'
        """
        return _llvm.constant_bytes(self._ref)


class Argument(Value, kind="argument"):
    """An argument of a function.

    >>> mneme.llvm.example().functions["saxpy"].arguments["x"]
    <Argument ptr %x>
    """

    __slots__ = ()

    @property
    def function(self) -> Function:
        """The function that takes it.

        >>> mneme.llvm.example().functions["saxpy"].arguments[0].function.name
        'saxpy'
        """
        return wrap(self._module, _llvm.parent_function(self._ref))  # type: ignore[return-value]

    @property
    def index(self) -> int:
        """Its place among the arguments, from 0.

        >>> mneme.llvm.example().functions["saxpy"].arguments["y"].index
        3
        """
        return _llvm.argument_index(self._ref)

    @property
    def attributes(self) -> Attributes:
        """Its attributes, to be read and changed.

        >>> pointer = mneme.llvm.example().functions["saxpy"].arguments["x"]
        >>> pointer.attributes.add("noalias", "align 16"); list(pointer.attributes)
        ['noalias', 'align']
        """
        return Attributes(self.function, self.index)


T = TypeVar("T", bound=Value)


class Values(Sequence[T], Generic[T]):
    """What a module, a function or a block had when it was asked: indexed by number and by name.

    Iterating goes on while what it came from is changed; a value that was erased meanwhile says so when it is used.

    >>> functions = mneme.llvm.example().functions
    >>> len(functions), functions[0] == functions["scaled"], "saxpy" in functions
    (3, True, True)
    >>> functions["saxpi"]
    Traceback (most recent call last):
    ...
    mneme.errors.NotFoundError: there is no 'saxpi'; did you mean 'saxpy'?
    """

    __slots__ = ("_all",)

    def __init__(self, module: Module, refs: Sequence[_llvm.ValueRef]) -> None:
        self._all: tuple[T, ...] = tuple(wrap(module, ref) for ref in refs)  # type: ignore[misc]

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: int | str | slice) -> T | tuple[T, ...]:
        if not isinstance(key, str):
            return self._all[key]
        found = self.get(key)
        if found is None:
            import difflib

            near = difflib.get_close_matches(key, [name for name in self.names if name], n=1)
            raise NotFoundError(f"there is no '{key}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        return found

    def get(self, name: str) -> T | None:
        """The one of that name, or None.

        >>> mneme.llvm.example().functions.get("nobody") is None
        True
        """
        return next((value for value in self._all if value.is_alive and value.name == name), None)

    @property
    def names(self) -> list[str]:
        """Their names, in order; empty for those that have none.

        >>> mneme.llvm.example().globals.names
        ['limit']
        """
        return [value.name for value in self._all if value.is_alive]

    def __contains__(self, item: object) -> bool:
        return self.get(item) is not None if isinstance(item, str) else item in self._all

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return repr(list(self._all))
