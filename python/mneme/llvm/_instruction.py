"""Instructions and basic blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from mneme._native import llvm as _llvm
from mneme.llvm._attributes import OF_FUNCTION, Attributes
from mneme.llvm._metadata import AttachedMetadata, DebugLocation, to_location
from mneme.llvm._refs import Number, to_ref, wrap
from mneme.llvm._types import Type
from mneme.llvm._values import Value, Values

if TYPE_CHECKING:
    from mneme.llvm._function import Function


class BasicBlock(Value, kind="basic_block"):
    """A basic block. Iterating over it gives its instructions.

    >>> block = mneme.llvm.example().functions["saxpy"].blocks["entry"]
    >>> [instruction.opcode for instruction in block]
    ['call', 'icmp', 'br']
    """

    __slots__ = ()

    @property
    def function(self) -> Function:
        """The function that it is of.

        >>> mneme.llvm.example().functions["saxpy"].blocks[0].function.name
        'saxpy'
        """
        return cast("Function", wrap(self._module, _llvm.parent_function(self._ref)))

    @property
    def instructions(self) -> Values[Instruction]:
        """Its instructions as they are now, in order.

        >>> mneme.llvm.example().functions["saxpy"].blocks["body"].instructions["sum"]
        <Instruction %sum = fadd float %ax, %vy>
        """
        return Values(self._module, _llvm.block_instructions(self._ref))

    @property
    def terminator(self) -> Instruction | None:
        """The instruction that ends it; None while there is none.

        >>> mneme.llvm.example().functions["saxpy"].blocks["done"].terminator
        <Instruction ret void>
        """
        ref = _llvm.terminator(self._ref)
        return None if ref is None else Instruction(self._module, ref)

    @property
    def predecessors(self) -> tuple[BasicBlock, ...]:
        """The blocks that lead to it, each once.

        >>> sorted(block.name for block in mneme.llvm.example().functions["saxpy"].blocks["done"].predecessors)
        ['body', 'entry']
        """
        return tuple(BasicBlock(self._module, ref) for ref in _llvm.predecessors(self._ref))

    @property
    def successors(self) -> tuple[BasicBlock, ...]:
        """The blocks that it leads to, each once.

        >>> [block.name for block in mneme.llvm.example().functions["saxpy"].blocks["entry"].successors]
        ['body', 'done']
        """
        return tuple(BasicBlock(self._module, ref) for ref in _llvm.successors(self._ref))

    def erase(self) -> None:
        """Takes it out of its function for good, and its ways into phis with it.

        Raises InvalidArgumentError while something leads to it, or uses what it computes.

        >>> function = mneme.llvm.example().functions["saxpy"]
        >>> function.add_block("island").erase()
        """
        _llvm.erase(self._ref)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __bool__(self) -> bool:
        return True


class Instruction(Value, kind="instruction"):
    """An instruction.

    >>> function = mneme.llvm.example().functions["scaled"]
    >>> for instruction in function.instructions:
    ...     if instruction.opcode == "fmul":
    ...         instruction.flags |= {"nnan", "contract"}
    >>> str(function.instructions[0])
    '  %product = fmul nnan contract float %a, %x'
    """

    __slots__ = ()

    @property
    def opcode(self) -> str:
        """What it does, as the first word of textual IR: fmul, load, br, call, …

        >>> mneme.llvm.example().functions["scaled"].instructions[0].opcode
        'fmul'
        """
        return _llvm.opcode(self._ref)

    @property
    def block(self) -> BasicBlock:
        """The block that it stands in.

        >>> mneme.llvm.example().functions["saxpy"].instructions[0].block.name
        'entry'
        """
        return BasicBlock(self._module, _llvm.parent_block(self._ref))

    @property
    def function(self) -> Function:
        """The function that it stands in.

        >>> mneme.llvm.example().functions["saxpy"].instructions[0].function.name
        'saxpy'
        """
        return cast("Function", wrap(self._module, _llvm.parent_function(self._ref)))

    @property
    def predicate(self) -> str:
        """Of a comparison: eq, slt, oeq, …; of an atomicrmw its operation; empty for others.

        >>> mneme.llvm.example().functions["saxpy"].instructions["inside"].predicate
        'slt'
        """
        return _llvm.predicate(self._ref)

    @property
    def flags(self) -> frozenset[str]:
        """The flags of textual IR: nuw, nsw, exact, disjoint, nneg, samesign, inbounds, nusw, volatile, tail,
        musttail, notail, and fast or its parts. To be assigned, too.

        Raises InvalidArgumentError for one that it cannot have.

        >>> gep = mneme.llvm.example().functions["saxpy"].instructions["px"]
        >>> sorted(gep.flags)
        ['inbounds', 'nusw']
        >>> gep.flags = set(); gep.flags
        frozenset()
        """
        return frozenset(_llvm.flags(self._ref))

    @flags.setter
    def flags(self, flags: set[str] | frozenset[str]) -> None:
        now = self.flags
        for flag in sorted(now - flags):
            _llvm.set_flag(self._ref, flag, False)
        for flag in sorted(flags):
            _llvm.set_flag(self._ref, flag, True)

    @property
    def alignment(self) -> int | None:
        """Bytes, of loads, stores, atomics and allocas; None for others. To be assigned, too.

        >>> load = mneme.llvm.example().functions["saxpy"].instructions["vx"]
        >>> load.alignment = 16; load.alignment
        16
        """
        return _llvm.alignment(self._ref)

    @alignment.setter
    def alignment(self, alignment: int) -> None:
        _llvm.set_alignment(self._ref, alignment)

    @property
    def ordering(self) -> str:
        """Of atomic instructions: monotonic, acquire, seq_cst, …; empty for others.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].ordering
        ''
        """
        return _llvm.ordering(self._ref)

    @property
    def sync_scope(self) -> str:
        """Among whom an atomic instruction is atomic, as in syncscope("…"); empty is everybody.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].sync_scope
        ''
        """
        return _llvm.sync_scope(self._ref)

    @property
    def accessed_type(self) -> Type | None:
        """What a load reads, a store or an atomic writes, an alloca makes, a getelementptr steps over; None for others.

        >>> mneme.llvm.example().functions["saxpy"].instructions["px"].accessed_type
        <Type float>
        """
        ref = _llvm.accessed_type(self._ref)
        return None if ref is None else Type(self._module, ref)

    @property
    def pointer(self) -> Value | None:
        """The address of a load, a store, an atomic or a getelementptr; None for others.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].pointer.name
        'px'
        """
        ref = _llvm.pointer_operand(self._ref)
        return None if ref is None else wrap(self._module, ref)

    @property
    def is_terminator(self) -> bool:
        """Whether it ends its block.

        >>> mneme.llvm.example().functions["scaled"].instructions[-1].is_terminator
        True
        """
        return _llvm.traits(self._ref).is_terminator

    @property
    def is_call(self) -> bool:
        """Whether it calls something, intrinsics included.

        >>> mneme.llvm.example().functions["saxpy"].instructions[0].is_call
        True
        """
        return _llvm.traits(self._ref).is_call

    @property
    def is_memory_access(self) -> bool:
        """Whether it is a load, a store or an atomic.

        >>> sum(i.is_memory_access for i in mneme.llvm.example().functions["saxpy"].instructions)
        3
        """
        return _llvm.traits(self._ref).is_memory_access

    @property
    def may_read_memory(self) -> bool:
        """Whether it may read memory, calls included.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].may_read_memory
        True
        """
        return _llvm.traits(self._ref).may_read_memory

    @property
    def may_write_memory(self) -> bool:
        """Whether it may write memory, calls included.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].may_write_memory
        False
        """
        return _llvm.traits(self._ref).may_write_memory

    @property
    def has_side_effects(self) -> bool:
        """Whether it must stay even when its result is not used.

        >>> mneme.llvm.example().functions["saxpy"].instructions["sum"].has_side_effects
        False
        """
        return _llvm.traits(self._ref).has_side_effects

    @property
    def is_commutative(self) -> bool:
        """Whether its operands can be swapped.

        >>> mneme.llvm.example().functions["saxpy"].instructions["sum"].is_commutative
        True
        """
        return _llvm.traits(self._ref).is_commutative

    @property
    def is_associative(self) -> bool:
        """Whether (a op b) op c is a op (b op c); of floating-point numbers only with the flags that say so.

        >>> mneme.llvm.example().functions["saxpy"].instructions["sum"].is_associative
        False
        """
        return _llvm.traits(self._ref).is_associative

    @property
    def is_cast(self) -> bool:
        """Whether it makes one type of another.

        >>> mneme.llvm.example().functions["saxpy"].instructions["index"].is_cast
        True
        """
        return _llvm.traits(self._ref).is_cast

    @property
    def is_binary(self) -> bool:
        """Whether it is arithmetic of two operands.

        >>> mneme.llvm.example().functions["saxpy"].instructions["sum"].is_binary
        True
        """
        return _llvm.traits(self._ref).is_binary

    @property
    def is_atomic(self) -> bool:
        """Whether it is atomic.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].is_atomic
        False
        """
        return _llvm.traits(self._ref).is_atomic

    @property
    def is_volatile(self) -> bool:
        """Whether it must stay as it is.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].is_volatile
        False
        """
        return _llvm.traits(self._ref).is_volatile

    @property
    def successors(self) -> tuple[BasicBlock, ...]:
        """The blocks that a terminator leads to, each once; empty for others.

        >>> [block.name for block in mneme.llvm.example().functions["saxpy"].blocks[0].terminator.successors]
        ['body', 'done']
        """
        return tuple(BasicBlock(self._module, ref) for ref in _llvm.successors(self._ref))

    @property
    def called_function(self) -> Function | None:
        """The function that a call calls; None where that is a pointer or inline assembly.

        Raises InvalidArgumentError for what is no call.

        >>> mneme.llvm.example().functions["saxpy"].instructions["ax"].called_function.name
        'scaled'
        """
        ref = _llvm.called_function(self._ref)
        return None if ref is None else cast("Function", wrap(self._module, ref))

    @property
    def arguments(self) -> tuple[Value, ...]:
        """What a call passes.

        >>> mneme.llvm.example().functions["saxpy"].instructions["ax"].arguments
        (<Argument float %a>, <Instruction %vx = load float, ptr %px, align 4>)
        """
        return tuple(wrap(self._module, ref) for ref in _llvm.call_arguments(self._ref))

    @property
    def inline_assembly(self) -> tuple[str, str] | None:
        """The text and the constraints of a call of inline assembly; None for other calls.

        >>> module = mneme.llvm.parse('define void @f() { call void asm sideeffect "bar.sync 0;", ""() ret void }')
        >>> module.functions["f"].instructions[0].inline_assembly
        ('bar.sync 0;', '')
        """
        return _llvm.inline_assembly(self._ref)

    @property
    def attributes(self) -> Attributes:
        """The attributes of a call, to be read and changed; those of the function that it calls are apart.

        >>> call = mneme.llvm.example().functions["saxpy"].instructions["ax"]
        >>> call.attributes.add("noinline"); list(call.attributes)
        ['noinline']
        """
        return Attributes(self, OF_FUNCTION)

    @property
    def incoming(self) -> tuple[tuple[Value, BasicBlock], ...]:
        """Of a phi: each value, and the block that it comes from.

        Raises InvalidArgumentError for what is no phi.

        >>> module = mneme.llvm.parse('''define i32 @f(i1 %c) {
        ... entry: br i1 %c, label %a, label %b
        ... a: br label %b
        ... b: %x = phi i32 [ 1, %entry ], [ 2, %a ] ret i32 %x }''')
        >>> [(value.value, block.name) for value, block in module.functions["f"].blocks["b"].instructions["x"].incoming]
        [(1, 'entry'), (2, 'a')]
        """
        pairs = _llvm.incoming(self._ref)
        return tuple((wrap(self._module, value), BasicBlock(self._module, block)) for value, block in pairs)

    def add_incoming(self, value: Value | Number, block: BasicBlock) -> None:
        """Gives a phi the value that it has when it is reached from the block.

        >>> module = mneme.llvm.parse('''define i32 @f() {
        ... entry: br label %b
        ... b: %x = phi i32 [ 1, %entry ] ret i32 %x }''')
        >>> phi = module.functions["f"].blocks["b"].instructions["x"]
        >>> phi.add_incoming(2, module.functions["f"].add_block("more")); str(phi)
        '  %x = phi i32 [ 1, %entry ], [ 2, %more ]'
        """
        _llvm.add_incoming(self._ref, to_ref(self._module, _llvm.type_of(self._ref), value), block._ref)

    def remove_incoming(self, block: BasicBlock) -> None:
        """Takes from a phi the value that it has when it is reached from the block.

        >>> module = mneme.llvm.parse('''define i32 @f() {
        ... entry: br label %b
        ... b: %x = phi i32 [ 1, %entry ] ret i32 %x }''')
        >>> phi = module.functions["f"].blocks["b"].instructions["x"]
        >>> phi.remove_incoming(module.functions["f"].blocks["entry"]); len(phi.incoming)
        0
        """
        _llvm.remove_incoming(self._ref, block._ref)

    def set_operand(self, index: int, value: Value | Number) -> None:
        """Puts another value of the same type, or a number, in the place of an operand.

        Raises InvalidArgumentError where there is no such operand, and for another type or another function's value.

        >>> fmul = mneme.llvm.example().functions["scaled"].instructions[0]
        >>> fmul.set_operand(1, 0.5); str(fmul)
        '  %product = fmul float %a, 5.000000e-01'
        """
        if not isinstance(value, Value):
            operands = self.operands
            type = operands[index].type if 0 <= index < len(operands) else self.type
            ref = to_ref(self._module, type._ref, value)
        else:
            ref = value._ref
        _llvm.set_operand(self._ref, index, ref)

    def erase(self) -> None:
        """Takes it out of its block for good.

        Raises InvalidArgumentError while it is used.

        >>> mneme.llvm.example().functions["saxpy"].instructions["vx"].erase()
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: erasing instruction '%vx = load ...': it is used 1 time, first in ...
        """
        _llvm.erase(self._ref)

    def move_before(self, other: Instruction) -> None:
        """Puts it before another instruction of its function.

        >>> function = mneme.llvm.example().functions["saxpy"]
        >>> function.instructions["vy"].move_before(function.instructions["vx"])
        >>> [i.name for i in function.blocks["body"]][3:5]
        ['vy', 'vx']
        """
        _llvm.move_instruction(self._ref, True, other._ref)

    def move_after(self, other: Instruction) -> None:
        """Puts it behind another instruction of its function.

        >>> function = mneme.llvm.example().functions["saxpy"]
        >>> function.instructions["px"].move_after(function.instructions["py"])
        """
        _llvm.move_instruction(self._ref, False, other._ref)

    def copy_before(self, other: Instruction) -> Instruction:
        """Puts a copy of it before an instruction of its function: without a name and without uses.

        >>> load = mneme.llvm.example().functions["saxpy"].instructions["vx"]
        >>> load.copy_before(load).opcode
        'load'
        """
        return Instruction(self._module, _llvm.copy_instruction(self._ref, True, other._ref))

    def split_block(self, name: str = "") -> BasicBlock:
        """Moves it, and what follows it, into a new block, to which its own one leads.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.instructions[1].split_block("end").name, len(function.blocks)
        ('end', 2)
        """
        return BasicBlock(self._module, _llvm.split_block(self._ref, name))

    @property
    def metadata(self) -> AttachedMetadata:
        """What is attached to it, by kind; to be changed, too.

        >>> dict(mneme.llvm.example().functions["scaled"].instructions[0].metadata)
        {}
        """
        return AttachedMetadata(self)

    @property
    def debug_location(self) -> DebugLocation | None:
        """Where in the source it was written; None without debug information.

        >>> print(mneme.llvm.example().functions["scaled"].instructions[0].debug_location)
        None
        """
        return to_location(_llvm.debug_location(self._ref))

    def set_debug_location(self, line: int, column: int = 0) -> None:
        """Says where in the source of its function it was written.

        Raises InvalidArgumentError where the function has no debug information.

        >>> mneme.llvm.example().functions["scaled"].instructions[0].set_debug_location(3)
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: giving instruction ...: its function 'scaled' has no debug information
        """
        _llvm.set_debug_location(self._ref, line, column)

    def copy_debug_location(self, other: Instruction) -> None:
        """Says that it was written where another instruction of its function was.

        >>> multiply, end = mneme.llvm.example().functions["scaled"].instructions
        >>> multiply.copy_debug_location(end)
        """
        _llvm.copy_debug_location(self._ref, other._ref)

    def remove_debug_location(self) -> None:
        """Says nothing of where it was written.

        >>> mneme.llvm.example().functions["scaled"].instructions[0].remove_debug_location()
        """
        _llvm.remove_debug_location(self._ref)

    def _summary(self) -> str:
        return str(self).strip()
