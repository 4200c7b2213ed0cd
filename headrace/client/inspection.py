"""What a session tells of itself and of its steps: how they run, what their tensors are, who waits, who holds memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.client.debug_dump import checked_watches, write_dumps
from headrace.client.feed import expand_feeds, fed_tensors
from headrace.client.fetch import Fetches
from headrace.client.memory_report import MemoryReport
from headrace.client.observe import Observation, Observed, Slot, Watch, Watches, patterns_of, print_observed
from headrace.core.config import RunOptions
from headrace.core.errors import NOT_FINITE, InvalidArgumentError
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.passes.cost.step import StepCost
from headrace.passes.observe import Observe
from headrace.resources.state.container import Containers
from headrace.resources.state.memory import DeviceStats, device_stats
from headrace.resources.stepping.step import deadline
from headrace.runtime.costs.costs import Costs
from headrace.runtime.explain.explain import explain_request
from headrace.runtime.explain.explanation import Explanation
from headrace.runtime.session.master import Master


class Inspection:
    """The half of a session that looks at steps; the other half, `BaseSession`, runs them."""

    _graph: Graph
    _master: Master
    _resources: Containers
    _watches: Watches
    _made: Any  # the calls there are

    if TYPE_CHECKING:

        def _check_open(self) -> None: ...
        def _check_can_run(self) -> None: ...
        def _execute(self, call: Any, values: Any) -> Any: ...
        def _make_call(
            self, flat: Fetches, feeds: list[Tensor], check_numbers: bool = False, observe: Observe | None = None
        ) -> Any: ...

    def device_stats(self) -> dict[str, DeviceStats]:
        """How much memory each device has and uses, by its name.

        >>> with tf.Session() as sess:
        ...     (stats, *_) = [s for name, s in sess.device_stats().items() if 'CPU' in name]
        ...     print(stats.variable_bytes, stats.bytes_in_use, stats.bytes_limit > 0)
        0 None True
        """
        return {d.name: device_stats(d.name, d.torch_device, self._resources) for d in self._master.devices}

    def memory_report(self) -> MemoryReport:
        """Who holds memory for this session, on every task: variables, queues, buffers and caches of datasets, tables, constants.

        >>> v = tf.get_variable('big', initializer=tf.zeros([1000]))
        >>> with tf.Session() as sess:
        ...     sess.run(v.initializer)
        ...     report = sess.memory_report()
        >>> [(one.what, one.name, one.bytes) for one in report.holders if one.what == 'Variable']
        [('Variable', 'big', 4000)]
        """
        self._check_open()
        return MemoryReport([one for runs in self._master.tasks.values() for one in runs.holders()])

    def waiting(self) -> str:
        """What the steps of this session wait for just now, one line each; empty if none waits.

        A step that has waited for ten seconds logs this by itself, once.
        """
        return self._master.registered.steps.report()

    def explain(
        self, fetches: Any, feed_dict: Any = None, feeds: Sequence[Any] | None = None,
        passes: bool | str | Iterable[str] = False,
    ) -> Explanation:  # fmt: skip
        """How ``run(fetches, feed_dict)`` would run: where each node is and why, what is sent, which strands are compiled.

        Plans the step and runs nothing.  Instead of ``feed_dict``, whose values are not used, ``feeds`` lists what is fed.
        ``passes`` adds what each pass did: True for all passes, or the names of some.

        >>> x = tf.placeholder(tf.float32, [2], name='x')
        >>> with tf.device('/cpu:0'):
        ...     y = tf.exp(x, name='y')
        >>> with tf.Session() as sess:
        ...     step = sess.explain(y, feeds=[x])
        >>> [(n.name, n.device[-5:], n.cause) for n in step.nodes if n.name == 'y']
        [('y', 'CPU:0', 'asked')]
        """
        self._check_can_run()
        flat, fed, _ = self._asked(fetches, feed_dict, feeds)
        return explain_request(self._master, fed, flat.tensors, flat.targets, passes)

    @property
    def costs(self) -> Costs:
        """What nodes have taken in this session's traced steps, and in those that `measure_costs` ran."""
        return self._master.costs

    def measure_costs(self, fetches: Any, feed_dict: Any = None, runs: int = 10) -> Costs:
        """Runs a step ``runs`` times, and a few before, to learn what each of its nodes takes; the session's `costs` get it too.

        The steps are real ones: a training step trains.  They run interpreted, one node after the other.

        Args:
          fetches: As for `run`.
          feed_dict: As for `run`; each step is fed the same.
          runs: How many steps count.  Of each node the median is taken.

        Returns:
          The costs of the nodes of this step.

        >>> x = tf.placeholder(tf.float32, [64])
        >>> with tf.Session() as sess, tf.device('/cpu:0'):
        ...     costs = sess.measure_costs(tf.exp(x), {x: np.zeros(64)}, runs=3)
        >>> [(device, what, runs) for device, what, seconds, runs in costs]
        [('CPU', 'Exp(float32[64]; T=float32)', 3)]
        """
        self._check_can_run()
        if not isinstance(runs, int) or runs < 1:
            raise ValueError(f"measure_costs runs a step at least once, got runs={runs!r} {at()}")
        pairs = expand_feeds(self._graph, feed_dict) if feed_dict else []
        call = self._make_call(Fetches(self._graph, fetches), [t for t, _ in pairs])
        costs = Costs()
        costs.add(self._master.measure(call.plan, call.feed([v for _, v in pairs]), runs))
        self.costs.add(costs)
        return costs

    def predict_cost(
        self, fetches: Any, feed_dict: Any = None, feeds: Sequence[Any] | None = None, use_measured: bool = True
    ) -> StepCost:
        """What `run(fetches, feed_dict)` would take: predicted from its nodes, without running it.

        A node that has run counts as it was measured (`costs`), others by what they compute and move and by what this machine's
        devices can do, which is measured when it is first needed: that takes some seconds, once.

        Args:
          fetches: As for `run`.
          feed_dict: As for `run`; only the shapes of the values are used.
          feeds: Instead of ``feed_dict``: a list of what is fed.
          use_measured: Whether measured costs count.

        Returns:
          A StepCost: ``seconds`` of the step, ``calling`` those of the thread that runs it, ``working`` those of each type of
          device, and which part of these was ``measured``.

        >>> x = tf.placeholder(tf.float32, [1000, 1000])
        >>> y = tf.matmul(x, x)
        >>> with tf.Session() as sess:
        ...     cost = sess.predict_cost(y, feeds=[x])
        >>> 1e-7 < cost.seconds < 10
        True
        """
        self._check_can_run()
        flat, fed, values = self._asked(fetches, feed_dict, feeds)
        plan = self._master.plan(fed, flat.tensors, flat.targets)
        shapes = None if values is None else [tuple(np.shape(value)) for value in values]
        return self._master.predict(plan, shapes, self.costs.measured if use_measured else None)

    def _asked(
        self, fetches: Any, feed_dict: Any, feeds: Sequence[Any] | None
    ) -> tuple[Fetches, list[Tensor], list[Any] | None]:
        """What is fetched, what is fed, and the values of that where they are given."""
        if feed_dict and feeds is not None:
            raise ValueError(f"say what is fed by feed_dict or feeds, got both {at()}")
        if feeds is not None and not isinstance(feeds, (list, tuple)):
            raise TypeError(f"feeds must be a list of what is fed, got {feeds!r} {at()}")
        flat = Fetches(self._graph, fetches)
        if feed_dict:
            pairs = expand_feeds(self._graph, feed_dict)
            return flat, [tensor for tensor, _ in pairs], [value for _, value in pairs]
        return flat, fed_tensors(self._graph, feeds or ()), None if feeds else []

    def find_nan(self, fetches: Any, feed_dict: Any = None) -> InvalidArgumentError | None:
        """Runs a step, as `run` does, until a number becomes NaN or infinite; returns the error that says where, or None.

        The error names the op, the line that made it, and the range of its inputs.  The step stops there; if none is found
        it has run to its end.  ``HEADRACE_CHECK_NUMERICS=1`` has every step of a program raise that error.

        >>> x = tf.placeholder(tf.float32, [2], name='x')
        >>> loss = tf.reduce_sum(tf.log(x, name='risky'))
        >>> with tf.Session() as sess:
        ...     error = sess.find_nan(loss, {x: [1.0, 0.0]})
        ...     print(error.op.name, sess.find_nan(loss, {x: [1.0, 2.0]}))
        risky None
        """
        self._check_can_run()
        pairs = expand_feeds(self._graph, feed_dict) if feed_dict else []
        call = self._make_call(Fetches(self._graph, fetches), [t for t, _ in pairs], check_numbers=True)
        try:
            self._execute(call, [v for _, v in pairs])
        except InvalidArgumentError as error:
            if NOT_FINITE not in error.message:
                raise
            return error
        return None

    def observe(self, fetches: Any, feed_dict: Any = None, tensors: Any = ".*") -> Observation:
        """Runs a step, as `run` does, and gives what its tensors were, those in loops, conditionals and functions too.

        ``tensors``: which of them: tensors, operations, names, regular expressions over whole names, or a list of these.  Nothing
        is simplified away, so a step takes longer and uses more memory than in `run`.

        >>> x = tf.placeholder(tf.float32, [2], name='x')
        >>> y = tf.reduce_sum(tf.exp(x, name='grown'), name='sum')
        >>> with tf.Session() as sess:
        ...     seen = sess.observe(y, {x: [0.0, 0.0]}, 'grown|sum')
        >>> print(seen.fetched, [(one.name, one.value.tolist()) for one in seen.tensors])
        2.0 [('grown:0', [1.0, 1.0]), ('sum:0', 2.0)]
        """
        self._check_can_run()
        pairs = expand_feeds(self._graph, feed_dict) if feed_dict else []
        flat, feeds = Fetches(self._graph, fetches), [t for t, _ in pairs]
        slot = self._slot(flat, feeds)
        wish = slot.wish(patterns_of(self._graph, tensors), plain=True)
        return self._run_observed(flat, feeds, [v for _, v in pairs], slot, wish)

    def _run_observed(self, flat: Fetches, feeds: list[Tensor], values: Any, slot: Slot, wish: Observe) -> Observation:
        call = self._make_call(flat, feeds, observe=wish)
        seen: list[Observed] = []
        self._hear(call, slot, len(flat.tensors), seen.extend)
        return Observation(self._execute(call, values), seen)

    def _run_dumped(self, flat: Fetches, feeds: list[Tensor], values: Any, options: RunOptions) -> Any:
        """Runs a step that leaves tensors in files, for tfdbg."""
        watches = checked_watches(options.debug_options)
        slot = self._slot(flat, feeds)
        with run_deadline(options):
            seen = self._run_observed(flat, feeds, values, slot, slot.wish((), plain=True, names=watches.keys()))
        names = [[one.name for one in listed] for listed in (flat.tensors, flat.targets, feeds)]
        write_dumps(seen.tensors, watches, options.debug_options.global_step, *names)
        return seen.fetched

    def watch(self, what: Any, call: Callable[[Observed], object] = print_observed, every: int = 1) -> Watch:
        """Has ``call`` told what a tensor is in each step that computes it; by default it is printed.

        ``what``: as ``tensors`` of `observe`.  ``every``: only in the first of so many steps.  Fetches and results stay as they
        are.  Steps of one request run one at a time meanwhile; `partial_run` is not watched.  ``stop()`` of the result ends it.

        >>> x = tf.placeholder(tf.float32, [2], name='x')
        >>> y = tf.reduce_sum(tf.exp(x, name='grown'))
        >>> with tf.Session() as sess, sess.watch('grown', lambda seen: print(seen.name, seen.value)):
        ...     print(sess.run(y, {x: [0.0, 0.0]}))
        grown:0 [1. 1.]
        2.0
        """
        if not callable(call):
            raise TypeError(f"call must be a function of what is seen, got {call!r} {at()}")
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"every must be a number of steps, 1 or more, got {every!r} {at()}")
        watch = Watch(patterns_of(self._graph, what), every, call, self._unwatch)
        self._watches.add(watch)
        self._plan_anew()
        return watch

    def _unwatch(self, watch: Watch) -> None:
        self._watches.remove(watch)
        self._plan_anew()

    def _plan_anew(self) -> None:
        for call in list(self._made):
            call.mutations = -1

    def _slot(self, flat: Fetches, feeds: list[Tensor]) -> Slot:
        return self._watches.slot((tuple(feeds), tuple(flat.tensors), tuple(flat.targets)))

    def _hear(self, call: Any, slot: Slot, fetched: int, hear: Callable[[list[Observed]], object]) -> None:
        """Has what a call observes heard.  A call that fails is planned anew."""
        execute, plan = call.execute, call.plan

        def run(feeds: Any) -> Any:
            try:
                results, seen = slot.run(execute, feeds, fetched)
            except BaseException:
                call.mutations = -1
                self._master.forget(plan)
                raise
            hear(seen)
            return results

        call.execute = run


def run_deadline(options: RunOptions | None) -> AbstractContextManager[None]:
    """Inside, a run with these options must be over in time."""
    seconds = 0.0 if options is None else options.timeout_in_ms / 1000
    return deadline(seconds) if seconds > 0 else nullcontext()
