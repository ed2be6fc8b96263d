"""The modules of the package import each other one way: who reads one need not have read those that use it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "mneme"
EXTENSION = "mneme._native"  # a module of the package, which has no source there
Graph = dict[str, set[str]]


def modules_of(package: Path) -> dict[str, Path]:
    """The modules of a package by their names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(tree: ast.AST, *, for_types: bool) -> Iterator[tuple[str, str]]:
    """What is imported, at the top or within a function: a module, and what of it, which may be empty.

    `for_types`: also what only a checker of types imports.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield from ((node.module or "", alias.name) for alias in node.names)
        yield from imports_in(node, for_types=for_types)


def graph_of(modules: Mapping[str, Path], *, for_types: bool) -> Graph:
    """Which of the modules each imports."""
    graph: Graph = {}
    for name, path in modules.items():
        imported = imports_in(ast.parse(path.read_text(encoding="utf-8")), for_types=for_types)
        known = {*modules, EXTENSION}
        named = {f"{module}.{what}" if f"{module}.{what}" in known else module for module, what in imported}
        graph[name] = {module for module in named if module in modules and module != name}
    return graph


def circles_of(graph: Graph) -> list[list[str]]:
    """Modules that import each other, each such group once: Tarjan's strongly connected components."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in numbers:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == numbers[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in numbers:
            visit(name)
    return found


def test_no_module_imports_itself_through_others() -> None:
    assert circles_of(graph_of(modules_of(PACKAGE), for_types=False)) == []


def test_types_are_named_one_way_too() -> None:
    """But for those of `mneme.llvm`: a function names its module and the module its functions, as IR does."""
    circles = circles_of(graph_of(modules_of(PACKAGE), for_types=True))
    assert [name for circle in circles for name in circle if not name.startswith("mneme.llvm.")] == []


@pytest.mark.parametrize("below", ["mneme.results", "mneme.tune.space"])
def test_what_others_stand_on_imports_none_of_them(below: str) -> None:
    above = {"mneme.results": ("mneme.tune", "mneme.report"), "mneme.tune.space": ("mneme.tune.search", "mneme.report")}
    graph = graph_of(modules_of(PACKAGE), for_types=True)
    wrong = {
        (name, other)
        for name in graph
        if name.startswith(below)
        for other in graph[name]
        if other.startswith(above[below])
    }
    assert wrong == set()


def test_a_circle_is_found_wherever_its_imports_stand(tmp_path: Path) -> None:
    package = tmp_path / "made"
    package.mkdir()
    sources = {
        "__init__": "from made.top import here\n",
        "top": "from made import lazy\nhere = 1\n",
        "lazy": "def later():\n    from made.end import there\n    return there\n",
        "end": "import made.top\nthere = 1\n",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made.end2 import X\n",
        "end2": "import made.typed\nX = int\n",
    }
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)
    modules = modules_of(package)
    assert circles_of(graph_of(modules, for_types=False)) == [["made.end", "made.lazy", "made.top"]]
    assert ["made.end2", "made.typed"] in circles_of(graph_of(modules, for_types=True))
