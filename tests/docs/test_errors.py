"""docs/errors.md and docs/errors_of_jobs.md: every program ends with the message the page shows, and every cure runs.

A program may write files in its folder.  Addresses such as ``localhost:2222`` stand for ports that are free.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cluster.ports import free_addresses
from docs.page import DOCS, UPDATE

import headrace as tf
from headrace.cluster.connection import close_client_endpoint

PAGES = [DOCS / "errors.md", DOCS / "errors_of_jobs.md"]
FILE = "program.py"


class Section(NamedTuple):
    """A mistake on a page."""

    page: Path
    title: str
    program: str
    message: str
    cures: list[str]


def sections(page: Path) -> list[Section]:
    found = []
    for section in page.read_text().split("\n## ")[1:]:
        title = section.splitlines()[0]
        (_, program), (kind, message), *cures = re.findall(r"```(python|text)\n(.*?)```", section, re.DOTALL)
        assert kind == "text", f"the message must follow the program in {title!r}"
        found.append(Section(page, title, program, message, [text for _, text in cures]))
    return found


SECTIONS = [section for page in PAGES for section in sections(page)]
QUICK = [section for section in SECTIONS if "subprocess" not in section.program]
SLOW = [section for section in SECTIONS if section not in QUICK]


def plain(text: str, path: Path) -> str:
    """The text without what depends on the machine: where the file is, which devices there are."""
    text = (
        text.replace(str(path), FILE)
        .replace(", device=/device:CPU:0", "")
        .replace("task:0/device:CPU:0 but", "task:0 but")
    )
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


@pytest.fixture
def free_ports() -> Iterator[dict[str, str]]:
    """Addresses of the pages, and those that stand for them."""
    yield dict(zip(["localhost:2222", "localhost:2223", "localhost:2224"], free_addresses(3), strict=True))
    close_client_endpoint()


def replaced(text: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(name, other)
    return text


def check(section: Section, folder: Path, ports: dict[str, str]) -> None:
    namespace: dict[str, object] = {"__name__": "program"}
    try:
        text = message_of(replaced(section.program, ports), folder / FILE, namespace)
        found = replaced(text, {port: name for name, port in ports.items()}).strip()
        if UPDATE:
            old, new = f"```text\n{section.message}```", f"```text\n{found}\n```"
            before, title, after = section.page.read_text().partition(f"\n## {section.title}\n")
            section.page.write_text(before + title + after.replace(old, new, 1))
        else:
            assert found == section.message.strip()
        for cure in section.cures:
            exec(compile(replaced(cure, ports), "cure.py", "exec"), namespace)
    finally:
        for value in namespace.values():
            if isinstance(value, tf.train.Server):
                value._stop()


@pytest.mark.parametrize("section", QUICK, ids=lambda section: section.title)
def test_a_mistake_its_message_and_its_cure(section, tmp_path, monkeypatch, free_ports) -> None:
    monkeypatch.chdir(tmp_path)
    check(section, tmp_path, free_ports)


@pytest.mark.parametrize("section", SLOW, ids=lambda section: section.title)
def test_a_mistake_of_two_processes(section, full_length, tmp_path, monkeypatch, free_ports) -> None:
    monkeypatch.setenv("HEADRACE_CLUSTER_KEY", "")  # the program sets it
    check(section, tmp_path, free_ports)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_links_to_each_of_its_sections(page: Path) -> None:
    anchors = {re.sub(r"[^a-z0-9 -]", "", section.title.lower()).replace(" ", "-") for section in sections(page)}
    assert set(re.findall(r"\]\(#([^)]+)\)", page.read_text())) == anchors
