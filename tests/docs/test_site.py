"""The site of the docs: it builds without a warning, and describes a public name under its shortest form."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import headrace as tf

ROOT = Path(__file__).parent.parent.parent
PYTHON = Path(os.environ.get("HEADRACE_DOCS_PYTHON", ROOT / ".venv-docs/bin/python"))


def load(name: str) -> ModuleType:
    """A file of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/site/{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return load("reference")


def test_a_function_has_its_parameters_and_its_example(reference: ModuleType) -> None:
    text = reference.describe(reference.Name("tf", "reshape", tf.reshape))
    assert "{py:function} tf.reshape(tensor, shape, name=None)" in text
    assert "```pycon\n>>> tf.Session().run(tf.reshape([1, 2, 3, 4, 5, 6], [2, 3]))\narray([[1, 2, 3]," in text


def test_arguments_are_a_list(reference: ModuleType) -> None:
    doc = "Adds.\n\nArgs:\n  x: A tensor\n    of numbers.\n  **kwargs: None.\n\nReturns:\n  A tensor.\n\n>>> add(1)\n1"
    text = reference.markdown(doc)
    assert "Args:\n\n- `x`: A tensor\n    of numbers.\n- `**kwargs`: None.\n\nReturns:\n  A tensor.\n\n" in text
    assert text.endswith("```pycon\n>>> add(1)\n1\n```")


def test_a_class_has_its_own_methods(reference: ModuleType) -> None:
    text = reference.describe(reference.Name("tf.train", "Saver", tf.train.Saver))
    methods = re.findall(r"\{py:method\} (\w+)\((\w*)", text)
    assert ("save", "sess") in methods and ("restore", "sess") in methods
    assert not any(name.startswith("_") for name, _ in methods)


def test_a_thing_is_described_under_its_shortest_name(reference: ModuleType) -> None:
    homes = {id(tf.reshape): reference.Name("tf", "reshape", tf.reshape)}
    assert "- `tf.manip.reshape`: {py:obj}`tf.reshape`" in reference.page("tf.manip", tf.manip, homes)
    assert "{py:function} tf.manip.roll(" in reference.page("tf.manip", tf.manip, {})


def test_the_pictures_are_as_they_are_drawn() -> None:
    for name, draw in load("pictures").PICTURES.items():
        assert (ROOT / "docs" / name).read_text() == draw(), "python docs/site/pictures.py draws them again"


@pytest.mark.timeout(1200)
def test_the_site_builds_without_a_warning(full_length: None, tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip(f"there is no {PYTHON}: `make docs` makes it, or HEADRACE_DOCS_PYTHON names another")
    options = ["-q", "-W", "--keep-going", "-c", "docs/site", "-d", str(tmp_path / "doctrees")]
    command = [str(PYTHON), "-m", "sphinx", *options, ".", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/*.ipynb"), *ROOT.glob("*.md")]
    missing = [p for p in pages if not (tmp_path / "site" / p.relative_to(ROOT).with_suffix(".html")).exists()]
    assert missing == []
    assert "tf.nn.relu" in (tmp_path / "site/build/api/tf.nn.html").read_text()
