"""New instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mneme._native import llvm as _llvm
from mneme.errors import InvalidArgumentError
from mneme.llvm._function import Function
from mneme.llvm._instruction import BasicBlock, Instruction
from mneme.llvm._refs import Number, to_ref, wrap
from mneme.llvm._types import Type, to_type
from mneme.llvm._values import Constant, Value


class Builder:
    """Makes new instructions at the end of a block, or before an instruction (`before`, `after`).

    Operands are values, or Python numbers where another operand or the context says of which type. Each method gives
    the new instruction, also where LLVM would fold it into a constant. Raises InvalidArgumentError for what LLVM does
    not have: other types, another function's values, an instruction behind the end of a block. What only the whole
    function can tell is told by `Function.verify`. `flags` are those of `Instruction.flags`.

    >>> module = mneme.llvm.Module("mine")
    >>> function = module.add_function("axpy", "float (float, float, float)")
    >>> build = mneme.llvm.Builder(function.add_block("entry"))
    >>> a, x, y = function.arguments
    >>> end = build.ret(build.fadd(build.fmul(a, x, flags={"contract"}), y, "sum"))
    >>> print(function)
    define float @axpy(float %0, float %1, float %2) {
    entry:
      %3 = fmul contract float %0, %1
      %sum = fadd float %3, %2
      ret float %sum
    }
    <BLANKLINE>
    """

    def __init__(self, place: BasicBlock | Instruction) -> None:
        self.place = place

    @classmethod
    def before(cls, instruction: Instruction) -> Builder:
        """A builder whose instructions come right before another one.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder.before(kernel.instructions["sum"])
        >>> build.place.name
        'sum'
        """
        if not isinstance(instruction, Instruction):
            raise InvalidArgumentError(f"standing before {instruction!r}: it is no instruction")
        return cls(instruction)

    @classmethod
    def after(cls, instruction: Instruction) -> Builder:
        """A builder whose instructions come right behind another one; behind a phi, behind all phis of its block.

        Raises InvalidArgumentError behind the end of a block.

        >>> body = mneme.llvm.example().functions["saxpy"].blocks["body"]
        >>> build = mneme.llvm.Builder.after(body.instructions["sum"])
        >>> twice = build.fadd(body.instructions["sum"], 1.0, "more"); twice = build.fmul(twice, 2.0, "twice")
        >>> [instruction.name for instruction in body][6:9]
        ['sum', 'more', 'twice']
        """
        if not isinstance(instruction, Instruction):
            raise InvalidArgumentError(f"standing behind {instruction!r}: it is no instruction")
        block = instruction.block
        if block.terminator == instruction:
            raise InvalidArgumentError(
                f"standing behind '{str(instruction).strip()}': it ends its block, and nothing can come behind it"
            )
        refs = _llvm.block_instructions(block._ref)
        behind = refs[refs.index(instruction._ref) + 1 :]
        if instruction.opcode == "phi":
            behind = [ref for ref in behind if _llvm.opcode(ref) != "phi"]
        return cls(Instruction(block.module, behind[0]) if behind else block)

    @property
    def place(self) -> BasicBlock | Instruction:
        """The block at whose end it stands, or the instruction before which it stands. To be assigned, too.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["done"].terminator)
        >>> build.place = kernel.instructions["sum"]; build.place.name
        'sum'
        """
        return self._place

    @place.setter
    def place(self, place: BasicBlock | Instruction) -> None:
        at_end = isinstance(place, BasicBlock)
        self._ref = _llvm.Builder.at_end(place._ref) if at_end else _llvm.Builder.before(place._ref)
        self._place = place

    @contextmanager
    def at(self, place: BasicBlock | Instruction) -> Iterator[Builder]:
        """Stands somewhere else for a while.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["done"].terminator)
        >>> with build.at(kernel.blocks["entry"].terminator):
        ...     build.fence("seq_cst").block.name
        'entry'
        """
        before = self._place
        self.place = place
        try:
            yield self
        finally:
            self.place = before

    @property
    def block(self) -> BasicBlock:
        """The block that it stands in.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> mneme.llvm.Builder(kernel.instructions["sum"]).block.name
        'body'
        """
        return self._place if isinstance(self._place, BasicBlock) else self._place.block

    def binary(
        self, opcode: str, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()
    ) -> Instruction:
        """An operation of two operands of one type, by its name; each has a method, too.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).binary("shl", kernel.instructions["tid"], 2, "twice"))
        '  %twice = shl i32 %tid, 2'
        """
        left, right = self._pair(a, b)
        return self._made(self._ref.binary(opcode, left, right, name), flags)

    def add(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Sum of integers.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).add(kernel.instructions["tid"], 3, "r"))
        '  %r = add i32 %tid, 3'
        """
        return self.binary("add", a, b, name, flags=flags)

    def sub(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Difference of integers.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).sub(kernel.instructions["tid"], 3, "r"))
        '  %r = sub i32 %tid, 3'
        """
        return self.binary("sub", a, b, name, flags=flags)

    def mul(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Product of integers.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).mul(kernel.instructions["tid"], 3, "r"))
        '  %r = mul i32 %tid, 3'
        """
        return self.binary("mul", a, b, name, flags=flags)

    def udiv(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Quotient of unsigned integers.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).udiv(kernel.instructions["tid"], 3, "r"))
        '  %r = udiv i32 %tid, 3'
        """
        return self.binary("udiv", a, b, name, flags=flags)

    def sdiv(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Quotient of signed integers, rounded towards zero.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).sdiv(kernel.instructions["tid"], 3, "r"))
        '  %r = sdiv i32 %tid, 3'
        """
        return self.binary("sdiv", a, b, name, flags=flags)

    def urem(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Remainder of unsigned integers.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).urem(kernel.instructions["tid"], 3, "r"))
        '  %r = urem i32 %tid, 3'
        """
        return self.binary("urem", a, b, name, flags=flags)

    def srem(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Remainder of signed integers, with the sign of the dividend.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).srem(kernel.instructions["tid"], 3, "r"))
        '  %r = srem i32 %tid, 3'
        """
        return self.binary("srem", a, b, name, flags=flags)

    def shl(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Shift to the left.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).shl(kernel.instructions["tid"], 3, "r"))
        '  %r = shl i32 %tid, 3'
        """
        return self.binary("shl", a, b, name, flags=flags)

    def lshr(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Shift to the right that fills with zeros.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).lshr(kernel.instructions["tid"], 3, "r"))
        '  %r = lshr i32 %tid, 3'
        """
        return self.binary("lshr", a, b, name, flags=flags)

    def ashr(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Shift to the right that fills with the sign.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).ashr(kernel.instructions["tid"], 3, "r"))
        '  %r = ashr i32 %tid, 3'
        """
        return self.binary("ashr", a, b, name, flags=flags)

    def and_(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Bits of both.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).and_(kernel.instructions["tid"], 3, "r"))
        '  %r = and i32 %tid, 3'
        """
        return self.binary("and", a, b, name, flags=flags)

    def or_(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Bits of either.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).or_(kernel.instructions["tid"], 3, "r"))
        '  %r = or i32 %tid, 3'
        """
        return self.binary("or", a, b, name, flags=flags)

    def xor(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Bits of one alone.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.instructions["index"]).xor(kernel.instructions["tid"], 3, "r"))
        '  %r = xor i32 %tid, 3'
        """
        return self.binary("xor", a, b, name, flags=flags)

    def fadd(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Sum of floating-point numbers.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).fadd(function.arguments["a"], 3, "r", flags={"fast"}))
        '  %r = fadd fast float %a, 3.000000e+00'
        """
        return self.binary("fadd", a, b, name, flags=flags)

    def fsub(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Difference of floating-point numbers.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).fsub(function.arguments["a"], 3, "r", flags={"fast"}))
        '  %r = fsub fast float %a, 3.000000e+00'
        """
        return self.binary("fsub", a, b, name, flags=flags)

    def fmul(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Product of floating-point numbers.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).fmul(function.arguments["a"], 3, "r", flags={"fast"}))
        '  %r = fmul fast float %a, 3.000000e+00'
        """
        return self.binary("fmul", a, b, name, flags=flags)

    def fdiv(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Quotient of floating-point numbers.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).fdiv(function.arguments["a"], 3, "r", flags={"fast"}))
        '  %r = fdiv fast float %a, 3.000000e+00'
        """
        return self.binary("fdiv", a, b, name, flags=flags)

    def frem(self, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """Remainder of floating-point numbers.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).frem(function.arguments["a"], 3, "r", flags={"fast"}))
        '  %r = frem fast float %a, 3.000000e+00'
        """
        return self.binary("frem", a, b, name, flags=flags)

    def fneg(self, value: Value, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A floating-point number with the other sign.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).fneg(function.arguments["a"], "r"))
        '  %r = fneg float %a'
        """
        return self._made(self._ref.negate(value._ref, name), flags)

    def compare(
        self, predicate: str, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()
    ) -> Instruction:
        """A comparison: of integers and pointers eq, ne, slt, ult, …; of floating-point numbers oeq, olt, une, ord,
        uno, …

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.compare("ult", kernel.arguments["n"], 8))
        '  %0 = icmp ult i32 %n, 8'
        >>> str(build.compare("oeq", kernel.instructions["sum"], 0))
        '  %1 = fcmp oeq float %sum, 0.000000e+00'
        """
        left, right = self._pair(a, b)
        return self._made(self._ref.compare(predicate, left, right, name), flags)

    def select(
        self, condition: Value, a: Value | Number, b: Value | Number, name: str = "", *, flags: Iterable[str] = ()
    ) -> Instruction:
        """`a` where the condition (i1, or a vector of them) holds, else `b`.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.select(kernel.instructions["inside"], kernel.arguments["n"], 0, "r"))
        '  %r = select i1 %inside, i32 %n, i32 0'
        """
        left, right = self._pair(a, b)
        return self._made(self._ref.select(condition._ref, left, right, name), flags)

    def freeze(self, value: Value, name: str = "") -> Instruction:
        """The value, or any one fixed value where it is undef or poison.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> str(mneme.llvm.Builder(function.instructions[-1]).freeze(function.arguments["a"], "r"))
        '  %r = freeze float %a'
        """
        return self._made(self._ref.freeze(value._ref, name))

    def cast(
        self, opcode: str, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()
    ) -> Instruction:
        """A value as another type, by the cast's name; each has a method, too.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> build.cast("zext", kernel.instructions["sum"], "i64")
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: building zext in basic block '%body': there is none from float to i64
        """
        return self._made(self._ref.cast(opcode, value._ref, self._type(type), name), flags)

    def trunc(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """An integer with fewer bits.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.trunc(kernel.instructions["tid"], "i8", "r"))
        '  %r = trunc i32 %tid to i8'
        """
        return self.cast("trunc", value, type, name, flags=flags)

    def zext(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """An integer with more bits, which are zero.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.zext(kernel.instructions["tid"], "i64", "r"))
        '  %r = zext i32 %tid to i64'
        """
        return self.cast("zext", value, type, name, flags=flags)

    def sext(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """An integer with more bits, which are its sign.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.sext(kernel.instructions["tid"], "i64", "r"))
        '  %r = sext i32 %tid to i64'
        """
        return self.cast("sext", value, type, name, flags=flags)

    def fptrunc(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A floating-point number of less precision.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.fptrunc(kernel.instructions["sum"], "half", "r"))
        '  %r = fptrunc float %sum to half'
        """
        return self.cast("fptrunc", value, type, name, flags=flags)

    def fpext(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A floating-point number of more precision.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.fpext(kernel.instructions["sum"], "double", "r"))
        '  %r = fpext float %sum to double'
        """
        return self.cast("fpext", value, type, name, flags=flags)

    def fptoui(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A floating-point number as an unsigned integer.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.fptoui(kernel.instructions["sum"], "i32", "r"))
        '  %r = fptoui float %sum to i32'
        """
        return self.cast("fptoui", value, type, name, flags=flags)

    def fptosi(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A floating-point number as a signed integer.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.fptosi(kernel.instructions["sum"], "i32", "r"))
        '  %r = fptosi float %sum to i32'
        """
        return self.cast("fptosi", value, type, name, flags=flags)

    def uitofp(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """An unsigned integer as a floating-point number.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.uitofp(kernel.instructions["tid"], "float", "r"))
        '  %r = uitofp i32 %tid to float'
        """
        return self.cast("uitofp", value, type, name, flags=flags)

    def sitofp(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A signed integer as a floating-point number.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.sitofp(kernel.instructions["tid"], "float", "r"))
        '  %r = sitofp i32 %tid to float'
        """
        return self.cast("sitofp", value, type, name, flags=flags)

    def ptrtoint(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """A pointer as an integer.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.ptrtoint(kernel.instructions["px"], "i64", "r"))
        '  %r = ptrtoint ptr %px to i64'
        """
        return self.cast("ptrtoint", value, type, name, flags=flags)

    def inttoptr(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """An integer as a pointer.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.inttoptr(kernel.instructions["index"], "ptr", "r"))
        '  %r = inttoptr i64 %index to ptr'
        """
        return self.cast("inttoptr", value, type, name, flags=flags)

    def bitcast(self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()) -> Instruction:
        """The same bits as another type.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.bitcast(kernel.instructions["sum"], "i32", "r"))
        '  %r = bitcast float %sum to i32'
        """
        return self.cast("bitcast", value, type, name, flags=flags)

    def addrspacecast(
        self, value: Value, type: Type | str, name: str = "", *, flags: Iterable[str] = ()
    ) -> Instruction:
        """A pointer into another address space.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.blocks["body"].terminator)
        >>> str(build.addrspacecast(kernel.instructions["px"], "ptr addrspace(1)", "r"))
        '  %r = addrspacecast ptr %px to ptr addrspace(1)'
        """
        return self.cast("addrspacecast", value, type, name, flags=flags)

    def extract_element(self, vector: Value, index: Value | int, name: str = "") -> Instruction:
        """An element of a vector.

        >>> module = mneme.llvm.example()
        >>> build = mneme.llvm.Builder(module.functions["scaled"].instructions[-1])
        >>> str(build.extract_element(module.constant("<2 x i8> <i8 1, i8 2>"), 1, "r"))
        '  %r = extractelement <2 x i8> <i8 1, i8 2>, i32 1'
        """
        return self._made(self._ref.extract_element(vector._ref, self._index(index), name))

    def insert_element(self, vector: Value, element: Value | Number, index: Value | int, name: str = "") -> Instruction:
        """A vector with another element at one place.

        >>> module = mneme.llvm.example()
        >>> build = mneme.llvm.Builder(module.functions["scaled"].instructions[-1])
        >>> str(build.insert_element(module.type("<2 x i8>").poison(), 7, 0, "r"))
        '  %r = insertelement <2 x i8> poison, i8 7, i32 0'
        """
        kind = vector.type
        ref = element._ref if isinstance(element, Value) else to_ref(self._place.module, kind.element._ref, element)
        return self._made(self._ref.insert_element(vector._ref, ref, self._index(index), name))

    def shuffle_vector(self, a: Value, b: Value | None, mask: Sequence[int], name: str = "") -> Instruction:
        """A vector of elements of two: each number of the mask is an element of `a`, or behind them of `b`; -1 is any.
        Without `b` of `a` alone.

        >>> module = mneme.llvm.example()
        >>> build = mneme.llvm.Builder(module.functions["scaled"].instructions[-1])
        >>> str(build.shuffle_vector(module.constant("<2 x i8> <i8 1, i8 2>"), None, [1, 0], "r"))
        '  %r = shufflevector <2 x i8> <i8 1, i8 2>, <2 x i8> poison, <2 x i32> <i32 1, i32 0>'
        """
        second = a.type.poison() if b is None else b
        return self._made(self._ref.shuffle_vector(a._ref, second._ref, list(mask), name))

    def extract_value(self, aggregate: Value, *indices: int, name: str = "") -> Instruction:
        """An element of a structure or an array that is a value.

        >>> module = mneme.llvm.example()
        >>> build = mneme.llvm.Builder(module.functions["scaled"].instructions[-1])
        >>> str(build.extract_value(module.type("{ i32, i1 }").undef(), 1, name="r"))
        '  %r = extractvalue { i32, i1 } undef, 1'
        """
        return self._made(self._ref.extract_value(aggregate._ref, list(indices), name))

    def insert_value(self, aggregate: Value, element: Value, *indices: int, name: str = "") -> Instruction:
        """A structure or an array that is a value, with another element at one place.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> pair = function.module.type("[2 x float]").poison()
        >>> build = mneme.llvm.Builder(function.instructions[-1])
        >>> str(build.insert_value(pair, function.arguments["a"], 0, name="r"))
        '  %r = insertvalue [2 x float] poison, float %a, 0'
        """
        return self._made(self._ref.insert_value(aggregate._ref, element._ref, list(indices), name))

    def alloca(
        self, type: Type | str, count: Value | None = None, name: str = "", *, alignment: int = 0
    ) -> Instruction:
        """Memory of the function's own, in the address space that the data layout says.

        >>> build = mneme.llvm.Builder(mneme.llvm.example().functions["scaled"].instructions[0])
        >>> str(build.alloca("[4 x float]", name="r", alignment=16))
        '  %r = alloca [4 x float], align 16'
        """
        return self._made(self._ref.alloca(self._type(type), None if count is None else count._ref, alignment, name))

    def load(
        self,
        type: Type | str,
        pointer: Value,
        name: str = "",
        *,
        alignment: int = 0,
        is_volatile: bool = False,
        ordering: str = "",
        scope: str = "",
    ) -> Instruction:
        """Reads memory. alignment: bytes, by default what the type has. With an ordering it is atomic, among all or in
        the scope.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.load("<4 x float>", kernel.arguments["x"], "r"))
        '  %r = load <4 x float>, ptr %x, align 16'
        >>> str(build.load("i32", kernel.arguments["x"], "s", ordering="acquire", scope="device"))
        '  %s = load atomic i32, ptr %x syncscope("device") acquire, align 4'
        """
        options = (alignment, is_volatile, ordering, scope)
        return self._made(self._ref.load(self._type(type), pointer._ref, *options, name))

    def store(
        self,
        value: Value,
        pointer: Value,
        *,
        alignment: int = 0,
        is_volatile: bool = False,
        ordering: str = "",
        scope: str = "",
    ) -> Instruction:
        """Writes memory; see `load`.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.store(kernel.arguments["a"], kernel.arguments["x"], is_volatile=True))
        '  store volatile float %a, ptr %x, align 4'
        """
        return self._made(self._ref.store(value._ref, pointer._ref, alignment, is_volatile, ordering, scope))

    def gep(
        self, type: Type | str, pointer: Value, *indices: Value | int, name: str = "", flags: Iterable[str] = ()
    ) -> Instruction:
        """The address of an element: the first index steps over the type, the others into it. Python numbers are i64,
        or i32 in structures.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> x, tid = kernel.arguments["x"], kernel.instructions["tid"]
        >>> str(build.gep("{ i32, [8 x float] }", x, 0, 1, tid, name="r", flags={"inbounds"}))
        '  %r = getelementptr inbounds { i32, [8 x float] }, ptr %x, i64 0, i32 1, i32 %tid'
        """
        source = type if isinstance(type, Type) else Type(self._place.module, self._type(type))
        return self._made(
            self._ref.element_pointer(source._ref, pointer._ref, self._indices(source, indices), name), flags
        )

    def atomic_rmw(
        self,
        operation: str,
        pointer: Value,
        value: Value,
        name: str = "",
        *,
        ordering: str = "monotonic",
        scope: str = "",
        alignment: int = 0,
        is_volatile: bool = False,
    ) -> Instruction:
        """Reads memory and writes it changed, at once: xchg, add, sub, and, or, xor, max, umin, fadd, fmax, …

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.atomic_rmw("fadd", kernel.arguments["y"], kernel.arguments["a"], "r"))
        '  %r = atomicrmw fadd ptr %y, float %a monotonic, align 4'
        """
        options = (alignment, is_volatile, ordering, scope)
        return self._made(self._ref.atomic_update(operation, pointer._ref, value._ref, *options, name))

    def compare_exchange(
        self,
        pointer: Value,
        expected: Value | Number,
        replacement: Value | Number,
        name: str = "",
        *,
        ordering: str = "monotonic",
        failure_ordering: str = "monotonic",
        scope: str = "",
        alignment: int = 0,
        is_volatile: bool = False,
    ) -> Instruction:
        """Writes memory where it holds what is expected, at once; gives what was there, and whether it was written.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.compare_exchange(kernel.arguments["y"], 0, kernel.instructions["tid"], "r"))
        '  %r = cmpxchg ptr %y, i32 0, i32 %tid monotonic monotonic, align 4'
        """
        old, new = self._pair(expected, replacement)
        options = (alignment, is_volatile, ordering, scope)
        return self._made(self._ref.compare_exchange(pointer._ref, old, new, *options, failure_ordering, name))

    def fence(self, ordering: str, *, scope: str = "") -> Instruction:
        """Orders memory accesses: acquire, release, acq_rel or seq_cst.

        >>> build = mneme.llvm.Builder(mneme.llvm.example().functions["saxpy"].instructions["index"])
        >>> str(build.fence("acq_rel", scope="block"))
        '  fence syncscope("block") acq_rel'
        """
        return self._made(self._ref.fence(ordering, scope))

    def phi(
        self,
        type: Type | str,
        name: str = "",
        *,
        incoming: Iterable[tuple[Value | Number, BasicBlock]] = (),
        flags: Iterable[str] = (),
    ) -> Instruction:
        """A value by the block that it is reached from, behind the phis that the block has; see
        `Instruction.add_incoming`.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> entry, body, done = kernel.blocks
        >>> build = mneme.llvm.Builder(done.terminator)
        >>> str(build.phi("float", "r", incoming=[(0, entry), (kernel.instructions["sum"], body)]))
        '  %r = phi float [ 0.000000e+00, %entry ], [ %sum, %body ]'
        """
        made = self._made(self._ref.phi(self._type(type), name), flags)
        for value, block in incoming:
            made.add_incoming(value, block)
        return made

    def br(self, block: BasicBlock) -> Instruction:
        """Goes on in another block.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.add_block("more")).br(kernel.blocks["done"]))
        '  br label %done'
        """
        return self._made(self._ref.branch(block._ref))

    def cond_br(self, condition: Value, then: BasicBlock, otherwise: BasicBlock) -> Instruction:
        """Goes on in one of two blocks.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.add_block("more"))
        >>> str(build.cond_br(kernel.instructions["inside"], kernel.blocks["body"], kernel.blocks["done"]))
        '  br i1 %inside, label %body, label %done'
        """
        return self._made(self._ref.conditional_branch(condition._ref, then._ref, otherwise._ref))

    def switch(self, value: Value, otherwise: BasicBlock, cases: Mapping[int, BasicBlock]) -> Instruction:
        """Goes on in a block by an integer's value.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.add_block("more"))
        >>> print(build.switch(kernel.arguments["n"], kernel.blocks["done"], {0: kernel.blocks["body"]}))
          switch i32 %n, label %done [
            i32 0, label %body
          ]
        """
        module, type = self._place.module, value.type._ref
        ways = [(to_ref(module, type, number), block._ref) for number, block in cases.items()]
        return self._made(self._ref.switch_on(value._ref, otherwise._ref, ways))

    def ret(self, value: Value | Number = None) -> Instruction:
        """Returns; a value where the function has a result.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.add_block("more")).ret())
        '  ret void'
        """
        if value is not None and not isinstance(value, Value):
            value = wrap(self._place.module, to_ref(self._place.module, self.block.function.result_type._ref, value))
        return self._made(self._ref.ret(None if value is None else value._ref))

    def unreachable(self) -> Instruction:
        """Says that this place is never reached.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> str(mneme.llvm.Builder(kernel.add_block("more")).unreachable())
        '  unreachable'
        """
        return self._made(self._ref.unreachable())

    def call(
        self,
        callee: Value,
        *arguments: Value | Number,
        type: Type | str | None = None,
        name: str = "",
        flags: Iterable[str] = (),
    ) -> Instruction:
        """Calls a function, or a pointer, whose function's type is then told. Numbers get the types of the parameters.

        >>> module = mneme.llvm.example()
        >>> kernel = module.functions["saxpy"]
        >>> build = mneme.llvm.Builder(kernel.instructions["index"])
        >>> str(build.call(module.functions["scaled"], kernel.arguments["a"], 2, name="r"))
        '  %r = call float @scaled(float %a, float 2.000000e+00)'
        >>> str(build.call(kernel.arguments["x"], type="void ()"))
        '  call void %x()'
        """
        signature = None if type is None else Type(self._place.module, self._type(type))
        known = signature or (callee.value_type if isinstance(callee, Function) else None)
        parameters = known.parameters if known is not None and known.kind == "function" else ()
        refs = self._arguments(arguments, parameters)
        return self._made(self._ref.call(callee._ref, refs, None if signature is None else signature._ref, name), flags)

    def intrinsic(
        self,
        intrinsic: str,
        *arguments: Value,
        type: Type | str | None = None,
        name: str = "",
        flags: Iterable[str] = (),
    ) -> Instruction:
        """Calls an intrinsic by its name, without the types that LLVM adds to it: they follow from the arguments, and
        from the result's `type` where they do not.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> a, x = function.arguments
        >>> build = mneme.llvm.Builder(function.instructions[-1])
        >>> str(build.intrinsic("llvm.fma", a, x, x, name="r"))
        '  %r = call float @llvm.fma.f32(float %a, float %x, float %x)'
        >>> str(build.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", name="s"))
        '  %s = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()'
        """
        result = None if type is None else self._type(type)
        return self._made(self._ref.intrinsic(intrinsic, self._arguments(arguments, ()), result, name), flags)

    def inline_assembly(
        self,
        text: str,
        constraints: str,
        type: Type | str,
        *arguments: Value | Number,
        has_side_effects: bool = True,
        name: str = "",
    ) -> Instruction:
        """Assembly of the target, in LLVM's notation: $0 is the first operand. type: what it takes and gives, as a
        function's type.

        >>> build = mneme.llvm.Builder(mneme.llvm.example().functions["saxpy"].instructions["index"])
        >>> str(build.inline_assembly("bar.sync 0;", "~{memory}", "void ()"))
        '  call void asm sideeffect "bar.sync 0;", "~{memory}"()'
        """
        signature = Type(self._place.module, self._type(type))
        parameters = signature.parameters if signature.kind == "function" else ()
        refs = self._arguments(arguments, parameters)
        return self._made(self._ref.inline_assembly(text, constraints, signature._ref, refs, has_side_effects, name))

    def _type(self, type: Type | str) -> _llvm.TypeRef:
        return to_type(self._place.module, type)

    def _pair(self, a: Value | Number, b: Value | Number) -> tuple[_llvm.ValueRef, _llvm.ValueRef]:
        known = next((value.type for value in (a, b) if isinstance(value, Value)), None)
        if known is None:
            raise InvalidArgumentError(
                f"of which type are {a!r} and {b!r}? Make a constant of one: module.type('i32').constant({a!r})"
            )
        module = self._place.module
        return to_ref(module, known._ref, a), to_ref(module, known._ref, b)

    def _index(self, index: Value | int, type: str = "i32") -> _llvm.ValueRef:
        return index._ref if isinstance(index, Value) else to_ref(self._place.module, self._type(type), index)

    def _indices(self, type: Type, indices: Sequence[Value | int]) -> list[_llvm.ValueRef]:
        refs, inner = [], None
        for index in indices:
            in_structure = inner is not None and inner.kind == "struct"
            refs.append(self._index(index, "i32" if in_structure else "i64"))
            inner = type if inner is None else self._inside(inner, index)
        return refs

    @staticmethod
    def _inside(type: Type, index: Value | int) -> Type:
        if type.kind in ("array", "vector"):
            return type.element
        number = index.value if isinstance(index, Constant) else index
        if type.kind == "struct" and isinstance(number, int) and 0 <= number < len(type):
            return type.fields[number]
        return type

    def _arguments(self, arguments: Sequence[Value | Number], parameters: Sequence[Type]) -> list[_llvm.ValueRef]:
        refs = []
        for i, argument in enumerate(arguments):
            if not isinstance(argument, Value) and i >= len(parameters):
                raise InvalidArgumentError(
                    f"of which type is argument {i}, {argument!r}? Make a constant: module.type('i32').constant(…)"
                )
            refs.append(
                argument._ref
                if isinstance(argument, Value)
                else to_ref(self._place.module, parameters[i]._ref, argument)
            )
        return refs

    def _made(self, ref: _llvm.ValueRef, flags: Iterable[str] = ()) -> Instruction:
        made = Instruction(self._place.module, ref)
        try:
            for flag in flags:
                _llvm.set_flag(ref, flag, True)
        except Exception:
            made.erase()
            raise
        return made
