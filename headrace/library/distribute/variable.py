"""Variables of several replicas: one Python object for a copy of the variable on each device.

In a replica, and in an update of one copy, the object stands for the copy of that replica or update; elsewhere for the first, or
for what the copies add up to.  The copies are resource variables ``v``, ``v/replica_1``, ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.control import replica
from headrace.library.control.dependency import group
from headrace.library.control.replica import Distributed, ReduceOp
from headrace.library.distribute.values import select
from headrace.library.scope import device, init_scope
from headrace.library.state.resource_variable import ResourceVariable
from headrace.library.state.variable_creator import VariableAggregation
from headrace.library.train.saver.saveable import SaveableObject, SaveSpec

Call = Callable[..., Any]  # of a copy of a variable and further arguments
REDUCTIONS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


def _method(name: str) -> Call:
    def call(copy: Any, *args: Any, **options: Any) -> Any:
        return getattr(copy, name)(*args, **options)

    call.__name__ = name
    return call


class DistributedVariable(ResourceVariable, Distributed):
    """A variable with a copy for each replica of this process.  Strategies make them."""

    def __init__(self, strategy: Any, copies: Sequence[Any], aggregation: VariableAggregation) -> None:
        self._distribute_strategy = strategy
        self._copies = tuple(copies)
        self._aggregation = aggregation
        self._synchronization = copies[0].synchronization
        self._use_resource = True
        self._save_slice_info = None
        for copy in copies:
            copy._distributed = self
        self._graph = context.get_default_graph()
        if not context.executing_eagerly():
            with init_scope():
                self._all_initializers = group(*(copy.initializer for copy in copies))

    def __getattr__(self, name: str) -> Any:
        """Whatever a variable has that this object has not, the copy has that the code here is for."""
        if name in ("_copies", "_distribute_strategy"):  # not made yet
            raise AttributeError(name)
        return getattr(self._local_copy(), name)

    def _local_copy(self) -> Any:
        mode = replica.current()
        if mode is None or mode.copy is None:
            return self._copies[0]
        return self._copies[mode.copy]

    @property
    def _in_all(self) -> bool:
        """Whether the code here is for all copies."""
        mode = replica.current()
        return mode is None or mode.copy is None

    # ---- what it is

    @property
    def values(self) -> tuple[Any, ...]:
        """The copies, in the order of the replicas."""
        return self._copies

    @property
    def primary(self) -> Any:
        """The first copy."""
        return self._copies[0]

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope it was made."""
        return self._distribute_strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the copies."""
        return tuple(copy.device for copy in self._copies)

    @property
    def name(self) -> str:
        return self._copies[0].name

    @property
    def _shared_name(self) -> str:
        return self._copies[0]._shared_name

    @property
    def initializer(self) -> Any:
        """The op that sets the initial value of every copy."""
        return self._all_initializers if not context.executing_eagerly() else None

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether every copy has a value in the session that runs this."""
        known = [copy.is_initialized() for copy in self._copies]
        all_known: Tensor = known[0]
        for one in known[1:]:
            all_known = raw_ops.LogicalAnd(all_known, one)
        return raw_ops.Identity(all_known, name=name)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value of every copy in ``session`` or the default session without adding to the graph."""
        for copy, own in self._values_of_copies(value):
            copy.load(own, session)

    def _values_of_copies(self, value: Any) -> list[tuple[Any, Any]]:
        """The copies, each with the value that makes this the value of all."""
        return [(copy, value) for copy in self._copies]

    def __repr__(self) -> str:
        lines = ", ".join(f"{i}: {copy!r}" for i, copy in enumerate(self._copies))
        return f"<{type(self).__name__} {lines}>"

    # ---- changing

    def _change(self, call: Call, args: tuple[Any, ...], options: dict[str, Any], adds_up: bool = False) -> Any:
        """One change: ``call`` of a copy, the arguments and the options.

        ``adds_up``: the last argument is a value, and what several replicas bring can be added up.
        """
        raise NotImplementedError

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Sets the value: of every copy, or in a replica to what the values of all replicas add up to."""
        options = {"use_locking": use_locking, "name": name, "read_value": read_value}
        return self._change(_method("assign"), (value,), options, adds_up=True)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        options = {"use_locking": use_locking, "name": name, "read_value": read_value}
        return self._change(_method("assign_add"), (delta,), options, adds_up=True)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        options = {"use_locking": use_locking, "name": name, "read_value": read_value}
        return self._change(_method("assign_sub"), (delta,), options, adds_up=True)

    def _scatter(self, scatter: Callable[..., Any], delta: Any, use_locking: bool, name: str | None) -> Any:
        return self._change(_method("_scatter"), (scatter, delta, use_locking, name), {})

    def _updated(self, op_type: str, *args: Any, read_value: bool = True, name: str | None = None, **attrs: Any) -> Any:
        return self._change(_method("_updated"), (op_type, *args), {"read_value": read_value, "name": name, **attrs})

    def _updated_by(self, call: Call, *args: Any) -> Any:
        """A change by a function of a copy and of arguments, the last of which is a value."""
        return self._change(call, args, {}, adds_up=True)

    def _saveable(self, name: str) -> SaveableObject:
        """What a saver saves and restores in the place of this variable, under its one name."""
        return _DistributedSaveable(self, name)

    def _saved_value(self) -> Any:
        raise NotImplementedError

    def _restored(self, value: Tensor) -> list[Any]:
        """Ops that give the copies the value that was read."""
        return [_placed_assign(copy, value) for copy in self._copies]


def placed(copy: Any) -> Any:
    """Nodes made inside are on the device of the copy, whatever they would be colocated with."""
    return device(copy.device) if context.executing_eagerly() else copy._placed()


def _placed_assign(copy: Any, value: Any) -> Any:
    with placed(copy):
        return copy.assign(raw_ops.Identity(value), read_value=False)


class MirroredVariable(DistributedVariable):
    """A variable whose copies are always equal: a change changes all of them."""

    def _change(self, call: Call, args: tuple[Any, ...], options: dict[str, Any], adds_up: bool = False) -> Any:
        mode = replica.current()
        if mode is not None and mode.replica is not None:
            return self._change_together(mode, call, args, options, adds_up)
        if mode is not None and mode.copy is not None:
            return call(self._local_copy(), *args, **options)
        if mode is None:  # outside of the scope
            with self._distribute_strategy.scope():
                return self._distribute_strategy.extended.update(self, call, args=args, kwargs=options)
        return self._distribute_strategy.extended.update(self, call, args=args, kwargs=options)

    def _change_together(
        self, mode: replica.Mode, call: Call, args: tuple[Any, ...], options: dict[str, Any], adds_up: bool
    ) -> Any:
        """In a replica: all replicas bring a value each, and every copy is changed by what these add up to."""
        aggregation = self._aggregation
        if aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"The variable {self.name!r} is changed in a replica, and has no aggregation that says what becomes of the "
                "values of several replicas: make it with aggregation=tf.VariableAggregation.SUM, MEAN or "
                f"ONLY_FIRST_REPLICA, or change it outside of the replicas {at()}"
            )
        if not adds_up and aggregation is not VariableAggregation.ONLY_FIRST_REPLICA:
            raise NotImplementedError(
                f"The variable {self.name!r} has {aggregation}: parts of it can be changed in replicas only where the "
                f"aggregation is tf.VariableAggregation.ONLY_FIRST_REPLICA {at()}"
            )

        def merged(strategy: Any, *values: Any) -> Any:
            if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
                values = select(0, values)
            else:
                *rest, value = values
                values = (*rest, strategy.extended.reduce_to(REDUCTIONS[aggregation], value, self))
            return strategy.extended.update(self, call, args=values, kwargs=options)

        return mode.replica.merge_call(merged, args=args)

    def _saved_value(self) -> Any:
        return self._copies[0].read_value()


class SharedVariable(MirroredVariable):
    """A variable that replicas on several devices share: there is one copy."""

    def _local_copy(self) -> Any:
        return self._copies[0]


class SyncOnReadVariable(DistributedVariable):
    """A variable whose copies go their own ways in the replicas, and are added up where it is read outside of them."""

    _reads_all = False  # whether replicas too read what all copies add up to, as those of metrics do

    def _change(self, call: Call, args: tuple[Any, ...], options: dict[str, Any], adds_up: bool = False) -> Any:
        mode = replica.current()
        if mode is not None and mode.copy is not None:
            return call(self._local_copy(), *args, **options)
        if call.__name__ == "assign":
            return self._assign_all(*args, **options)
        if not adds_up:
            raise ValueError(
                f"The variable {self.name!r} is synchronised when it is read, so parts of it are changed in replicas only; "
                f"outside of them it takes assign(), assign_add() and assign_sub() {at()}"
            )
        first_alone = self._aggregation not in (VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_REPLICA)
        changed = [self._changed_copy(copy, call, args, options) for copy in self._copies[: 1 if first_alone else None]]
        if context.executing_eagerly():
            return self
        return group(*(one if isinstance(one, Operation) else one.op for one in changed))

    def _changed_copy(self, copy: Any, call: Call, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        with placed(copy):
            return call(copy, *args, **options)

    def _assign_all(self, value: Any, read_value: bool = True, **options: Any) -> Any:
        """Gives the copies values that add up to this one."""
        value = self._part(convert.convert_to_tensor(value, dtype=self.dtype))
        changed = [_placed_assign(copy, value) for copy in self._copies]
        if context.executing_eagerly():
            return self if read_value else None
        return group(*changed, name=options.get("name"))

    def _values_of_copies(self, value: Any) -> list[tuple[Any, Any]]:
        rest = np.zeros_like(value) if self._aggregation is VariableAggregation.SUM else value
        return [(copy, rest if number else value) for number, copy in enumerate(self._copies)]

    def _part(self, value: Tensor) -> Tensor:
        if self._aggregation is not VariableAggregation.SUM:
            return value
        count = convert.constant(len(self._copies), value.dtype.base_dtype)
        return raw_ops.FloorDiv(value, count) if value.dtype.is_integer else raw_ops.RealDiv(value, count)

    def _sum(self) -> Tensor:
        """What the copies add up to."""
        values = [copy.read_value() for copy in self._copies]
        if self._aggregation not in REDUCTIONS:
            return values[0]
        with device(self._copies[0].device):
            total: Tensor = raw_ops.AddN(values) if len(values) > 1 else values[0]
            if self._aggregation is VariableAggregation.MEAN and len(values) > 1:
                total = raw_ops.RealDiv(total, convert.constant(len(values), total.dtype.base_dtype))
            return self.distribute_strategy.extended._over_workers(REDUCTIONS[self._aggregation], total)

    def value(self) -> Tensor:
        """The value of this replica's copy; outside of replicas what all copies add up to."""
        return self._sum() if self._in_all or self._reads_all else self._local_copy().value()

    def read_value(self) -> Tensor:
        return self._sum() if self._in_all or self._reads_all else self._local_copy().read_value()

    def _as_graph_element(self) -> Any:
        if not self._in_all:
            return self._local_copy()._as_graph_element()
        if "_total" not in self.__dict__:
            with self._graph.as_default(), init_scope():
                self._total = self._sum()
        return self._total

    def eval(self, session: Any = None) -> Any:
        """What the copies add up to, in ``session`` or the default session."""
        return self._as_graph_element().eval(session=session)

    def numpy(self) -> Any:
        """What the copies add up to, as an array; only when ops run eagerly."""
        return self.value().numpy()

    def _saved_value(self) -> Any:
        return self._sum()

    def _restored(self, value: Tensor) -> list[Any]:
        return super()._restored(self._part(value))


class _DistributedSaveable(SaveableObject):
    """One entry in a checkpoint for all copies."""

    def __init__(self, variable: DistributedVariable, name: str) -> None:
        self._variable = variable
        first = variable.primary
        spec = SaveSpec(variable._saved_value, "", name, dtype=variable.dtype, device=first.device)
        super().__init__(variable, [spec], name)

    @property
    def handle(self) -> Tensor:
        """What stands for the variable itself."""
        handle: Tensor = self._variable.primary._ref()
        return handle

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            shape = restored_shapes[0]
            shape = shape if isinstance(shape, Tensor) else convert.constant(shape.as_list(), "int32")
            value = raw_ops.Reshape(value, shape)
        return group(*self._variable._restored(value))
