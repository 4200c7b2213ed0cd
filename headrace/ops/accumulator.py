"""Conditional accumulators: handles, adding gradients, taking their mean or sum.  Gradients are held on the host."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING, NUMERIC, QUANTIZED
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.ops.shared.resource import check_dtype, check_resource, check_scalar, shared_resource
from headrace.resources.calling.value import TORCH_DTYPES
from headrace.resources.state.accumulator import ConditionalAccumulator, SparseConditionalAccumulator

SUMMED = (*NUMERIC, *QUANTIZED)
REDUCTIONS = ("MEAN", "SUM")

# ---- handles


def _accumulator(name, resource_class):
    definition = op(
        f'{name}(; dtype: type, shape: shape, container: string = "", shared_name: string = "", '
        'reduction_type: string = "MEAN") -> (handle: resource)',
        dtype=SUMMED, handle=True, stateful=True, host=True,
    )  # fmt: skip

    @definition.shape
    def _(dtype, shape, container, shared_name, reduction_type):
        if reduction_type not in REDUCTIONS:
            accepted = ", ".join(f'"{known}"' for known in REDUCTIONS)
            raise ValueError(
                f"Attr 'reduction_type' of '{name}' Op passed string '{reduction_type}' not in: {accepted}."
            )
        return ()

    @definition.state
    def _(context):
        dtype, shape, reduction = (context.attrs[key] for key in ("dtype", "shape", "reduction_type"))
        if dtype not in FLOATING:
            raise InvalidArgumentError(
                None, None,
                f"{resource_class.__name__} sums gradients of {', '.join(d.name for d in FLOATING)}, got dtype {dtype.name}",
            )  # fmt: skip
        return shared_resource(
            context, resource_class,
            lambda own_name: resource_class(own_name, dtype, shape, reduction, str(context.source)),
            {"dtype": dtype, "shape": shape, "reduction_type": reduction},
        )  # fmt: skip


# ---- dense gradients


def _apply(name):
    definition = op(
        f"{name}(handle: resource, local_step: host int64, gradient: dtype) -> ()",
        dtype=SUMMED, stateful=True, host=True,
    )  # fmt: skip

    @definition.shape
    def _(handle, local_step, gradient):
        check_scalar("local_step", local_step)
        return []

    @definition.kernel
    def _(handle, local_step, gradient):
        check_resource(handle, ConditionalAccumulator)
        check_dtype("gradient", gradient, TORCH_DTYPES[handle.dtype])
        handle.apply_grad(gradient, local_step)


def _take(name):
    definition = op(
        f"{name}(handle: resource, num_required: host int32; dtype: type) -> (average: dtype)",
        dtype=SUMMED, asynchronous=True, stateful=True, host=True,
    )  # fmt: skip
    definition.not_differentiable()

    @definition.shape
    def _(handle, num_required, dtype):
        check_scalar("num_required", num_required)
        return None

    @definition.begin
    def _(handle, num_required, dtype, *, done):
        check_resource(handle, ConditionalAccumulator)
        _check_taken(handle, dtype)
        return handle.take_grad(num_required, done)


def _check_taken(accumulator, dtype):
    if dtype != TORCH_DTYPES[accumulator.dtype]:
        raise InvalidArgumentError(
            None, None,
            f"{accumulator.class_name} '{accumulator.name}' has gradients of {accumulator.dtype.name}, others were asked for",
        )  # fmt: skip


# ---- sparse gradients

apply_sparse = op(
    "SparseAccumulatorApplyGradient(handle: resource, local_step: host int64, gradient_indices: int64, "
    "gradient_values: dtype, gradient_shape: host int64[1]; has_known_shape: bool) -> ()",
    dtype=SUMMED, stateful=True, host=True,
)  # fmt: skip


@apply_sparse.shape
def _(handle, local_step, gradient_indices, gradient_values, gradient_shape, has_known_shape):
    check_scalar("local_step", local_step)
    return []


@apply_sparse.kernel
def _(handle, local_step, gradient_indices, gradient_values, gradient_shape, has_known_shape):
    check_resource(handle, SparseConditionalAccumulator)
    check_dtype("gradient_values", gradient_values, TORCH_DTYPES[handle.dtype])
    handle.apply_grad(gradient_indices, gradient_values, gradient_shape if has_known_shape else None, local_step)


take_sparse = op(
    "SparseAccumulatorTakeGradient(handle: resource, num_required: host int32; dtype: type) "
    "-> (indices: int64, values: dtype, shape: int64)",
    dtype=SUMMED, asynchronous=True, stateful=True, host=True,
)  # fmt: skip
take_sparse.not_differentiable()


@take_sparse.shape
def _(handle, num_required, dtype):
    check_scalar("num_required", num_required)
    return [None, None, None]


@take_sparse.begin
def _(handle, num_required, dtype, *, done):
    check_resource(handle, SparseConditionalAccumulator)
    _check_taken(handle, dtype)
    return handle.take_grad(num_required, done)


# ---- the accumulator itself


def _count(name):
    definition = op(f"{name}(handle: resource) -> (num_accumulated: int32[0])", stateful=True, reads=True, host=True)

    @definition.kernel
    def _(handle):
        _check_either(handle)
        return torch.tensor(handle.num_accumulated(), dtype=torch.int32)


def _set_step(name):
    definition = op(f"{name}(handle: resource, new_global_step: host int64) -> ()", stateful=True, host=True)

    @definition.shape
    def _(handle, new_global_step):
        check_scalar("new_global_step", new_global_step)
        return []

    @definition.kernel
    def _(handle, new_global_step):
        _check_either(handle)
        handle.set_global_step(new_global_step)


def _check_either(handle):
    if not isinstance(handle, SparseConditionalAccumulator):
        check_resource(handle, ConditionalAccumulator)


for _prefix in ("", "Resource"):  # of the same kind of handle here
    _accumulator(f"{_prefix}ConditionalAccumulator", ConditionalAccumulator)
    _apply(f"{_prefix}AccumulatorApplyGradient")
    _take(f"{_prefix}AccumulatorTakeGradient")
    _count(f"{_prefix}AccumulatorNumAccumulated")
    _set_step(f"{_prefix}AccumulatorSetGlobalStep")
_accumulator("SparseConditionalAccumulator", SparseConditionalAccumulator)
