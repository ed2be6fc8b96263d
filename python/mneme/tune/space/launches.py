"""The preset "launch": blocks that the device and the kernel take, and the grid that goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mneme.results.trials import Params
from mneme.tune.space.choices import Categorical
from mneme.tune.space.facts import LaunchFacts
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.search_space import Line, SearchSpace

_MOST_IN_DIRECTION = {"x": 1024, "y": 1024, "z": 64}
_MOST_BLOCKS = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}
# Where fewer blocks of whole warps divide the recorded threads, others are tried too.
_FEW_SIZES = 4
# What "grid" may be: exactly the recorded threads; at least these; as many blocks as were recorded.
_THREADS, _MORE, _RECORDED = "threads", "more threads", "recorded"
_PER_THREAD = "per thread"


def launch(facts: LaunchFacts) -> SearchSpace:
    """Blocks that the device and the kernel take, and the grid that goes with them.

    "grid" says how many blocks: as many as have exactly the recorded threads; "more threads", where blocks do not
    divide them; or as recorded, whatever the block. Only the first is safe with a kernel that has no bounds check.
    What the kernel's code shows to be never the same is left out.
    """
    return _Launch(facts).space()


class _Launch:
    def __init__(self, facts: LaunchFacts) -> None:
        self._facts = facts
        self._recorded = dict(zip("xyz", facts.block, strict=True))
        self._extents = {name: blocks * self._recorded[name] for name, blocks in zip("xyz", facts.grid, strict=True)}
        self._wide = [name for name in "xyz" if self._extents[name] > 1] or ["x"]
        self._warp = facts.warp
        self._least, self._most = min(self._warp, facts.threads), max(facts.most_threads, facts.threads)
        self._sizes = self._sizes_in([name for name in self._wide if facts.directions[name].sizes])
        self._free = list(self._sizes)
        self._by_threads = [name for name in self._free if facts.directions[name].threads]
        self._by_blocks = [name for name in self._free if facts.directions[name].blocks]
        self._divide = all(self._extents[name] % size == 0 for name in self._by_threads for size in self._sizes[name])
        self._grids = self._grids_of()

    def space(self) -> SearchSpace:
        # In several directions kernels often have their block built in: TPE meets one value sooner than neighbours.
        parameters: dict[str, Parameter] = {
            f"block.{name}": Categorical(sizes, ordered=len(self._free) == 1) for name, sizes in self._sizes.items()
        }
        start: dict[str, Any] = {f"block.{name}": self._recorded[name] for name in self._free}
        if len(self._grids) > 1:
            parameters["grid"], start["grid"] = Categorical(self._grids), self._grids[0]
        if self._facts.shared_memory and self._free:
            parameters["shared_memory"], start["shared_memory"] = Categorical([_RECORDED, _PER_THREAD]), _RECORDED
        made = SearchSpace(parameters, constraints=self._constraints(), derive=self._changes, start=[start])
        made.lines, made.notes = tuple(self._lines(made, start)), tuple(self._notes())
        return made

    def _sizes_in(self, free: Sequence[str]) -> dict[str, list[int]]:
        """What blocks may be in these directions, as they are in the others; without those where nothing else may."""
        fixed = self._threads_beside(free)
        made = {name: self._sizes_of(name, fixed, alone=len(free) == 1) for name in free}
        return {name: sizes for name, sizes in made.items() if len(sizes) > 1}

    def _threads_beside(self, free: Sequence[str]) -> int:
        return math.prod(size for name, size in self._recorded.items() if name not in free)

    def _sizes_of(self, name: str, fixed: int, *, alone: bool) -> list[int]:
        """Whole warps in a block's only direction; powers of two where others have threads too, `fixed` or free."""
        extent, by_threads = self._extents[name], self._facts.directions[name].threads
        least = -(-self._least // fixed) if alone else 1
        most = min(self._most // fixed, _MOST_IN_DIRECTION[name])
        powers = [1 << power for power in range(11)]
        if by_threads:
            least = max(least, -(-extent // _MOST_BLOCKS[name]))
            most = min(most, -(-extent // self._warp) * self._warp)
            powers = [power for power in powers if power < 2 * extent]
        warps = [*range(self._warp, most + 1, self._warp)]
        dividing = [size for size in warps if extent % size == 0]
        if by_threads and len(dividing) >= _FEW_SIZES:
            warps = dividing
        made = powers
        if alone and fixed == 1:
            made = warps
        elif alone and name == "x":
            made = powers + warps
        return sorted({self._recorded[name], *(size for size in made if least <= size <= most)})

    def _grids_of(self) -> list[str]:
        grids = []
        if self._by_threads:
            grids = [_THREADS] if self._divide else [_THREADS, _MORE]
        if not grids or set(self._by_threads) & set(self._by_blocks):
            grids.append(_RECORDED)
        return grids

    def _constraints(self) -> list[str]:
        made = []
        if not self._divide:
            exact = " and ".join(f"{self._extents[name]} % block.{name} == 0" for name in self._by_threads)
            made = [f"grid != 'threads' or ({exact})", f"grid != 'more threads' or not ({exact})"]
        fixed = self._threads_beside(self._free)
        fewest, most = (math.prod([fixed, *map(end, self._sizes.values())]) for end in (min, max))
        if fewest < self._least or most > self._most:
            threads = " * ".join([f"block.{name}" for name in self._free] + ([str(fixed)] if fixed > 1 else []))
            made.append(f"{self._least} <= {threads} <= {self._most}")
        return made

    def _changes(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        block = {name: params[f"block.{name}"] for name in self._free}
        made: dict[str, Any] = {f"block.{name}": size for name, size in block.items()}
        changed = [name for name, size in block.items() if size != self._recorded[name]]
        grid = params.get("grid", self._grids[0])
        by_threads = [name for name in changed if self._goes_with(name, grid) != _RECORDED]
        if grid == _THREADS and by_threads == changed:
            if changed:
                made["keep_threads"] = True
        else:
            made |= {f"grid.{name}": -(-self._extents[name] // block[name]) for name in by_threads}
        if params.get("shared_memory") == _PER_THREAD:
            threads = math.prod((self._recorded | block).values())
            made["shared_memory"] = -(-self._facts.shared_memory * threads // self._facts.threads)
        return made

    def _goes_with(self, name: str, grid: str) -> str:
        """What a direction makes of "grid": what it cannot do, it does in the way that is left."""
        if name not in self._by_threads:
            return _RECORDED
        return _THREADS if grid == _RECORDED and name not in self._by_blocks else grid

    def _lines(self, space: SearchSpace, start: Params) -> Iterator[Line]:
        for name, grid, side in itertools.product(self._free, self._grids, (-1, 1)):
            if name in self._by_threads and self._goes_with(name, grid) != grid:
                continue  # is as under another
            by_grid = {"grid": grid} if "grid" in start else {}
            away = [size for size in self._sizes[name][::side] if (size - self._recorded[name]) * side > 0]
            made: list[Params] = [{**by_grid, f"block.{name}": size} for size in away]
            values = tuple(value for value in made if space.allows({**start, **value}))
            beyond = tuple(value for value in made if value not in values)
            if values and "shared_memory" not in start:
                yield Line(values, beyond=beyond)
            elif values:
                enough, doubtful = (_RECORDED, _PER_THREAD)[::-side]
                yield Line(values, {"shared_memory": enough}, beyond)
                yield Line(tuple({"shared_memory": doubtful, **value} for value in values))

    def _notes(self) -> Iterator[str]:
        for name in self._wide:
            direction = self._facts.directions[name]
            if not direction.sizes:
                yield f"block.{name} stays {self._recorded[name]}: {direction.reason}"
            elif name not in self._free:
                yield f"block.{name} stays {self._recorded[name]}: a block has {self._least} to {self._most} threads"
            elif not direction.threads:
                yield f"grid.{name} stays as recorded: {direction.reason}"
            elif not direction.blocks:
                yield f"grid.{name} goes with block.{name}: {direction.reason}"
