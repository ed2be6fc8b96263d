"""Record the GPU kernels of a real program and replay each alone.

It is used so::

    db = mneme.Database("record-db")                          # kernels by name or hash, each with its recorded launches
    instance = db["vadd"][0]                                  # arguments, memory before and after, code
    result = mneme.replay(instance, mneme.Config(block=128))  # recompiled, run, verified, timed
    with mneme.Executor(instance) as executor:                # any number at once, in processes
        futures = [executor.submit(config) for config in configs]

Everything here is thin over Mneme's C++ API; see `mneme.errors` for what can be raised. `mneme.llvm` reads and changes
IR, `mneme.tune` searches for the best configuration, `mneme.report` shows what was found; they are imported when they
are used first.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from mneme import _ctrl_c, _other_project, errors  # noqa: F401 (first: it is for what the imports take)
from mneme._native import version as __version__
from mneme.config import Config
from mneme.database import Argument, Buffer, Buffers, Database, Instance, Kernel
from mneme.deployed import Deployed, deploy
from mneme.errors import MnemeError
from mneme.executor import Executor, Future, replay
from mneme.looked_after import ExportedProgram, Trimmed, Trimming
from mneme.progress import Progress
from mneme.result import Log, Result, read_log
from mneme.session import Session

if TYPE_CHECKING:
    from mneme import llvm as llvm
    from mneme import report as report
    from mneme import tune as tune

__all__ = [
    "Argument",
    "Buffer",
    "Buffers",
    "Config",
    "Database",
    "Deployed",
    "Executor",
    "ExportedProgram",
    "Future",
    "Instance",
    "Kernel",
    "Log",
    "MnemeError",
    "Progress",
    "Result",
    "Session",
    "Trimmed",
    "Trimming",
    "__version__",
    "deploy",
    "errors",
    "read_log",
    "replay",
]

_LATER = ("llvm", "report", "tune")


def __getattr__(name: str) -> ModuleType:
    if name in _LATER:
        return importlib.import_module(f"mneme.{name}")
    raise AttributeError(f"module 'mneme' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
