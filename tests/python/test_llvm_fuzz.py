"""mneme.llvm under random use: whatever is done, the answer is a value or an exception, and what verifies compiles."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings
from mneme import errors, llvm

TYPES = ["i1", "i8", "i32", "i64", "half", "float", "double", "ptr", "ptr addrspace(3)", "<4 x float>", "<2 x i32>"]
TYPES += ["[3 x i16]", "{ i32, float }", "void", "label", "metadata", "void (i32)"]
BINARY = ["add", "sub", "mul", "udiv", "sdiv", "shl", "xor", "fadd", "fmul", "fdiv", "nonsense"]
CASTS = [
    "trunc",
    "zext",
    "sext",
    "fptrunc",
    "fpext",
    "fptosi",
    "sitofp",
    "ptrtoint",
    "inttoptr",
    "bitcast",
    "addrspacecast",
]
PREDICATES = ["eq", "ult", "sge", "oeq", "une", "ord", ""]
INTRINSICS = [
    "llvm.fma",
    "llvm.sqrt",
    "llvm.umax",
    "llvm.ctpop",
    "llvm.memcpy",
    "llvm.assume",
    "llvm.nvvm.barrier0",
    "llvm.x",
]


def values(module: llvm.Module, kept: list[Any]) -> list[Any]:
    functions = list(module.functions)
    found: list[Any] = [*kept, *functions, *module.globals]
    for function in functions:
        found += [*function.arguments, *function.blocks, *function.instructions]
    return found


def act(draw: Any, module: llvm.Module, kept: list[Any]) -> None:
    everything = values(module, kept)

    def value() -> Any:
        chosen = draw(st.one_of(st.integers(0, len(everything) - 1), st.sampled_from([0.5, None, -1, "x"])))
        return everything[chosen] if isinstance(chosen, int) and chosen >= 0 else chosen

    def text(choices: list[str]) -> str:
        return str(draw(st.sampled_from(choices)))

    a, b, c = value(), value(), value()
    kept.append(a)
    number = draw(st.integers(-3, 9))
    build = llvm.Builder(a) if draw(st.booleans()) else None
    actions: list[Any] = [
        lambda: None if isinstance(a, str) else a.replace(b),  # a text has one of its own
        lambda: a.erase(),
        lambda: a.set_operand(number, b),
        lambda: a.move_before(b),
        lambda: a.move_after(b),
        lambda: a.copy_before(b),
        lambda: a.split_block(),
        lambda: a.add_incoming(b, c),
        lambda: a.remove_incoming(b),
        lambda: setattr(a, "name", draw(st.text(max_size=4))),
        lambda: setattr(a, "flags", {text(["fast", "nsw", "nuw", "exact", "inbounds", "tail", "zz"])}),
        lambda: setattr(a, "alignment", number),
        lambda: setattr(a, "linkage", text(["internal", "external", "weak_odr", "available_externally", "x"])),
        lambda: setattr(a, "initializer", b),
        lambda: a.attributes.add(text(["noinline", "noalias", "align 16", "memory(none)", "convergent", "}"])),
        lambda: a.metadata.__setitem__(text(["dbg", "range", "my.kind", "tbaa"]), [1, "x", None]),
        lambda: a.delete_body(),
        lambda: a.add_block("more"),
        lambda: (a.uses, a.operands, str(a), repr(a), a.type, a.users),
        lambda: (a.loops, a.dominators(), a.features()),
        lambda: module.type(text(TYPES)).constant(
            draw(st.one_of(st.integers(), st.floats(), st.lists(st.integers(), max_size=4)))
        ),
        lambda: module.type(text(TYPES)).null(),
        lambda: module.type(draw(st.text(alphabet="i<x>[]{}(), *%@0123abf.", max_size=8))),
        lambda: module.constant(draw(st.text(alphabet="i32 <x>[]{}()@saxpy%0123.", max_size=12))),
        lambda: module.add_global(draw(st.text(max_size=3)), text(TYPES), initializer=b),
        lambda: module.add_function(draw(st.text(max_size=3)), text(TYPES)),
        lambda: module.run(
            text(["default<O1>", "default<O3>", "function(sroa,gvn)", "globaldce", "nonsense", "inline"]),
            isolated=draw(st.sampled_from([False, False, False, None])),
        ),
        lambda: module.clone(),
        lambda: module.link(module.clone()),
        lambda: module.call_graph(),
    ]
    if build is not None:
        actions += [
            lambda: build.binary(text(BINARY), b, c),
            lambda: build.compare(text(PREDICATES), b, c),
            lambda: build.cast(text(CASTS), b, text(TYPES)),
            lambda: build.select(a, b, c),
            lambda: build.load(text(TYPES), b, alignment=abs(number)),
            lambda: build.store(b, c, ordering=text(["", "monotonic", "seq_cst"])),
            lambda: build.gep(text(TYPES), b, c, number),
            lambda: build.atomic_rmw(text(["add", "fadd", "xchg"]), b, c),
            lambda: build.compare_exchange(a, b, c),
            lambda: build.alloca(text(TYPES)),
            lambda: build.phi(text(TYPES), incoming=[(b, c)]),
            lambda: build.br(b),
            lambda: build.cond_br(a, b, c),
            lambda: build.switch(a, b, {number: c}),
            lambda: build.ret(b),
            lambda: build.unreachable(),
            lambda: build.call(b, c, a),
            lambda: build.intrinsic(text(INTRINSICS), b, c),
            lambda: build.extract_value(b, number),
            lambda: build.insert_element(b, c, number),
            lambda: build.shuffle_vector(b, c, [number, 0]),
            lambda: build.inline_assembly("", draw(st.text(alphabet="=r,~{}", max_size=4)), text(TYPES), b),
        ]
    kept.append(draw(st.sampled_from(actions))())


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(st.data())
def test_whatever_is_done_is_a_value_or_an_exception(data: Any) -> None:
    module = llvm.example()
    kept: list[Any] = []
    for _ in range(data.draw(st.integers(1, 25))):
        try:
            act(data.draw, module, kept)
        except (errors.MnemeError, AttributeError):  # of Python: what a None does not have
            continue
    str(module)
    if module.is_valid:
        module.run("default<O2>", isolated=False)
        assert llvm.parse(module.bitcode(), isolated=False).is_valid
