"""Devices, as users name them."""

from __future__ import annotations

from mneme import _native
from mneme.errors import InvalidArgumentError


def compiles_only(device: str | None) -> bool:
    """Whether a device's name is that of an architecture: code is made for it, and nothing is run."""
    return isinstance(device, str) and device.startswith("compile:") and device != "compile:"


def devices_in_words() -> str:
    """What a device's name may be, for messages. Which kinds there are depends on the build."""
    first, *others = _native.device_kinds()
    return ", ".join([f'"{first}", "{first}:1" and so on', *(f'"{other}"' for other in others)]) + " or None"


def choose_device(device: str | None, what: str) -> tuple[str, int | None]:
    """The kind, and the number where one is named, of a device as users write it.

    >>> choose_device("cuda:1", "here"), choose_device("cpu", "here"), choose_device("compile:gfx942", "here")
    (('cuda', 1), ('cpu', None), ('compile:gfx942', None))
    """
    if device is None:
        return _native.automatic_kind(), None
    if compiles_only(device):
        return device, None
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in _native.device_kinds() or (
        colon and not (number.isascii() and number.isdigit() and len(number) < 6)
    ):
        raise InvalidArgumentError(f"{what}: 'device' is {devices_in_words()}, not {device!r}")
    return kind, int(number) if colon else None
