"""Softmax along any axis and the cross entropies that take logits (tf.nn)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.eager.entry import learned
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import assert_equal
from headrace.library.scope import control_dependencies, name_scope


@learned
def softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """``exp(logits) / reduce_sum(exp(logits), axis)``; the last axis unless told otherwise.

    Args:
      logits: A tensor of floats.
      axis: The axis whose numbers add up to 1; None is the last.
      name: A name for the op.
      dim: Another name of `axis`; give one of them.

    Returns:
      A tensor of the type and shape of `logits`.

    >>> tf.Session().run(tf.nn.softmax([[0.0, 0.0], [0.0, 100.0]]))
    array([[5.0e-01, 5.0e-01],
           [3.8e-44, 1.0e+00]], dtype=float32)
    """
    return _along(raw_ops.Softmax, logits, _axis(axis, dim), name)


@learned
def log_softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """``logits - log(reduce_sum(exp(logits), axis))``.

    Args:
      logits: A tensor of floats.
      axis: The axis of the classes; None is the last.
      name: A name for the op.
      dim: Another name of `axis`; give one of them.

    Returns:
      A tensor of the type and shape of `logits`.

    >>> tf.Session().run(tf.nn.log_softmax([0.0, 0.0])).round(3)
    array([-0.693, -0.693], dtype=float32)
    """
    return _along(raw_ops.LogSoftmax, logits, _axis(axis, dim), name)


def _axis(axis: int | None, dim: int | None, default: int = -1) -> int:
    """TF1's two spellings of one argument."""
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'.")
        return dim
    return default if axis is None else axis


def _along(activation: Callable[..., Tensor], logits: Any, axis: int, name: str | None) -> Tensor:
    """Applies a function of the last axis along another one by swapping the two."""
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    if axis == -1 or rank is not None and axis == rank - 1:
        return activation(logits, name=name)
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(
            f"`axis` must be in the range [{-rank}, {rank}) for a tensor of shape {logits.shape}; got {axis}"
        )
    order = _swap_last(logits, axis)
    swapped = activation(raw_ops.Transpose(logits, order, name="transpose"), name=name)
    result = raw_ops.Transpose(swapped, order, name="transpose")
    result.set_shape(logits.shape)
    return result


def _swap_last(tensor: Tensor, axis: int) -> Any:
    """The permutation that exchanges ``axis`` and the last axis."""
    rank = tensor.shape.ndims
    if rank is not None:
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        return order
    rank_tensor = raw_ops.Rank(tensor)
    last = raw_ops.Sub(rank_tensor, 1)
    position = axis if axis >= 0 else raw_ops.AddV2(rank_tensor, axis, name="add")
    before = raw_ops.Range(0, position, 1, name="range")
    between = raw_ops.Range(raw_ops.AddV2(position, 1, name="add"), last, 1, name="range")
    parts = [before, raw_ops.ExpandDims(last, 0), between, raw_ops.ExpandDims(position, 0)]
    return raw_ops.ConcatV2(parts, 0, name="concat")


# ---- cross entropies


def _need_names(caller: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(f"Only call `{caller}` with named arguments (labels=..., logits=..., ...) {at()}")
    if labels is None or logits is None:
        raise ValueError(f"Both labels and logits must be provided; got labels={labels!r}, logits={logits!r} {at()}")


@learned
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """The cross entropy of softmax(logits) with respect to the distributions ``labels``; both get gradients.

    Args:
      labels: A tensor of the shape of `logits`: the probability of each class.
      logits: A tensor of floats.
      axis: The axis of the classes; None is the last.
      name: A name for the op.
      dim: Another name of `axis`; give one of them.

    Returns:
      A tensor of losses of the type of `logits`, without `axis`.

    >>> loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.0, 1.0]], logits=[[1.0, 1.0]])
    >>> tf.Session().run(loss).round(3)
    array([0.693], dtype=float32)
    """
    axis = _axis(axis, dim)
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = raw_ops.Cast(logits, DstT=dtypes.float32) if half else logits
        if labels.dtype != precise.dtype:
            labels = raw_ops.Cast(labels, DstT=precise.dtype)
        loss = _cross_entropy(precise, labels, axis, scope)
        return raw_ops.Cast(loss, DstT=logits.dtype) if half else loss


def _cross_entropy(logits: Tensor, labels: Tensor, axis: int, scope: str) -> Tensor:
    rank = logits.shape.ndims
    if not hasattr(axis, "__index__"):
        raise TypeError(f"axis must be the number of a dimension, got {axis!r} {at()}")
    if axis != -1 and axis != (rank or 0) - 1:
        # The class axis goes last; what remains keeps its order.
        if rank is None:
            raise ValueError("logits of unknown rank need their classes on the last axis")
        order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
        logits = raw_ops.Transpose(logits, order, name="transpose")
        labels = raw_ops.Transpose(labels, order, name="transpose")
    if rank == 2 and labels.shape.ndims == 2:
        return raw_ops.SoftmaxCrossEntropyWithLogits(logits, labels, name=scope)[0]
    loss = raw_ops.SoftmaxCrossEntropyWithLogits(_flatten_outer(logits), _flatten_outer(labels), name=scope)[0]
    result = raw_ops.Reshape(loss, _outer_shape(logits))
    if rank is not None:
        result.set_shape(logits.shape[:-1])
    return result


def _flatten_outer(tensor: Tensor) -> Tensor:
    """All axes but the last become one."""
    dims = tensor.shape.tuple
    if dims is not None and len(dims) == 2:
        return tensor
    if dims and dims[-1] is not None:
        return raw_ops.Reshape(tensor, [-1, dims[-1]])
    last = raw_ops.StridedSlice(raw_ops.Shape(tensor), [-1], [0], [1], end_mask=1)
    return raw_ops.Reshape(tensor, raw_ops.ConcatV2([[-1], last], 0, name="concat"))


def _outer_shape(tensor: Tensor) -> Any:
    dims = tensor.shape.tuple
    if dims is not None and None not in dims[:-1]:
        return list(dims[:-1])
    return raw_ops.StridedSlice(raw_ops.Shape(tensor), [0], [-1], [1], begin_mask=1)


@learned
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None,
    axis: int | None = None,
) -> Tensor:  # fmt: skip
    """The first form of the cross entropy: ``labels`` get no gradient (``_v2`` gives them one).

    Args:
      _sentinel: Stands for "by name only": give all arguments by name, and this one not at all.
      labels: A tensor of the shape of `logits`: the probability of each class.
      logits: A tensor of floats.
      dim: The axis of the classes, if `axis` is None.
      name: A name for the op.
      axis: The axis of the classes; None takes `dim`.

    Returns:
      A tensor of losses of the type of `logits`, without the axis of the classes.

    >>> loss = tf.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0]], logits=[[1.0, 1.0]])
    >>> tf.Session().run(loss).round(3)
    array([0.693], dtype=float32)
    """
    _need_names("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = raw_ops.StopGradient(labels, name="labels_stop_gradient")
        axis = dim if axis is None else axis
        return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis, name=scope)


@learned
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """The cross entropy of softmax(logits) with respect to class numbers: ``labels`` has one axis less.

    Args:
      _sentinel: Stands for "by name only": give all arguments by name, and this one not at all.
      labels: A tensor of int32 or int64: the number of the right class.
      logits: A tensor of floats; the last axis is that of the classes.
      name: A name for the op.

    Returns:
      A tensor of losses of the type of `logits` and the shape of `labels`.

    >>> loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[1.0, 1.0]])
    >>> tf.Session().run(loss).round(3)
    array([0.693], dtype=float32)
    """
    _need_names("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = raw_ops.Cast(logits, DstT=dtypes.float32) if half else logits
        _check_sparse(labels, logits)
        if logits.shape.ndims == 2:
            loss = raw_ops.SparseSoftmaxCrossEntropyWithLogits(precise, labels)[0]
        else:
            with control_dependencies(_late_check(labels, logits)):
                flat = raw_ops.Reshape(labels, [-1])
                loss = raw_ops.SparseSoftmaxCrossEntropyWithLogits(_flatten_outer(precise), flat)[0]
            static = labels.shape
            target = static.as_list() if static.is_fully_defined() else raw_ops.Shape(labels)
            loss = raw_ops.Reshape(loss, target)
            loss.set_shape(static)
        return raw_ops.Cast(loss, DstT=logits.dtype) if half else loss


def _late_check(labels: Tensor, logits: Tensor) -> list[Any]:
    """What compares the shapes when it runs; nothing if all sizes but one agree already, since the op counts the rows."""
    static, expected = labels.shape, logits.shape[:-1]
    if static.ndims is not None and expected.ndims is not None:
        if sum(a is None or b is None for a, b in zip(static.as_list(), expected.as_list(), strict=True)) < 2:
            return []
    rows = raw_ops.StridedSlice(raw_ops.Shape(logits), [0], [-1], [1], begin_mask=1)
    message = "The shape of labels should equal the shape of logits except for the last dimension."
    return [assert_equal(raw_ops.Shape(labels), rows, message=message)]


def _check_sparse(labels: Tensor, logits: Tensor) -> None:
    rank, label_rank = logits.shape.ndims, labels.shape.ndims
    if rank == 0:
        raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}. {at()}")
    if rank is not None and label_rank is not None and label_rank != rank - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {label_rank}) should equal rank of logits minus 1 "
            f"(received {rank}). Labels are class numbers here, shape {logits.shape[:-1]}, not {labels.shape}; for one-hot "
            f"labels use softmax_cross_entropy_with_logits_v2. {at()}"
        )
    if not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {labels.shape}) should equal the shape of logits "
            f"except for the last dimension (received {logits.shape}). {at()}"
        )
