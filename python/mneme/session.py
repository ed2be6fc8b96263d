"""Session: a recorded launch on a device of this process, one configuration at a time."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

from mneme import _native
from mneme._device import choose_device
from mneme.config import Config
from mneme.database import Instance
from mneme.errors import ClosedError, InvalidArgumentError, UnsupportedError
from mneme.result import Result

__all__ = ["Session"]


class Session:
    """A recorded launch, prepared once on a device of this process, then replayed under any number of configurations.

    What is replayed runs in this process: a compiler that crashes takes it along, a kernel that never ends is waited
    for forever, without an answer to Ctrl-C, and a device fault is the result of every replay that follows, also of a
    new session on that GPU. For configurations that nobody has tried, use an `Executor`: processes stand between it and
    what they do. One session at a time can have the recorded addresses in a process.

    Threads may share it: they wait for each other. A process that is forked from this one cannot use it.

    Args:
        instance: The recorded launch.
        device: "cuda", "cuda:1", "cpu"; None: the GPU where there is one, else the CPU device.
        cache: Whether compiled code is looked for in the cache of compiled code, and kept there.

    Raises:
        UnavailableError: There is no such device, or the recorded addresses cannot be had, as where another session has
            them.
        CorruptError: The database is damaged.
        ExhaustedError: The device has not enough memory; the message has both figures.

    >>> with mneme.Session(instance, device="cpu") as session:
    ...     results = [session.replay(mneme.Config(passes=f"default<O{level}>")) for level in range(1, 4)]
    >>> [result.verified for result in results]
    [True, True, True]
    """

    def __init__(self, instance: Instance, *, device: str | None = None, cache: bool = True) -> None:
        if not isinstance(instance, Instance):
            raise InvalidArgumentError(
                f"opening a session: 'instance' must be an Instance, not {type(instance).__name__}"
            )
        self.instance = instance
        self._lock = threading.Lock()
        self._process = os.getpid()
        recorded = (instance.database._native, instance.kernel._native, instance._native)
        held = _native.hold_addresses(*recorded)  # before the driver, which choosing a device starts, puts things there
        try:
            kind, ordinal = choose_device(device, "opening a session")
            self._native: _native.Session | None = _native.Session.prepare(
                *recorded, kind=kind, ordinal=ordinal or 0, cache=bool(cache)
            )
        finally:
            held.release()
        _open.add(self)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._there("asking for its device").device

    def replay(self, config: Config) -> Result:
        """Compiles, runs, verifies and times one configuration. What is wrong with it is in the result.

        Raises:
            ClosedError: The session is closed, or another process has opened it.
        """
        if not isinstance(config, Config):
            raise InvalidArgumentError(f"replaying: 'config' must be a Config, not {type(config).__name__}")
        with self._lock:
            return Result(self._there("replaying").replay(config._value))

    def close(self) -> None:
        """Gives the device and the recorded addresses up. A second time it does nothing."""
        if self._process != os.getpid():
            return
        with self._lock:
            native, self._native = self._native, None
            if native is not None:
                native.close()

    def _there(self, what: str) -> _native.Session:
        if self._native is not None:
            return self._native
        if self._process != os.getpid():
            raise ClosedError(f"{what}: the session is of the process that this one was forked from; open another")
        raise ClosedError(f"{what}: the session is closed")

    def __enter__(self) -> Session:
        """Itself; `close` is called at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        state = repr(self._native.device) if self._native is not None else "closed"
        return f"Session({self.instance.kernel.demangled}, {self.instance.hash[:12]}, {state})"


def takes(kind: str, **members: object) -> bool:
    """Whether a kind of device has a use for members of a configuration, each by its path.

    >>> takes("cuda", **{"assembler.level": 4}), takes("cpu", **{"assembler.level": 4})
    (True, False)
    """
    try:
        _native.check_knobs(Config(**members)._value, kind)  # type: ignore[arg-type]
    except UnsupportedError:
        return False
    return True


_open: weakref.WeakSet[Session] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for session in list(_open):
        if session._native is not None:
            session._native.abandon()
            session._native = None
        session._lock = threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)
