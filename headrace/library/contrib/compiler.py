"""tf.contrib.compiler: parts of a graph that a program asks to compile.

Here steps are compiled whole, where that pays, or where ``compile="always"`` says so: these functions build what they are asked
to build, and leave that decision where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation
from headrace.library import nest
from headrace.library.control.dependency import group, identity
from headrace.library.scope import control_dependencies


@contextmanager
def experimental_jit_scope(compile_ops: Any = True, separate_compiled_gradients: bool = False) -> Iterator[None]:
    """A block of ops that TensorFlow's compiler may join; here a step is compiled as a whole or not at all.

    Args:
      compile_ops: Accepted as TensorFlow does; `tf.Session(compile=...)` decides.
      separate_compiled_gradients: Accepted as TensorFlow does; it changes nothing.

    Returns:
      A context manager.

    >>> with tf.contrib.compiler.jit.experimental_jit_scope():
    ...     y = tf.square(3.0)
    >>> print(tf.Session().run(y))
    9.0
    """
    yield


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:  # noqa: A001 - TensorFlow's name
    """Builds a function of tensors, whose operations run with its outputs.

    Args:
      computation: A function of tensors that returns a tensor, an operation, or a list or tuple of them.
      inputs: What it is called with; None for nothing.

    Returns:
      A list of tensors, the same structure if `computation` returns a structure, or an operation if it returns none.

    >>> print(tf.Session().run(tf.contrib.compiler.xla.compile(lambda x, y: x + y, [1.0, 2.0])))
    [np.float32(3.0)]
    """
    outputs = computation(*[convert_to_tensor(value) for value in nest.flatten(list(inputs or ()))])
    flat = nest.flatten(outputs) if outputs is not None else []
    operations = [value for value in flat if isinstance(value, Operation)]
    tensors = [value for value in flat if not isinstance(value, Operation)]
    if not tensors:
        return group(*operations, name="output_0")
    if nest.is_nested(outputs) and not isinstance(outputs, (list, tuple)) and not operations:
        return nest.map_structure(convert_to_tensor, outputs)
    with control_dependencies(operations):
        return [identity(convert_to_tensor(value)) for value in tensors]
