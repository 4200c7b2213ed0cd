"""The site: every page as it stands in the repository, and the public names with their docstrings.  ``make docs`` builds it.

The source folder is the repository itself, so a link that works between files works between pages.  The table of contents is
that of ``docs/README.md``: a section there is a group in the side bar.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import reference  # noqa: E402 - beside this file, which Sphinx runs
from myst_parser.parsers.sphinx_ import MystParser  # noqa: E402

project = "Headrace"
author = "The Headrace authors"
extensions = ["myst_parser"]
include_patterns = [
    "*.md", "docs/**", "build/api/*.md", "examples/README.md", "benchmarks/README.md", "headrace/models/digits/README.md",
]  # fmt: skip
exclude_patterns = [".*", "build/site", "docs/site", "tests"]
root_doc = "docs/README"

html_theme = "furo"
html_title = "Headrace"
html_extra_path = ["index.html"]
html_copy_source = False
html_show_copyright = False
toc_object_entries = False
myst_heading_anchors = 4


def contents(app: Any, docname: str, source: list[str]) -> None:
    """Gives the first page a table of contents: its own links, a group for each of its sections."""
    if docname != root_doc:
        return
    groups = []
    for section in source[0].split("\n## ")[1:]:
        caption, _, text = section.partition("\n")
        links = re.findall(r"\]\(([\w./-]+\.(?:md|ipynb))\)", text)
        pages = [str((ROOT / "docs" / link).resolve().relative_to(ROOT).with_suffix("")) for link in links]
        if caption == "Reference":
            pages.insert(0, "build/api/index")
        groups.append(
            "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *(f"/{p}" for p in pages), "```"])
        )
    source[0] += "\n" + "\n\n".join(groups) + "\n"


class NotebookParser(MystParser):
    """A notebook as a page: its text, its programs, and what these printed."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        page = []
        for cell in json.loads(inputstring)["cells"]:
            text = "".join(cell["source"])
            page.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
            page += [f"```text\n{''.join(output['text'])}```" for output in cell.get("outputs", [])]
        super().parse("\n\n".join(page), document)


def setup(app: Any) -> None:
    reference.write(ROOT / "build/api")
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("source-read", contents)
