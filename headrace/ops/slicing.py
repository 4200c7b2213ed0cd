"""Parts of a tensor by position: Slice, StridedSlice with its masks, their gradients and the assignment to a slice.

A strided slice is first written as a Python index (slices, numbers, None, ...), which numpy and torch read alike; torch
has no negative steps, so those become a positive slice that is flipped.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import ANY, INDEX
from headrace.core.registry import op
from headrace.graph import raw_ops
from headrace.graph.infer import known_value
from headrace.ops.declare.resource import resource_form
from headrace.ops.declare.unsigned import move_as_signed
from headrace.ops.shared.refuse import expect_sizes
from headrace.ops.shared.slice_index import python_index
from headrace.resources.calling.value import as_tensor
from headrace.resources.state.variable import mark_all

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_MASK_TEXT = ", ".join(f"{m}: int = 0" for m in _MASKS)

# ---- Slice

slice_op = op(
    "Slice(input: T, begin: host Index[1], size: host Index[1]) -> (output: T)", T=ANY, Index=INDEX, view=True
)


@slice_op.shape
def _(input, begin, size):
    dims = input.tuple
    ndims = next((len(v) for v in (dims, begin, size) if v is not None), None)
    if ndims is None:
        return None
    for values, name in ((dims, "input"), (begin, "begin"), (size, "size")):
        if values is not None and len(values) != ndims:
            raise ValueError(f"Shape must be rank {ndims} but is rank {len(values)}: {name} does not fit the others")
    dims, begin, size = (v if v is not None else [None] * ndims for v in (dims, begin, size))
    out_dims = []
    for i, (d, b, s) in enumerate(zip(dims, begin, size, strict=True)):
        if b is not None and (b < 0 or (d is not None and b > d)):
            raise ValueError(f"Expected begin[{i}] in [0, {'?' if d is None else d}], but got {b}")
        if s is not None and s < -1:
            raise ValueError(f"Expected size[{i}] to be at least -1, but got {s}")
        if s == -1:
            out_dims.append(None if b is None or d is None else d - b)
            continue
        if None not in (d, b, s) and b + s > d:
            raise ValueError(f"Expected size[{i}] in [0, {d - b}], but got {s}")
        out_dims.append(s)
    return out_dims


@slice_op.value
def _(node, input, begin, size):
    if input is None or begin is None or size is None or object in (begin.dtype, size.dtype):
        return None
    return input[tuple(slice(b, None if s < 0 else b + s) for b, s in zip(begin.tolist(), size.tolist(), strict=True))]


@slice_op.gradient
def _(node, grad):
    """The gradient, padded with zeros to the input's shape."""
    input, begin, size = node.inputs
    dims, start, out = input.shape.tuple, known_value(begin), node.outputs[0].shape.tuple
    if dims is not None and start is not None and out is not None and None not in (*dims, *start, *out):
        paddings = [[b, d - b - s] for d, b, s in zip(dims, start, out, strict=True)]
        return [raw_ops.Pad(grad, np.array(paddings, np.int32).reshape(-1, 2)), None, None]
    index = node.attrs["Index"]
    before = raw_ops.ExpandDims(begin, 1)
    after = raw_ops.Sub(raw_ops.Sub(raw_ops.Shape(input, out_type=index), raw_ops.Shape(grad, out_type=index)), begin)
    return [raw_ops.Pad(grad, raw_ops.ConcatV2([before, raw_ops.ExpandDims(after, 1)], 1)), None, None]


def _slice(input, begin, size):
    if len(begin) != input.ndim or len(size) != input.ndim:
        raise ValueError(f"begin {begin} and size {size} must have one entry per dimension of {list(input.shape)}")
    index = []
    for i, (b, s, d) in enumerate(zip(begin, size, input.shape, strict=True)):
        end = d if s == -1 else b + s
        if not 0 <= b <= d:
            raise ValueError(f"Expected begin[{i}] in [0, {d}], but got {b}")
        if not b <= end <= d:
            raise ValueError(f"Expected size[{i}] in [0, {d - b}], but got {s}")
        index.append(slice(b, end))
    return input[tuple(index)]


slice_op.kernel(_slice)
slice_op.array_kernel(_slice)

# ---- the index a strided slice stands for


def _forwards(index, shape):
    """An index with negative steps -> (the same elements with positive steps, output axes to flip)."""
    used = sum(1 for part in index if part is not None and part is not Ellipsis)
    parts, flips, dim, axis = [], [], 0, 0
    for part in index:
        if part is Ellipsis:
            dim, axis = dim + len(shape) - used, axis + len(shape) - used
        elif part is None:
            axis += 1
        elif not isinstance(part, slice):
            dim += 1
        else:
            if part.step < 0:
                steps = range(*part.indices(shape[dim]))
                part = slice(steps[-1], steps[0] + 1, -part.step) if steps else slice(0, 0)
                flips.append(axis)
            dim, axis = dim + 1, axis + 1
        parts.append(part)
    return tuple(parts), flips


def _check(index, shape):
    """Raises the error for an index that torch or numpy refused."""
    used = sum(1 for part in index if part is not None and part is not Ellipsis)
    if used > len(shape):
        raise ValueError(f"Index out of range using input dim {len(shape)}; input has only {len(shape)} dims")
    dim = 0
    for part in index:
        if part is Ellipsis:
            dim += len(shape) - used
        elif part is not None:
            if isinstance(part, int) and not -shape[dim] <= part < shape[dim]:
                raise ValueError(f"slice index {part} of dimension {dim} out of bounds.")
            dim += 1


# ---- StridedSlice

strided_slice = op(
    f"StridedSlice(input: T, begin: host Index[1], end: host Index[1], strides: host Index[1]; {_MASK_TEXT}) -> (output: T)",
    T=ANY, Index=INDEX, view=True,
)  # fmt: skip


@strided_slice.shape
def _(input, begin, end, strides, *masks):
    spec = next((v for v in (begin, end, strides) if v is not None), None)
    if spec is None:
        return None
    begin, end, strides = ([None] * len(spec) if v is None else v for v in (begin, end, strides))
    return strided_shape(input.tuple, begin, end, strides, *masks)


def strided_shape(dims, begin, end, strides, *masks):
    """The static shape; None stands for unknown elements of the three lists and unknown sizes."""
    begin_mask, end_mask = masks[:2]
    python_index(  # checks the masks; unknown numbers pass through
        tuple(begin), tuple(end), tuple(1 if s is None else s for s in strides), 0, 0, *masks[2:]
    )
    roles = [_role(i, *masks[2:]) for i in range(len(begin))]
    used = sum(k in ("number", "range") for k in roles)
    if dims is not None and used > len(dims):
        raise ValueError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims")
    if dims is None:
        return None
    if "ellipsis" not in roles:
        roles = [*roles, "ellipsis"]
    out_dims, dim = [], 0
    for i, role in enumerate(roles):
        if role == "ellipsis":
            out_dims.extend(dims[dim : dim + len(dims) - used])
            dim += len(dims) - used
        elif role == "new":
            out_dims.append(1)
        elif role == "number":
            if None not in (begin[i], dims[dim]) and not -dims[dim] <= begin[i] < dims[dim]:
                raise ValueError(f"slice index {begin[i]} of dimension {dim} out of bounds.")
            dim += 1
        else:
            bit = 1 << i
            out_dims.append(_length(dims[dim], begin[i], end[i], strides[i], begin_mask & bit, end_mask & bit))
            dim += 1
    return out_dims


def _role(i, ellipsis_mask, new_axis_mask, shrink_axis_mask):
    bit = 1 << i
    if ellipsis_mask & bit:
        return "ellipsis"
    if new_axis_mask & bit:
        return "new"
    return "number" if shrink_axis_mask & bit else "range"


def _length(size, begin, end, stride, no_begin, no_end):
    """How many elements a range takes, None where that depends on something unknown."""
    if stride is None or (begin is None and not no_begin) or (end is None and not no_end):
        return None
    if size is not None:
        return len(range(*slice(None if no_begin else begin, None if no_end else end, stride).indices(size)))
    if not no_begin and not no_end and (begin >= 0) == (end >= 0) and (end - begin) * stride <= 0:
        return 0
    return None


@strided_slice.value
def _(node, input, begin, end, strides):
    bounds = (begin, end, strides)
    if input is None or any(v is None or v.dtype == object for v in bounds):
        return None
    index, _ = python_index(*(tuple(v.tolist()) for v in bounds), *(node.attrs[m] for m in _MASKS))
    try:
        return input[index]
    except IndexError:
        return None


@strided_slice.gradient
def _(node, grad):
    input, begin, end, strides = node.inputs
    shape = raw_ops.Shape(input, out_type=node.attrs["Index"])
    masks = {m: node.attrs[m] for m in _MASKS}
    if _end_is_unread(begin.shape.tuple, **masks):
        begin = end = _packed_again(begin)  # so that a loop need not keep both for its gradient
    return [raw_ops.StridedSliceGrad(shape, begin, end, strides, grad, **masks), None, None, None]


def _packed_again(bound):
    """A vector of several scalars, packed again: a loop keeps the scalars for its gradient, as Python numbers."""
    packed = bound.op
    if packed is None or packed.type != "Pack" or not all(v.shape.ndims == 0 for v in packed.inputs):
        return bound
    return raw_ops.Pack(list(packed.inputs))


def _end_is_unread(size, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
    """Whether each axis has a single index or goes to its end, as in x[:, i]; ``size`` is the shape of ``begin``."""
    if not size or size[0] is None or ellipsis_mask or new_axis_mask:
        return False
    return end_mask | shrink_axis_mask == (1 << size[0]) - 1


@strided_slice.kernel
def _(input, begin, end, strides, *masks):
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    try:
        if not backwards:
            return input[index]
        index, flips = _forwards(index, input.shape)
        return input[index].flip(flips)
    except IndexError:
        _check(index, input.shape)
        raise


move_as_signed(strided_slice)


@strided_slice.kernel(T=dtypes.string)
@strided_slice.array_kernel
def _(input, begin, end, strides, *masks):
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    try:
        taken = input[index if Ellipsis in index else (*index, Ellipsis)]
    except IndexError:
        _check(index, input.shape)
        raise
    return taken.copy() if backwards else taken  # torch has no negative steps


strided_slice_grad = op(
    "StridedSliceGrad(shape: host Index[1], begin: host Index[1], end: host Index[1], strides: host Index[1], dy: T; "
    f"{_MASK_TEXT}) -> (output: T)",
    T=ANY, Index=INDEX,
)  # fmt: skip
strided_slice_grad.shape(lambda shape, *rest: None if shape is None else shape)


@strided_slice_grad.refuse
def _(shape, begin, end, strides, dy, *masks):
    expect_sizes("shape", shape)
    if len({len(begin), len(end), len(strides)}) > 1 or len(strides) > len(shape):
        raise ValueError(
            f"Expected begin, end, and strides to be 1D equal size tensors of at most {len(shape)} elements, but got "
            f"{begin}, {end} and {strides}"
        )
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    if backwards:
        index, _ = _forwards(index, shape)
    part = dy.new_empty(shape, device="meta")[index]
    if part.shape != dy.shape:
        raise ValueError(f"shape of dy was {list(dy.shape)} instead of {list(part.shape)}")


@strided_slice_grad.kernel
def _put_back(shape, begin, end, strides, dy, *masks):
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    result = dy.new_zeros(shape)
    write(result, index, backwards, dy)
    return result


@strided_slice_grad.array_kernel
def _(shape, begin, end, strides, dy, *masks):
    index, _ = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    result = np.zeros(shape, dy.dtype)
    try:
        result[index] = dy
    except (IndexError, ValueError):
        return _put_back(shape, begin, end, strides, as_tensor(dy), *masks).numpy()
    return result


def write(buffer, index, backwards, value):
    """Puts ``value`` into the part of ``buffer`` that the index names."""
    if backwards:
        index, flips = _forwards(index, buffer.shape)
        value = value.flip(flips)
    buffer[index] = value


@strided_slice_grad.gradient
def _(node, grad):
    masks = {m: node.attrs[m] for m in _MASKS}
    return [None, None, None, None, raw_ops.StridedSlice(grad, *node.inputs[1:4], **masks)]


strided_slice_assign = op(
    "StridedSliceAssign(ref: ref T, begin: host Index[1], end: host Index[1], strides: host Index[1], value: T; "
    f"{_MASK_TEXT}) -> (output_ref: ref T)",
    T=ANY, Index=INDEX, writes=True, stateful=True,
)  # fmt: skip
strided_slice_assign.not_differentiable()
strided_slice_assign.shape(lambda ref, *rest: ref)


@strided_slice_assign.kernel
def _(ref, begin, end, strides, value, *masks):
    index, backwards = python_index(tuple(begin), tuple(end), tuple(strides), *masks)
    with ref.lock:
        buffer = ref.value
        try:
            if tuple(buffer[index if not backwards else _forwards(index, buffer.shape)[0]].shape) != tuple(value.shape):
                target = list(buffer[index].shape) if not backwards else "the slice"
                if value.ndim:
                    raise ValueError(f"cannot assign a value of shape {list(value.shape)} to a slice of shape {target}")
            write(buffer, index, backwards, value)
        except IndexError:
            _check(index, buffer.shape)
            raise
        finally:
            mark_all((ref,))
    return ref


resource_form(strided_slice_assign, "ResourceStridedSliceAssign")
