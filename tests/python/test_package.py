"""What holds of the package as a whole."""

import doctest
import importlib
import pkgutil
import re

import mneme


def test_version_is_that_of_the_project() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", mneme.__version__)


def test_examples_in_docstrings() -> None:
    modules = [importlib.import_module(info.name) for info in pkgutil.walk_packages(mneme.__path__, "mneme.")]
    for module in [mneme, *modules]:
        failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert failures == 0, module.__name__
