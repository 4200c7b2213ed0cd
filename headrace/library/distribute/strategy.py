"""`tf.distribute.Strategy`: what programs call, and the strategy in force."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from headrace.core.source import at
from headrace.graph import convert, raw_ops
from headrace.graph.operation import Operation
from headrace.graph.structures import IndexedSlices
from headrace.library import nest
from headrace.library.control import replica
from headrace.library.control.dependency import group
from headrace.library.control.replica import Distributed, Mode, ReduceOp
from headrace.library.data.dataset import Dataset
from headrace.library.distribute import input as distributed_input
from headrace.library.distribute.cross_device_ops import checked_reduce_op
from headrace.library.distribute.extended import StrategyExtended
from headrace.library.distribute.replica_context import ReplicaContext, require_cross_replica_context
from headrace.library.distribute.values import PerReplica, local_results
from headrace.library.scope import device


class Strategy:
    """A way to train with several devices or tasks: the base class of the strategies.

    A program makes its model in ``with strategy.scope()``, and has the strategy run a step for each replica.

    Args:
      extended: The `tf.distribute.StrategyExtended` that says how.

    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    >>> with strategy.scope():
    ...     w = tf.Variable(5.0, name="w")
    >>> isinstance(strategy, tf.distribute.Strategy), strategy.num_replicas_in_sync
    (True, 2)
    """

    _is_default = False
    _scales_loss = False  # whether optimizers divide losses that are means by the number of replicas, as in estimators

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> Any:
        """What libraries call, a `tf.distribute.StrategyExtended`."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas have their gradients added up in a step."""
        return self._extended._num_replicas_in_sync

    # ---- scopes

    @contextmanager
    def _loss_scaled(self) -> Iterator[None]:
        """Inside, optimizers divide losses that are means by the number of replicas."""
        before = self._scales_loss
        self._scales_loss = True
        try:
            yield
        finally:
            self._scales_loss = before

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Inside, this strategy makes the variables.

        Returns:
          A context manager that gives the strategy.
        """
        mode = replica.current()
        if mode is not None and not mode.crosses:
            raise RuntimeError(
                f"strategy.scope() is entered in a replica; it is for code that runs once for all replicas {at()}"
            )
        if mode is not None and mode.strategy is not self:
            raise RuntimeError(
                f"The scope of a {type(self).__name__} is entered inside that of another {type(mode.strategy).__name__}: leave "
                f"the outer scope first {at()}"
            )
        inside = nullcontext(self) if mode is not None else self._extended._scope()
        with inside:
            yield self

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """The old place of ``strategy.extended.colocate_vars_with``.

        Args:
          colocate_with_variable: A variable made in the scope of this strategy.

        Returns:
          A context manager.
        """
        return self._extended.colocate_vars_with(colocate_with_variable)

    # ---- steps

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for each replica.

        Args:
          fn: The function.  In it, variables are the replica's own, and optimizers add up the gradients of all.
          args: Its positional arguments; of values of several replicas each gets its own.
          kwargs: Its named arguments.

        Returns:
          What it returns, with a value for each replica.
        """
        with self.scope():
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    run = experimental_run_v2

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Calls a function once for each replica, with the next element of an iterator.

        Args:
          fn: The function.
          input_iterator: What `make_dataset_iterator` or `make_input_fn_iterator` gave; None if it takes no input.

        Returns:
          What it returns, with a value for each replica.
        """
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
            return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The sum or mean of a value of all replicas, as one tensor.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value: What `experimental_run_v2` returned, or a part of it.
          axis: A dimension of each replica's value to reduce too, such as 0 for that of the batch; None for none.

        Returns:
          A tensor; for a structure, a structure of tensors.
        """
        reduce_op = checked_reduce_op(reduce_op)
        with self.scope():
            require_cross_replica_context(self, "reduce")
            return nest.map_structure(lambda one: self._reduced(reduce_op, one, axis), value)

    def _reduced(self, reduce_op: ReduceOp, value: Any, axis: int | None) -> Any:
        if axis is None:
            return self._to_host(reduce_op, value)
        sums = self._mapped(lambda one: raw_ops.Sum(one, axis), value)
        total = self._to_host(ReduceOp.SUM, sums)
        if reduce_op is ReduceOp.SUM:
            return total
        counts = self._mapped(lambda one: raw_ops.Cast(raw_ops.Shape(one)[axis], total.dtype.base_dtype), value)
        with device(self._extended._host):
            return raw_ops.RealDiv(total, self._to_host(ReduceOp.SUM, counts))

    def _to_host(self, reduce_op: ReduceOp, value: Any) -> Any:
        return self._extended.reduce_to(reduce_op, value, self._extended._host)

    def _mapped(self, fn: Callable[[Any], Any], value: Any) -> Any:
        """The function of each replica's value, where that is."""
        results = []
        values = value.values if isinstance(value, Distributed) else (value,)
        for one in values:
            tensor = convert.convert_to_tensor(one)
            with device(tensor.device):
                results.append(fn(tensor))
        return PerReplica(results)

    # ---- values

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process.

        Args:
          value: What `experimental_run_v2` returned, or a variable.

        Returns:
          A tuple; of one value that is the same for all, with that alone.
        """
        return local_results(value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The old name of `experimental_local_results`.

        Args:
          value: A value of several replicas.

        Returns:
          A tuple.
        """
        return local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs the operations of all replicas.

        Args:
          value: What `experimental_run_v2` returned.
          name: A name for the operation.

        Returns:
          An operation.
        """
        results = [part for one in local_results(value) for part in nest.flatten(one)]
        if len(results) == 1 and name is None and isinstance(results[0], Operation):
            return results[0]
        flat = [part for part in results if part is not None]
        return group(*(part.values if isinstance(part, IndexedSlices) else part for part in flat), name=name)

    # ---- input

    def experimental_distribute_dataset(self, dataset: Dataset) -> Any:
        """A dataset each element of which is divided among the replicas.

        Args:
          dataset: A dataset of batches; the batch of an element is that of all replicas together.

        Returns:
          What has iterators, whose elements have a part of the batch for each replica.
        """
        return distributed_input.DistributedDataset(self, dataset)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[..., Any]) -> Any:
        """A dataset of which each replica gets an element of its own.

        Args:
          dataset_fn: A function of a `tf.distribute.InputContext` that gives a dataset of batches for one replica.

        Returns:
          What has iterators, whose elements have an element of the dataset for each replica.
        """
        return distributed_input.RoundDataset(self, dataset_fn)

    def make_dataset_iterator(self, dataset: Dataset) -> Any:
        """An iterator over a dataset each element of which is divided among the replicas.

        Args:
          dataset: A dataset of batches; the batch of an element is that of all replicas together.

        Returns:
          An iterator; run what its ``initialize()`` gives before the first element.
        """
        return self.experimental_distribute_dataset(dataset).make_initializable_iterator()

    def make_input_fn_iterator(
        self, input_fn: Callable[..., Any],
        replication_mode: Any = distributed_input.InputReplicationMode.PER_WORKER,
    ) -> Any:  # fmt: skip
        """An iterator over what a function gives, of which each replica gets an element of its own.

        Args:
          input_fn: A function of a `tf.distribute.InputContext` that gives a dataset of batches for one replica, or a
            function of no arguments that gives tensors.
          replication_mode: Only ``tf.distribute.InputReplicationMode.PER_WORKER`` is there.

        Returns:
          An iterator; run what its ``initialize()`` gives before the first element.
        """
        if replication_mode is not distributed_input.InputReplicationMode.PER_WORKER:
            raise ValueError(
                f"Input replication mode not supported: {replication_mode!r}; InputReplicationMode.PER_WORKER is {at()}"
            )
        return distributed_input.input_fn_iterator(self, input_fn)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of arrays.

        Args:
          numpy_input: A structure of arrays with equal first dimensions.
          session: Accepted for TensorFlow's sake; it has no effect.

        Returns:
          A `tf.data.Dataset`.
        """
        return Dataset.from_tensor_slices(numpy_input)

    # ---- sessions and clusters

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Tells the strategy of the cluster.

        Args:
          session_config: A `tf.ConfigProto` to change to what the strategy needs.
          cluster_spec: The tasks of the cluster.
          task_type: The job of this task.
          task_id: The number of this task in its job.
        """
        self._extended._configure(session_config, cluster_spec, task_type, task_id)
        if session_config is not None:
            self._extended._update_config(session_config)

    def update_config_proto(self, config_proto: Any) -> Any:
        """A session's config with what the strategy needs.

        Args:
          config_proto: A `tf.ConfigProto`.

        Returns:
          A changed copy.
        """
        config = copy.deepcopy(config_proto)
        self._extended._update_config(config)
        return config

    def __deepcopy__(self, memo: Any) -> Strategy:
        return self


class _DefaultExtended(StrategyExtended):
    """One replica on whatever devices the nodes are placed; variables as without a strategy."""

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return ("",)

    @contextmanager
    def _scope(self) -> Iterator[Any]:
        yield self._strategy

    def _create_variable(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        return next_creator(**arguments)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether the variable belongs to no other strategy."""
        return getattr(replica.whole(v), "_distribute_strategy", None) is None


class _DefaultStrategy(Strategy):
    """What is in force outside of every scope."""

    _is_default = True

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))


_DEFAULT = _DefaultStrategy()
_DEFAULT_REPLICA = ReplicaContext._of(_DEFAULT, 0)


def get_strategy() -> Strategy:
    """The strategy whose scope the code is in.

    Returns:
      A strategy; outside of every scope one with a single replica.

    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    mode = replica.current()
    return _DEFAULT if mode is None else mode.strategy


def get_replica_context() -> ReplicaContext | None:
    """The context of the replica that the code runs for.

    Returns:
      A `tf.distribute.ReplicaContext`, or None where the code runs once for all replicas; outside of every strategy the
      context of a single replica.

    >>> tf.distribute.get_replica_context().num_replicas_in_sync
    1
    """
    mode = replica.current()
    if mode is None:
        return _DEFAULT_REPLICA
    context: ReplicaContext | None = mode.replica
    return context


_set: list[tuple[Strategy, Any]] = []


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Makes a strategy the one in force, without a ``with`` block.

    Args:
      strategy: A strategy; None for none.

    >>> tf.distribute.experimental_set_strategy(tf.distribute.OneDeviceStrategy("/cpu:0"))
    >>> tf.distribute.has_strategy()
    True
    >>> tf.distribute.experimental_set_strategy(None)
    """
    mode = replica.current()
    if mode is not None and not (_set and _set[-1][0] is mode.strategy and mode.crosses):
        raise RuntimeError(f"experimental_set_strategy must not be called inside of a strategy's scope {at()}")
    if _set:
        _, scope = _set.pop()
        scope.__exit__(None, None, None)
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        _set.append((strategy, scope))


__all__ = ["Mode", "Strategy", "experimental_set_strategy", "get_replica_context", "get_strategy"]
