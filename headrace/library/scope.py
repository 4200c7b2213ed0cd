"""TF1's scope functions: name_scope, device, control_dependencies, colocate_with, container, collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.graph import context
from headrace.graph.build import graph_of_inputs
from headrace.graph.operation import Operation, Tensor


class name_scope:  # noqa: N801 - TF1's name
    """``with tf.name_scope("layer"):`` prefixes the names of ops made inside; also ``name_scope(name, default, values)``.

    With ``values`` the graph is taken from them.  Entering gives the scope's name with a trailing "/".

    Args:
      name: The name of the scope; None for `default_name`, "" for the root.
      default_name: The name if `name` is None.
      values: Tensors that say which graph is meant; None for the default graph.

    >>> with tf.name_scope('layer'):
    ...     x = tf.constant(1.0, name='x')
    >>> x.name
    'layer/x:0'
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Sequence[Any] | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name_scope takes a string or None as name, got {name!r}")
        self._name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._stack: list[Any] = []

    @property
    def name(self) -> str | None:
        """The name that was given, or the default one."""
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError("At least one of name (None) and default_name (None) must be provided.")
        default = context.get_default_graph()
        if default.executing_eagerly:
            return self._enter_eager(default)
        graph = graph_of_inputs(self._values or ())
        scopes = []
        if graph is not context.get_default_graph():
            scopes.append(graph.as_default())
        scopes.append(graph.name_scope(self._name))
        entered: str = ""
        for scope in scopes:
            entered = scope.__enter__()
        self._stack.append(scopes)
        return entered

    def _enter_eager(self, graph: Any) -> str:
        """Only variables have names there, which need not be unique."""
        scopes = graph._scopes
        old = scopes.name
        self._stack.append((scopes, old))
        name = self._name
        if not name:
            scopes.name = ""
        elif name[-1] == "/":
            scopes.name = name[:-1]
        else:
            scopes.name = f"{old}/{name}" if old else name
        return f"{scopes.name}/" if scopes.name else ""

    def __exit__(self, *error: Any) -> None:
        entered = self._stack.pop()
        if type(entered) is tuple:
            entered[0].name = entered[1]
            return
        for scope in reversed(entered):
            scope.__exit__(*error)


def device(device_name_or_function: Any) -> Any:
    """Ops made inside go to the device: ``with tf.device("/gpu:0"):``.

    Args:
      device_name_or_function: A name such as "/gpu:0", a function from an operation to a name, or None to forget outer blocks.

    Returns:
      A context manager.

    >>> with tf.device('/cpu:0'):
    ...     x = tf.constant(1.0)
    >>> x.device
    '/device:CPU:0'
    """
    return context.get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> Any:
    """Ops made inside run after the given ones: ``with tf.control_dependencies([train_op]):``.

    Args:
      control_inputs: A list of operations, tensors and variables, or None to forget outer blocks.

    Returns:
      A context manager.

    >>> v = tf.Variable(1)
    >>> update = v.assign(5)
    >>> with tf.control_dependencies([update]):
    ...     after = tf.identity(v.read_value())
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(after))
    5
    """
    return context.get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Ops made inside are placed with ``op``.

    Args:
      op: An operation, tensor or variable.
      ignore_existing: Whether to forget outer blocks of this kind.

    Returns:
      A context manager.

    >>> v = tf.Variable(1.0, name='v')
    >>> with tf.colocate_with(v):
    ...     x = tf.constant(1.0)
    >>> x.op.colocation_groups()
    [b'loc:@v']
    """
    element = op if isinstance(op, (Operation, Tensor)) else getattr(op, "op", op)
    return context.get_default_graph().colocate_with(element, ignore_existing)


def container(container_name: str) -> Any:
    """State made inside lives in the named container (``Graph.container``).

    Args:
      container_name: The name of the container.

    Returns:
      A context manager that gives the name.

    >>> with tf.container('experiment'):
    ...     v = tf.Variable(1.0)
    >>> v.op.get_attr('container')
    b'experiment'
    """
    return context.get_default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """Adds a value to a collection of the default graph.

    Args:
      name: The key of the collection, such as ``tf.GraphKeys.LOSSES``.
      value: Anything.

    >>> tf.add_to_collection('sizes', 3)
    >>> tf.get_collection('sizes')
    [3]
    """
    context.get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Adds a value to several collections of the default graph.

    Args:
      names: The keys of the collections, or one key.
      value: Anything.

    >>> tf.add_to_collections(['sizes', 'numbers'], 3)
    >>> tf.get_collection('numbers')
    [3]
    """
    context.get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """The values of a collection of the default graph; with a scope, those whose names match it.

    Args:
      key: The key of the collection, such as ``tf.GraphKeys.TRAINABLE_VARIABLES``.
      scope: A regular expression for the beginning of the names; None for all values.

    Returns:
      A new list.

    >>> v = tf.Variable(1.0, name='v')
    >>> [variable.name for variable in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope='v')]
    ['v:0']
    """
    return context.get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """The list itself that holds a collection of the default graph.

    Args:
      key: The key of the collection.

    Returns:
      The list; changing it changes the collection.

    >>> tf.get_collection_ref('sizes').append(3)
    >>> tf.get_collection('sizes')
    [3]
    """
    return context.get_default_graph().get_collection_ref(key)


@contextmanager
def init_scope() -> Iterator[None]:
    """Leaves control dependencies and the bodies of functions, loops and conditionals; keeps name scope and devices.

    Returns:
      A context manager.

    >>> with tf.control_dependencies([tf.no_op()]), tf.init_scope():
    ...     x = tf.constant(1.0)
    >>> x.op.control_inputs
    []
    """
    graph = context.get_default_graph()
    name = graph.get_name_scope()
    outer: Any = graph
    devices: Any = graph  # the innermost graph with open ``device`` blocks
    while outer.building_function and getattr(outer, "outer_graph", None) is not None:
        outer = outer.outer_graph
        devices = devices if devices._scopes.devices else outer
    if outer is graph:
        with graph.control_dependencies(None):
            yield
        return
    same_name = outer.name_scope(f"{name}/" if name else None)
    with outer.as_default(), same_name, outer.control_dependencies(None), outer.devices_of(devices):
        yield
