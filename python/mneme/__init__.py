"""Record the GPU kernels of a real program and replay each alone.

Everything here is thin over Mneme's C++ API; see `mneme.errors` for what can be raised.
"""

from __future__ import annotations

from mneme import errors
from mneme._native import __version__
from mneme.errors import MnemeError

__all__ = ["MnemeError", "__version__", "errors"]
