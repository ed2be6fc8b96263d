"""Config: everything that a replay changes about a recorded launch, as one value.

The keys are those of `mneme replay --config` (docs/reference/result.md), read by the same C++ code: what is wrong is
said in its words.

>>> config = Config(passes="default<O2>", block=128, keep_threads=True)
>>> config
Config(passes='default<O2>', block={'x': 128}, keep_threads=True)
>>> Config(blok=128)  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
mneme.errors.InvalidArgumentError: configuration: unknown key 'blok'; the nearest is 'block'
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

from mneme import _native
from mneme._views import shown
from mneme.errors import InvalidArgumentError

__all__ = ["Config", "Extent", "HasBitcode"]

# Of members that older versions called otherwise, by their paths.
_FORMER_NAMES = _native.former_names()

Extent: TypeAlias = "int | Sequence[int | None] | Mapping[str, int | None]"
"""Of a grid or a block: x alone, up to three in their order, or by name. What is not given, or None, is as recorded."""


@runtime_checkable
class HasBitcode(Protocol):
    """IR that can take the place of the recorded one: a `mneme.llvm.Module`."""

    def bitcode(self) -> bytes:
        """The module as LLVM writes it."""
        ...


class Config:
    """A configuration: immutable, hashable, equal where all members are.

    Every argument may be left out, or be None: it is then as recorded, or as by default. Their keys, ranges and effects
    are those of docs/reference/result.md. As for `replace`, one inside of another can be named by its path.

    Args:
        passes: LLVM pass pipeline, as `opt -passes` takes it; by default "as-built", as the program was compiled.
        linkage: "internal": the pipeline takes device functions and constants for used by this kernel alone; by default
            "recorded".
        pass_plugins: Files of LLVM pass plugins.
        grid: Blocks in each direction (see `Extent`).
        block: Threads in each direction.
        keep_threads: True computes the grid that has as many threads as were recorded.
        shared_memory: Dynamic shared memory of a block, in bytes.
        ir: A file with bitcode or textual IR that takes the place of the recorded code.
        ir_digest: Digest of that file's content, which it must still have when it is used.
        module: IR in place of the recorded code, in memory: a changed `instance.module()`. Its bitcode is kept in a
            file that its content names, so that logs and `best.json` can be used later: in $MNEME_IR_DIR, else
            $XDG_DATA_HOME/mneme/ir, else ~/.local/share/mneme/ir. Nothing removes it.
        specialise: To what the code is specialised: {"arguments": ["n"], "dimensions": True, …}.
        codegen: {"level": 3, "fast_math": ["contract"], …}.
        assembler: {"max_registers": 64, …}.
        execution: How it is timed: {"iterations": 10, "stop": "relative_error", …}.
        tolerance: What need not be equal to the byte: dictionaries, or text as "out: f32, 1e-5, relative".
        verdict: {"mask": False}: memory is as recorded before the runs.

    Raises:
        InvalidArgumentError: An unknown key (with the nearest known one), a wrong type, a number out of range.

    >>> a = Config(block=(16, 8), specialise={"arguments": ["n"]})
    >>> a.to_dict()["block"]
    {'x': 16, 'y': 8}
    >>> Config(**{"block.x": 16, "block.y": 8}).to_dict()["block"]
    {'x': 16, 'y': 8}
    >>> a == Config.from_json(a.to_json()) and hash(a) == hash(Config.from_dict(a.to_dict()))
    True
    >>> Config(codegen={"level": 7})
    Traceback (most recent call last):
    mneme.errors.InvalidArgumentError: configuration: 'codegen.level' must be a whole number from 0 to 3, not 7
    """

    __slots__ = ("__weakref__", "_value")
    _value: _native.Configuration

    def __init__(
        self,
        /,  # so that a member called "self" is refused as any unknown one
        *,
        passes: str | None = None,
        linkage: str | None = None,
        pass_plugins: Sequence[str | os.PathLike[str]] | None = None,
        grid: Extent | None = None,
        block: Extent | None = None,
        keep_threads: bool | None = None,
        shared_memory: int | None = None,
        ir: str | os.PathLike[str] | None = None,
        ir_digest: str | None = None,
        module: HasBitcode | None = None,
        specialise: Mapping[str, Any] | None = None,
        codegen: Mapping[str, Any] | None = None,
        assembler: Mapping[str, Any] | None = None,
        execution: Mapping[str, Any] | None = None,
        tolerance: Sequence[Mapping[str, Any] | str] | None = None,
        verdict: Mapping[str, Any] | None = None,
        **paths: NoReturn,
    ) -> None:
        members: dict[str, Any] = {
            "passes": passes,
            "linkage": linkage,
            "pass_plugins": pass_plugins,
            "grid": grid,
            "block": block,
            "keep_threads": keep_threads,
            "shared_memory": shared_memory,
            "ir": ir,
            "ir_digest": ir_digest,
            "module": module,
            "specialise": specialise,
            "codegen": codegen,
            "assembler": assembler,
            "execution": execution,
            "tolerance": tolerance,
            "verdict": verdict,
        }
        given = {key: _member(key, value) for key, value in members.items() if value is not None}
        inner: Mapping[str, Any] = paths
        for path, value in inner.items():
            if value is not None:
                _change(given, path, _member(path, value))
        object.__setattr__(self, "_value", _native.Configuration.from_dict(_with_module(given)))

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Config:
        """The configuration that `to_dict` gave, or the "configuration" of a result.

        >>> Config.from_dict({"passes": "default<O1>", "block": {"x": 64}}).to_dict()
        {'block': {'x': 64}, 'passes': 'default<O1>'}
        """
        return cls._of(_native.Configuration.from_dict(_plain(members)))

    @classmethod
    def from_json(cls, text: str) -> Config:
        """The configuration in a JSON text, as `to_json` writes and `mneme replay --config` reads it.

        >>> Config.from_json('{"keep_threads": true}').to_dict()
        {'keep_threads': True, 'passes': 'as-built'}
        """
        if not isinstance(text, str):
            raise InvalidArgumentError(f"configuration: its JSON must be text, not {_type(text)}")
        return cls._of(_native.Configuration.from_json(_unicode(text)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Config:
        """The configuration in a file, as every `--config` takes it: what `mneme replay` prints, or best.json.

        Raises:
            NotFoundError: It cannot be read.
            InvalidArgumentError: It is something else, as a log or a folder of results; the message says what it is.

        >>> import pathlib
        >>> _ = pathlib.Path("c.json").write_text('{"configuration": {"keep_threads": true}, "result": {}}')
        >>> Config.read("c.json")
        Config(passes='as-built', keep_threads=True)
        """
        return cls._of(_native.Configuration.read(_path(path)))

    def to_dict(self) -> dict[str, Any]:
        """Its members, without those that are as by default; "passes" is always there.

        >>> Config().to_dict()
        {'passes': 'as-built'}
        """
        members: dict[str, Any] = self._value.to_dict()
        return members

    def to_json(self) -> str:
        """The same as JSON text.

        >>> print(Config(shared_memory=1024).to_json())
        {
          "passes": "as-built",
          "shared_memory": 1024
        }
        """
        return self._value.to_json()

    def replace(self, /, **changes: Any) -> Config:
        """A configuration that differs from this one in some members; one inside of another is named by its path.

        None takes a member out: it is then as recorded, or as by default.

        >>> Config(block=(32, 4)).replace(passes="default<Os>", **{"block.x": 64, "codegen.level": 1}).to_dict()
        {'block': {'x': 64, 'y': 4}, 'codegen': {'level': 1}, 'passes': 'default<Os>'}
        >>> Config(block=(32, 4)).replace(**{"block.y": None}).to_dict()["block"]
        {'x': 32}
        """
        members = self.to_dict()
        for path, value in changes.items():
            _change(members, path, None if value is None else _member(path, value))
        if "ir" in changes and "ir_digest" not in changes:
            members.pop("ir_digest", None)
        return type(self)._of(_native.Configuration.from_dict(_with_module(members)))

    @property
    def digest(self) -> str:
        """Of every member, how it is timed included: 32 hexadecimal digits, the `digest` of a log's lines.

        >>> Config(block=64).digest == Config(block={"x": 64}).digest
        True
        """
        return self._value.digest

    @classmethod
    def _of(cls, native: _native.Configuration) -> Config:
        config = cls.__new__(cls)
        object.__setattr__(config, "_value", native)
        return config

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Config does not change: use config.replace({name}=…), which gives another")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Config does not change: use config.replace(…), which gives another")

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return type(self).from_json, (self.to_json(),)

    def __copy__(self) -> Config:
        return self

    def __deepcopy__(self, memo: object) -> Config:
        return self

    def __repr__(self) -> str:
        members = self.to_dict()
        shown = {"passes": members.pop("passes"), **members}
        return f"Config({', '.join(f'{key}={value!r}' for key, value in shown.items())})"


def _type(value: object) -> str:
    return type(value).__name__


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError("configuration: its text has characters that are no Unicode") from None
    return text


def _path(path: str | os.PathLike[str]) -> str:
    try:
        text = os.fspath(path)
        if "\0" not in text:
            return _unicode(text)
    except (TypeError, AttributeError):
        pass
    raise InvalidArgumentError(f"reading the configuration: a path is expected, not {path!r}")


def _plain(value: Any) -> Any:
    """Mappings as dictionaries and sequences as lists, all the way down; the rest is for the codec."""
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(element) for element in value]
    return value


def _member(key: str, value: Any) -> Any:
    if key in ("grid", "block"):
        return _extent(key, value)
    if key == "tolerance" and isinstance(value, (list, tuple)):
        return [_native.parse_tolerance(_unicode(one)) if isinstance(one, str) else _plain(one) for one in value]
    return value if key == "module" else _plain(value)


def _extent(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {axis: extent for axis, extent in value.items() if extent is not None}
    if isinstance(value, (list, tuple)):
        if not 1 <= len(value) <= 3:
            raise InvalidArgumentError(f"configuration: '{key}' has one to three extents, not {len(value)}")
        return {axis: extent for axis, extent in zip("xyz", value) if extent is not None}
    if isinstance(value, str):
        raise InvalidArgumentError(
            f"configuration: '{key}' must be a whole number, up to three of them, or an object with x, y and z, "
            f"not {shown(repr(value), 80)}"
        )
    return {"x": value}


def with_current_names(members: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration's members, each under the name that it has now, whichever version wrote them.

    >>> with_current_names({"passes": "default<O1>", "verdict": {"poison": False}})
    {'passes': 'default<O1>', 'verdict': {'mask': False}}
    """
    made = dict(members)
    for former, now in _FORMER_NAMES.items():
        section, key = former.split(".")
        if isinstance(made.get(section), Mapping) and key in made[section]:
            made[section] = {now.split(".")[1] if name == key else name: value for name, value in made[section].items()}
    return made


def _change(members: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = _FORMER_NAMES.get(path, path).split(".")
    for section in sections:
        members = members.setdefault(section, {})
        if not isinstance(members, dict):
            raise InvalidArgumentError(f"configuration: '{path}' is no member: '{section}' has none")
    if value is None:
        members.pop(key, None)
    else:
        members[key] = value


def _with_module(members: dict[str, Any]) -> dict[str, Any]:
    """The same, with IR that is in memory in a file."""
    module = members.pop("module", None)
    if module is None:
        return members
    if "ir" in members:
        raise InvalidArgumentError(
            "configuration: 'module' and 'ir' are given, and only one can take the place of the recorded IR"
        )
    if not isinstance(module, HasBitcode):
        raise InvalidArgumentError(
            f"configuration: 'module' must be IR with a bitcode(), as mneme.llvm.Module has it, not {_type(module)}"
        )
    from mneme import _kept_ir

    path, digest = _kept_ir.keep(module.bitcode())
    return {**members, "ir": path, "ir_digest": digest}
