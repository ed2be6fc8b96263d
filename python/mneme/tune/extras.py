"""Packages that are needed only for some things: imported when used, and named with what to install when missing."""

from __future__ import annotations

import importlib
import types

from mneme.errors import UnavailableError

#: The packages of the extra "tune" by name: they are on the index of Python's packages.
TUNE = "optuna pandas pyarrow rich pyyaml cmaes, the extra 'tune' of Mneme"


def need(module: str, purpose: str, *, install: str = TUNE) -> types.ModuleType:
    """Imports a module. Raises UnavailableError: what needs it, and how it is installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"{purpose} needs the package {module}, which cannot be imported ({error}): pip install {install}"
        ) from None
