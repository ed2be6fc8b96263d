"""What LLVM knows about a function as it is now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mneme._native import llvm as _llvm
from mneme.errors import InvalidArgumentError
from mneme.llvm._instruction import BasicBlock, Instruction
from mneme.llvm._refs import wrap

if TYPE_CHECKING:
    from mneme.llvm._function import Function
    from mneme.llvm._module import Module

FEATURES: tuple[str, ...] = tuple(_llvm.feature_names())
"""What `Function.features` counts, in the order of a vector of them: docs/reference/features.md says each."""


@dataclass(frozen=True)
class Loop:
    """A loop of a function, as it was when it was asked for.

    >>> module = mneme.llvm.parse('''define void @f() {
    ... entry: br label %loop
    ... loop: %i = phi i32 [ 0, %entry ], [ %next, %loop ] %next = add i32 %i, 1
    ...   %again = icmp ult i32 %next, 8 br i1 %again, label %loop, label %end
    ... end: ret void }''')
    >>> loop, = module.functions["f"].loops
    >>> loop.header.name, loop.depth, loop.trip_count, loop.induction.name
    ('loop', 1, 8, 'i')
    """

    header: BasicBlock
    """The block by which it is entered."""
    blocks: tuple[BasicBlock, ...]
    """All its blocks, those of inner loops too."""
    latches: tuple[BasicBlock, ...]
    """The blocks that lead back to the header."""
    exits: tuple[BasicBlock, ...]
    """The blocks outside that it leads to."""
    preheader: BasicBlock | None
    """The only block that leads into it, where there is one that leads nowhere else."""
    depth: int
    """1 for a loop that is in no other."""
    trip_count: int | None
    """How often the header runs, where that is a constant."""
    induction: Instruction | None
    """The phi that counts, where it is simple."""
    parent: Loop | None
    """The loop that it is in."""


def loops(function: Function) -> tuple[Loop, ...]:
    """The loops of a function, outer ones before inner ones."""
    module = function.module

    def blocks(refs: list[_llvm.ValueRef]) -> tuple[BasicBlock, ...]:
        return tuple(BasicBlock(module, ref) for ref in refs)

    found: list[Loop] = []
    for loop in _llvm.loops(function._ref):
        found.append(
            Loop(
                header=BasicBlock(module, loop.header),
                blocks=blocks(loop.blocks),
                latches=blocks(loop.latches),
                exits=blocks(loop.exits),
                preheader=None if loop.preheader is None else BasicBlock(module, loop.preheader),
                depth=loop.depth,
                trip_count=loop.trip_count,
                induction=None if loop.induction is None else Instruction(module, loop.induction),
                parent=None if loop.parent is None else found[loop.parent],
            )
        )
    return tuple(found)


class DominatorTree:
    """Which blocks every way to a block passes, as it was when it was asked for. Blocks that are never reached are not
    in it.

    >>> kernel = mneme.llvm.example().functions["saxpy"]
    >>> entry, body, done = kernel.blocks
    >>> tree = kernel.dominators()
    >>> tree.dominates(entry, done), tree.dominates(body, done), tree.immediate(done).name
    (True, False, 'entry')
    """

    def __init__(self, function: Function, *, post: bool = False) -> None:
        module = function.module
        self._above: dict[BasicBlock, BasicBlock | None] = {
            BasicBlock(module, block): None if above is None else BasicBlock(module, above)
            for block, above in _llvm.dominators(function._ref, post)
        }

    def immediate(self, block: BasicBlock) -> BasicBlock | None:
        """The last other block on every way to it; None for the root. Raises InvalidArgumentError for a block that is
        not in the tree.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> kernel.dominators(post=True).immediate(kernel.blocks["entry"]).name
        'done'
        """
        if block not in self._above:
            raise InvalidArgumentError(
                f"{block!r} is not in the tree: it is never reached, of another function, or newer"
            )
        return self._above[block]

    def dominates(self, a: BasicBlock, b: BasicBlock) -> bool:
        """Whether every way to `b` passes `a`; a block dominates itself.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> kernel.dominators().dominates(kernel.blocks["body"], kernel.blocks["body"])
        True
        """
        self.immediate(a)
        at: BasicBlock | None = b
        while at is not None and at != a:
            at = self.immediate(at)
        return at is not None

    def children(self, block: BasicBlock) -> tuple[BasicBlock, ...]:
        """The blocks whose immediate dominator it is.

        >>> kernel = mneme.llvm.example().functions["saxpy"]
        >>> sorted(child.name for child in kernel.dominators().children(kernel.blocks["entry"]))
        ['body', 'done']
        """
        return tuple(below for below, above in self._above.items() if above == block)

    def __len__(self) -> int:
        return len(self._above)

    def __contains__(self, block: object) -> bool:
        return block in self._above

    def __repr__(self) -> str:
        return f"<DominatorTree of {len(self)} blocks>"


class CallGraph:
    """Which functions call which, as it was when it was asked for; None stands for pointers and inline assembly.

    >>> module = mneme.llvm.example()
    >>> graph = module.call_graph()
    >>> kernel, scaled = module.functions["saxpy"], module.functions["scaled"]
    >>> graph.callees(kernel)[scaled], graph.callers(scaled) == {kernel: 1}
    (1, True)
    """

    def __init__(self, module: Module) -> None:
        self._calls: dict[Function, Counter[Function | None]] = {f: Counter() for f in module.functions}
        for (caller, callee), calls in _llvm.call_graph(module._ref):
            to = None if callee is None else cast("Function", wrap(module, callee))
            self._calls[cast("Function", wrap(module, caller))][to] = calls

    def callees(self, function: Function) -> Counter[Function | None]:
        """What a function calls, and in how many places.

        >>> module = mneme.llvm.example()
        >>> sorted(callee.name for callee in module.call_graph().callees(module.functions["saxpy"]))
        ['llvm.nvvm.read.ptx.sreg.tid.x', 'scaled']
        """
        return self._calls.get(function, Counter())

    def callers(self, function: Function) -> Counter[Function]:
        """What calls a function, and in how many places.

        >>> module = mneme.llvm.example()
        >>> module.call_graph().callers(module.functions["saxpy"])
        Counter()
        """
        return Counter({caller: calls[function] for caller, calls in self._calls.items() if function in calls})

    def reachable(self, function: Function) -> set[Function]:
        """The functions that it calls, directly or not, and itself.

        >>> module = mneme.llvm.example()
        >>> len(module.call_graph().reachable(module.functions["saxpy"]))
        3
        """
        found, waiting = {function}, [function]
        while waiting:
            for callee in self.callees(waiting.pop()):
                if callee is not None and callee not in found:
                    found.add(callee)
                    waiting.append(callee)
        return found

    def __repr__(self) -> str:
        return f"<CallGraph of {len(self._calls)} functions, {sum(map(len, self._calls.values()))} edges>"
