# Every option of every command, every key of a configuration and every key of a result has its line in the reference.
expect 0 python3 - "$CASE_FOLDER/../.." <<'P'
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
missing = []


def output(*command):
    return subprocess.run(["mneme", *command], capture_output=True, text=True, check=True).stdout


# Options: in the command's own section, or in that of replay where it says that the others are as there.
sections = {}
for section in re.split(r"^##+ ", (root / "docs/reference/cli.md").read_text(), flags=re.M):
    words = section.split()
    sections[words[1] if words[0] == "mneme" else words[0]] = section
commands = re.findall(r"^  (\w+) ", output("help").split("\nCommands:\n")[1], re.M)
commands = [command for command in commands if command not in ("tune", "report")]  # the Python package's own tests have these
assert len(commands) >= 13, commands
for command in commands:
    told = sections[command]
    if re.search("as for\\s+`mneme (replay|diff)`", told):
        told += sections["replay"] + sections["diff"]
    help_text = output(command, "--help-all")
    if "--run-timeout" in help_text:
        told += sections["Limits"]
    for names in re.findall(r"^  (-\S+)", help_text, re.M):
        for name in names.split(","):
            spellings = [name, name[1:]] if name.startswith("--") else [name]
            if name not in ("-h", "--help", "--help-all") and not any(re.search(rf"[`(\[ |]{re.escape(s)}[`=)\]| ]", told) for s in spellings):
                missing.append(f"docs/reference/cli.md, mneme {command}: {name}")

# Keys: the first cell of a row, alone or behind that of its section.
reference = (root / "docs/reference/result.md").read_text()
told = set(re.findall(r"`([\w.]+)`", " ".join(re.findall(r"^\| (.*?) \|", reference, re.M))))
SECTIONS = {"CodegenOptions": ["codegen."], "AssemblerOptions": ["assembler."], "SpecialiseOptions": ["specialise."],
            "Execution": ["execution."], "Verdict": ["verdict."], "ExtentOverride": ["grid.", "block."], "BufferTolerance": [""],
            "Configuration": [""]}
source = (root / "mneme/replay/configuration.cc").read_text()
found = re.findall(r"void list_fields\(Fields& fields, (\w+)& \w+\) \{(.*?)^\}", source, re.M | re.S)
assert len(found) == len(SECTIONS), found
for kind, body in found:
    for field, key in re.findall(r'fields\.(\w+)\("(\w+)"', body):
        for prefix in SECTIONS[kind] if field != "section" else []:
            if prefix + key not in told:
                missing.append(f"docs/reference/result.md, configuration: {prefix}{key}")
parts = {part for key in told for part in key.split(".")}
for name, least in ("replay/result_json.cc", 70), ("snapshot/recorded_time.cc", 4):
    text = (root / "mneme" / name).read_text().split("const Json* MemberReader::find")[0]
    keys = re.findall(r'\{"(\w+)", (?!ReplayStage::|CacheUse::)', text) + re.findall(r'\["(\w+)"\]', text)
    keys += re.findall(r'\.(?:member|always|choice|derived|derived_in|section)\((?:"\w+", )??"(\w+)"', text)
    assert len(keys) >= least, (name, len(keys))
    missing += [f"docs/reference/result.md, result: {key}" for key in keys if key not in parts]

# Errors: every code is a heading, every message of the sources has its row, and every row is a message of the sources.
page = (root / "docs/reference/errors.md").read_text()
codes = re.search(r"enum class Code \{(.*?)\};", (root / "mneme/base/status.h").read_text(), re.S).group(1)
missing += [f"docs/reference/errors.md: {code}" for code in re.findall(r"^  (\w+),", codes, re.M) if code != "ok" and f"## {code}\n" not in page]
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "tests/e2e"))
import error_messages  # noqa: E402

missing += error_messages.missing(root)

# What is recorded, and what works where: every cell's test exists. The first paragraphs say how they are named.
units = "".join(path.read_text() for path in (root / "mneme").rglob("*_test.cc"))
for page, least in ("recorded", 50), ("support", 40):
    shown = set(re.findall(r"`(\w+)\.(\w+)`", (root / f"docs/reference/{page}.md").read_text()))
    shown -= {("Suite", "Name")} | {(suite, "name") for suite in ("e2e", "gpu", "python")}
    assert len(shown) > least, shown
    for suite, name in shown:
        files = {"e2e": [root / f"tests/e2e/{name}.sh"], "gpu": list((root / "tests/gpu").glob(f"{name}.*")),
                 "python": [root / f"tests/python/test_{name}.py"]}.get(suite)
        there = any(file.exists() for file in files) if files is not None else re.search(rf"TEST(_F|_P)?\({suite}, {name}\)", units)
        if not there:
            missing.append(f"docs/reference/{page}.md: there is no test {suite}.{name}")
    for line in (root / f"docs/reference/{page}.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if "" in cells[1:]:
            missing.append(f"docs/reference/{page}.md: a cell is blank: {line}")
# Each end-to-end case of CUDA's has its HIP form, or the reason why there is none.
cases = {path.stem for path in (root / "tests/e2e").glob("*.sh")} - {"lib"}
rows = re.findall(r"^\| (`.*?) \| (.+) \|$", (root / "docs/developer.md").read_text().split("\n## The end-to-end cases for HIP\n")[1], re.M)
told = {name for row, _ in rows for name in re.findall(r"`(\w+)`", row)}
hips = {case for case in cases if case.startswith("hip_")} | {"check_amd_gpu"}
missing += [f"docs/developer.md: its table has not the case {case}" for case in cases - hips - told]
missing += [f"docs/developer.md: there is no case {case}" for case in told - cases]
missing += [f"docs/developer.md: there is no case {name}" for _, cell in rows for name in re.findall(r"`(hip_\w+)`", cell) if name not in cases]
print("\n".join(sorted(set(missing))))
sys.exit(1 if missing else 0)
P
