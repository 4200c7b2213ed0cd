"""Conditionals in the graph: cond and case.  Loops are in ``while_loop``, structures of tensors in ``body``.

    result = tf.cond(x < y, lambda: x + z, lambda: tf.square(y))

Each branch is built in a graph of its own and held by one node; only the branch that is taken runs, side effects included.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, UnknownResult
from headrace.graph.convert import convert_to_tensor
from headrace.graph.functional import build_if
from headrace.graph.operation import Tensor
from headrace.library import log, nest
from headrace.library.control.assertion import Assert
from headrace.library.control.body import flat_tensors, pack_tensors
from headrace.library.control.dependency import group, identity
from headrace.library.scope import control_dependencies, name_scope

Branch = Callable[[], Any]


def cond(
    pred: Any, true_fn: Branch | None = None, false_fn: Branch | None = None, strict: bool = False,
    name: str | None = None, fn1: Branch | None = None, fn2: Branch | None = None,
) -> Any:  # fmt: skip
    """``true_fn()`` if ``pred`` else ``false_fn()``; both must return the same structure of tensors of the same types.

    Only what a function itself makes is conditional: a tensor made outside it is computed whichever branch is taken.
    A list or tuple of one tensor comes back as the tensor, unless ``strict``.

    Args:
      pred: A scalar bool tensor.
      true_fn, false_fn: Functions without arguments that make and return the tensors of each branch.
      strict: Whether a list or tuple of one tensor comes back as it is.
      name: A name for the op.
      fn1, fn2: The deprecated names of ``true_fn`` and ``false_fn``.

    Returns:
      What the branches return, with the values of the one that is taken.

    >>> x = tf.constant(3.0)
    >>> y = tf.cond(x > 0, lambda: tf.log(x), lambda: x - 1.0)
    """
    true_fn = _renamed(true_fn, fn1, "true_fn", "fn1")
    false_fn = _renamed(false_fn, fn2, "false_fn", "fn2")
    if not callable(true_fn):
        raise TypeError(f"true_fn must be callable, a function without arguments; got {true_fn!r} {at()}")
    if not callable(false_fn):
        raise TypeError(f"false_fn must be callable, a function without arguments; got {false_fn!r} {at()}")
    if context.executing_eagerly():
        taken = true_fn() if pred else false_fn()
        return taken[0] if not strict and type(taken) in (list, tuple) and len(taken) == 1 else taken
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError(f"pred must not be a Python bool, got {pred}; use `if`, or tf.constant({pred}) {at()}")
        chosen = convert_to_tensor(pred, name="pred")
        if chosen.dtype.base_dtype != dtypes.bool:
            raise TypeError(
                f"pred must be a bool tensor, got {chosen.name} of type {chosen.dtype.base_dtype.name} {at()}"
            )
        if chosen.shape.ndims not in (None, 0):
            raise ValueError(f"pred must be a scalar, got {chosen.name} of shape {chosen.shape} {at()}")
        chosen = raw_ops.Identity(chosen, name="pred_id")
        first, second = _build_both(true_fn, false_fn, chosen, strict)
        _check_alike(first, second)
        node = build_if(chosen, first.body, second.body, "If")
        merged = [raw_ops.Identity(t, name="Merge") for t in node._outputs]
        return pack_tensors(first.result, merged)


def _renamed(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    if old is None:
        return new
    if new is not None:
        raise TypeError(f"cond(): {new_name} and {old_name} may not be set simultaneously.")
    return old


class _Built:
    """A branch: what its function returned, and its graph with that as outputs."""

    def __init__(self, branch: Branch, label: str, pred: Tensor, strict: bool) -> None:
        self.label = label
        self.body = FuncGraph(f"the {label} of a conditional", context.get_default_graph())
        with self.body.as_default():
            result = branch()
            if result is None:
                raise ValueError(f"{label} must have a return value.")
            if not strict and type(result) in (list, tuple) and len(result) == 1:
                result = result[0]
            self.result = result
            self.body.outputs = flat_tensors(result, self.body, pred)


def _build_both(true_fn: Branch, false_fn: Branch, pred: Tensor, strict: bool) -> tuple[_Built, _Built]:
    """Both branches.  A branch that calls a function whose result is not known yet is left out: the other tells the result."""
    try:
        first = _Built(true_fn, "true_fn", pred, strict)
    except UnknownResult:
        second = _Built(false_fn, "false_fn", pred, strict)
        return second, second
    try:
        return first, _Built(false_fn, "false_fn", pred, strict)
    except UnknownResult:
        return first, first


def _check_alike(first: _Built, second: _Built) -> None:
    try:
        nest.assert_same_structure(first.result, second.result, expand_composites=True)
    except (TypeError, ValueError) as e:
        raise type(e)(f"Incompatible return values of true_fn and false_fn: {e}") from None
    for a, b in zip(first.body.outputs, second.body.outputs, strict=True):
        if a.dtype.base_dtype != b.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {a.dtype.base_dtype.name}, "
                f"{b.dtype.base_dtype.name} ({a.name} made at {a.op.source}, {b.name} made at {b.op.source})"
            )


def case(
    pred_fn_pairs: Any, default: Branch | None = None, exclusive: bool = False, strict: bool = False,
    name: str = "case",
) -> Any:  # fmt: skip
    """The result of the first function whose condition is true, else of ``default``.

    ``pred_fn_pairs`` is a list of pairs or a dictionary, whose conditions are tried in the order of their names.
    ``exclusive`` makes it an error, when it runs, that two conditions are true; without a ``default`` it is an error that
    none is.

    Args:
      pred_fn_pairs: Pairs of a scalar bool tensor and a function without arguments.
      default: The function for when no condition is true; None if that is an error.
      exclusive: Whether at most one condition may be true.
      strict: Whether a list or tuple of one tensor comes back as it is.
      name: A name for the op.

    Returns:
      What the functions return, which must have the same structure and types.

    >>> x = tf.constant(1)
    >>> y = tf.case([(x < 0, lambda: tf.constant(-1)), (x > 0, lambda: tf.constant(1))], default=lambda: tf.constant(0))
    """
    pairs = _checked_pairs(pred_fn_pairs, exclusive)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs and default is None:
        raise ValueError(f"case needs a pair of a condition and a function, or a default; got {pred_fn_pairs!r} {at()}")
    with name_scope(name, "case", [p for p, _ in pairs]):
        preds = [convert_to_tensor(p) for p, _ in pairs]
        branches = [f for _, f in pairs]
        guards = [_one_holds(preds)] if exclusive and len(preds) > 1 else []
        if default is None:
            last = len(pairs) - 1
            preds, branches, default = preds[:last], branches[:last], _asserted(preds, branches[last])
        with control_dependencies(guards):
            choice: Branch = default
            for pred, branch in reversed(list(zip(preds, branches, strict=True))):
                choice = _nested(pred, branch, choice, strict)
            return choice()


def _nested(pred: Tensor, branch: Branch, otherwise: Branch, strict: bool) -> Branch:
    return lambda: cond(pred, branch, otherwise, strict=strict)


def _asserted(preds: Sequence[Tensor], branch: Branch) -> Branch:
    """The last function of a case without a default: runs only if its condition, the last one left, holds."""

    def run() -> Any:
        message = f"None of conditions evaluated as True. Conditions: ({', '.join(p.name for p in preds)}), Values:"
        with control_dependencies(
            [Assert(raw_ops.Any(raw_ops.Pack(list(preds)), 0), [message, raw_ops.Pack(list(preds))])]
        ):
            return nest.map_structure(lambda t: identity(t) if isinstance(t, Tensor) else t, branch())

    return run


def _one_holds(preds: Sequence[Tensor]) -> Any:
    packed = raw_ops.Pack(list(preds))
    count = raw_ops.Sum(raw_ops.Cast(packed, DstT=dtypes.int32), 0)
    names = ", ".join(p.name for p in preds)
    message = f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:"
    return group(Assert(raw_ops.LessEqual(count, 1), [message, packed]))


def _checked_pairs(pred_fn_pairs: Any, exclusive: bool) -> list[tuple[Any, Branch]]:
    if isinstance(pred_fn_pairs, dict):
        pairs = list(pred_fn_pairs.items())
        if not isinstance(pred_fn_pairs, OrderedDict):
            if not context.executing_eagerly():
                pairs.sort(key=lambda pair: getattr(pair[0], "name", ""))
            if not exclusive:
                log.warn(
                    "case: a dictionary without exclusive=True; the conditions are tried in the order of their names."
                )
    elif isinstance(pred_fn_pairs, (list, tuple)):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError("pred_fn_pairs must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, branch = pair
        if not (isinstance(pred, bool) or (hasattr(pred, "dtype") and pred.dtype.base_dtype == dtypes.bool)):
            raise TypeError(f"pred must be of type bool: {pred!r}")
        if not callable(branch):
            raise TypeError(f"fn for pred {pred!r} must be callable.")
        if isinstance(pred, bool) and not context.executing_eagerly():
            raise TypeError(
                f"pred must be a Tensor, got the Python bool {pred}; use `if`, or tf.constant({pred}) {at()}"
            )
    return pairs


def switch_case(branch_index: Any, branch_fns: Any, default: Branch | None = None, name: str = "switch_case") -> Any:
    """The result of ``branch_fns[branch_index]`` (a list, pairs or a dictionary), else of ``default`` or the last function.

    Args:
      branch_index: A scalar integer tensor.
      branch_fns: Functions without arguments: a list, or pairs or a dictionary with the keys 0 to n - 1.
      default: The function for an index out of range; None for the last of ``branch_fns``.
      name: A name for the op.

    Returns:
      What the functions return, which must have the same structure and types.

    >>> y = tf.switch_case(tf.constant(1), [lambda: tf.constant(10), lambda: tf.constant(20)])
    """
    if isinstance(branch_fns, dict):
        items = sorted(branch_fns.items())
    elif all(callable(f) for f in branch_fns):
        items = list(enumerate(branch_fns))
    else:
        items = sorted(branch_fns, key=lambda pair: pair[0])
    if not items:
        raise ValueError("switch_case needs at least one branch.")
    for key, branch in items:
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {key!r}")
        if not callable(branch):
            raise TypeError(f"fn for key {key} must be callable.")
    if [key for key, _ in items] != list(range(len(items))):
        keys = ", ".join(str(key) for key, _ in items)
        raise ValueError(f"the keys of branch_fns must be 0 to {len(items) - 1}, each once; got {keys} {at()}")
    with name_scope(name, "switch_case", [branch_index]):
        index = convert_to_tensor(branch_index, name="branch_index")
        if not index.dtype.base_dtype.is_integer:
            raise TypeError(f"branch_index must be an integer tensor, got {index.dtype.base_dtype.name} {at()}")
        choice: Branch = default if default is not None else items.pop()[1]
        if not items:
            return choice()
        for key, branch in reversed(items):
            choice = _nested(raw_ops.Equal(index, key), branch, choice, True)
        return choice()
