"""Config: what it takes, what it refuses and in which words, and IR that travels with it."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import mneme
import pytest
from mneme.errors import InvalidArgumentError, IoError


def test_has_the_members_that_were_given() -> None:
    config = mneme.Config(
        passes="default<O1>",
        pass_plugins=[Path("plugin.so")],
        grid={"x": 4, "z": None},
        block=(16, 8),
        shared_memory=1024,
        specialise={"arguments": ("n",), "dimensions": True},
        codegen={"level": 1},
        assembler={"max_registers": 64},
        execution={"iterations": 3, "stop": "relative_error", "relative_error": 0.5},
        tolerance=["data: f32, 1e-5, relative", {"buffer": "odd", "type": "i32", "threshold": 1, "error": "absolute"}],
        verdict={"mask": False},
    )
    assert config.to_dict() == {
        "passes": "default<O1>",
        "pass_plugins": ["plugin.so"],
        "grid": {"x": 4},
        "block": {"x": 16, "y": 8},
        "shared_memory": 1024,
        "specialise": {"arguments": ["n"], "dimensions": True},
        "codegen": {"level": 1},
        "assembler": {"max_registers": 64},
        "execution": {"iterations": 3, "stop": "relative_error", "relative_error": 0.5},
        "tolerance": [
            {
                "buffer": "data",
                "type": "f32",
                "threshold": 1e-5,
                "error": "relative",
                "norm": "none",
                "nan": "recorded",
            },
            {"buffer": "odd", "type": "i32", "threshold": 1, "error": "absolute", "norm": "none", "nan": "recorded"},
        ],
        "verdict": {"mask": False},
    }


def test_what_older_versions_called_otherwise_is_taken() -> None:
    plain = mneme.Config(verdict={"mask": False})
    by_path: dict[str, Any] = {"verdict.poison": False}
    former = [
        mneme.Config(verdict={"poison": False}),
        mneme.Config(**by_path),
        mneme.Config(verdict={"mask": True}).replace(**{"verdict.poison": False}),
        mneme.Config.from_dict({"verdict": {"poison": False}}),
        mneme.Config.from_json('{"verdict": {"poison": false}}'),
    ]
    assert former == [plain] * 5
    assert {config.digest for config in former} == {plain.digest}
    assert plain.replace(**{"verdict.poison": None}) == mneme.Config()
    with pytest.raises(InvalidArgumentError, match=r"is the former name of 'verdict\.mask', and both are given"):
        mneme.Config(verdict={"poison": False, "mask": False})


@pytest.mark.parametrize("block", [128, (128,), [128, None, None], {"x": 128}, {"x": 128, "y": None}])
def test_extents_are_given_by_number_order_or_name(block: Any) -> None:
    assert mneme.Config(block=block) == mneme.Config(block=128)


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy

    config = mneme.Config(
        block=numpy.int32(64),
        keep_threads=numpy.bool_(True),  # type: ignore[arg-type]
        execution={"relative_error": numpy.float32(0.5)},
    )
    assert config == mneme.Config(block=64, keep_threads=True, execution={"relative_error": 0.5})


def test_none_is_as_if_it_were_not_given() -> None:
    assert mneme.Config(passes=None, block=None, grid=None) == mneme.Config()


def test_is_a_value() -> None:
    config = mneme.Config(block=64, tolerance=["data: i32, 1, absolute"])
    for same in (
        mneme.Config.from_dict(config.to_dict()),
        mneme.Config.from_json(config.to_json()),
        pickle.loads(pickle.dumps(config)),
        copy.deepcopy(config),
        eval(repr(config), {"Config": mneme.Config}),
    ):
        assert same == config
        assert hash(same) == hash(config)
        assert same.digest == config.digest
    assert config != mneme.Config(block=65)
    assert config != "block"
    assert len({config, mneme.Config(block=64), mneme.Config(block=64)}) == 2
    with pytest.raises(AttributeError, match=r"a Config does not change: use config.replace\(passes=…\)"):
        config.passes = "default<O0>"
    with pytest.raises(AttributeError, match="a Config does not change"):
        del config._value


def test_takes_members_by_their_paths() -> None:
    paths: dict[str, Any] = {"block.x": 64, "codegen.level": 1, "grid.x": None}
    assert mneme.Config(**paths) == mneme.Config().replace(**paths) == mneme.Config(block=64, codegen={"level": 1})
    assert mneme.Config(block=(1, 4), **paths).to_dict()["block"] == {"x": 64, "y": 4}


def test_replaces_members_by_their_paths() -> None:
    config = mneme.Config(block=(32, 4), codegen={"level": 1})
    assert config.replace() == config
    assert config.replace(block=64).to_dict()["block"] == {"x": 64}
    assert config.replace(**{"block.x": 64}).to_dict()["block"] == {"x": 64, "y": 4}
    assert config.replace(**{"codegen.level": None}) == mneme.Config(block=(32, 4))
    assert config.replace(codegen=None, block=None) == mneme.Config()
    assert config.replace(**{"execution.iterations": 3}).to_dict()["execution"] == {"iterations": 3}
    assert config == mneme.Config(block=(32, 4), codegen={"level": 1})
    with pytest.raises(InvalidArgumentError, match=r"^configuration: 'passes.x' is no member: 'passes' has none$"):
        config.replace(**{"passes.x": 1})


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"blok": 1}, "configuration: unknown key 'blok'; the nearest is 'block'"),
    ({"block": {"w": 1}}, "configuration: unknown key 'block.w'; there are: block.x, block.y, block.z"),
    (
        {"execution": {"iteration": 1}},
        "configuration: unknown key 'execution.iteration'; the nearest is 'execution.iterations'",
    ),
    ({"passes": 3}, "configuration: 'passes' must be a string, not 3"),
    (
        {"block": "64"},
        "configuration: 'block' must be a whole number, up to three of them, or an object with x, y and z, not '64'",
    ),
    ({"block.w": 1}, "configuration: unknown key 'block.w'; there are: block.x, block.y, block.z"),
    ({"passes": "", "passes.x": 1}, "configuration: 'passes.x' is no member: 'passes' has none"),
    ({"block": 1.5}, "configuration: 'block.x' must be a whole number from 0 to 4294967295, not 1.5"),
    ({"block": True}, "configuration: 'block.x' must be a whole number from 0 to 4294967295, not true"),
    ({"block": -1}, "configuration: 'block.x' must be a whole number from 0 to 4294967295, not -1"),
    ({"block": 2**64}, "configuration: 'block.x' has no room in 64 bits"),
    ({"block": (1, 2, 3, 4)}, "configuration: 'block' has one to three extents, not 4"),
    ({"block": ()}, "configuration: 'block' has one to three extents, not 0"),
    ({"codegen": {"level": 4}}, "configuration: 'codegen.level' must be a whole number from 0 to 3, not 4"),
    ({"codegen": {"ftz": "yes"}}, "configuration: 'codegen.ftz' must be one of recorded, on, off, not \"yes\""),
    ({"keep_threads": 1}, "configuration: 'keep_threads' must be true or false, not 1"),
    ({"pass_plugins": "a.so"}, "configuration: 'pass_plugins' must be an array of strings, not \"a.so\""),
    ({"pass_plugins": b"a.so"}, "configuration: 'pass_plugins' cannot be of type bytes: "),
    (
        {"codegen": {"level": {1}}},
        "configuration: 'codegen.level' cannot be of type set: give numbers, text, True or False, ",
    ),
    ({"pass_plugins": ["a.so", {2}]}, "configuration: 'pass_plugins[1]' cannot be of type set: give numbers, text, "),
    ({"codegen": {1: 2}}, "configuration: 'codegen' has a key of type int: keys are text"),
    ({"passes": "\ud800"}, "configuration: 'passes' has characters that are no Unicode"),
    (
        {"specialise": {"arguments": ["\ud800"]}},
        "configuration: 'specialise.arguments[0]' has characters that are no Unicode",
    ),
    (
        {"execution": {"relative_error": float("nan")}},
        "configuration: 'execution.relative_error' must be a number from 1e-06 to 1, not null",
    ),
    ({"tolerance": ["data: f31, 1"]}, "reading the tolerance "),
    ({"tolerance": "data: f32, 1"}, "configuration: 'tolerance' must be an array, not \"data: f32, 1\""),
    ({"module": 3}, "configuration: 'module' must be IR with a bitcode(), as mneme.llvm.Module has it, not int"),
]


@pytest.mark.parametrize(("members", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_refuses_what_is_wrong_and_says_what(members: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        mneme.Config(**members)
    assert str(raised.value).startswith(message)
    assert isinstance(raised.value, ValueError)


def test_a_member_called_self_is_unknown_as_any_other() -> None:
    members: dict[str, Any] = {"self": 1}
    for call in (mneme.Config, mneme.Config().replace):
        with pytest.raises(InvalidArgumentError, match="unknown key 'self'"):
            call(**members)


def test_refuses_what_refers_to_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises((InvalidArgumentError, RecursionError)):
        mneme.Config(pass_plugins=endless)
    deep: Any = {}
    for _ in range(100):
        deep = {"x": deep}
    with pytest.raises(InvalidArgumentError, match="is nested too deeply"):
        mneme.Config(codegen=deep)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "configuration: the text is no JSON"),
        ("[]", "configuration: an object is expected, not []"),
        ("\ud800", "configuration: its text has characters that are no Unicode"),
        (b"{}", "configuration: its JSON must be text, not bytes"),
    ],
)
def test_refuses_text_that_is_none_of_its_own(text: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        mneme.Config.from_json(text)
    assert str(raised.value) == message


def test_reads_what_a_replay_prints(recordings: Path, tmp_path: Path) -> None:
    import subprocess

    config = mneme.Config(passes="default<O1>", block=64, keep_threads=True, execution={"iterations": 1})
    file = tmp_path / "config.json"
    file.write_text(config.to_json())
    kernel = next(recordings.glob("*.json"))
    command = ["mneme", "replay", "-rdb", str(kernel), "--device", "cpu", "--config", str(file)]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert printed["result"]["verified"]
    assert mneme.Config.from_dict(printed["configuration"]) == config


class Ir:
    """As mneme.llvm.Module has it."""

    def __init__(self, bytes_: Any) -> None:
        self._bytes = bytes_

    def bitcode(self) -> Any:
        return self._bytes


def test_ir_in_memory_travels_with_it(
    instance: mneme.Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEME_IR_DIR", str(tmp_path / "ir"))
    bitcode = instance.bitcode()
    config = mneme.Config(module=Ir(bitcode))
    members = config.to_dict()
    assert members["ir"] == str(tmp_path / "ir" / f"{members['ir_digest']}.bc")
    assert Path(members["ir"]).read_bytes() == bitcode
    assert mneme.Config(module=Ir(bitcode)) == config
    assert [file.name for file in (tmp_path / "ir").iterdir()] == [f"{members['ir_digest']}.bc"]
    assert mneme.replay(instance, mneme.Config.from_json(config.to_json()), device="cpu").verified
    Path(members["ir"]).write_bytes(bitcode + bitcode)
    changed = mneme.replay(instance, config, device="cpu")
    assert changed.failure == "compile_error"
    assert "has changed: its digest is" in changed.reason
    assert config.replace(ir="other.ll").to_dict() == {"passes": "as-built", "ir": "other.ll"}
    Path(members["ir"]).write_bytes(bitcode[:100])
    assert mneme.Config(module=Ir(bitcode)) == config
    assert Path(members["ir"]).read_bytes() == bitcode, "a file that was cut off is written anew"
    assert Path(members["ir"]).stat().st_mode & 0o777 == 0o644, "logs that name it are others' to read too"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEME_IR_DIR", "here")
    assert mneme.Config(module=Ir(bitcode)).to_dict()["ir"] == str(tmp_path / "here" / f"{members['ir_digest']}.bc")


def test_a_wrong_member_is_named_by_its_own_path() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^configuration: 'block\.y' cannot be of type bytes: "):
        mneme.Config.from_dict({"codegen": {"level": 1}, "pass_plugins": ["a.so"], "block": {"x": 32, "y": b"1"}})


def test_many_members_side_by_side_are_not_deep() -> None:
    config = mneme.Config(tolerance=[f"b{number}: f32, 1e-5, relative" for number in range(100)])
    assert mneme.Config.from_dict(config.to_dict()) == config and len(config.to_dict()["tolerance"]) == 100


def test_ir_in_memory_has_a_place_that_lasts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from mneme import _kept_ir

    monkeypatch.delenv("MNEME_IR_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert _kept_ir.folder() == str(tmp_path / "mneme" / "ir")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert _kept_ir.folder() == "/home/somebody/.local/share/mneme/ir"


def test_of_ir_that_could_not_be_kept_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("MNEME_IR_DIR", str(tmp_path / "ir"))
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(IoError, match="No space left on device"):
            mneme.Config(module=Ir(b"BC"))
    assert list((tmp_path / "ir").iterdir()) == []
    assert Path(mneme.Config(module=Ir(b"BC")).to_dict()["ir"]).read_bytes() == b"BC"


def test_ir_in_memory_that_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MNEME_IR_DIR", str(tmp_path / "file" / "ir"))
    with pytest.raises(IoError) as raised:
        mneme.Config(module=Ir(b"BC"))
    assert str(raised.value).startswith(
        f"keeping the IR of a configuration in {tmp_path}/file/ir (MNEME_IR_DIR names another folder): "
    )
    with pytest.raises(InvalidArgumentError, match=r"^configuration: the module's bitcode\(\) gave no bytes, but str$"):
        mneme.Config(module=Ir("text"))
    with pytest.raises(InvalidArgumentError, match="'module' and 'ir' are given, and only one can take the place"):
        mneme.Config(module=Ir(b"BC"), ir="a.bc")


def test_changed_code_goes_back_into_a_configuration(instance: mneme.Instance) -> None:
    module = instance.module()
    assert mneme.replay(instance, mneme.Config(module=module), device="cpu").verified
    module.run("default<O1>")
    config = mneme.Config(module=module)
    assert config != mneme.Config(module=instance.module())
    with mneme.Executor(instance, device="cpu") as executor:
        assert executor.submit(config).result().verified


def test_reads_what_a_replay_leaves(tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    file.write_text('{"configuration": {"passes": "default<O1>", "block": {"x": 64}}, "time": 1000}')
    assert mneme.Config.read(file) == mneme.Config.read(str(file)) == mneme.Config(passes="default<O1>", block=64)
    (tmp_path / "sweep.json").write_text('{"mneme_sweep": 1, "configuration": {}}')
    for wrong, said in (
        (
            tmp_path / "sweep.json",
            "is what a sweep was asked for, and no configuration; the best one that was found is in",
        ),
        (tmp_path, "is a folder; the best one that was found is in"),
    ):
        with pytest.raises(InvalidArgumentError) as raised:
            mneme.Config.read(wrong)
        assert f"{wrong} {said} {file}" in str(raised.value)
    with pytest.raises(mneme.errors.NotFoundError):
        mneme.Config.read(tmp_path / "none.json")
    with pytest.raises(InvalidArgumentError, match=r"^reading the configuration: a path is expected, not 3$"):
        mneme.Config.read(3)  # type: ignore[arg-type]
