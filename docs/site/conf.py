"""How the site is made: `make docs` has Sphinx take this folder for its configuration and the clone's root for its sources.

The guides are read as they stand in the repository, links and all. Two references are made: the Python package's from its docstrings,
and an index of the C++ classes, which leads into the pages that Doxygen made of their headers.

From the environment: MNEME_VERSION; MNEME_PYTHONPATH, a folder with the built package; MNEME_DOXYGEN_TAGS, Doxygen's tag file.
"""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, os.environ["MNEME_PYTHONPATH"])

project = "Mneme"
copyright = "the Mneme authors, Apache-2.0 WITH LLVM-exception"  # noqa: A001  # Sphinx gives the name
version = release = os.environ["MNEME_VERSION"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
include_patterns = ["docs/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/RESULTS.md"]
exclude_patterns = ["docs/adr/template.md"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
highlight_language = "none"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True}
autoclass_content = "both"
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"Mneme {version}"
html_static_path = ["static"]
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# What a reader copies is the command without its prompt.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


class CxxIndex(Directive):
    """The C++ classes, room by room, each with a link to its page of Doxygen's."""

    def run(self) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        for room, classes in sorted(classes_by_room().items()):
            section = nodes.section(ids=[f"room-{nodes.make_id(room)}"])
            section += nodes.title(text=room)
            entries = nodes.bullet_list()
            for name, page in sorted(classes.items()):
                link = nodes.reference("", name, refuri=f"../../cxx/{page}", internal=True)
                entries += nodes.list_item("", nodes.paragraph("", "", link))
            section += entries
            made.append(section)
        return made


def classes_by_room() -> dict[str, dict[str, str]]:
    """Of each folder below `mneme/`: its classes, and the page that Doxygen wrote of each."""
    compounds = ElementTree.parse(os.environ["MNEME_DOXYGEN_TAGS"]).getroot().findall("compound")
    pages = {each.findtext("name", ""): each.findtext("filename", "") for each in compounds}
    rooms: dict[str, dict[str, str]] = {}
    for file in compounds:
        room = file.findtext("path", "").rpartition("/mneme/")[2].strip("/")
        for declared in file.iterfind("class") if file.get("kind") == "file" else ():
            name = declared.text or ""
            rooms.setdefault(room, {})[name.removeprefix("mneme::")] = pages[name]
    return rooms


def setup(app: Sphinx) -> None:
    app.add_directive("cxx-index", CxxIndex)
