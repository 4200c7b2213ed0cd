"""The positions of iterators in checkpoints."""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.library.data.iterator import GLOBAL_ITERATORS, Iterator
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverHook
from headrace.library.train.saver.exact_state import ITERATORS, iterator_state
from headrace.library.train.saver.saveable import SaveableObject
from headrace.library.train.saver.saver import Saver
from headrace.library.train.saver.state_file import latest_checkpoint
from headrace.library.train.session.run_hook import SessionRunHook


def make_saveable_from_iterator(iterator: Any) -> SaveableObject:
    """The position of an iterator as something that a saver saves: all of it, what is shuffled or computed ahead included.

    Restoring moves an iterator that is initialized; one that is not goes on from there when it is initialized.

    Args:
      iterator: An iterator of a dataset.

    Returns:
      An object for the list of a `tf.train.Saver`, or for the collection `tf.GraphKeys.SAVEABLE_OBJECTS`.

    >>> iterator = tf.data.Dataset.range(3).make_initializable_iterator()
    >>> saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"make_saveable_from_iterator needs an iterator of a dataset, got {iterator!r} {at()}")
    resource = iterator._iterator_resource
    return iterator_state(resource, f"{resource.op.name}-iterator_state")


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the positions of all iterators when an estimator saves its model, to files of their own, and goes on from them.

    ``estimator.train(input_fn, hooks=[tf.data.experimental.CheckpointInputPipelineHook(estimator)])``

    Args:
      estimator: The estimator, whose `model_dir` gets the files and whose config says how often to save.

    Example: ``estimator.train(input_fn, hooks=[tf.data.experimental.CheckpointInputPipelineHook(estimator)])``
    """

    def __init__(self, estimator: Any) -> None:
        config = estimator.config
        name = "input"
        if config.num_worker_replicas > 1:  # each worker has input of its own
            name += f"_{config.task_type}_{config.task_id}"
        self._latest_filename = f"checkpoint_{name}"
        self._saves = _InputSaverHook(
            estimator.model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{name}.ckpt",
        )  # fmt: skip

    def begin(self) -> None:
        handles = context.get_default_graph().get_collection(GLOBAL_ITERATORS)
        own = [handle for handle in handles if handle.op.type in ITERATORS]
        if not own:
            raise ValueError(f"CheckpointInputPipelineHook: the graph has no iterators of datasets {at()}")
        saver = Saver([iterator_state(handle, f"{handle.op.name}-iterator_state") for handle in own], sharded=True)
        self._saves.use(saver, self._latest_filename)
        self._saves.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._is_first = True

    def before_run(self, run_context: Any) -> Any:
        # Not before: the hook that begins the iterator may come after this one.
        if self._is_first:
            self._is_first = False
            self._saves.start(run_context.session)
        return self._saves.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._saves.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._saves.end(session)


class _InputSaverHook(CheckpointSaverHook):
    """A saver hook whose checkpoints are listed in a file of their own."""

    def use(self, saver: Saver, latest_filename: str) -> None:
        self._saver, self._latest_filename = saver, latest_filename

    def start(self, session: Any) -> None:
        """Goes on from the newest checkpoint, or saves the first."""
        path = latest_checkpoint(self._checkpoint_dir, self._latest_filename)
        if path is not None:
            self._saver.restore(session, path)
            return
        step = session.run(self._global_step_tensor)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def _save(self, session: Any, step: Any) -> bool:
        self._saver.save(
            session, self._save_path, global_step=step, latest_filename=self._latest_filename, write_meta_graph=False
        )
        return False
