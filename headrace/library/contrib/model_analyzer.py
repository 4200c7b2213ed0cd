"""slim.model_analyzer: how many numbers variables and outputs hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def tensor_description(var: Any) -> str:
    """``(float32_ref 3x3x64) [576, bytes: 2304]``.

    Args:
      var: A variable or a tensor of known shape.

    Returns:
      The text.

    >>> tf.contrib.slim.model_analyzer.tensor_description(tf.zeros([3, 3]))
    '(float32 3x3) [9, bytes: 36]'
    """
    sizes = "x".join(str(d) for d in var.shape.as_list())
    return f"({var.dtype.name} {sizes}) [{_count(var)}, bytes: {_count(var) * var.dtype.base_dtype.size}]"


def _count(var: Any) -> int:
    return int(var.shape.num_elements() or 0)


def analyze_vars(variables: Sequence[Any], print_info: bool = False) -> tuple[int, int]:
    """The total number of elements and of bytes; with ``print_info`` a line for each variable too.

    Args:
      variables: A list of variables.
      print_info: True prints a line for each variable, and the totals.

    Returns:
      The number of elements and the number of bytes.

    >>> tf.contrib.slim.model_analyzer.analyze_vars([tf.Variable(tf.zeros([10]))])
    (10, 40)
    """
    size = total = 0
    if print_info:
        print("---------")
        print("Variables: name (type shape) [size]")
        print("---------")
    for var in variables:
        size += _count(var)
        total += _count(var) * var.dtype.base_dtype.size
        if print_info:
            print(var.name, tensor_description(var))
    if print_info:
        print(f"Total size of variables: {size}")
        print(f"Total bytes of variables: {total}")
    return size, total


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The total number of elements of the outputs of all ops, where their shapes are known.

    Args:
      graph: The graph.
      print_info: True prints a line for each operation, and the total.

    Returns:
      The number of elements.

    >>> x = tf.zeros([10]) + 1.0
    >>> tf.contrib.slim.model_analyzer.analyze_ops(tf.get_default_graph())
    21
    """
    size = 0
    if print_info:
        print("---------")
        print("Operations: name -> (type shapes) [size]")
        print("---------")
    for op in graph.get_operations():
        counts = [t.shape.num_elements() or 0 for t in op.outputs]
        size += sum(counts)
        if print_info:
            shapes = " ".join(str(t.shape) for t in op.outputs)
            print(f"{op.name}\t-> {shapes} [{sum(counts)}]")
    if print_info:
        print(f"Total size of operations: {size}")
    return size
