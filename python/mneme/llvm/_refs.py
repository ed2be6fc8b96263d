"""Between the extension's references and the package's objects: `wrap` gives the object of a reference, `to_ref` the
reference of a value or of a number.

It imports none of the modules that have the classes: each class of values names itself here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from mneme._native import llvm as _llvm
from mneme.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mneme.llvm._module import Module
    from mneme.llvm._values import Value

Number: TypeAlias = int | float | None

OTHER = ""
classes: dict[str, type[Value]] = {}
"""By the extension's word for a kind of value, the class of it; that of `OTHER` is for all kinds that have none."""


def wrap(module: Module, ref: _llvm.ValueRef) -> Value:
    """The object of the class that fits."""
    return (classes.get(_llvm.kind_of(ref)) or classes[OTHER])(module, ref)


def to_ref(module: Module, type: _llvm.TypeRef, value: Value | Number | Sequence[Number]) -> _llvm.ValueRef:
    """A value as it is; a Python number, None for null, or a sequence of such, as a constant of the type."""
    ref = getattr(value, "_ref", None)
    if isinstance(ref, _llvm.ValueRef):
        return ref
    if value is None:
        return _llvm.null(type)
    info = _llvm.type_info(type)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return _aggregate(module, type, info, value)
    scalar = _llvm.type_info(_llvm.contained_types(type)[0]) if info.kind == "vector" else info
    if isinstance(value, int) and scalar.kind == "integer":
        return _llvm.integer(type, str(int(value)))
    if isinstance(value, (int, float)) and scalar.kind == "float":
        return _llvm.floating(type, float(value))
    raise InvalidArgumentError(f"{value!r} is no constant of type {info.text}")


def _aggregate(module: Module, type: _llvm.TypeRef, info: _llvm.TypeInfo, values: Sequence[Number]) -> _llvm.ValueRef:
    inner = _llvm.contained_types(type)
    if info.kind in ("array", "vector"):
        inner = inner * len(values)
    if info.kind not in ("array", "vector", "struct") or len(inner) != len(values):
        raise InvalidArgumentError(f"{len(values)} values are no constant of type {info.text}")
    return _llvm.aggregate(type, [to_ref(module, part, value) for part, value in zip(inner, values, strict=True)])
