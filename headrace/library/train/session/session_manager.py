"""tf.train.SessionManager: makes sessions whose model is ready: restored, initialised, or made ready by others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from headrace.client.session import Session
from headrace.core.errors import DeadlineExceededError, FailedPreconditionError, OpError
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.state.global_step import get_global_step
from headrace.library.train.saver.reader import load_variable
from headrace.library.train.saver.state_file import get_checkpoint_state

if TYPE_CHECKING:
    from headrace.library.train.session.server_copies import ServerCopies

FIRST_PAUSE: Final = 1.0  # seconds until a worker asks again whether the model is ready


class SessionManager:
    """Prepares sessions of one graph.

    A model is *ready* when ``ready_op`` gives no names of variables without a value.  ``local_init_op`` runs in each new session,
    as soon as ``ready_for_local_init_op`` gives no names.

    Args:
      local_init_op: What each new session runs: it initialises local variables and tables.
      ready_op: A tensor with the names of variables without a value; None to take the model as ready.
      ready_for_local_init_op: The same for what `local_init_op` needs; only with `local_init_op`.
      graph: The graph of the sessions; None for the default graph.
      recovery_wait_secs: Seconds between two looks at a model that is not ready.
      local_init_run_options: A `tf.RunOptions` for `local_init_op`.

    >>> v = tf.Variable(3)
    >>> manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    >>> sess = manager.prepare_session('', init_op=v.initializer)
    >>> print(sess.run(v))
    3
    """

    def __init__(
        self, local_init_op: Any = None, ready_op: Any = None, ready_for_local_init_op: Any = None,
        graph: Graph | None = None, recovery_wait_secs: float = 30, local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}] {at()}"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = context.get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    # ---- sessions

    def prepare_session(
        self, master: str, init_op: Any = None, saver: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        config: Any = None, init_feed_dict: Any = None, init_fn: Any = None,
    ) -> Session:  # fmt: skip
        """A session that is ready: restored if ``saver`` finds a checkpoint, else by ``init_op`` and ``init_fn(session)``."""
        sess, is_restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        return self._prepared(sess, is_restored, init_op, init_feed_dict, init_fn)

    def prepare_next_session(
        self, master: str, init_op: Any, saver: Any, checkpoint_dir: Any, checkpoint_filename_with_path: Any, config: Any,
        init_feed_dict: Any, init_fn: Any, restore: str | None = None, copies: ServerCopies | None = None,
        seen_step: int | None = None,
    ) -> Session:  # fmt: skip
        """A session in place of one that lost a task.  If no variable lost its value, nothing is restored.

        ``restore="missing"``: else those that have no value any more are; the others keep what other sessions may have given them
        meanwhile, and a warning says of which steps the two are.  ``"all"``: everything is, so all values are of one step.  By
        default, everything in a synchronous job (`is_synchronous`), else what is missing.  ``seen_step``: the last global step
        that this process has seen, for the log.
        """
        sess = Session(master, graph=self._graph, config=config)
        try:
            missing = self._missing(sess)
            if missing == []:
                log.info("All variables have kept their values: nothing is restored.")
                return self._prepared(sess, True, init_op, init_feed_dict, init_fn)
            names = None if restores_everything(self._graph, restore) else missing
            path = checkpoint_filename_with_path or _latest(checkpoint_dir)
            source = _newest(self._step_name(), saver, path, copies, names)
            if source is None:
                return self._prepared(sess, False, init_op, init_feed_dict, init_fn)
            self._restore_from(source, sess, names, missing, seen_step)
        except BaseException:
            sess.close()
            raise
        return self._prepared(sess, True, init_op, init_feed_dict, init_fn)

    def _step_name(self) -> str | None:
        step = get_global_step(self._graph)
        return None if step is None else step.op.name

    def _restore_from(
        self, source: _Source, sess: Session, names: list[str] | None, missing: list[str] | None, seen: int | None
    ) -> None:
        """Restores the variables of these names, by default all, and says how far back that is."""
        name = self._step_name()
        known = (
            None if name is None or missing is None or name in missing else int(sess.run(get_global_step(self._graph)))
        )
        others = source.restore(sess, names)
        saved = "" if source.step is None else f", of global step {source.step}"
        lost = "" if known is None or source.step is None else f"{known - source.step} steps"
        if known is None and seen is not None and source.step is not None and seen > source.step:
            lost = f"at least {seen - source.step} steps"
        if not others:
            log.warning("All variables were restored from %s%s.%s", source.title, saved, lost and f" Lost: {lost}.")
        elif known is None or known != source.step:
            log.warning(
                "The model is of two moments: %s variables were lost and have the values of %s%s; %d others kept theirs%s.%s "
                "restore='all' restores everything.",
                len(missing or ()), source.title, saved, others,
                ", of later steps" if known is None else f", of global step {known}",
                lost and f" The lost ones go back by {lost}.",
            )  # fmt: skip

    def _missing(self, sess: Session) -> list[str] | None:
        """The names of variables without a value; None if the ready ops do not tell."""
        op = self._ready_op if self._ready_for_local_init_op is None else self._ready_for_local_init_op
        if op is None:
            return None
        try:
            value = np.asarray(sess.run(op))
        except FailedPreconditionError:
            return None
        if value.dtype.kind not in "OSU":
            return None
        return [name.decode() if isinstance(name, bytes) else str(name) for name in np.ravel(value)]

    def _prepared(self, sess: Session, is_restored: bool, init_op: Any, init_feed_dict: Any, init_fn: Any) -> Session:
        """The session, initialised unless it is restored, when its model is ready."""
        try:
            if not is_restored:
                self._initialize(sess, init_op, init_feed_dict, init_fn)
            missing = self._run_local_init(sess)
            if missing is not None:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  "
                    f"Init op: {_name(init_op)}, init fn: {init_fn}, error: {missing} {at()}"
                )
            missing = self._not_ready(self._ready_op, sess, "Model not ready")
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  Init op: {_name(init_op)}, init fn: {init_fn}, "
                    f"local_init_op: {_name(self._local_init_op)}, error: {missing} {at()}"
                )
        except BaseException:
            sess.close()
            raise
        return sess

    def _initialize(self, sess: Session, init_op: Any, init_feed_dict: Any, init_fn: Any) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(f"Model is not initialized and no init_op or init_fn or local_init_op was given {at()}")
        if init_op is not None:
            sess.run(init_op, feed_dict=init_feed_dict)
        if init_fn:
            init_fn(sess)

    def recover_session(
        self, master: str, saver: Any = None, checkpoint_dir: Any = None, checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False, max_wait_secs: float = 7200, config: Any = None,
    ) -> tuple[Session, bool]:  # fmt: skip
        """A new session, restored if there is a checkpoint, and whether that made the model ready."""
        sess, is_restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        missing = self._run_local_init(sess)
        if not is_restored:
            return sess, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if missing is not None:
            log.info("Restoring model from %s did not make model ready for local init: %s", source, missing)
            return sess, False
        missing = self._not_ready(self._ready_op, sess, "Model not ready")
        if missing is not None:
            log.info("Restoring model from %s did not make model ready: %s", source, missing)
            return sess, False
        log.info("Restored model from %s", source)
        return sess, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = float("inf"), *,
        pause: Callable[[float], Any] = time.sleep,
    ) -> Any:  # fmt: skip
        """A session of a model that others make ready: asks until it is, for ``max_wait_secs`` at most.

        It asks again after a second, then less and less often, down to every ``recovery_wait_secs``.  ``pause``, Headrace's own,
        waits for so many seconds; if it says True, nothing more is asked, and there is no session.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        end = time.monotonic() + limit
        seconds = min(FIRST_PAUSE, self._recovery_wait_secs)
        while True:
            sess = Session(master, graph=self._graph, config=config)
            try:
                missing_local = self._run_local_init(sess)
                missing = "" if missing_local else self._not_ready(self._ready_op, sess, "Model not ready")
            except BaseException:
                sess.close()
                raise
            if missing is None and missing_local is None:
                return sess
            log.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                missing_local,
                missing or None,
            )
            sess.close()
            if end - time.monotonic() < seconds:
                raise DeadlineExceededError(
                    None, None,
                    f"Session was not ready after waiting {limit:g} secs: {missing_local or missing}. The chief has to "
                    f"initialise the model {at()}",
                )  # fmt: skip
            if pause(seconds):
                return None
            seconds = min(2 * seconds, self._recovery_wait_secs)

    # ---- parts

    def _restored_session(
        self, master: str, saver: Any, folder: Any, path: Any, wait: bool, max_wait_secs: float, config: Any
    ) -> tuple[Session, bool]:
        """A new session, and whether a checkpoint was restored into it."""
        if folder and path:
            raise ValueError(f"Can not provide both checkpoint_dir and checkpoint_filename_with_path. {at()}")
        sess = Session(master, graph=self._graph, config=config)
        try:
            if not saver or not (folder or path):
                return sess, False
            if path:
                saver.restore(sess, path)
                return sess, True
            state = self._checkpoint_state(folder, wait, max_wait_secs)
            if state is None:
                return sess, False
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        except BaseException:
            sess.close()
            raise
        return sess, True

    def _checkpoint_state(self, folder: Any, wait: bool, max_wait_secs: float) -> Any:
        """What the folder says about its checkpoints; None if it has none, and none comes while we wait."""
        waited = 0.0
        while True:
            state = get_checkpoint_state(folder)
            if state is not None and state.model_checkpoint_path:
                return state
            if not wait or waited >= max_wait_secs:
                return None
            log.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs

    def _run_local_init(self, sess: Session) -> str | None:
        """Runs the local init op if the model is ready for it; else says what is missing."""
        if self._local_init_op is None:
            return None
        missing = self._not_ready(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if missing is None:
            log.info("Running local_init_op.")
            sess.run(self._local_init_op, options=self._local_init_run_options)
            log.info("Done running local_init_op.")
        return missing

    # TensorFlow's names for what subclasses call: (whether, what is missing or None).

    def _model_ready(self, sess: Session) -> tuple[bool, str | None]:
        missing = self._not_ready(self._ready_op, sess, "Model not ready")
        return missing is None, missing

    def _model_ready_for_local_init(self, sess: Session) -> tuple[bool, str | None]:
        missing = self._not_ready(self._ready_for_local_init_op, sess, "Model not ready for local init")
        return missing is None, missing

    def _try_run_local_init_op(self, sess: Session) -> tuple[bool, str | None]:
        missing = self._run_local_init(sess)
        return missing is None, missing

    @staticmethod
    def _not_ready(op: Any, sess: Session, warning: str) -> str | None:
        """Why a ready op finds the model not ready; None if it is."""
        if op is None:
            return None
        try:
            value = sess.run(op)
        except FailedPreconditionError as error:
            if "uninitialized" not in str(error):
                log.warning("%s : error [%s]", warning, str(error))
                raise
            return str(error)
        if value is None or np.asarray(value).size == 0 or np.asarray(value).dtype == np.int32:
            return None
        names = [name.decode() if isinstance(name, bytes) else str(name) for name in np.ravel(value)]
        return f"Variables not initialized: {', '.join(names)}"


def _latest(folder: Any) -> str | None:
    state = get_checkpoint_state(folder) if folder else None
    return state.model_checkpoint_path if state is not None and state.model_checkpoint_path else None


class _Source(NamedTuple):
    """Where variables are restored from."""

    title: str
    step: int | None  # the global step; None if nobody knows
    restore: Callable[
        [Session, list[str] | None], int
    ]  # variables of these names, or all; gives how many others there are


def _newest(
    step_name: str | None, saver: Any, path: str | None, copies: ServerCopies | None, names: list[str] | None
) -> _Source | None:
    """What is of the later global step: the file, or copies in memory that have all these variables."""
    saved = None
    if saver and path:
        saved = _Source(
            path, None if step_name is None else _saved_step(path, step_name),
            lambda sess, names: saver._restore_variables(sess, path, names),
        )  # fmt: skip
    copied = None if copies is None else copies.find(names)
    if copies is None or copied is None or (saved is not None and saved.step is not None and saved.step > copied.step):
        return saved
    return _Source("copies in memory", copied.step, lambda sess, names: copies.restore(copied, names))


def _saved_step(path: str, name: str) -> int | None:
    """The global step in a checkpoint."""
    try:
        return int(load_variable(path, name))
    except (OpError, ValueError, TypeError):  # it is saved under another name, or not at all
        return None


def restores_everything(graph: Graph, restore: str | None) -> bool:
    """Whether a job that has lost variables restores the others too.  ``restore``: what it was told; None: as its kind does."""
    return restore == "all" or (restore is None and is_synchronous(graph))


def is_synchronous(graph: Graph) -> bool:
    """Whether the values of a job are of one step: what is lost of them is restored together with the rest.

    So they are with a `SyncReplicasOptimizer`, and with `tf.train.replicas` where gradients are gathered.
    """
    return waits_for_tokens(graph) or any(
        op.type == "_Replica" and op.get_attr("gathers") and not op.get_attr("copies") for op in graph.get_operations()
    )


def waits_for_tokens(graph: Graph) -> bool:
    """Whether a `SyncReplicasOptimizer` made some of the graph."""
    return any(op.name.rpartition("/")[2] == "sync_token_q" and "Queue" in op.type for op in graph.get_operations())


def _name(op: Any) -> Any:
    return getattr(op, "name", op)
