"""Search spaces made for a recorded launch and the device it is tuned on.

They know which blocks the device and the kernel take, what the kernel's code shows of its launch
(`mneme.tune.space.indexing`), which arguments are worth being constants, and which knobs the device has. Whether the
kernel does the same under another launch, nobody knows for sure before it is tried: what does not is a wrong result.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mneme.errors import InvalidArgumentError
from mneme.session import takes
from mneme.tune.names import nearest
from mneme.tune.space import passes
from mneme.tune.space.choices import Bool, Categorical
from mneme.tune.space.facts import LaunchFacts
from mneme.tune.space.launches import launch
from mneme.tune.space.parameters import Parameter
from mneme.tune.space.pipeline import Pipeline
from mneme.tune.space.search_space import SearchSpace

if TYPE_CHECKING:
    from mneme.database import Instance

# Scalar arguments that get a parameter each; of a kernel with more, all together get one.
_MOST_SCALARS = 6
_ASSEMBLER_START: dict[str, Any] = {
    "assembler.level": None,
    "assembler.max_registers": None,
    "assembler.load_cache": "default",
    "assembler.store_cache": "default",
}
_REGISTERS = (None, 255, 168, 128, 96, 80, 64, 56, 48, 40, 32)


def compiler(facts: LaunchFacts) -> SearchSpace:
    """Pass pipelines, the code generator, and on a GPU the assembler. Begins with the program's pipeline, then LLVM's.

    Of a kernel without IR only the assembler, where its PTX was recorded; begins with what the program ran.
    """
    if facts.code != "ir":
        return _without_ir(facts)
    first = tuple(dict.fromkeys((facts.passes, *passes.DEFAULTS)))
    parameters: dict[str, Parameter] = {
        "passes": Pipeline(passes.USEFUL, max_length=4, first=first),
        "linkage": Categorical(["recorded", "internal"]),
        "codegen.level": Categorical([3, 2, 1, 0], ordered=True),
    }
    start: dict[str, Any] = {"linkage": "recorded", "codegen.level": 3}
    if takes(facts.device, **{"assembler.level": 4}):
        parameters |= _assembler()
        start |= _ASSEMBLER_START
    # The first twice: as recorded, and where `specialise` joins, with all of it, as the others.
    return SearchSpace(parameters, start=[{"passes": (pipeline,), **start} for pipeline in (first[0], *first)])


# How much is to be on a part of the GPU at once: blocks on NVIDIA GPUs, wavefronts on AMD GPUs.
_HELD: dict[str, list[int | None]] = {
    "specialise.min_blocks": [None, 1, 2, 3, 4, 6, 8],
    "specialise.waves_per_eu": [None, 1, 2, 3, 4, 6, 8],
}


def _assembler() -> dict[str, Parameter]:
    return {
        "assembler.level": Categorical([None, 4, 2, 1], ordered=True),
        "assembler.max_registers": Categorical(_REGISTERS, ordered=True),
        "assembler.load_cache": Categorical(["default", "ca", "cg", "cs"]),
        "assembler.store_cache": Categorical(["default", "wb", "cg", "cs"]),
    }


def _without_ir(facts: LaunchFacts) -> SearchSpace:
    recorded = {"ptx": "PTX", "cubin": "machine code (cubin)"}[facts.code]
    if facts.code == "cubin":
        return SearchSpace({}, notes=[f"the code stays as it is: the kernel was recorded as {recorded}"])
    notes = [f"passes and the code generator stay out: the kernel was recorded as {recorded}, without IR"]
    return SearchSpace(_assembler(), start=[_ASSEMBLER_START], notes=notes)


def specialise(facts: LaunchFacts) -> SearchSpace:
    """Which facts of the recorded launch the code is made with: arguments, shape, pointers; on a GPU launch bounds.

    Begins with none of them, and with all. Of a kernel without IR there are none.
    """
    if facts.code != "ir":
        return SearchSpace({}, notes=["no fact of the launch goes into the code: the kernel was recorded without IR"])
    each = len(facts.scalars) <= _MOST_SCALARS
    names = {f"specialise.arguments.{name}": [name] for name in facts.scalars}
    if not each:
        names = {"specialise.arguments": list(facts.scalars)}
    flags = [f"specialise.{name}" for name in ("dimensions", "ranges", "alignment", "no_alias")]
    parameters: dict[str, Parameter] = {name: Bool() for name in [*names, *flags]}
    none: dict[str, Any] = dict.fromkeys(parameters, False)
    if takes(facts.device, **{"specialise.max_threads": 1024}):
        parameters["specialise.max_threads"] = Bool()
        none["specialise.max_threads"] = False
        for name, choices in _HELD.items():
            if takes(facts.device, **{name: 1}):
                parameters[name] = Categorical(choices, ordered=True)
                none[name] = None
    every = {name: True if value is False else value for name, value in none.items()}

    def changes(params: Mapping[str, Any]) -> Mapping[str, Any]:
        made: dict[str, Any] = {name: True for name in flags if params[name]}
        if arguments := [argument for name, those in names.items() if params[name] for argument in those]:
            made["specialise.arguments"] = arguments
        if params.get("specialise.max_threads"):
            sizes = zip("xyz", facts.block, strict=True)
            made["specialise.max_threads"] = math.prod(params.get(f"block.{name}", size) for name, size in sizes)
            if "specialise.min_blocks" in params:  # goes with a bound of the threads
                made["specialise.min_blocks"] = params["specialise.min_blocks"]
        if params.get("specialise.waves_per_eu") is not None:
            made["specialise.waves_per_eu"] = params["specialise.waves_per_eu"]
        return made

    return SearchSpace(parameters, derive=changes, start=[none, every])


def full(facts: LaunchFacts) -> SearchSpace:
    """All of them. Begins with the launch as recorded, then has all specialised under each of LLVM's pipelines."""
    return launch(facts) | compiler(facts) | specialise(facts)


PRESETS: dict[str, Callable[[LaunchFacts], SearchSpace]] = {
    "launch": launch,
    "compiler": compiler,
    "specialise": specialise,
    "full": full,
}
"""By name."""


def preset(name: str, instance: Instance, *, device: str | None = None, passes: str = "as-built") -> SearchSpace:
    """The search space of that name for a recorded launch; several are joined by "+": "launch+compiler".

    `device` is the kind on which it is tuned, by default the one that recorded; `passes` the pipeline of the launch as
    recorded. Raises InvalidArgumentError for an unknown name.
    """
    if "," in name:
        raise InvalidArgumentError(f"space '{name}': names are joined by +, as in {name.replace(',', '+')}")
    facts = LaunchFacts.of(instance, device)
    if passes != "as-built":
        facts = dataclasses.replace(facts, passes=passes)
    space: SearchSpace | None = None
    for word in name.split("+"):
        if word not in PRESETS:
            raise InvalidArgumentError(f"there is no search space '{word}'{nearest(word, PRESETS)}")
        made = PRESETS[word](facts)
        space = made if space is None else space | made
    assert space is not None
    space.preset = name
    return space
