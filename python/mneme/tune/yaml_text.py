"""YAML as a person writes it."""

from __future__ import annotations

import re
from typing import Any

from mneme._json import DEEPEST, is_too_deep
from mneme.errors import InvalidArgumentError
from mneme.tune.extras import need

# A number for YAML 1.2 and JSON, and a text for YAML 1.1, which PyYAML reads: it wants a point and a sign in it.
_EXPONENT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$")


def parse(name: str, text: str) -> Any:
    """The value that is written in `text`; `name` is for errors.

    Raises InvalidArgumentError: it is no YAML, with the place; UnavailableError: PyYAML is missing.

    >>> parse("tune.yaml", "threshold: 1e-5")
    {'threshold': 1e-05}
    """
    yaml = need("yaml", f"{name}, which is no JSON,")
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+.0123456789"))
    try:
        value = yaml.load(text, Loader=loader)
    except RecursionError:
        value = None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise InvalidArgumentError(f"{name}{place}: {what}") from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).replace('in "<unicode string>", ', "at ").split())
        raise InvalidArgumentError(f"{name}: {what}") from None
    else:
        if not is_too_deep(value):
            return value
    raise InvalidArgumentError(f"{name}: it is nested deeper than {DEEPEST}")
