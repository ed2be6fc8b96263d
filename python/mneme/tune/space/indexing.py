"""What a kernel makes of its launch, as far as its code shows: which block sizes and grids can mean the same.

Looked at is which of threadIdx, blockIdx, blockDim and gridDim it reads in each direction, and whether blockIdx only
ever counts threads (`blockIdx.x * blockDim.x`) or never does. Where the code does not show it, everything is possible.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from mneme.errors import MnemeError

if TYPE_CHECKING:
    from mneme import llvm

_READ = re.compile(r"mneme\.launch\.(thread_index|block_index|block_extent|grid_extent)\.([xyz])$")
# Other ways to learn of the launch: in assembler, as part of a cluster, or what else AMD's structures of a launch have.
_OTHER_READ = re.compile(
    r"%(n?tid|n?ctaid|n?cluster|gridid)|sreg\.(n?cluster|is\.explicit\.cluster)"
    r"|amdgcn\.(implicitarg|dispatch)\.ptr|amdgcn\.cluster"
)
# Functions without code that know nothing of the launch.
_HARMLESS = re.compile(
    r"(llvm\.|mneme\.launch\.|__nv_|__ocml_|__assertfail$|__assert_fail$|__atomic_work_item_fence$|vprintf$|malloc$|free$)"
)
# What a kernel's values are after these is what its source says.
_TIDY = "always-inline,cgscc(inline),function(sroa,instcombine)"
# And what the reads of the launch are after this, when they have their names. HIP's headers choose the direction by a
# switch.
_NAMED = "function(sccp,instcombine)"
_TARGETS = ("nvptx", "amdgcn")
_CASTS = frozenset(("zext", "sext", "trunc", "freeze"))
_SCALES = _CASTS | {"mul", "shl", "lshr", "udiv"}
_SUMS = _SCALES | {"add", "sub"}
_ARITHMETIC = _SUMS | {"or", "and", "xor", "ashr", "sdiv", "urem", "srem", "phi", "select"}
# Behind these it is known what the index of a block is for.
_PLAIN = frozenset(("icmp", "getelementptr", "switch"))


@dataclasses.dataclass(frozen=True)
class Direction:
    """What a launch may be in one direction, when the kernel is to do the same.

    `sizes`: its blocks may have another size. `threads`: the grid may go with them so that there are as many threads.
    `blocks`: there may be as many blocks as were recorded. `reason`: why something may not.
    """

    sizes: bool = True
    threads: bool = True
    blocks: bool = True
    reason: str = ""


ANY = Direction()
"""Of which nothing is known."""


def directions_of(module: llvm.Module) -> dict[str, Direction]:
    """What the only kernel of a module, which is changed, makes of directions x, y and z; of code for no GPU, `ANY`.

    An error of LLVM's shows nothing either.

    >>> directions_of(mneme.llvm.example())["y"]
    Direction(sizes=False, threads=True, blocks=True, reason='the kernel does not read threadIdx.y')
    """
    unknown = dict.fromkeys("xyz", ANY)
    if not module.triple.startswith(_TARGETS):
        return unknown
    try:
        module.run(_TIDY)
        module._ref.name_launch_reads()
        module.run(_NAMED)
    except MnemeError:  # of which the first trial tells more
        return unknown
    reads: dict[tuple[str, str], list[llvm.Instruction]] = {}
    for function in module.functions:
        if function.is_declaration and not _HARMLESS.match(function.name):
            return unknown
        if _OTHER_READ.search(function.name) and function.uses:
            return unknown
        for instruction in function.instructions if not function.is_declaration else ():
            if not instruction.is_call:
                continue
            if (assembly := instruction.inline_assembly) is not None and _OTHER_READ.search(assembly[0]):
                return unknown
            if (read := _read_of(instruction)) is not None:
                reads.setdefault(read, []).append(instruction)
    if not any(what == "thread_index" for what, _ in reads):
        return unknown  # its threads find their work in another way
    return {direction: _direction(direction, reads) for direction in "xyz"}


def _direction(direction: str, reads: dict[tuple[str, str], list[llvm.Instruction]]) -> Direction:
    if ("thread_index", direction) not in reads:
        return Direction(sizes=False, reason=f"the kernel does not read threadIdx.{direction}")
    if ("block_extent", direction) not in reads:
        return Direction(sizes=False, reason=f"the kernel does not read blockDim.{direction}")
    uses: set[str] = set()
    for read in reads.get(("block_index", direction), []):
        uses |= _uses_of(read, direction)
    if not uses <= {"threads", "blocks"}:
        return ANY
    if "threads" not in uses:
        return Direction(threads=False, reason=f"blockIdx.{direction} counts no threads")
    if "blocks" not in uses and ("grid_extent", direction) not in reads:
        return Direction(blocks=False, reason=f"blockIdx.{direction} counts threads only")
    return ANY


def _uses_of(block: llvm.Instruction, direction: str) -> set[str]:
    """What the index of a block becomes: "threads", times the size of a block; "blocks", without that; "unknown"."""
    found: set[str] = set()
    seen: set[llvm.Value] = {block}
    left: list[llvm.Value] = [block]
    while left:
        value = left.pop()
        for user in value.users:
            opcode = getattr(user, "opcode", "")
            others = [other for other in user.operands if other != value] if opcode == "mul" else []
            if any(_has_size(other, direction, _SCALES) for other in others):
                found.add("threads")
            elif any(_has_size(other, direction, _SUMS) for other in others):
                found.add("unknown")  # of blocks that overlap, say
            elif opcode in _ARITHMETIC:
                if user not in seen:
                    seen.add(user)
                    left.append(user)
            else:
                found.add("blocks" if opcode in _PLAIN else "unknown")
    return found


def _has_size(value: llvm.Value, direction: str, through: frozenset[str]) -> bool:
    """Whether a value is the size of a block, or made of it by such instructions."""
    if _read_of(value) == ("block_extent", direction):
        return True
    if getattr(value, "opcode", "") not in through:
        return False
    return any(_has_size(each, direction, through) for each in value.operands)


def _read_of(value: llvm.Value) -> tuple[str, str] | None:
    function = getattr(value, "called_function", None) if getattr(value, "opcode", "") == "call" else None
    found = _READ.match(function.name) if function is not None else None
    return None if found is None else (found[1], found[2])
