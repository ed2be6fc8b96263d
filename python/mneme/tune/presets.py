"""Search spaces made for a recorded launch and the device it is tuned on.

They know which blocks the device and the kernel take, which arguments are worth being constants, and which knobs the
device has. Whether the kernel does the same under another launch, nobody knows before it is tried: what does not is a
wrong result.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError
from mneme.tune import passes
from mneme.tune.names import nearest
from mneme.tune.parameters import Bool, Categorical, Parameter, Pipeline
from mneme.tune.space import SearchSpace

if TYPE_CHECKING:
    from mneme import Instance

_WARP = 32
# Of every CUDA device, and of the CPU device.
_MOST_THREADS = 1024
_MOST_IN_DIRECTION = {"x": 1024, "y": 1024, "z": 64}
# Where fewer blocks of whole warps divide the recorded threads, others are tried too.
_FEW_SIZES = 4
# Scalar arguments that get a parameter each; of a kernel with more, all together get one.
_MOST_SCALARS = 6
_REGISTERS = (None, 255, 168, 128, 96, 80, 64, 56, 48, 40, 32)


@dataclasses.dataclass(frozen=True)
class LaunchFacts:
    """What the presets know of a recorded launch, and of the device.

    `most_threads` is of a block: the device's limit, or the kernel's own.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int = 0
    scalars: tuple[str, ...] = ()
    device: str = "cuda"
    most_threads: int = _MOST_THREADS

    @classmethod
    def of(cls, instance: Instance, device: str | None = None) -> LaunchFacts:
        """`device`: "cuda" or "cpu"; by default the kind that recorded."""
        scalars = tuple(argument.name for argument in instance.arguments if _is_scalar(argument))
        return cls(
            grid=instance.grid,
            block=instance.block,
            shared_memory=instance.shared_memory,
            scalars=scalars,
            device=(device or instance.device_kind).split(":")[0],
            most_threads=min(_MOST_THREADS, bound_of(instance) or _MOST_THREADS),
        )

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(self.block)


def launch(facts: LaunchFacts) -> SearchSpace:
    """Blocks that the device and the kernel take, and the grid that goes with them.

    "grid" says how many blocks: as many as have exactly the recorded threads; "more threads", where blocks do not
    divide them; or as recorded, whatever the block. Only the first is safe with a kernel that has no bounds check.
    """
    recorded = dict(zip("xyz", facts.block, strict=True))
    extents = {name: blocks * recorded[name] for name, blocks in zip("xyz", facts.grid, strict=True)}
    free = [name for name in "xyz" if extents[name] > 1] or ["x"]
    # In several directions kernels often have their block built in: TPE meets one value sooner than a neighbourhood.
    parameters: dict[str, Parameter] = {
        f"block.{name}": Categorical(
            _sizes(name, recorded[name], extents[name], facts, alone=len(free) == 1), ordered=len(free) == 1
        )
        for name in free
    }
    exact = " and ".join(f"{extents[name]} % block.{name} == 0" for name in free)
    divide = all(extents[name] % size == 0 for name in free for size in _choices(parameters[f"block.{name}"]))
    parameters["grid"] = Categorical(["threads", "recorded"] if divide else ["threads", "more threads", "recorded"])
    start: dict[str, Any] = {f"block.{name}": recorded[name] for name in free} | {"grid": "threads"}
    if facts.shared_memory:
        parameters["shared_memory"] = Categorical(["recorded", "per thread"])
        start["shared_memory"] = "recorded"

    def changes(params: Mapping[str, Any]) -> Mapping[str, Any]:
        block = {name: params[f"block.{name}"] for name in free}
        made: dict[str, Any] = {f"block.{name}": size for name, size in block.items()}
        if params["grid"] == "threads" and any(size != recorded[name] for name, size in block.items()):
            made["keep_threads"] = True
        elif params["grid"] == "more threads":
            made |= {f"grid.{name}": -(-extents[name] // size) for name, size in block.items()}
        if params.get("shared_memory") == "per thread":
            threads = math.prod((recorded | block).values())
            made["shared_memory"] = -(-facts.shared_memory * threads // facts.threads)
        return made

    constraints = []
    if not divide:
        constraints = [f"grid != 'threads' or ({exact})", f"grid != 'more threads' or not ({exact})"]
    if len(free) > 1:
        fixed = math.prod(recorded[name] for name in "xyz" if name not in free)
        threads = " * ".join([f"block.{name}" for name in free] + ([str(fixed)] if fixed > 1 else []))
        least = min(_WARP, facts.threads)
        constraints += [f"{least} <= {threads} <= {max(facts.most_threads, facts.threads)}"]
    return SearchSpace(parameters, constraints=constraints, derive=changes, start=[start])


def compiler(facts: LaunchFacts) -> SearchSpace:
    """Pass pipelines, the code generator, and on a GPU the assembler."""
    parameters: dict[str, Parameter] = {
        "passes": Pipeline(passes.USEFUL, max_length=4, first=passes.DEFAULTS),
        "codegen.level": Categorical([3, 2, 1, 0], ordered=True),
    }
    start: dict[str, Any] = {"passes": ("default<O3>",), "codegen.level": 3}
    if facts.device == "cuda":
        parameters |= {
            "assembler.level": Categorical([None, 4, 2, 1], ordered=True),
            "assembler.max_registers": Categorical(_REGISTERS, ordered=True),
            "assembler.load_cache": Categorical(["default", "ca", "cg", "cs"]),
            "assembler.store_cache": Categorical(["default", "wb", "cg", "cs"]),
        }
        start |= {"assembler.level": None, "assembler.max_registers": None}
        start |= {"assembler.load_cache": "default", "assembler.store_cache": "default"}
    return SearchSpace(parameters, start=[start])


def specialise(facts: LaunchFacts) -> SearchSpace:
    """Which facts of the recorded launch the code is made with: arguments, shape, pointers; on a GPU launch bounds."""
    each = len(facts.scalars) <= _MOST_SCALARS
    names = {f"specialise.arguments.{name}": [name] for name in facts.scalars}
    if not each:
        names = {"specialise.arguments": list(facts.scalars)}
    flags = [f"specialise.{name}" for name in ("dimensions", "ranges", "alignment", "no_alias")]
    parameters: dict[str, Parameter] = {name: Bool() for name in [*names, *flags]}
    start: dict[str, Any] = dict.fromkeys(parameters, False)
    if facts.device == "cuda":
        parameters |= {
            "specialise.max_threads": Bool(),
            "specialise.min_blocks": Categorical([None, 1, 2, 3, 4, 6, 8], ordered=True),
        }
        start |= {"specialise.max_threads": False, "specialise.min_blocks": None}

    def changes(params: Mapping[str, Any]) -> Mapping[str, Any]:
        made: dict[str, Any] = {name: True for name in flags if params[name]}
        if arguments := [argument for name, those in names.items() if params[name] for argument in those]:
            made["specialise.arguments"] = arguments
        if params.get("specialise.max_threads"):
            sizes = zip("xyz", facts.block, strict=True)
            made["specialise.max_threads"] = math.prod(params.get(f"block.{name}", size) for name, size in sizes)
            # Goes with a bound of the threads.
            made["specialise.min_blocks"] = params["specialise.min_blocks"]
        return made

    return SearchSpace(parameters, derive=changes, start=[start])


def full(facts: LaunchFacts) -> SearchSpace:
    """All of them."""
    return launch(facts) | compiler(facts) | specialise(facts)


PRESETS: dict[str, Callable[[LaunchFacts], SearchSpace]] = {
    "launch": launch,
    "compiler": compiler,
    "specialise": specialise,
    "full": full,
}
"""By name."""


def preset(name: str, instance: Instance, *, device: str | None = None) -> SearchSpace:
    """The search space of that name for a recorded launch; several are joined by "+": "launch+compiler".

    `device` is the kind on which it is tuned, by default the one that recorded. Raises InvalidArgumentError for an
    unknown name.
    """
    facts = LaunchFacts.of(instance, device)
    space: SearchSpace | None = None
    for word in name.split("+"):
        if word not in PRESETS:
            raise InvalidArgumentError(f"there is no search space '{word}'{nearest(word, PRESETS)}")
        made = PRESETS[word](facts)
        space = made if space is None else space | made
    assert space is not None
    return space


def bound_of(instance: Instance) -> int | None:
    """How many threads a block may have by the kernel's own launch bounds; None where it has none."""
    function = instance.module().functions[instance.kernel.name]
    bound = function.attributes.get("nvvm.maxntid")
    return None if bound is None else math.prod(int(extent) for extent in str(bound).split(","))


def _sizes(name: str, recorded: int, extent: int, facts: LaunchFacts, *, alone: bool) -> list[int]:
    most = min(facts.most_threads, _MOST_IN_DIRECTION[name], -(-extent // _WARP) * _WARP)
    powers = [1 << power for power in range(11) if 1 << power <= most]
    if not alone:
        return sorted({recorded, *powers})
    multiples = range(_WARP, most + 1, _WARP)
    dividing = [size for size in multiples if extent % size == 0]
    few = len(dividing) < _FEW_SIZES
    return sorted({recorded, *(multiples if few else dividing)})


def _choices(parameter: Parameter) -> tuple[Any, ...]:
    assert isinstance(parameter, Categorical)
    return parameter.choices


def _is_scalar(argument: Any) -> bool:
    return argument.kind in ("integer", "floating") and bool(argument.name)
