"""Public modules answer for names that they lack, however they are asked, as `import tensorflow` does."""

import importlib
import traceback

import pytest

import headrace as tf

RAGGED = "Headrace has no tf.ragged. Use today: tf.SparseTensor, or a padded batch with its lengths (tf.sequence_mask)"


def _said(line: str) -> str:
    with pytest.raises((AttributeError, ImportError)) as caught:
        exec(line, {"tf": tf})
    return traceback.format_exception_only(caught.value)[-1].strip()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tf.ragged", f"AttributeError: {RAGGED}"),
        ("tf.ragged.constant", f"AttributeError: {RAGGED}"),
        ("tf.compat.v1.ragged", f"AttributeError: {RAGGED}"),
        ("from headrace import ragged", f"ModuleNotFoundError: No module named 'headrace.ragged': {RAGGED}"),
        ("import headrace.ragged.constant", f"ModuleNotFoundError: No module named 'headrace.ragged': {RAGGED}"),
        ("tf.zerose", "AttributeError: Headrace has no tf.zerose; nearest: tf.zeros"),
        ("tf.nn.reluu", "AttributeError: Headrace has no tf.nn.reluu; nearest: tf.nn.relu, tf.nn.relu6, tf.nn.crelu"),
        ("tf.bata", "AttributeError: Headrace has no tf.bata"),
        ("tf.contrib.slim.zork", "AttributeError: Headrace has no tf.contrib.slim.zork"),
        ("from headrace.nn import zork", "No module named 'headrace.nn.zork': Headrace has no tf.nn.zork"),
        ("from headrace.python.ops import zork", "Headrace has no tf.python.ops.zork"),
        ("tf.nn._zork", "AttributeError: module 'headrace.nn' has no attribute '_zork'"),
    ],
)
def test_what_is_missing_is_answered(line: str, said: str) -> None:
    assert _said(line).endswith(said)


def test_a_module_that_was_imported_by_itself_answers_too() -> None:
    module = importlib.import_module("headrace.lookup.experimental")
    with pytest.raises(AttributeError, match="Headrace has no tf.lookup.experimental.zork"):
        _ = module.zork


def test_parts_of_the_system_stay_plain_modules() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'headrace.passes.zork'$"):
        importlib.import_module("headrace.passes.zork")


def test_modules_that_were_never_public() -> None:
    array_ops = importlib.import_module("headrace.python.ops.array_ops")
    layers = importlib.import_module("headrace.contrib.layers.python.layers.layers")
    assert array_ops.placeholder is tf.placeholder
    assert layers.conv2d is tf.contrib.layers.conv2d
