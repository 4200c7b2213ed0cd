"""Resource variables: ``tf.Variable(..., use_resource=True)``, whose reads and assignments happen where their nodes are.

    v (VarHandleOp)   v/IsInitialized/VarIsInitializedOp   v/Assign (AssignVariableOp)   v/Read/ReadVariableOp

A reference variable used as a tensor stands for one shared read, which takes place when its value is used.  A resource variable
used as a tensor makes a read of its own each time, after the control dependencies in force there.  An assignment gives a variable
that is read after it (`UnreadVariable`).

Eagerly every variable is of the class `Variable`; what is here then does what that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.scope import init_scope, name_scope
from headrace.library.state import variable_scope  # noqa: F401 - it says what scopes choose
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import install_resource_class


def is_resource_variable(var: Any) -> bool:
    """Whether this is a resource variable."""
    return isinstance(var, ResourceVariable) or (isinstance(var, Variable) and var._snapshot is None)


class ResourceVariable(Variable):
    """A variable by handle.

    >>> v = tf.Variable(1.0, use_resource=True)
    >>> before = v.read_value()
    >>> with tf.control_dependencies([before]):
    ...     add = v.assign_add(10.0)
    >>> with tf.control_dependencies([add]):
    ...     after = v.read_value()
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run([before, after]))
    [np.float32(1.0), np.float32(11.0)]
    """

    _is_resource = True
    _cached_value: Tensor | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._use_resource = True

    # ---- building

    def _make_handle(self, scope: str, validate_shape: bool, shape: Any) -> None:
        if context.executing_eagerly():
            super()._make_handle(scope, validate_shape, shape)
            return
        if shape is None:
            shape = self._initial_value.shape if validate_shape else TensorShape(None)
        self._variable = raw_ops.VarHandleOp(
            shape=as_shape(shape), dtype=self._initial_value.dtype.base_dtype,
            container=context.get_default_graph()._container, shared_name=scope[:-1], name=scope,
        )  # fmt: skip
        self._name = self._variable.name

    def _build_nodes(self, graph: Graph, validate_shape: bool) -> None:
        with name_scope("IsInitialized"):
            self._is_initialized_op = raw_ops.VarIsInitializedOp(self._variable)
        with self._placed():
            self._initializer_op = raw_ops.AssignVariableOp(self._variable, self._safe_initial_value, name="Assign")
        with name_scope("Read"):
            self._snapshot = self._read()
        if self._caching_device is not None:
            with graph.device(self._caching_device):
                self._cached_value = raw_ops.Identity(self._snapshot)

    # ---- what it is

    @property
    def dtype(self) -> DType:
        return self._variable.dtype.base_dtype

    @property
    def handle(self) -> Tensor:
        return self._variable

    @property
    def create(self) -> Operation:
        """The op that sets the initial value."""
        return self.initializer

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether the variable has a value in the session that runs this."""
        if self._snapshot is None:
            return raw_ops.IsVariableInitialized(self._variable, name=name)
        return raw_ops.VarIsInitializedOp(self._variable, name=name)

    def _as_graph_element(self) -> Tensor:
        return self._variable if self._snapshot is None else self._snapshot

    # ---- reading

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Nodes made inside are on the variable's device, whatever device is asked for around."""
        graph = context.get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), graph.device(None), graph.device(self._variable.device):
            yield

    def _read(self) -> Tensor:
        with self._placed():
            return raw_ops.ReadVariableOp(self._variable, dtype=self.dtype)

    def value(self) -> Tensor:
        """The value, read again; with a caching device, the copy there that is made once a step."""
        if self._snapshot is None:
            return super().value()
        return self._read() if self._cached_value is None else self._cached_value

    def read_value(self) -> Tensor:
        """A new read, which sees the assignments it is made to depend on and no later ones."""
        if self._snapshot is None:
            return super().read_value()
        with name_scope("Read"):
            value = self._read()
        return raw_ops.Identity(value)

    def initialized_value(self) -> Tensor:
        """The value if the variable is initialised, else its initial value: for other variables' initial values."""
        if self._snapshot is None:
            return super().initialized_value()
        with init_scope():
            return raw_ops._InitializedResource(self._variable, self._safe_initial_value, name="initialized_value")

    def eval(self, session: Any = None) -> Any:
        """The value in ``session`` or the default session."""
        return self._as_graph_element().eval(session=session)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the value; their gradient is IndexedSlices."""
        if self._snapshot is None:
            return super().sparse_read(indices, name)
        with name_scope(name, "Gather") as scope, self._placed():
            rows: Tensor = raw_ops.ResourceGather(self._variable, indices, dtype=self.dtype, name=scope)
        return rows

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        if self._snapshot is None:
            return super().gather_nd(indices, name)
        with name_scope(name, "GatherNd") as scope, self._placed():
            parts: Tensor = raw_ops.ResourceGatherNd(self._variable, indices, dtype=self.dtype, name=scope)
        return raw_ops.Identity(parts)

    # ---- changing

    def _updated(self, op_type: str, *args: Any, read_value: bool = True, name: str | None = None, **attrs: Any) -> Any:
        """What an update gives: the variable after it, or with ``read_value=False`` the op."""
        operation = self._update(op_type, *args, name=name, **attrs)
        return UnreadVariable(self, operation) if read_value else operation

    def _update(self, op_type: str, *args: Any, **attrs: Any) -> Operation:
        return getattr(raw_ops, op_type)(self._variable, *args, **attrs)

    def _as_value(self, value: Any) -> Tensor:
        tensor = convert.convert_to_tensor(value, dtype=self.dtype)
        if not self.shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Shapes {self.shape} and {tensor.shape} are incompatible: variable {self.name!r} has the first, the value to "
                f"assign the second {at()}"
            )
        return tensor

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Sets the value.  The result is the variable read after that, or the op itself with ``read_value=False``."""
        if self._snapshot is None:
            return super().assign(value, use_locking, name, read_value)
        return self._updated("AssignVariableOp", self._as_value(value), name=name, read_value=read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        if self._snapshot is None:
            return super().assign_add(delta, use_locking, name, read_value)
        delta = convert.convert_to_tensor(delta, dtype=self.dtype)
        return self._updated("AssignAddVariableOp", delta, name=name, read_value=read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        if self._snapshot is None:
            return super().assign_sub(delta, use_locking, name, read_value)
        delta = convert.convert_to_tensor(delta, dtype=self.dtype)
        return self._updated("AssignSubVariableOp", delta, name=name, read_value=read_value)

    def _scatter(self, scatter: Callable[..., Any], delta: Any, use_locking: bool, name: str | None) -> Any:
        if self._snapshot is None or not isinstance(delta, IndexedSlices):
            return super()._scatter(scatter, delta, use_locking, name)
        return scatter(self, delta.indices, delta.values, use_locking=use_locking, name=name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        if self._snapshot is None:
            return super().scatter_nd_add(indices, updates, name)
        return self._updated("ResourceScatterNdAdd", indices, self._elements(updates), name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        if self._snapshot is None:
            return super().scatter_nd_sub(indices, updates, name)
        return self._updated("ResourceScatterNdSub", indices, self._elements(updates), name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        if self._snapshot is None:
            return super().scatter_nd_update(indices, updates, name)
        return self._updated("ResourceScatterNdUpdate", indices, self._elements(updates), name=name)

    def _elements(self, updates: Any) -> Tensor:
        return convert.convert_to_tensor(updates, dtype=self.dtype)

    def count_up_to(self, limit: int) -> Any:
        """Adds one and gives the value before that; OutOfRangeError at ``limit``."""
        if self._snapshot is None:
            return super().count_up_to(limit)
        return raw_ops.ResourceCountUpTo(self._variable, limit=limit, T=self.dtype)


class UnreadVariable(ResourceVariable):
    """What an assignment gives: the variable, each read of which comes after the assignment.

    ``op`` is the assignment.  Fetching it, or using it as a tensor, reads the variable.  One that is not ``fetched`` has no
    read for that yet; it stands for the assignment.
    """

    def __init__(self, variable: ResourceVariable, parent: Operation, fetched: bool = True) -> None:
        self.__dict__.update(variable.__dict__)
        self._parent = parent
        self._cached_value = None
        self._fetched = fetched
        if fetched:
            self._snapshot = self._read()

    def _as_graph_element(self) -> Any:
        return self._snapshot if self._fetched else self._parent

    @property
    def name(self) -> str:
        return self._parent.name

    @property
    def op(self) -> Operation:
        return self._parent

    def _read(self) -> Tensor:
        with context.get_default_graph().control_dependencies([self._parent]):
            return super()._read()

    def read_value(self) -> Tensor:
        return self._read()

    def initialized_value(self) -> Tensor:
        return self._read()

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        with context.get_default_graph().control_dependencies([self._parent]):
            return super().sparse_read(indices, name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        with context.get_default_graph().control_dependencies([self._parent]):
            return super().gather_nd(indices, name)

    def _update(self, op_type: str, *args: Any, **attrs: Any) -> Operation:
        with context.get_default_graph().control_dependencies([self._parent]):
            return super()._update(op_type, *args, **attrs)


install_resource_class(ResourceVariable)
