"""Switch and Merge as functions, and the class of TensorFlow's contexts: what old libraries build control flow from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.library.scope import name_scope


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Gives ``data`` to one of two outputs; what depends on the other one does not run.

    Args:
      data: A tensor, an IndexedSlices or a SparseTensor.
      pred: A boolean scalar.
      dtype: The type of ``data`` where it is a number or an array; None for its own.
      name: The name of the op.

    Returns:
      The output for False and the output for True.

    >>> from headrace.python.ops import control_flow_ops
    >>> no, yes = control_flow_ops.switch(tf.constant(3), tf.constant(True))
    >>> tf.Session().run(yes + 1)
    np.int32(4)
    """
    with name_scope(name, "Switch", [data, pred]) as scope:
        pred = convert_to_tensor(pred, name="pred")
        if isinstance(data, (IndexedSlices, SparseTensor)):
            return _both(data, lambda part, part_name: raw_ops.Switch(part, pred, name=part_name))
        output_false, output_true = raw_ops.Switch(convert_to_tensor(data, dtype=dtype, name="data"), pred, name=scope)
        return output_false, output_true


def _both(data: Any, chosen: Callable[[Any, str], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Both outputs of a value that is made of several tensors."""
    names = ("values", "indices", "dense_shape")
    parts = [chosen(part, name) for name in names if (part := getattr(data, name)) is not None]
    sides = list(zip(*parts, strict=True))
    if isinstance(data, SparseTensor):
        return tuple(SparseTensor(indices, values, shape) for values, indices, shape in sides)  # type: ignore[return-value]
    return tuple(IndexedSlices(*side) for side in sides)  # type: ignore[return-value]


def merge(inputs: Sequence[Any], name: str | None = None) -> tuple[Any, Any]:
    """Gives the one of the inputs that was computed, and its index.

    Args:
      inputs: Tensors of one type, of which one is computed in each step.
      name: The name of the op.

    Returns:
      The value, and its index in ``inputs``, an int32 scalar.

    >>> from headrace.python.ops import control_flow_ops
    >>> no, yes = control_flow_ops.switch(tf.constant(3), tf.constant(False))
    >>> value, index = control_flow_ops.merge([-no, yes])
    >>> tf.Session().run([value, index])
    [np.int32(-3), np.int32(0)]
    """
    if any(one is None for one in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {list(inputs)} {at()}")
    if any(isinstance(one, (IndexedSlices, SparseTensor)) for one in inputs):
        raise TypeError(f"merge takes tensors, got {list(inputs)}: merge their values and indices one by one {at()}")
    with name_scope(name, "Merge", list(inputs)) as scope:
        tensors = [convert_to_tensor(one) for one in inputs]
        value, index = raw_ops.Merge(tensors, name=scope)
        return value, index


class ControlFlowContext:
    """What a program of its own may enter to hear of every node that is made inside: a subclass has ``AddOp``.

    Conditionals and loops of Headrace are bodies of their own and have no such context, so that
    ``graph._get_control_flow_context()`` is None unless the program has entered one.

    >>> from headrace.python.ops import control_flow_ops
    >>> class Counter(control_flow_ops.ControlFlowContext):
    ...     made = 0
    ...     def AddOp(self, op):
    ...         self.made += 1
    >>> counter = Counter()
    >>> counter.Enter()
    >>> _ = tf.constant(1.0) + 2.0
    >>> counter.Exit()
    >>> counter.made
    3
    """

    def __init__(self, values_def: Any = None, import_scope: str | None = None) -> None:
        if values_def is not None or import_scope is not None:
            raise NotImplementedError(f"contexts are not read from messages: values_def must be None {at()}")
        self._outer_context = context.get_default_graph()._get_control_flow_context()
        self._context_stack: list[Any] = []
        self._name = ""

    @property
    def name(self) -> str:
        return self._name

    @property
    def outer_context(self) -> ControlFlowContext | None:
        """The context that was entered when this one was made."""
        return self._outer_context

    def Enter(self) -> None:  # noqa: N802 - TensorFlow's name
        """Nodes of the default graph that are made from here on are shown to ``AddOp``."""
        graph = context.get_default_graph()
        self._context_stack.append(graph._get_control_flow_context())
        graph._set_control_flow_context(self)

    def Exit(self) -> None:  # noqa: N802 - TensorFlow's name
        """The context before ``Enter`` is in force again."""
        context.get_default_graph()._set_control_flow_context(self._context_stack.pop())

    def __enter__(self) -> ControlFlowContext:
        self.Enter()
        return self

    def __exit__(self, *error: object) -> None:
        self.Exit()

    def AddOp(self, op: Any) -> None:  # noqa: N802 - TensorFlow's name
        """Is called with each node made inside; tells the outer context, as subclasses may too."""
        if self._outer_context is not None:
            self._outer_context.AddOp(op)

    def IsWhileContext(self) -> bool:  # noqa: N802 - TensorFlow's name
        return False

    def IsCondContext(self) -> bool:  # noqa: N802 - TensorFlow's name
        return False

    def IsXLAContext(self) -> bool:  # noqa: N802 - TensorFlow's name
        return False
