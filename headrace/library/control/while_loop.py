"""``while_loop``: repeats a body on loop variables as long as a condition holds.

A reference as a loop variable stays the variable that it is: bodies capture it, and what travels is that the iteration is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape, as_shape, is_within
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, UnknownResult
from headrace.graph.body_read import source_of
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.functional import build_while
from headrace.graph.handle import value_of
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.library import nest
from headrace.library.control.body import flat_tensors, pack_tensors
from headrace.library.control.tensor_array import TensorArray
from headrace.library.scope import name_scope


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
    parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
    maximum_iterations: Any = None, return_same_structure: bool = False,
) -> Any:  # fmt: skip
    """``while cond(*loop_vars): loop_vars = body(*loop_vars)``; returns the loop variables at the end.

    The shape of a loop variable must not change unless ``shape_invariants`` says so.  A list of one variable comes back as the
    variable, unless ``return_same_structure``.

    Args:
      cond: A function of the loop variables that gives a scalar bool tensor.
      body: A function of the loop variables that gives their next values, in the same structure.
      loop_vars: A list, tuple or nested structure of tensors and TensorArrays: the first values.
      shape_invariants: For each loop variable a TensorShape that all its values have; None for the shapes of the first
        values.
      parallel_iterations: How many iterations may run at the same time, as far as they do not wait for each other.
      back_prop: Whether gradients go through the loop.
      swap_memory: Whether the values that gradients need wait in the host's memory instead of the GPU's.
      name: A name for the op.
      maximum_iterations: The loop ends after so many iterations; None for no limit.
      return_same_structure: Whether a list of one loop variable comes back as a list.

    Returns:
      The loop variables at the end.

    >>> i, total = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + i), (0, 0))
    """
    if not callable(cond):
        raise TypeError(f"cond must be callable, a function of the loop variables; got {cond!r} {at()}")
    if not callable(body):
        raise TypeError(f"body must be callable, a function of the loop variables; got {body!r} {at()}")
    if isinstance(parallel_iterations, bool) or not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError(f"parallel_iterations must be a positive integer, got {parallel_iterations!r}.")
    if not loop_vars:
        raise ValueError(f"No loop variables provided {at()}")
    if context.executing_eagerly():
        return _run_now(cond, body, loop_vars, maximum_iterations, return_same_structure)
    with name_scope(name, "while", nest.flatten(loop_vars)):
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants = _counted(
                cond,
                body,
                loop_vars,
                shape_invariants,
                convert_to_tensor(maximum_iterations, name="maximum_iterations"),
            )
        loop = _Loop(loop_vars, shape_invariants)
        try:
            result, finals = loop.build(cond, body, parallel_iterations, back_prop, swap_memory)
        except (
            UnknownResult
        ):  # the body calls a function whose result is not known yet: take it for a loop of no iterations
            result, finals = loop_vars, loop.finals(loop.initial)
        packed = pack_tensors(result, finals)
        if maximum_iterations is not None:
            packed, finals = packed[1], finals[1:]
        if return_same_structure:
            return packed
        return packed[0] if len(finals) == 1 and isinstance(packed, (list, tuple)) else packed


def _run_now(cond: Any, body: Any, loop_vars: Any, limit: Any, same_structure: bool) -> Any:
    """The loop in Python, when ops run eagerly."""
    single = len(loop_vars) == 1 and not same_structure
    unpacked = False
    count = 0
    while (limit is None or count < limit) and cond(*_arguments(loop_vars)):
        before, loop_vars = loop_vars, body(*_arguments(loop_vars))
        if single and not isinstance(loop_vars, (list, tuple)):
            loop_vars, unpacked = (loop_vars,), True
        _check_structure(before, loop_vars)
        count += 1
    results = nest.map_structure(lambda v: v if isinstance(v, TensorArray) else convert_to_tensor(v), loop_vars)
    return results[0] if unpacked else results


def _counted(cond: Any, body: Any, loop_vars: Any, invariants: Any, limit: Tensor) -> tuple[Any, Any, Any, Any]:
    """The loop with a counter as its first variable."""
    if limit.shape.ndims not in (None, 0):
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
    counter = constant(0, limit.dtype.base_dtype, name="iteration_counter")
    if invariants is not None:
        invariants = (TensorShape([]), invariants)

    def go_on(i: Tensor, inner: Any) -> Any:
        return raw_ops.LogicalAnd(i < limit, cond(*_arguments(inner)))

    def step(i: Tensor, inner: Any) -> Any:
        result = _as_variables(body(*_arguments(inner)), inner)
        single = len(inner) == 1 and not nest.is_namedtuple(
            inner
        )  # a single variable may come with or without its list
        return i + 1, type(inner)(result) if single else result

    return go_on, step, (counter, loop_vars), invariants


def _arguments(loop_vars: Any) -> list[Any]:
    return list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]


def _as_variables(result: Any, like: Any) -> Any:
    """A body's result nested like the loop variables: a single one may come without its list."""
    if not isinstance(like, (list, tuple)) or nest.is_namedtuple(like):
        return result
    plain = isinstance(result, (list, tuple)) and not nest.is_namedtuple(result)
    if not plain or (len(like) == 1 and len(result) != 1):
        return [result]
    return result


def _check_structure(expected: Any, got: Any) -> None:
    if all(isinstance(v, (list, tuple)) and not nest.is_namedtuple(v) for v in (expected, got)):
        expected, got = list(expected), list(got)
    try:
        nest.assert_same_structure(expected, got, expand_composites=True)
    except (TypeError, ValueError) as e:
        raise type(e)(f"body of a while_loop must return the structure of its loop variables: {e} {at()}") from None


class _Loop:
    """A loop while it is built."""

    def __init__(self, loop_vars: Any, invariants: Any) -> None:
        self.graph = context.get_default_graph()
        self.loop_vars = loop_vars
        self.leaves = nest.flatten(loop_vars, expand_composites=True)
        self.references = {i: leaf for i, leaf in enumerate(self.leaves) if _is_reference(leaf)}
        self.initial = [_initial(leaf) for leaf in self.leaves]
        self.shapes = _default_shapes(loop_vars, self.initial)
        if invariants is not None:
            self.shapes = self._invariant_shapes(invariants)

    def _invariant_shapes(self, invariants: Any) -> list[TensorShape]:
        shapes: list[TensorShape] = []
        nest.assert_same_structure(
            nest.map_structure(lambda _: 0, self.loop_vars),
            nest.map_structure(lambda _: 0, _shapes_as_leaves(self.loop_vars, invariants)),
        )
        for leaf, shape in zip(
            nest.flatten(self.loop_vars), nest.flatten(_shapes_as_leaves(self.loop_vars, invariants)), strict=True
        ):
            shapes.extend(_expand(leaf, shape.shape))
        for tensor, shape in zip(self.initial, shapes, strict=True):
            if not is_within(tensor._shape, shape):
                raise ValueError(
                    f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of the "
                    f"loop variable. It enters the loop with shape {tensor._shape}, but the specified shape invariant is "
                    f"{shape}."
                )
        return shapes

    def build(
        self, cond: Any, body: Any, parallel_iterations: int, back_prop: bool, swap_memory: bool
    ) -> tuple[Any, list[Tensor]]:
        """The structure that the body returned, and the final values."""
        decide = FuncGraph("the condition of a loop", self.graph)
        with decide.as_default():
            decision = cond(*_arguments(self._arguments(decide)))
            chosen = convert_to_tensor(decision, name="pred")
            if chosen.dtype.base_dtype != dtypes.bool or chosen.shape.ndims not in (None, 0):
                error_class = TypeError if chosen.dtype.base_dtype != dtypes.bool else ValueError
                raise error_class(
                    f"cond of a while_loop must give a scalar bool, got {chosen.dtype.base_dtype.name} of shape "
                    f"{chosen.shape} ({chosen.name}) {at()}"
                )
            decide.outputs = [decide._own(chosen, "condition")]
        step = FuncGraph("the body of a loop", self.graph)
        with step.as_default():
            arguments = self._arguments(step)
            result = _as_variables(body(*_arguments(arguments)), self.loop_vars)
            _check_structure(self.loop_vars, result)
            step.outputs = flat_tensors(self._checked(result), step, constant(True))
        self._check_invariant(step.outputs)
        node = build_while(
            self.initial, decide, step, self.shapes, "While", parallel_iterations=parallel_iterations,
            back_prop=bool(back_prop), swap_memory=bool(swap_memory),
        )  # fmt: skip
        return result, self.finals([raw_ops.Identity(t, name="Exit") for t in node._outputs[1:]])

    def _arguments(self, graph: FuncGraph) -> Any:
        tensors = [graph.add_arg(t.dtype.base_dtype, s) for t, s in zip(self.initial, self.shapes, strict=True)]
        return pack_tensors(self.loop_vars, self.finals(tensors))

    def finals(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The loop variables, given what travelled for them: a reference after its last iteration."""
        values = list(tensors)
        for i, handle in self.references.items():
            with context.get_default_graph().control_dependencies([values[i]]):
                values[i] = raw_ops.RefIdentity(handle)
        return values

    def _checked(self, result: Any) -> list[Any]:
        """The leaves of a body's result; for a reference, the operation that must be done."""
        leaves = nest.flatten(result, expand_composites=True)
        for i, handle in self.references.items():
            dtype, variable = handle.dtype.base_dtype.name, source_of(handle)
            if not _is_reference(leaves[i]) or source_of(leaves[i]) is not variable:
                raise ValueError(
                    f"Input tensor '{handle.name}' enters the loop as a reference to variable {variable.op.name!r}, but is "
                    f"{leaves[i]!r} after one iteration, which is incompatible with expected {dtype}_ref of that variable; "
                    f"return the reference or an assignment to it {at()}"
                )
            leaves[i] = leaves[i].op
        return leaves

    def _check_invariant(self, results: Sequence[Tensor]) -> None:
        for initial, shape, after in zip(self.initial, self.shapes, results, strict=True):
            dtype = initial.dtype.base_dtype
            if after.dtype.base_dtype != dtype:
                raise TypeError(
                    f"Input tensor '{initial.name}' enters the loop with type {dtype.name}, but has type "
                    f"{after.dtype.base_dtype.name} after one iteration ('{after.name}', made at {after.op.source})."
                )
            if not is_within(after._shape, shape):
                raise ValueError(
                    f"Input tensor '{initial.name}' enters the loop with shape {shape}, but has shape {after._shape} after "
                    f"one iteration ('{after.name}', made at {after.op.source}). To allow the shape to vary across "
                    "iterations, use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
                )


def _is_reference(leaf: Any) -> bool:
    """Whether this is a handle of a reference variable, not a variable, which stands for its value."""
    return isinstance(leaf, Tensor) and leaf.dtype._is_ref_dtype and not leaf.dtype._is_resource


def _initial(leaf: Any) -> Tensor:
    if _is_reference(leaf):
        return constant(True)
    tensor: Tensor = leaf.flow if isinstance(leaf, TensorArray) else convert_to_tensor(leaf)
    return value_of(tensor)


class _Shape:
    """A shape as a leaf of a structure, whatever it looks like itself."""

    def __init__(self, shape: TensorShape) -> None:
        self.shape = shape


def _shapes_as_leaves(loop_vars: Any, invariants: Any) -> Any:
    """Invariants nested like the loop variables, each shape a leaf; None is any shape."""
    if nest.is_sequence(loop_vars):
        if isinstance(loop_vars, dict):
            return {k: _shapes_as_leaves(v, invariants[k]) for k, v in loop_vars.items()}
        if not isinstance(invariants, (list, tuple)) or len(invariants) != len(loop_vars):
            raise ValueError(
                f"shape_invariants must be nested like the loop variables: {invariants!r} does not match {loop_vars!r}"
            )
        parts = [_shapes_as_leaves(v, s) for v, s in zip(loop_vars, invariants, strict=True)]
        return type(loop_vars)(*parts) if nest.is_namedtuple(loop_vars) else type(loop_vars)(parts)
    return _Shape(invariants if isinstance(invariants, TensorShape) else as_shape(invariants))


def _expand(leaf: Any, shape: TensorShape) -> list[TensorShape]:
    """The invariant of each tensor a loop variable consists of."""
    if isinstance(leaf, SparseTensor):  # the invariant is the shape of its dense_shape
        if shape.ndims not in (None, 1):
            raise ValueError(
                f"Expected a shape with 1 dimension. Obtained: {shape} which has {shape.ndims} dimensions: the shape invariant "
                f"of a SparseTensor is the shape of its dense_shape {at()}"
            )
        return _sparse_shapes(shape.as_list()[0] if shape.ndims else None)
    if isinstance(leaf, IndexedSlices):
        rows = TensorShape([None]).concatenate(shape[1:]) if shape.ndims else TensorShape(None)
        return [rows, TensorShape([None]), *([TensorShape([shape.ndims])] if leaf.dense_shape is not None else [])]
    if isinstance(leaf, TensorArray):
        return [leaf.flow._shape]
    return [TensorShape([])] if _is_reference(leaf) else [shape]


def _sparse_shapes(rank: int | None) -> list[TensorShape]:
    """Of the parts of a SparseTensor of this rank: any number of values."""
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


def _default_shapes(loop_vars: Any, initial: Sequence[Tensor]) -> list[TensorShape]:
    """What is true of the loop variables in every iteration, if nothing else is said."""
    shapes: list[TensorShape] = []
    for leaf in nest.flatten(loop_vars):
        parts = [
            t._shape for t in initial[len(shapes) : len(shapes) + len(nest.flatten([leaf], expand_composites=True))]
        ]
        shapes += _sparse_shapes(leaf.dense_shape.shape.as_list()[0]) if isinstance(leaf, SparseTensor) else parts
    return shapes
