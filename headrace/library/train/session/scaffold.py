"""tf.train.Scaffold: the nodes that a training session needs beside the model: init, ready, summary and the saver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.library import log
from headrace.library.control.dependency import group
from headrace.library.state.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from headrace.library.summary.summary import merge_all
from headrace.library.text.lookup import tables_initializer
from headrace.library.train.saver.saver import Saver


class Scaffold:
    """What a session creator uses to get a model ready.  What is not passed is made by `finalize`.

    ``finalize`` takes each part from the graph's collection if it is there (``tf.GraphKeys.INIT_OP``, ``READY_OP``, ...), else
    makes it and adds it to the collection.  ``init_fn(scaffold, session)`` is called after ``init_op``, and only where no
    checkpoint is restored.

    Args:
      init_op: What gives the global variables their values.
      init_feed_dict: What to feed with `init_op`.
      init_fn: A function of the scaffold and the session to call after `init_op`.
      ready_op: A tensor with the names of variables without a value; the model is ready when it is empty.
      ready_for_local_init_op: The same for what `local_init_op` needs.
      local_init_op: What each new session runs: it initialises local variables and tables.
      summary_op: The summary that hooks write.
      saver: The `tf.train.Saver` that saves and restores.
      copy_from_scaffold: A scaffold to take from what is not passed.

    >>> v = tf.Variable(2.0)
    >>> add = v.assign_add(5.0)
    >>> scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: session.run(add))
    >>> with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
    ...     print(sess.run(v))
    7.0
    """

    seen_step: int | None = None
    """The last global step that a saver of this process has seen; Headrace's own."""

    def __init__(
        self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None, ready_op: Any = None,
        ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None, saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
    ) -> None:  # fmt: skip
        self._init_fn: Callable[[Any], Any] | None = None
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError(f"copy_from_scaffold is not a Scaffold instance: {copy_from_scaffold!r} {at()}")
            source = copy_from_scaffold
            init_op = source.init_op if init_op is None else init_op
            init_feed_dict = source.init_feed_dict if init_feed_dict is None else init_feed_dict
            self._init_fn = source.init_fn  # takes the session only
            ready_op = source.ready_op if ready_op is None else ready_op
            if ready_for_local_init_op is None:
                ready_for_local_init_op = source.ready_for_local_init_op
            local_init_op = source.local_init_op if local_init_op is None else local_init_op
            summary_op = source.summary_op if summary_op is None else summary_op
            saver = source.saver if saver is None else saver
        if init_fn:
            self._init_fn = lambda sess: init_fn(self, sess)
        self._init_op = init_op
        self._init_feed_dict = init_feed_dict
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._local_init_op = local_init_op
        self._summary_op = summary_op
        self._saver = saver

    def finalize(self) -> Scaffold:
        """Makes the parts that are missing and finalizes the default graph."""
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = self.get_or_default("ready_op", GraphKeys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, _default_ready_for_local_init_op
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default_saver()
        self._saver.build()
        context.get_default_graph().finalize()
        log.info("Graph was finalized.")
        return self

    # ---- the parts

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """A function of the session, called after `init_op`."""
        return self._init_fn

    @property
    def init_op(self) -> Any:
        """What gives the global variables their values."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """A tensor with the names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor with the names of variables that `local_init_op` waits for."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """What each new session runs."""
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        """The summary that hooks write."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver that saves and restores."""
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        """What is fed with `init_op`."""
        return self._init_feed_dict

    # ---- defaults

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The only element of a collection of the default graph; what the function makes, and adds to it, if it is empty."""
        graph = context.get_default_graph()
        elements = graph.get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing it to '
                f"the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use) {at()}"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """One operation that initialises local variables and fills tables."""
        return group(local_variables_initializer(), tables_initializer())


def _default_init_op() -> Any:
    return group(global_variables_initializer())


def _default_ready_op() -> Any:
    return report_uninitialized_variables()


def _default_ready_for_local_init_op() -> Any:
    return report_uninitialized_variables(global_variables())


def default_saver() -> Any:
    """The only saver of the graph's collection; one for all variables if there is none."""
    graph = context.get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to the "
            f"constructor. {at()}"
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver
