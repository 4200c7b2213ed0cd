"""What programs put around their computations for TPUs.  Where there is none the computations stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.dependency import identity, no_op
from headrace.library.numeric.math import cast
from headrace.library.scope import control_dependencies
from headrace.library.state.variable_scope import VariableScope, variable_scope


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[VariableScope]:
    """A variable scope in which variables of bfloat16 are kept as float32, and read as bfloat16.

    Args:
      name: The name of the variable scope; None for no name.

    Returns:
      A context manager for ``with``, which gives the variable scope.

    >>> with tf.contrib.tpu.bfloat16_scope():
    ...     w = tf.get_variable("w", [2], tf.bfloat16)
    >>> print(w.dtype, tf.global_variables()[0].dtype.base_dtype)
    <dtype: 'bfloat16'> <dtype: 'float32'>
    """

    def kept_whole(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") != dtypes.bfloat16:
            return getter(*args, **kwargs)
        return cast(getter(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)

    with variable_scope(name or "", custom_getter=kept_whole) as scope:
        yield scope


def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function whose ops a TPU cannot run.  Without one that is a plain call.

    Args:
      computation: The function.
      *args: Its positional arguments.
      **kwargs: Its named arguments.

    Returns:
      What the function returns.

    >>> tf.contrib.tpu.outside_compilation(max, 2, 3)
    3
    """
    return computation(*args, **kwargs)


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Tensor:
    """The sum of a tensor over all copies of the model.  Without TPUs there is one copy.

    Args:
      x: The tensor.
      group_assignment: Which copies belong together; ``[[0]]`` or None.
      name: A name for the op.

    Returns:
      A tensor like `x`.

    >>> tf.Session().run(tf.contrib.tpu.cross_replica_sum(tf.constant(2.0)))
    np.float32(2.0)
    """
    if group_assignment not in (None, [[0]]):
        raise ValueError(f"without TPUs there is one copy, number 0: got group_assignment={group_assignment!r} {at()}")
    return identity(x, name=name or "CrossReplicaSum")


def rewrite(
    computation: Callable[..., Any], inputs: Sequence[Any] | None = None, infeed_queue: Any = None,
    device_assignment: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Builds a computation for a TPU.  Without one it is built as it is, where it is.

    Args:
      computation: A function of tensors that returns a tensor, an operation, or a list of them.
      inputs: The tensors; None for none.
      infeed_queue: A queue of a TPU, which must be None.
      device_assignment: Which cores to use; not used.
      name: Not used.

    Returns:
      A list of tensors, in which each is computed after the operations that the computation returns; an operation if it
      returns no tensor.

    >>> tf.Session().run(tf.contrib.tpu.rewrite(lambda x: x * 2, [tf.constant(3)]))
    [np.int32(6)]
    """
    if infeed_queue is not None:
        raise ValueError(f"infeed_queue must be None where there is no TPU, got {infeed_queue!r} {at()}")
    result = computation(*[convert_to_tensor(value) for value in inputs or ()])
    results = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
    with control_dependencies([one for one in results if isinstance(one, Operation)]):
        tensors = [identity(one) for one in results if not isinstance(one, Operation)]
        return tensors or no_op()
