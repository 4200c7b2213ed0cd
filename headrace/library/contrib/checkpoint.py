"""tf.contrib.framework: values of a checkpoint for chosen variables, fed in a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.graph.operation import Operation
from headrace.library import log
from headrace.library.control.dependency import group
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.tensor import creation
from headrace.library.train.saver.reader import CheckpointReader, load_checkpoint
from headrace.library.train.saver.saver import Saver


def assign_from_checkpoint(
    model_path: Any, var_list: Mapping[str, Any] | Sequence[Any], ignore_missing_vars: bool = False
) -> tuple[Operation, dict[Any, Any]]:
    """An op that sets variables to what a checkpoint has, and what to feed it.

    ``var_list`` is a list of variables, or a dict from names in the checkpoint to variables or lists of their parts.

    Args:
      model_path: The path of a checkpoint, or of a folder whose newest checkpoint is used.
      var_list: A list of variables, or a dictionary from names in the checkpoint to variables.
      ignore_missing_vars: True leaves out, with a warning, what the checkpoint lacks; False raises ValueError.

    Returns:
      An operation that sets the variables, and the dictionary to feed when it runs.

    Example: ``op, feeds = tf.contrib.framework.assign_from_checkpoint("model.ckpt-100", variables); sess.run(op, feeds)``
    """
    reader = load_checkpoint(model_path)
    feeds: dict[Any, Any] = {}
    assigns = []
    for name, variables in _by_name(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint {model_path} is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            log.warning(message)
            continue
        value = reader.get_tensor(name)
        for variable in variables:
            new_value = creation.placeholder(variable.dtype.base_dtype, variable.shape)
            assigns.append(variable.assign(new_value))
            feeds[new_value] = _part_for(variable, name, value)
    return group(*assigns), feeds


def _by_name(var_list: Mapping[str, Any] | Sequence[Any]) -> dict[str, list[Any]]:
    by_name: dict[str, list[Any]] = {}
    if isinstance(var_list, Mapping):
        for name, value in var_list.items():
            by_name[name] = list(value) if isinstance(value, (list, tuple, PartitionedVariable)) else [value]
        return by_name
    for variable in var_list:
        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            info = part._get_save_slice_info()
            by_name.setdefault(part.op.name if info is None else info.full_name, []).append(part)
    return by_name


def _part_for(variable: Any, name: str, value: Any) -> Any:
    info = variable._get_save_slice_info()
    value = np.asarray(value)
    expected = variable.shape.as_list() if info is None else list(info.full_shape)
    if list(value.shape) != expected and value.size == np.prod(expected):
        value = value.reshape(expected)
    if list(value.shape) != expected:
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: [{list(value.shape)}], rh_shape: [{expected}]"
        )
    if info is None:
        return value
    return value[tuple(slice(at, at + size) for at, size in zip(info.var_offset, info.var_shape, strict=True))]


def assign_from_checkpoint_fn(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that restores variables; None if there is nothing to restore.

    ``ignore_missing_vars`` leaves out what the checkpoint lacks.

    Args:
      model_path: The path of a checkpoint.
      var_list: A list of variables, or a dictionary from names in the checkpoint to variables. It must not be empty.
      ignore_missing_vars: True leaves out, with a warning, what the checkpoint lacks.
      reshape_variables: True lets a value have another shape with as many elements.

    Returns:
      A function of a session, or None if nothing of `var_list` is in the checkpoint.

    Example: ``slim.learning.train(train_op, logdir, init_fn=tf.contrib.framework.assign_from_checkpoint_fn(path, variables))``
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        var_list = _present(load_checkpoint(model_path), var_list)
        if not var_list:
            log.warning("No Variables to restore")
            return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def _present(reader: CheckpointReader, var_list: Any) -> dict[str, Any]:
    present = {}
    for name, variables in _by_name(var_list).items():
        if reader.has_tensor(name):
            sliced = variables[0]._get_save_slice_info() is not None
            present[name] = variables if sliced else variables[0]
        else:
            log.warning("Variable %s missing in checkpoint", name)
    return present
