"""``inspect.signature``, ``help`` and completion of every public name."""

import inspect
import pydoc
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import headrace as tf
from headrace.core.registry import REGISTRY

# Their parameters are what they are for: any number of tensors, or of things to print.
ANY_ARGUMENTS = {"tf.group", "tf.meshgrid", "tf.print"}
OTHER_LIBRARIES = ("absl.", "google.", "tensorboard.", "typing", "collections.")


def public_names() -> Iterator[tuple[str, Any]]:
    """Every public name of every module that users reach from ``tf``, once."""
    modules: list[tuple[str, ModuleType]] = [("tf", tf)]
    seen = {id(tf), id(tf.compat.v1)}
    for where, module in modules:
        for name in dir(module):
            if name.startswith("_"):
                continue
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                if value.__name__.startswith("headrace.") and id(value) not in seen:
                    seen.add(id(value))
                    modules.append((f"{where}.{name}", value))
                continue
            if value is not tf.flags.FLAGS:  # asked anything, it parses the command line
                yield f"{where}.{name}", value


NAMES = dict(public_names())


def is_own(value: Any) -> bool:
    """Whether Headrace defines it; messages are protobuf's, whatever module they are in."""
    if hasattr(value, "DESCRIPTOR") and hasattr(value, "SerializeToString"):
        return False
    return callable(value) and not str(getattr(value, "__module__", "")).startswith(OTHER_LIBRARIES)


def test_there_are_names() -> None:
    assert len(NAMES) > 2500 and "tf.raw_ops.MatMul" in NAMES and "tf.contrib.slim.conv2d" in NAMES


def test_every_name_has_a_signature() -> None:
    problems = []
    for name, value in NAMES.items():
        if not is_own(value):
            continue
        try:
            kinds = [p.kind.name for p in inspect.signature(value).parameters.values()]
        except (TypeError, ValueError) as e:
            problems.append(f"{name}: {e}")
            continue
        if kinds == ["VAR_POSITIONAL", "VAR_KEYWORD"] and not inspect.isclass(value) and name not in ANY_ARGUMENTS:
            problems.append(f"{name} shows (*args, **kwargs)")
    assert not problems, "\n".join(problems)


def test_every_name_has_a_docstring() -> None:
    problems = [name for name, value in NAMES.items() if is_own(value) and not inspect.getdoc(value)]
    assert not problems, "\n".join(problems)


# How many things have each part of a whole docstring.  These numbers may only rise.
WHOLE = {"Args:": 799, "Returns:": 798, "example": 975}


def test_no_docstring_loses_a_part() -> None:
    texts = [inspect.getdoc(value) or "" for value in {id(v): v for v in NAMES.values() if is_own(v)}.values()]
    found = {part: sum(part in text for text in texts) for part in ("Args:", "Returns:")}
    found["example"] = sum(">>> " in text or "Example: " in text for text in texts)
    assert {part: count for part, count in found.items() if count < WHOLE[part]} == {}, found
    assert all(text.partition("\n")[0].strip() for text in texts), "each begins with a summary"


def test_help_of_an_op_says_what_it_takes_and_gives() -> None:
    text = inspect.getdoc(tf.raw_ops.TopKV2) or ""
    assert "  input: a tensor of real numbers (T), of rank 1 or more." in text
    assert "  sorted: a bool (default: True)" in text
    assert "  A named tuple of tensors: values (T), indices (int32)." in text
    assert "Example: ``tf.raw_ops.TopKV2(input=input, k=k)``" in text
    assert "  axis: a tensor of int32 or int64 (Tidx)." in (inspect.getdoc(tf.raw_ops.Sum) or "")
    assert "The operation." in (inspect.getdoc(tf.raw_ops.NoOp) or "")


@pytest.mark.parametrize(
    "name", ["tf.nn.conv2d", "tf.raw_ops.MatMul", "tf.Session", "tf.train.AdamOptimizer", "tf.layers.dense"]
)
def test_help_shows_parameters_and_what_it_is(name: str) -> None:
    text = pydoc.plain(pydoc.render_doc(NAMES[name]))
    first = next(iter(inspect.signature(NAMES[name]).parameters))
    assert f"({first}" in text or f"self, {first}" in text, text[:300]
    assert (inspect.getdoc(NAMES[name]) or "").splitlines()[0][:40] in text


def test_completion_lists_every_op() -> None:
    listed = set(dir(tf.raw_ops))
    assert {d.name for d in REGISTRY if d.built_in} <= listed
    assert "conv2d" in dir(tf.nn) and "AdamOptimizer" in dir(tf.train) and "run" in dir(tf.Session)


def test_raw_ops_have_parameters_and_defaults() -> None:
    for definition in REGISTRY:
        parameters = inspect.signature(getattr(tf.raw_ops, definition.name)).parameters
        assert list(parameters)[-1] == "name" and parameters["name"].default is None
        assert len(parameters) == len(definition.signature.inputs) + len(definition.signature.attrs) + 1
    conv = inspect.signature(tf.raw_ops.Conv2D).parameters
    assert conv["strides"].default is inspect.Parameter.empty and conv["dilations"].default == [1, 1, 1, 1]


RENAMED = {
    "Sum": lambda: tf.raw_ops.Sum(input=[[1, 2], [3, 4]], axis=0),
    "Split": lambda: tf.raw_ops.Split(axis=0, value=[1, 2], num_split=2)[1],
    "ExpandDims": lambda: tf.raw_ops.ExpandDims(input=[4, 6], axis=0),
    "Select": lambda: tf.raw_ops.Select(condition=[True, False], x=[4, 0], y=[1, 6]),
    "Squeeze": lambda: tf.raw_ops.Squeeze(input=[[4, 6]], axis=[0]),
    "Where": lambda: tf.raw_ops.Where(condition=[False, True]),
}


@pytest.mark.parametrize("name", RENAMED)
def test_raw_ops_take_the_names_of_tensorflow(session: tf.Session, name: str) -> None:
    value = session.run(RENAMED[name]())
    expected = {"Split": [2], "ExpandDims": [[4, 6]], "Where": [[1]]}
    assert value.tolist() == expected.get(name, [4, 6])
