"""What is wrong with a configuration before anything is compiled: no trial that begins with it could be right."""

from __future__ import annotations

import contextlib
import random
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

if TYPE_CHECKING:
    from mneme import Config, Instance
    from mneme.tune.space import SearchSpace

_POINTS = 16
# Seconds that a pipeline may take on nothing.
_PATIENCE = 10.0


def check_base(config: Config, instances: Sequence[Instance], kind: str) -> None:
    """Of what every trial begins with. `kind`: of the device, "cuda" or "cpu".

    Raises:
        UnsupportedError: A knob that no device of the kind has a use for.
        NotFoundError: A tolerance for a buffer that the launch does not have, with those that it has.
        InvalidArgumentError: A tolerance that is none for its buffer; passes that do not parse.

    >>> check_base(mneme.Config(passes="instcombin"), [instance], "cpu")
    Traceback (most recent call last):
    ...
    mneme.errors.InvalidArgumentError: pass pipeline 'instcombin' does not parse: ...
    """
    _native.check_knobs(config._value, kind)
    if "tolerance" in config.to_dict():
        for instance in instances:
            _native.check_tolerances(
                instance.database._native, instance.kernel._native, instance._native, config._value
            )
    _check_passes(config)


def check_space(space: SearchSpace, config: Config, kind: str) -> None:
    """Raises UnsupportedError where the points, as some by chance show, have a knob as `check_base` refuses it."""
    refused: UnsupportedError | None = None
    source = random.Random(0)
    for _ in range(_POINTS):
        try:
            _native.check_knobs(space.derive(space.draw(source), config)._value, kind)
        except UnsupportedError as error:
            refused = refused or error
        except InvalidArgumentError:  # the sampler says it, if it comes across it
            return
        else:
            return
    if refused is not None:
        raise refused


def _check_passes(config: Config) -> None:
    from mneme import llvm

    members = config.to_dict()
    if members["passes"] == "default<O3>" and not members.get("pass_plugins"):
        return
    # What goes wrong later than in parsing says nothing of another module.
    with contextlib.suppress(CorruptError, ExhaustedError, InternalError, TimeLimitError):
        nothing = llvm.Module("configuration", triple="nvptx64-nvidia-cuda")
        nothing.run(members["passes"], plugins=members.get("pass_plugins", ()), timeout=_PATIENCE)
