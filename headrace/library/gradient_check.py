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
    """
    _run_initializers(init_targets)
    if isinstance(x, list):
        starts = x_init_value or [None] * len(x)
        given = zip(x, x_shape, starts, strict=True)
        return [_jacobians(a, s, y, y_shape, v, delta, extra_feed_dict) for a, s, v in given]
    return _jacobians(x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict)


def compute_gradient_error(
    x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3,
    init_targets: Any = None, extra_feed_dict: dict[Any, Any] | None = None,
) -> float:  # fmt: skip
    """The largest difference between the theoretical and the numerical Jacobian."""
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
    x_dims, y_dims = as_shape(x_shape).as_list(), as_shape(y_shape).as_list()
    numpy_dtype = np.float32 if x.dtype.base_dtype == dtypes.bfloat16 else x.dtype.base_dtype.as_numpy_dtype
    if start is None:
        start = np.random.random_sample(x_dims)
    start = np.array(start, dtype=numpy_dtype).reshape(x_dims)
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
            given = np.zeros(rows, dtype=seed_dtype)
            given[i] = seed
            value = _run_dense(dx, {**feed, x: start, grad_y: given.reshape(y_dims)}, start)
            columns.append(_as_reals(value))
    size = _as_reals(start).size
    return np.stack(columns, axis=1) if columns else np.zeros((size, 0), dtype=start.real.dtype)


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
    """The gradient of a weighted sum of the op's outputs, in float64 where the op takes it."""
    if op_def.has_gradient_rule and op_def.gradient_fn is None:
        return []
    if not op_def.has_gradient_rule and not (op_def.traits.pure and not op_def.traits.host):
        return []
    if op_def.traits.random or sample.random:
        return []
    sample, slots = widened(op_def, sample, slots)
    wanted = [i for i, s in enumerate(slots) if _differentiable(s, sample)]
    if not wanted:
        return []
    built = build(op_def, sample, slots)
    ys = [t for t in built.node.outputs if _is_float(t.dtype) and not t.dtype._is_ref_dtype]
    if not ys:
        return []
    xs = [built.inputs[i] for i in wanted]
    with built.session() as session:
        values = [np.asarray(v) for v in session.run(ys, built.feed)]
        weights = [_weights(v, k) for k, v in enumerate(values)]
        with built.graph.as_default(), built.graph.device("/device:CPU:0"):
            grad_ys = [make_constant(w, y.dtype.base_dtype) for w, y in zip(weights, ys, strict=True)]
            grads = gradients(ys, xs, grad_ys=grad_ys)

        def total(feed: dict[Any, Any]) -> float:
            found = session.run(ys, {**built.feed, **feed})
            return sum(
                float(np.real(np.sum(np.conj(w) * v.astype(_wide(v))))) for w, v in zip(weights, found, strict=True)
            )

        with session.as_default():
            analytic = [_run_dense(g, built.feed, slots[i].value) for g, i in zip(grads, wanted, strict=True)]
        problems = []
        for x, grad, i in zip(xs, analytic, wanted, strict=True):
            problems += _compare(f"input {i} ({slots[i].arg.name})", x, slots[i].value, np.asarray(grad), total, sample)
    return problems


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

    made = []
    for slot in slots:
        dtype = (
            slot.dtype if slot.arg.ref or slot.made else wide(slot.arg.type_attr or slot.arg.type_list_attr, slot.dtype)
        )
        value = slot.value if dtype == slot.dtype else np.asarray(slot.value).astype(dtype.as_numpy_dtype)
        made.append(type(slot)(slot.arg, value, dtype))
    attrs = {}
    kinds = {a.name: a.kind for a in (*op_def.signature.attrs, *op_def.signature.inferred)}
    for name, value in sample.attrs.items():
        if kinds.get(name) == "type":
            value = wide(name, dtypes.as_dtype(value))
        elif kinds.get(name) == "list(type)":
            value = [wide(name, dtypes.as_dtype(v)) for v in value]
        attrs[name] = value
    changed = {f: getattr(sample, f) for f in type(sample).__dataclass_fields__} | {"attrs": attrs}
    return type(sample)(**changed), made


def _compare(
    what: str, x: Any, start: Any, grad: Any, total: Callable[[dict[Any, Any]], float], sample: Any
) -> list[str]:
    if grad.shape != start.shape:
        return [f"the gradient of {what} has shape {list(grad.shape)}, its value {list(start.shape)}"]
    if not start.size:
        return []
    double = start.dtype in (np.float64, np.complex128)
    delta = 1e-5 if double else 1e-2 if start.dtype == np.float16 else 3e-3
    rtol, atol = (
        (max(sample.rtol, 1e-5), max(sample.atol, 1e-6)) if double else (max(sample.rtol, 2e-2), max(sample.atol, 2e-2))
    )
    flat = grad.reshape(-1)
    problems = []
    for direction, label in _directions(start):
        sides = [total({x: (start + s * delta * direction).astype(start.dtype)}) for s in (1, -1)]
        numeric = (sides[0] - sides[1]) / (2 * delta)
        exact = float(
            np.sum(np.real(direction.reshape(-1)) * np.real(flat) + np.imag(direction.reshape(-1)) * np.imag(flat))
        )
        if not abs(numeric - exact) <= atol + rtol * max(abs(numeric), abs(exact)):
            problems.append(f"the gradient of {what} {label} is {exact:.6g}, finite differences give {numeric:.6g}")
            if len(problems) == 3:
                break
    return problems


def _directions(start: Any) -> Any:
    """Single elements (and their imaginary parts), then all at once."""
    picked = np.unique(np.linspace(0, start.size - 1, min(start.size, _ELEMENTS)).astype(int))
    for i in picked:
        for unit in (1.0, 1.0j) if np.iscomplexobj(start) else (1.0,):
            direction = np.zeros(start.size, dtype=_wide(start))
            direction[i] = unit
            index = ", ".join(map(str, np.unravel_index(i, start.shape)))
            yield direction.reshape(start.shape), f"at [{index}]" + (" (imaginary part)" if unit == 1.0j else "")
    yield np.cos(np.arange(start.size)).reshape(start.shape), "along a direction"
