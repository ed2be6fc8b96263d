"""The distribution's name: Mneme is installed as `mneme-gpu`, and imported as `mneme`.

On the index of Python's packages `mneme` is another project. Where that stands in Mneme's place, this says so when it
is imported; the commands `mneme-tune` and `mneme-report` begin here.
"""

import importlib.util
import pathlib
import sys

__all__ = ["report", "tune"]


def problem() -> str:
    """What stands in the place of Mneme's package, and what to do; empty where it is Mneme's. Imports nothing."""
    repair = "pip uninstall mneme, then pip install --force-reinstall mneme-gpu (docs/guide/install.md)"
    found = importlib.util.find_spec("mneme")
    if found is None:
        return f"importing mneme: there is no such package for {sys.executable}, though mneme-gpu is: {repair}"
    places = [*(found.submodule_search_locations or ())] or [found.origin or "?"]
    if not any(pathlib.Path(place, "tune", "command.py").is_file() for place in places):
        return f"importing mneme: {places[0]} is of another project, which pip install mneme brings: {repair}"
    return ""


def tune() -> int:
    """The command `mneme-tune`."""
    from mneme.tune.command import main

    return main()


def report() -> int:
    """The command `mneme-report`."""
    from mneme.report.command import main

    return main()


def _say() -> None:
    said = problem()
    if said and _is_command():
        sys.exit(f"mneme: {said}")
    if said:
        raise ImportError(said)


def _is_command() -> bool:
    program = (getattr(sys, "argv", None) or [""])[0]
    return pathlib.Path(program).name in ("mneme-tune", "mneme-report")


_say()
