"""Errors of Python's, which misuse meets inside, as errors of Mneme's.

What `mneme.llvm` offers is wrapped once, where it is put together: a value of a wrong type, a number out of range, a
name or a place that is not there then raise what the module promises, however deep that was noticed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mneme._views import shown
from mneme.errors import InvalidArgumentError, MnemeError, NotFoundError

_C = TypeVar("_C", bound=type)
_F = TypeVar("_F", bound=Callable[..., Any])

# Of the methods that Python calls by itself, those that take arguments of the caller's.
_DUNDERS = {"__init__", "__getitem__", "__setitem__", "__delitem__", "__contains__"}
# It does so itself, since passes of the caller's run in it.
_AS_IT_IS = "Module.run"
_MISUSE = (TypeError, AttributeError, LookupError, OverflowError, ValueError)


def with_own_errors(function: _F, name: str = "", *, but: Sequence[BaseException] = ()) -> _F:
    """The function, which raises only errors of Mneme's for what it is called with.

    What is in `but` then goes on as it is.

    >>> with_own_errors(lambda text: text.upper(), "shout")(5)
    Traceback (most recent call last):
    ...
    mneme.errors.InvalidArgumentError: shout(text) does not take (int): 'int' object has no attribute 'upper'
    """
    name = name or function.__qualname__

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except MnemeError:
            raise
        except _MISUSE as error:
            if any(error is one for one in but):
                raise
            raise _own(error, name, function, arguments, named) from error

    return checked  # type: ignore[return-value]


def class_with_own_errors(cls: _C) -> _C:
    """The class, with all that it offers so, also what it has from Python's own classes."""
    for name in dir(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner is object or (name.startswith("_") and name not in _DUNDERS) or owner.__module__ in ("typing", "abc"):
            continue
        member, full = vars(owner)[name], f"{cls.__name__}.{name}".removesuffix(".__init__")
        if full == _AS_IT_IS or (owner is not cls and owner.__module__.startswith("mneme.")):  # that class has it so
            continue
        if isinstance(member, property):
            parts: list[Any] = [
                part and with_own_errors(part, full) for part in (member.fget, member.fset, member.fdel)
            ]
            setattr(cls, name, property(parts[0], parts[1], parts[2], member.__doc__))
        elif isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(with_own_errors(member.__func__, full)))
        elif inspect.isfunction(member):
            setattr(cls, name, with_own_errors(member, full))
    return cls


def _own(
    error: Exception, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> MnemeError:
    reason = str(error).split("\n", 1)[0]
    if isinstance(error, LookupError):
        what = shown(str(error.args[0]), 200) if error.args else "nothing"
        return NotFoundError(f"{name}: there is no {what}" if isinstance(error, KeyError) else f"{name}: {reason}")
    parameters = list(inspect.signature(function).parameters.values())
    is_method = bool(parameters) and parameters[0].name in ("self", "cls")
    takes = ", ".join(str(part) if part.kind is part.VAR_POSITIONAL else part.name for part in parameters[is_method:])
    given = [type(one).__name__ for one in arguments[is_method:]]
    given += [f"{key}={type(one).__name__}" for key, one in named.items()]
    return InvalidArgumentError(f"{name}({takes}) does not take ({', '.join(given)}): {reason}")
