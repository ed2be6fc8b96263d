"""Functions and global variables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mneme._native import llvm as _llvm
from mneme.llvm._analysis import DominatorTree, Loop, loops
from mneme.llvm._attributes import OF_FUNCTION, OF_RESULT, Attributes
from mneme.llvm._instruction import BasicBlock, Instruction
from mneme.llvm._metadata import AttachedMetadata, DebugLocation
from mneme.llvm._refs import Number, to_ref, wrap
from mneme.llvm._types import Type
from mneme.llvm._values import Argument, Value, Values


class GlobalValue(Value, kind="alias"):
    """What a module has by name: functions, global variables, aliases.

    >>> isinstance(mneme.llvm.example().globals["limit"], GlobalValue)
    True
    """

    __slots__ = ()

    @property
    def linkage(self) -> str:
        """external, internal, weak_odr, … To be assigned, too.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.linkage = "internal"; function.linkage
        'internal'
        """
        return _llvm.linkage(self._ref)

    @linkage.setter
    def linkage(self, linkage: str) -> None:
        _llvm.set_linkage(self._ref, linkage)

    @property
    def visibility(self) -> str:
        """default, hidden or protected. To be assigned, too.

        >>> mneme.llvm.example().functions["scaled"].visibility
        'default'
        """
        return _llvm.visibility(self._ref)

    @visibility.setter
    def visibility(self, visibility: str) -> None:
        _llvm.set_visibility(self._ref, visibility)

    @property
    def address_space(self) -> int:
        """The address space that it is in. On NVIDIA and AMD GPUs 1 is global memory, 3 shared, 4 constant.

        >>> mneme.llvm.example().globals["limit"].address_space
        1
        """
        return _llvm.address_space(self._ref)

    @property
    def is_declaration(self) -> bool:
        """Whether it is defined elsewhere.

        >>> [function.is_declaration for function in mneme.llvm.example().functions]
        [False, False, True]
        """
        return _llvm.is_declaration(self._ref)

    @property
    def value_type(self) -> Type:
        """A variable's type in memory, a function's signature; its own type is a pointer.

        >>> mneme.llvm.example().functions["scaled"].value_type
        <Type float (float, float)>
        """
        return Type(self._module, _llvm.value_type(self._ref))

    @property
    def section(self) -> str:
        """The section that it is to be put into; empty where none is given.

        >>> mneme.llvm.example().globals["limit"].section
        ''
        """
        return _llvm.section(self._ref)

    @property
    def alignment(self) -> int:
        """Bytes; 0 where none is given. To be assigned, too.

        >>> mneme.llvm.example().globals["limit"].alignment
        4
        """
        return _llvm.alignment_of_global(self._ref)

    @alignment.setter
    def alignment(self, alignment: int) -> None:
        _llvm.set_alignment_of_global(self._ref, alignment)

    @property
    def metadata(self) -> AttachedMetadata:
        """What is attached to it, by kind; to be changed, too.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.metadata["my.note"] = "hot"; list(function.metadata)
        ['my.note']
        """
        return AttachedMetadata(self)

    def erase(self) -> None:
        """Takes it out of the module for good.

        Raises InvalidArgumentError while it is used.

        >>> module = mneme.llvm.example()
        >>> module.functions["saxpy"].erase(); module.functions["scaled"].erase(); module.functions.names
        ['llvm.nvvm.read.ptx.sreg.tid.x']
        """
        _llvm.erase(self._ref)


class GlobalVariable(GlobalValue, kind="global_variable"):
    """A global variable.

    >>> mneme.llvm.example().globals["limit"]
    <GlobalVariable ptr addrspace(1) @limit>
    """

    __slots__ = ()

    @property
    def initializer(self) -> Value | None:
        """What it holds at the beginning; None for one that is defined elsewhere. To be assigned, too, also as a
        number.

        >>> limit = mneme.llvm.example().globals["limit"]
        >>> limit.initializer = 512; limit.initializer
        <Constant i32 512>
        """
        ref = _llvm.initializer(self._ref)
        return None if ref is None else wrap(self._module, ref)

    @initializer.setter
    def initializer(self, value: Value | Number) -> None:
        ref = None if value is None else to_ref(self._module, _llvm.value_type(self._ref), value)
        _llvm.set_initializer(self._ref, ref)

    @property
    def is_constant(self) -> bool:
        """Whether nothing writes to it. To be assigned, too.

        >>> mneme.llvm.example().globals["limit"].is_constant
        False
        """
        return _llvm.is_constant(self._ref)

    @is_constant.setter
    def is_constant(self, is_constant: bool) -> None:
        _llvm.set_constant(self._ref, is_constant)

    @property
    def is_externally_initialized(self) -> bool:
        """Whether the host may have changed it before a kernel runs, so that its initializer says nothing.

        >>> mneme.llvm.example().globals["limit"].is_externally_initialized
        False
        """
        return _llvm.is_externally_initialized(self._ref)


@dataclass(frozen=True)
class LaunchBounds:
    """What launches of a kernel may have, as its target's attributes say it; empty or None where they say nothing.

    >>> mneme.llvm.example().functions["saxpy"].launch_bounds.most_threads
    (128,)
    """

    most_threads: tuple[int, ...] = ()
    """Threads of a block at most, in one to three dimensions (nvvm.maxntid)."""
    required_threads: tuple[int, ...] = ()
    """Threads of a block exactly (nvvm.reqntid)."""
    least_blocks: int | None = None
    """Blocks that must fit on a multiprocessor at once (nvvm.minctasm)."""
    most_registers: int | None = None
    """Registers of a thread (nvvm.maxnreg)."""
    workgroup: tuple[int, ...] = ()
    """Least and most threads of a work group (amdgpu-flat-work-group-size)."""


class Function(GlobalValue, kind="function"):
    """A function, defined or declared.

    >>> kernel = mneme.llvm.example().functions["saxpy"]
    >>> kernel.is_kernel, len(kernel.blocks), len(kernel.instructions)
    (True, 3, 13)
    """

    __slots__ = ()

    @property
    def arguments(self) -> Values[Argument]:
        """Its arguments.

        >>> mneme.llvm.example().functions["saxpy"].arguments
        [<Argument i32 %n>, <Argument float %a>, <Argument ptr %x>, <Argument ptr %y>]
        """
        return Values(self._module, _llvm.arguments(self._ref))

    @property
    def blocks(self) -> Values[BasicBlock]:
        """Its basic blocks as they are now; the first one is the entry.

        >>> mneme.llvm.example().functions["saxpy"].blocks.names
        ['entry', 'body', 'done']
        """
        return Values(self._module, _llvm.blocks(self._ref))

    @property
    def instructions(self) -> Values[Instruction]:
        """All its instructions as they are now, block by block.

        >>> mneme.llvm.example().functions["scaled"].instructions
        [<Instruction %product = fmul float %a, %x>, <Instruction ret float %product>]
        """
        return Values(self._module, _llvm.instructions(self._ref))

    @property
    def result_type(self) -> Type:
        """What it returns.

        >>> mneme.llvm.example().functions["scaled"].result_type
        <Type float>
        """
        return self.value_type.result

    @property
    def calling_convention(self) -> str:
        """ccc, ptx_kernel, amdgpu_kernel, …, or LLVM's number. To be assigned, too.

        >>> mneme.llvm.example().functions["saxpy"].calling_convention
        'ptx_kernel'
        """
        return _llvm.calling_convention(self._ref)

    @calling_convention.setter
    def calling_convention(self, name: str) -> None:
        _llvm.set_calling_convention(self._ref, name)

    @property
    def is_kernel(self) -> bool:
        """Whether the host can launch it.

        >>> [function.name for function in mneme.llvm.example().functions if function.is_kernel]
        ['saxpy']
        """
        return _llvm.is_kernel(self._ref)

    @property
    def is_intrinsic(self) -> bool:
        """Whether LLVM itself knows what it does.

        >>> [function.name for function in mneme.llvm.example().functions if function.is_intrinsic]
        ['llvm.nvvm.read.ptx.sreg.tid.x']
        """
        return _llvm.is_intrinsic(self._ref)

    @property
    def launch_bounds(self) -> LaunchBounds:
        """What its launches may have.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> kernel.attributes["nvvm.minctasm"] = "2"; kernel.launch_bounds.least_blocks
        2
        """
        bounds = _llvm.launch_bounds(self._ref)
        return LaunchBounds(
            tuple(bounds.most_threads),
            tuple(bounds.required_threads),
            bounds.least_blocks,
            bounds.most_registers,
            tuple(bounds.workgroup),
        )

    @property
    def attributes(self) -> Attributes:
        """Its own attributes, to be read and changed; those of its arguments are theirs.

        >>> dict(mneme.llvm.example().functions["saxpy"].attributes)
        {'nvvm.maxntid': '128'}
        """
        return Attributes(self, OF_FUNCTION)

    @property
    def result_attributes(self) -> Attributes:
        """The attributes of what it returns.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.result_attributes.add("nofpclass(nan)"); dict(function.result_attributes)
        {'nofpclass': 'nan'}
        """
        return Attributes(self, OF_RESULT)

    @property
    def debug_location(self) -> DebugLocation | None:
        """Where in the source it was written; None without debug information.

        >>> print(mneme.llvm.example().functions["saxpy"].debug_location)
        None
        """
        at = _llvm.debug_location_of_function(self._ref)
        return None if at is None else DebugLocation(at.line, at.column, at.file, at.directory, at.function)

    def add_block(self, name: str = "", *, before: BasicBlock | None = None) -> BasicBlock:
        """Adds an empty block at the end, or before another one.

        >>> mneme.llvm.example().functions["saxpy"].add_block("more").name
        'more'
        """
        return BasicBlock(self._module, _llvm.add_block(self._ref, name, None if before is None else before._ref))

    def delete_body(self) -> None:
        """Makes a declaration of it.

        >>> function = mneme.llvm.example().functions["scaled"]
        >>> function.delete_body(); function.is_declaration
        True
        """
        _llvm.delete_body(self._ref)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Its loops as they are now, outer ones before inner ones.

        Raises CorruptError where it does not verify, as the other analyses do.

        >>> mneme.llvm.example().functions["saxpy"].loops
        ()
        """
        return loops(self)

    def dominators(self, *, post: bool = False) -> DominatorTree:
        """The dominator tree as it is now; with post=True that of the ways to the function's end.

        >>> mneme.llvm.example().functions["saxpy"].dominators()
        <DominatorTree of 3 blocks>
        """
        return DominatorTree(self, post=post)

    def opcode_counts(self) -> Counter[str]:
        """Its instructions by opcode.

        >>> mneme.llvm.example().functions["saxpy"].opcode_counts().most_common(1)
        [('br', 2)]
        """
        return Counter(_llvm.opcode_counts(self._ref))

    def features(self) -> dict[str, float]:
        """It as numbers, for learning: those that `mneme.llvm.FEATURES` names, in that order.
        `list(f.features().values())` is a vector.

        Raises InvalidArgumentError for a declaration.

        >>> features = mneme.llvm.example().functions["saxpy"].features()
        >>> features["loads"], features["bytes_stored"], tuple(features) == mneme.llvm.FEATURES
        (2.0, 4.0, True)
        """
        return dict(zip(_llvm.feature_names(), _llvm.features(self._ref), strict=True))

    def verify(self) -> None:
        """Raises CorruptError, in LLVM's words, where its IR breaks the rules.

        >>> mneme.llvm.example().functions["saxpy"].verify()
        """
        _llvm.verify_function(self._ref)
