"""What a kernel's code shows of its launch."""

from mneme import llvm
from mneme.errors import InternalError
from mneme.tune.space.indexing import ANY, Direction, directions_of

COUNTS_THREADS = Direction(blocks=False, reason="blockIdx.x counts threads only")
COUNTS_BLOCKS = Direction(threads=False, reason="blockIdx.x counts no threads")
NO_BLOCK_SIZE = Direction(sizes=False, reason="the kernel does not read blockDim.x")

HEAD = """
target triple = "{triple}"
{more}
{reads}
define ptx_kernel void @kernel(ptr %out, i32 %n, i32 %pitch) {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  {body}
  %at = getelementptr i32, ptr %out, i32 %i
  store i32 %n, ptr %at
  ret void
}}
"""
REGISTERS = {"block": "ctaid.x", "size": "ntid.x", "blocks": "nctaid.x"}


def x_of(*body: str, triple: str = "nvptx64-nvidia-cuda", more: str = "") -> Direction:
    """Of a kernel that writes to place %i: %block, %size and %blocks are what it may read besides %thread."""
    # What is not used is as if it were not there.
    read = [f"%{name} = call i32 @llvm.nvvm.read.ptx.sreg.{register}()" for name, register in REGISTERS.items()]
    declared = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()" for name in ("tid.x", *REGISTERS.values()))
    source = HEAD.format(triple=triple, more=more, reads=declared, body="\n  ".join([*read, *body]))
    return directions_of(llvm.parse(source))["x"]


def test_blocks_of_threads() -> None:
    assert x_of("%first = mul i32 %block, %size", "%i = add i32 %first, %thread") == COUNTS_THREADS
    # Several elements for each thread, and in 64 bits.
    body = ("%a = zext i32 %block to i64", "%b = zext i32 %size to i64", "%c = shl i64 %a, 3", "%d = mul i64 %b, %c")
    assert x_of(*body, "%e = trunc i64 %d to i32", "%i = add i32 %e, %thread") == COUNTS_THREADS
    # A warp for each row.
    rows = ("%warps = lshr i32 %size, 5", "%first = mul i32 %block, %warps", "%warp = lshr i32 %thread, 5")
    assert x_of(*rows, "%i = add i32 %first, %warp") == COUNTS_THREADS


def test_grid_stride_may_have_any_grid() -> None:
    body = ("%first = mul i32 %block, %size", "%all = mul i32 %blocks, %size", "%j = add i32 %first, %thread")
    assert x_of(*body, "%i = add i32 %j, %all") == ANY


def test_a_row_for_each_block() -> None:
    assert (
        x_of("%row = mul i32 %block, %pitch", "%j = add i32 %row, %thread", "%i = add i32 %j, %size") == COUNTS_BLOCKS
    )
    assert x_of("%i = add i32 %thread, %size") == COUNTS_BLOCKS  # of one block


def test_rows_that_blocks_go_on_with() -> None:
    loop = ("br label %loop", "loop:", "%row = phi i32 [ %block, %0 ], [ %next, %loop ]")
    body = ("%first = getelementptr i32, ptr %out, i32 %row", "store i32 1, ptr %first")
    again = ("%next = add i32 %row, %blocks", "%more = icmp ult i32 %next, %n", "br i1 %more, label %loop, label %end")
    assert x_of(*loop, *body, *again, "end:", "%i = add i32 %thread, %size") == COUNTS_BLOCKS


def test_a_block_that_is_built_in() -> None:
    assert x_of("%first = shl i32 %block, 5", "%i = add i32 %first, %thread") == NO_BLOCK_SIZE


def test_a_direction_in_which_threads_are_alike() -> None:
    module = llvm.parse(
        """
        target triple = "nvptx64-nvidia-cuda"
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        define ptx_kernel void @kernel(ptr %out) {
          %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %at = getelementptr i32, ptr %out, i32 %i
          store i32 1, ptr %at
          ret void
        }
        """
    )
    assert directions_of(module)["y"] == Direction(sizes=False, reason="the kernel does not read threadIdx.y")


def test_where_the_code_does_not_show_it_all_is_possible() -> None:
    threads = ("%first = mul i32 %block, %size", "%i = add i32 %first, %thread")
    assert x_of(*threads, triple="amdgcn-amd-amdhsa") == ANY
    # The index of the block is used as such, too.
    assert x_of(*threads, "%own = getelementptr i32, ptr %out, i32 %block", "store i32 1, ptr %own") == ANY
    # Blocks overlap.
    assert x_of("%inner = sub i32 %size, 2", "%first = mul i32 %block, %inner", "%i = add i32 %first, %thread") == ANY
    # It goes to where it cannot be followed.
    assert x_of("store i32 %block, ptr %out", "%i = add i32 %thread, %size") == ANY
    assert x_of(*threads, "call void @other()", more="declare void @other()") == ANY
    assert x_of(*threads, "call void @llvm.nvvm.exit()", more="declare void @llvm.nvvm.exit()") == COUNTS_THREADS
    assert x_of(*threads, 'call i32 asm "mov.u32 $0, %ntid.x;", "=r"()') == ANY
    cluster = "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()"
    reads = ("%rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()", "store i32 %rank, ptr %out")
    assert x_of(*threads, *reads, more=cluster) == ANY


def plane_of(*body: str) -> dict[str, Direction]:
    """Of a kernel in x and y, which writes to place %i: it may read %tid.x, %ntid.y and so on."""
    registers = [f"{register}.{name}" for register in ("tid", "ntid", "ctaid", "nctaid") for name in "xy"]
    declared = [f"declare i32 @llvm.nvvm.read.ptx.sreg.{register}()" for register in registers]
    reads = [f"%{register} = call i32 @llvm.nvvm.read.ptx.sreg.{register}()" for register in registers]
    writes = ["%at = getelementptr i32, ptr %out, i32 %i", "store i32 1, ptr %at", "ret void"]
    text = [*declared, "define ptx_kernel void @kernel(ptr %out) {", *reads, *body, *writes, "}"]
    return directions_of(llvm.parse("\n".join(['target triple = "nvptx64-nvidia-cuda"', *text])))


def test_each_direction_is_known_by_what_is_read_of_it() -> None:
    in_x = ("%a = mul i32 %ctaid.x, %ntid.x", "%b = add i32 %a, %tid.x")
    rows = ("%c = mul i32 %ctaid.y, 7", "%d = add i32 %c, %tid.y", "%e = add i32 %d, %ntid.y")
    assert plane_of(*in_x, *rows, "%i = add i32 %b, %e") == {
        "x": COUNTS_THREADS,
        "y": Direction(threads=False, reason="blockIdx.y counts no threads"),
        "z": Direction(sizes=False, reason="the kernel does not read threadIdx.z"),
    }
    # The grid's size in the other direction says nothing of this one.
    assert plane_of(*in_x, "%i = add i32 %b, %nctaid.y")["x"] == COUNTS_THREADS
    assert plane_of(*in_x, "%i = add i32 %b, %nctaid.x")["x"] == ANY
    # Nor has a block as many threads in x as it has in y.
    other = ("%a = mul i32 %ctaid.x, %ntid.y", "%b = add i32 %a, %tid.x", "%i = add i32 %b, %ntid.x")
    assert plane_of(*other)["x"] == COUNTS_BLOCKS


def test_what_llvm_refuses_shows_nothing() -> None:
    class Broken:
        triple = "nvptx64-nvidia-cuda"

        def run(self, pipeline: str) -> None:
            raise InternalError(f"{pipeline} crashed")

    assert directions_of(Broken()) == {"x": ANY, "y": ANY, "z": ANY}  # type: ignore[arg-type]


def test_a_kernel_whose_threads_take_work_from_a_counter() -> None:
    module = llvm.parse(
        """
        target triple = "nvptx64-nvidia-cuda"
        define ptx_kernel void @kernel(ptr %next) {
          %i = atomicrmw add ptr %next, i32 1 seq_cst
          ret void
        }
        """
    )
    assert directions_of(module) == {"x": ANY, "y": ANY, "z": ANY}


def test_what_a_function_reads_counts() -> None:
    """Called, not inlined yet, over memory: as clang makes it before optimisation."""
    module = llvm.parse(
        """
        target triple = "nvptx64-nvidia-cuda"
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
        declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
        define internal i32 @size() alwaysinline {
          %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
          ret i32 %size
        }
        define ptx_kernel void @kernel(ptr %out) {
          %slot = alloca i32
          %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
          store i32 %block, ptr %slot
          %size = call i32 @size()
          %again = load i32, ptr %slot
          %first = mul i32 %again, %size
          %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %i = add i32 %first, %thread
          %at = getelementptr i32, ptr %out, i32 %i
          store i32 1, ptr %at
          ret void
        }
        """
    )
    assert directions_of(module)["x"] == COUNTS_THREADS
