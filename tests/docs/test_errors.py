"""docs/errors.md: every program ends with the message the page shows, and every cure runs."""

import re
from pathlib import Path

import pytest
from docs.page import DOCS, UPDATE

import headrace as tf

PAGE = DOCS / "errors.md"
FILE = "program.py"


def sections() -> list[tuple[str, str, str, list[str]]]:
    """(title, program, message, cures) of each section with a program."""
    found = []
    for section in PAGE.read_text().split("\n## ")[1:]:
        blocks = re.findall(r"```(python|text)\n(.*?)```", section, re.DOTALL)
        (_, program), (kind, message), *cures = blocks
        assert kind == "text", f"the message must follow the program in {section.splitlines()[0]!r}"
        found.append((section.splitlines()[0], program, message, [text for _, text in cures]))
    return found


def plain(text: str, path: Path) -> str:
    """The text without what depends on the machine: where the file is, which devices there are."""
    text = text.replace(str(path), FILE).replace(", device=/device:CPU:0", "")
    return re.sub(r"Available devices: \[.*?\]", "Available devices: [ ... ]", text)


def public_name(kind: type) -> str:
    """The class a user would catch: Python's own, or one of ``tf.errors``."""
    return next(c.__name__ for c in kind.__mro__ if c.__module__ in ("builtins", tf.errors.OpError.__module__))


def message_of(program: str, path: Path, namespace: dict[str, object]) -> str:
    """What the program ends with, as Python would print it."""
    path.write_text(program)
    tf.reset_default_graph()
    with tf.device("/cpu:0"):  # a device of the machine at hand would be named in the messages
        try:
            exec(compile(program, str(path), "exec"), namespace)
        except Exception as e:  # noqa: BLE001 - any error is the program's result
            return plain(f"{public_name(type(e))}: {e}", path)
    return "no error"


@pytest.mark.parametrize(
    ("title", "program", "message", "cures"), sections(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_mistake_its_message_and_its_cure(title, program, message, cures, tmp_path, capsys) -> None:
    path = tmp_path / FILE
    namespace: dict[str, object] = {"__name__": "program"}
    found = message_of(program, path, namespace).strip()
    if UPDATE:
        PAGE.write_text(PAGE.read_text().replace(f"```text\n{message}```", f"```text\n{found}\n```"))
    else:
        assert found == plain(message, path).strip()
    for cure in cures:
        exec(compile(cure, "cure.py", "exec"), namespace)


def test_the_page_links_to_each_of_its_sections() -> None:
    text = PAGE.read_text()
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title, *_ in sections()}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) == anchors
