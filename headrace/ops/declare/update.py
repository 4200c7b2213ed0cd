"""Constructors for the optimizers' update ops, dense and for some rows, on references and on handles of resource variables.

A rule is a function of buffers it changes in place.  The dense op applies it to whole variables, the sparse op to the gathered
rows, which are then put back.  The rows of a sparse update must be distinct (the optimizers see to that).
"""

from __future__ import annotations

from headrace.core.dtypes import FLOATING, INDEX, float32, float64
from headrace.core.registry import op
from headrace.ops.declare.resource import resource_form
from headrace.ops.internal.update_together import different_shapes
from headrace.ops.shared.refuse import expect_inside
from headrace.resources.state.variable import locked, mark_all, mark_rows

_GRADS = ("grad", "delta")

SMALL = (float32, float64)  # the types of variables with array kernels


def _shape_rule(signature):
    inputs = signature.inputs
    refs = [i for i, a in enumerate(inputs) if a.ref]
    grad = next(i for i, a in enumerate(inputs) if a.name in _GRADS)
    rows = next((i for i, a in enumerate(inputs) if a.name == "indices"), None)
    scalars = [i for i, a in enumerate(inputs) if not a.ref and a.name not in (*_GRADS, "indices")]

    def rule(*shapes_then_attrs):
        shape = shapes_then_attrs[0]
        for i in refs[1:]:
            shape = shape.merge_with(shapes_then_attrs[i])
        for i in scalars:
            shapes_then_attrs[i].assert_has_rank(0)
        grad_shape = shapes_then_attrs[grad]
        if rows is None:
            return shape.merge_with(grad_shape)
        indices = shapes_then_attrs[rows].with_rank(1)
        if grad_shape.ndims is not None:
            grad_shape = grad_shape.with_rank_at_least(1)
            grad_shape[:1].merge_with(indices)
            if shape.ndims is not None:
                shape[1:].merge_with(grad_shape[1:])
        return shape

    return rule


def _declare(text, types, **index):
    definition = op(text, T=types, writes=True, stateful=True, lenient=True, **index)
    definition.not_differentiable()
    definition.shape(_shape_rule(definition.signature))
    inputs = definition.signature.inputs
    position = {a.name: i for i, a in enumerate(inputs)}
    return definition, sum(a.ref for a in inputs), position.get("grad", position.get("delta")), position.get("indices")


def _register(definition, count, apply, rows_at=None):
    """The kernel: ``apply(buffers, all_arguments)``, under the variables' locks if the node asks for them.

    ``rows_at``: which argument has the numbers of the rows that it changes; None: it changes all.
    """
    lock = len(definition.signature.inputs)  # use_locking is the first attribute

    @definition.kernel
    def kernel(*args):
        refs = args[:count]
        try:
            if args[lock]:
                with locked(refs, True):
                    apply([ref.value for ref in refs], args)
            else:
                apply([ref.value for ref in refs], args)
        finally:
            mark_rows(refs, None if rows_at is None else args[rows_at])
        return refs[0]

    return _with_resource_form(definition)


def _with_resource_form(definition):
    resource_form(definition, f"Resource{definition.name.lstrip('_')}")
    return definition


def dense(text, rule, types=FLOATING, array=None):
    """Declares `Apply*`: ``rule(*buffers, *other_inputs, *attributes_after_use_locking)`` changes the buffers.

    ``array`` is the rule for numpy arrays of float32 and float64.
    """
    definition, count, grad_at, _ = _declare(text, types)
    lock = len(definition.signature.inputs)
    if array is not None:
        definition.array_kernel(_on_arrays(array, count, lock, grad_at), T=SMALL)

    def apply(buffers, args):
        if args[grad_at].shape != buffers[0].shape:
            raise different_shapes(buffers[0], args[grad_at])
        rule(*buffers, *args[count:lock], *args[lock + 1 :])

    if count > 1:
        return _register(definition, count, apply)

    @definition.kernel
    def kernel(ref, *args):
        """Updates one variable.  It makes fewer calls than the general kernel, because small updates are many."""
        try:
            if args[lock - 1]:
                with locked((ref,), True):
                    apply((ref.value,), (ref, *args))
                return ref
            buffer = ref.value
            if args[grad_at - 1].shape != buffer.shape:
                raise different_shapes(buffer, args[grad_at - 1])
            rule(buffer, *args[: lock - 1], *args[lock:])
        finally:
            if ref.touched is not None:
                mark_all((ref,))
        return ref

    return _with_resource_form(definition)


def _on_arrays(rule, count, lock, grad_at):
    def kernel(*args):
        refs = args[:count]
        if args[lock]:
            with locked(refs, True):
                return kernel(*args[:lock], False, *args[lock + 1 :])
        try:
            buffers = [ref.array for ref in refs]
            if args[grad_at].shape != buffers[0].shape:
                raise different_shapes(buffers[0], args[grad_at])
            rule(*buffers, *args[count:lock], *args[lock + 1 :])
        finally:
            mark_all(refs)
        return refs[0]

    return kernel


def sparse(text, rule, types=FLOATING):
    """Declares `SparseApply*`, which applies ``rule`` to the rows that ``indices`` name."""
    definition, count, grad_at, rows_at = _declare(text, types, Tindices=INDEX, rows="indices")
    lock = len(definition.signature.inputs)

    def apply(buffers, args):
        indices = args[rows_at].long()
        rows = [buffer.index_select(0, indices) for buffer in buffers]
        if args[grad_at].shape != rows[0].shape:
            raise different_shapes(rows[0], args[grad_at])
        rule(*rows, *args[count:rows_at], *args[rows_at + 1 : lock], *args[lock + 1 :])
        for buffer, row in zip(buffers, rows, strict=True):
            buffer.index_copy_(0, indices, row)

    @definition.refuse
    def _(*args):
        form = "Index {value} at offset {place} in indices is out of range [0, {size})"
        expect_inside("indices", args[rows_at], args[0].value.shape[0], form)

    return _register(definition, count, apply, rows_at)
