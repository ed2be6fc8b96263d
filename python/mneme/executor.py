"""Executor: many configurations at once, compiled and measured by processes that nothing they do can bring down.

>>> configs = [mneme.Config(passes=f"default<O{level}>", execution={"iterations": 3}) for level in (1, 2, 3)]
>>> with mneme.Executor(instance, device="cpu") as executor:
...     futures = [executor.submit(config) for config in configs]
...     results = [future.result() for future in concurrent.futures.as_completed(futures)]
>>> [result.verified for result in results]
[True, True, True]
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import logging
import math
import operator
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from mneme import _native
from mneme._device import choose_device, compiles_only
from mneme.config import Config
from mneme.database import Instance, Kernel, _path
from mneme.errors import ClosedError, InvalidArgumentError, MnemeError
from mneme.progress import Bar, Progress
from mneme.result import Result
from mneme.session import Session

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Executor", "Future", "replay"]

_SHOW_EVERY = 0.1  # seconds
_FOREVER = 3600.0  # seconds, until something wakes it
_PATIENCE = 1.0  # seconds, after which what may have missed a word looks for itself
_LONGEST = 1e6  # seconds of a limit
_log = logging.getLogger("mneme")


class Future(concurrent.futures.Future[Result]):
    """The result that a configuration will have: a `concurrent.futures.Future`, for all functions of that module.

    A configuration that fails, or is given up, has a result that says so; there is an exception only where the process
    that waits was forked from the one that opened the executor.
    """

    def __init__(self, executor: Executor, config: Config) -> None:
        super().__init__()
        self.config = config
        self._executor: Executor | None = executor  # which lives as long as there is something to be done
        self._native: _native.PoolFuture | None = None

    def cancel(self) -> bool:
        """Gives it up, also while it is timed: its result has failure "cancelled", and the times it came to.

        False: it was done already.
        """
        if self.done():
            return False
        if self._native is not None:
            self._native.cancel()
        return True

    def times_so_far(self) -> NDArray[numpy.float64]:
        """The timed runs that there are already, in nanoseconds, as they come."""
        import numpy

        return self._native.times_so_far() if self._native is not None else numpy.zeros(0)

    def _finish(self, result: Result) -> None:
        self._executor = None
        self.set_result(result)

    def _leave_to_parent(self) -> None:
        # The parent's pool thread may have had the lock when it was forked.
        self._condition = threading.Condition()
        self._executor = self._native = None
        if self._state == "PENDING":
            self.set_exception(
                ClosedError("waiting for a result: it comes to the process that this one was forked from")
            )


class Executor:
    """Compiles configurations ahead in worker processes and measures them one at a time on each device.

    Used as those of `concurrent.futures`: `submit`, `map`, `shutdown`, `with`. At the end of a `with` it waits for all
    results; where an exception ends it (Ctrl-C too), and at the end of the interpreter, what is not done is given up.
    Thread-safe. A configuration that crashes, hangs or faults costs its result and nothing else.

    A process that is forked from this one cannot use it, and does not disturb it.

    Args:
        instance: The recorded launch, or several of one kernel: a configuration is right when it is right on each.
        weights: How the times of several instances are added to one. "program": each as often as the program launched
            its shape, which instances of one shape share; "equal"; or a number for each, above 0. None: "program" where
            that is known of all, else "equal". Those by which the program weighs add up to the number of instances.
        device: "cuda", "cuda:1", "cpu"; None: the GPU where there is one, else the CPU device. "compile:gfx942", with
            an architecture of any kind of device: code is made for it and nothing is run, and no device is needed. A
            result then has no failure where there is code, no times, and is not verified.
        devices: Which of that kind: "all", or their numbers. By default the one that `device` names, else the first.
        compile_workers: How many processes compile; by default one for each core beside the devices' workers.
        share: Configurations that end in the same code and launch are measured once.
        log: A file that each result is written to as it comes (docs/reference/results.md). There must be none yet, but
            with `resume`.
        resume: What `log` has is not measured again.
        compile_timeout: Seconds for one configuration's compilation (default: 60).
        run_timeout: Seconds for one step on the device (default: 10).
        compile_memory: Bytes that one compilation may take (default: 8 GiB).
        progress: True shows a bar, in a terminal or a notebook; a function is called with a `Progress` up to ten times
            a second and at the end, by a thread of the executor's; it should be short.

    Raises:
        InvalidArgumentError: An option is wrong; or there is a log already.
        UnavailableError: There is no such device, or no `mneme` command for the workers (MNEME_COMMAND names one).
        IncompatibleError: The log is about something else.
        CorruptError: The log or the database is damaged.

    >>> shown = []
    >>> with mneme.Executor(instance, device="cpu", log="results.jsonl", progress=shown.append) as executor:
    ...     results = list(executor.map(mneme.Config(block=block, keep_threads=True) for block in (64, 128)))
    >>> [result.verified for result in results], shown[-1].done
    ([True, True], 2)
    """

    def __init__(
        self,
        instance: Instance | Sequence[Instance],
        *,
        weights: Literal["program", "equal"] | Sequence[float] | None = None,
        device: str | None = None,
        devices: Literal["all"] | Sequence[int] | None = None,
        compile_workers: int | None = None,
        share: bool = True,
        log: str | os.PathLike[str] | None = None,
        resume: bool = False,
        compile_timeout: float = _native.POOL_COMPILE_TIMEOUT,
        run_timeout: float = _native.POOL_RUN_TIMEOUT,
        compile_memory: int = _native.COMPILE_MEMORY,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> None:
        self.instances = _instances(instance)
        first = self.instances[0]
        options = _native.PoolOptions()
        options.instances = [one.hash for one in self.instances]
        self.weights = _weights(weights, self.instances)
        options.weights = list(self.weights)
        options.kind, options.devices = _devices(device, devices)
        options.compile_workers = (
            _number("compile_workers", compile_workers, 1, 4096) if compile_workers is not None else 0
        )
        options.share, options.resume = bool(share), bool(resume)
        options.log = "" if log is None else os.path.abspath(_path(log, "opening an executor"))
        options.compile_timeout = _seconds("compile_timeout", compile_timeout)
        options.run_timeout = _seconds("run_timeout", run_timeout)
        options.compile_memory = _number("compile_memory", compile_memory, 1, 1 << 62)
        if resume and not options.log:
            raise _wrong("'resume' needs a 'log' to resume from")
        show = _show(progress, first.kernel.demangled)
        try:
            pool = _native.Pool.open(first.database._native, first.kernel._native, options)
        except BaseException:
            _close_shown(show)
            raise
        self.device = options.kind
        self.devices = tuple(options.devices)
        self._ids = itertools.count(1)
        self._work = _Work(pool, show)
        # When nobody has it any more, and at the end of the interpreter.
        self._end = weakref.finalize(self, self._work.close)
        _open.add(self)

    def submit(self, config: Config, *, label: str | None = None) -> Future:
        """Gives it a configuration. With a label it is measured for itself, as by `measure_anew`.

        Raises:
            ClosedError: It is shut down, or another process has opened it.
        """
        if not isinstance(config, Config):
            raise InvalidArgumentError(
                f"submitting to an executor: 'config' must be a Config, not {type(config).__name__}"
            )
        if label is not None and not (isinstance(label, str) and label and label.isprintable()):
            raise InvalidArgumentError(f"submitting to an executor: 'label' must be printable text, not {label!r}")
        future = Future(self, config)
        self._work.submit(next(self._ids), future, label)
        return future

    def measure_anew(self, config: Config, label: str) -> Future:
        """The same, but measured for itself whatever is known already: for a baseline.

        The result and its line in the log have the label; nothing is shared with it, and no run resumes from it.
        """
        if not isinstance(label, str):
            raise InvalidArgumentError(f"submitting to an executor: 'label' must be printable text, not {label!r}")
        return self.submit(config, label=label)

    def map(self, configs: Iterable[Config], *, ahead: int = 512, timeout: float | None = None) -> Iterator[Result]:
        """The results of configurations in their order.

        Args:
            configs: Any number: they are asked for as results come.
            ahead: So many are submitted before their results are taken.
            timeout: Seconds after which TimeoutError is raised.
        """
        ahead = _number("ahead", ahead, 1, 1 << 32)
        end = None if timeout is None else time.monotonic() + _seconds("timeout", timeout)
        rest = iter(configs)
        waiting = deque(self.submit(config) for config in itertools.islice(rest, ahead))

        def results() -> Iterator[Result]:
            try:
                while waiting:
                    yield waiting[0].result(None if end is None else end - time.monotonic())
                    waiting.popleft()
                    waiting.extend(self.submit(config) for config in itertools.islice(rest, 1))
            finally:
                for future in waiting:
                    future.cancel()

        return results()

    def progress(self) -> Progress:
        """How far it has come; after its end, how far it had."""
        return Progress(**self._work.progress())

    @property
    def problem(self) -> MnemeError | None:
        """Why it gave up, or cannot write its log any more; None while all is well.

        It gives up when its workers do not start: then all that is submitted fails as "worker_lost".
        """
        problem: MnemeError | None = self._work.pool.problem()
        return problem

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more. A second time it does nothing more.

        Args:
            wait: Returns when all is done and the workers have ended. False: returns at once, and they end when it is.
            cancel_futures: Gives up what is not done, also what is being measured: those have a result with failure
                "cancelled".
        """
        self._work.take_no_more()
        if self._work.process != os.getpid():
            return
        if cancel_futures or (wait and self._work.wait()):
            self._end()

    def __enter__(self) -> Executor:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Waits for what was submitted; after an exception gives it up."""
        try:
            self.shutdown(wait=True, cancel_futures=kind is not None)
        except BaseException:
            self.shutdown(cancel_futures=True)
            raise

    def __repr__(self) -> str:
        state = "shut down" if self._work.closed else str(self.progress())
        return f"Executor({self.instances[0].kernel.demangled} on {self.device}, {state})"


def replay(
    instance: Instance,
    config: Config | None = None,
    *,
    device: str | None = None,
    isolated: bool = True,
    compile_timeout: float = _native.LAUNCH_COMPILE_TIMEOUT,
    run_timeout: float = _native.LAUNCH_RUN_TIMEOUT,
) -> Result:
    """Replays a recorded launch once. What is wrong with the configuration is in the result.

    Args:
        instance: The recorded launch.
        config: What is other than recorded; None: nothing.
        device: "cuda", "cuda:1", "cpu"; None: the GPU where there is one, else the CPU device. "compile:gfx942": as
            of an `Executor`, which it is then.
        isolated: By processes of its own, as an `Executor` has them: a compiler that crashes, a kernel that faults or
            never ends is a failed result. False: by a `Session`, in this process, which is quicker by a tenth or
            two of a second, looks for compiled code in the cache, and has no limits of time.
        compile_timeout: Seconds for the compilation (default: 120, as of `mneme replay`).
        run_timeout: Seconds for one step on the device (default: 60).

    Raises:
        InvalidArgumentError: An argument is wrong.
        UnavailableError: There is no such device, the recorded addresses or the memory cannot be had, or the database
            is damaged; not isolated: what a `Session` raises. Also without a `mneme` command for the processes.

    >>> mneme.replay(instance, device="cpu").verified
    True
    """
    if not isinstance(instance, Instance):
        raise InvalidArgumentError(f"replaying: 'instance' must be an Instance, not {type(instance).__name__}")
    if config is not None and not isinstance(config, Config):
        raise InvalidArgumentError(f"replaying: 'config' must be a Config, not {type(config).__name__}")
    config = Config() if config is None else config
    if not isolated and not compiles_only(device):
        with Session(instance, device=device) as session:
            return session.replay(config)
    with Executor(
        instance,
        device=device,
        compile_workers=1,
        share=False,
        compile_timeout=compile_timeout,
        run_timeout=run_timeout,
    ) as executor:
        result = executor.submit(config).result()
        if executor.problem is not None:
            raise executor.problem
    return result


class _Work:
    """An executor's pool, what is under way there, and the thread that hands results out. Not the executor."""

    def __init__(self, pool: _native.Pool, show: Callable[[Progress], object] | None) -> None:
        self.pool = pool
        self.pending: dict[int, Future] = {}
        self.closed = False  # to more; under the lock
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._show = show
        self._best_time: float | None = None
        self._ended = False
        self._over: queue.SimpleQueue[None] = queue.SimpleQueue()  # wakes who waits for the end
        self._thread = threading.Thread(target=self._run, name="mneme-executor", daemon=True)
        self._thread.start()

    def submit(self, number: int, future: Future, label: str | None) -> None:
        what = "submitting to an executor"
        if self.process != os.getpid():
            raise ClosedError(f"{what}: it is of the process that this one was forked from; open another")
        with self._lock:
            if not self.closed:
                self.pending[number] = future
                future._native = self.pool.submit(number, future.config._value, label)
                if future._native is not None:
                    return
                del self.pending[number]
        raise ClosedError(f"{what}: it is shut down")

    def progress(self) -> dict[str, Any]:
        """The pool's, but with the least median as the best time: the pool has the least single launch."""
        return {**self.pool.progress(), "best_time": self._best_time}

    def take_no_more(self) -> None:
        """What is under way goes on, and then the pool ends."""
        if self.process != os.getpid():
            return
        with self._lock:
            self.closed = True
        self.pool.wake()

    def wait(self) -> bool:
        """Waits until all is done that was taken. False in a callback, which what is not done waits for: at once."""
        # concurrent.futures.wait takes the futures' locks, and a Ctrl-C in between leaves one locked for ever; one in
        # Thread.join lets the thread pass for ended.
        if threading.current_thread() is self._thread:
            return False
        while not self._ended:
            with contextlib.suppress(queue.Empty):
                self._over.get(timeout=_PATIENCE)
        return True

    def close(self) -> None:
        """Gives up what is not done, and waits for the end of all processes."""
        if self.process != os.getpid():
            return
        self.take_no_more()
        self.pool.close()
        if self.wait():
            self._thread.join()

    def leave_to_parent(self) -> None:
        """In a forked child, where the thread is not."""
        self.pool.abandon()
        self.closed = True
        for future in list(self.pending.values()):
            future._leave_to_parent()

    def _run(self) -> None:
        told = _Told(self._show)
        try:
            while (arrived := self.pool.take(told.next_in())) is not None:
                for number, result in arrived:
                    if result.time is not None and not (self._best_time and self._best_time <= result.time):
                        self._best_time = result.time
                    self._finish(number, result)
                told.tell(self.progress)
                if self.closed and not self.pending:
                    self.pool.close()
            told.tell(self.progress, last=True)
        finally:
            _close_shown(self._show)
            self._ended = True
            self._over.put(None)

    def _finish(self, number: int, result: _native.PoolResult) -> None:
        if future := self.pending.get(number):
            try:
                future._finish(Result(result))
            except concurrent.futures.InvalidStateError:
                _log.exception("somebody else has given a future its result")
            del self.pending[number]


class _Told:
    """Calls who wants to see progress, no more often than each tenth of a second, and when something has changed."""

    def __init__(self, show: Callable[[Progress], object] | None) -> None:
        self._show = show
        self._next = time.monotonic()
        self._last: dict[str, Any] = {}

    def next_in(self) -> float:
        return max(0.001, self._next - time.monotonic()) if self._show else _FOREVER

    def tell(self, progress: Callable[[], dict[str, Any]], *, last: bool = False) -> None:
        if not self._show or (not last and time.monotonic() < self._next):
            return
        self._next = time.monotonic() + _SHOW_EVERY
        now = progress()
        if {**now, "passed": 0} == {**self._last, "passed": 0} and not last:
            return
        self._last = now
        try:
            self._show(Progress(**now))
        except Exception:
            _log.exception("a progress function failed; it is not called any more")
            self._show = None


def _instances(given: Instance | Sequence[Instance]) -> tuple[Instance, ...]:
    instances = (
        (given,) if isinstance(given, Instance) else tuple(given) if isinstance(given, (list, tuple, Kernel)) else ()
    )
    if not instances or not all(isinstance(one, Instance) for one in instances):
        raise _wrong(
            f"an Instance or several are needed, not {type(given).__name__ if not instances else _types(instances)}"
        )
    first = instances[0]
    for one in instances:
        if (one.database.path, one.kernel.hash) != (first.database.path, first.kernel.hash):
            raise _wrong(
                f"its instances must be of one kernel, not of {first.kernel.demangled} and {one.kernel.demangled}"
            )
    if len(set(instances)) != len(instances):
        raise _wrong("an instance is given twice")
    return instances


def _weights(given: object, instances: Sequence[Instance]) -> tuple[float, ...]:
    if given is None or (isinstance(given, str) and given in ("program", "equal")):
        kernel, hashes = instances[0].kernel._native, [one.hash for one in instances]
        return tuple(_native.choose_weights(kernel, hashes, given).of)
    listed: Sequence[object] = given if isinstance(given, (list, tuple)) else ()
    numbers = [float(one) for one in listed if isinstance(one, (int, float)) and 0 < one < math.inf]
    if len(numbers) != len(instances) or len(listed) != len(instances):
        raise _wrong(
            f'\'weights\' must be "program", "equal" or a number above 0 for each of {len(instances)} instances, '
            f"not {given!r}"
        )
    return tuple(numbers)


def _types(values: Sequence[object]) -> str:
    return "of " + ", ".join(sorted({type(value).__name__ for value in values}))


def _devices(device: str | None, devices: Literal["all"] | Sequence[int] | None) -> tuple[str, list[int]]:
    kind, ordinal = choose_device(device, "opening an executor")
    if compiles_only(kind):
        return kind, [0]  # of which no more is asked
    there = _native.count_devices(kind)
    if devices is None:
        chosen = [ordinal or 0]
    elif ordinal is not None:
        raise _wrong("'device' has a number already, so that 'devices' cannot name others")
    elif isinstance(devices, str) and devices == "all":
        chosen = list(range(there))
    else:
        several = isinstance(devices, (list, tuple, range))
        chosen = [_number("devices", one, 0, 1 << 30) for one in devices] if several else []
    if not chosen or len(set(chosen)) != len(chosen):
        raise _wrong(f"'devices' must be \"all\" or a list of different numbers, not {devices!r}")
    for one in chosen:
        if one >= there:
            raise _wrong(f"there is no {kind} device {one}: this machine has {there}")
    return kind, chosen


def _number(name: str, value: object, least: int, most: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise _wrong(f"'{name}' must be a whole number from {least} to {most}, not {value!r}")
    return number


def _seconds(name: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _LONGEST:
        return float(value)
    raise _wrong(f"'{name}' must be a number of seconds above 0 and up to {_LONGEST:.0f}, not {value!r}")


def _wrong(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"opening an executor: {why}")


def _show(progress: object, title: str) -> Callable[[Progress], object] | None:
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar(title)
    if callable(progress):
        return progress
    raise _wrong(f"'progress' must be True or a function, not {progress!r}")


def _close_shown(show: Callable[[Progress], object] | None) -> None:
    if isinstance(show, Bar):
        show.close()


_open: weakref.WeakSet[Executor] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for executor in list(_open):
        executor._end.detach()
        executor._work.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)
