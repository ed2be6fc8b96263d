"""Database: recordings on disk, as kernels, their instances and the memory that they saw.

>>> db = mneme.Database(recordings)
>>> db["scale"].demangled
'scale(int*, int, int)'
>>> instance = db["scale"][0]
>>> instance.grid, instance.block
((313, 1, 1), (128, 1, 1))
>>> [argument.value for argument in instance.arguments][1:]
[40000, 3]
>>> buffers = instance.buffers()
>>> buffers["data"].prologue[:4], buffers["data"].epilogue[:4]
(array([0, 1, 2, 3], dtype=int32), array([ 5,  9, 13, 17], dtype=int32))
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from mneme import _native
from mneme._device import choose_device
from mneme._views import MOST, Shown, Table, extent, shown, size
from mneme.config import Config
from mneme.errors import InvalidArgumentError, MnemeError, NotFoundError, UnavailableError
from mneme.looked_after import ExportedProgram, Trimmed, Trimming

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from mneme import llvm

__all__ = ["Argument", "Buffer", "Buffers", "Database", "Instance", "Kernel"]


class Database(Shown, Mapping[str, "Kernel"]):
    """The kernels of a folder of recordings, by static hash: a mapping, read when it is opened.

    A kernel's file can be given in place of the folder; the database has that kernel alone then. Damage does not hide
    what is sound: `damaged` has what cannot be read.

    Raises:
        NotFoundError: There is no such folder, or no recording in it.
        CorruptError: The kernel's file that was named is damaged; the message names it and the offset or the key.

    >>> db = mneme.Database(recordings)
    >>> len(db), list(db)
    (1, ['2860ab17c62173867bb5cfae93fbb671'])
    >>> db["scale"] is db["2860"] is db["^sc.le"]
    True
    >>> "matmul" in db
    False
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._native, self._only, self._numbers = _native.open_database(_path(path, "opening a database"))
        self._read()

    def _read(self) -> None:
        documents, damaged = ([self._native.load(self._only)], []) if self._only else self._native.list()
        self._kernels = {document.hash: Kernel(self, document) for document in documents}
        self._damaged: list[MnemeError] = damaged
        self._names = _native.KernelNames(documents, [str(one) for one in damaged])

    @property
    def path(self) -> str:
        """The folder."""
        return self._native.directory

    @property
    def damaged(self) -> list[MnemeError]:
        """What cannot be read: an exception for each kernel's file, which names it and what is wrong with it."""
        return list(self._damaged)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes all that is recorded into one file, which `Database.import_` takes, and tar takes apart.

        >>> mneme.Database(recordings).export("scale.mneme")
        >>> received = mneme.Database.import_("scale.mneme", "received")
        >>> received["scale"][0].hash == instance.hash
        True
        """
        self._native.export(self._documents(), _path(path, "writing an archive"))

    @classmethod
    def import_(cls, archive: str | os.PathLike[str], into: str | os.PathLike[str]) -> Database:
        """Takes the recordings of a file into a database, which is made where it is missing, and opens that.

        Instances that are there stay as they are.

        Raises:
            CorruptError: The file is damaged. What was imported before stays.
            IncompatibleError: The database has another recording of a launch; all others are imported.
        """
        _native.import_archive(_path(archive, "reading an archive"), _path(into, "importing"))
        return cls(into)

    def copy(self, into: str | os.PathLike[str]) -> Database:
        """Copies all that is recorded into another database, which is made where it is missing, and opens that.

        Raises:
            IncompatibleError: The database has another recording of a launch; all others are copied.
        """
        self._native.copy(self._documents(), _path(into, "copying a database"))
        return type(self)(into)

    def trim(
        self, instances: Iterable[Instance] | None = None, *, device: str | None = None, dry_run: bool = False
    ) -> list[Trimmed]:
        """Drops the memory that recorded launches do not touch, as the command `mneme trim` does.

        Each launch is replayed in this process, run once in code that notes its accesses, and replayed without the
        pages that it does not touch. Where that is verified the trimmed instance takes the place of the old one; it has
        another hash, and is found by the old one, too. Where it is not, nothing is changed, and `Trimmed.failure` says
        why. A device fault is the failure of all that follow on that GPU.

        This database then has what is there now. Objects of trimmed instances stay what they were, and are of no more
        use: ask the database again.

        Args:
            instances: Which, as a kernel or a list of launches of this database; None: all.
            device: "cuda", "cuda:1", "cpu"; None: the GPU where there is one, else the CPU device.
            dry_run: Whether to find what can be dropped and change nothing.

        Raises:
            InvalidArgumentError: An instance is of another database.
            UnavailableError: There is no such device.

        >>> (trimmed,) = mneme.Database(recordings).trim(device="cpu", dry_run=True)
        >>> trimmed.failure, trimmed.pages, trimmed.bytes
        (None, 1, 100)
        """
        chosen = list(instances) if instances is not None else [one for kernel in self.values() for one in kernel]
        for one in chosen:
            if not isinstance(one, Instance) or one.database.path != self.path:
                raise InvalidArgumentError(f"trimming: instances of {self.path} are expected, not {one!r}")
        with ExitStack() as held:
            for one in chosen:  # before the driver, which choosing a device starts, puts things there
                held.callback(_native.hold_addresses(self._native, one.kernel._native, one._native).release)
            kind, ordinal = choose_device(device, "trimming")
            if (ordinal or 0) >= (there := _native.count_devices(kind)):
                raise UnavailableError(f"trimming: there is no {kind} device {ordinal or 0}: this machine has {there}")
            try:
                return [self._trim_one(one, kind, ordinal or 0, bool(dry_run)) for one in chosen]
            finally:
                self._read()

    def _trim_one(self, instance: Instance, kind: str, ordinal: int, dry_run: bool) -> Trimmed:
        names = (self.path, instance.kernel.hash, instance.hash)
        try:
            done = _native.trim(*names, kind=kind, ordinal=ordinal, dry_run=dry_run)
        except MnemeError as failure:
            return Trimmed(instance.hash, instance.hash, failure=str(failure))
        sizes = (done.pages, done.all_pages, done.bytes, done.stored, done.stored_now)
        return Trimmed(done.before, done.after, *sizes, tuple(done.left))

    def _documents(self) -> list[_native.KernelDocument]:
        if self._damaged:
            raise self._damaged[0]
        return [kernel._native for kernel in self._kernels.values()]

    def __getitem__(self, key: str) -> Kernel:
        """The kernel of a static hash or its first digits, of a name, or that a regular expression finds.

        A name is with or without its parameters, or mangled; the expression must be found in one kernel's name only.

        Raises:
            NotFoundError: There is none, or more than one; the message lists those there are.
            CorruptError: There is none, and a damaged file that might be it.
        """
        found = self._find(key)
        if len(found) == 1:
            return found[0]
        if not found or (key and self._names.find(_text(key))):
            self._choose(key)  # raises
        there = "".join(f"\n  {kernel.hash}  {kernel.demangled}" for kernel in found)
        raise NotFoundError(f"{len(found)} kernels in {self.path} match '{key}': choose one by its hash{there}")

    def launches(self, name: str = "") -> tuple[Instance, ...]:
        """The launches that `KERNEL#N` means, as the commands take it behind the database.

        The kernel's name is as in the source, a part of it, mangled, or first digits of the hash; without one it is the
        only kernel. N is the index of an instance; `#0,2` are two of them, and without any it is the only one.

        Raises:
            NotFoundError: There is no such one, or more than one; the message lists those there are.
            InvalidArgumentError: Nothing was named, and there are several.
            CorruptError: There is none, and a damaged file that might be it.

        >>> mneme.Database(recordings).launches("scale#0") == (instance,)
        True
        >>> mneme.Database(recordings).launches()[0].kernel.demangled
        'scale(int*, int, int)'
        """
        kernel_name, numbers = _native.split_launch_name(_text(name))
        kernel = self._choose(kernel_name)
        if numbers or self._numbers:
            return tuple(kernel[digits] for digits in kernel._native.numbered(numbers or self._numbers))
        return (kernel[kernel._native.find_instance("")],)

    def _choose(self, name: str) -> Kernel:
        return list(self._kernels.values())[self._names.choose(self.path, _text(name))]

    def find(self, pattern: str) -> list[Kernel]:
        """Every kernel whose name a regular expression is found in.

        >>> [kernel.name for kernel in mneme.Database(recordings).find("sc")]
        ['_Z5scalePiii']
        """
        if not isinstance(pattern, str):
            raise InvalidArgumentError(f"looking for kernels: a regular expression is text, not {pattern!r}")
        try:
            expression = re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as failure:
            raise InvalidArgumentError(
                f"looking for kernels: {pattern!r} is no regular expression: {failure}"
            ) from None
        return [kernel for kernel in self._kernels.values() if any(expression.search(name) for name in kernel._names)]

    def _find(self, key: str) -> list[Kernel]:
        if not isinstance(key, str):
            raise InvalidArgumentError(
                f"a kernel is named by text: its hash, its name or a regular expression; not {key!r}"
            )
        if places := self._names.find(_text(key)):
            kernels = list(self._kernels.values())
            return [kernels[place] for place in places]
        try:
            return self.find(key)
        except InvalidArgumentError:
            return []  # a name with what means something in regular expressions

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and len(self._find(key)) == 1

    def _table(self) -> Table:
        rows = [
            [kernel.hash[:12], kernel.demangled, kernel.architecture, str(len(kernel)), kernel.source]
            for kernel in self._kernels.values()
        ]
        damaged = f", {_count(len(self._damaged), 'damaged file')}" if self._damaged else ""
        title = f"Database {self.path}: {_count(len(self), 'kernel')}{damaged}"
        return Table(title, ["static hash", "kernel", "for", "instances", "source"], rows)


class Kernel(Shown, Sequence["Instance"]):
    """A recorded kernel: a sequence of its instances, in the order of recording.

    >>> kernel = mneme.Database(recordings)["scale"]
    >>> len(kernel), kernel[0] is kernel["5977"]
    (1, True)
    >>> kernel["ffff"]  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    mneme.errors.NotFoundError: no instance of scale(int*, int, int) begins with 'ffff'; there are …
    """

    def __init__(self, database: Database, native: _native.KernelDocument) -> None:
        self.database = database
        self._native = native
        self._instances = tuple(Instance(self, instance) for instance in native.instances)

    @property
    def hash(self) -> str:
        """The static hash: of the code, 32 hexadecimal digits."""
        return self._native.hash

    @property
    def name(self) -> str:
        """The mangled symbol."""
        return self._native.name

    @property
    def demangled(self) -> str:
        """The name as in the source, with its parameters."""
        return self._native.demangled

    @property
    def source(self) -> str:
        """ "file.cu:12"; empty where the program was compiled without debug information."""
        return self._native.source

    @property
    def target(self) -> str:
        """What it was compiled for: "nvptx", "amdgcn"."""
        return self._native.target

    @property
    def architecture(self) -> str:
        """For instance "sm_90"."""
        return self._native.architecture

    @property
    def pipeline(self) -> str:
        """What the program's compiler optimised it with, "default<O2>": what "as-built" stands for.

        Empty where that was not recorded.
        """
        return self._native.pipeline

    @property
    def as_built(self) -> str:
        """What the pipeline "as-built" is of it, for people: "default<O2>", or "the program's own code"."""
        return self._native.as_built

    @property
    def code(self) -> str:
        """The best code that was recorded of it, which decides what a replay can change: "ir", "ptx" or "cubin"."""
        return self._native.code

    @property
    def has_image(self) -> bool:
        """Whether the program's own machine code was recorded, which `image` gives."""
        return self._native.has_image

    def image(self, kind: str | None = None) -> bytes:
        """The program's own code: a "cubin", "ptx" text, or AMD's code object ("hsaco"); default: the machine code.

        Beside IR the machine code has zeros for other kernels' code.

        Raises:
            NotFoundError: None of the kind was recorded, as PTX of programs that were built for Mneme.
        """
        if kind is None:
            kind = "hsaco" if self.target == "amdgcn" else "cubin"
        if kind not in ("cubin", "ptx", "hsaco"):
            raise InvalidArgumentError(f"an image of a kernel's code is 'cubin', 'ptx' or 'hsaco', not {kind!r}")
        return self.database._native.load_image(self._native, kind)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The recorded launches."""
        return self._instances

    @cached_property
    def _names(self) -> tuple[str, ...]:
        short = re.sub(r"^(?:void )?(.*?)(?:<.*)?\(.*$", r"\1", self.demangled)
        return self.name, self.demangled, self.demangled.partition("(")[0], short

    @overload
    def __getitem__(self, key: int | str) -> Instance: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Instance | tuple[Instance, ...]:
        """The instance at an index, or of a dynamic hash or its first digits. NotFoundError: there is none such."""
        if isinstance(key, slice):
            return self._instances[key]
        if isinstance(key, str):
            return self._by_hash(key)
        try:
            return self._instances[key]
        except IndexError:
            raise NotFoundError(f"{self.demangled} has {_count(len(self), 'instance')}, and none at {key}") from None
        except TypeError:
            raise InvalidArgumentError(f"an instance is named by its index or hash, not by {key!r}") from None

    def _by_hash(self, digits: str) -> Instance:
        if not digits:
            raise InvalidArgumentError("an instance is named by its index or hash, not by ''")
        digest = self._native.find_instance(_text(digits))
        return next(instance for instance in self._instances if instance.hash == digest)

    def __len__(self) -> int:
        return len(self._instances)

    def _table(self) -> Table:
        rows = [
            [f"#{n}", i.hash[:12], extent(i.grid), extent(i.block), size(i.memory), i.device_kind, i.recorded_at]
            for n, i in enumerate(self._instances)
        ]
        title = f"Kernel {self.demangled}, {self.hash}: {_count(len(self), 'instance')}"
        return Table(title, ["", "dynamic hash", "grid", "block", "memory", "on", "recorded"], rows)


@dataclass(frozen=True)
class Argument:
    """An argument of a recorded launch.

    Attributes:
        name: As in the source; empty where the compiler discarded it.
        kind: "integer", "floating", "pointer", "aggregate", or "opaque" where the kernel was recorded without IR.
        type: As LLVM spells it; empty of an opaque one.
        size: In bytes.
        value: A number; of a pointer its address; of an aggregate or another type its bytes. Whole numbers come as
            signed.
    """

    name: str
    kind: str
    type: str
    size: int
    value: int | float | bytes

    def __repr__(self) -> str:
        return f"Argument({self.name!r}, {shown(self.type or self.kind, MOST)}, {self._value_text()})"

    def _value_text(self) -> str:
        return f"{self.value:#x}" if self.kind == "pointer" and isinstance(self.value, int) else repr(self.value)


class Instance(Shown):
    """A recorded launch of a kernel, with the memory before it (prologue) and after it (epilogue).

    >>> instance = mneme.Database(recordings)["scale"][0]
    >>> instance.arguments[1]
    Argument('n', i32, 40000)
    >>> instance.device_kind, instance.shared_memory
    ('cpu', 0)
    """

    def __init__(self, kernel: Kernel, native: _native.InstanceRecord) -> None:
        self.kernel = kernel
        self._native = native

    @property
    def database(self) -> Database:
        """Where it is recorded."""
        return self.kernel.database

    @property
    def hash(self) -> str:
        """The dynamic hash: of the launch and its data, 32 hexadecimal digits."""
        return self._native.hash

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks in x, y and z."""
        return self._native.grid

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block in x, y and z."""
        return self._native.block

    @property
    def shared_memory(self) -> int:
        """Dynamic shared memory of a block, in bytes."""
        return self._native.shared_memory

    @property
    def cooperative(self) -> bool:
        """It was a cooperative launch."""
        return self._native.cooperative

    @property
    def cluster(self) -> tuple[int, int, int] | None:
        """Blocks of a cluster in x, y and z; None where the launch asked for no clusters."""
        return self._native.cluster

    @property
    def attributes(self) -> dict[str, str]:
        """Other attributes of the launch by CUDA's names; they change no result."""
        return self._native.attributes

    @property
    def memory(self) -> int:
        """Bytes of memory that the launch was recorded with."""
        return self._native.memory

    @property
    def memory_extent(self) -> str:
        """Which memory that is: "reachable", what pointers lead to from its arguments and variables, or "all".

        Recordings of before format 2.3, and those of `mneme record --all-memory`, have "all".
        """
        return self._native.memory_extent

    @property
    def device_kind(self) -> str:
        """The kind of device that it was recorded on: "cuda", "cpu"."""
        return self._native.device_kind

    @property
    def device_name(self) -> str:
        """That device."""
        return self._native.device_name

    @property
    def trimmed(self) -> Trimming | None:
        """What was dropped of the memory that it was recorded with (`Database.trim`); None: nothing."""
        dropped = self._native.trimmed
        return Trimming(tuple(dropped.of), dropped.pages, dropped.bytes) if dropped else None

    @property
    def recorded_at(self) -> str:
        """When it was recorded: ISO 8601, UTC."""
        return self._native.recorded_at

    @property
    def recorded_time(self) -> dict[str, Any] | None:
        """What the launch took in the program (docs/reference/result.md); None without `mneme record --profile`."""
        recorded: dict[str, Any] | None = self._native.recorded_time
        return recorded

    @property
    def shape_launches(self) -> dict[str, Any] | None:
        """How often the program launched the kernel in this shape, recorded or not, and how long that took.

        `count` is the number of launches; `total`, only with `mneme record --profile`, the nanoseconds that all of them
        took. None in recordings of before format 2.2.
        """
        launches: dict[str, Any] | None = self._native.shape_launches
        return launches

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments in their order."""
        return tuple(_argument(parameter, self._native.parameters) for parameter in self.kernel._native.parameters)

    def buffers(self) -> Buffers:
        """The memory that the launch saw, by name. Reads the two lists of pages; the pages when an array is asked for.

        Raises:
            CorruptError: Something is damaged; the message names the file and the offset.
        """
        return Buffers(_native.RecordedMemory(self.database._native, self.kernel._native, self._native), repr_of=self)

    def bitcode(self) -> bytes:
        """The recorded code, with all that it calls, as the bitcode of one LLVM module.

        Raises:
            UnsupportedError: The kernel was recorded without IR (`Kernel.code`).
        """
        return self.database._native.load_ir(self.kernel._native)

    def module(self) -> llvm.Module:
        """The recorded code. It is the caller's: changed, it goes into `Config(module=…)`."""
        from mneme import llvm

        return llvm.parse(self.bitcode(), name=self.kernel.demangled)

    def disk_size(self) -> int:
        """Bytes on disk, pages that other instances share included."""
        return self.database._native.disk_size(self.kernel._native, self._native)

    def check(self) -> None:
        """Reads all that belongs to it. CorruptError: something is damaged; the message has the file and the offset."""
        self.database._native.check(self.kernel._native, self._native)

    @overload
    def export(self, path: str | os.PathLike[str]) -> None: ...
    @overload
    def export(
        self, path: str | os.PathLike[str], *, program: Config, device: str | None = None, whole: bool = False
    ) -> ExportedProgram: ...
    def export(
        self,
        path: str | os.PathLike[str],
        *,
        program: Config | None = None,
        device: str | None = None,
        whole: bool = False,
    ) -> ExportedProgram | None:
        """Writes the launch with all that its replay needs into one file, as `Database.export` does; or as a program.

        A program is an executable that needs nothing of Mneme: it restores the memory, launches, compares and times. It
        is compiled under a configuration and run once, in this process.

        Args:
            path: The file.
            program: The configuration under which the launch becomes a program; None: it becomes an archive.
            device: Of a program: "cuda", "cuda:1", "cpu"; None: the GPU where there is one, else the CPU device.
            whole: Of a program: whether it keeps memory that the kernel neither reads nor writes.

        Raises:
            InvalidArgumentError: An option of a program was given for an archive; the file is no regular one.
            UnavailableError: There is no such device.
            MnemeError: The code cannot be compiled under the configuration.

        >>> made = instance.export("scale", program=mneme.Config(passes="default<O2>"), device="cpu")
        >>> made.verified, made.left_out  # bytes that the kernel does not touch
        (True, 100)
        """
        if program is None:
            if device is not None or whole:
                raise InvalidArgumentError(
                    "writing an archive: 'device' and 'whole' are about programs: give 'program' a configuration"
                )
            one = _native.with_one(self.kernel._native, self._native)
            self.database._native.export([one], _path(path, "writing an archive"))
            return None
        if not isinstance(program, Config):
            raise InvalidArgumentError(f"writing a program: 'program' must be a Config, not {type(program).__name__}")
        file = _path(path, "writing a program")
        held = _native.hold_addresses(self.database._native, self.kernel._native, self._native)
        try:
            kind, ordinal = choose_device(device, "writing a program")
            made = _native.make_program(
                self.database._native,
                self.kernel.hash,
                self.hash,
                file,
                configuration=program._value,
                kind=kind,
                ordinal=ordinal or 0,
                whole=bool(whole),
            )
        finally:
            held.release()
        return ExportedProgram(file, made.size, made.memory, made.left_out, made.kept or None, made.verified)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (self.database.path, self.kernel.hash, self.hash) == (other.database.path, other.kernel.hash, other.hash)

    def __hash__(self) -> int:
        return hash((self.kernel.hash, self.hash))

    def _table(self) -> Table:
        rows = [["grid, block", f"{extent(self.grid)}, {extent(self.block)}", ""]]
        rows += [
            [argument.name or f"#{i}", argument._value_text(), argument.type]
            for i, argument in enumerate(self.arguments)
        ]
        rows.append(
            ["memory", size(self.memory), f"recorded on {self.device_name} ({self.device_kind}), {self.recorded_at}"]
        )
        return Table(f"Instance {self.hash} of {self.kernel.demangled}", ["", "", ""], rows)


class Buffer:
    """A piece of recorded memory: what an argument points to, a global, an annotation, or another allocation.

    Attributes:
        name: The argument's, global's or annotation's; else its range. A tolerance can name it so.
        kind: "argument", "global", "annotation" or "allocation".
        address: Of the first byte, on the device.
        size: In bytes: of an argument up to the end of the allocation.
        element: By what type the code accesses it: "f32", "bf16", "i8"…; None where that is not known.
    """

    def __init__(self, memory: _native.RecordedMemory, native: _native.RecordedBuffer) -> None:
        self._memory = memory
        self._native = native
        self.name: str = native.name
        self.kind: str = native.kind
        self.address: int = native.address
        self.size: int = native.size
        self.element: str | None = native.element or None

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The arrays' type: uint8 where it is not known. Of bf16 and f8, which NumPy lacks, uint16 or uint8."""
        import numpy

        return numpy.dtype(_DTYPES.get(self.element or "", "u1"))

    @property
    def prologue(self) -> NDArray[Any]:
        """Before the launch: one dimension, read-only, over memory that is not copied; arrays that overlap share it."""
        return self._read(epilogue=False)

    @property
    def epilogue(self) -> NDArray[Any]:
        """After the launch, likewise."""
        return self._read(epilogue=True)

    def _read(self, *, epilogue: bool) -> NDArray[Any]:
        array: NDArray[Any] = self._memory.read(self._native, epilogue=epilogue).view(self.dtype)
        return array

    def __len__(self) -> int:
        """How many elements it has."""
        return self.size // self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}, {self.kind}, {self.element or 'bytes'}, {size(self.size)} at {self.address:#x})"


class Buffers(Shown, Mapping[str, Buffer]):
    """The memory of a recorded launch by name; an argument also by its index.

    >>> buffers = instance.buffers()
    >>> list(buffers)
    ['data', 'odd', 'table', 'scaled', '0x7a0000000000+100']
    >>> buffers["table"].prologue, buffers[0].name
    (array([5, 6, 7, 8], dtype=int32), 'data')
    >>> buffers["tabel"]  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    mneme.errors.NotFoundError: there is no buffer 'tabel'; there are data, odd, table, scaled, 0x7a0000000000+100
    """

    def __init__(self, memory: _native.RecordedMemory, *, repr_of: Instance) -> None:
        self._buffers = {native.name: Buffer(memory, native) for native in memory.buffers}
        self._instance = repr_of

    def __getitem__(self, key: str | int) -> Buffer:
        """The buffer of a name, or of the argument at an index. NotFoundError: there is none; the message lists all."""
        name = self._argument(key) if isinstance(key, int) else key
        if isinstance(name, str) and name in self._buffers:
            return self._buffers[name]
        raise NotFoundError(f"there is no buffer {key!r}; there are {', '.join(self._buffers) or 'none'}")

    def _argument(self, index: int) -> str | None:
        arguments = self._instance.arguments
        if not 0 <= index < len(arguments):
            return None
        return arguments[index].name or str(index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)

    def _table(self) -> Table:
        rows = [[b.name, b.kind, b.element or "bytes", size(b.size), f"{b.address:#x}"] for b in self._buffers.values()]
        return Table(
            f"Memory of {self._instance.kernel.demangled}", ["name", "kind", "elements", "size", "address"], rows
        )


# By how an element's type is called in Mneme.
_DTYPES = {
    "f16": "f2",
    "bf16": "u2",
    "f8e4m3": "u1",
    "f8e5m2": "u1",
    "f32": "f4",
    "f64": "f8",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "u64": "u8",
    "complex64": "c8",
    "complex128": "c16",
}
_FLOATS = {"half": "<e", "float": "<f", "double": "<d"}


def _argument(parameter: _native.Parameter, arguments: bytes) -> Argument:
    raw = arguments[parameter.offset : parameter.offset + parameter.size]
    value: int | float | bytes = raw
    if len(raw) != parameter.size or not raw:
        pass
    elif parameter.kind == "pointer":
        value = int.from_bytes(raw, "little")
    elif parameter.kind == "integer":
        value = int.from_bytes(raw, "little", signed=True)
    elif parameter.type in _FLOATS and len(raw) == struct.calcsize(_FLOATS[parameter.type]):
        value = struct.unpack(_FLOATS[parameter.type], raw)[0]
    return Argument(parameter.name, parameter.kind, parameter.type, parameter.size, value)


def _path(path: str | os.PathLike[str], what: str) -> str:
    try:
        text = os.fspath(path)
        text.encode()
        if "\0" not in text:
            return text
    except (TypeError, AttributeError, UnicodeEncodeError):
        pass
    raise InvalidArgumentError(f"{what}: a path is expected, not {path!r}")


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"a kernel or a launch is named by text, not by {name!r}")
    return name.encode(errors="replace").decode()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
