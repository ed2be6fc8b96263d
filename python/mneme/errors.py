"""What Mneme raises: one hierarchy, a class for each code of the C++ API.

Each message says what was attempted, on what, why it failed, and what to do where something can be done.

>>> issubclass(CorruptError, MnemeError)
True
"""

from __future__ import annotations


class MnemeError(Exception):
    """Any failure of Mneme. A replay that does not match is none: it is a result."""


class InvalidArgumentError(MnemeError, ValueError):
    """The caller's value is wrong: an unknown key, a wrong type, a number out of range."""


class NotFoundError(MnemeError, KeyError, IndexError):
    """A named thing does not exist: what mappings and sequences raise, too."""

    __str__ = Exception.__str__  # KeyError's would quote the message


class UnsupportedError(MnemeError):
    """A correct request that this device or build cannot serve."""


class UnavailableError(MnemeError):
    """A driver, device, tool or address range that is not there now."""


class IncompatibleError(MnemeError):
    """A version, target or signature that does not fit."""


class CorruptError(MnemeError):
    """Stored bytes are damaged; the message names the file and the offset."""


class ExhaustedError(MnemeError):
    """Memory, disk or another limit is used up."""


class IoError(MnemeError, OSError):
    """The operating system refused."""


class DeviceFaultError(MnemeError):
    """The device trapped, or a fault has made it unusable for this process."""


class TimeLimitError(MnemeError, TimeoutError):
    """A limit of time ran out."""


class InternalError(MnemeError):
    """A defect of Mneme."""


class ClosedError(MnemeError, RuntimeError):
    """An executor or a session is used that is closed, or that another process has opened."""


_CLASSES: dict[str, type[MnemeError]] = {
    "invalid_argument": InvalidArgumentError,
    "not_found": NotFoundError,
    "unsupported": UnsupportedError,
    "unavailable": UnavailableError,
    "incompatible": IncompatibleError,
    "corrupt": CorruptError,
    "exhausted": ExhaustedError,
    "io": IoError,
    "device_fault": DeviceFaultError,
    "timeout": TimeLimitError,
    "internal": InternalError,
}


def of_code(code: str) -> type[MnemeError]:
    """The class for a code of the C++ API.

    >>> of_code("corrupt").__name__
    'CorruptError'
    """
    return _CLASSES.get(code, InternalError)
