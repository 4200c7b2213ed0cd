"""SyncReplicasOptimizer: the gradients of several replicas are averaged and applied together (OSDI 2016, section 4.4).

Who may go on is decided elsewhere: each variable has an accumulator (``headrace.resources.state.accumulator``) that drops late
gradients and ends a step when it has enough, and tokens in a queue let replicas begin the next step.  Here are the nodes
that tie them together, and the hook that starts them in a monitored session.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final

from headrace.core.source import at
from headrace.graph import convert, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import IndexedSlices
from headrace.library import log
from headrace.library.control.dependency import group, no_op
from headrace.library.queue.accumulator import ConditionalAccumulator, SparseConditionalAccumulator
from headrace.library.queue.kinds import FIFOQueue
from headrace.library.scope import colocate_with, control_dependencies, device, name_scope
from headrace.library.state.assign import assign
from headrace.library.state.variable import Variable
from headrace.library.state.variables import global_variables, report_uninitialized_variables
from headrace.library.train.moving_averages import ExponentialMovingAverage
from headrace.library.train.optimizer.optimizer import GradsAndVars, Optimizer
from headrace.library.train.queue_runner import QueueRunner
from headrace.library.train.session.chief_hook import LeaseholderHook
from headrace.library.train.session.chief_lease import ChiefLease
from headrace.library.train.session.run_hook import SessionRunHook
from headrace.library.train.session.session_manager import SessionManager

LOOK_S: Final = 1.0  # between two looks at whether the session has ended, of a worker that may become the chief


class SyncReplicasOptimizer(Optimizer):
    """Averages the gradients of ``replicas_to_aggregate`` replicas, applies them by ``opt``, then lets replicas go on.

    If ``total_num_replicas`` is larger, the others are backup workers: each step takes the gradients that come first, and
    drops later ones.  If it is smaller, replicas compute several batches for a step.  ``variable_averages.apply`` is run
    on ``variables_to_average`` after each step.

    Each replica runs what ``minimize`` returns.  One of them, the chief, also runs ``get_chief_queue_runner()``, which
    applies the averages; ``make_session_run_hook`` sees to that, and to the initial values, in monitored sessions.

    Args:
      opt: The optimizer that applies the mean of the gradients.
      replicas_to_aggregate: How many gradients an update takes.
      total_num_replicas: How many replicas there are; None for `replicas_to_aggregate`.
      variable_averages: A `tf.train.ExponentialMovingAverage` to run after each update.
      variables_to_average: The variables that it averages.
      use_locking: Accepted as other optimizers do: that of `opt` counts.
      name: The prefix of the names of the ops.

    >>> loss = tf.square(tf.Variable(4.0, name="x"))
    >>> step = tf.train.get_or_create_global_step()
    >>> optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.25), replicas_to_aggregate=1)
    >>> train = optimizer.minimize(loss, step)
    >>> with tf.train.MonitoredTrainingSession(hooks=[optimizer.make_session_run_hook(is_chief=True, num_tokens=0)]) as sess:
    ...     for _ in range(2):
    ...         print(sess.run(train))
    1
    2
    """

    local_step_init_op: Operation | Tensor
    """Gives this replica's local step the value of the global step."""
    chief_init_op: Operation
    """What ``local_step_init_op`` does, and the same for all accumulators."""
    ready_for_local_init_op: Tensor
    """The names of the global variables without a value: if there are none, the two ops above may run."""

    def __init__(
        self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None, variables_to_average: Any = None,
        use_locking: bool = False, name: str = "sync_replicas",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise ValueError(
                "replicas_to_aggregate and total_num_replicas must be at least 1; got "
                f"{replicas_to_aggregate} and {total} {at()}"
            )
        log.info("SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total)
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._accumulators: list[tuple[ConditionalAccumulator | SparseConditionalAccumulator, str]] = []
        self._chief_queue_runner: QueueRunner | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> GradsAndVars:
        """What ``compute_gradients`` of the wrapped optimizer gives: the gradients of this replica alone."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """What a replica runs for a step: hands in its gradients, then waits for a token; gives the global step.

        ``global_step`` is required: gradients of earlier steps are recognised by it.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError(
                f"Must supply at least one variable; the list of (gradient, variable) pairs is empty {at()}"
            )
        if global_step is None:
            raise ValueError(f"Global step is required to check staleness; pass global_step= {at()}")
        self._global_step = global_step
        self._make_local_step()
        with name_scope(None, self._name):
            applied, aggregated = self._accumulate(pairs)
            together = self._when_all_are_taken(aggregated)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(together, global_step)
                self._sync_token_queue = FIFOQueue(
                    -1, global_step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
                )
                with control_dependencies(applied):
                    token = self._sync_token_queue.dequeue()
                train: Operation = assign(self._local_step, token)  # type: ignore[assignment]
                self._chief_queue_runner = QueueRunner(self._sync_token_queue, [self._finish_step(update)])
            self._accumulators_init = self._set_accumulators()
            self.chief_init_op = group(self.local_step_init_op, *self._accumulators_init)
        return train

    def _make_local_step(self) -> None:
        """Makes the step that this replica's gradients belong to: a variable on the worker, not on a parameter server."""
        with colocate_with(no_op()):
            self._local_step = Variable(
                0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="sync_rep_local_step",
                dtype=self._global_step.dtype.base_dtype,
            )  # fmt: skip
        self.local_step_init_op = assign(self._local_step, self._global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())

    def _accumulate(self, pairs: GradsAndVars) -> tuple[list[Operation], GradsAndVars]:
        """The ops that hand in this replica's gradients; the averages over replicas, each with its variable."""
        applied: list[Operation] = []
        aggregated: GradsAndVars = []
        for gradient, variable in pairs:
            if gradient is None:
                aggregated.append((None, variable))
                continue
            with device(variable.device):
                shared_name = variable.name + "/grad_accum"
                if isinstance(gradient, Tensor):
                    dense = ConditionalAccumulator(gradient.dtype, variable.shape, shared_name)
                    applied.append(dense.apply_grad(gradient, self._local_step))
                    aggregated.append((dense.take_grad(self._replicas_to_aggregate), variable))
                    self._accumulators.append((dense, variable.device))
                elif isinstance(gradient, IndexedSlices):
                    sparse = SparseConditionalAccumulator(gradient.dtype, (), shared_name)
                    applied.append(sparse.apply_indexed_slices_grad(gradient, self._local_step))
                    aggregated.append((sparse.take_indexed_slices_grad(self._replicas_to_aggregate), variable))
                    self._accumulators.append((sparse, variable.device))
                else:
                    raise ValueError(f"A gradient must be a Tensor, IndexedSlices or None; got {gradient!r} {at()}")
        return applied, aggregated

    def _when_all_are_taken(self, aggregated: GradsAndVars) -> GradsAndVars:
        """The averages, once all of them are taken: until then no variable changes.

        A replica with a token that is left of the step could otherwise read variables of which some have changed, and hand in
        a gradient for one whose average is still open.
        """
        averages = [gradient for gradient, _ in aggregated if gradient is not None]
        with device(self._global_step.device):
            taken = group(*averages, name="all_taken")
        together: GradsAndVars = []
        for gradient, variable in aggregated:
            with device(variable.device), control_dependencies([taken]):
                if isinstance(gradient, IndexedSlices):
                    gradient = IndexedSlices(raw_ops.Identity(gradient.values), gradient.indices, gradient.dense_shape)
                elif gradient is not None:
                    gradient = raw_ops.Identity(gradient)
            together.append((gradient, variable))
        return together

    def _finish_step(self, update: Operation) -> Operation:
        """After the update: a token with the new global step for each replica, then the moving averages."""
        count = max(self._total_num_replicas, self._replicas_to_aggregate)
        with control_dependencies([update]):
            finish = self._enqueue_tokens(count)
        if self._variable_averages is not None:
            with control_dependencies([finish]):
                finish = self._variable_averages.apply(self._variables_to_average)
        return finish

    def _enqueue_tokens(self, count: int) -> Operation:
        tokens = raw_ops.Fill([count], self._global_step.read_value())
        return self._sync_token_queue.enqueue_many((tokens,))

    def _set_accumulators(self) -> list[Operation]:
        """The ops that bring the accumulators to the global step."""
        ops = []
        for accumulator, where in self._accumulators:
            with device(where):
                ops.append(accumulator.set_global_step(self._global_step, name="SetGlobalStep"))
        return ops

    def get_chief_queue_runner(self) -> QueueRunner:
        """What the chief runs beside its own steps: takes the averages, applies them, and hands out tokens."""
        if self._chief_queue_runner is None:
            raise ValueError(f"get_chief_queue_runner() should be called after apply_gradients(). {at()}")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """What the chief runs first: ``num_tokens`` tokens, by default as many as ``replicas_to_aggregate``.

        Each lets a replica compute one more batch for the first step.  With 0 every replica computes one; if there are
        fewer replicas than ``replicas_to_aggregate``, at least the difference is needed.
        """
        if self._chief_queue_runner is None:
            raise ValueError(f"get_init_tokens_op() should be called after apply_gradients(). {at()}")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed) {at()}"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._enqueue_tokens(num_tokens)

    def _reopening(self) -> tuple[Tensor, Operation]:
        """Whether the token queue is closed, and what opens it again: a chief that ends closes it for good."""
        queue = self._sync_token_queue
        with device(self._global_step.device), name_scope(""):
            elements = convert.constant([], "string", shape=[0, 1])
            return queue.is_closed(), raw_ops._RestoreQueueState(
                queue.queue_ref, elements, [0], name="sync_token_q_Reopen"
            )

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook for the monitored session of a replica; ``num_tokens`` as for ``get_init_tokens_op``."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The variables of the wrapped optimizer; the local step is not among them."""
        return self._opt.variables()


class _SyncReplicasOptimizerHook(LeaseholderHook):
    """Gives a replica's local step its value; for the chief also sets the accumulators and starts the queue runner.

    Where the job has a lease its holder is the chief.  A worker that gets it because the chief was lost hands out tokens for
    all, since those of the step that the chief was in may be lost with it.  A chief that ended has closed the queue: then the
    training is over.
    """

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        optimizer = self._optimizer
        if optimizer._chief_queue_runner is None:
            raise ValueError(f"SyncReplicasOptimizer.apply_gradients should be called before using the hook. {at()}")
        self._init_op = optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op
        if self._is_chief or self.lease is not None:
            self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens if self._is_chief else -1)
            self._is_closed, self._reopen_op = optimizer._reopening()

    def after_create_session(self, session: Any, coord: Any) -> None:
        ready_op = self._optimizer.ready_for_local_init_op
        missing = SessionManager._not_ready(
            ready_op, session, "Model is not ready for SyncReplicasOptimizer local init."
        )
        if missing:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                f"{self._init_op.name}, error: {missing}"
            )
        if self._is_chief and (self.lease is None or self.lease.number):
            session.run(self._init_op)
            self._lead(session, coord, reopen=True)
            return
        session.run(self._optimizer.local_step_init_op)
        if self.lease is not None and self.lease.can_lead:
            wait = threading.Thread(
                target=self._wait_for_lease, args=(self.lease, session, coord), name="headrace-sync-lease", daemon=True
            )
            coord.register_thread(wait)
            wait.start()

    def _lead(self, session: Any, coord: Any, reopen: bool) -> None:
        if session.run(self._is_closed):
            if not reopen:
                return
            log.info("SyncReplicasV2: the token queue is opened again: another chief has ended before this one.")
            session.run(self._reopen_op)
        session.run(self._init_tokens_op)
        self._optimizer.get_chief_queue_runner().create_threads(session, coord=coord, daemon=True, start=True)

    def _wait_for_lease(self, lease: ChiefLease, session: Any, coord: Any) -> None:
        """Replicas wait for tokens inside a step: nobody else would notice that there is no chief to hand them out."""
        with coord.stop_on_exception():
            while not coord.should_stop():
                if lease.wait(LOOK_S):
                    session.run(self._optimizer._accumulators_init)
                    self._lead(session, coord, reopen=False)
                    return
