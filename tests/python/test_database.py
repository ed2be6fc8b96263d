"""Database, kernels, instances and their memory; and what damage says."""

import gc
import io
import json
import shutil
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme import _native
from mneme.errors import (
    CorruptError,
    IncompatibleError,
    InvalidArgumentError,
    MnemeError,
    NotFoundError,
    UnsupportedError,
)

HASH = "2860ab17c62173867bb5cfae93fbb671"
INSTANCE = "59779c44a50d4083720688bc55d52bf9"


@pytest.mark.parametrize(
    "key", ["scale", "scale(int*, int, int)", "_Z5scalePiii", HASH, HASH[:4], "^sc.le", HASH.upper()]
)
def test_finds_a_kernel_by_hash_name_or_expression(database: mneme.Database, key: str) -> None:
    assert database[key].hash == HASH
    assert key in database
    assert database.get(key) is database[key]


def test_is_a_mapping(database: mneme.Database) -> None:
    assert list(database) == [HASH]
    assert [kernel.name for kernel in database.values()] == ["_Z5scalePiii"]
    assert len(database) == 1
    assert database.get("nothing") is None
    assert 3 not in database  # type: ignore[comparison-overlap]
    assert database.damaged == []


def test_says_which_kernels_there_are(database: mneme.Database) -> None:
    with pytest.raises(NotFoundError) as raised:
        database["vadd"]
    assert (
        str(raised.value) == f"no kernel in {database.path} matches 'vadd'; there are\n  {HASH}  scale(int*, int, int)"
    )
    assert isinstance(raised.value, KeyError)
    with pytest.raises(NotFoundError):
        database["("]
    with pytest.raises(InvalidArgumentError, match=r"^a kernel is named by text: .*; not 3$"):
        database[3]  # type: ignore[index]
    with pytest.raises(InvalidArgumentError, match=r"^looking for kernels: '\(' is no regular expression: missing \)"):
        database.find("(")


def test_a_kernels_file_is_a_database_of_that_kernel(recordings: Path) -> None:
    assert list(mneme.Database(recordings / f"{HASH}.json")) == [HASH]


def test_says_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        mneme.Database(tmp_path / "nowhere")
    with pytest.raises(NotFoundError):
        mneme.Database(tmp_path / f"{HASH}.json")
    for wrong in (3, None, b"bytes", "a\0b", "\ud800"):
        with pytest.raises(InvalidArgumentError) as raised:
            mneme.Database(wrong)  # type: ignore[arg-type]
        assert str(raised.value) == f"opening a database: a path is expected, not {wrong!r}"


def test_has_what_was_recorded(instance: mneme.Instance) -> None:
    kernel = instance.kernel
    assert (kernel.demangled, kernel.target, kernel.architecture) == ("scale(int*, int, int)", "nvptx", "sm_90")
    assert kernel.pipeline == ""  # which version 1 does not have
    assert mneme.Database(Path(__file__).parents[1] / "corpora" / "2.1")["scale"].pipeline == "default<O2>"
    assert (instance.hash, instance.grid, instance.block) == (INSTANCE, (313, 1, 1), (128, 1, 1))
    assert (instance.shared_memory, instance.cooperative, instance.device_kind) == (0, False, "cpu")
    assert instance.recorded_time is None
    assert instance.shape_launches is None  # which no version before 2.2 has
    assert mneme.Database(Path(__file__).parents[1] / "corpora" / "2.2")["scale"][0].shape_launches == {"count": 1}
    assert (instance.memory, instance.memory_extent) == (160120, "all")
    reached = mneme.Database(Path(__file__).parents[1] / "corpora" / "2.3")["scale"][0]
    assert (reached.memory, reached.memory_extent) == (160020, "reachable")
    assert instance.disk_size() > 0
    instance.check()
    data, n, factor = instance.arguments
    assert (data.name, data.kind, data.type, data.size, data.value) == ("data", "pointer", "ptr", 8, 0x7A0000000200)
    assert (n.kind, n.value, factor.value) == ("integer", 40000, 3)
    assert repr(data) == "Argument('data', ptr, 0x7a0000000200)"


def test_a_kernel_without_ir_has_its_programs_code() -> None:
    kernel = mneme.Database(Path(__file__).parents[1] / "corpora" / "3.0")["scale"]
    assert kernel.code == "ptx"
    assert kernel.image()[:4] == b"\x7fELF"
    assert b".visible .entry _Z5scalePiii(" in kernel.image("ptx")
    with pytest.raises(
        InvalidArgumentError, match=r"^an image of a kernel's code is 'cubin', 'ptx' or 'hsaco', not 'sass'$"
    ):
        kernel.image("sass")
    instance = kernel[0]
    assert (instance.cluster, instance.attributes) == (None, {"programmatic_stream_serialization": "1"})
    assert [(argument.kind, argument.name, argument.type) for argument in instance.arguments] == [
        ("opaque", "", "")
    ] * 3
    assert repr(instance.arguments[2]) == "Argument('', opaque, b'\\x03\\x00\\x00\\x00')"
    assert list(instance.buffers()) == ["0", "odd", "table", "scaled", "0x7a0000000000+100"]
    instance.check()
    with pytest.raises(UnsupportedError, match=r"the kernel was recorded as PTX, without LLVM IR$"):
        instance.bitcode()
    with pytest.raises(UnsupportedError, match=r"^the kernel was recorded as PTX, without LLVM IR: .*not on the CPU"):
        mneme.Session(instance, device="cpu")


def test_a_kernel_of_amds_has_its_programs_code_object() -> None:
    kernel = mneme.Database(Path(__file__).parents[1] / "corpora" / "2.5")["scale"]
    assert (kernel.code, kernel.target, kernel.has_image) == ("ir", "amdgcn", True)
    assert kernel.image()[:4] == b"\x7fELF"
    assert kernel.image() == kernel.image("hsaco")


def test_a_program_that_was_built_for_mneme_has_no_images(instance: mneme.Instance) -> None:
    assert instance.kernel.code == "ir"
    with pytest.raises(NotFoundError, match=r"the kernel was recorded without an image of the kind cubin$"):
        instance.kernel.image()


def test_goes_into_a_file_and_into_other_databases(database: mneme.Database, tmp_path: Path) -> None:
    database["scale"][0].export(tmp_path / "one.mneme")
    received = mneme.Database.import_(tmp_path / "one.mneme", tmp_path / "received")
    assert [launch.hash for launch in received["scale"]] == [INSTANCE]
    received["scale"][0].check()
    database.export(tmp_path / "all.mneme")
    copied = received.copy(tmp_path / "copied")
    assert mneme.Database.import_(tmp_path / "all.mneme", copied.path)["scale"].instances == copied["scale"].instances
    (tmp_path / "short.mneme").write_bytes((tmp_path / "one.mneme").read_bytes()[:3000])
    with pytest.raises(CorruptError, match="it was cut short"):
        mneme.Database.import_(tmp_path / "short.mneme", tmp_path / "none")


def test_finds_an_instance(database: mneme.Database) -> None:
    kernel = database["scale"]
    assert kernel[0] == kernel[-1] == kernel[INSTANCE] == kernel[INSTANCE[:3]]
    assert list(kernel) == list(kernel[:]) == list(kernel.instances)
    assert kernel[0] in kernel
    with pytest.raises(NotFoundError) as raised:
        kernel["abc"]
    assert str(raised.value) == (
        f"no instance of scale(int*, int, int) begins with 'abc'; there are\n"
        f"  #0  {INSTANCE}  grid 313x1x1, block 128x1x1, 156 KiB"
    )
    with pytest.raises(IndexError, match=r"^scale\(int\*, int, int\) has 1 instance, and none at 1$"):
        kernel[1]
    with pytest.raises(InvalidArgumentError, match=r"^an instance is named by its index or hash, not by 1.5$"):
        kernel[1.5]  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["", "scale", "#0", "scale#0,0", "ca", "_Z5scalePiii", f"{HASH}#0", HASH[:4]])
def test_launches_go_by_the_names_that_commands_take(database: mneme.Database, name: str) -> None:
    assert database.launches(name) == (database["scale"][0],)


def test_launches_that_are_not_there(recordings: Path, database: mneme.Database) -> None:
    with pytest.raises(
        NotFoundError, match=r"^scale\(int\*, int, int\) has 1 instance, numbered from 0, and none is #1$"
    ):
        database.launches("scale#1")
    with pytest.raises(NotFoundError, match="matches 'vadd'; there are\n"):
        database.launches("vadd#0")
    with pytest.raises(NotFoundError, match=r"none is #7$"):
        mneme.Database(f"{recordings / HASH}.json#7").launches()
    assert mneme.Database(f"{recordings / HASH}.json#0").launches()[0].hash == INSTANCE
    with pytest.raises(InvalidArgumentError, match=r"not by 3$"):
        database.launches(3)  # type: ignore[arg-type]


def test_memory_is_as_it_was_recorded(instance: mneme.Instance) -> None:
    import numpy

    buffers = instance.buffers()
    data, table = buffers["data"], buffers["table"]
    before = numpy.arange(40000, dtype=numpy.int32)
    assert (data.kind, data.element, data.address, data.size, len(data)) == (
        "argument",
        "i32",
        0x7A0000000200,
        160000,
        40000,
    )
    assert numpy.array_equal(data.prologue, before)
    assert numpy.array_equal(data.epilogue, before * 3 + table.prologue[before % 4])
    assert data.prologue.dtype == data.dtype == numpy.int32
    assert table.kind == "global"
    assert buffers["odd"].prologue.tolist() == [0]
    assert buffers["odd"].epilogue.tolist() == [int((data.epilogue % 2).sum())]
    unknown = buffers["0x7a0000000000+100"]
    assert (unknown.kind, unknown.element, unknown.dtype) == ("allocation", None, numpy.dtype("uint8"))
    assert unknown.epilogue.tolist() == [7] * 100
    assert buffers[0].name == "data"
    assert buffers["scaled"].kind == "annotation"


def write_document(folder: Path, document: dict[str, Any]) -> None:
    """A kernel's file, under the checksum that it has then."""
    document.pop("checksum", None)
    compact = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["checksum"] = _native.digest_of(compact.encode())
    (folder / f"{document['kernel']['static_hash']}.json").write_text(json.dumps(document))


def with_launches(folder: Path, *grids: int) -> mneme.Database:
    """A database whose kernel has a launch of each grid; their hashes begin with the same digits."""
    document = json.loads((folder / f"{HASH}.json").read_text())
    (recorded,) = document["instances"]
    document["instances"] = []
    for grid in grids:
        digest = f"abc{grid}".ljust(32, "0")
        files = {each: f"DeviceState.{each}.{HASH}.{digest}.mneme" for each in ("prologue", "epilogue")}
        document["instances"].append(recorded | {"dynamic_hash": digest, "grid": [grid, 2, 3], **files})
    write_document(folder, document)
    return mneme.Database(folder)


def test_several_launches_are_in_the_order_of_recording(copied_recordings: Path) -> None:
    database = with_launches(copied_recordings, 5, 4, 6)
    kernel = database["scale"]
    assert [instance.grid for instance in kernel] == [(5, 2, 3), (4, 2, 3), (6, 2, 3)]
    assert (kernel[1], kernel[-1]) == (kernel["abc4"], kernel["abc6"])
    assert kernel[1:] == (kernel[1], kernel[2]) and kernel[1] != kernel[2]
    assert database.launches("scale#2,0") == (kernel[2], kernel[0])
    with pytest.raises(NotFoundError, match=r"3 instances, and none at 3$"):
        kernel[3]
    with pytest.raises(NotFoundError):
        kernel["abc"]
    with pytest.raises(MnemeError):
        database.launches("scale")
    with pytest.raises(InvalidArgumentError, match=r"not by ''$"):
        kernel[""]


@pytest.mark.parametrize(
    ("kind", "type", "raw", "value"),
    [
        ("integer", "i32", "feffffff", -2),
        ("integer", "i8", "80", -128),
        ("integer", "i64", "0000000000000080", -(1 << 63)),
        ("pointer", "ptr", "00000000000000f0", 0xF000000000000000),
        ("floating", "half", "00c0", -2.0),
        ("floating", "float", "0000c03f", 1.5),
        ("floating", "double", "000000000000f8bf", -1.5),
        ("floating", "bfloat", "c03f", b"\xc0\x3f"),
        ("aggregate", "{ i32 }", "02000000", b"\2\0\0\0"),
    ],
)
def test_the_value_of_an_argument_is_of_its_type(
    copied_recordings: Path, kind: str, type: str, raw: str, value: Any
) -> None:
    document = json.loads((copied_recordings / f"{HASH}.json").read_text())
    size = len(raw) // 2
    parameter = {"alignment": size, "kind": kind, "name": "a", "offset": 8, "size": size, "type": type}
    document["kernel"]["parameters"][1:] = [parameter]
    document["instances"][0]["parameters"] = ("00" * 8 + raw).ljust(32, "0")
    write_document(copied_recordings, document)
    assert mneme.Database(copied_recordings)["scale"][0].arguments[1] == mneme.Argument("a", kind, type, size, value)


def test_an_argument_without_a_name_goes_by_its_index(copied_recordings: Path) -> None:
    document = json.loads((copied_recordings / f"{HASH}.json").read_text())
    document["kernel"]["parameters"][0]["name"] = ""
    write_document(copied_recordings, document)
    instance = mneme.Database(copied_recordings)["scale"][0]
    buffers = instance.buffers()
    assert buffers[0] is buffers["0"] and buffers[0].kind == "argument"
    assert "\n  #0 " in repr(instance)


def annotate(folder: Path, annotations: list[tuple[int, int, str, str]]) -> None:
    """Gives the recorded launch annotations, each an address, a number of bytes, a tag and a type."""
    document = json.loads((folder / f"{HASH}.json").read_text())
    document["instances"][0]["annotations"] = [
        {"address": f"{address:#x}", "bytes": size, "tag": tag, "tolerance": f"{type}, 1, absolute"}
        for address, size, tag, type in annotations
    ]
    write_document(folder, document)


def test_each_type_of_element_has_its_own_of_numpy(copied_recordings: Path) -> None:
    types = {
        **{f"{sign}{bits}": f"{sign}nt{bits}".replace("unt", "uint") for sign in "iu" for bits in (8, 16, 32, 64)},
        **{"f16": "float16", "f32": "float32", "f64": "float64", "complex64": "complex64", "complex128": "complex128"},
        **{"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8"},
    }
    annotate(copied_recordings, [(0x7A0000001000 + 512 * place, 320, type, type) for place, type in enumerate(types)])
    buffers = mneme.Database(copied_recordings)["scale"][0].buffers()
    assert {type: str(buffers[type].dtype) for type in types} == types
    for type in types:
        assert buffers[type].element == type
        assert len(buffers[type]) == len(buffers[type].prologue) == 320 // buffers[type].dtype.itemsize


def test_an_annotation_is_of_its_own_bytes(copied_recordings: Path) -> None:
    """Of a part of an allocation it says nothing of the rest."""
    allocation, part = "0x7a0000000000+100", (0x7A0000000000, 40, "part", "i32")
    annotate(copied_recordings, [part])
    buffers = mneme.Database(copied_recordings)["scale"][0].buffers()
    assert list(buffers) == ["data", "odd", "table", "part", allocation]
    assert (buffers["part"].size, buffers["part"].prologue.tolist()) == (40, [0x07070707] * 10)
    assert (buffers[allocation].element, buffers[allocation].size) == (None, 100)
    annotate(copied_recordings, [(0x7A0000000000, 100, "whole", "u16")])
    buffers = mneme.Database(copied_recordings)["scale"][0].buffers()
    assert (buffers[allocation].element, len(buffers[allocation])) == ("u16", 50)


def test_a_launch_is_another_where_it_lies_elsewhere(instance: mneme.Instance, copied_recordings: Path) -> None:
    here, there = mneme.Database(copied_recordings), mneme.Database(copied_recordings)["scale"][0]
    assert here["scale"][0] == there and hash(here["scale"][0]) == hash(there)
    assert there != instance and (there.kernel.hash, there.hash) == (instance.kernel.hash, instance.hash)


def with_others(folder: Path, *names: str) -> mneme.Database:
    """A database with more kernels than there were."""
    document = json.loads((folder / f"{HASH}.json").read_text())
    for number, name in enumerate(names):
        other = f"{number + 1:032x}"
        document["kernel"] |= {"demangled": name, "name": f"_Z{number}", "static_hash": other}
        document["ir"]["file"], document["instances"] = f"RecordedIR_{other}.bc", []
        write_document(folder, document)
    return mneme.Database(folder)


def test_a_name_that_is_of_several_kernels_is_of_none(copied_recordings: Path) -> None:
    database = with_others(copied_recordings, "void rescale<float>(float*, int)", "fill(int*)", "fill(float*)")
    assert len(database) == 4
    assert database["^rescale$"].demangled == "void rescale<float>(float*, int)"
    assert "scale" in database and "fill" not in database and ".*cale" not in database
    with pytest.raises(NotFoundError) as raised:
        database[".*cale"]
    assert str(raised.value).startswith(f"2 kernels in {copied_recordings} match '.*cale': choose one by its hash\n  ")
    with pytest.raises(NotFoundError, match="choose"):
        database["fill"]
    assert database.get("fill(int*)") is not None


def test_numbers_behind_a_name_go_before_those_behind_a_file(recordings: Path) -> None:
    database = mneme.Database(f"{recordings / HASH}.json#0")
    with pytest.raises(NotFoundError, match=r"none is #1$"):
        database.launches("scale#1")
    assert mneme.Database(f"{recordings / HASH}.json#7").launches("#0")[0].hash == INSTANCE


def test_what_is_called_alike_is_all_there(copied_recordings: Path) -> None:
    """A program may give an annotation the name of an argument: the second of a name goes by its range."""
    annotations = [(0x7A0000000200, 400, "data", "i32"), (0x7A0000000400, 400, "twice", "i32")]
    annotate(copied_recordings, [*annotations, (0x7A0000000600, 400, "twice", "i32")])
    buffers = mneme.Database(copied_recordings)["scale"][0].buffers()
    assert list(buffers) == [
        "data", "odd", "table", "0x7a0000000200+400", "twice", "0x7a0000000600+400", "0x7a0000000000+100",
    ]  # fmt: skip
    second = buffers["0x7a0000000600+400"]
    assert (second.kind, second.address, second.size, second.element) == ("annotation", 0x7A0000000600, 400, "i32")
    assert second.prologue.tolist() == list(range(256, 356))


def test_memory_is_not_copied_and_cannot_be_written(instance: mneme.Instance) -> None:
    import numpy

    buffers = instance.buffers()
    first, second, annotated = buffers["data"].prologue, buffers["data"].prologue, buffers["scaled"].prologue
    assert numpy.shares_memory(first, second)
    assert numpy.shares_memory(first, annotated)
    assert not numpy.shares_memory(first, buffers["data"].epilogue)
    assert numpy.shares_memory(buffers["table"].prologue, buffers["table"].epilogue)  # which the kernel does not write
    assert not first.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        first.flags.writeable = True


def test_memory_lives_as_long_as_its_arrays(instance: mneme.Instance) -> None:
    buffers: Any = instance.buffers()
    array = buffers["data"].epilogue
    gone = weakref.ref(buffers["data"])
    del buffers
    gc.collect()
    assert gone() is None
    assert array[1] == 9


def test_says_which_buffers_there_are(instance: mneme.Instance) -> None:
    buffers = instance.buffers()
    for wrong in ("out", 1, 3, -1, None):
        with pytest.raises(NotFoundError) as raised:
            buffers[wrong]  # type: ignore[index]
        assert (
            str(raised.value) == f"there is no buffer {wrong!r}; there are data, odd, table, scaled, 0x7a0000000000+100"
        )
    assert "out" not in buffers
    assert buffers.get("out") is None


@pytest.mark.parametrize("what", ["database", "kernel", "instance", "buffers", "result"])
def test_shows_itself(what: str, database: mneme.Database) -> None:
    import rich.console

    kernel = database["scale"]
    values: dict[str, Callable[[], Any]] = {
        "database": lambda: database,
        "kernel": lambda: kernel,
        "instance": lambda: kernel[0],
        "buffers": lambda: kernel[0].buffers(),
        "result": lambda: mneme.replay(kernel[0], mneme.Config(grid=1), device="cpu"),
    }
    value = values[what]()
    wanted = {
        "database": "scale(int*",
        "kernel": "313x1x1",
        "instance": "40000",
        "buffers": "table",
        "result": "wrong",
    }[what]
    console = rich.console.Console(file=io.StringIO(), width=200)
    console.print(value)
    assert wanted in console.file.getvalue()  # type: ignore[attr-defined]
    assert wanted in repr(value)
    assert wanted in value._repr_html_()
    assert "<table>" in value._repr_html_()


def test_a_kernel_numbers_its_instances_as_commands_take_them(database: mneme.Database) -> None:
    kernel = database["scale"]
    assert f"\n  #0  {kernel[0].hash[:12]}  313x1x1" in repr(kernel)
    assert database.launches("scale#0") == (kernel[0],)


def test_the_type_of_an_argument_is_shown_without_control_characters() -> None:
    argument = mneme.Argument("a", "aggregate", "{ i32, \x1b[2J }", 4, b"1234")
    assert repr((argument,)) == r"(Argument('a', { i32, \x1b[2J }, b'1234'),)"


def test_the_tables_have_what_was_recorded(copied_recordings: Path) -> None:
    document = json.loads((copied_recordings / f"{HASH}.json").read_text())
    document["kernel"]["source"] = "a.cu:9"
    write_document(copied_recordings, document)
    database = mneme.Database(copied_recordings)
    kernel = database["scale"]
    tables = [value._table() for value in (database, kernel, kernel[0], kernel[0].buffers())]
    name = "scale(int*, int, int)"
    assert [table.title for table in tables] == [
        f"Database {copied_recordings}: 1 kernel",
        f"Kernel {name}, {HASH}: 1 instance",
        f"Instance {INSTANCE} of {name}",
        f"Memory of {name}",
    ]
    of_database, of_kernel, of_instance, of_memory = (table.rows for table in tables)
    assert [dict(zip(table.columns, table.rows[0], strict=True)) for table in (tables[0], tables[1], tables[3])] == [
        {"static hash": HASH[:12], "kernel": name, "for": "sm_90", "instances": "1", "source": "a.cu:9"},
        {
            **{"": "#0", "dynamic hash": INSTANCE[:12], "grid": "313x1x1", "block": "128x1x1", "memory": "156 KiB"},
            **{"on": "cpu", "recorded": "2026-11-21T14:35:41Z"},
        },
        {"name": "data", "kind": "argument", "elements": "i32", "size": "156 KiB", "address": "0x7a0000000200"},
    ]
    assert (len(of_database), len(of_kernel), len(of_memory)) == (1, 1, 5)
    assert of_memory[-1][2:] == ["bytes", "100 B", "0x7a0000000000"]
    assert of_instance == [
        ["grid, block", "313x1x1, 128x1x1", ""],
        ["data", "0x7a0000000200", "ptr"],
        ["n", "40000", "i32"],
        ["factor", "3", "i32"],
        ["memory", "156 KiB", "recorded on AMD EPYC (cpu), 2026-11-21T14:35:41Z"],
    ]


def test_what_is_shown_is_text_and_no_markup() -> None:
    import rich.console
    from mneme._views import Table

    table = Table("a<b>", ["[red]x"], [["<script>"]])
    assert "<script>" not in table.html()
    assert "&lt;script&gt;" in table.html()
    assert table.text() == "a<b>\n  [red]x\n  <script>"
    console = rich.console.Console(file=io.StringIO(), width=80)
    console.print(Table("[b]a", ["[red]x"], [["[i]y"]]).rich())
    assert all(text in console.file.getvalue() for text in ("[b]a", "[red]x", "[i]y"))  # type: ignore[attr-defined]


# What a user may find in a folder: each way a file can be damaged, and what is said of it.


def damage(file: Path, offset: int) -> None:
    content = bytearray(file.read_bytes())
    content[offset] ^= 0x55
    file.write_bytes(content)


def test_a_damaged_kernels_file_is_told(copied_recordings: Path) -> None:
    shutil.copy(copied_recordings / f"{HASH}.json", copied_recordings / f"{'0' * 32}.json")
    database = mneme.Database(copied_recordings)
    assert list(database) == [HASH]
    (damaged,) = database.damaged
    assert isinstance(damaged, CorruptError)
    assert str(damaged).startswith(f"{copied_recordings}/{'0' * 32}.json: ")
    assert "1 kernel, 1 damaged file" in repr(database)
    with pytest.raises(CorruptError) as raised:
        database["vadd"]
    assert str(raised.value) == f"no kernel in {copied_recordings} matches 'vadd', and not all can be read: {damaged}"
    with pytest.raises(CorruptError):
        mneme.Database(copied_recordings / f"{'0' * 32}.json")


def test_a_changed_kernels_file_is_told(copied_recordings: Path) -> None:
    file = copied_recordings / f"{HASH}.json"
    file.write_text(file.read_text().replace('"cooperative": false', '"cooperative": true'))
    (damaged,) = mneme.Database(copied_recordings).damaged
    assert str(damaged).startswith(f"{file}: ")
    assert "checksum" in str(damaged)


def test_a_version_that_the_checksum_belies_is_damage(copied_recordings: Path) -> None:
    file = copied_recordings / f"{HASH}.json"
    file.write_text(file.read_text().replace('"major": 1', '"major": 9'))
    (damaged,) = mneme.Database(copied_recordings).damaged
    assert isinstance(damaged, CorruptError)
    assert "/version/major: the format version is 9.1" in str(damaged)


def test_a_newer_format_is_told(copied_recordings: Path) -> None:
    """A version that has no checksum to be tried: the file says no more than that it is of a later Mneme."""
    file = copied_recordings / f"{HASH}.json"
    file.write_text('{"format": "mneme kernel", "version": {"major": 9, "minor": 0}}\n')
    (damaged,) = mneme.Database(copied_recordings).damaged
    assert isinstance(damaged, IncompatibleError)


def test_damaged_memory_is_told(copied_recordings: Path) -> None:
    database = mneme.Database(copied_recordings)
    instance = database["scale"][0]
    (pack,) = (copied_recordings / "pages").iterdir()
    damage(pack, 100)
    buffers = instance.buffers()
    with pytest.raises(CorruptError) as raised:
        [buffer.prologue for buffer in buffers.values()]
    assert str(pack) in str(raised.value)
    assert "offset" in str(raised.value)
    with pytest.raises(CorruptError):
        instance.check()


@pytest.mark.parametrize("moment", ["prologue", "epilogue"])
def test_damaged_lists_of_pages_are_told(copied_recordings: Path, moment: str) -> None:
    instance = mneme.Database(copied_recordings)["scale"][0]
    (state,) = copied_recordings.glob(f"DeviceState.{moment}.*")
    damage(state, 60)
    with pytest.raises(CorruptError) as raised:
        instance.buffers()
    assert str(state) in str(raised.value)
    state.unlink()
    with pytest.raises(MnemeError):
        instance.buffers()


def test_damaged_code_is_told(copied_recordings: Path) -> None:
    instance = mneme.Database(copied_recordings)["scale"][0]
    (code,) = copied_recordings.glob("*.bc")
    damage(code, 200)
    for read in (instance.bitcode, instance.buffers, instance.check):
        with pytest.raises(CorruptError) as raised:
            read()
        assert str(code) in str(raised.value)


def test_code_is_bitcode(instance: mneme.Instance, tmp_path: Path) -> None:
    file = tmp_path / "code.bc"
    file.write_bytes(instance.bitcode())
    assert instance.bitcode().startswith(b"BC\xc0\xde")
    kernel = Path(instance.database.path) / f"{HASH}.json"
    command = ["mneme", "replay", "-rdb", str(kernel), "--device", "cpu", "--iterations", "1", "--ir", str(file)]
    subprocess.run(command, capture_output=True, check=True)
