"""Optimizer: gradients of a loss applied to variables, and the hooks that a rule for doing so overrides.

A subclass gives ``_create_slots``, ``_prepare``, ``_apply_dense`` and ``_apply_sparse`` (all optional but the applies).
Which op updates a variable is the subclass's business, what the gradients are is ``autodiff``'s.  Names are TF1's: the
whole update is one operation called like the optimizer, each variable's part under ``<optimizer>/update_<variable>``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.eager.tape import GradientTape
from headrace.eager.tensor import EagerTensor
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices, convert_to_tensor_or_indexed_slices
from headrace.library.control import replica
from headrace.library.control.dependency import group, tuple_
from headrace.library.control.replica import ReduceOp
from headrace.library.scope import colocate_with, control_dependencies, init_scope, name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.resource_variable import is_resource_variable
from headrace.library.state.update import update
from headrace.library.state.variable import Variable
from headrace.library.train.optimizer import slot_creator
from headrace.library.train.saver.objects import objects_changed

GradsAndVars = list[tuple[Any, Any]]


def deduplicate(values: Any, indices: Any) -> tuple[Tensor, Tensor]:
    """Slices with each index once: those of equal index are added up."""
    unique, positions = raw_ops.Unique(indices)
    count = raw_ops.Shape(unique)[0]
    return raw_ops.UnsortedSegmentSum(values, positions, count), unique


def cast(value: Any, dtype: DType) -> Tensor:
    """The value as a tensor of the dtype; the very tensor if it has it already."""
    tensor = value if isinstance(value, Tensor) else convert_to_tensor(value)
    own = tensor.dtype.base_dtype
    if own is dtypes.string:
        raise TypeError(f"a hyper-parameter must be a number or a tensor of numbers, got {value!r} {at()}")
    return tensor if own is dtype or own == dtype else raw_ops.Cast(tensor, dtype, name="Cast")


class Optimizer:
    """Minimises losses by changing variables.  Building is not thread-safe; the ops are as ``use_locking`` says.

    It is the base class of all optimizers: programs make one of those and call its methods.

    Args:
      use_locking: Whether updates of one variable exclude each other.
      name: The prefix of the names of the ops and slots; not empty.

    >>> w = tf.Variable(4.0)
    >>> optimizer = tf.train.GradientDescentOptimizer(0.5)
    >>> [(gradient, variable)] = optimizer.compute_gradients(tf.square(w))
    >>> train = optimizer.apply_gradients([(tf.clip_by_norm(gradient, 1.0), variable)])
    """

    GATE_NONE = 0  # gradients may be applied while others are still computed: most parallel, results may vary
    GATE_OP = 1  # all gradients of an op are computed before any is used
    GATE_GRAPH = 2  # all gradients are computed before any is used

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """The name that was given to the optimizer."""
        return self._name

    # ---- what users call

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """An operation that takes one step: ``compute_gradients`` and then ``apply_gradients``.

        ``var_list`` defaults to all trainable variables; ``global_step``, if given, is increased by one afterwards.
        """
        grads_and_vars = self.compute_gradients(
            loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss,
        )  # fmt: skip
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}. {at()}"
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = GATE_OP, aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False, grad_loss: Any = None,
    ) -> GradsAndVars:  # fmt: skip
        """A list of (gradient, variable); the gradient is a Tensor, IndexedSlices, or None where the loss has none."""
        if context.executing_eagerly():
            return self._compute_eagerly(loss, var_list, grad_loss)
        if callable(loss):
            loss = loss()
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        if not hasattr(loss, "dtype"):
            raise TypeError(f"loss must be a Tensor that depends on the variables, got {loss!r} {at()}")
        self._assert_valid_dtypes([loss])
        loss = _shared_loss(loss)
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = context.get_default_graph()
        if var_list is None:
            variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            variables += graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = _flat(var_list)
        if not variables:
            raise ValueError(
                "No variables to optimize. The graph has no trainable variable. Make one with tf.Variable or "
                f"tf.get_variable before minimize(), or pass var_list. {at()}"
            )
        processors = [_processor(v) for v in variables]
        grads = gradients(
            loss, [p.target() for p in processors], grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_OP, aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        if gate_gradients == Optimizer.GATE_GRAPH and any(g is not None for g in grads):
            grads = tuple_(grads)
        self._assert_valid_dtypes([v for g, v in zip(grads, variables, strict=True) if g is not None])
        return list(zip(grads, variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """An operation that applies the gradients and then, if given, increases ``global_step`` by one."""
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError(f"No variables provided. The list of (gradient, variable) pairs is empty. {at()}")
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise TypeError(f"apply_gradients takes pairs of (gradient, variable), got {list(pairs)!r} {at()}")
        converted = [(_as_gradient(g), v, _processor(v)) for g, v in pairs]
        variables = [v for g, v, _ in converted if g is not None]
        if not variables:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v, _ in converted]}. {at()}")
        here = replica.replica_context("apply_gradients, which minimize calls,")
        if here is not None:
            own = [(g, v) for g, v, _ in converted if g is not None]
            return here.merge_call(self._applied_together, args=(own, global_step, name))
        if context.executing_eagerly():
            return self._apply_eagerly(converted, variables, global_step, name)
        with init_scope():
            self._create_slots(variables)
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for grad, variable, processor in converted:
                if grad is not None:
                    with name_scope("update_" + variable.op.name), colocate_with(variable):
                        updates.append(processor.update_op(self, grad))
            if global_step is None:
                result = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]), colocate_with(global_step):
                    one = convert_to_tensor(1, dtype=global_step.dtype.base_dtype, name="value")
                    result = update("AssignAdd", global_step, one, name=scope)
        return _collected(result)

    def _applied_together(self, strategy: Any, pairs: GradsAndVars, global_step: Any, name: str | None) -> Any:
        """Applies the sums of the gradients of all replicas of a distribution strategy."""
        extended = strategy.extended
        sums = extended.batch_reduce_to(ReduceOp.SUM, pairs)
        variables = [v for _, v in pairs]
        with init_scope():
            self._create_slots(variables)
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [
                extended.update(v, self._update_copy, args=(g,), group=False)
                for v, g in zip(variables, sums, strict=True)
            ]
            places = extended.non_slot_devices(variables)
            finished = extended.update_non_slot(
                places, self._finish, args=(_by_copy(updates, len(places)), "update"), group=False
            )
            if context.executing_eagerly():
                return None if global_step is None else extended.update(global_step, _increase)
            if global_step is None:
                result = group(*finished, name=scope)
            else:
                with control_dependencies(finished):
                    increased = extended.update(global_step, _increase, group=False)
                result = group(*increased, name=scope)
        return _collected(result)

    def _update_copy(self, variable: Any, grad: Any) -> Any:
        with name_scope("update_" + variable.op.name):
            return _processor(variable).update_op(self, grad)

    def _apply_eagerly(
        self, converted: Sequence[tuple[Any, Any, Any]], variables: Sequence[Any], global_step: Any, name: str | None
    ) -> Any:
        """Applies the gradients eagerly, where names and places of ops mean nothing."""
        self._create_slots(variables)
        with name_scope(name, self._name) as scope:
            self._prepare()
            result = self._finish([p.update_op(self, g) for g, _, p in converted if g is not None], scope)
            if global_step is None:
                return result
            one = convert_to_tensor(1, dtype=global_step.dtype.base_dtype)
            return update("AssignAdd", global_step, one)

    def _compute_eagerly(self, loss: Any, var_list: Any, grad_loss: Any) -> GradsAndVars:
        """The gradients of a function of no arguments, by default for the trainable variables it reads."""
        if not callable(loss):
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(_flat(var_list))
            value = _shared_loss(loss())
            variables = list(tape.watched_variables()) if var_list is None else _flat(var_list)
        self._assert_valid_dtypes([value])
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))

    def get_slot(self, var: Any, name: str) -> Any:
        """The variable called ``name`` ("momentum", "m" ...) that the optimizer keeps beside ``var``, or None."""
        slot = self._slots.get(name, {}).get(var_key(var))
        return slot if slot is None else replica.beside(slot, var)

    def get_slot_names(self) -> list[str]:
        """The names of all slots made so far, each once, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """All variables that hold the optimizer's own state in the default graph, sorted by name."""
        graph = context.get_default_graph()
        variables = [v for v in self._non_slot_dict.values() if v.op.graph is graph]
        variables += [v for slots in self._slots.values() for v in slots.values() if v.op.graph is graph]
        return sorted(variables, key=lambda v: v.name)

    def _checkpoint_slots(self, var: Any) -> dict[str, Any]:
        key = var_key(var)
        return {name: slots[key] for name, slots in self._slots.items() if key in slots}

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        here = context.get_default_graph()
        here = getattr(here, "root", here)
        yield from ((name, v) for (name, graph), v in self._non_slot_dict.items() if graph is here)
        yield from ((name, v) for name, v in vars(self).items() if isinstance(v, Variable))

    # ---- what subclasses override

    def _valid_dtypes(self) -> set[DType]:
        """The dtypes of losses, gradients and variables that the optimizer takes."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots for these variables."""

    def _prepare(self) -> None:
        """Makes the tensors that all updates share, such as the learning rate."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Ops that apply a dense gradient to ``var``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to apply dense gradients")

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """Ops that apply IndexedSlices, in which each index occurs once, to ``var``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to apply sparse gradients")

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """Ops that apply any IndexedSlices to ``var``: adds up slices of equal index and calls ``_apply_sparse``."""
        values, indices = deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Ops that apply a dense gradient to a variable made with ``use_resource=True``; ``handle`` is the variable."""
        return self._apply_dense(grad, handle)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._apply_sparse(IndexedSlices(grad, indices), handle)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        if not _overrides(self, "_resource_apply_sparse"):
            return self._apply_sparse_duplicate_indices(IndexedSlices(grad, indices), handle)
        values, unique = deduplicate(grad, indices)
        return self._resource_apply_sparse(values, handle, unique)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """The operation that stands for the whole update."""
        return group(*update_ops, name=name_scope)

    # ---- what subclasses call

    def _call_if_callable(self, param: Any) -> Any:
        """Hyper-parameters may be functions; their value is taken when the update is built."""
        return param() if callable(param) else param

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {t.name}, expected: {sorted(valid, key=lambda d: d.name)}. {at()}"
                )

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot that starts at the tensor ``val``."""
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Callable[..., Any], shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot that the initializer fills."""
        return self._slot(
            var,
            slot_name,
            lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name),
        )

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """The slot that starts at zero."""
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _slot(self, var: Any, slot_name: str, make: Callable[[], Any]) -> Any:
        slots = self._slot_dict(slot_name)
        key = var_key(var)
        if key not in slots:
            slots[key] = make()
            objects_changed(self, var)
        return slots[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable that belongs to the optimizer as a whole, once a graph, placed with the given variable."""
        graph = colocate_with.op.graph
        variable = self._non_slot_dict.get((name, graph))
        if variable is None:
            with slot_creator.place_beside(colocate_with):
                use_resource = is_resource_variable(colocate_with)
                variable = Variable(initial_value, name=name, trainable=False, use_resource=use_resource)
            self._non_slot_dict[name, graph] = variable
            objects_changed(self)
        return variable

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        graph = graph or context.get_default_graph()
        found = self._non_slot_dict.get((name, getattr(graph, "root", graph)))  # variables are made outside bodies
        return replica.local(found)

    def _non_slot_variables(self) -> Any:
        return self._non_slot_dict.values()


def _shared_loss(loss: Any) -> Any:
    """The part that a replica's loss has in the mean of all replicas, or the loss itself where their sum is wanted."""
    mode = replica.current()
    if mode is None or replica.loss_reduction() is not ReduceOp.MEAN:
        return loss
    count = mode.strategy.num_replicas_in_sync
    return loss if count == 1 else raw_ops.Mul(loss, convert_to_tensor(1.0 / count, dtype=loss.dtype.base_dtype))


def _increase(step: Any) -> Any:
    return update("AssignAdd", step, convert_to_tensor(1, dtype=step.dtype.base_dtype, name="value"))


def _by_copy(updates: list[tuple[Any, ...]], copies: int) -> Any:
    """The updates of all variables that are beside each copy of what the optimizer keeps; all of them where these differ."""
    if all(len(update_ops) == copies for update_ops in updates):
        return replica.Copies(tuple([ops[number] for ops in updates] for number in range(copies)))
    return [op for update_ops in updates for op in update_ops]


def _collected(result: Any) -> Operation:
    operation: Operation = result if isinstance(result, Operation) else result.op
    collected = context.get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
    if operation not in collected:
        collected.append(operation)
    return operation


def _overrides(optimizer: Optimizer, method: str) -> bool:
    return getattr(type(optimizer), method) is not getattr(Optimizer, method)


def var_key(var: Any) -> Any:
    var = replica.first(var)
    graph = var.op.graph
    return var.op if graph.executing_eagerly else (graph, var.op.name)  # eager variables may share a name


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _flat(value[key])]
    if isinstance(value, (list, tuple, set, PartitionedVariable)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _as_gradient(grad: Any) -> Any:
    if grad is None or grad.__class__ is EagerTensor:
        return grad
    try:
        grad = convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}") from None
    if not isinstance(grad, (Tensor, IndexedSlices)):
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {grad}")
    return grad


class _VariableProcessor:
    """How one variable takes part: what to differentiate by, and how a gradient is applied."""

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def target(self) -> Any:
        return self._variable

    def update_op(self, optimizer: Optimizer, grad: Any) -> Any:
        variable = self._variable
        constraint = variable.constraint
        if isinstance(grad, IndexedSlices):
            if constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if self._by_resource(optimizer, "_apply_sparse", "_resource_apply_sparse"):
                return optimizer._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
            return optimizer._apply_sparse_duplicate_indices(grad, variable)
        if self._by_resource(optimizer, "_apply_dense", "_resource_apply_dense"):
            update = optimizer._resource_apply_dense(grad, variable)
        else:
            update = optimizer._apply_dense(grad, variable)
        if constraint is None:
            return update
        with control_dependencies([update]):  # the constraint must see the updated value, so it is read again
            return variable.assign(constraint(variable.read_value()))

    def _by_resource(self, optimizer: Optimizer, plain: str, resource: str) -> bool:
        """Whether to go through the resource hook: the user asked for such variables, or wrote only that hook."""
        return _overrides(optimizer, resource) and (
            getattr(self._variable, "_use_resource", False) or not _overrides(optimizer, plain)
        )


class _TensorProcessor:
    """A tensor can be differentiated by, but not updated."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def target(self) -> Tensor:
        return self._tensor

    def update_op(self, optimizer: Optimizer, grad: Any) -> Any:
        raise NotImplementedError(f"Trying to update a Tensor {self._tensor!r}; only variables can be updated {at()}")


def _processor(variable: Any) -> Any:
    if variable.__class__ is Variable:
        return _VariableProcessor(variable)
    if isinstance(variable, Tensor):
        return _TensorProcessor(variable)
    if isinstance(variable, Variable) or (hasattr(variable, "op") and hasattr(variable, "_ref")):
        return _VariableProcessor(variable)
    raise NotImplementedError("Trying to optimize unsupported type ", variable)
