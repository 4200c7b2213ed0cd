"""Private names of torch: this torch has them all, and Headrace works without each, and without all."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import process
from headrace.resources.calling import torch_names

PACKAGE = Path(tf.__file__).parent


def parent_of(name: str) -> tuple[object, str]:
    *path, last = name.split(".")
    if last == "default":  # an overload of an op: the op is what a torch may lack
        last = path.pop()
    found: object = torch
    for part in path:
        found = getattr(found, part)
    return found, last


def without(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """The module as a torch without the name would have it."""
    monkeypatch.setattr(*parent_of(name), None)
    spec = importlib.util.spec_from_file_location("torch_names_without", torch_names.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_torch_has_them_all() -> None:
    assert torch_names.missing() == [], "\n".join(torch_names.missing())


def test_inductor_has_the_loggers_that_are_quietened() -> None:
    for logger in process.COMPILER_LOGGERS:
        assert (Path(torch.__file__).parents[1] / f"{logger.replace('.', '/')}.py").exists(), f"torch has no {logger}"


def test_private_ops_are_used_nowhere_else() -> None:
    """tests/runtime/compiler/torch_door/test_names.py looks for all other names."""
    found = [
        f"{file.relative_to(PACKAGE)}: {line.strip()}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if "runtime" not in file.relative_to(PACKAGE).parts and file.name != "torch_names.py"
        for line in file.read_text().splitlines()
        if re.search(r"aten\._|_cdata\b", line)
    ]
    assert found == []


def test_the_page_lists_them() -> None:
    page = (PACKAGE.parent / "docs" / "next_torch.md").read_text()
    assert torch_names.TRIED == ("2.11", "2.13") and "| 2.11 | 2.13 |" in page
    missing = [n for n, without in torch_names.NAMES.items() if f"| `torch.{n}` | {without} | yes | yes |" not in page]
    assert missing == []


@pytest.mark.parametrize("name", torch_names.NAMES)
def test_a_missing_name_is_told_in_a_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = without(monkeypatch, name)
    (line,) = [line for line in module.missing() if f"torch.{name}:" in line]
    assert "\n" not in line and torch_names.NAMES[name] in line and torch.__version__ in line


@pytest.mark.parametrize("name", [n for n in torch_names.NAMES if n.startswith("_fused")])
def test_updates_by_the_plain_rules(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    makers = {
        "_fused_sgd_": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        "_fused_adam_": lambda: tf.train.AdamOptimizer(0.1),
        "_fused_adagrad_": lambda: tf.train.AdagradOptimizer(0.1),
    }
    attribute = name.strip("_")
    results = []
    for value in (getattr(torch_names, attribute), getattr(without(monkeypatch, name), attribute)):
        monkeypatch.setattr(torch_names, attribute, value)
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
            made = [tf.Variable(np.linspace(-1, 1, 40_000, dtype=np.float32)) for _ in range(2)]
            train = makers[name]().minimize(tf.add_n([tf.reduce_sum(tf.sin(v)) for v in made]))
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            results.append(session.run(made))
    assert value is None
    np.testing.assert_allclose(results[0], results[1], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0, 3.0, 200.0])
def test_gamma_numbers_have_the_same_distribution(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = without(monkeypatch, "_standard_gamma").standard_gamma
    shapes = torch.full([40_000], alpha, dtype=torch.float64)
    first = draw(shapes, generator=torch.Generator().manual_seed(3))
    assert torch.equal(first, draw(shapes, generator=torch.Generator().manual_seed(3)))
    levels = torch.tensor([0.1, 0.25, 0.5, 0.75, 0.9], dtype=torch.float64)
    found = torch.special.gammainc(shapes[:5], torch.quantile(first, levels))
    torch.testing.assert_close(found, levels, atol=0.015, rtol=0)  # five deviations


def test_gamma_numbers_of_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = without(monkeypatch, "_standard_gamma").standard_gamma
    assert draw(torch.ones(0, 3)).shape == (0, 3)
    odd = draw(torch.tensor([0.0, float("nan"), 2.0]))
    assert odd[0] == 0 and odd[1].isnan() and odd[2] > 0


@pytest.mark.parametrize("name", [n for n in torch_names.NAMES if "softmax" in n])
def test_gradients_of_softmax(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute = "log_softmax_backward" if "log" in name else "softmax_backward"
    grad, logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0)).double().unbind()
    output = torch.log_softmax(logits, -1) if "log" in name else torch.softmax(logits, -1)
    expected = getattr(torch_names, attribute)(grad, output, -1, output.dtype)
    plain = getattr(without(monkeypatch, name), attribute)
    assert plain is not getattr(torch_names, attribute)
    found = plain(grad, output, -1, output.dtype)
    monkeypatch.undo()  # what compares tensors imports parts of torch that want the name
    torch.testing.assert_close(found, expected)


def test_memory_that_may_be_shared_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch_names.storage_uses(torch.ones(2)) < 10
    assert without(monkeypatch, "_C._storage_Use_Count").storage_uses(torch.ones(2)) > 10


WHOLE = """
import torch
for name in {names}:
    *path, last = name.removesuffix(".default").split(".")
    found = torch
    for part in path:
        found = getattr(found, part)
    setattr(found, last, None)
import numpy as np
import headrace as tf
from headrace.resources.calling import dispatch, torch_names
assert len(torch_names.missing()) == len({names}), torch_names.missing()
x = tf.placeholder(tf.float32, [None, 4])
h = tf.layers.dense(x, 3)
loss = tf.reduce_mean(tf.nn.log_softmax(h) * tf.nn.softmax(h)) + tf.reduce_mean(tf.random_gamma([3], 2.0))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
power = tf.py_func(lambda v: v * 2, [h], tf.float32)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(40):
        value, _, _ = session.run([loss, train, power], {{x: np.ones((2, 4))}})
    assert np.isfinite(value)
with tf.eager_mode():
    v = tf.contrib.eager.Variable([1.0, 2.0])
    before = v.read_value()
    v.assign_add([1.0, 1.0])
    assert before.numpy().tolist() == [1.0, 2.0] and v.numpy().tolist() == [2.0, 3.0]
with dispatch.autograd(), dispatch.below_autograd():
    pass
print("works")
"""


def test_import_and_ops_without_any_of_them() -> None:
    names = [
        name for name in torch_names.NAMES if "DispatchKey." not in name
    ]  # torch itself cannot do without that one
    done = subprocess.run(
        [sys.executable, "-c", WHOLE.format(names=names)], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert done.returncode == 0 and done.stdout.strip() == "works", done.stderr[-3000:]
