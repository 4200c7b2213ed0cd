"""`tf.distribute.ReplicaContext`, and the functions that say where code is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.autodiff.custom import custom_gradient
from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import convert, raw_ops
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library import nest
from headrace.library.control import replica
from headrace.library.control.replica import Mode, ReduceOp
from headrace.library.distribute.cross_device_ops import checked_reduce_op
from headrace.library.distribute.values import select


class ReplicaContext:
    """What code that runs once for each replica knows of its place.

    `tf.distribute.get_replica_context` gives it, inside of a function that `Strategy.experimental_run_v2` calls.

    Args:
      strategy: The strategy.
      replica_id_in_sync_group: The number of the replica among all that train together.

    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    >>> def step():
    ...     context = tf.distribute.get_replica_context()
    ...     return context.replica_id_in_sync_group * 10
    >>> numbers = strategy.experimental_local_results(strategy.experimental_run_v2(step))
    >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
    ...     sess.run(numbers)
    (np.int32(0), np.int32(10))
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._id = replica_id_in_sync_group
        self._modes: list[Mode] = []
        self._copy = 0
        self._merge: Callable[..., Any] | None = None  # how other threads are waited for; None: there are none

    @classmethod
    def _of(cls, strategy: Any, copy: int, merge: Callable[..., Any] | None = None) -> ReplicaContext:
        """The context of a replica of this process."""
        made = cls(strategy, strategy.extended._first_replica + copy)
        made._copy, made._merge = copy, merge
        return made

    def __enter__(self) -> ReplicaContext:
        mode = Mode(self._strategy, self, self._copy)
        replica.enter(mode)
        self._modes.append(mode)
        return self

    def __exit__(self, *error: Any) -> None:
        replica.leave(self._modes.pop())

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas train together."""
        count: int = self._strategy.num_replicas_in_sync
        return count

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, a scalar tensor of int32."""
        if isinstance(self._id, Tensor):
            return self._id
        return convert.constant(self._id, dtypes.int32, name="replica_id_in_sync_group")

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that this replica runs on."""
        require_replica_context(self)
        return (self._strategy.extended.worker_devices[self._copy],)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once for all replicas, which wait for one another here.

        Args:
          merge_fn: A function of the strategy and of ``args`` and ``kwargs``, each with the values of all replicas.
          args: The positional arguments of this replica.
          kwargs: The named arguments of this replica.

        Returns:
          What the function returns; of values of several replicas that of this one.
        """
        require_replica_context(self)
        if self._merge is not None:
            return self._merge(merge_fn, args, kwargs or {})
        with replica.mode_scope(Mode(self._strategy)):
            return select(self._copy, merge_fn(self._strategy, *args, **(kwargs or {})))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of a value of all replicas, for each of them.

        The gradient of a sum is the sum of the gradients of all replicas.

        Args:
          reduce_op: A `tf.distribute.ReduceOp`.
          value: A tensor, or a structure of tensors.

        Returns:
          A tensor, or a structure like ``value``.
        """
        reduce_op = checked_reduce_op(reduce_op)

        def merged(strategy: Any, *values: Any) -> list[Any]:
            pairs = [(one, one) for one in values]
            return strategy.extended.batch_reduce_to(reduce_op, pairs)  # type: ignore[no-any-return]

        flat = nest.flatten(value)
        if any(isinstance(one, IndexedSlices) for one in flat):
            return nest.pack_sequence_as(value, self.merge_call(merged, args=tuple(flat)))

        def reduced(*xs: Tensor) -> Any:
            ys = self.merge_call(merged, args=xs)
            return [raw_ops.Identity(y) for y in ys], lambda *dys: self._gradients(reduce_op, dys)

        tensors = [convert.convert_to_tensor(one) for one in flat]
        results = custom_gradient(reduced)(*tensors)
        return nest.pack_sequence_as(value, list(results) if isinstance(results, (list, tuple)) else [results])

    def _gradients(self, reduce_op: ReduceOp, dys: tuple[Any, ...]) -> Any:
        results = self.all_reduce(reduce_op, list(dys))
        return results[0] if len(results) == 1 else results


def has_strategy() -> bool:
    """Whether the code is in the scope of a strategy.

    Returns:
      A Python bool.

    >>> with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
    ...     print(tf.distribute.has_strategy())
    True
    """
    mode = replica.current()
    return mode is not None and not mode.strategy._is_default


def in_cross_replica_context() -> bool:
    """Whether the code is for all replicas of a strategy: in its scope, and not in a function that it runs for each.

    Returns:
      A Python bool; False outside of every strategy.

    >>> with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
    ...     print(tf.distribute.in_cross_replica_context())
    True
    """
    mode = replica.current()
    return mode is not None and mode.crosses


def require_replica_context(owner: ReplicaContext) -> None:
    """Refuses code that is not in the replica."""
    mode = replica.current()
    if mode is None and owner._strategy._is_default:
        return
    if mode is None or mode.replica is not owner:
        raise RuntimeError(
            "This needs the context of the replica that it is called in, inside of a function that "
            f"strategy.experimental_run_v2 or call_for_each_replica calls; here {_place(mode)} {at()}"
        )


def require_cross_replica_context(strategy: Any, what: str) -> None:
    """Refuses code of a single replica, or in the scope of another strategy."""
    mode = replica.current()
    if mode is None and strategy._is_default:
        return
    if mode is not None and mode.strategy is strategy and mode.crosses:
        return
    raise RuntimeError(
        f"{what} needs to be called for all replicas: in `with strategy.scope()` of this strategy, and outside of functions "
        f"that experimental_run_v2 calls; here {_place(mode, strategy)} {at()}"
    )


def _place(mode: Mode | None, strategy: Any = None) -> str:
    if mode is None:
        return "is no scope of a strategy"
    if strategy is not None and mode.strategy is not strategy:
        return "is the scope of another strategy"
    if mode.crosses:
        return "is the scope of a strategy outside of its replicas"
    return f"is the context of replica {mode.copy}"
