"""Session: runs parts of a graph (white paper 2).

A repeated ``run`` does almost nothing here: one dictionary look-up by the fetched structure and the fed keys gives a prepared
call; feeds are converted, the plan runs, fetches become arrays.  Thread-safe: many threads may call ``run`` at the same time.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from headrace.client.feed import expand_feeds, fed_tensors, feeder
from headrace.client.fetch import Fetches, fetch_key
from headrace.client.growth import Growth
from headrace.client.inspection import Inspection, run_deadline
from headrace.client.null_step import null_step
from headrace.client.observe import Watches
from headrace.client.partial import Partial, checked_feeds
from headrace.client.tensor_handle import KEEPING, TensorHandle
from headrace.core.card import card
from headrace.core.config import ConfigProto, RunMetadata, RunOptions
from headrace.core.errors import InvalidArgumentError, NotFoundError, OpError
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.passes.observe import Observe
from headrace.passes.step_graph import Value
from headrace.resources.calling.value import is_null, meta_returner, returner
from headrace.resources.state.memory import memory_limit
from headrace.runtime.costs.calibrate import step_measured_by
from headrace.runtime.drive.plans import StepPlan
from headrace.runtime.host.defaults import session_defaults
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.master import Master
from headrace.runtime.session.target import (
    SCHEME,
    Offer,
    check_config,
    connect_elsewhere,
    find,
    reset_elsewhere,
    targets,
)

_live: weakref.WeakSet[BaseSession] = weakref.WeakSet()


class DeviceAttributes(NamedTuple):
    """One device a session may use, with the memory that tensors may take there; 0 if nobody knows."""

    name: str
    device_type: str
    memory_limit_bytes: int


class _Call:
    """Everything about one request that does not change between runs."""

    __slots__ = ("__weakref__", "execute", "feed", "generation", "give", "mutations", "plan", "rebuild")

    def __init__(
        self,
        session: BaseSession,
        plan: StepPlan,
        feeds: list[Tensor],
        fetches: Fetches,
        mutations: int,
        generation: int,
    ) -> None:
        self.plan = plan
        self.execute = session._master.entry(plan)
        self.feed = each([feeder(t) for t in feeds])
        self.give = each([
            _giver(t, v, b, session)
            for t, v, b in zip(fetches.tensors, plan.fetches, plan.borrowed, strict=False)  # what is observed follows
        ])  # fmt: skip
        self.rebuild = fetches.rebuild
        self.mutations = mutations
        self.generation = generation


def _giver(tensor: Tensor, value: Value, borrowed: bool, session: BaseSession) -> Callable[[Any], Any]:
    """What turns a fetched value into what ``run`` returns."""
    if tensor.op.type in KEEPING:
        return _handle_giver(tensor, session)
    source = value
    while source.op.op_def.traits.identity:  # it may be on another device than what it hands on
        source = source.op.inputs[0]
    torch_device = session._master.torch_device(source.op.device)
    if torch_device.type == "meta":
        return meta_returner(f"{tensor.name} (made at {tensor.op.source})", is_null(torch_device))
    return returner(value.dtype, borrowed)


def _handle_giver(tensor: Tensor, session: BaseSession) -> Callable[[Any], TensorHandle]:
    dtype, owner = tensor.op.inputs[0].dtype.base_dtype, weakref.ref(session)
    return lambda value: TensorHandle(value.item(), dtype, owner())


def each(converters: Sequence[Callable[[Any], Any]]) -> Callable[[Iterable[Any]], Sequence[Any]]:
    """A function that applies each of these to the value in its place."""
    if not converters:
        return lambda values: ()
    if len(converters) == 1:
        only = converters[0]

        def apply_one(values: Iterable[Any]) -> Sequence[Any]:
            (value,) = values
            return (only(value),)

        return apply_one
    return lambda values: [f(value) for f, value in zip(converters, values, strict=True)]


def _offer(target: str) -> Offer | None:
    """The server of this process that a target names; None for the empty target, and for a server of another process."""
    if not target:
        return None
    offered = find(target)
    if offered is None and not target.startswith(SCHEME):
        known = ", ".join(["'' (this process)", f"'{SCHEME}host:port'", *map(repr, targets())])
        raise NotFoundError(
            None, None, f"No session factory registered for the target {target!r}; known: {known} {at()}"
        )
    return offered


def _config(worker: LocalWorker | None, config: ConfigProto | None) -> ConfigProto:
    """The session's own configuration, or ``tf.config``'s if it has none; a server's says what that leaves open."""
    given = session_defaults() if config is None else config
    if worker is None:
        return given or ConfigProto()
    merged = copy.deepcopy(worker.config)
    if given is not None:
        merged.MergeFrom(given)
    return merged


class BaseSession(Inspection):
    """What ``Session`` and ``InteractiveSession`` share.

    Args:
      target: The address of a server, such as "grpc://localhost:2222"; "" for this process.
      graph: The graph to run; None for the default graph.
      config: A `tf.ConfigProto`; None for the default settings.

    >>> sess = tf.Session()
    >>> sess.graph is tf.get_default_graph()
    True
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        if isinstance(target, bytes):
            target = target.decode()
        if not isinstance(target, str):
            raise TypeError(f"target must be a string, got {target!r} {at()}")
        offered = _offer(target)
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph).__name__} {at()}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__} {at()}")
        self._graph = context.get_default_graph() if graph is None else graph
        worker = None if offered is None else offered.worker
        self._config = _config(worker, config)
        check_config(target, self._config)
        self._target = target
        self._closed = False
        self._calls: dict[Any, _Call] = {}
        self._made: weakref.WeakSet[_Call] = weakref.WeakSet()  # all of them, those of make_callable too
        self._watches = Watches()
        self._growth = Growth()
        self._partials: dict[str, Partial] = {}
        self._partial_count = 0
        self._lock = threading.Lock()
        cluster = None
        if offered is None and target:
            cluster = connect_elsewhere(target, self._config)
        elif offered is not None and offered.connect is not None:
            cluster = offered.connect(self._config)
        try:
            self._master = Master(self._graph, self._config, worker, cluster)
        except BaseException:
            if cluster is not None:
                cluster.close()
            raise
        self._resources = self._master.registered.resources
        _live.add(self)

    # ---- properties

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        where = f" on {self._target!r}" if self._target else ""
        devices = len(self._master.devices)
        size = f"{len(self._graph._nodes)} nodes, {devices} device{'s' * (devices != 1)}"
        return f"<tf.{type(self).__name__}{where}, graph of {size}, {state}>"

    def _repr_html_(self) -> str:
        devices = [device.name for device in self._master.devices]
        facts = {"target": self._target, "nodes": len(self._graph._nodes), "devices": ", ".join(devices)}
        return card(f"tf.{type(self).__name__}", facts | {"state": "closed" if self._closed else "open"})

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The session's graph as a GraphDef, with the shapes of its tensors if ``GraphOptions.infer_shapes`` is set."""
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    @property
    def sess_str(self) -> str:
        """The address of the server; "" for this process."""
        return self._target

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices this session may place nodes on."""
        return [DeviceAttributes(d.name, d.device_type, memory_limit(d.torch_device)) for d in self._master.devices]

    # ---- running

    def _lose(self, error: OpError) -> None:
        """Ends all steps that wait, now or later, with the error: the session has lost a task."""
        self._master.registered.steps.lose(error)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:  # fmt: skip
        """Runs what ``fetches`` needs, with the tensors in ``feed_dict`` replaced by the given values.

        Returns arrays (scalars for 0-d) in the structure of ``fetches``; None for operations.

        >>> a, b = tf.constant(3), tf.constant(4)
        >>> with tf.Session() as sess:
        ...     total, (first, second) = sess.run([a + b, (a, b)])
        ...     print(total, first, second)
        ...     print(sess.run(a + b, feed_dict={a: 10}))  # any tensor can be fed
        7 3 4
        14
        """
        try:
            key = (fetch_key(fetches), *feed_dict) if feed_dict else fetch_key(fetches)
            call = self._calls.get(key)
        except TypeError:
            key, call = None, None
        if call is None or call.mutations != self._graph._mutations or call.generation != self._resources.generation:
            self._check_options(options, run_metadata)
            with run_deadline(options):
                call, values = self._prepare(key, fetches, feed_dict)
        else:
            values = feed_dict.values() if feed_dict else ()
        if options is not None or run_metadata is not None:
            self._check_options(options, run_metadata)
            if options is not None and options.debug_options.debug_tensor_watch_opts:
                fed = [tensor for tensor, _ in expand_feeds(self._graph, feed_dict)] if feed_dict else []
                return self._run_dumped(Fetches(self._graph, fetches), fed, values, options)
            return self._execute_with(call, values, options, run_metadata)
        return self._execute(call, values)

    def _execute_with(self, call: _Call, values: Any, options: Any = None, run_metadata: Any = None) -> Any:
        with run_deadline(options):
            if run_metadata is None:
                return self._execute(call, values)
            if options is not None and options.output_partition_graphs:
                run_metadata.partition_graphs[:] = self._master.partition_graphs(call.plan)
            asked, master = options is not None and options.trace_level, self._master
            if not asked and not self._config.graph_options.build_cost_model:
                return self._execute(call, values)
            self._check_open()
            plan, feeds = call.plan, call.feed(values)
            if asked:
                results = master.run_traced(plan, feeds, run_metadata, master.measures_next(plan))
            else:
                results = master.run_measured(plan, feeds, run_metadata)
            return call.rebuild(call.give(results))

    def _execute(self, call: _Call, values: Any) -> Any:
        if self._closed:
            raise RuntimeError(f"Attempted to use a closed Session. {at()}")
        return call.rebuild(call.give(call.execute(call.feed(values))))

    def _prepare(self, key: Any, fetches: Any, feed_dict: Any) -> tuple[_Call, Any]:
        """Plans the run; caches it if every fed key stands for one tensor, so that the values' order is the dict's."""
        self._check_can_run()
        self._growth.note(self._graph._nodes)
        pairs = expand_feeds(self._graph, feed_dict) if feed_dict else []
        flat = Fetches(self._graph, fetches)
        call = self._make_call(flat, [t for t, _ in pairs])
        if key is not None and len(pairs) == len(feed_dict or ()):
            self._calls[key] = call
        return call, [v for _, v in pairs]

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"Attempted to use a closed Session. {at()}")

    def _check_can_run(self) -> None:
        self._check_open()
        if not self._graph._nodes and not self._graph.building_function:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run(), or give the session the "
                f"graph that has them: tf.Session(graph=...). {at()}"
            )

    def _make_call(
        self, flat: Fetches, feeds: list[Tensor], check_numbers: bool = False, observe: Observe | None = None
    ) -> _Call:
        mutations, generation = self._graph._mutations, self._resources.generation
        slot = self._slot(flat, feeds) if self._watches and not check_numbers else None
        wish = observe or (None if slot is None else slot.wish(self._watches.patterns))
        plan = self._master.plan(feeds, flat.tensors, flat.targets, check_numbers=check_numbers, observe=wish)
        call = _Call(self, plan, feeds, flat, mutations, generation)
        if slot is not None and observe is None:
            self._hear(call, slot, len(flat.tensors), self._watches.hear)
        self._made.add(call)
        return call

    def _check_options(self, options: Any, run_metadata: Any) -> None:
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"options must be a tf.RunOptions, but got {type(options).__name__} {at()}")
        if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
            raise TypeError(f"run_metadata must be a tf.RunMetadata, but got {type(run_metadata).__name__} {at()}")

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of ``feed_list`` that runs ``fetches`` with the least overhead.

        >>> x = tf.placeholder(tf.float32, [])
        >>> with tf.Session() as sess:
        ...     double = sess.make_callable(x * 2.0, [x])
        ...     print(double(4.0))
        8.0
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(f"feed_list must be a list or tuple, got {feed_list!r}")
        feeds = [self._graph.as_graph_element(f, allow_operation=False) for f in feed_list or ()]
        flat = Fetches(self._graph, fetches)
        state = [self._make_call(flat, feeds)]
        accepted = {"options", "run_metadata"} if accept_options else set()

        def run(*values: Any, **options: Any) -> Any:
            if options and (unknown := options.keys() - accepted):
                taken = "only options and run_metadata by keyword" if accepted else "no keyword arguments"
                raise TypeError(f"this callable takes {taken}, got {sorted(unknown)} {at()}")
            call = state[0]
            if call.mutations != self._graph._mutations or call.generation != self._resources.generation:
                call = state[0] = self._make_call(flat, feeds)
            if len(values) != len(feeds):
                names = ", ".join(t.name for t in feeds)
                raise InvalidArgumentError(
                    None,
                    None,
                    f"this callable takes {len(feeds)} values to feed, got {len(values)}; it feeds {names} {at()}",
                )
            if not options:
                return self._execute(call, values)
            self._check_options(of_run := options.get("options"), options.get("run_metadata"))
            if of_run is not None and of_run.debug_options.debug_tensor_watch_opts:
                return self._run_dumped(flat, feeds, values, of_run)
            return self._execute_with(call, values, **options)

        return run

    # ---- partial runs

    def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] | None = None) -> str:
        """Prepares a run whose feeds and fetches come in several ``partial_run`` calls; returns its handle."""
        self._check_can_run()
        flat = Fetches(self._graph, fetches)
        if not flat.tensors and not flat.targets:
            raise InvalidArgumentError(None, None, f"Must specify at least one target to fetch or execute. {at()}")
        fed = fed_tensors(self._graph, feeds or ())
        tensors = list(dict.fromkeys(flat.tensors))
        plan = self._master.plan(checked_feeds(fed), tensors, flat.targets, later=True)
        give = {t: _giver(t, v, True, self) for t, v in zip(tensors, plan.fetches, strict=True)}
        partial = Partial(self._master.partial_run(plan), plan, fed, give)
        with self._lock:
            self._partial_count += 1
            handle = f"partial_run_{self._partial_count}"
            self._partials[handle] = partial
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Feeds some of the promised tensors and returns some of the promised fetches, each once.

        >>> a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        >>> total = a + b
        >>> doubled = a * 2.0
        >>> with tf.Session() as sess:
        ...     handle = sess.partial_run_setup([doubled, total], [a, b])
        ...     first = sess.partial_run(handle, doubled, {a: 4.0})
        ...     print(sess.partial_run(handle, total, {b: first}))
        12.0
        """
        self._check_can_run()
        partial = self._partials.get(handle)
        if partial is None:
            raise InvalidArgumentError(
                None, None,
                f"Must run 'setup' before performing partial runs: {handle!r} is not a handle of partial_run_setup in this "
                f"session, or its run has ended {at()}",
            )  # fmt: skip
        pairs = expand_feeds(self._graph, feed_dict) if feed_dict else []
        flat = Fetches(self._graph, fetches)
        if flat.targets:
            raise RuntimeError(
                f"partial_run() requires empty `target_list`. Received: target_list={[op.name for op in flat.targets]}: "
                f"operations given to partial_run_setup run by themselves, when what they need is fed {at()}"
            )
        values = [(tensor, feeder(tensor)(value)) for tensor, value in pairs]
        try:
            results = partial.run(values, flat.tensors)
        finally:
            if partial.ended:
                self._partials.pop(handle, None)
        return flat.rebuild(results)

    # ---- life

    def as_default(self) -> Any:
        """Makes this the default session of the thread inside a ``with`` block (the default graph stays)."""
        return context.default_session_scope(self)

    def close(self) -> None:
        """Ends the steps that still run or wait.  Running it afterwards is an error.

        A local session's variables are freed; those on a server stay there for other sessions.
        """
        if not self._closed:
            self._closed = True
            self._calls.clear()
            self._partials.clear()
            self._master.close()

    def __del__(self) -> None:
        if getattr(self, "_master", None) is not None:
            self.close()


class Session(BaseSession):
    """Runs operations of a graph: ``with tf.Session() as sess: sess.run(train_op, feed_dict={x: batch})``.

    Args:
      target: The address of a server, such as "grpc://localhost:2222"; "" for this process.
      graph: The graph to run; None for the default graph.
      config: A `tf.ConfigProto`; None for the default settings.

    >>> x = tf.placeholder(tf.float32, [None])
    >>> with tf.Session() as sess:
    ...     print(sess.run({'sum': tf.reduce_sum(x), 'twice': x * 2.0}, feed_dict={x: [1.0, 2.0]}))
    {'sum': np.float32(3.0), 'twice': array([2., 4.], dtype=float32)}
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        self._entered: tuple[Any, Any] | None = None  # the scopes of a ``with`` block

    def __enter__(self) -> Session:
        if self._entered is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session "
                f"multiple times. {at()}"
            )
        graph_scope, session_scope = self._graph.as_default(), self.as_default()
        graph_scope.__enter__()
        session_scope.__enter__()
        self._entered = (graph_scope, session_scope)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._entered is None:
            return
        (graph_scope, session_scope), self._entered = self._entered, None
        try:
            session_scope.__exit__(*error)
        finally:
            graph_scope.__exit__(*error)
            self.close()

    @staticmethod
    def reset(target: str = "", containers: Sequence[str] | None = None, config: ConfigProto | None = None) -> None:
        """Empties the named containers (default: the unnamed one) of the target: of a server, or of every local session.

        Sessions go on: they find the variables of these containers uninitialised.
        """
        names = list(containers or [""])
        if isinstance(containers, (str, bytes)) or not all(isinstance(name, (str, bytes)) for name in names):
            raise TypeError(f"containers must be a list of names, got {containers!r} {at()}")
        texts = [name.decode() if isinstance(name, bytes) else name for name in names]
        offered = _offer(target)
        if offered is None and target:
            reset_elsewhere(target, texts, config or ConfigProto())
            return
        if offered is not None and offered.connect is not None:
            others = offered.connect(_config(offered.worker, config))
            try:
                others.reset(texts)
            finally:
                others.close()
        local = [s._resources for s in list(_live) if not s._target and not s._closed]
        for resources in local if offered is None else [offered.worker.resources]:
            for name in texts:
                resources.reset(name)


class InteractiveSession(BaseSession):
    """A session that is the default one from the start, for notebooks; close it when done.

    Args:
      target: The address of a server, such as "grpc://localhost:2222"; "" for this process.
      graph: The graph to run, which becomes the default graph too; None for the default graph.
      config: A `tf.ConfigProto`; None for the default settings.

    >>> sess = tf.InteractiveSession()
    >>> print(tf.square(3.0).eval())
    9.0
    >>> sess.close()
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        config = (
            copy.deepcopy(config) if isinstance(config, ConfigProto) else ConfigProto() if config is None else config
        )
        if isinstance(config, ConfigProto):
            config.graph_options.place_pruned_graph = (
                True  # as in TensorFlow: errors of nodes that nobody runs are not told
            )
        super().__init__(target, graph, config)
        self._default_session = self.as_default()
        self._default_session.__enter__()
        self._default_graph = graph.as_default() if graph is not None else None
        if self._default_graph is not None:
            self._default_graph.__enter__()

    def close(self) -> None:
        if not self._closed:
            for scope in (getattr(self, "_default_graph", None), getattr(self, "_default_session", None)):
                if scope is not None:
                    scope.__exit__(None, None, None)
        super().close()


step_measured_by(partial(null_step, Session))
