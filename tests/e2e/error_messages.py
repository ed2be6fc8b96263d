"""Whether docs/reference/errors.md has every message that the sources can give: documentation.sh asks it.

A message is found where it is made: in a call that makes a Status, in one that gives a reason for others to put into a Status, in an
exception of the Python package. What is filled in reads as … here as on the page. Not found are messages that a function puts together
from parts in a variable or returns as text: "there is no command", "unexpected argument", "memory differs in", an assertion of a kernel.
The page has those all the same, and such a row is looked for among all texts.
"""

import ast
import functools
import re

# A literal, a name (with what it is a member of), or one other character; comments are passed over.
TOKEN = re.compile(
    r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|(?P<skip>//[^\n]*|/\*.*?\*/|\s+|\'(?:[^\'\\\n]|\\.)+\')'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"|(?P<name>[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*)|(?P<sign>->|::|.)', re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t"}
# The calls that make a message, by the last part of their name: of a code and a format, or of reasons that go into another message.
STATUS = {"error", "Status"}
REASONS = {"corrupt", "refused", "refuse", "fail", "bad", "wrong", "report_usage", "failed_result", "give_up",
           "createStringError", "warning", "print_error"}
# The section of what others put before a message, by with_context().
BEFORE = "What stands before a message"
# Files that have reasons as values, not in a call: each text of three words or more is one.
REASON_FILES = {"snapshot/recording_report.cc", "cpu/lower/refusal.cc", "cpu/ptx/ptx_asm_thread.cc",
                "cpu/run/scheduler_faults.cc", "cli/values.cc", "cli/ir_stages.cc"}
# Words that stand within messages: they are no messages.
PARTS = {"a write to", "a read of", "1 thread waits", "… threads wait", "from … to …", "loading a cpu image: it", "not read",
         "integers or pointers", "floating-point numbers", "an array", "an array of strings", "true or false", "one of …",
         "a number from … to …", "a whole number from … to …", "no place to look in", "an object", "an address", "a list of two",
         "a type of elements", "a kind of device", "x, y or z"}


def tokens(source):
    """[(kind, value)] of a C++ file: texts as they read, with what stands behind them joined."""
    found = []
    for match in TOKEN.finditer(source):
        if match["skip"] is not None:
            continue
        if match["raw"] is not None:
            kind, value = "text", match["raw"]
        elif match["text"] is not None:
            kind, value = "text", re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), match["text"])
        else:
            kind, value = "name" if match["name"] else "sign", match[0]
        if kind == "text" and found and found[-1][0] == "text":
            value = found.pop()[1] + value
        found.append((kind, value))
    return found


def closing(found, start):
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(found)):
        if found[i][0] == "sign":
            depth += (found[i][1] in "([{") - (found[i][1] in ")]}")
        if depth == 0:
            return i
    return len(found)


def split(found, *signs):
    """The parts of an expression between these signs, outside of brackets."""
    parts, part, i = [], [], 0
    while i < len(found):
        kind, value = found[i]
        end = closing(found, i) if kind == "sign" and value in "([{" else i
        if end == i and kind == "sign" and value in signs:
            parts.append(part)
            part = []
        else:
            part += found[i:end + 1]
        i = end + 1
    return [*parts, part]


def with_gaps(text):
    """A format of fmt's or of printf's, with … for what it is filled with."""
    return re.sub(r"\{\{|\}\}|\{[^{}]*\}|%[us]\b", lambda m: {"{{": "{", "}}": "}"}.get(m[0], "…"), text)


def texts(found, is_format=False):
    """What an expression may be as text: … stands for what is not known here."""
    if any(token == ("sign", "?") for token in found) and len(choice := split(found, "?", ":")) > 2:
        return [text for part in choice[1:] for text in texts(part, is_format)]
    parts, i = [], 0
    for part in split(found, "+"):
        i = 0
        while i < len(part):
            kind, value = part[i]
            call = i + 1 < len(part) and part[i + 1] == ("sign", "(")
            if kind == "text":
                parts.append(with_gaps(value) if is_format else value)
            elif call and value in ("fmt::format", "std::string", "format"):
                inside = split(part[i + 2:closing(part, i + 1)], ",")
                parts.append("\0".join(texts(inside[0], value != "std::string")) or "…")
            else:
                parts.append("…")
            i = closing(part, i + 1) + 1 if call else closing(part, i) + 1 if value in "([{" else i + 1
    return [re.sub("(…)+", "…", "".join(p.split("\0")[0] for p in parts))] if parts else []


def of_cxx(source, name):
    """(code or "", text) of each message of a C++ file."""
    found = tokens(source)
    messages = []
    for i, (kind, value) in enumerate(found[:-1]):
        last = re.split(r"::|\.|->", value)[-1]
        if kind == "text" and name in REASON_FILES and len(value.split()) > 2 and value[0] != " ":
            messages.append(("", texts(found[i:i + 1], True)[0]))
        if kind != "name" or found[i + 1] != ("sign", "("):
            continue
        arguments = split(found[i + 2:closing(found, i + 1)], ",")
        if last in STATUS and value not in ("log::error", "mneme::log::error") and len(arguments) > 1:
            codes = [v.removeprefix("Code::") for _, v in arguments[0] if v.startswith("Code::")]
            messages += [(codes[0] if len(codes) == 1 else "", text) for text in texts(arguments[1], last == "error")]
        elif last == "system_error" and len(arguments) == 3:
            messages += [("", f"{text} …: …") for text in texts(arguments[1]) if text != "…"]
        elif last in REASONS or value in ("log::error", "mneme::log::error") or last == "with_context":
            code = "corrupt" if last == "corrupt" else BEFORE if last == "with_context" else ""
            end = ": …" if last == "with_context" else ""
            messages += [(code, text + end) for argument in arguments for text in texts(argument, True)
                         if " " in text and text[:1] not in " ,;"]
    return [(code, normal(text)) for code, text in messages if is_told(normal(text)) and text not in PARTS]


def normal(text):
    """White space is one blank, and the line that names the help is left out."""
    return re.sub(r"\s+", " ", re.sub(r"\nSee 'mneme .*", "", text)).strip()


def is_told(text):
    """A text with words of its own: what is only a form for others' words ('…: …') needs no row."""
    return text.endswith("ing …: …") or len(re.findall(r"[A-Za-z]+", text)) > 2 or len(re.findall(r"[A-Za-z]{2,}", text)) > 1


CODES = {"InvalidArgumentError": "invalid_argument", "NotFoundError": "not_found", "UnsupportedError": "unsupported",
         "UnavailableError": "unavailable", "IncompatibleError": "incompatible", "CorruptError": "corrupt", "IoError": "io",
         "ExhaustedError": "exhausted", "DeviceFaultError": "device_fault", "TimeLimitError": "timeout", "InternalError": "internal"}


def of_python(source):
    """(code or "", text) of each message of a Python file."""

    def text(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.JoinedStr):
            return ["".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [a + b for a in text(node.left) for b in text(node.right)]
        if isinstance(node, ast.IfExp):
            return text(node.body) + text(node.orelse)
        return ["…"]

    messages = []
    for node in ast.walk(ast.parse(source)):
        call = node.exc if isinstance(node, ast.Raise) else node if isinstance(node, ast.Call) else None
        if not isinstance(call, ast.Call) or not call.args:
            continue
        name = ast.unparse(call.func)
        last = name.split(".")[-1]
        exits = name in ("parser.error", "sys.exit", "warnings.warn")
        if isinstance(node, ast.Raise) or exits or last.endswith(("Error", "Warning")):
            messages += [(CODES.get(last, ""), t) for t in text(call.args[0])]
    return sorted({(code, normal(t)) for code, t in messages if is_told(t)})


def of_sources(root):
    """{(code, text): the files that say it}"""
    messages = {}
    for path in sorted([*root.glob("mneme/**/*.cc"), *root.glob("mneme/**/*.h"), *root.glob("python/src/*.cc")]):
        name = str(path.relative_to(root)).removeprefix("mneme/")
        if name.endswith("_test.cc") or re.search(r"testing|/fake|/conformance/|^bench", name):
            continue
        for message in of_cxx(path.read_text(), name):
            messages.setdefault(message, []).append(str(path.relative_to(root)))
    for path in sorted(root.glob("python/mneme/**/*.py")):
        for message in of_python(path.read_text()):
            messages.setdefault(message, []).append(str(path.relative_to(root)))
    return messages


def rows(page):
    """(heading, message) of each message of the page: those of a cell stand in backticks, with <br> between them."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = section.split("\n", 1)[0]
        for cell in re.findall(r"^\| (`.*?`) \| ", section, re.MULTILINE):
            for part in cell.split("<br>"):
                found.append((heading, re.sub(r"^`+ ?| ?`+$", "", part).replace("\\|", "|")))
    return found


@functools.cache
def letters(text):
    return sum(map(str.isalnum, text))


@functools.cache
def pattern(row):
    return re.compile(".*".join(map(re.escape, row.split("…"))))


def covers(row, message):
    """The row's … stands for anything, but what else it has must be most of the message."""
    return letters(row) >= 0.6 * letters(message) and bool(pattern(row).fullmatch(message))


def missing(root):
    """What the page lacks, and what it has that no source says."""
    said = of_sources(root)
    assert len(said) > 900, len(said)
    page = (root / "docs/reference/errors.md").read_text()
    told = rows(page)
    problems, used = [], set()
    for (code, text), files in said.items():
        found = {row for row in told if code in ("", row[0]) and covers(row[1], text)}
        used |= found
        if not found:
            section = f", {code}" if code else ""
            problems.append(f"docs/reference/errors.md{section}: no row for '{text}' of {', '.join(sorted(set(files)))}")
    sources = [tokens(path.read_text()) for path in root.glob("mneme/**/*.cc")]
    literals = {normal(with_gaps(value)) for found in sources for kind, value in found if kind == "text"}
    for heading, row in told:
        if (heading, row) not in used and not any(covers(row, text) for text in literals):
            problems.append(f"docs/reference/errors.md, {heading}: no source says '{row}'")
    return problems
