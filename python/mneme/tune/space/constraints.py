"""Constraints: what must hold between the parameters of a point, as text or as a Python function.

A text is an expression of Python's: comparisons, arithmetic, `and`, `or`, `not`, `in`, `min`, `max`, `abs` and `len`
over parameters, by their names as they are: "block.x * block.y <= 1024".
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mneme.errors import InvalidArgumentError, MnemeError
from mneme.tune.names import nearest

_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "len": len}
_ALLOWED = (
    ast.Expression,
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.IfExp,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.boolop,
    ast.unaryop,
    ast.operator,
    ast.cmpop,
    ast.expr_context,
)


class Constraint:
    """One condition. `holds(params)` tells whether a point meets it.

    >>> Constraint("block.x * block.y <= 1024", ["block.x", "block.y"]).holds({"block.x": 64, "block.y": 32})
    False
    """

    def __init__(self, condition: str | Callable[[Mapping[str, Any]], bool], parameters: Collection[str]) -> None:
        """Raises InvalidArgumentError for a text that is no expression, or that names what is no parameter."""
        self._condition = condition
        self._code = _compile(condition, parameters) if isinstance(condition, str) else None

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Raises InvalidArgumentError with the condition and the point where it cannot be told."""
        try:
            if self._code is not None:
                return bool(eval(self._code, {"__builtins__": {}, **_FUNCTIONS}, {"_": params}))
            assert not isinstance(self._condition, str)
            return bool(self._condition(params))
        except Exception as error:
            raise InvalidArgumentError(f"constraint '{self}' of {dict(params)}: {said_by(error)}") from error

    def __str__(self) -> str:
        """The text, or the function's name."""
        if isinstance(self._condition, str):
            return self._condition
        return str(getattr(self._condition, "__qualname__", self._condition))


def said_by(error: Exception) -> str:
    """What an error of a person's own function is, where its text alone says little: a KeyError's is only the key.

    >>> said_by(KeyError("q"))
    "KeyError: 'q'"
    """
    return str(error) if isinstance(error, MnemeError) else f"{type(error).__name__}: {error}"


def _compile(text: str, parameters: Collection[str]) -> types.CodeType:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InvalidArgumentError(f"constraint '{text}': {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Call) and not _is_known_call(node)):
            raise InvalidArgumentError(f"constraint '{text}': '{ast.unparse(node)}' is not possible in a constraint")
    named = ast.fix_missing_locations(_Names(text, parameters).visit(tree))
    return compile(named, "<constraint>", "eval")


def _is_known_call(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords


class _Names(ast.NodeTransformer):
    """Makes "block.x" a look-up of the parameter of that name."""

    def __init__(self, text: str, parameters: Collection[str]) -> None:
        self._text = text
        self._parameters = parameters

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._look_up(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._look_up(ast.unparse(node))

    def _look_up(self, name: str) -> ast.AST:
        if name not in self._parameters:
            raise InvalidArgumentError(
                f"constraint '{self._text}': there is no parameter '{name}'{nearest(name, self._parameters)}"
            )
        return ast.Subscript(ast.Name("_", ast.Load()), ast.Constant(name), ast.Load())
