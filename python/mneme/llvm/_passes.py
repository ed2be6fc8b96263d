"""Passes: those that LLVM has, and those that are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

from mneme import _native
from mneme.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mneme.llvm._module import Module


class ModulePass:
    """A Python function that can stand in a pipeline: what `module_pass` makes. Called, it is the function.

    >>> @mneme.llvm.module_pass
    ... def shout(module):
    ...     for function in module.functions:
    ...         if function.is_kernel:
    ...             function.name = function.name.upper()
    >>> shout
    <ModulePass shout>
    """

    def __init__(self, function: Callable[[Module], object], name: str) -> None:
        self.function = function
        self.name = name
        self.__doc__ = function.__doc__

    def __call__(self, module: Module) -> object:
        return self.function(module)

    def __repr__(self) -> str:
        return f"<ModulePass {self.name}>"


@overload
def module_pass(function: Callable[[Module], object], /) -> ModulePass: ...
@overload
def module_pass(*, name: str) -> Callable[[Callable[[Module], object]], ModulePass]: ...
def module_pass(
    function: Callable[[Module], object] | None = None, /, *, name: str = ""
) -> ModulePass | Callable[[Callable[[Module], object]], ModulePass]:
    """Makes a pass of a function of a module, which reads or changes it. Its name is the function's, or the one given.

    It stands anywhere among the parts of `Module.run`'s pipeline, or by its name in a string that is given with
    `passes`. What it raises ends the pipeline, and goes on to the caller; so does IR that it leaves broken
    (CorruptError).

    >>> @mneme.llvm.module_pass(name="no-contract")
    ... def strict(module):
    ...     for function in module.functions:
    ...         for instruction in function.instructions:
    ...             if instruction.opcode in ("fmul", "fadd"):
    ...                 instruction.flags -= {"contract"}
    >>> module = mneme.llvm.example()
    >>> module.run(["default<O1>", strict, "function(instcombine,simplifycfg)"])
    >>> module.run("module(no-contract),default<O2>", passes=[strict])
    """
    if not (function is None or callable(function)) or not isinstance(name, str):
        raise InvalidArgumentError(f"a pass is made of a function and a name, not of {function!r} and {name!r}")
    if function is not None:
        return ModulePass(function, getattr(function, "__name__", "pass").strip("<>"))
    return lambda decorated: ModulePass(decorated, name)


Pipeline: TypeAlias = str | ModulePass | Sequence[str | ModulePass]


def join(pipeline: Pipeline, passes: Sequence[ModulePass]) -> tuple[str, list[ModulePass]]:
    """The pipeline as one string, and the passes that it names."""
    parts = [pipeline] if isinstance(pipeline, (str, ModulePass)) else list(pipeline)
    used: dict[str, ModulePass] = {}
    for part in [*parts, *passes]:
        if not isinstance(part, (str, ModulePass)):
            raise InvalidArgumentError(
                f"a pipeline is made of strings and of passes (mneme.llvm.module_pass), not of {type(part).__name__}"
            )
        if isinstance(part, ModulePass) and used.setdefault(part.name, part) is not part:
            raise InvalidArgumentError(f"two passes of the pipeline are named '{part.name}'")
    return ",".join(part if isinstance(part, str) else part.name for part in parts), list(used.values())


class RegisteredPass(NamedTuple):
    """A pass that pipelines know: its name, the level that it works on (module, cgscc, function or loop), and what
    parameters it may have.

    >>> mneme.llvm.registered_passes()[0].level
    'module'
    """

    name: str
    level: str
    parameters: tuple[str, ...]


def registered_passes() -> list[RegisteredPass]:
    """LLVM's own passes, by level, but those that write files; not those of a target, nor those of plugins.

    >>> next(known for known in registered_passes() if known.name == "licm")
    RegisteredPass(name='licm', level='loop', parameters=('allowspeculation', 'no-allowspeculation'))
    """
    return [RegisteredPass(name, level, tuple(parameters)) for level, name, parameters in _native.registered_passes()]
