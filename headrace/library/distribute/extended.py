"""`tf.distribute.StrategyExtended`: what libraries call on a strategy, and what the kinds of strategies decide.

`headrace.library.distribute.strategy` has what programs call.  Here is what all kinds have in common; the kinds say which devices
there are, and how a variable is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library import nest
from headrace.library.control import replica
from headrace.library.control.dependency import group as group_ops
from headrace.library.control.replica import Copies, Distributed, Mode, ReduceOp
from headrace.library.distribute.cross_device_ops import (
    AllReduce,
    CrossDeviceOps,
    checked_reduce_op,
    devices_of,
    reduced_alike,
)
from headrace.library.distribute.replica_context import ReplicaContext, require_cross_replica_context
from headrace.library.distribute.replica_thread import call_replicas
from headrace.library.distribute.values import Mirrored, select
from headrace.library.distribute.variable import DistributedVariable, placed
from headrace.library.log import warn
from headrace.library.scope import control_dependencies, device
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import variable_creator_scope
from headrace.library.state.variable_scope import getter_scope


class StrategyExtended:
    """What a strategy offers to those who write libraries: ``strategy.extended``.

    Args:
      container_strategy: The strategy that it belongs to.

    >>> extended = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).extended
    >>> extended.worker_devices
    ('/device:CPU:0', '/device:CPU:1')
    """

    experimental_require_static_shapes = False
    _first_replica = 0  # the number of this process's first replica among all

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy
        self._ops: CrossDeviceOps = AllReduce()

    # ---- what kinds of strategies say

    def _reading_all_workers(self) -> Any:
        """Inside, what copies of variables add up to is that of all workers: for steps that all of them run."""
        return nullcontext()

    def _over_workers(self, reduce_op: ReduceOp, value: Tensor) -> Tensor:
        """The sum or mean of what the copies of each worker add up to, where that is asked for."""
        return value

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas of this process."""
        raise NotImplementedError(f"{type(self).__name__} does not say which devices there are")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return self.worker_devices

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """A variable made in the scope."""
        raise NotImplementedError(f"{type(self).__name__} does not say how variables are made")

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices)

    @property
    def _default_device(self) -> str | None:
        """The device of what is made in the scope outside of replicas; None for no particular one."""
        return None

    @property
    def _host(self) -> str:
        """The device that reads input."""
        return "/device:CPU:0"

    def _update_config(self, config: Any) -> None:
        """Changes a session's config to what the strategy needs."""

    def _configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Takes over what is known of the cluster."""

    experimental_between_graph = False  # whether each worker builds a graph of its own
    experimental_should_init = True  # whether this process initialises variables
    should_checkpoint = True  # whether this process writes checkpoints
    should_save_summary = True  # whether this process writes summaries

    # ---- scopes and variables

    @contextmanager
    def _scope(self) -> Iterator[Any]:
        """What ``with strategy.scope()`` does, for a scope that is not inside another."""
        place = nullcontext() if self._default_device is None else device(self._default_device)
        creators, getters = variable_creator_scope(self._creator), getter_scope(_unpartitioned)
        with replica.mode_scope(Mode(self._strategy)), creators, getters, place:
            yield self._strategy

    def _creator(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        arguments["use_resource"] = True
        if arguments.get("variable_def") is not None:
            return next_creator(**arguments)
        beside = arguments.pop("colocate_with", None)
        if beside is not None:
            return self._create_beside(beside, next_creator, arguments)
        return self._create_variable(next_creator, arguments)

    def _create_beside(self, beside: Any, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """A variable on the devices of another."""
        return self._create_variable(next_creator, arguments)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether the variable was made in the scope of this strategy.

        Args:
          v: A variable.

        Returns:
          A Python bool.
        """
        return getattr(replica.whole(v), "_distribute_strategy", None) is self._strategy

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Variables made inside are on the devices of another.

        Args:
          colocate_with_variable: A variable made in the scope of this strategy.

        Returns:
          A context manager.
        """
        if not isinstance(colocate_with_variable, Variable) or not self.variable_created_in_scope(
            colocate_with_variable
        ):
            raise ValueError(
                f"`colocate_vars_with` must only be passed a variable created in this strategy.scope(), not: "
                f"{colocate_with_variable!r} {at()}"
            )

        def creator(next_creator: Callable[..., Any], **arguments: Any) -> Any:
            arguments["colocate_with"] = colocate_with_variable
            return next_creator(**arguments)

        with variable_creator_scope(creator):
            yield

    def value_container(self, value: Any) -> Any:
        """The variable that a copy of it belongs to.

        Args:
          value: A variable, or a copy of one.

        Returns:
          A variable.
        """
        return replica.whole(value)

    def read_var(self, v: Any) -> Any:
        """The value of a variable, for the code that asks.

        Args:
          v: A variable made in the scope.

        Returns:
          A tensor.
        """
        return v.read_value()

    # ---- replicas

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for each replica.

        Args:
          fn: The function.
          args: Its positional arguments; of values of several replicas each gets its own.
          kwargs: Its named arguments.

        Returns:
          What it returns, as one structure with the values of all replicas.
        """
        require_cross_replica_context(self._strategy, "call_for_each_replica")
        if not callable(fn):
            raise TypeError(f"A replica runs a function, got {fn!r} {at()}")
        if len(self.worker_devices) > 1:
            return call_replicas(self._strategy, fn, args, kwargs or {})
        args, kwargs = select(0, tuple(args)), select(0, dict(kwargs or {}))
        with ReplicaContext._of(self._strategy, 0), device(self.worker_devices[0]):
            return fn(*args, **kwargs)

    # ---- reductions

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The sum or mean of a value of all replicas, at the destinations.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value: A value of several replicas.
          destinations: A device, a variable or a value, on whose devices the result is.

        Returns:
          A tensor, or a value with a tensor for each device.
        """
        require_cross_replica_context(self._strategy, "reduce_to")
        return self._reduce_to(checked_reduce_op(reduce_op), value, destinations)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if not isinstance(value, Distributed) or (isinstance(value, Mirrored) and reduce_op is ReduceOp.MEAN):
            return reduced_alike(reduce_op, value, devices_of(destinations), self._num_replicas_in_sync)
        return self._ops.reduce(reduce_op, value, destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """The sums or means of several values.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value_destination_pairs: Pairs of a value of several replicas and what it is for.

        Returns:
          A list with a result for each pair.
        """
        require_cross_replica_context(self._strategy, "batch_reduce_to")
        reduce_op = checked_reduce_op(reduce_op)
        if all(isinstance(value, Copies) for value, _ in value_destination_pairs):
            return self._ops.batch_reduce(reduce_op, value_destination_pairs)
        return [self._reduce_to(reduce_op, value, destinations) for value, destinations in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A tensor on every device of the destinations.

        Args:
          tensor: A tensor.
          destinations: A device, a variable or a value.

        Returns:
          A tensor, or a value with a tensor for each device.
        """
        require_cross_replica_context(self._strategy, "broadcast_to")
        return self._ops.broadcast(tensor, destinations)

    # ---- updates

    def update(self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True) -> Any:
        """Runs a function that changes a variable, once for each copy of it.

        Args:
          var: A variable made in the scope.
          fn: A function of the copy and of ``args`` and ``kwargs``.
          args: Its positional arguments; of values of several replicas each copy gets its own.
          kwargs: Its named arguments.
          group: Whether the results become one; else they are a tuple with a result for each copy.

        Returns:
          One result, the use of which changes all copies, or a tuple.
        """
        require_cross_replica_context(self._strategy, "update")
        if not isinstance(var, Variable) or not self.variable_created_in_scope(var):
            raise ValueError(
                f"{getattr(var, 'name', var)!r} was not made in the scope of this strategy, so there are no copies that could be "
                f"changed together: make variables, the global step too, inside `with strategy.scope()` {at()}"
            )
        copies = var.values if isinstance(var, DistributedVariable) else (var,)
        results = []
        for number, one in enumerate(copies):
            own_args, own_kwargs = select(number, tuple(args)), select(number, dict(kwargs or {}))
            with placed(one), replica.mode_scope(Mode(self._strategy, None, number)):
                results.append(fn(one, *own_args, **own_kwargs))
        return _grouped(results) if group else tuple(results)

    def non_slot_devices(self, var_list: Sequence[Any]) -> tuple[str, ...]:
        """The devices of what an optimizer keeps once for all variables.

        Args:
          var_list: The variables.

        Returns:
          The names of devices.
        """
        return tuple(devices_of(min(var_list, key=lambda v: v.name)))

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Runs a function once on each device of `non_slot_devices`.

        Args:
          colocate_with: What `non_slot_devices` gave.
          fn: The function.
          args: Its positional arguments; of values of several replicas each call gets its own.
          kwargs: Its named arguments.
          group: Whether the results become one; else they are a tuple with a result for each device.

        Returns:
          One result, or a tuple.
        """
        require_cross_replica_context(self._strategy, "update_non_slot")
        results = []
        for number, name in enumerate(devices_of(colocate_with)):
            own_args, own_kwargs = select(number, tuple(args)), select(number, dict(kwargs or {}))
            with device(name), replica.mode_scope(Mode(self._strategy, None, number)):
                results.append(fn(*own_args, **own_kwargs))
        return _grouped(results) if group else tuple(results)

    # ---- input

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """A dataset of the rows of arrays.

        Args:
          numpy_input: A structure of arrays with equal first dimensions.
          session: Accepted for TensorFlow's sake; it has no effect.

        Returns:
          A `tf.data.Dataset`.
        """
        return self._strategy.experimental_make_numpy_dataset(numpy_input, session)


def _unpartitioned(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("partitioner") is not None:
        warn("A tf.distribute.Strategy makes variables whole: the partitioner of %s has no effect", kwargs.get("name"))
        kwargs["partitioner"] = None
    return getter(*args, **kwargs)


def _grouped(results: list[Any]) -> Any:
    """The results of all copies as one, the use of any part of which changes all copies."""
    if len(results) == 1:
        return results[0]
    flats = [nest.flatten(result) for result in results]
    if context.executing_eagerly():
        return results[0]
    every = [part if isinstance(part, Operation) else part.op for flat in flats for part in flat if part is not None]
    if not every:
        return None
    done = group_ops(*every)
    merged = [_together(parts, done) for parts in zip(*flats, strict=True)]
    return nest.pack_sequence_as(results[0], merged)


def _together(parts: tuple[Any, ...], done: Operation) -> Any:
    if parts[0] is None or isinstance(parts[0], Operation):
        return parts[0] and done
    values = []
    for part in parts:
        with device(part.device), control_dependencies([done]):
            values.append(raw_ops.Identity(part))
    return Mirrored(values)
