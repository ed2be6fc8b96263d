"""What is known of a recorded launch before anything is tried."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mneme.tune.space.indexing import ANY, Direction, directions_of

if TYPE_CHECKING:
    from mneme import llvm
    from mneme.database import Instance

# Of every CUDA device, and of the CPU device.
_MOST_THREADS = 1024
_REQUIRED = Direction(sizes=False, reason="the kernel is compiled for this block only (nvvm.reqntid)")
_REQUIRED_BY_CODE = Direction(sizes=False, reason="the kernel's code can be launched with this block only (.reqntid)")


@dataclasses.dataclass(frozen=True)
class LaunchFacts:
    """What the presets know of a recorded launch, and of the device.

    `most_threads` is of a block: the device's limit, or the kernel's own. `directions`: by x, y and z, what the
    kernel's code shows of its launch, which without IR is little. `code`: "ir", "ptx" or "cubin". `passes`: the
    pipeline of the launch as recorded, where there is IR that it can be compiled from; else default<O3>. `warp`: the
    threads of a warp, or of an AMD GPU's wavefront.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int = 0
    scalars: tuple[str, ...] = ()
    device: str = "cuda"
    most_threads: int = _MOST_THREADS
    directions: Mapping[str, Direction] = dataclasses.field(default_factory=lambda: dict.fromkeys("xyz", ANY))
    code: str = "ir"
    passes: str = "as-built"
    warp: int = 32

    @classmethod
    def of(cls, instance: Instance, device: str | None = None) -> LaunchFacts:
        """`device`: "cuda", "cpu" or "compile:gfx942"; by default the kind that recorded."""
        if instance.kernel.code != "ir":
            return cls._without_ir(instance, device)
        scalars = tuple(argument.name for argument in instance.arguments if _is_scalar(argument))
        module = instance.module()
        name = instance.kernel.name
        bound = bound_of(module, name)
        built_for_one = "nvvm.reqntid" in module.functions[name].attributes
        return cls(
            grid=instance.grid,
            block=instance.block,
            shared_memory=instance.shared_memory,
            scalars=scalars,
            device=_kind(device or instance.device_kind),
            most_threads=min(_MOST_THREADS, bound or _MOST_THREADS),
            directions=dict.fromkeys("xyz", _REQUIRED) if built_for_one else directions_of(module),
            passes="as-built" if instance.kernel.pipeline or not instance.kernel.has_image else "default<O3>",
            warp=warp_of(module, name),
        )

    @classmethod
    def _without_ir(cls, instance: Instance, device: str | None) -> LaunchFacts:
        required = instance.database._native.required_block(instance.kernel._native)
        return cls(
            grid=instance.grid,
            block=instance.block,
            shared_memory=instance.shared_memory,
            device=_kind(device or instance.device_kind),
            directions=dict.fromkeys("xyz", ANY if required is None else _REQUIRED_BY_CODE),
            code=instance.kernel.code,
        )

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(self.block)


def bound_of(module: llvm.Module, kernel: str) -> int | None:
    """How many threads a block may have by the kernel's own launch bounds; None where it has none."""
    attributes = module.functions[kernel].attributes
    if (sizes := attributes.get("amdgpu-flat-work-group-size")) is not None:  # of an AMD GPU: the least and the most
        return int(str(sizes).split(",")[-1])
    bound = attributes.get("nvvm.maxntid")
    return None if bound is None else math.prod(int(extent) for extent in str(bound).split(","))


def warp_of(module: llvm.Module, kernel: str) -> int:
    """The threads of a warp, or of the wavefronts that the kernel was compiled for: 64 on gfx9 and before, else 32.

    An option of the compiler's may have asked for the other size.
    """
    attributes = module.functions[kernel].attributes
    processor, features = (str(attributes.get(f"target-{word}", "")) for word in ("cpu", "features"))
    if not processor.startswith("gfx"):
        return 32
    asked = [size for size in (32, 64) if f"+wavefrontsize{size}" in features.split(",")]
    if len(asked) == 1:
        return asked[0]
    # gfx906, gfx90a, gfx9-generic; the last two places of a number are the minor version and the stepping.
    major = processor.removeprefix("gfx").split("-")[0]
    return 64 if (major if processor.endswith("-generic") else major[:-2]) in ("6", "7", "8", "9") else 32


def _kind(device: str) -> str:
    """Without the number of a device; an architecture that is compiled for stays."""
    return device if device.startswith("compile:") else device.split(":")[0]


def _is_scalar(argument: Any) -> bool:
    return argument.kind in ("integer", "floating") and bool(argument.name)
