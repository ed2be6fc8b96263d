"""mneme.llvm: what it promises beyond its docstrings' examples, and what misuse gives."""

import concurrent.futures
import copy
import gc
import inspect
import itertools
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme.llvm
import pytest
from mneme import errors, llvm

LOOP = """
define float @sum(ptr %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi float [ 0.0, %entry ], [ %more, %loop ]
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p, align 4
  %more = fadd float %total, %v
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret float %more
}
"""

ADDING = """
define void @f(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %q = getelementptr inbounds float, ptr %y, i64 %i
  %v = load float, ptr %p, align 4
  %w = fadd float %v, 1.0
  store float %w, ptr %q, align 4
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret void
}
"""


@pytest.fixture
def module() -> llvm.Module:
    return llvm.example()


def instruction(module: llvm.Module, function: str, name: str) -> llvm.Instruction:
    return module.functions[function].instructions[name]


def test_bitcode_text_and_pickle_give_the_module_again(module: llvm.Module) -> None:
    for again in [
        llvm.parse(module.bitcode(), name="example"),
        llvm.parse(str(module), name="example"),
        pickle.loads(pickle.dumps(module)),
        copy.deepcopy(module),
    ]:
        assert str(again) == str(module)
        assert again.kernels != module.kernels  # values of another module


def test_files(module: llvm.Module, tmp_path: Path) -> None:
    for name in ["a.ll", "a.bc"]:
        module.write(tmp_path / name)
        assert llvm.read(tmp_path / name).functions.names == module.functions.names
    assert (tmp_path / "a.ll").read_text() == str(module)
    with pytest.raises(errors.IoError, match=r"writing module example to .*: No such file or directory"):
        module.write(tmp_path / "none" / "a.bc")


def test_values_keep_their_module_alive() -> None:
    kernel = llvm.example().functions["saxpy"]
    body = kernel.blocks["body"]
    del kernel
    gc.collect()
    assert body.function.module.functions["scaled"].name == "scaled"


def test_values_are_equal_and_hash_alike(module: llvm.Module) -> None:
    first, again = module.functions["saxpy"], module.functions["saxpy"]
    assert first == again and first is not again and hash(first) == hash(again)
    assert len({first, again, module.functions["scaled"]}) == 2
    assert first != "saxpy"
    assert module.type("i32") == module.type("i32") and len({module.type("i32"), module.type("i32")}) == 1
    assert module.type("i32") != module.clone().type("i32")


def test_iterating_goes_on_while_the_function_changes(module: llvm.Module) -> None:
    for value in module.functions["saxpy"].instructions:
        if value.opcode == "call" and value.called_function == module.functions["scaled"]:
            value.replace(value.arguments[1])
            value.erase()
    assert "ax" not in module.functions["saxpy"].instructions
    module.verify()


def test_what_was_erased_meanwhile_says_so(module: llvm.Module) -> None:
    body = module.functions["saxpy"].blocks["body"].instructions
    store = body[7]
    store.erase()
    with pytest.raises(errors.NotFoundError, match="this LLVM value is gone: it was erased, or a pass removed it"):
        [value.opcode for value in body]
    assert not store.is_alive
    assert repr(store) == "<Instruction (gone)>"
    assert store == store and store in body
    assert len({store}) == 1


def test_every_member_of_what_is_gone_raises(module: llvm.Module) -> None:
    function = module.add_function("gone", "void ()")
    block = function.add_block("b")
    values: list[Any] = [
        instruction(module, "saxpy", "sum"),
        function,
        block,
        module.add_global("v", "i32", initializer=1),
    ]
    instruction(module, "saxpy", "sum").replace(1.0)
    for value in values[:2] + values[3:]:
        value.erase()
    for value in values:
        names = [name for name in dir(type(value)) if isinstance(getattr(type(value), name), property)]
        for name in names:
            if name in ("module", "is_alive"):
                continue
            if name in ("attributes", "metadata", "result_attributes"):  # views, asked later
                with pytest.raises(errors.NotFoundError):
                    len(getattr(value, name))
                continue
            with pytest.raises(errors.NotFoundError):
                getattr(value, name)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m.functions["saxpy"].instructions["sum"].set_operand(5, 1.0), "setting operand 5 of .*: it has 2"),
        (
            lambda m: m.functions["saxpy"].instructions["sum"].set_operand(0, m.functions["saxpy"]),
            "it is of type float",
        ),
        (lambda m: m.functions["saxpy"].instructions["sum"].set_operand(0, "x"), "'x' is no constant of type float"),
        (
            lambda m: m.functions["saxpy"].instructions["sum"].set_operand(0, m.functions["scaled"].arguments[0]),
            "local to",
        ),
        (lambda m: m.functions["saxpy"].replace(m.functions["saxpy"]), "they are the same"),
        (lambda m: m.functions["saxpy"].replace(1), "1 is no constant of type ptr"),
        (lambda m: m.functions["scaled"].erase(), "it is used 1 time"),
        (lambda m: m.functions["saxpy"].blocks["body"].erase(), "it is used 1 time"),
        (lambda m: m.functions["saxpy"].instructions["sum"].incoming, "is not a phi"),
        (lambda m: m.functions["saxpy"].instructions["sum"].called_function, "is not a call"),
        (lambda m: m.type("i32").element, "type i32 is no vector or array: it is integer"),
        (lambda m: m.type("i32").constant([1, 2]), "2 values are no constant of type i32"),
        (lambda m: m.type("i32").constant(1.5), "1.5 is no constant of type i32"),
        (lambda m: m.type("label").null(), "there is no constant of type label"),
        (lambda m: m.link(m), "module example cannot be linked into itself"),
        (lambda m: m.link(llvm.parse("")), "it is empty"),
        (lambda m: m.add_function("f", "i32"), "i32 is no type of a function"),
        (lambda m: m.add_global("g", "i32", initializer=1.5), "1.5 is no constant of type i32"),
        (lambda m: m.metadata(object()), "metadata is made of"),
        (lambda m: m.run([1]), "a pipeline is made of strings and of passes .* not of int"),
        (lambda m: m.run("default<O2>", timeout=1, isolated=False), "a time limit needs another process"),
        (lambda m: m.functions["saxpy"].instructions["vx"].__setattr__("alignment", 3), "3 is no alignment"),
        (lambda m: m.functions["saxpy"].instructions["vx"].__setattr__("flags", {"nsw"}), "cannot be nsw"),
        (lambda m: m.functions["saxpy"].__setattr__("calling_convention", "ptx_kernal"), "did you mean 'ptx_kernel'"),
        (lambda m: m.functions["saxpy"].__setattr__("name", "scaled"), "the name is taken"),
        (lambda m: m.functions["saxpy"].__setattr__("name", "a\0b"), "a name has no NUL"),
    ],
)
def test_misuse_is_an_exception(module: llvm.Module, action: Callable[[llvm.Module], object], message: str) -> None:
    before = str(module)
    with pytest.raises((errors.InvalidArgumentError, errors.CorruptError), match=message):
        action(module)
    assert str(module) == before
    module.verify()


def test_values_of_another_module_are_refused(module: llvm.Module) -> None:
    other = llvm.example()
    with pytest.raises(errors.InvalidArgumentError, match="a value of module example cannot be used in module example"):
        instruction(module, "saxpy", "sum").replace(instruction(other, "saxpy", "sum"))
    with pytest.raises(errors.InvalidArgumentError, match="a type of module"):
        module.add_global("g", other.type("i32"))
    with pytest.raises(errors.InvalidArgumentError, match="metadata of module"):
        module.add_named_metadata("m", other.metadata(["x"]))
    assert "g" not in module.globals


def test_wrong_python_types_are_named(module: llvm.Module) -> None:
    wrong: Any = module
    word: Any = "a"
    saxpy = wrong.functions["saxpy"]
    build = llvm.Builder(saxpy.instructions["sum"])
    attribute = "saxpy.attributes"
    actions: list[tuple[Callable[[], object], str]] = [
        (lambda: saxpy.replace("x"), "'x' is no constant of type ptr"),
        (lambda: wrong.type(3), r"^Module\.type\(text\) does not take \(int\): "),
        (
            lambda: wrong.link("x"),
            r"^Module\.link\(other\) does not take \(str\): 'str' object has no attribute '_ref'$",
        ),
        (lambda: llvm.parse(wrong), "IR to parse is a str or bytes, not Module"),
        (lambda: wrong.run(3), "Module.run.* does not take .*: 'int' object is not iterable"),
        (lambda: wrong.run("default<O1>", cpu=3), r"Module\.run"),
        (lambda: build.fmul(word, None), "of which type are 'a' and None"),
        (lambda: build.alloca("i32", alignment=2**70), r"Builder\.alloca"),
        (lambda: wrong.functions["saxpy"].attributes.pop(3), f"^{attribute}|Attributes"),
        (lambda: wrong.functions[99], "Values.__getitem__: tuple index out of range"),
        (lambda: wrong.functions["saxpy"].metadata["none"], "AttachedMetadata.__getitem__: there is no none"),
        (lambda: wrong.functions["saxpy"].attributes["none"], "Attributes.__getitem__: there is no none"),
        (lambda: wrong.functions["saxpy"].attributes.pop("\x1b[2J"), r"there is no \\x1b\[2J"),
        (lambda: setattr(wrong, "triple", 3), r"^Module\.triple\(triple\) does not take \(int\)"),
        (lambda: llvm.read("a\0b"), "read"),
        (lambda: llvm.parse("\ud800"), "parse"),
        (lambda: llvm.module_pass(3), "a pass is made of a function and a name, not of 3 and ''"),  # type: ignore[call-overload]
    ]
    for action, message in actions:
        with pytest.raises(errors.MnemeError, match=message):
            action()


def everything(module: llvm.Module) -> list[Any]:
    """One of each class, all of one module."""
    saxpy = module.functions["saxpy"]
    values = [saxpy, module.globals[0], saxpy.arguments["x"], saxpy.blocks["body"], saxpy.instructions["sum"]]
    others = [module, module.type("i32"), module.constant("i32 7"), module.metadata(["x"]), saxpy.attributes]
    return [
        *values,
        *others,
        saxpy.metadata,
        module.functions,
        module.call_graph(),
        saxpy.dominators(),
        saxpy.launch_bounds,
    ]


JUNK: list[Any] = [
    "x",
    "\ud800",
    "\0",
    b"",
    3,
    -1,
    2**70,
    0.5,
    float("nan"),
    None,
    [],
    [None],
    {},
    object(),
    ...,
    print,
]


@pytest.mark.parametrize("place", range(16))
def test_it_raises_only_its_own_errors(place: int) -> None:
    """Whatever it is called with."""

    def one() -> Any:
        module = llvm.example()
        return [*everything(module), llvm.Builder(module.functions["saxpy"].instructions["sum"])][place]

    kind = type(one())
    raised = 0
    for name in dir(kind):
        if (name.startswith("_") and name not in ("__getitem__", "__setitem__", "__delitem__")) or name == "write":
            continue
        member = inspect.getattr_static(kind, name)
        counts = [1] if isinstance(member, property) else [0, 1, 2, 3] if callable(getattr(kind, name)) else []
        if kind is llvm.Module and name == "run":  # which only Python checks the number of
            counts = [1]
        value = one()
        for count, junk in itertools.product(counts, JUNK):
            try:
                if not isinstance(member, property):
                    getattr(value, name)(*[junk] * count)
                elif member.fset is not None:
                    setattr(value, name, junk)
            except errors.MnemeError:
                raised += 1
    assert raised > 10 or kind in (llvm.LaunchBounds, llvm.Metadata)  # there is nothing to call


def test_linking_takes_what_is_missing(module: llvm.Module) -> None:
    more = llvm.parse(
        'target triple = "nvptx64-nvidia-cuda"\n'
        "define float @scaled(float %a, float %x) { ret float 0.0 }\ndefine void @extra() { ret void }"
    )
    module.link(more)
    assert "extra" in module.functions
    assert module.functions["scaled"].instructions[0].opcode == "fmul"
    assert more.functions.names == ["scaled", "extra"]
    with pytest.raises(errors.IncompatibleError, match="the one is for target x86_64"):
        module.link(llvm.parse('target triple = "x86_64-linux-gnu"'))
    module.verify()


@pytest.mark.parametrize("isolated", [True, False])
def test_passes_know_the_processor_and_its_features(isolated: bool) -> None:
    wide = []
    options: list[dict[str, Any]] = [{}, {"cpu": "haswell"}, {"features": "+avx2"}]
    for option in [*options, {"cpu": "haswell", "features": "-avx"}]:
        module = llvm.parse(f'target triple = "x86_64-linux-gnu"{ADDING}')
        module.run("default<O3>", isolated=isolated, **option)
        wide.append("<8 x float>" in str(module))
    assert wide == [False, True, True, False]


def test_what_is_added_to_a_module_is_as_it_was_asked_for(module: llvm.Module) -> None:
    variable = module.add_global("v", "i32", initializer=7, address_space=1, is_constant=True, linkage="internal")
    assert str(variable) == "@v = internal addrspace(1) constant i32 7"
    assert str(module.add_global("outer", "i32")) == "@outer = external global i32"
    assert "declare extern_weak void @f()" in str(module.add_function("f", "void ()", linkage="extern_weak"))
    assert [str(operand) for operand in module.metadata([True, 1, 1.5, "a", None]).operands if operand] == [
        "i1 true",
        "i64 1",
        "double 1.500000e+00",
        "a",
    ]


def test_a_pass_sees_what_stands_before_it() -> None:
    module = llvm.parse("define i32 @f(i32 %x) { %a = add i32 %x, 0 ret i32 %a }")
    seen: list[int] = []

    @llvm.module_pass
    def look(given: llvm.Module) -> None:
        assert given is module
        seen.append(len(given.functions["f"].instructions))

    module.run([look, "function(instcombine)", look])
    module.run("look,module(look,globaldce),default<O1>", passes=[look])
    assert seen == [2, 1, 1, 1]


def test_what_a_pass_raises_goes_through_and_leaves_the_module_as_it_was(module: llvm.Module) -> None:
    @llvm.module_pass
    def fail(given: llvm.Module) -> None:
        given.functions["scaled"].name = "changed"
        raise ZeroDivisionError("in the pass")

    before, kernel = str(module), module.functions["saxpy"]
    with pytest.raises(ZeroDivisionError, match="in the pass"):
        module.run(["default<O1>", fail, "default<O3>"])
    assert str(module) == before
    assert not kernel.is_alive
    with pytest.raises(errors.NotFoundError, match="its module was put back to what it had been before"):
        _ = kernel.name
    module.run("default<O2>")


def test_a_pass_must_leave_valid_ir(module: llvm.Module) -> None:
    @llvm.module_pass
    def damage(given: llvm.Module) -> None:
        given.functions["scaled"].instructions[-1].erase()

    with pytest.raises(errors.CorruptError, match="after pass 'damage': example is not valid LLVM IR"):
        module.run([damage, "default<O3>"])
    module.verify()


def test_a_pass_does_not_run_passes_on_its_module(module: llvm.Module) -> None:
    @llvm.module_pass
    def nest(given: llvm.Module) -> None:
        with pytest.raises(errors.InvalidArgumentError, match="from a pass of its own pipeline"):
            given.run("default<O1>")
        given.clone().run("default<O1>")

    module.run(nest)


def test_passes_have_names_of_their_own(module: llvm.Module) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="a pass cannot be named 'inline': LLVM has one of that name"):
        module.run(llvm.module_pass(name="inline")(print))
    one, other = llvm.module_pass(name="a")(lambda m: None), llvm.module_pass(name="a")(lambda m: None)
    with pytest.raises(errors.InvalidArgumentError, match="two passes of the pipeline are named 'a'"):
        module.run([one, other])


def test_broken_ir_is_refused_before_anything_runs(module: llvm.Module) -> None:
    kernel = module.functions["saxpy"]
    kernel.blocks["body"].instructions["sum"].move_before(kernel.blocks["body"].instructions["vx"])
    for action in [lambda: module.run("default<O2>"), module.bitcode, module.clone, module.verify]:
        with pytest.raises(errors.CorruptError, match="Instruction does not dominate all uses"):
            action()
    assert kernel.is_alive


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("crash", r"ended by signal 11 \(Segmentation fault\) in pass \".*Hostile\" on function \"scaled\""),
        ("exit", r"ended with exit status 3"),
    ],
)
def test_a_plugin_that_crashes_is_an_exception(
    module: llvm.Module, hostile_plugin: str, how: str, message: str
) -> None:
    before, values = str(module), [module.functions["saxpy"], instruction(module, "saxpy", "sum")]
    pipeline = f"function(hostile-{how})"
    expected = rf"^running '{re.escape(pipeline)}' on module example: its process {message}$"
    for _ in range(2):
        with pytest.raises(errors.InternalError, match=expected):
            module.run(pipeline, plugins=[hostile_plugin])
    assert str(module) == before
    assert all(value.is_alive for value in values)
    module.run("default<O2>")


def test_a_pass_that_takes_all_memory_or_never_ends_is_an_exception(module: llvm.Module, hostile_plugin: str) -> None:
    with pytest.raises(errors.InternalError, match=r"its process ended by signal 6 \(Aborted\) in pass"):
        module.run("function(hostile-allocate)", plugins=[hostile_plugin], memory=1 << 29)
    with pytest.raises(
        errors.TimeLimitError, match=r"^running 'function\(hostile-hang\)' on module example: not done after 0\.5 s$"
    ):
        module.run("function(hostile-hang)", plugins=[hostile_plugin], timeout=0.5)


def test_ctrl_c_ends_a_pass_that_never_ends(hostile_plugin: str) -> None:
    code = (
        "import sys\nfrom mneme import llvm\nmodule = llvm.example()\nprint('begins', flush=True)\n"
        "try:\n    module.run('function(hostile-hang)', plugins=[sys.argv[1]])\n"
        "except KeyboardInterrupt:\n    module.run('default<O2>')\n    print('ended')"
    )
    with subprocess.Popen([sys.executable, "-c", code, hostile_plugin], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 0


def test_a_crash_of_llvm_is_an_exception(module: llvm.Module) -> None:
    with pytest.raises(
        errors.InternalError,
        match=r"^running 'trigger-crash-module' on module example: its process ended by signal \d+ \(.*\) in pass "
        r'"trigger-crash-module" on module "example"',
    ):
        module.run("trigger-crash-module")
    with pytest.raises(errors.CorruptError, match="after 'trigger-verifier-error': example is not valid LLVM IR"):
        module.run("trigger-verifier-error")
    with pytest.raises(errors.InvalidArgumentError, match="did you mean 'instcombine'"):
        module.run("instcombin")
    with pytest.raises(
        errors.InvalidArgumentError, match="pass 'p' is a Python function, which an isolated run cannot"
    ):
        module.run(llvm.module_pass(name="p")(print), isolated=True)


def test_functions_and_globals_outlast_an_isolated_run() -> None:
    module = llvm.parse(
        "@kept = global i32 1\n@unused = internal global i32 1\n"
        "define i32 @f(i32 %x) { %a = add i32 %x, 0 ret i32 %a }\ndefine internal void @g() { ret void }"
    )
    kept, unused, f, g = module.globals["kept"], module.globals["unused"], module.functions["f"], module.functions["g"]
    add, argument, kind, node = f.instructions[0], f.arguments[0], f.type, module.metadata("x")
    known = {f: "f", kept: "kept"}
    for _ in range(3):
        module.run("function(instcombine),globaldce")
        assert len(f.instructions) == 1
        assert f == module.functions["f"] and known[module.functions["f"]] == "f" and known[f] == "f"
        assert kept.initializer is not None and known[module.globals["kept"]] == "kept"
    gone = (
        "^this LLVM value is gone: another process ran a pipeline on its module, which only functions, global "
        "variables and aliases outlast; take the value from the module again$"
    )
    actions: list[Callable[[], object]] = [
        lambda: add.opcode,
        lambda: argument.name,
        lambda: unused.name,
        lambda: g.name,
        kind.null,
        lambda: str(node),
    ]
    for action in actions:
        with pytest.raises(errors.NotFoundError, match=gone):
            action()
    assert not add.is_alive and not g.is_alive
    f.name = "other"
    module.run("default<O1>")
    assert f.name == "other" and module.functions.names == ["other"]


def test_a_run_in_this_process_keeps_what_the_passes_leave_alone(module: llvm.Module) -> None:
    total = instruction(module, "saxpy", "sum")
    module.run("function(instcombine)", isolated=False)
    assert total.opcode == "fadd"


def test_what_passes_print_goes_to_standard_error(module: llvm.Module, capsys: pytest.CaptureFixture[str]) -> None:
    module.run("function(print<domtree>)")
    assert "DominatorTree for function: saxpy" in capsys.readouterr().err


def test_isolated_runs_have_the_folder_and_environment_of_now(
    module: llvm.Module, hostile_plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.run("globaldce")
    (tmp_path / "here.so").symlink_to(hostile_plugin)
    monkeypatch.chdir(tmp_path)
    module.run("function(hostile-nothing)", plugins=["here.so"])
    monkeypatch.setenv("MNEME_COMMAND", "/nowhere/mneme")
    with pytest.raises(
        errors.UnavailableError,
        match=r"^running 'globaldce' on module example: starting /nowhere/mneme for the pool: No such file",
    ):
        module.run("globaldce")
    module.run("globaldce", isolated=False)


def test_isolated_runs_in_threads_and_in_forked_processes(hostile_plugin: str) -> None:
    def work(number: int) -> list[str]:
        module = llvm.example()
        if number % 3 == 0:
            with pytest.raises(errors.InternalError, match="Segmentation fault"):
                module.run("function(hostile-crash)", plugins=[hostile_plugin])
        module.run("default<O2>")
        return module.functions.names

    expected = work(0)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(24))) == [expected] * 24
    child = os.fork()
    if child == 0:
        os._exit(0 if work(0) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert work(1) == expected


def test_ir_that_llvm_crashes_on_is_an_exception(tmp_path: Path) -> None:
    # An old intrinsic that the parser takes for what it was, whatever its arguments are; a type as deep as no stack.
    upgraded = """
        declare void @llvm.x86.sse2.storeu.pd(ptr)
        define void @f() { call void @llvm.x86.sse2.storeu.pd(ptr null) ret void }"""
    deep = "@g = global " + "[1 x " * 300_000 + "i8" + "]" * 300_000 + " zeroinitializer"
    for text in (upgraded, deep):
        with pytest.raises(errors.InternalError, match=r"^reading module: its process ended by signal 11"):
            llvm.parse(text)
        (tmp_path / "bad.ll").write_text(text)
        with pytest.raises(errors.InternalError, match=r"^reading .*/bad\.ll: its process ended by signal 11"):
            llvm.read(tmp_path / "bad.ll")


def test_damaged_bitcode_is_an_exception_or_a_module(module: llvm.Module) -> None:
    chance, whole = random.Random(1), module.bitcode()
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        try:
            assert llvm.parse(bytes(damaged)).is_valid
        except (errors.CorruptError, errors.InternalError, errors.IncompatibleError, errors.ExhaustedError):
            continue


def test_a_plugin_that_is_none_is_refused(module: llvm.Module, tmp_path: Path) -> None:
    (tmp_path / "no.so").write_bytes(b"x")
    with pytest.raises(errors.InvalidArgumentError, match="it is no shared library"):
        module.run("default<O1>", plugins=[tmp_path / "no.so"])
    with pytest.raises(errors.NotFoundError, match="there is no such file"):
        module.run("default<O1>", plugins=[tmp_path / "none.so"])


def test_a_module_that_runs_is_refused_to_other_threads() -> None:
    module, go_on, refused = llvm.parse(LOOP), threading.Event(), threading.Event()

    @llvm.module_pass
    def wait(given: llvm.Module) -> None:
        go_on.set()

    def run() -> None:
        for _ in range(200):
            module.run([wait, "default<O3>", wait])
            if refused.is_set():
                return

    thread = threading.Thread(target=run)
    thread.start()
    go_on.wait()
    while thread.is_alive():
        try:
            _ = [value.uses for function in module.functions for value in function.instructions]
        except errors.UnavailableError as failure:
            assert "a pipeline is changing module module: wait for it to end" in str(failure)
            refused.set()
        except errors.NotFoundError:  # the pass removed it
            pass
    thread.join()
    module.verify()


def test_debug_locations() -> None:
    module = llvm.parse(
        """
        define i32 @f(i32 %x) !dbg !3 {
          %a = add i32 %x, 1, !dbg !5
          ret i32 %a
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: "a.cu", directory: "/src")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !3 = distinct !DISubprogram(name: "f", file: !1, line: 7, type: !4, unit: !0, spFlags: DISPFlagDefinition)
        !4 = !DISubroutineType(types: !{})
        !5 = !DILocation(line: 8, column: 3, scope: !3)
        """
    )
    add, end = module.functions["f"].instructions
    assert add.debug_location == llvm.DebugLocation(8, 3, "a.cu", "/src", "f")
    assert end.debug_location is None
    end.copy_debug_location(add)
    assert str(end.debug_location) == "a.cu:8:3"
    add.set_debug_location(9, 1)
    assert str(add.debug_location) == "a.cu:9:1"
    add.remove_debug_location()
    assert add.debug_location is None
    assert module.functions["f"].debug_location.line == 7
    assert module.functions["f"].metadata["dbg"].kind == "DISubprogram"
    assert module.strip_debug_info()
    assert module.functions["f"].debug_location is None


def test_amdgpu_kernels() -> None:
    module = llvm.parse(
        'target triple = "amdgcn-amd-amdhsa"\n'
        "define amdgpu_kernel void @k(ptr addrspace(1) %p) #0 { ret void }\n"
        'attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }'
    )
    (kernel,) = module.kernels
    assert kernel.launch_bounds == llvm.LaunchBounds(workgroup=(1, 256))
    assert kernel.arguments[0].type.address_space == 1


def test_phis_and_comparisons() -> None:
    function = llvm.parse(LOOP).functions["sum"]
    phi = function.instructions["i"]
    assert [block.name for _, block in phi.incoming] == ["entry", "loop"]
    assert function.instructions["again"].predicate == "ult"
    assert function.instructions["next"].flags == {"nuw", "nsw"}
    assert {block.name for block in function.blocks["loop"].predecessors} == {"entry", "loop"}


def test_the_package_is_as_it_says() -> None:
    assert all(hasattr(mneme.llvm, name) for name in llvm.__all__)


def test_recorded_ir_that_a_pass_changed_is_replayed(instance: Any) -> None:
    module = instance.module()
    (kernel,) = [function for function in module.kernels if instance.kernel.name in function.name]

    @llvm.module_pass
    def twice(given: llvm.Module) -> None:
        function = given.functions[kernel.name]
        store = next(i for i in function.instructions if i.opcode == "store" and i.accessed_type == given.type("i32"))
        store.set_operand(0, llvm.Builder(store).mul(store.operands[0], 2))

    assert mneme.replay(instance, mneme.Config(module=module), device="cpu").verified
    module.run(["default<O2>", twice])
    result = mneme.replay(instance, mneme.Config(module=module), device="cpu")
    assert not result.verified and result.failure == "wrong_result"
