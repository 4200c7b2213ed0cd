"""The pages that teach: their programs run as they stand, and print what the page says."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = ["add_a_device", "add_an_op", "functions", "torch"]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    before = {d.name for d in REGISTRY}
    yield
    extend.unregister_device("NPU")
    for definition in REGISTRY:
        if definition.name not in before:
            REGISTRY.remove(definition.name)


@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_a_page_runs(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    expected = "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, f"{page}.md", "exec"), {"__name__": page})
    assert printed.getvalue() == expected


def test_a_device_that_is_gone() -> None:
    extend.register_device("NPU", torch_type="cpu")
    extend.unregister_device("NPU")
    with tf.device("/device:NPU:0"):
        x = tf.identity(1.0)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="no such device is registered"):
        sess.run(x)
