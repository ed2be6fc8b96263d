"""mneme.llvm.Builder: what it refuses, and functions that it builds; analyses of them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mneme import errors, llvm


def sum_of(module: llvm.Module) -> llvm.Function:
    """float sum(ptr x, i64 n): a loop over n elements."""
    function = module.add_function("sum", "float (ptr, i64)")
    x, n = function.arguments
    entry, loop, end = (function.add_block(name) for name in ("entry", "loop", "end"))
    llvm.Builder(entry).br(loop)
    build = llvm.Builder(loop)
    i = build.phi("i64", "i", incoming=[(0, entry)])
    total = build.phi("float", "total", incoming=[(0.0, entry)])
    more = build.fadd(total, build.load("float", build.gep("float", x, i, flags={"inbounds"})), "more", flags={"fast"})
    following = build.add(i, 1, "next", flags={"nuw", "nsw"})
    i.add_incoming(following, loop)
    total.add_incoming(more, loop)
    build.cond_br(build.compare("ult", following, n), loop, end)
    llvm.Builder(end).ret(more)
    return function


def test_it_stands_before_and_after_an_instruction() -> None:
    module = llvm.example()
    body = module.functions["saxpy"].blocks["body"]
    total = body.instructions["sum"]
    before, after = llvm.Builder.before(total), llvm.Builder.after(total)
    for name in ("a", "b"):
        before.fneg(body.instructions["ax"], f"before_{name}")
        after.fneg(total, f"after_{name}")
    names = [instruction.name for instruction in body]
    assert names[names.index("before_a") : names.index("after_b") + 1] == [
        "before_a", "before_b", "sum", "after_a", "after_b",
    ]  # fmt: skip
    module.verify()
    assert body.terminator is not None
    with pytest.raises(errors.InvalidArgumentError, match="standing behind 'br label %done': it ends its block"):
        llvm.Builder.after(body.terminator)
    wrong: Any = body
    with pytest.raises(errors.InvalidArgumentError, match="standing before <BasicBlock label %body>: it is no instr"):
        llvm.Builder.before(wrong)
    with pytest.raises(errors.InvalidArgumentError, match="standing behind <BasicBlock label %body>: it is no instr"):
        llvm.Builder.after(wrong)


def test_after_a_phi_is_after_all_phis_and_after_the_last_is_at_the_end() -> None:
    module = llvm.Module("mine", triple="nvptx64-nvidia-cuda")
    loop = sum_of(module).blocks["loop"]
    llvm.Builder.after(loop.instructions["i"]).add(loop.instructions["i"], 7, "extra")
    assert [instruction.name for instruction in loop][:3] == ["i", "total", "extra"]
    module.verify()
    function = module.add_function("open", "i32 (i32)")
    build = llvm.Builder(function.add_block("entry"))
    first = build.add(function.arguments[0], 1, "first")
    llvm.Builder.after(first).ret(first)
    module.verify()


def test_a_block_that_is_in_no_tree_of_dominators_is_refused_on_both_sides() -> None:
    function, other = llvm.example().functions["saxpy"], llvm.example().functions["saxpy"].blocks["body"]
    tree, own = function.dominators(), function.blocks["done"]
    for blocks in ((other, own), (own, other)):
        with pytest.raises(errors.InvalidArgumentError):
            tree.dominates(*blocks)


def test_a_loop_verifies_and_is_optimised() -> None:
    module = llvm.Module("mine", triple="nvptx64-nvidia-cuda")
    function = sum_of(module)
    module.verify()
    (loop,) = function.loops
    assert [block.name for block in (loop.header, *loop.exits)] == ["loop", "end"]
    assert loop.trip_count is None and loop.preheader == function.blocks["entry"]
    assert function.dominators().dominates(function.blocks["loop"], function.blocks["end"])
    assert function.features()["loops"] == 1 and function.features()["single_arithmetic"] == 1
    module.run("default<O3>")
    module.verify()


def test_a_kernel_with_a_barrier_and_an_atomic() -> None:
    module = llvm.example()
    module.add_global("tile", "[128 x float]", initializer=module.type("[128 x float]").undef(), address_space=3)
    kernel = module.functions["saxpy"]
    build = llvm.Builder(kernel.instructions["sum"])
    slot = build.gep("[128 x float]", module.globals["tile"], 0, kernel.instructions["tid"])
    build.store(kernel.instructions["vx"], slot)
    build.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", module.type("i32").constant(0))
    build.atomic_rmw("fadd", kernel.arguments["y"], kernel.arguments["a"], scope="device")
    module.verify()
    features = kernel.features()
    assert features["barriers"] == 1 and features["atomics"] == 1 and features["shared_accesses"] == 1
    module.run("default<O2>", cpu="sm_90")


Action = Callable[[llvm.Module, llvm.Builder], object]


def of(module: llvm.Module, name: str) -> Any:
    kernel = module.functions["saxpy"]
    return next(found for found in (*kernel.arguments, *kernel.blocks, *kernel.instructions) if found.name == name)


def new(module: llvm.Module) -> llvm.BasicBlock:
    return module.functions["saxpy"].add_block()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m, b: b.add(of(m, "tid"), of(m, "a")), "of type i32, the"),
        (lambda m, b: b.add(of(m, "a"), 1.0), "there is none for operands of type float"),
        (lambda m, b: b.add(1, 2), "of which type are 1 and 2"),
        (lambda m, b: b.binary("ad", of(m, "n"), 1), "'ad' is no operation .* did you mean 'add'"),
        (lambda m, b: b.fadd(m.functions["scaled"].arguments["a"], 1.0), "local to function 'scaled'"),
        (lambda m, b: b.fadd(m.functions["saxpy"].instructions[-1], 1.0), "is no constant of type void"),
        (lambda m, b: b.fneg(of(m, "n")), "there is none for operands of type i32"),
        (lambda m, b: b.fadd(llvm.example().functions["saxpy"].arguments["a"], 1.0), "each module has its own"),
        (lambda m, b: b.fadd(of(m, "a"), 1.0, flags={"nsw"}), "cannot be nsw"),
        (lambda m, b: b.fadd(of(m, "a"), 1.0, "a\0b"), "a name has no NUL"),
        (lambda m, b: b.compare("oeq", of(m, "n"), 1), "'oeq' is none of integers or pointers"),
        (lambda m, b: b.select(of(m, "n"), 1.0, of(m, "a")), "building select"),
        (lambda m, b: b.cast("zext", of(m, "n"), "i16"), "there is none from i32 to i16"),
        (lambda m, b: b.cast("zxt", of(m, "n"), "i64"), "'zxt' is no cast; did you mean 'zext'"),
        (lambda m, b: b.cast("bitcast", of(m, "n"), "void"), "there is none from i32 to void"),
        (lambda m, b: b.load("void", of(m, "x")), "there is nothing of type void in memory"),
        (lambda m, b: b.load("i32", of(m, "n")), "is of type i32, and no pointer"),
        (lambda m, b: b.load("i32", of(m, "x"), alignment=3), "3 is no alignment"),
        (lambda m, b: b.load("i32", of(m, "x"), ordering="release"), "a load has no ordering release"),
        (lambda m, b: b.load("i32", of(m, "x"), ordering="aquire"), "did you mean 'acquire'"),
        (lambda m, b: b.load("[3 x i8]", of(m, "x"), ordering="acquire"), r"no access of type \[3 x i8\]"),
        (lambda m, b: b.store(of(m, "tid"), of(m, "n")), "and no pointer"),
        (lambda m, b: b.gep("{ i32, i32 }", of(m, "x"), 0, 2), "has no such element"),
        (lambda m, b: b.gep("i32", of(m, "x"), 0, 0), "type i32 has no such element"),
        (lambda m, b: b.gep("i32", of(m, "x")), "type i32 has no such element"),
        (lambda m, b: b.gep("i32", of(m, "x"), of(m, "a")), "an index is an"),
        (lambda m, b: b.atomic_rmw("ad", of(m, "x"), of(m, "n")), "did you mean"),
        (lambda m, b: b.atomic_rmw("add", of(m, "x"), of(m, "a")), "there is no add"),
        (lambda m, b: b.atomic_rmw("fadd", of(m, "x"), of(m, "a"), ordering=""), "monotonic"),
        (lambda m, b: b.compare_exchange(of(m, "x"), 0, of(m, "a")), "it takes two"),
        (lambda m, b: b.fence("monotonic"), "its ordering is acquire at least"),
        (lambda m, b: b.alloca("void"), "there is nothing of type void in memory"),
        (lambda m, b: b.alloca("label"), "there is nothing of type label in memory"),
        (lambda m, b: b.phi("void"), "there is none of type void"),
        (lambda m, b: b.ret(), "it ends its block, and instruction .* follows"),
        (lambda m, b: llvm.Builder(of(m, "done")).ret(), "the block ends in instruction 'ret void' already"),
        (lambda m, b: llvm.Builder(m.functions["scaled"].add_block()).ret(), "the function returns float"),
        (lambda m, b: llvm.Builder(new(m)).ret(of(m, "n")), "the function returns void"),
        (lambda m, b: llvm.Builder(new(m)).br(m.functions["scaled"].blocks[0]), "local to function 'scaled'"),
        (lambda m, b: llvm.Builder(of(m, "n")), "is not an instruction"),
        (lambda m, b: b.call(m.functions["scaled"], 1.0), "it takes 2 arguments, not 1"),
        (lambda m, b: b.call(m.functions["scaled"], 1.0, of(m, "n")), "argument 1 is of type float, not i32"),
        (lambda m, b: b.call(of(m, "x")), "its function's type is needed"),
        (lambda m, b: b.call(of(m, "n"), type="void ()"), "is of type i32, and no pointer"),
        (lambda m, b: b.call(m.functions["scaled"], type="i32"), "i32 is no type of a function"),
        (lambda m, b: b.intrinsic("llvm.fmaa"), "LLVM has no intrinsic 'llvm.fmaa'"),
        (lambda m, b: b.intrinsic("llvm.fma", of(m, "n")), r"it does not take \(i32\), or its result must"),
        (lambda m, b: b.inline_assembly("", "r", "void ()"), "building inline assembly"),
        (lambda m, b: b.inline_assembly("", "", "i32"), "i32 is no type of a function"),
        (lambda m, b: b.extract_element(of(m, "a"), 0), "it takes a vector and an integer"),
        (lambda m, b: b.shuffle_vector(m.constant("<2 x i8> zeroinitializer"), None, [4]), "it takes two vectors"),
        (lambda m, b: b.extract_value(m.type("{ i32 }").undef(), 1), r"type { i32 } has no element \[1\]"),
        (lambda m, b: b.insert_value(m.type("{ i32 }").undef(), of(m, "a"), 0), "is of type i32, not float"),
        (lambda m, b: b.switch(of(m, "a"), of(m, "done"), {}), "it is on an integer"),
    ],
)  # fmt: skip
def test_what_llvm_does_not_have_is_refused(action: Action, message: str) -> None:
    module = llvm.example()
    kernel = module.functions["saxpy"]
    count = len(kernel.instructions)
    with pytest.raises(errors.InvalidArgumentError, match=message):
        action(module, llvm.Builder(kernel.blocks["body"].instructions[-1]))
    assert len(kernel.instructions) == count


def test_after_at_it_stands_where_it_stood() -> None:
    kernel = llvm.example().functions["saxpy"]
    entry, done = kernel.blocks["entry"].terminator, kernel.blocks["done"].terminator
    assert entry is not None and done is not None
    build = llvm.Builder(done)
    with build.at(entry):
        assert build.fence("seq_cst").block.name == "entry"
    assert build.fence("seq_cst").block.name == "done"
    with pytest.raises(KeyError), build.at(entry):
        raise KeyError
    assert build.block.name == "done"


def test_nothing_stands_before_a_phi() -> None:
    function = sum_of(llvm.Module("mine"))
    with pytest.raises(errors.InvalidArgumentError, match="only phis stand before a phi"):
        llvm.Builder(function.instructions["total"]).add(function.arguments[1], 1)


def test_a_builder_whose_place_is_gone_says_so() -> None:
    kernel = llvm.example().functions["saxpy"]
    store = kernel.blocks["body"].instructions[7]
    build = llvm.Builder(store)
    store.erase()
    with pytest.raises(errors.NotFoundError, match="this LLVM value is gone"):
        build.fence("seq_cst")


def test_new_instructions_get_the_source_line_of_where_they_stand() -> None:
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
    assert str(llvm.Builder(add).mul(add.operands[0], 2).debug_location) == "a.cu:8:3"
    assert str(llvm.Builder(end).mul(add, 2).debug_location) == "a.cu:0:0"


def test_analyses_are_of_valid_ir() -> None:
    function = sum_of(llvm.Module("mine"))
    function.instructions[-1].erase()
    actions: list[Callable[[], object]] = [
        lambda: function.loops,
        function.dominators,
        function.features,
        function.module.call_graph,
    ]
    for action in actions:
        with pytest.raises(errors.CorruptError, match="does not have terminator"):
            action()
    with pytest.raises(errors.InvalidArgumentError, match="is only declared, and has no features"):
        llvm.example().functions[2].features()


def test_analyses_stay_while_the_function_changes() -> None:
    module = llvm.example()
    kernel = module.functions["saxpy"]
    tree, graph = kernel.dominators(), module.call_graph()
    body = kernel.blocks["body"]
    body.instructions["ax"].replace(1.0)
    body.instructions["ax"].erase()
    end = body.instructions["sum"].split_block("rest")
    with pytest.raises(
        errors.InvalidArgumentError, match="is not in the tree: it is never reached, of another function, or newer"
    ):
        tree.immediate(end)
    assert graph.callees(kernel)[module.functions["scaled"]] == 1
    assert module.functions["scaled"] not in module.call_graph().callees(kernel)


def test_the_reference_says_every_feature() -> None:
    text = Path(__file__).parents[2].joinpath("docs/reference/features.md").read_text()
    names = [
        name
        for line in text.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert sorted(names) == sorted(llvm.FEATURES)


def test_a_number_is_a_vector_of_it_where_one_is_wanted() -> None:
    module = llvm.Module("mine")
    function = module.add_function("twice", "<2 x i32> (<2 x i32>)")
    build = llvm.Builder(function.add_block("entry"))
    build.ret(build.add(function.arguments[0], 7, "more"))
    module.verify()
    assert re.search(r"add <2 x i32> %\w+, (splat \(i32 7\)|<i32 7, i32 7>)", str(module))


def test_a_call_has_the_type_that_is_told() -> None:
    module = llvm.Module("mine")
    callee = module.add_function("callee", "void (i32)")
    build = llvm.Builder(module.add_function("caller", "void ()").add_block("entry"))
    assert str(build.call(callee, 1, type="float (i64)", name="r")).strip() == "%r = call float @callee(i64 1)"


def test_a_loop_within_the_first_has_that_as_its_parent() -> None:
    module = llvm.Module("mine")
    function = module.add_function("nested", "void (i1)")
    entry, outer, inner, end = (function.add_block(name) for name in ("entry", "outer", "inner", "end"))
    llvm.Builder(entry).br(outer)
    llvm.Builder(outer).br(inner)
    after = function.add_block("after")
    llvm.Builder(inner).cond_br(function.arguments[0], inner, after)
    llvm.Builder(after).cond_br(function.arguments[0], outer, end)
    llvm.Builder(end).ret()
    module.verify()
    loops = {loop.header.name: loop for loop in function.loops}
    assert loops["outer"].parent is None
    parent = loops["inner"].parent
    assert parent is not None and parent.header == loops["outer"].header


def test_a_kernel_that_is_only_declared_is_none() -> None:
    text = "declare ptx_kernel void @elsewhere()\ndefine ptx_kernel void @there() {\n  ret void\n}\n"
    module = llvm.parse(text)
    assert module.functions["elsewhere"].is_kernel
    assert [kernel.name for kernel in module.kernels] == ["there"]


def test_what_does_not_fit_is_told_with_its_names() -> None:
    module = llvm.example()
    build: Any = llvm.Builder(module.functions["saxpy"].instructions["index"])
    with pytest.raises(errors.InvalidArgumentError, match=r"does not take \(.*nobody=int"):
        build.fneg(module.functions["saxpy"].arguments["a"], nobody=3)


def test_what_a_pointer_calls_is_no_function_that_is_reached() -> None:
    module = llvm.Module("mine")
    caller = module.add_function("caller", "void (ptr)")
    build = llvm.Builder(caller.add_block("entry"))
    build.call(caller.arguments[0], type="void ()")
    build.ret()
    assert module.call_graph().reachable(caller) == {caller}


@pytest.mark.parametrize(
    ("opcode", "flags"),
    [
        *((opcode, {"nsw", "nuw"}) for opcode in ("add", "sub", "mul", "shl")),
        *((opcode, {"exact"}) for opcode in ("udiv", "sdiv", "lshr", "ashr")),
        ("or_", {"disjoint"}),
        *((opcode, {"nnan", "contract"}) for opcode in ("fadd", "fsub", "fmul", "fdiv", "frem")),
    ],
)
def test_what_is_built_has_its_flags(opcode: str, flags: set[str]) -> None:
    module = llvm.Module()
    kind = "float" if opcode.startswith("f") else "i32"
    function = module.add_function("f", f"{kind} ({kind}, {kind})")
    build = llvm.Builder(function.add_block("entry"))
    made = getattr(build, opcode)(*function.arguments, "made", flags=flags)
    assert (made.opcode, made.flags) == (opcode.rstrip("_"), flags)
    assert [operand.name for operand in made.operands] == [argument.name for argument in function.arguments]
    made.flags = set()
    assert made.flags == set()
    made.flags = flags
    assert made.flags == flags


@pytest.mark.parametrize(
    ("opcode", "kind", "type", "flags"),
    [
        ("trunc", "i64", "i32", {"nuw", "nsw"}),
        ("zext", "i32", "i64", {"nneg"}),
        ("uitofp", "i32", "float", {"nneg"}),
        ("fptrunc", "double", "float", {"contract"}),
        ("fpext", "float", "double", {"contract"}),
    ],
)
def test_what_is_converted_has_its_flags(opcode: str, kind: str, type: str, flags: set[str]) -> None:
    module = llvm.Module()
    function = module.add_function("f", f"void ({kind})")
    build = llvm.Builder(function.add_block("entry"))
    made = getattr(build, opcode)(function.arguments[0], type, "made", flags=flags)
    assert (made.opcode, made.type, made.flags) == (opcode, module.type(type), flags)


def test_what_is_assigned_to_globals_is_there() -> None:
    module = llvm.example()
    function, limit = module.functions["scaled"], module.globals["limit"]
    function.linkage, function.visibility, function.alignment = "weak", "hidden", 64
    limit.visibility, limit.alignment, limit.is_constant, limit.initializer = "protected", 16, True, 5
    assert (function.linkage, function.visibility, function.alignment) == ("weak", "hidden", 64)
    assert str(limit) == "@limit = protected addrspace(1) constant i32 5, align 16"
    assert "define weak hidden float @scaled(float %a, float %x) align 64 {" in str(function)
    limit.visibility = "default"
    limit.initializer, limit.is_constant = None, False
    assert str(limit).endswith("addrspace(1) global i32, align 16") and limit.initializer is None
    module.verify()


def test_each_operand_may_be_set_to_a_number() -> None:
    module = llvm.parse("define void @f(i1 %c, i64 %a, ptr %p) { %s = select i1 %c, i64 %a, i64 %a ret void }")
    select = module.functions["f"].instructions["s"]
    for place, value in enumerate((1, 2, 3)):
        select.set_operand(place, value)
    assert str(select).strip() == "%s = select i1 true, i64 2, i64 3"


def test_dominators_are_of_the_ways_from_the_begin_unless_those_to_the_end_are_asked_for() -> None:
    function = llvm.example().functions["saxpy"]
    entry, body, done = function.blocks
    before, after = function.dominators(), function.dominators(post=True)
    assert before.immediate(entry) is None and before.dominates(entry, done) and not before.dominates(done, entry)
    assert after.immediate(done) is None and after.dominates(done, entry) and not after.dominates(entry, done)
    assert body in before and llvm.example().functions["saxpy"].blocks["body"] not in before
    assert len(before) == len(after) == 3
    assert set(before.children(entry)) == {body, done} and after.children(entry) == ()


def test_what_is_called_by_what_is_called_is_reachable() -> None:
    module = llvm.parse(
        "define void @a() { call void @b() call void @b() ret void }\n"
        "define void @b() { call void @c() call void @a() ret void }\n"
        "define void @c() { ret void }\ndefine void @d() { call void @d() ret void }"
    )
    a, b, c, d = module.functions
    graph = module.call_graph()
    assert [graph.reachable(function) for function in (a, b, c, d)] == [{a, b, c}, {a, b, c}, {c}, {d}]
    assert (graph.callers(b), graph.callers(c), graph.callers(d)) == ({a: 2}, {b: 1}, {d: 1})
    assert graph.callees(b) == {c: 1, a: 1}


def test_dominators_that_are_made_by_themselves_are_of_the_ways_from_the_begin() -> None:
    function = llvm.example().functions["saxpy"]
    entry, _, done = function.blocks
    tree = llvm.DominatorTree(function)
    assert tree.immediate(entry) is None and tree.immediate(done) == entry


def test_indices_into_structures_within_structures_are_of_the_type_that_each_takes() -> None:
    module = llvm.parse("%inner = type { i64, i8 }\ndefine void @f(ptr %p, i64 %i) { ret void }")
    function = module.functions["f"]
    build = llvm.Builder(next(iter(function.instructions)))
    source = module.type("{ i32, [4 x { i64, i8 }] }")
    made = build.gep(source, function.arguments["p"], 0, 1, 2, 1)
    assert str(made).strip() == "%1 = getelementptr { i32, [4 x { i64, i8 }] }, ptr %p, i64 0, i32 1, i64 2, i32 1"
    made = build.gep(source, function.arguments["p"], function.arguments["i"], 1, function.arguments["i"], 0)
    assert str(made).endswith("ptr %p, i64 %i, i32 1, i64 %i, i32 0")
    module.verify()


def test_inline_assembly_of_a_type_that_is_no_function_is_refused() -> None:
    build = llvm.Builder(llvm.example().functions["saxpy"].instructions["index"])
    with pytest.raises(errors.InvalidArgumentError) as error:
        build.inline_assembly("bar.sync 0;", "", "i32")
    assert str(error.value) == "building inline assembly in basic block '%body': i32 is no type of a function"


def test_what_accesses_nothing_has_neither_type_nor_pointer() -> None:
    module = llvm.parse(
        "define void @f(i64 %a, ptr %p) { %s = add i64 %a, 1 %l = load i8, ptr %p store i64 %s, ptr %p ret void }"
    )
    told = [
        (each.opcode, None if each.accessed_type is None else str(each.accessed_type), each.pointer)
        for each in module.functions["f"].instructions
    ]
    pointer = module.functions["f"].arguments["p"]
    assert told == [("add", None, None), ("load", "i8", pointer), ("store", "i64", pointer), ("ret", None, None)]


@pytest.mark.parametrize(
    ("given", "text"), [("streamed", '!{!"streamed"}'), (["streamed"], '!{!"streamed"}'), (4, "!{i64 4}")]
)
def test_what_is_attached_is_a_node(given: Any, text: str) -> None:
    load = next(each for each in llvm.example().functions["saxpy"].instructions if each.opcode == "load")
    for _ in range(2):  # the second takes the place of the first
        load.metadata["my.note"] = given
        assert (load.metadata["my.note"].kind, str(load.metadata["my.note"])) == ("tuple", text)
    load.metadata["my.other"] = load.metadata["my.note"]
    assert load.metadata["my.other"] == load.metadata["my.note"] and list(load.metadata) == ["my.note", "my.other"]


def test_what_is_long_is_shown_cut() -> None:
    module = llvm.Module()
    argument = module.add_function("f", "void (i32)").arguments[0]
    argument.name = "a" * 55  # 60 characters with the type
    assert repr(argument) == f"<Argument i32 %{'a' * 55}>"
    argument.name = "a" * 56
    assert repr(argument) == f"<Argument i32 %{'a' * 52}...>"
