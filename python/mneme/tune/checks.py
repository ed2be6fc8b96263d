"""What is wrong with a configuration before anything is compiled: no trial that begins with it could be right."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mneme import _native
from mneme.errors import (
    CorruptError,
    ExhaustedError,
    InternalError,
    InvalidArgumentError,
    TimeLimitError,
    UnsupportedError,
)
from mneme.tune.space.choices import Categorical
from mneme.tune.space.pipeline import Pipeline

if TYPE_CHECKING:
    from mneme.config import Config
    from mneme.database import Instance
    from mneme.tune.space.search_space import SearchSpace

_POINTS = 16
# Seconds that a pipeline may take on nothing.
_PATIENCE = 10.0


def check_base(config: Config, instances: Sequence[Instance], kind: str) -> None:
    """Of what every trial begins with. `kind`: of the device, "cuda" or "cpu".

    Raises:
        UnsupportedError: A knob that no device of the kind has a use for. Of a kernel without IR, or whose own machine
            code "as-built" names: a knob that changes what that code lacks, or a kind of device that does not run it.
        NotFoundError: A tolerance for a buffer that the launch does not have, with those that it has.
        InvalidArgumentError: A tolerance that is none for its buffer; passes that do not parse.

    >>> check_base(mneme.Config(passes="instcombin"), [instance], "cpu")
    Traceback (most recent call last):
    ...
    mneme.errors.InvalidArgumentError: pass pipeline 'instcombin' does not parse: ...
    """
    _native.check_knobs(config._value, kind)
    _check_code(config, instances, kind)
    if "tolerance" in config.to_dict():
        for instance in instances:
            _native.check_tolerances(
                instance.database._native, instance.kernel._native, instance._native, config._value
            )
    _check_passes(config, instances)


def check_space(space: SearchSpace, config: Config, kind: str, instances: Sequence[Instance] = ()) -> None:
    """Of the points of a space, which begin with `config`, as some by chance show.

    Raises:
        UnsupportedError: A knob in all of them that no device of the kind has a use for, or that changes what the
            instances' code lacks.
        InvalidArgumentError: Choices of the parameter "passes" that do not parse, each by itself, with the plugins of
            `config`. What a `derive` makes of passes is not known.

    >>> space = mneme.tune.SearchSpace({"passes": mneme.tune.Categorical(["default<O3>", "default<O9>"])})
    >>> check_space(space, mneme.Config(), "cpu")
    Traceback (most recent call last):
    ...
    mneme.errors.InvalidArgumentError: parameter 'passes': pass pipeline 'default<O9>' does not parse: ...
    """
    refused: UnsupportedError | None = None
    source = random.Random(0)
    for _ in range(_POINTS):
        try:
            params = space.draw(source)
        except InvalidArgumentError:  # hardly any meets the constraints: the sampler says it
            return
        try:
            made = space.derive(params, config)
            _native.check_knobs(made._value, kind)
            _check_code(made, instances, kind)
        except UnsupportedError as error:
            refused = refused or error
        except InvalidArgumentError:  # a trial that is invalid, if the sampler comes across it
            continue
        else:
            _check_choices(space, made, instances)
            return
    if refused is not None:
        raise refused


def _check_code(config: Config, instances: Sequence[Instance], kind: str) -> None:
    as_built = config.to_dict()["passes"] == "as-built"
    for kernel in (instance.kernel for instance in instances):
        if kernel.code != "ir" or (as_built and not kernel.pipeline):
            _native.check_code(kernel._native, config._value, kind)


def _check_choices(space: SearchSpace, config: Config, instances: Sequence[Instance]) -> None:
    parameter = space.members.get("passes")
    if isinstance(parameter, Pipeline):
        texts = [*parameter.first, *(parameter.passes if parameter.max_length > 0 else ())]
    elif isinstance(parameter, Categorical):
        texts = [choice for choice in parameter.choices if isinstance(choice, str)]
    else:
        return
    if "pass_plugins" in space.parameters:  # each may register other passes
        return
    plugins = config.to_dict().get("pass_plugins", ())
    if all(map(_is_closed, texts)):
        with contextlib.suppress(InvalidArgumentError):  # together: each alone takes a process
            _parse(",".join(texts), plugins, instances)
            return
    try:
        for text in texts:
            _parse(text, plugins, instances)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"parameter 'passes': {error}") from None


def _is_closed(text: str) -> bool:
    """Whether no parenthesis of a pipeline belongs to one of what stands before or behind it."""
    depths = list(itertools.accumulate((letter == "(") - (letter == ")") for letter in text))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


def _check_passes(config: Config, instances: Sequence[Instance]) -> None:
    members = config.to_dict()
    if members["passes"] in ("as-built", "default<O3>") and not members.get("pass_plugins"):
        return
    _parse(members["passes"], members.get("pass_plugins", ()), instances)


def _parse(pipeline: str, plugins: Sequence[str], instances: Sequence[Instance]) -> None:
    from mneme import llvm

    pipeline = re.sub(r"(?<![\w-])as-built(?![\w-])", "default<O3>", pipeline)  # of a kernel, and here is none

    # What goes wrong later than in parsing says nothing of another module.
    with contextlib.suppress(CorruptError, ExhaustedError, InternalError, TimeLimitError):
        # Each target has passes of its own.
        of_amd = any(instance.kernel.target == "amdgcn" for instance in instances)
        nothing = llvm.Module("configuration", triple="amdgcn-amd-amdhsa" if of_amd else "nvptx64-nvidia-cuda")
        nothing.run(pipeline, plugins=plugins, timeout=_PATIENCE)
