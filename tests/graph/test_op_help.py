"""The docstring of an op's function is made of its definition."""

import inspect

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.graph.op_help import op_help


def test_every_argument_of_every_op_is_said() -> None:
    for definition in REGISTRY:
        text = op_help(definition, {})
        names = [one.name for one in (*definition.signature.inputs, *definition.signature.attrs)]
        assert [name for name in names if f"\n  {name}: " not in text] == [], definition.name
        assert [one.name for one in definition.signature.outputs if f"{one.name} (" not in text] == [], definition.name


def test_lists_variables_choices_and_defaults() -> None:
    assert "  values: a list of tensors of any dtype (T)." in op_help(REGISTRY.get("ConcatV2"), {})
    assert "  ref: a variable of any dtype (T)." in op_help(REGISTRY.get("Assign"), {})
    assert "  strides: a list of int." in op_help(REGISTRY.get("Conv2D"), {})
    assert "  axis: a tensor" in op_help(REGISTRY.get("Sum"), {"reduction_indices": "axis"})


def test_arguments_are_in_the_order_of_the_python_signature() -> None:
    for name in ("Conv2D", "HashTableV2", "MaxPoolWithArgmax"):
        function = getattr(tf.raw_ops, name)
        lines = inspect.getdoc(function).partition("Args:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.strip().partition(":")[0] for line in lines] == list(inspect.signature(function).parameters)
