"""The docstring of an op's function is made of its definition."""

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
