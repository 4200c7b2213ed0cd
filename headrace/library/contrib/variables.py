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
    """``tf.get_variable`` on a device, with collections that never repeat."""
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
    """A variable that is part of the model: also in MODEL_VARIABLES."""
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
    """A variable of this process only."""
    return Variable(
        initial_value, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=validate_shape,
        name=name, use_resource=use_resource,
    )  # fmt: skip


def add_model_variable(var: Any) -> None:
    """Adds a variable to MODEL_VARIABLES, once."""
    graph = context.get_default_graph()
    if var not in graph.get_collection(GraphKeys.MODEL_VARIABLES):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# ---- finding


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a scope (a name or a VariableScope), or those whose names end so."""
    name = getattr(scope, "name", scope)
    if suffix is not None:
        if ":" not in suffix:
            suffix += ":"
        name = f"{name or ''}.*{suffix}"
    return context.get_default_graph().get_collection(collection, name)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Model variables, of a scope and with a suffix if those are given."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Local variables, of a scope and with a suffix if those are given."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Trainable variables, of a scope and with a suffix if those are given."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Variables whose names end so, of a scope if one is given."""
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Variables whose last name component is the given one."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The only variable of that full name."""
    candidates = get_variables(scope=var_op_name)
    candidates = [v for v in candidates if v.op.name == var_op_name] or candidates
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(candidates) > 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return candidates[0]


def get_variable_full_name(var: Any) -> str:
    """The name used in checkpoints: for a shard, that of the whole variable."""
    info = getattr(var, "_save_slice_info", None)
    return info.full_name if info else var.op.name


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """The variables of the scopes to include (all by default) that are in none of the scopes to exclude."""
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
    """Those whose names match an include pattern (all by default) and no exclude pattern."""
    find: Callable[..., Any] = re.search if reg_search else re.match
    chosen = list(var_list)
    if include_patterns is not None:
        chosen = [v for v in chosen if any(find(p, v.name) for p in include_patterns)]
    if exclude_patterns is not None:
        chosen = [v for v in chosen if not any(find(p, v.name) for p in exclude_patterns)]
    return chosen


# ---- setting


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, dict[Any, Any]]:
    """An op that sets variables by name, and what to feed it."""
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
    """A function of a session that sets variables by name."""
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)
