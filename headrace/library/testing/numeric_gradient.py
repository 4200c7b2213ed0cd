"""Gradients against central finite differences: ``tf.test.compute_gradient`` and opcheck's gradient check.

Both perturb one element of an input at a time and run the graph again.  For complex values the convention is TF1's: the
gradient of a real L with respect to x is dL/dRe(x) + i dL/dIm(x).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.autodiff.gradients import gradients
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.core.shape import TensorShape, as_shape
from headrace.graph import context, raw_ops
from headrace.graph.convert import make_constant
from headrace.graph.structures import IndexedSlices

_ELEMENTS = 12  # of each input, spread evenly, that opcheck perturbs one by one; all of them move together once more


# ---- tf.test.compute_gradient


def compute_gradient(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: dict[Any, Any] | None = None,
) -> Any:  # fmt: skip
    """(theoretical, numerical) Jacobians of y with respect to x, [elements of x, elements of y].

    A list of x gives a list of pairs.  Complex elements count as two reals, real part first.
    Runs in the default session.

    Args:
      x: A tensor, or a list of tensors, that `y` depends on.
      x_shape: The shape of `x`, a list; a list of them for a list.
      y: A tensor.
      y_shape: The shape of `y`, a list.
      x_init_value: Where to take the derivative, an array; None for random numbers.
      delta: How far `x` is moved for the numerical Jacobian.
      init_targets: Operations to run before; None for none.
      extra_feed_dict: What else to feed; None for nothing.

    Returns:
      Two arrays, or a list of such pairs.

    >>> x = tf.placeholder(tf.float64, [1])
    >>> with tf.Session():
    ...     theoretical, numerical = tf.test.compute_gradient(x, [1], tf.square(x), [1], x_init_value=np.array([3.0]))
    >>> theoretical
    array([[6.]])
    """
    _run_initializers(init_targets)
    if isinstance(x, list):
        starts = x_init_value or [None] * len(x)
        cases = zip(x, x_shape, starts, strict=True)
        return [_jacobians(a, s, y, y_shape, v, delta, extra_feed_dict) for a, s, v in cases]
    return _jacobians(x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict)


def compute_gradient_error(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: dict[Any, Any] | None = None,
) -> float:  # fmt: skip
    """The largest difference between the theoretical and the numerical Jacobian.

    Args:
      x: A tensor, or a list of tensors, that `y` depends on.
      x_shape: The shape of `x`, a list; a list of them for a list.
      y: A tensor.
      y_shape: The shape of `y`, a list.
      x_init_value: Where to take the derivative, an array; None for random numbers.
      delta: How far `x` is moved for the numerical Jacobian.
      init_targets: Operations to run before; None for none.
      extra_feed_dict: What else to feed; None for nothing.

    Returns:
      A number.

    >>> x = tf.placeholder(tf.float64, [2])
    >>> with tf.Session():
    ...     print(tf.test.compute_gradient_error(x, [2], tf.square(x), [2]) < 1e-6)
    True
    """
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = [pairs] if isinstance(pairs, tuple) else pairs
    error = 0.0
    for theoretical, numerical in pairs:
        if theoretical.size or numerical.size:
            error = max(error, float(np.fabs(theoretical - numerical).max()))
    return error


def _run_initializers(targets: Any) -> None:
    if targets is None:
        return
    for target in targets if isinstance(targets, (list, tuple)) else [targets]:
        _session().run(target)


def _session() -> Any:
    session = context.get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it inside `with tf.Session():`")
    return session


_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def _jacobians(
    x: Any, x_shape: Any, y: Any, y_shape: Any, start: Any, delta: float, feed: dict[Any, Any] | None
) -> tuple[Any, Any]:
    for what, tensor in (("x", x), ("y", y)):
        if tensor.dtype.base_dtype not in (*_FLOATS, dtypes.bfloat16):
            raise TypeError(f"compute_gradient needs a floating-point {what}, got {tensor.dtype.name}")
    x_dims: list[Any] = as_shape(x_shape).as_list()
    y_dims: list[Any] = as_shape(y_shape).as_list()
    numpy_dtype = np.float32 if x.dtype.base_dtype == dtypes.bfloat16 else x.dtype.base_dtype.as_numpy_dtype
    if start is None:
        start = np.random.random_sample(x_dims)
        if x.dtype.is_complex:
            start = start + 1j * np.random.random_sample(x_dims)
    start = np.array(start, dtype=numpy_dtype).reshape(x_dims)
    if y._shape.is_fully_defined():  # a caller may say [1] of a scalar
        if y._shape.num_elements() != int(np.prod(y_dims)):
            raise ValueError(f"y_shape is {y_dims}, but y has shape {y._shape.as_list()}")
        y_dims = y._shape.as_list()
    grad_y = make_placeholder(y.dtype.base_dtype, y_dims)
    with context.default_graph_scope(x.graph):
        dx = gradients(y, x, grad_ys=grad_y)[0]
    feeds = dict(feed or {})
    return _theoretical(x, start, dx, grad_y, y_dims, feeds), _numerical(x, start, y, y_dims, delta, feeds)


def make_placeholder(dtype: DType, shape: Any) -> Any:
    """A placeholder for the gradient that flows into y."""
    return raw_ops.Placeholder(dtype=dtype, shape=TensorShape(shape))


def _theoretical(x: Any, start: Any, dx: Any, grad_y: Any, y_dims: Any, feed: dict[Any, Any]) -> Any:
    seed_dtype = np.float32 if grad_y.dtype == dtypes.bfloat16 else grad_y.dtype.as_numpy_dtype
    rows = int(np.prod(y_dims)) if y_dims else 1
    seeds = [1, 1j] if grad_y.dtype.is_complex else [1]
    columns = []
    for i in range(rows):
        for seed in seeds:
            grads = np.zeros(rows, dtype=seed_dtype)
            grads[i] = seed
            value = _run_dense(dx, {**feed, x: start, grad_y: grads.reshape(y_dims)}, start)
            columns.append(_as_reals(value))
    if not rows:
        _check_empty(_run_dense(dx, {**feed, x: start, grad_y: np.zeros(y_dims, dtype=seed_dtype)}, start), start)
    size = _as_reals(start).size
    return np.stack(columns, axis=1) if columns else np.zeros((size, 0), dtype=start.real.dtype)


def _check_empty(gradient: Any, x: Any) -> None:
    """Refuses the gradient of a y without elements that is not zero, or not of the shape of x."""
    if gradient.shape != x.shape:
        raise ValueError(f"Empty gradient has wrong shape: expected {x.shape}, got {gradient.shape}")
    if np.any(gradient):
        raise ValueError("Empty tensor with nonzero gradients")


def _run_dense(grad: Any, feed: dict[Any, Any], like: Any) -> Any:
    """A gradient's value as a dense array, whatever form it has."""
    if grad is None:
        return np.zeros_like(like)
    session = _session()
    if isinstance(grad, IndexedSlices):
        values, indices = session.run([grad.values, grad.indices], feed)
        return add_rows(like, values, indices)
    return session.run(grad, feed)


def add_rows(like: Any, values: Any, indices: Any) -> Any:
    """Rows that may repeat, added up into an array like the given one."""
    dense = np.zeros(np.shape(like), dtype=np.asarray(values).dtype)
    np.add.at(dense, np.asarray(indices), values)
    return dense


def _as_reals(array: Any) -> Any:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _numerical(x: Any, start: Any, y: Any, y_dims: Any, delta: float, feed: dict[Any, Any]) -> Any:
    session = _session()
    reals = _as_reals(start)
    rows = []
    for i in range(reals.size):
        sides = []
        for step in (delta, -delta):
            moved = start.copy().reshape(-1)
            view = moved.view(moved.real.dtype)
            view[i] += step
            sides.append(_as_reals(session.run(y, {**feed, x: moved.reshape(start.shape)})).astype(np.float64))
        rows.append((sides[0] - sides[1]) / (2 * delta))
    size = int(np.prod(y_dims)) * (2 if y.dtype.is_complex else 1)
    table = np.stack(rows) if rows else np.zeros((0, size))
    return table.astype(reals.dtype)


# ---- opcheck


def gradient_problems(op_def: OpDef, sample: Any, slots: Sequence[Any], build: Callable[..., Any]) -> list[str]:
    """Gradients of a weighted sum of the op's outputs, and theirs, in float64 where the op takes it.

    These gradients are taken again with no shape known before running: rules often take a shorter way when one is known.
    """
    if op_def.has_gradient_rule and op_def.gradient_fn is None:
        return []
    if not op_def.has_gradient_rule and not (op_def.traits.pure and not op_def.traits.host):
        return []
    if op_def.traits.random or sample.random:
        return []
    sample, slots = widened(op_def, sample, slots)
    differentiable = [i for i, s in enumerate(slots) if _differentiable(s, sample)]
    built = build(op_def, sample, slots)
    if not differentiable or not any(_is_float(t.dtype) and not t.dtype._is_ref_dtype for t in built.node.outputs):
        return []
    sweep = _Sweep(built, slots, differentiable)
    with sweep.session:
        problems = sweep.problems(sample)
        if not problems and sample.second:
            problems = sweep.second_problems(sample)
        if not problems and not any(s.made or s.arg.ref for s in slots):
            unknown = build(op_def, sample, slots, shapes=[TensorShape(None)] * len(slots), hosts=False)
            problems = sweep.agreement_problems(_Sweep(unknown, slots, differentiable))
    return problems


class _Sweep:
    """The gradients of one built sample."""

    def __init__(self, built: Any, slots: Sequence[Any], differentiable: Sequence[int]) -> None:
        self.built = built
        self.slots = [slots[i] for i in differentiable]
        self.labels = [f"input {i} ({slots[i].arg.name})" for i in differentiable]
        self.xs = [built.inputs[i] for i in differentiable]
        self.ys = [t for t in built.node.outputs if _is_float(t.dtype) and not t.dtype._is_ref_dtype]
        self.session = built.session()
        self.weights = [_weights(np.asarray(v), k) for k, v in enumerate(self.session.run(self.ys, built.feed))]
        self.grads = self.backward(self.ys, self.weights)

    def backward(self, ys: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        graph = self.built.graph
        with graph.as_default(), graph.device("/device:CPU:0"):
            grad_ys = [make_constant(w, y.dtype.base_dtype) for w, y in zip(weights, ys, strict=True)]
            return gradients(list(ys), self.xs, grad_ys=grad_ys)

    def values(self, grads: Sequence[Any]) -> list[Any]:
        with self.session.as_default():
            return [np.asarray(_run_dense(g, self.built.feed, s.value)) for g, s in zip(grads, self.slots, strict=True)]

    def total(self, ys: Sequence[Any], weights: Sequence[Any]) -> Callable[[dict[Any, Any]], float]:
        """The weighted sum of ys as a function of what is fed."""

        def run(feed: dict[Any, Any]) -> float:
            values = self.session.run(list(ys), {**self.built.feed, **feed})
            return sum(
                float(np.real(np.sum(np.conj(w) * v.astype(_wide(v))))) for w, v in zip(weights, values, strict=True)
            )

        return run

    def problems(self, sample: Any) -> list[str]:
        total = self.total(self.ys, self.weights)
        return self._compared("gradient", self.values(self.grads), total, sample, 1.0)

    def second_problems(self, sample: Any) -> list[str]:
        """Gradients of the gradients, where double precision makes them meaningful."""
        if any(s.value.dtype not in (np.float64, np.complex128) for s in self.slots):
            return []
        firsts = [g.values if isinstance(g, IndexedSlices) else g for g in self.grads if g is not None]
        if not firsts:
            return []
        values = self.session.run(firsts, self.built.feed)
        weights = [_weights(np.asarray(v), 7 + k) for k, v in enumerate(values)]
        seconds = self.values(self.backward(firsts, weights))
        return self._compared("second gradient", seconds, self.total(firsts, weights), sample, 10.0)

    def _compared(self, what: str, exact: Sequence[Any], total: Any, sample: Any, slack: float) -> list[str]:
        problems = []
        for label, slot, x, grad in zip(self.labels, self.slots, self.xs, exact, strict=True):
            problems += _compare(f"{what} of {label}", x, slot.value, grad, total, sample, slack)
        return problems

    def agreement_problems(self, other: _Sweep) -> list[str]:
        with other.session:
            pairs = zip(self.labels, self.values(self.grads), other.values(other.grads), strict=True)
            return [
                f"the gradient of {label} is another one when no shape is known before running"
                for label, a, b in pairs
                if a.shape != b.shape or not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
            ]


def _differentiable(slot: Any, sample: Any) -> bool:
    if slot.made or slot.arg.host or slot.arg.ref or not _is_float(slot.dtype) or slot.dtype == dtypes.bfloat16:
        return False
    return sample.wrt is None or slot.arg.name in sample.wrt


def _is_float(dtype: DType) -> bool:
    base = dtype.base_dtype
    return base.is_floating or base.is_complex


def _wide(array: Any) -> Any:
    return np.complex128 if np.iscomplexobj(array) else np.float64


def _weights(value: Any, seed: int) -> Any:
    """Fixed, all different, none near zero."""
    count = np.arange(value.size, dtype=np.float64) + seed
    weights = 0.5 + 0.5 * np.abs(np.sin(1.7 * count + 0.3))
    if np.iscomplexobj(value):
        weights = weights + 1j * (0.5 + 0.4 * np.cos(count))
    return weights.reshape(value.shape).astype(value.dtype)


_WIDER = {dtypes.float16: dtypes.float64, dtypes.bfloat16: dtypes.float64, dtypes.float32: dtypes.float64,
          dtypes.complex64: dtypes.complex128}  # fmt: skip


def widened(op_def: OpDef, sample: Any, slots: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The sample in double precision, as far as the op's type attributes allow."""
    allowed = op_def.signature.allowed

    def wide(name: str | None, dtype: DType) -> DType:
        wider = _WIDER.get(dtype)
        return wider if name and wider is not None and wider in allowed.get(name, (wider,)) else dtype

    wide_slots = []
    for slot in slots:
        dtype = (
            slot.dtype if slot.arg.ref or slot.made else wide(slot.arg.type_attr or slot.arg.type_list_attr, slot.dtype)
        )
        value = slot.value if dtype == slot.dtype else np.asarray(slot.value).astype(dtype.as_numpy_dtype)
        wide_slots.append(type(slot)(slot.arg, value, dtype))
    attrs = {}
    kinds = {a.name: a.kind for a in (*op_def.signature.attrs, *op_def.signature.inferred)}
    for name, value in sample.attrs.items():
        if kinds.get(name) == "type":
            value = wide(name, dtypes.as_dtype(value))
        elif kinds.get(name) == "list(type)":
            value = [wide(name, dtypes.as_dtype(v)) for v in value]
        attrs[name] = value
    changed = {f: getattr(sample, f) for f in type(sample).__dataclass_fields__} | {"attrs": attrs}
    return type(sample)(**changed), wide_slots


def _compare(
    what: str, x: Any, start: Any, grad: Any, total: Callable[[dict[Any, Any]], float], sample: Any, slack: float
) -> list[str]:
    if grad.shape != start.shape:
        return [f"the {what} has shape {list(grad.shape)}, its value {list(start.shape)}"]
    if not start.size:
        return []
    double = start.dtype in (np.float64, np.complex128)
    delta = 1e-5 if double else 1e-2 if start.dtype == np.float16 else 3e-3
    least = 1e-5 if double else 2e-2
    rtol, atol = slack * max(sample.rtol, least), slack * max(sample.atol, least)
    flat = grad.reshape(-1)
    problems = []
    for direction, label in _directions(start):
        sides = [total({x: (start + s * delta * direction).astype(start.dtype)}) for s in (1, -1)]
        numeric = (sides[0] - sides[1]) / (2 * delta)
        exact = float(
            np.sum(np.real(direction.reshape(-1)) * np.real(flat) + np.imag(direction.reshape(-1)) * np.imag(flat))
        )
        if not abs(numeric - exact) <= atol + rtol * max(abs(numeric), abs(exact)):
            problems.append(f"the {what} {label} is {exact:.6g}, finite differences give {numeric:.6g}")
            if len(problems) == 3:
                break
    return problems


def _directions(start: Any) -> Any:
    """Single elements (and their imaginary parts), then all together."""
    picked = np.unique(np.linspace(0, start.size - 1, min(start.size, _ELEMENTS)).astype(int))
    for i in picked:
        for unit in (1.0, 1.0j) if np.iscomplexobj(start) else (1.0,):
            direction = np.zeros(start.size, dtype=_wide(start))
            direction[i] = unit
            index = ", ".join(map(str, np.unravel_index(i, start.shape)))
            yield direction.reshape(start.shape), f"at [{index}]" + (" (imaginary part)" if unit == 1.0j else "")
    yield np.cos(np.arange(start.size)).reshape(start.shape), "along a direction"
