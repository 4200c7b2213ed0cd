"""``tf.Variable``: a node that holds state, its initialiser and a read of it, behind one Python object.

The graph layout and the names are TF1's: ``v`` (VariableV2), ``v/initial_value`` or ``v/Initializer/...``,
``v/Assign``, ``v/read``.  ``use_resource=True`` makes a resource variable (resource_variable.py).  How a variable is kept at
run time is ``resources``' business.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from headrace.core import dtypes, errors
from headrace.core.card import card
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.core.source import at
from headrace.eager.tape_entry import snapshot, watching_tapes
from headrace.eager.tensor import Immediate, register_handle
from headrace.graph import context, convert, raw_ops
from headrace.graph.body import lifted
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library.scope import init_scope, name_scope
from headrace.library.state import assign as update
from headrace.library.state.initial_value import guard
from headrace.library.state.variable_creator import (
    VariableAggregation,
    VariableSynchronization,
    checked_enums,
    create,
    variable_class,
)
from headrace.library.state.variable_def import SaveSliceInfo, VariableDef
from headrace.library.state.variable_slice import SLICED, EagerSlice, VariableSlice, outermost


def _outside(value: Any, graph: Graph) -> Any:
    """An initial value computed in a function's body, computed where the variable is made."""
    if not isinstance(value, Tensor) or value.graph is graph or not value.graph.reads_anew:
        return value
    outside = lifted(value, graph)
    return value if outside is None else outside


class VariableMeta(type):
    """Sends ``tf.Variable(...)`` through the creators in force; subclasses are made directly."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        bound = _SIGNATURE.bind(None, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        del arguments["self"]
        return create(_default_creator, arguments)

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of ``__init__``, which ``__call__`` would hide from ``help``."""
        of_init = inspect.signature(cls.__init__)  # type: ignore[misc]  # it is called on classes only
        return inspect.Signature(list(of_init.parameters.values())[1:])


def _default_creator(**arguments: Any) -> Any:
    """Makes the variable once all creators have had their say."""
    definition = arguments["variable_def"]
    use_resource = arguments["use_resource"] if definition is None else definition.is_resource
    if context.executing_eagerly():  # one class of variables serves, since each read has a moment of its own
        return type.__call__(Variable, **arguments)
    return type.__call__(variable_class(Variable, use_resource), **arguments)


class Variable(metaclass=VariableMeta):
    """State that lives across steps: ``v = tf.Variable(tf.zeros([10]), name="v")``.

    It must be initialised in each session (``tf.global_variables_initializer``) before it is read.  Used as a tensor it
    stands for its value; ``assign`` and its kin change it.  Variables hash and compare by identity.

    Args:
      initial_value: The first value: a tensor, what converts to one, or a function without arguments that makes it.
      trainable: Whether optimizers change it; None for yes, unless ``synchronization`` is ON_READ.
      collections: The collections to add it to; None for GLOBAL_VARIABLES.  Trainable ones are also in
        TRAINABLE_VARIABLES.
      validate_shape: Whether the shape of the initial value must be known, and is the variable's for good.
      caching_device: The device to read on; None for the variable's own.
      name: The variable's name, made unique; None for "Variable".
      variable_def: A VariableDef of a variable that is in the graph already, instead of ``initial_value``.
      dtype: The type; None for that of the initial value.
      expected_shape: Accepted for TensorFlow's sake; it has no effect.
      import_scope: A prefix for the names in ``variable_def``.
      constraint: A function of the new value that gives what is stored; optimizers call it after an update.
      use_resource: Whether it is a resource variable; None for what the variable scope, or else the program, has
        chosen.
      synchronization: A ``tf.VariableSynchronization``: when copies on several devices are made equal.
      aggregation: A ``tf.VariableAggregation``: how values from several replicas are combined.
      shape: The shape to declare, with None for sizes that may change; None for that of the initial value.

    >>> v = tf.Variable([1.0, 2.0], name='v')
    >>> add = v.assign_add([10.0, 10.0])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     sess.run(add)
    ...     print(sess.run(v))
    array([11., 12.], dtype=float32)
    [11. 12.]
    """

    __array_priority__ = 100
    SaveSliceInfo = SaveSliceInfo
    _is_resource = False

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = None, collections: Any = None,
        validate_shape: bool = True, caching_device: Any = None, name: str | None = None, variable_def: Any = None,
        dtype: Any = None, expected_shape: Any = None, import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None, use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE, shape: Any = None,
    ) -> None:  # fmt: skip
        self._save_slice_info: SaveSliceInfo | None = None
        self._snapshot: Any = None  # the read that stands for the value; None while ops run eagerly
        self._use_resource = bool(use_resource)
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_def(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError(f"initial_value must be specified: a tensor, a value or a function that makes one. {at()}")
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                f"collections argument to Variable constructor must be a list, tuple, or set. Got {collections!r} of "
                f"type {type(collections).__name__}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError(f"The `constraint` argument must be a callable, got {constraint!r}.")
        self._synchronization, self._aggregation, self._trainable = checked_enums(
            synchronization, aggregation, trainable, name
        )
        self._constraint = constraint
        self._caching_device = caching_device
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        base_dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        with init_scope():
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._build(scope, initial_value, base_dtype, validate_shape, shape)
            context.get_default_graph().add_to_collections(collections, self)

    def _build(self, scope: str, initial_value: Any, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        graph = context.get_default_graph()
        own_name = scope[:-1]
        if callable(initial_value) or (self._is_resource and not graph.executing_eagerly):
            with graph.colocate_with_name(own_name):
                with graph.name_scope("Initializer"), graph.device(None):
                    value = initial_value() if callable(initial_value) else _outside(initial_value, graph)
                    self._initial_value = convert.to_tensor(value, dtype, "initial_value")
                self._make_handle(scope, validate_shape, shape)
        else:
            self._initial_value = convert.to_tensor(_outside(initial_value, graph), dtype, "initial_value")
            self._make_handle(scope, validate_shape, shape)
        if self._initial_value.graph is not graph:
            raise ValueError(
                f"Initializer for variable {own_name} is from inside a control-flow construct, such as a loop or "
                "conditional. When creating a variable inside a loop or conditional, use a lambda as the initializer."
            )
        if validate_shape and not self._initial_value.shape.is_fully_defined():
            raise ValueError(
                f"initial_value must have a shape specified: {self._initial_value}. Give it one with set_shape, or pass "
                f"validate_shape=False. {at()}"
            )
        if graph.executing_eagerly:
            raw_ops.Assign(self._variable, self._initial_value, validate_shape=validate_shape)
            self._start_eager()
            return
        self._safe_initial_value = guard(scope, self._initial_value)
        self._build_nodes(graph, validate_shape)

    def _build_nodes(self, graph: Graph, validate_shape: bool) -> None:
        """The initialiser and the first read."""
        assigned = raw_ops.Assign(self._variable, self._safe_initial_value, validate_shape=validate_shape)
        self._initializer_op: Operation = assigned.op
        place = graph.device(self._caching_device) if self._caching_device is not None else graph.colocate_with(self.op)
        with place:
            self._snapshot = raw_ops.Identity(self._variable, name="read")

    def _start_eager(self) -> None:
        """Keeps the handle only: a read is made when the value is asked for."""
        handle: Any = self._variable
        handle.set_owner(self, self._trainable)
        self._initial_value = self._safe_initial_value = self._snapshot = self._initializer_op = None  # type: ignore[assignment]

    def _make_handle(self, scope: str, validate_shape: bool, shape: Any) -> None:
        if shape is None:
            shape = self._initial_value.shape if validate_shape else TensorShape(None)
        self._variable: Tensor = raw_ops.VariableV2(
            shape=as_shape(shape), dtype=self._initial_value.dtype.base_dtype, name=scope
        )
        self._name = self._variable.name

    def _from_def(self, definition: VariableDef, import_scope: str | None) -> None:
        graph = context.get_default_graph()
        prefix = f"{import_scope}/" if import_scope else ""
        self._variable = graph.get_tensor_by_name(prefix + definition.variable_name)
        self._name = self._variable.name
        self._initializer_op = graph.get_operation_by_name(prefix + definition.initializer_name)
        self._initial_value = graph.get_tensor_by_name(prefix + definition.initial_value_name)
        self._safe_initial_value = self._initializer_op.inputs[1]
        self._snapshot = graph.get_tensor_by_name(prefix + definition.snapshot_name)
        self._trainable = definition.trainable
        self._synchronization, self._aggregation = definition.synchronization, definition.aggregation
        self._constraint = None
        self._caching_device = None
        if definition.save_slice_info_def is not None:
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=definition.save_slice_info_def, import_scope=import_scope
            )

    # ---- what it is

    @property
    def name(self) -> str:
        return self._name

    @property
    def _shared_name(self) -> str:
        return self._name[:-2]

    @property
    def dtype(self) -> DType:
        element_type = self._variable.dtype
        return element_type.base_dtype if self._snapshot is None else element_type

    @property
    def shape(self) -> TensorShape:
        return self._variable.shape

    def get_shape(self) -> TensorShape:
        return self._variable.shape

    def set_shape(self, shape: Any) -> None:
        """Refines the static shape of the variable and of its value."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def op(self) -> Operation:
        return self._variable.op

    @property
    def handle(self) -> Tensor:
        """What ops on resource variables take; reference variables have none."""
        if self._snapshot is not None:
            raise AttributeError(
                f"'{self._name}' is a reference variable: pass use_resource=True to get a handle. {at()}"
            )
        return self._variable

    @property
    def graph(self) -> Graph:
        return self._variable.graph

    @property
    def device(self) -> str:
        return self._variable.device

    @property
    def initializer(self) -> Operation:
        """The op that sets the initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor:
        return self._initial_value

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """A function of the new value that optimizers apply after an update, or None."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

    # ---- reading

    def value(self) -> Tensor:
        """The value read at most once a step; the value of this moment when ops run eagerly, and in functions."""
        snapshot: Tensor = self._snapshot
        return self.read_value() if snapshot is None or context.get_default_graph().reads_anew else snapshot

    def read_value(self) -> Tensor:
        """A new read, which sees the assignments it is made to depend on and no later ones."""
        if self._snapshot is None and watching_tapes() == ():
            return snapshot((), self._variable)
        value: Tensor = raw_ops.Identity(self._variable, name="read")
        if not context.executing_eagerly():
            value.op._set_attr(
                "_place", True
            )  # unlike the read that ``value()`` shares, it is not moved to where it is used
        return value

    def initialized_value(self) -> Tensor:
        """The value if the variable is initialised, else its initial value: for other variables' initial values."""
        if self._snapshot is None:
            return self.read_value()
        with init_scope():
            return raw_ops._InitializedValue(self._variable, self._safe_initial_value, name="initialized_value")

    def _ref(self) -> Tensor:
        """The handle, for ops that change the variable."""
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _AsTensor(self) -> Tensor:
        return self.value()

    def numpy(self) -> Any:
        """The value as an array; only when ops run eagerly."""
        if not isinstance(self._variable, Immediate):
            raise NotImplementedError(f"numpy() is only available when eager execution is enabled. {at()}")
        return raw_ops.Identity(self._variable).numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value as an array; only when ops run eagerly."""
        array = np.asarray(self.numpy())
        return array if dtype is None else array.astype(dtype)

    def __bool__(self) -> bool:
        """Whether the value is true; always True in a graph, which does not know the value."""
        return self._snapshot is not None or bool(self.value())

    def __int__(self) -> int:
        return int(self.value())  # type: ignore[call-overload, no-any-return]

    def __float__(self) -> float:
        return float(self.value())  # type: ignore[arg-type]

    def _changed(self, assigned: Any, read_value: bool) -> Any:
        """What an update returns: the new value or the op; when ops run eagerly, the variable itself or None."""
        if self._snapshot is None:
            return self if read_value else None
        return assigned if read_value else assigned.op

    def eval(self, session: Any = None) -> Any:
        """The value in ``session`` or the default session."""
        return self._variable.eval(session=session)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the value."""
        return raw_ops.GatherV2(self, indices, 0, name=name or "Gather")

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        return raw_ops.GatherNd(self, indices, name=name)

    # ---- changing

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Sets the value.  The result is the new value, or the op itself with ``read_value=False``."""
        try:
            assigned = update.assign(self._variable, value, use_locking=use_locking, name=name)
        except errors.InvalidArgumentError as e:  # when ops run eagerly
            if "shapes" in e.message:
                raise ValueError(f"Cannot assign to variable {self._name}: {e.message}") from e
            raise
        return self._changed(assigned, read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        assigned = raw_ops.AssignAdd(self._variable, delta, use_locking=use_locking, name=name)
        return self._changed(assigned, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        assigned = raw_ops.AssignSub(self._variable, delta, use_locking=use_locking, name=name)
        return self._changed(assigned, read_value)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_add, sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_sub, sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_mul, sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_div, sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_min, sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.scatter_max, sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Sets the rows ``sparse_delta.indices`` to ``sparse_delta.values``."""
        return self._scatter(update.scatter_update, sparse_delta, use_locking, name)

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._scatter(update.batch_scatter_update, sparse_delta, use_locking, name)

    def _scatter(self, scatter: Callable[..., Any], delta: Any, use_locking: bool, name: str | None) -> Any:
        if not isinstance(delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta!r}")
        assigned = scatter(self._variable, delta.indices, delta.values, use_locking=use_locking, name=name)
        return self._changed(assigned, True)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return update.scatter_nd_add(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return update.scatter_nd_sub(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        return update.scatter_nd_update(self._variable, indices, updates, use_locking=True, name=name)

    def count_up_to(self, limit: int) -> Any:
        """Adds one and gives the value before that; OutOfRangeError at ``limit``."""
        return update.count_up_to(self._variable, limit)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value in ``session`` or the default session without adding to the graph."""
        if self._snapshot is None:
            self.assign(value)
            return
        session = session or context.get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self._initializer_op, {self._initializer_op.inputs[1]: value})

    # ---- saving

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """The names of the variable's nodes; None if it is not inside ``export_scope``."""
        prefix = f"{export_scope}/" if export_scope else ""
        if not self._name.startswith(prefix):
            return None
        names = (self._name, self._initial_value.name, self._initializer_op.name, self._snapshot.name)
        variable, initial, initializer, snapshot = (n.removeprefix(prefix) for n in names)
        info = self._save_slice_info and self._save_slice_info.to_proto(export_scope)
        return VariableDef(
            variable,
            initial,
            initializer,
            snapshot,
            self._trainable,
            self._is_resource,
            info,
            self._synchronization,
            self._aggregation,
        )

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """The variable of the default graph that ``to_proto`` described."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    # ---- Python

    def experimental_ref(self) -> Any:
        """A hashable stand-in; variables hash by identity already."""
        return self

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: Any) -> Variable:
        return self

    def _repr_html_(self) -> str:
        return card(repr(self), {"trainable": self.trainable, "device": self.device})

    def __repr__(self) -> str:
        if isinstance(self._variable, Immediate):
            return f"<tf.Variable '{self._name}' shape={self.shape!s} dtype={self.dtype.name}, numpy={self.numpy()!r}>"
        return f"<tf.Variable '{self._name}' shape={self.shape!s} dtype={self.dtype.name}>"


_SIGNATURE = inspect.signature(Variable.__init__)

# The operators of Tensor (installed there by the library's own modules), applied to the variable's value.
OPERATORS = (
    "__abs__", "__add__", "__and__", "__div__", "__floordiv__", "__ge__", "__getitem__", "__gt__", "__invert__",
    "__le__", "__lt__", "__matmul__", "__mod__", "__mul__", "__neg__", "__or__", "__pow__", "__radd__", "__rand__",
    "__rdiv__", "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__rpow__", "__rsub__",
    "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__xor__",
)  # fmt: skip


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Variable, *args: Any) -> Any:
        value = self.value()
        method = getattr(type(value), name, None)
        if method is None:
            return NotImplemented
        return method(value, *args)

    apply.__name__ = name
    apply.__doc__ = getattr(getattr(Tensor, name, None), "__doc__", None)
    return apply


_TENSOR: Any = Tensor  # its operators are installed later, by the library


def _getitem(self: Variable, item: Any) -> Any:
    """A slice of the value, to which one can also assign: ``v[1:3].assign(x)``."""
    if self._snapshot is None:
        part: Any = self.value()[item]  # type: ignore[index]
        if not isinstance(part, Immediate):  # a function is being built
            if part.op.type == "StridedSlice":
                part.__class__ = VariableSlice
            return part
        part.__class__ = EagerSlice
        SLICED[part] = (self, item)
        return part
    value = self.value()
    part = _TENSOR.__getitem__(value, item)
    if part.op.type == "StridedSlice" and outermost(part.op.inputs[0]) is outermost(value):
        part.__class__ = VariableSlice
    return part


for _name in OPERATORS:
    setattr(Variable, _name, _getitem if _name == "__getitem__" else _operator(_name))


def _convert(value: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type '{value.dtype.name}' "
            f"({value!r})"
        )
    return value._ref() if as_ref else value.value()


convert.register_tensor_conversion_function(Variable, _convert)
register_handle(Variable, operator.attrgetter("_variable"))
