"""Array kernels of the optimizers' updates from their rules: the whole of small variables, or some rows."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, float64
from headrace.core.registry import REGISTRY
from headrace.ops._update_together import different_shapes
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._indices import UNSIGNED
from headrace.resources.variable import locked

TYPES = (float32, float64)
MANY = 1 << 14  # elements


def apply(name, rule, most=MANY, saves=15.0):
    """Gives `Apply*` and, if there is one, `SparseApply*` an array kernel: ``rule(*buffers, *other_inputs, *attributes)``."""
    for kind, make in ((f"Apply{name}", _dense), (f"SparseApply{name}", _sparse)):
        if kind in REGISTRY:
            inputs = REGISTRY.get(kind).signature.inputs
            refs = sum(a.ref for a in inputs)
            position = {a.name: i for i, a in enumerate(inputs)}
            grad = position.get("grad", position.get("delta"))
            update = make(rule, refs, len(inputs), grad, position.get("indices"))
            on_arrays(kind, most=most, saves=saves, T=TYPES)(_kernel(update, refs, len(inputs)))


def _kernel(update, refs, lock):
    def kernel(*args):
        if args[lock]:
            with locked(args[:refs], True):
                update(args)
        else:
            update(args)
        return args[0]

    return kernel


def _dense(rule, refs, lock, grad_at, indices_at):
    def update(args):
        buffers = [ref.array for ref in args[:refs]]
        first, grad = buffers[0], args[grad_at]
        if grad.shape != first.shape:
            raise different_shapes(first, grad)
        if not grad.shape:  # results of ufuncs would be no arrays
            buffers = [buffer.reshape(1) for buffer in buffers]
            args = (*args[:grad_at], grad.reshape(1), *args[grad_at + 1 :])
        rule(*buffers, *args[refs:lock], *args[lock + 1 :])

    return update


def _sparse(rule, refs, lock, grad_at, indices_at):
    def update(args):
        indices = args[indices_at]
        buffers = [ref.array for ref in args[:refs]]
        if len(indices) and np.maximum.reduce(indices.view(UNSIGNED[indices.itemsize])) >= len(buffers[0]):
            raise IndexError("index out of range in self")
        rows = [buffer.take(indices, 0) for buffer in buffers]
        if args[grad_at].shape != rows[0].shape:
            raise different_shapes(rows[0], args[grad_at])
        rule(*rows, *args[refs:indices_at], *args[indices_at + 1 : lock], *args[lock + 1 :])
        for buffer, row in zip(buffers, rows, strict=True):
            buffer[indices] = row

    return update
