"""Modules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from mneme._native import llvm as _llvm
from mneme.errors import CorruptError, InvalidArgumentError, IoError
from mneme.llvm._analysis import CallGraph
from mneme.llvm._function import Function, GlobalValue, GlobalVariable
from mneme.llvm._metadata import Metadata
from mneme.llvm._own_errors import with_own_errors
from mneme.llvm._passes import ModulePass, Pipeline, join
from mneme.llvm._refs import Number, wrap
from mneme.llvm._types import Type, to_type
from mneme.llvm._values import Value, Values


class Module:
    """LLVM IR: functions, global variables and metadata for one target. `str()` is its textual IR.

    Every module is alone: types and values of one cannot be used in another. What is taken from a module keeps it
    alive.

    >>> module = mneme.llvm.Module("mine", triple="nvptx64-nvidia-cuda")
    >>> module.add_function("twice", "i32 (i32)").name
    'twice'
    >>> print(module)
    ; ModuleID = 'mine'
    ...
    declare i32 @twice(i32)
    ...
    """

    def __init__(self, name: str = "module", *, triple: str = "", data_layout: str = "") -> None:
        self._ref: _llvm.ModuleRef = _llvm.create(name, triple, data_layout)

    @classmethod
    def _of(cls, ref: _llvm.ModuleRef) -> Module:
        module = cls.__new__(cls)
        module._ref = ref
        return module

    @property
    def name(self) -> str:
        """What messages call it. To be assigned, too.

        >>> mneme.llvm.example().name
        'example'
        """
        return self._ref.name()

    @name.setter
    def name(self, name: str) -> None:
        self._ref.set_name(name)

    @property
    def source_name(self) -> str:
        """The source file that it was compiled from.

        >>> mneme.llvm.example().source_name
        'example'
        """
        return self._ref.source_name()

    @property
    def triple(self) -> str:
        """The target. To be assigned, too.

        >>> mneme.llvm.example().triple
        'nvptx64-nvidia-cuda'
        """
        return self._ref.triple()

    @triple.setter
    def triple(self, triple: str) -> None:
        self._ref.set_triple(triple)

    @property
    def data_layout(self) -> str:
        """Sizes and alignments of types, in LLVM's notation. To be assigned, too.

        >>> mneme.llvm.example().data_layout[:11]
        'e-p6:32:32-'
        """
        return self._ref.data_layout()

    @data_layout.setter
    def data_layout(self, layout: str) -> None:
        self._ref.set_data_layout(layout)

    @property
    def functions(self) -> Values[Function]:
        """Its functions as they are now, declarations and intrinsics included.

        >>> mneme.llvm.example().functions.names
        ['scaled', 'saxpy', 'llvm.nvvm.read.ptx.sreg.tid.x']
        """
        return Values(self, self._ref.functions())

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that the host can launch.

        >>> [kernel.name for kernel in mneme.llvm.example().kernels]
        ['saxpy']
        """
        return tuple(f for f in self.functions if f.is_kernel and not f.is_declaration)

    @property
    def globals(self) -> Values[GlobalVariable]:
        """Its global variables as they are now.

        >>> mneme.llvm.example().globals
        [<GlobalVariable ptr addrspace(1) @limit>]
        """
        return Values(self, self._ref.global_variables())

    @property
    def aliases(self) -> Values[GlobalValue]:
        """Its aliases as they are now.

        >>> mneme.llvm.example().aliases
        []
        """
        return Values(self, self._ref.aliases())

    @property
    def named_metadata(self) -> dict[str, tuple[Metadata, ...]]:
        """Its own metadata, by name.

        >>> module = mneme.llvm.example()
        >>> module.add_named_metadata("my.build", ["version", 3]); module.named_metadata
        {'my.build': (<Metadata tuple !{!"version", i64 3}>,)}
        """
        return {name: tuple(Metadata(self, node) for node in nodes) for name, nodes in self._ref.named_metadata()}

    @property
    def is_valid(self) -> bool:
        """Whether its IR keeps the rules; `verify` says what is wrong.

        >>> mneme.llvm.example().is_valid
        True
        """
        try:
            self.verify()
        except CorruptError:
            return False
        return True

    def verify(self) -> None:
        """Raises CorruptError, in LLVM's words, where its IR breaks the rules.

        >>> module = mneme.llvm.example()
        >>> module.functions["scaled"].instructions[-1].erase(); module.verify()
        Traceback (most recent call last):
        ...
        mneme.errors.CorruptError: example is not valid LLVM IR: Basic Block in function 'scaled' does not have ...
        """
        self._ref.verify()

    def type(self, text: str) -> Type:
        """A type as textual IR writes it.

        Raises InvalidArgumentError, in the parser's words, for what is none.

        >>> mneme.llvm.example().type("void (ptr, <2 x half>)").parameters
        (<Type ptr>, <Type <2 x half>>)
        >>> mneme.llvm.example().type("int")
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: 'int' is no LLVM type: column 1: expected type
        """
        return Type(self, self._ref.type(text))

    def constant(self, text: str) -> Value:
        """A constant as textual IR writes it, its type before it. `Type.constant` makes one of a Python number.

        >>> mneme.llvm.example().constant("ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @limit, i64 4)").kind
        'expression'
        """
        return wrap(self, self._ref.constant(text))

    def add_function(self, name: str, type: Type | str, *, linkage: str = "external") -> Function:
        """Declares a function; `Function.add_block` begins its definition.

        Raises InvalidArgumentError where the name is taken, or for a type that is no function's.

        >>> mneme.llvm.example().add_function("sqrtf", "float (float)")
        <Function ptr @sqrtf>
        """
        return Function(self, self._ref.add_function(name, to_type(self, type), linkage))

    def add_global(
        self,
        name: str,
        type: Type | str,
        *,
        initializer: Value | Number = None,
        address_space: int = 0,
        is_constant: bool = False,
        linkage: str = "external",
    ) -> GlobalVariable:
        """Adds a global variable. Without an initializer it is defined elsewhere.

        >>> module = mneme.llvm.example()
        >>> print(module.add_global("tile", "[32 x float]", initializer=module.constant("[32 x float] undef"),
        ...                         address_space=3, linkage="internal"))
        @tile = internal addrspace(3) global [32 x float] undef
        """
        ref = self._ref.add_global_variable(name, to_type(self, type), linkage, address_space, is_constant)
        variable = GlobalVariable(self, ref)
        try:
            if initializer is not None:
                variable.initializer = initializer
        except Exception:
            variable.erase()
            raise
        return variable

    def metadata(self, value: object) -> Metadata:
        """Metadata of a string, a constant, an integer (i64), a float (double) or a list of such, with None for what
        is left out.

        >>> str(mneme.llvm.example().metadata(["scale", 2.0, ["inner", None]]).operands[2])
        '!{!"inner", null}'
        """
        if isinstance(value, Metadata):
            return value
        if isinstance(value, str):
            return Metadata(self, self._ref.metadata_string(value))
        if isinstance(value, bool):
            value = self.type("i1").constant(value)
        if isinstance(value, (int, float)):
            value = self.type("i64" if isinstance(value, int) else "double").constant(value)
        if isinstance(value, Value):
            return Metadata(self, self._ref.metadata_value(value._ref))
        if not isinstance(value, Sequence):
            raise InvalidArgumentError(f"metadata is made of strings, numbers, constants and lists, not of {value!r}")
        return Metadata(self, self._ref.metadata_node([None if v is None else self.metadata(v)._ref for v in value]))

    def add_named_metadata(self, name: str, node: object) -> None:
        """Adds a node, or what `metadata` makes one of, to the module's metadata of that name.

        >>> module = mneme.llvm.example()
        >>> module.add_named_metadata("my.names", ["a"]); module.add_named_metadata("my.names", ["b"])
        >>> len(module.named_metadata["my.names"])
        2
        """
        self._ref.add_named_metadata(name, self.metadata(node)._ref)

    def link(self, other: Module) -> None:
        """Adds a copy of what another module has and this one lacks; where both define a symbol, this one's stays.

        Raises IncompatibleError where LLVM refuses, and leaves this module as it was.

        >>> module, more = mneme.llvm.example(), mneme.llvm.example()
        >>> more.functions["scaled"].name = "times"
        >>> module.link(more); "times" in module.functions
        True
        """
        self._ref.link(other._ref)

    def clone(self) -> Module:
        """A copy that shares nothing with it.

        >>> module = mneme.llvm.example()
        >>> copy = module.clone(); copy.functions["saxpy"].name = "other"
        >>> "saxpy" in module.functions
        True
        """
        return Module._of(self._ref.clone())

    def bitcode(self) -> bytes:
        """LLVM's binary form, which `parse` reads.

        Raises CorruptError where it does not verify.

        >>> mneme.llvm.example().bitcode()[:2]
        b'BC'
        """
        return self._ref.bitcode()

    def write(self, path: str | PathLike[str]) -> None:
        """Writes it to a file: textual IR where the name ends in .ll, else bitcode.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mneme.llvm.example().write(folder + "/example.bc"); mneme.llvm.read(folder + "/example.bc").kernels
        (<Function ptr @saxpy>,)
        """
        file = Path(fspath(path))
        try:
            file.write_bytes(str(self).encode() if file.suffix == ".ll" else self.bitcode())
        except OSError as failure:
            raise IoError(f"writing module {self.name} to {file}: {failure.strerror}") from failure

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that tell modules apart.

        >>> len(mneme.llvm.example().digest)
        32
        """
        return self._ref.digest()

    def call_graph(self) -> CallGraph:
        """Which functions call which, as it is now.

        >>> mneme.llvm.example().call_graph()
        <CallGraph of 3 functions, 2 edges>
        """
        return CallGraph(self)

    def strip_debug_info(self) -> bool:
        """Drops all debug information; says whether there was any.

        >>> mneme.llvm.example().strip_debug_info()
        False
        """
        return self._ref.strip_debug_info()

    def run(
        self,
        pipeline: Pipeline,
        *,
        passes: Sequence[ModulePass] = (),
        plugins: Sequence[str | PathLike[str]] = (),
        cpu: str = "",
        features: str = "",
        codegen_level: int = 3,
        isolated: bool | None = None,
        timeout: float | None = None,
        memory: int = 8 << 30,
    ) -> None:
        """Runs passes on it: one, or a pipeline as opt's -passes takes it, or a list of such and of `module_pass`.

        passes: what the string may name besides. plugins: shared libraries with passes, as opt's -load-pass-plugin
        takes them. cpu, features: what the target machine is, such as sm_90; what functions say of themselves
        (target-cpu) goes before.
        isolated: whether another process runs it, which may crash. By default that is so unless a Python function is
        among the passes, which only this process can call: then, and with isolated=False, a pass that crashes takes the
        interpreter along. timeout: seconds that such a process has; without, Ctrl-C ends it. memory: bytes that it may
        take (0: any number).

        Functions, global variables and aliases that were taken from the module stay good where one of the name is still
        there. Other values (instructions, blocks, arguments), types and metadata are gone after another process ran the
        pipeline: take them from the module again. In this process those that the passes leave alone stay good. What
        passes print goes to sys.stderr. While it runs, other threads run, and are refused this module.

        Raises InvalidArgumentError for a pipeline that does not parse, with the nearest pass that there is;
        CorruptError for a module that does not verify, before or afterwards; InternalError for a fatal error of LLVM's,
        and for a crash, with the signal, the pass that ran and LLVM's last words; TimeLimitError, ExhaustedError. After
        a failure the module is as it was before. Values that were taken from it are good still, but gone where it ran
        in this process.

        >>> module = mneme.llvm.example()
        >>> module.run("function(sroa,instcombine),globaldce")
        >>> module.run("default<O2>", cpu="sm_90"); module.functions.names
        ['scaled', 'saxpy', 'llvm.nvvm.read.ptx.sreg.tid.x']
        >>> module.run("default<O3>,instcombin")
        Traceback (most recent call last):
        ...
        mneme.errors.InvalidArgumentError: pass pipeline 'default<O3>,instcombin' does not parse: ...
        """
        raised: list[BaseException] = []  # by passes of the caller's, whom that goes on to as it is
        run = with_own_errors(self._run, "Module.run", but=raised)
        said = run(pipeline, passes, plugins, cpu, features, codegen_level, isolated, timeout, memory, raised)
        if said:
            sys.stderr.write(said)

    def _run(
        self,
        pipeline: Pipeline,
        passes: Sequence[ModulePass],
        plugins: Sequence[str | PathLike[str]],
        cpu: str,
        features: str,
        codegen_level: int,
        isolated: bool | None,
        timeout: float | None,
        memory: int,
        raised: list[BaseException],
    ) -> str:
        """Returns what passes printed in another process."""
        text, used = join(pipeline, passes)
        files = [fspath(plugin) for plugin in plugins]
        if not used if isolated is None else isolated:
            if used:
                raise InvalidArgumentError(
                    f"pass '{used[0].name}' is a Python function, which an isolated run cannot call"
                )
            limit = -1.0 if timeout is None else timeout
            return self._ref.run_isolated(text, files, cpu, features, codegen_level, limit, memory)
        if timeout is not None:
            raise InvalidArgumentError(
                "a time limit needs another process: a run in this one (isolated=False, Python passes) cannot be ended"
            )

        def called(function: ModulePass) -> None:
            try:
                function(self)
            except BaseException as error:
                raised.append(error)
                raise

        calls = [(each.name, lambda each=each: called(each)) for each in used]
        self._ref.run(text, calls, files, cpu, features, codegen_level)
        return ""

    def __str__(self) -> str:
        return self._ref.print()

    def __repr__(self) -> str:
        functions = self.functions
        return f"<Module {self.name}: {len(functions)} functions, {len(self.kernels)} of them kernels>"

    def __bytes__(self) -> bytes:
        return self.bitcode()

    def __copy__(self) -> Module:
        return self.clone()

    def __deepcopy__(self, memo: object) -> Module:
        return self.clone()

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickle, (self.bitcode(), self.name))


def _unpickle(bitcode: bytes, name: str) -> Module:
    return Module._of(_llvm.parse(bitcode, name))


@with_own_errors
def parse(source: str | bytes, *, name: str = "module", isolated: bool = True) -> Module:
    """A module of textual IR, or of bitcode (several files one after another are linked).

    isolated: whether another process reads it first. LLVM crashes on some files that are damaged or made up; with
    isolated=False, which is quicker by some milliseconds, the interpreter does with it.

    Raises CorruptError, in LLVM's words, for what is neither, or does not verify; InternalError where LLVM crashed.

    >>> parse("define i32 @one() { ret i32 1 }").functions
    [<Function ptr @one>]
    >>> parse("define i32 @one() { ret i32 }", name="one.ll")
    Traceback (most recent call last):
    ...
    mneme.errors.CorruptError: reading one.ll as textual LLVM IR: line 1, column 29: expected value token
    """
    if not isinstance(source, (str, bytes)):
        raise InvalidArgumentError(f"IR to parse is a str or bytes, not {type(source).__name__}")
    data = source.encode() if isinstance(source, str) else source
    return Module._of(_llvm.parse_isolated(data, name) if isolated else _llvm.parse(data, name))


@with_own_errors
def read(path: str | PathLike[str], *, isolated: bool = True) -> Module:
    """A module of a file of textual IR or bitcode, whatever its name ends in. isolated: as `parse`'s.

    >>> read("no_such_file.ll")
    Traceback (most recent call last):
    ...
    mneme.errors.IoError: reading LLVM IR no_such_file.ll: No such file or directory
    """
    file = Path(fspath(path))
    try:
        source = file.read_bytes()
    except OSError as failure:
        raise IoError(f"reading LLVM IR {file}: {failure.strerror}") from failure
    return parse(source, name=str(file), isolated=isolated)


_EXAMPLE = """
source_filename = "example"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@limit = addrspace(1) global i32 1024, align 4

define float @scaled(float %a, float %x) {
  %product = fmul float %a, %x
  ret float %product
}

define ptx_kernel void @saxpy(i32 %n, float %a, ptr %x, ptr %y) "nvvm.maxntid"="128" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp slt i32 %tid, %n
  br i1 %inside, label %body, label %done

body:
  %index = sext i32 %tid to i64
  %px = getelementptr inbounds float, ptr %x, i64 %index
  %py = getelementptr inbounds float, ptr %y, i64 %index
  %vx = load float, ptr %px, align 4
  %vy = load float, ptr %py, align 4
  %ax = call float @scaled(float %a, float %vx)
  %sum = fadd float %ax, %vy
  store float %sum, ptr %py, align 4
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


@with_own_errors
def example() -> Module:
    """A small module for examples and experiments: the kernel saxpy for NVIDIA GPUs, a function that it calls, and a
    global variable.

    >>> example()
    <Module example: 3 functions, 1 of them kernels>
    """
    return parse(_EXAMPLE, name="example", isolated=False)
