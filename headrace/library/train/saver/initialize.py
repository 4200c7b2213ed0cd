"""Starting from a checkpoint of another model: initialisers that read it (``init_from_checkpoint``, ``warm_start``; OSDI 4.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.variable import Variable
from headrace.library.state.variable_scope import _get_default_variable_store
from headrace.library.train.saver.reader import checkpoint_prefix, load_checkpoint
from headrace.library.train.saver.saveable import checked_saveables, cpu_of, saveables_by_name


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Lets the initialisers of variables read a checkpoint, when they are run.

    ``assignment_map`` maps names in the checkpoint to variables or their names: ``'old/w': 'new/w'``, ``'old/w': w``; a
    partitioned variable by the list of its parts or its whole name; or scopes, ``'old/': 'new/'``, where ``'/'`` is the root.  It
    may be a list of pairs.

    Args:
      ckpt_dir_or_file: The prefix of a checkpoint, or a folder, of which the latest one is taken.
      assignment_map: From names or scopes in the checkpoint to variables, their names, or scopes: a dict or a list of pairs.

    Example: ``tf.train.init_from_checkpoint("/tmp/model", {"encoder/": "new_encoder/"})``
    """
    prefix = checkpoint_prefix(ckpt_dir_or_file)
    shapes = load_checkpoint(prefix).get_variable_to_shape_map()
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    for name, current in sorted(pairs, key=lambda pair: pair[0]):
        variable = _variable(current)
        if variable is not None:
            if name not in shapes:
                raise ValueError(f"Tensor {name} is not found in {prefix} checkpoint {shapes} {at()}")
            _initialize(variable, prefix, name, shapes[name])
        else:
            _initialize_scope(current, prefix, name, shapes)


def _variable(current: Any) -> Any:
    """The variable, or the list of its parts, that an assignment means; None for a scope."""
    if isinstance(current, Variable):
        return current
    if isinstance(current, (list, tuple, PartitionedVariable)):
        parts = list(current)
        if all(isinstance(part, Variable) for part in parts):
            return parts
    if not isinstance(current, str):
        raise TypeError(f"an assignment needs a variable, a list of its parts or a name, got {current!r} {at()}")
    variables = _get_default_variable_store()._vars
    return _found(current, variables)


def _found(name: str, variables: Mapping[str, Any]) -> Any:
    """The variable of this name, the list of its parts, or None."""
    if name in variables:
        return variables[name]
    parts: list[Any] = []
    while (part := variables.get(f"{name}/part_{len(parts)}")) is not None:
        parts.append(part)
    return parts or None


def _initialize_scope(scope: str, prefix: str, name: str, shapes: Mapping[str, list[int]]) -> None:
    inner = scope.rpartition("/")[0]
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {inner} should map to scope only {name}. Should be 'scope/': 'other_scope/'. "
            + at()
        )
    variables = _get_default_variable_store()._vars
    names = sorted({n.partition("/part_")[0] for n in variables if not inner or n.startswith(f"{inner}/")})
    for own in names:
        below = own[len(inner) + 1 :] if inner else own
        tensor = below if name == "/" else f"{name}{below}"
        if tensor not in shapes:
            raise ValueError(f"Tensor {tensor} ({below} in {name}) is not found in {prefix} checkpoint {at()}")
        _initialize(_found(own, variables), prefix, tensor, shapes[tensor])


def _initialize(variable: Any, prefix: str, name: str, shape: Sequence[int]) -> None:
    parts = variable if isinstance(variable, list) else [variable]
    full_names = {part._get_save_slice_info().full_name for part in parts} if isinstance(variable, list) else set()
    if len(full_names) > 1:
        raise ValueError(f"Slices must all be from the same tensor: {', '.join(sorted(full_names))} {at()}")
    for part in parts:
        info = part._get_save_slice_info()
        declared = part.get_shape() if info is None else info.full_shape
        fits = declared.is_compatible_with(list(shape)) if info is None else list(declared) == list(shape)
        if not fits:
            raise ValueError(
                f"Shape of variable {part.name} ({declared}) doesn't match with shape of tensor {name} ({list(shape)}) from "
                f"checkpoint {prefix} {at()}"
            )
        _set_initializer(part, prefix, name, "" if info is None else info.spec)
        log.debug("Initialize variable %s from checkpoint %s with %s", part.name, prefix, name)


def _set_initializer(variable: Any, prefix: str, name: str, slice_spec: str) -> None:
    graph = context.get_default_graph()
    with graph.device(cpu_of(variable.device)):
        value = raw_ops.RestoreV2(
            prefix, [name], [slice_spec], dtypes=[variable.dtype.base_dtype], name="checkpoint_initializer"
        )[0]
        value.set_shape(variable.shape)
        (saveable,) = checked_saveables(saveables_by_name([variable]))
    assigned = saveable.restore([value], None)
    variable._initializer_op = assigned if not hasattr(assigned, "op") else assigned.op
    variable._initial_value = value


def warm_start(
    ckpt_to_initialize_from: Any, vars_to_warm_start: Any = ".*", var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Lets variables start with the values of the same, or another, name in a checkpoint.

    ``vars_to_warm_start`` is a regular expression for trainable variables (None: none), a list of them for any variables, or a
    list of variables.

    Args:
      ckpt_to_initialize_from: The prefix of a checkpoint, or a folder, of which the latest one is taken.
      vars_to_warm_start: Which variables to start: a regular expression, a list of them, a list of variables, or None.
      var_name_to_vocab_info: None: vocabularies that changed are not supported, and anything else is an error.
      var_name_to_prev_var_name: A dict from names of variables to their names in the checkpoint; others have the same name.

    Example: ``tf.train.warm_start("/tmp/model", vars_to_warm_start="encoder/.*")``
    """
    if var_name_to_vocab_info:
        raise NotImplementedError(
            f"warm_start(var_name_to_vocab_info=...) is not supported: start embeddings with init_from_checkpoint {at()}"
        )
    previous = dict(var_name_to_prev_var_name or {})
    groups = _grouped(vars_to_warm_start)
    unknown = sorted(set(previous) - set(groups))
    if unknown:
        raise ValueError(
            f"You provided the following variables in var_name_to_prev_var_name that were not used: {unknown}; variables to "
            f"start: {sorted(groups)} {at()}"
        )
    for name, parts in groups.items():
        variable = parts[0] if len(parts) == 1 and parts[0]._get_save_slice_info() is None else parts
        init_from_checkpoint(ckpt_to_initialize_from, {previous.get(name, name): variable})
    log.info("Warm-starting from %s: %s", ckpt_to_initialize_from, sorted(groups))


def _grouped(chosen: Any) -> dict[str, list[Any]]:
    """The variables to start by the name of the whole, the parts of one together."""
    graph = context.get_default_graph()
    if chosen is None:
        variables = []
    elif isinstance(chosen, str):
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, chosen)
    elif all(isinstance(one, str) for one in chosen):
        everything = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        variables = [v for v in everything if any(re.match(pattern, v.name) for pattern in chosen)]
    else:
        variables = [
            part for one in chosen for part in (one if isinstance(one, (list, PartitionedVariable)) else [one])
        ]
    groups: dict[str, list[Any]] = {}
    for variable in variables:
        info = variable._get_save_slice_info()
        groups.setdefault(variable._shared_name if info is None else info.full_name, []).append(variable)
    return groups
