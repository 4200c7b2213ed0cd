"""Operation and Tensor: the nodes of a graph and the values on their outputs.

A node is immutable once made, except for what TF1 also allows to change (control inputs, device, shape refinement).
Operators on Tensor (``a + b``, slicing) are installed from above by ``library``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from headrace.core.card import card
from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import Source, at
from headrace.graph import context
from headrace.graph.text import node_text

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


class Tensor:
    """A symbolic value: output ``value_index`` of ``op``.  Hashes and compares by identity, as in TF1.

    Args:
      op: The operation that computes it.
      value_index: The number of the output.
      dtype: The type of its elements.
      shape: What is known of its shape.

    >>> x = tf.constant([1.0, 2.0], name='x')
    >>> x.op.name, x.value_index, x.dtype, x.shape.as_list()
    ('x', 0, tf.float32, [2])
    """

    # ``__dict__`` for what users and Keras put on a tensor (``_keras_history``); a tensor without such things has none.
    __slots__ = ("__dict__", "__weakref__", "_consumers", "_dtype", "_shape", "_static_value", "op", "value_index")
    __array_priority__ = 100
    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set()

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op = op
        self.value_index = value_index
        self._dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] = []
        self._static_value: Any = None

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def graph(self) -> Graph:
        """The graph that the tensor is in."""
        return self.op.graph

    @property
    def name(self) -> str:
        """The name of its operation and the number of the output, such as "x:0"."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The device of its operation; "" if none was asked for."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of the value's shape before it is computed."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The static shape: what is known of the value's shape before it is computed."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Refines the static shape; a contradiction is a ValueError."""
        try:
            self._shape = self._shape.merge_with(as_shape(shape))
        except ValueError as e:
            raise ValueError(
                f"Tensor {self.name!r} has static shape {self._shape}, which cannot be refined to {as_shape(shape)}: {e} "
                f"{at()}"
            ) from None
        self._static_value = None

    def consumers(self) -> list[Operation]:
        """The operations that take the tensor."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Computes this tensor in ``session`` or the default session."""
        return default_session(session, self.graph, "eval").run(self, feed_dict)

    def _repr_html_(self) -> str:
        facts = {"shape": self._shape, "dtype": self._dtype.name, "made by": self.op.type, "device": self.device}
        facts["line"] = self.op.source
        return card(f"tf.Tensor {self.name}", facts)

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape!s} dtype={self._dtype.name}>"

    def __str__(self) -> str:
        shape = f", shape={self._shape!s}" if self._shape.ndims is not None else ""
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    __hash__ = object.__hash__  # tensors are keys of every feed

    def __eq__(self, other: object) -> bool:
        return self is other

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"Tensor objects are only iterable when eager execution is enabled. To iterate over this tensor "
            f"({self.name}, shape {self._shape}) use tf.map_fn, or tf.unstack when its first dimension is known. {at()}"
        )

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than `len(x)` "
            f"for shape information. {at()}"
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"Using a `tf.Tensor` as a Python `bool` is not allowed. ({self.name}) Use `if t is not None:` instead of "
            "`if t:` to test if a tensor is defined, and use ops such as tf.cond to execute subgraphs conditioned on "
            f"the value of a tensor. {at()}"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array. Fetch it with Session.run, or use "
            f"tf operations instead of numpy ones. {at()}"
        )

    @property
    def numpy(self) -> Any:
        """Tensors of immediate execution have it; of others it is an error that says what to do."""
        raise AttributeError(
            f"'Tensor' object has no attribute 'numpy' ({self.name}): a tensor of a graph has no value yet. Fetch it with "
            f"Session.run; tf.enable_eager_execution() at the start of the program gives tensors that have one. {at()}"
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            f"'Tensor' object does not support item assignment. ({self.name}) A tensor does not change: build a new one, with "
            f"tf.where or tf.tensor_scatter_nd_update, or keep the values in a tf.Variable and use tf.scatter_update. {at()}"
        )

    if TYPE_CHECKING:  # installed by `library.operators`; here for type checkers only

        def __getitem__(self, key: Any, /) -> Tensor: ...
        def __add__(self, other: Any, /) -> Tensor: ...
        def __radd__(self, other: Any, /) -> Tensor: ...
        def __sub__(self, other: Any, /) -> Tensor: ...
        def __rsub__(self, other: Any, /) -> Tensor: ...
        def __mul__(self, other: Any, /) -> Tensor: ...
        def __rmul__(self, other: Any, /) -> Tensor: ...
        def __truediv__(self, other: Any, /) -> Tensor: ...
        def __rtruediv__(self, other: Any, /) -> Tensor: ...
        def __floordiv__(self, other: Any, /) -> Tensor: ...
        def __rfloordiv__(self, other: Any, /) -> Tensor: ...
        def __mod__(self, other: Any, /) -> Tensor: ...
        def __rmod__(self, other: Any, /) -> Tensor: ...
        def __pow__(self, other: Any, /) -> Tensor: ...
        def __rpow__(self, other: Any, /) -> Tensor: ...
        def __matmul__(self, other: Any, /) -> Tensor: ...
        def __rmatmul__(self, other: Any, /) -> Tensor: ...
        def __and__(self, other: Any, /) -> Tensor: ...
        def __rand__(self, other: Any, /) -> Tensor: ...
        def __or__(self, other: Any, /) -> Tensor: ...
        def __ror__(self, other: Any, /) -> Tensor: ...
        def __xor__(self, other: Any, /) -> Tensor: ...
        def __rxor__(self, other: Any, /) -> Tensor: ...
        def __lt__(self, other: Any, /) -> Tensor: ...
        def __le__(self, other: Any, /) -> Tensor: ...
        def __gt__(self, other: Any, /) -> Tensor: ...
        def __ge__(self, other: Any, /) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...

    def _as_graph_element(self) -> Tensor:
        return self

    def _as_tf_output(self) -> tuple[str, int]:
        return self.op.name, self.value_index

    @classmethod
    def _override_operator(cls, operator: str, method: Callable[..., Any]) -> None:
        setattr(cls, operator, method)
        cls.OVERLOADABLE_OPERATORS.add(operator)


def public_attr(value: Any) -> Any:
    """An attribute as TensorFlow gives it: text as bytes, several values as a list."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return [public_attr(item) for item in value] if isinstance(value, tuple) else value


_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class Operation:
    """A node: an op type, its inputs, attributes and outputs.  Made by ``Graph.create_op`` only.

    Args:
      graph: The graph that it is in.
      node_id: Its number in the graph.
      name: Its name, which no other operation of the graph has.
      op_def: The op: its signature, rules and kernels.
      inputs: The tensors that it takes.
      attrs: Its attributes by name.
      control_inputs: The operations that run before it.
      source: The user's line that made it.

    >>> y = tf.add(1.0, 2.0, name='sum')
    >>> y.op.type, [x.op.type for x in y.op.inputs]
    ('Add', ['Const', 'Const'])
    """

    __slots__ = (
        "__weakref__", "_attrs", "_control_inputs", "_device", "_id", "_outputs", "colocation", "graph", "inputs",
        "name", "op_def", "original_op", "source",
    )  # fmt: skip

    def __init__(
        self, graph: Graph, node_id: int, name: str, op_def: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any],
        control_inputs: list[Operation], source: Source,
    ) -> None:  # fmt: skip
        self.graph = graph
        self._id = node_id
        self.name = name
        self.op_def = op_def
        self.inputs: tuple[Tensor, ...] = tuple(inputs)
        self._attrs = attrs
        self._control_inputs = control_inputs
        self._device = ""
        self._outputs: tuple[Tensor, ...] = ()
        self.colocation: tuple[str, ...] = ()
        self.source = source
        self.original_op: Operation | None = None

    @property
    def type(self) -> str:
        """The type of op, such as "MatMul"; of a call of a `Defun`, the function's name."""
        body = self._attrs.get("f") if self.op_def.name in _CALLS else None
        return getattr(body, "called", "") or self.op_def.name

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that it computes."""
        return list(self._outputs)

    @property
    def attrs(self) -> dict[str, Any]:
        """All attributes, inferred ones included.  Do not change the dict."""
        return self._attrs

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that run before it, besides those of its inputs."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The device that was asked for; "" if none was."""
        return self._device

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """Where the user made this node, innermost frame last (one frame: the user's own)."""
        return [(self.source.filename, self.source.lineno, self.source.function, "")]

    @property
    def node_def(self) -> Any:
        """The node as a NodeDef: name, op, input, device, attr."""
        return self.graph._node_def(self)

    @property
    def _original_op(self) -> Operation | None:  # TensorFlow's name
        return self.original_op

    def get_attr(self, name: str) -> Any:
        """An attribute: text as bytes, several values as a list, shapes and tensors as TensorShapes and arrays."""
        try:
            return public_attr(self._attrs[name])
        except KeyError:
            raise ValueError(
                f"Operation '{self.name}' ({self.type}) has no attr named '{name}'; it has {sorted(self._attrs)}."
            ) from None

    def values(self) -> tuple[Tensor, ...]:
        """The tensors that it computes, as a tuple."""
        return self._outputs

    def colocation_groups(self) -> list[bytes]:
        """The groups of operations that are placed together with it, such as ``[b"loc:@v"]``."""
        return [c.encode() for c in self.colocation] or [f"loc:@{self.name}".encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this operation in ``session`` or the default session."""
        default_session(session, self.graph, "run").run(self, feed_dict)

    def _set_device(self, device: Any) -> None:
        self._device = str(device) if device else ""
        self.graph._mutated()

    def _set_attr(self, name: str, value: Any) -> None:
        if name == "_class":  # colocation groups, as an AttrValue has them
            groups = value.list.s if hasattr(value, "list") else value
            self.colocation = tuple(g.decode() if isinstance(g, bytes) else str(g) for g in groups)
        else:
            self._attrs[name] = value
        self.graph._mutated()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"control input must be an Operation, got {op!r}")
            if op.graph is not self.graph:
                raise ValueError(f"control input {op.name} is from a different graph than {self.name} {at()}")
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph._mutated()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Rewires one input (TF1's escape hatch for rewriting graphs)."""
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor.name} must be from the same graph as {self.name}")
        old = self.inputs[index]
        if old.dtype.base_dtype != tensor.dtype.base_dtype:
            raise TypeError(f"input {index} of {self.name} is {old.dtype.name}; {tensor.name} is {tensor.dtype.name}")
        self.inputs = (*self.inputs[:index], tensor, *self.inputs[index + 1 :])
        if old not in self.inputs:
            old._consumers.remove(self)
        tensor._consumers.append(self)
        self.graph._mutated()

    def _as_graph_element(self) -> Operation:
        return self

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, memo: Any) -> Operation:
        return self

    def _repr_html_(self) -> str:
        gives = ", ".join(f"{t.name} {t.dtype.name}{t.shape}" for t in self.outputs)
        takes = ", ".join(t.name for t in self.inputs)
        return card(
            f"tf.Operation {self.name}", {"type": self.type, "takes": takes, "gives": gives, "line": self.source}
        )

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return node_text(self)


_DOES = {"eval": "evaluate tensor", "run": "execute operation"}


def default_session(session: Any, graph: Graph, verb: str) -> Any:
    does = _DOES.get(verb, verb)
    if session is None:
        session = context.get_default_session()
        if session is None:
            raise ValueError(
                f"Cannot {does} using `{verb}()`: No default session is registered. Use `with sess.as_default()` or pass an "
                f"explicit session to `{verb}(session=sess)` {at()}"
            )
    if session.graph is not graph:
        what = does.split()[-1] if verb in _DOES else "layer"
        raise ValueError(
            f"Cannot use the given session to {does}: the {what}'s graph is different from the session's graph. {at()}"
        )
    return session
