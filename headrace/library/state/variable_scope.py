"""Variable scopes: names, sharing and defaults for the variables that ``tf.get_variable`` makes.

A scope prefixes variable names exactly as written and also opens a name scope for ops, which is made unique each time:

    with tf.variable_scope("layer"):                   # variables layer/w,  ops layer/...
        w = tf.get_variable("w", [3, 4])
    with tf.variable_scope("layer", reuse=True):       # the same layer/w,   ops layer_1/...
        same = tf.get_variable("w")

As in TF1, a graph's collections hold its store of variables and, for each thread, the current scope.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.graph import context, convert
from headrace.graph.build import graph_of_inputs
from headrace.graph.collection import GraphKeys
from headrace.library.state.policy_partitioner import policy_partitioner
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization, install_scope_choice
from headrace.library.state.variable_store import AUTO_REUSE, ReuseMode, VariableStore

_STORE_KEY = ("__variable_store",)
_SCOPES_KEY = ("__varscope",)
_OPTIONS = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource",
    "constraint",
)  # fmt: skip


class VariableScope:
    """The defaults in force for ``get_variable``: name prefix, reuse, initializer, regularizer, partitioner...

    ``reuse``: True shares only, False or None creates only, ``tf.AUTO_REUSE`` does either; sub-scopes inherit it.

    Args:
      reuse: True, False, None or ``tf.AUTO_REUSE``.
      name: The prefix of variable names, without the "/" behind it.
      initializer: The default initializer.
      regularizer: The default regularizer.
      caching_device: The default device to read variables on.
      partitioner: The default partitioner.
      custom_getter: The function that ``tf.get_variable`` calls in place of its own.
      name_scope: The name scope that belongs to it, with the "/" behind it.
      dtype: The default type.
      use_resource: Whether variables are resource variables; None for what the program has chosen.
      constraint: The default constraint.

    >>> with tf.variable_scope("layer", initializer=tf.zeros_initializer()) as scope:
    ...     print(scope.name, tf.get_variable("w", [3]).name)
    layer layer/w:0
    """

    def __init__(
        self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
        partitioner: Any = None, custom_getter: Callable[..., Any] | None = None, name_scope: str = "",
        dtype: Any = dtypes.float32, use_resource: bool | None = None, constraint: Any = None,
    ) -> None:  # fmt: skip
        self._name = name
        self._reuse = reuse
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtypes.as_dtype(dtype)
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope opened when this scope was first entered, with its trailing "/"."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        return self._reuse

    @property
    def initializer(self) -> Any:
        return self._initializer

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        return self._partitioner

    @property
    def custom_getter(self) -> Callable[..., Any] | None:
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        return self._constraint

    def reuse_variables(self) -> None:
        """From here on, share variables only; there is no way back."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtypes.as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        self._custom_getter = custom_getter

    def set_constraint(self, constraint: Any) -> None:
        self._constraint = constraint

    def get_collection(self, name: Any) -> list[Any]:
        """The items of a collection whose names are inside this scope."""
        return context.get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self, var_store: VariableStore, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
        regularizer: Any = None, reuse: Any = None, trainable: bool | None = None, collections: Any = None,
        caching_device: Any = None, partitioner: Any = None, validate_shape: bool = True,
        use_resource: bool | None = None, custom_getter: Callable[..., Any] | None = None, constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        """The variable ``name`` of this scope, with this scope's defaults for what is not given."""
        full_name = f"{self._name}/{name}" if self._name else name
        with context.get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                value_dtype = convert.convert_to_tensor(initializer).dtype.base_dtype
                base_dtype = dtypes.as_dtype(dtype).base_dtype
                if value_dtype != base_dtype:
                    raise ValueError(
                        f"Initializer type '{value_dtype.name}' and explicit dtype '{base_dtype.name}' don't match."
                    )
            return var_store.get_variable(
                full_name, shape=shape, dtype=_first(dtype, self._dtype),
                initializer=_first(initializer, self._initializer), regularizer=_first(regularizer, self._regularizer),
                reuse=_first(reuse, self._reuse) or False, trainable=trainable, collections=collections,
                caching_device=_first(caching_device, self._caching_device),
                partitioner=_first(partitioner, self._partitioner), validate_shape=validate_shape,
                use_resource=_first(use_resource, self._use_resource),
                custom_getter=_first(custom_getter, self._custom_getter),
                constraint=_first(constraint, self._constraint), synchronization=synchronization,
                aggregation=aggregation,
            )  # fmt: skip


def _first(value: Any, default: Any) -> Any:
    return default if value is None else value


class _ScopeStore(threading.local):
    """The current scope of one graph in one thread, and how often each scope name was opened."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.current = VariableScope(False, partitioner=policy_partitioner())

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_subscopes(self, name: str) -> None:
        """Sub-scopes of a closed scope may be opened again under the same default names."""
        prefix = f"{name}/"
        for key in self.counts:
            if not name or key.startswith(prefix):
                self.counts[key] = 0

    def unique(self, prefix: str) -> str:
        """``prefix``, or ``prefix_1``..., not opened before in the current scope."""
        base = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.counts.get(base):
            return prefix
        i = 1
        while self.counts.get(f"{base}_{i}"):
            i += 1
        return f"{prefix}_{i}"


def _scopes() -> _ScopeStore:
    stores = context.get_default_graph().get_collection_ref(_SCOPES_KEY)
    if not stores:
        stores.append(_ScopeStore())
    return stores[0]


def scope_state() -> tuple[VariableScope, dict[str, int]]:
    """The current scope of this thread, and how often each scope name was opened: for another thread to go on with."""
    store = _scopes()
    return store.current, dict(store.counts)


def set_scope_state(current: VariableScope, counts: dict[str, int]) -> None:
    """Goes on where `scope_state` was asked."""
    store = _scopes()
    store.current, store.counts = current, dict(counts)


@contextmanager
def getter_scope(custom_getter: Callable[..., Any]) -> Iterator[None]:
    """Inside, the current scope calls the getter first; names of scopes are counted as outside."""
    scope = _scopes().current
    outer = scope.custom_getter
    scope.set_custom_getter(_compose_getters(custom_getter, outer))
    try:
        yield
    finally:
        scope.set_custom_getter(outer)


def unique_scope(prefix: str) -> str:
    """``prefix``, with a number appended if the current scope has opened a scope of that name before."""
    return _scopes().unique(prefix)


def _get_default_variable_store() -> VariableStore:
    stores = context.get_default_graph().get_collection_ref(_STORE_KEY)
    if not stores:
        stores.append(VariableStore())
    return stores[0]


@contextmanager
def with_variable_store(store: VariableStore) -> Iterator[VariableStore]:
    """Inside, ``get_variable`` makes and finds variables in ``store``."""
    collection = context.get_default_graph().get_collection_ref(_STORE_KEY)
    old = list(collection)
    collection[:] = [store]
    try:
        yield store
    finally:
        collection[:] = old


def get_variable_scope() -> VariableScope:
    """The current variable scope.

    Returns:
      A VariableScope.

    >>> with tf.variable_scope("layer"):
    ...     print(tf.get_variable_scope().name)
    layer
    """
    return _scopes().current


install_scope_choice(lambda: get_variable_scope().use_resource)


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    trainable: bool | None = None, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
    validate_shape: bool = True, use_resource: bool | None = None, custom_getter: Callable[..., Any] | None = None,
    constraint: Any = None, synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """Creates, or shares, the variable ``name`` of the current scope.

    ``initializer`` is a function of shape and dtype, a function of nothing, a tensor or an array; without one, small
    random numbers (zeros for integers).  The scope's ``reuse`` says whether an existing variable is shared or an error.

    Args:
      name: The variable's name, inside the current variable scope.
      shape: The shape of a new variable; None where the initializer is a value.
      dtype: The type of a new variable; None for the scope's, which is float32 unless it was changed.
      initializer: What makes the first value; None for the scope's.
      regularizer: A function of the variable whose result goes to REGULARIZATION_LOSSES; None for the scope's.
      trainable: Whether optimizers change it; None for yes, unless ``synchronization`` is ON_READ.
      collections: The collections to add it to; None for GLOBAL_VARIABLES.
      caching_device: The device to read on; None for the scope's, or else the variable's own.
      partitioner: A function of shape and dtype that says how to cut the variable; None for the scope's.
      validate_shape: Whether the shape of the initial value must be known.
      use_resource: Whether it is a resource variable; None for the scope's choice, or else the program's.
      custom_getter: A function called in place of this one, with this one as ``getter``; None for the scope's.
      constraint: A function of the new value that gives what is stored; None for the scope's.
      synchronization: A ``tf.VariableSynchronization``: when copies on several devices are made equal.
      aggregation: A ``tf.VariableAggregation``: how values from several replicas are combined.

    Returns:
      A Variable; a PartitionedVariable where there is a partitioner.

    >>> w = tf.get_variable("w", [3, 4], initializer=tf.zeros_initializer())
    """
    return get_variable_scope().get_variable(
        _get_default_variable_store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
        validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


def get_local_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    trainable: bool | None = False, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
    validate_shape: bool = True, use_resource: bool | None = None, custom_getter: Callable[..., Any] | None = None,
    constraint: Any = None, synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """``get_variable`` for a variable of this process only (collection LOCAL_VARIABLES), never trained.

    Args:
      name: The variable's name, inside the current variable scope.
      shape: The shape of a new variable; None where the initializer is a value.
      dtype: The type of a new variable; None for the scope's, which is float32 unless it was changed.
      initializer: What makes the first value; None for the scope's.
      regularizer: A function of the variable whose result goes to REGULARIZATION_LOSSES; None for the scope's.
      trainable: Accepted; a local variable is never trained.
      collections: Further collections to add it to; LOCAL_VARIABLES is always one.
      caching_device: The device to read on; None for the scope's, or else the variable's own.
      partitioner: A function of shape and dtype that says how to cut the variable; None for the scope's.
      validate_shape: Whether the shape of the initial value must be known.
      use_resource: Whether it is a resource variable; None for the scope's choice, or else the program's.
      custom_getter: A function called in place of this one, with this one as ``getter``; None for the scope's.
      constraint: A function of the new value that gives what is stored; None for the scope's.
      synchronization: A ``tf.VariableSynchronization``: when copies on several devices are made equal.
      aggregation: A ``tf.VariableAggregation``: how values from several replicas are combined.

    Returns:
      A Variable; a PartitionedVariable where there is a partitioner.

    >>> seen = tf.get_local_variable("seen", initializer=0)
    >>> [v.name for v in tf.local_variables()]
    ['seen:0']
    """
    collections = list(collections or ())
    if GraphKeys.LOCAL_VARIABLES not in collections:
        collections.append(GraphKeys.LOCAL_VARIABLES)
    return get_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=False,
        collections=collections, caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape,
        use_resource=use_resource, custom_getter=custom_getter, constraint=constraint, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip


@contextmanager
def pure_variable_scope(
    name_or_scope: str | VariableScope, reuse: Any = None, old_name_scope: str | None = None, **options: Any
) -> Iterator[VariableScope]:
    """Opens a variable scope without a name scope.  ``options`` are the defaults to change, None for those to keep."""
    store = _scopes()
    old = store.current
    if isinstance(name_or_scope, VariableScope):
        parent, name = name_or_scope, name_or_scope.name
        name_scope = name_or_scope.original_name_scope if old_name_scope is None else old_name_scope
        saved = dict(store.counts)
    else:
        parent, name = old, f"{old.name}/{name_or_scope}" if old.name else name_or_scope
        name_scope = name_or_scope if old_name_scope is None else old_name_scope
        saved = None
    inherited = {key: getattr(parent, key) for key in _OPTIONS}
    getter = options.pop("custom_getter", None)
    inherited.update((key, value) for key, value in options.items() if value is not None)
    if getter is not None:
        inherited["custom_getter"] = _compose_getters(getter, parent.custom_getter)
    scope = VariableScope(reuse or parent.reuse, name=name, name_scope=name_scope, **inherited)
    store.open(name)
    store.current = scope
    try:
        yield scope
    finally:
        store.close_subscopes(name)
        if saved is not None:
            store.counts = saved
        store.current = old


def _compose_getters(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """The inner scope's getter is called first; its ``getter`` argument is the outer one's."""
    if outer is None:
        return inner
    return lambda getter, *args, **kwargs: inner(partial(outer, getter), *args, **kwargs)


class variable_scope:
    """``with tf.variable_scope("layer") as scope:`` opens a variable scope and a name scope for ops.

    A VariableScope given instead of a name is re-entered: same variable names, a new name scope.  With
    ``name_or_scope=None`` the ``default_name`` is made unique.  ``auxiliary_name_scope=False`` keeps the name scope.

    Args:
      name_or_scope: The name, or the VariableScope to enter again; None for ``default_name``.
      default_name: The name where ``name_or_scope`` is None; a number is added if it has been used.
      values: The tensors that are used inside; they must belong to one graph.
      initializer: The default initializer inside; None for the outer scope's.
      regularizer: The default regularizer inside; None for the outer scope's.
      caching_device: The default device to read variables on; None for the outer scope's.
      partitioner: The default partitioner inside; None for the outer scope's.
      custom_getter: A function that ``tf.get_variable`` calls, before the outer scope's; None for that alone.
      reuse: True shares variables, ``tf.AUTO_REUSE`` shares or creates; None or False for the outer scope's.
      dtype: The default type inside; None for the outer scope's.
      use_resource: Whether variables are resource variables; None for the outer scope's choice.
      constraint: The default constraint inside; None for the outer scope's.
      auxiliary_name_scope: Whether to open a name scope too.

    >>> def layer(x):
    ...     return x * tf.get_variable('w', [])
    >>> with tf.variable_scope('model', reuse=tf.AUTO_REUSE):
    ...     y = layer(layer(tf.constant(1.0)))
    >>> [v.name for v in tf.global_variables()]
    ['model/w:0']
    """

    def __init__(
        self, name_or_scope: str | VariableScope | None, default_name: str | None = None,
        values: Sequence[Any] | None = None, initializer: Any = None, regularizer: Any = None,
        caching_device: Any = None, partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None, reuse: Any = None,
        dtype: Any = None, use_resource: bool | None = None, constraint: Any = None, auxiliary_name_scope: bool = True,
    ) -> None:  # fmt: skip
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError(f"VariableScope: name_or_scope must be a string or VariableScope, got {name_or_scope!r}.")
        if reuse not in (None, True, False) and not isinstance(reuse, ReuseMode):
            raise ValueError(f"The reuse parameter must be True or False or None or tf.AUTO_REUSE, got {reuse!r}.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope!r}")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values or ()
        self._reuse = reuse or None  # False inherits, as in TF1
        self._auxiliary_name_scope = auxiliary_name_scope
        self._options = {
            "initializer": initializer, "regularizer": regularizer, "caching_device": caching_device,
            "partitioner": partitioner, "custom_getter": custom_getter, "dtype": dtype, "use_resource": use_resource,
            "constraint": constraint,
        }  # fmt: skip
        self._entered: list[Any] = []

    def __enter__(self) -> VariableScope:
        manager = self._enter()
        scope: VariableScope = manager.__enter__()
        self._entered.append(manager)
        return scope

    def __exit__(self, *error: Any) -> Any:
        return self._entered.pop().__exit__(*error)

    @contextmanager
    def _enter(self) -> Iterator[VariableScope]:
        graph = graph_of_inputs(self._values)
        if graph is not context.get_default_graph():
            with graph.as_default(), self._enter_in(graph) as scope:
                yield scope
        else:
            with self._enter_in(graph) as scope:
                yield scope

    @contextmanager
    def _enter_in(self, graph: Any) -> Iterator[VariableScope]:
        named = self._name_or_scope
        if named is None:
            op_scope = self._default_name or ""
        else:
            op_scope = named if isinstance(named, str) else named.name.split("/")[-1]
        if not self._auxiliary_name_scope:
            current = graph.get_name_scope()
            manager = graph.name_scope(f"{current}/" if current else "")
        elif op_scope:
            manager = graph.name_scope(op_scope)
        else:  # entering the root scope leaves the name scope alone
            with pure_variable_scope(named or "", self._reuse, None, **self._options) as scope:
                yield scope
            return
        with manager as name_scope:
            original: str | None = name_scope
            if named is None:
                named = _scopes().unique(self._default_name or "")
            elif isinstance(named, VariableScope):
                original = named.original_name_scope
            with pure_variable_scope(named, self._reuse, original, **self._options) as scope:
                yield scope


@contextmanager
def variable_op_scope(
    values: Sequence[Any], name_or_scope: str | VariableScope | None, default_name: str | None = None,
    initializer: Any = None, regularizer: Any = None, caching_device: Any = None, partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None, reuse: Any = None, dtype: Any = None,
    use_resource: bool | None = None, constraint: Any = None,
) -> Iterator[VariableScope]:  # fmt: skip
    """The old form of ``variable_scope(name_or_scope, default_name, values, ...)``.

    Args:
      values: The tensors that are used inside; they must belong to one graph.
      name_or_scope: The name, or the VariableScope to enter again; None for ``default_name``.
      default_name: The name where ``name_or_scope`` is None; a number is added if it has been used.
      initializer: The default initializer inside; None for the outer scope's.
      regularizer: The default regularizer inside; None for the outer scope's.
      caching_device: The default device to read variables on; None for the outer scope's.
      partitioner: The default partitioner inside; None for the outer scope's.
      custom_getter: A function that ``tf.get_variable`` calls, before the outer scope's; None for that alone.
      reuse: True shares variables, ``tf.AUTO_REUSE`` shares or creates; None or False for the outer scope's.
      dtype: The default type inside; None for the outer scope's.
      use_resource: Whether variables are resource variables; None for the outer scope's choice.
      constraint: The default constraint inside; None for the outer scope's.

    Returns:
      A context manager that gives the VariableScope.

    >>> with tf.variable_op_scope([], None, "layer") as scope:
    ...     print(scope.name)
    layer
    """
    with variable_scope(
        name_or_scope, default_name=default_name, values=values, initializer=initializer, regularizer=regularizer,
        caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, reuse=reuse, dtype=dtype,
        use_resource=use_resource, constraint=constraint,
    ) as scope:  # fmt: skip
        yield scope


__all__ = [
    "AUTO_REUSE", "VariableScope", "get_local_variable",
    "get_variable", "get_variable_scope", "pure_variable_scope", "unique_scope", "variable_op_scope", "variable_scope",
]  # fmt: skip
