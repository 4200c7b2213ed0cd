"""The variables of a graph by collection, their initialisers, and whether they are initialised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import context, convert, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.handle import value_of
from headrace.graph.operation import Operation, Tensor
from headrace.library.argument import deprecated
from headrace.library.control.dependency import group
from headrace.library.scope import name_scope


def global_variables(scope: str | None = None) -> list[Any]:
    """Variables shared by the tasks of a cluster; ``scope`` is a regular expression their names must start with.

    Args:
      scope: A regular expression that the beginning of a name must match; None for all.

    Returns:
      A list of variables, in the order in which they were made.

    >>> w = tf.Variable(1.0, name="w")
    >>> [v.name for v in tf.global_variables()]
    ['w:0']
    """
    return context.get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Variables of one process only: counters and metrics, not saved.

    Args:
      scope: A regular expression that the beginning of a name must match; None for all.

    Returns:
      A list of variables, in the order in which they were made.

    >>> seen = tf.get_local_variable("seen", initializer=0)
    >>> [v.name for v in tf.local_variables()]
    ['seen:0']
    """
    return context.get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Variables that optimizers change by default.

    Args:
      scope: A regular expression that the beginning of a name must match; None for all.

    Returns:
      A list of variables, in the order in which they were made.

    >>> w = tf.Variable(1.0, name='w')
    >>> step = tf.Variable(0, trainable=False, name='step')
    >>> [v.name for v in tf.trainable_variables()]
    ['w:0']
    """
    return context.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Variables of the collection MODEL_VARIABLES.

    Args:
      scope: A regular expression that the beginning of a name must match; None for all.

    Returns:
      A list of variables, in the order in which they were made.

    >>> w = tf.contrib.framework.model_variable("w", [2])
    >>> [v.name for v in tf.model_variables()]
    ['w:0']
    """
    return context.get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Variables that have a moving average.

    Args:
      scope: A regular expression that the beginning of a name must match; None for all.

    Returns:
      A list of variables, in the order in which they were made.

    >>> w = tf.Variable(1.0, name="w")
    >>> update = tf.train.ExponentialMovingAverage(0.9).apply([w])
    >>> [v.name for v in tf.moving_average_variables()]
    ['w:0']
    """
    return context.get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@deprecated("tf.global_variables")
def all_variables() -> list[Any]:
    """The old name of ``global_variables``.

    Returns:
      A list of variables, in the order in which they were made.

    >>> tf.all_variables()
    []
    """
    return global_variables()


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """One op that runs the initialisers of the variables.

    Args:
      var_list: A list of variables.
      name: A name for the op.

    Returns:
      An operation.

    >>> v = tf.Variable([1, 2])
    >>> with tf.Session() as sess:
    ...     sess.run(tf.variables_initializer([v]))
    ...     print(sess.run(v))
    [1 2]
    """
    initializers: list[Operation] = []
    for variable in var_list or ():
        if not hasattr(variable, "initializer"):
            raise TypeError(f"variables_initializer takes variables, got {variable!r}")
        initializer = variable.initializer
        initializers.extend(initializer if isinstance(initializer, (list, tuple)) else [initializer])
    return group(*initializers, name=name)


def global_variables_initializer() -> Operation:
    """Sets every global variable to its initial value.

    Returns:
      An operation.

    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Sets every local variable to its initial value.

    Returns:
      An operation.

    >>> seen = tf.get_local_variable("seen", initializer=0)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(seen))
    0
    """
    return variables_initializer(local_variables())


@deprecated("tf.variables_initializer")
def initialize_variables(var_list: Sequence[Any], name: str = "init") -> Operation:
    """The old name of ``variables_initializer``.

    Args:
      var_list: A list of variables.
      name: A name for the op.

    Returns:
      An operation.

    >>> init = tf.initialize_variables([tf.Variable(1)])
    """
    return variables_initializer(var_list, name)


@deprecated("tf.global_variables_initializer")
def initialize_all_variables() -> Operation:
    """The old name of ``global_variables_initializer``.

    Returns:
      An operation.

    >>> init = tf.initialize_all_variables()
    """
    return global_variables_initializer()


@deprecated("tf.local_variables_initializer")
def initialize_local_variables() -> Operation:
    """The old name of ``local_variables_initializer``.

    Returns:
      An operation.

    >>> init = tf.initialize_local_variables()
    """
    return local_variables_initializer()


def is_variable_initialized(variable: Any) -> Tensor:
    """Whether the variable has a value in the session that runs this.

    Args:
      variable: A variable, or a reference to one.

    Returns:
      A scalar of bool.

    >>> v = tf.Variable(1)
    >>> with tf.Session() as sess:
    ...     print(sess.run(tf.is_variable_initialized(v)))
    False
    """
    ref = variable if isinstance(variable, Tensor) else variable._ref()
    return raw_ops.VarIsInitializedOp(ref) if ref.dtype._is_resource else raw_ops.IsVariableInitialized(ref)


def _handles() -> list[Tensor]:
    """The references and handles of all variables of the graph, in collections or not."""
    ops = context.get_default_graph().get_operations()
    return [op.outputs[0] for op in ops if op.type in ("VariableV2", "VarHandleOp")]


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Any:
    """Fails with FailedPreconditionError if a variable (default: any global or local one) is not initialised.

    None if there are no variables.

    Args:
      var_list: A list of variables; None for all global and local ones.

    Returns:
      A tensor to run before what reads the variables.

    >>> v = tf.Variable(1)
    >>> check = tf.assert_variables_initialized([v])
    >>> with tf.Session() as sess:
    ...     sess.run(v.initializer)
    ...     sess.run(check)
    np.int32(0)
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        var_list = _handles()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        value = value_of(variable) if isinstance(variable, Tensor) else convert.convert_to_tensor(variable)
        graph = context.get_default_graph()
        # The rank alone would be known without the value; the control edge makes the read happen.
        read = value_of(convert.to_tensor(variable, as_ref=True))
        with graph.colocate_with(variable.op), graph.control_dependencies([read]):
            ranks.append(raw_ops.Rank(value))
    if len(ranks) == 1:
        return ranks[0]
    return raw_ops.Pack(ranks, axis=0, name="stack")


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """A 1-D string tensor with the names of the variables (default: global and local) that have no value yet.

    Args:
      var_list: A list of variables; None for all global and local ones.
      name: A name for the op.

    Returns:
      A 1-D tensor of strings.

    >>> v = tf.Variable(1, name="v")
    >>> with tf.Session() as sess:
    ...     print(sess.run(tf.report_uninitialized_variables()))
    [b'v']
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
        if not var_list:
            var_list = _handles()
    with name_scope(name):
        if not var_list:
            return convert.constant([], "string", shape=[0])
        initialized = [is_variable_initialized(v) for v in var_list]
        graph = context.get_default_graph()
        with graph.device("/cpu:0"):
            missing = raw_ops.LogicalNot(raw_ops.Pack(initialized, axis=0, name="stack"))
            names = convert.constant([(v if isinstance(v, Tensor) else v._ref()).op.name for v in var_list])
            with graph.name_scope("boolean_mask"):
                where = raw_ops.Squeeze(raw_ops.Where(missing), [1])
                return raw_ops.GatherV2(names, where, 0)
