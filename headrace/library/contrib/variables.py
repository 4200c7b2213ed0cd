"""Variables as contrib.framework makes and finds them: model variables, and selections by scope, suffix and name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.arg_scope import add_arg_scope
from headrace.library.control.dependency import group
from headrace.library.scope import device as device_scope
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import creation


@add_arg_scope
def variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
    trainable: bool = True, collections: Any = None, caching_device: Any = None, device: Any = None,
    partitioner: Any = None, custom_getter: Any = None, use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """``tf.get_variable`` on a device, with collections that never repeat.

    Args:
      name: The name of the variable.
      shape: Its shape; None only if the initializer is a tensor.
      dtype: Its type; None for float32 or that of the initializer.
      initializer: What it starts from: a function, or a tensor; None for the initializer of the variable scope.
      regularizer: A function from the variable to a loss, which is collected; None for that of the variable scope.
      trainable: False keeps it out of `tf.trainable_variables()`.
      collections: The collections to add it to; None for the global variables.
      caching_device: Where its value is kept for reading, as of `tf.get_variable`; None for no copy.
      device: The device of the variable; None for that of the scope.
      partitioner: A function that divides it into shards; None for one variable.
      custom_getter: A function called in place of the getter of the variable scope; None for none.
      use_resource: True for a resource variable; None for the setting of the variable scope.
      synchronization: When copies of it are made equal, a `tf.VariableSynchronization`.
      aggregation: How copies of it are combined, a `tf.VariableAggregation`.

    Returns:
      A variable.

    >>> tf.contrib.framework.variable("w", shape=[2, 3]).op.name
    'w'
    """
    chosen = list(dict.fromkeys(collections if collections is not None else [GraphKeys.GLOBAL_VARIABLES]))
    with device_scope(device or ""):
        return get_variable(
            name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
            collections=chosen, caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter,
            use_resource=use_resource, synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip


@add_arg_scope
def model_variable(
    name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, regularizer: Any = None,
    trainable: bool = True, collections: Any = None, caching_device: Any = None, device: Any = None,
    partitioner: Any = None, custom_getter: Any = None, use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """A variable that is part of the model: also in MODEL_VARIABLES.

    Args:
      name: The name of the variable.
      shape: Its shape; None only if the initializer is a tensor.
      dtype: Its type; None for float32 or that of the initializer.
      initializer: What it starts from: a function, or a tensor; None for the initializer of the variable scope.
      regularizer: A function from the variable to a loss, which is collected; None for that of the variable scope.
      trainable: False keeps it out of `tf.trainable_variables()`.
      collections: Further collections to add it to; None for none.
      caching_device: Where its value is kept for reading, as of `tf.get_variable`; None for no copy.
      device: The device of the variable; None for that of the scope.
      partitioner: A function that divides it into shards; None for one variable.
      custom_getter: A function called in place of the getter of the variable scope; None for none.
      use_resource: True for a resource variable; None for the setting of the variable scope.
      synchronization: When copies of it are made equal, a `tf.VariableSynchronization`.
      aggregation: How copies of it are combined, a `tf.VariableAggregation`.

    Returns:
      A variable.

    >>> tf.contrib.framework.model_variable("w", shape=[2, 3]).op.name
    'w'
    """
    chosen = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=chosen, caching_device=caching_device, device=device, partitioner=partitioner,
        custom_getter=custom_getter, use_resource=use_resource, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A variable of this process only.

    Args:
      initial_value: What it starts from: a value, a tensor, or a function that gives one.
      validate_shape: False lets its shape be unknown.
      name: The name of the variable; None for `Variable`.
      use_resource: True for a resource variable; None for the setting of the variable scope.

    Returns:
      A variable of the collection `tf.GraphKeys.LOCAL_VARIABLES`.

    >>> count = tf.contrib.framework.local_variable(0, name="count")
    >>> tf.local_variables() == [count]
    True
    """
    return Variable(
        initial_value, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=validate_shape,
        name=name, use_resource=use_resource,
    )  # fmt: skip


def add_model_variable(var: Any) -> None:
    """Adds a variable to MODEL_VARIABLES, once.

    Args:
      var: The variable.

    >>> tf.contrib.framework.add_model_variable(tf.Variable(0.0))
    >>> len(tf.contrib.framework.get_model_variables())
    1
    """
    graph = context.get_default_graph()
    if var not in graph.get_collection(GraphKeys.MODEL_VARIABLES):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# ---- finding


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a scope (a name or a VariableScope), or those whose names end so.

    Args:
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.
      suffix: How the names must end; None for any end.
      collection: The collection to look in.

    Returns:
      A list of variables.

    >>> v, w = tf.Variable(0.0, name="a/v"), tf.Variable(0.0, name="b/w")
    >>> tf.contrib.framework.get_variables(scope="a") == [v]
    True
    """
    name = getattr(scope, "name", scope)
    if suffix is not None:
        if ":" not in suffix:
            suffix += ":"
        name = f"{name or ''}.*{suffix}"
    return context.get_default_graph().get_collection(collection, name)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Model variables, of a scope and with a suffix if those are given.

    Args:
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.
      suffix: How the names must end; None for any end.

    Returns:
      A list of variables.

    >>> net = tf.contrib.layers.fully_connected(tf.zeros([2, 3]), 4, scope="fc")
    >>> [v.op.name for v in tf.contrib.framework.get_model_variables(suffix="weights")]
    ['fc/weights']
    """
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Local variables, of a scope and with a suffix if those are given.

    Args:
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.
      suffix: How the names must end; None for any end.

    Returns:
      A list of variables.

    >>> count = tf.contrib.framework.local_variable(0, name="count")
    >>> tf.contrib.framework.get_local_variables("count") == [count]
    True
    """
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Trainable variables, of a scope and with a suffix if those are given.

    Args:
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.
      suffix: How the names must end; None for any end.

    Returns:
      A list of variables.

    >>> v, step = tf.Variable(0.0, name="v"), tf.Variable(0, name="step", trainable=False)
    >>> tf.contrib.framework.get_trainable_variables() == [v]
    True
    """
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Variables whose names end so, of a scope if one is given.

    Args:
      suffix: How the names must end.
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.

    Returns:
      A list of variables.

    >>> v, w = tf.Variable(0.0, name="a/weights"), tf.Variable(0.0, name="a/biases")
    >>> tf.contrib.framework.get_variables_by_suffix("weights") == [v]
    True
    """
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Variables whose last name component is the given one.

    Args:
      given_name: The last part of the names.
      scope: A pattern that the names must match at their beginning, or a variable scope; None for all.

    Returns:
      A list of variables.

    >>> v, w = tf.Variable(0.0, name="a/weights"), tf.Variable(0.0, name="b/weights")
    >>> tf.contrib.framework.get_variables_by_name("weights") == [v, w]
    True
    """
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The only variable of that full name.

    Args:
      var_op_name: The full name, without `:0`.

    Returns:
      The variable. None or several are a ValueError.

    >>> v = tf.Variable(0.0, name="a/weights")
    >>> tf.contrib.framework.get_unique_variable("a/weights") is v
    True
    """
    candidates = get_variables(scope=var_op_name)
    candidates = [v for v in candidates if v.op.name == var_op_name] or candidates
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(candidates) > 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return candidates[0]


def get_variable_full_name(var: Any) -> str:
    """The name used in checkpoints: for a shard, that of the whole variable.

    Args:
      var: A variable, or a shard of one.

    Returns:
      The name, without `:0`.

    >>> tf.contrib.framework.get_variable_full_name(tf.Variable(0.0, name="w"))
    'w'
    """
    info = getattr(var, "_save_slice_info", None)
    return info.full_name if info else var.op.name


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """The variables of the scopes to include (all by default) that are in none of the scopes to exclude.

    Args:
      include: A list of scopes; None for all variables.
      exclude: A list of scopes; None for none.

    Returns:
      A list of variables, each once.

    >>> v, w = tf.Variable(0.0, name="base/w"), tf.Variable(0.0, name="logits/w")
    >>> tf.contrib.framework.get_variables_to_restore(exclude=["logits"]) == [v]
    True
    """
    for scopes, what in ((include, "include"), (exclude, "exclude")):
        if scopes is not None and not isinstance(scopes, (list, tuple)):
            raise TypeError(f"{what} is provided but is not a list or a tuple.")
    if include is None:
        chosen = get_variables()
    else:
        chosen = [v for scope in include for v in get_variables(scope)]
    left_out = [v for scope in exclude or () for v in get_variables(scope)]
    return [v for v in dict.fromkeys(chosen) if v not in left_out]


def filter_variables(
    var_list: Sequence[Any], include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None, reg_search: bool = True,
) -> list[Any]:  # fmt: skip
    """Those whose names match an include pattern (all by default) and no exclude pattern.

    Args:
      var_list: A list of variables.
      include_patterns: A list of regular expressions, of which a name must match one; None for all names.
      exclude_patterns: A list of regular expressions, of which a name must match none; None for no pattern.
      reg_search: True looks for a pattern anywhere in a name, False at its beginning.

    Returns:
      A list of variables.

    >>> v, w = tf.Variable(0.0, name="base/w"), tf.Variable(0.0, name="base/b")
    >>> tf.contrib.framework.filter_variables([v, w], include_patterns=["w"]) == [v]
    True
    """
    find: Callable[..., Any] = re.search if reg_search else re.match
    chosen = list(var_list)
    if include_patterns is not None:
        chosen = [v for v in chosen if any(find(p, v.name) for p in include_patterns)]
    if exclude_patterns is not None:
        chosen = [v for v in chosen if not any(find(p, v.name) for p in exclude_patterns)]
    return chosen


# ---- setting


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, dict[Any, Any]]:
    """An op that sets variables by name, and what to feed it.

    Args:
      var_names_to_values: A dictionary from the names of variables to their new values.

    Returns:
      An operation that sets the variables, and the dictionary to feed when it runs.

    >>> v = tf.Variable([0.0, 0.0], name="v")
    >>> op, feeds = tf.contrib.framework.assign_from_values({"v": [1.0, 2.0]})
    >>> with tf.Session() as sess:
    ...     sess.run(op, feeds)
    ...     sess.run(v)
    array([1., 2.], dtype=float32)
    """
    feeds: dict[Any, Any] = {}
    assigns = []
    for name, value in var_names_to_values.items():
        candidates = [v for v in get_variables() if v.op.name == name] or get_variables(name)
        if not candidates:
            raise ValueError(f"Variable {name} wasn't found")
        if len(candidates) > 1:
            candidates = [v for v in candidates if v.op.name == name]
            if not candidates:
                raise ValueError(f"Variable {name} is found multiple times: {[v.name for v in get_variables(name)]}")
        target = candidates[0]
        new_value: Tensor = creation.placeholder(target.dtype.base_dtype, target.shape)
        assigns.append(target.assign(new_value))
        feeds[new_value] = value
    return group(*assigns), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """A function of a session that sets variables by name.

    Args:
      var_names_to_values: A dictionary from the names of variables to their new values.

    Returns:
      A function of a session.

    >>> v = tf.Variable([0.0, 0.0], name="v")
    >>> init_fn = tf.contrib.framework.assign_from_values_fn({"v": [1.0, 2.0]})
    >>> with tf.Session() as sess:
    ...     init_fn(sess)
    ...     sess.run(v)
    array([1., 2.], dtype=float32)
    """
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)
