"""``tf.estimator.Estimator``: a model function with a folder for its checkpoints, and the ways to run it."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from headrace.core.config import ConfigProto
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.estimator import distributed, evaluation_loop, prediction, saved_model_export, training_loop
from headrace.library.estimator.estimator_spec import EstimatorSpec, checked_hooks
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.estimator.run_config import RunConfig
from headrace.library.estimator.user_function import call_input_fn, call_model_fn, check_model_fn
from headrace.library.estimator.warm_start import checked_settings, start_from
from headrace.library.numeric.random import set_random_seed
from headrace.library.state.global_step import create_global_step
from headrace.library.train.hook.checkpoint_saver import CheckpointSaverListener
from headrace.library.train.hook.step import StopAtStepHook
from headrace.library.train.replica.device_setter import replica_device_setter
from headrace.library.train.saver.reader import load_checkpoint
from headrace.library.train.saver.state_file import latest_checkpoint
from headrace.library.train.session.monitored_session import MonitoredSession
from headrace.library.train.session.run_hook import SessionRunHook
from headrace.library.train.session.session_creator import ChiefSessionCreator


class Estimator:
    """A model, described by ``model_fn(features, labels, mode, params, config)``, and its checkpoints in ``model_dir``.

    ``model_fn`` names the arguments it wants, ``features`` at least, and returns an `EstimatorSpec`.  Every call of ``train``,
    ``evaluate`` and ``predict`` builds the graph again and takes the variables from the newest checkpoint.

    Args:
      model_fn: The function that builds the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      config: A `tf.estimator.RunConfig`; None for the default one.
      params: What `model_fn` gets as ``params``; None for an empty dict.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.

    >>> def model_fn(features, labels, mode):
    ...     w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    ...     predictions = w * features["x"]
    ...     if mode == tf.estimator.ModeKeys.PREDICT:
    ...         return tf.estimator.EstimatorSpec(mode, predictions={"y": predictions})
    ...     loss = tf.losses.mean_squared_error(labels, predictions)
    ...     train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    >>> x, y = {"x": np.array([1.0, 2.0], np.float32)}, np.array([3.0, 6.0], np.float32)
    >>> estimator = tf.estimator.Estimator(model_fn)
    >>> _ = estimator.train(tf.estimator.inputs.numpy_input_fn(x, y, num_epochs=None, shuffle=False), steps=50)
    >>> [round(float(p["y"]), 3) for p in estimator.predict(tf.estimator.inputs.numpy_input_fn(x, shuffle=False))]
    [3.0, 6.0]
    >>> tf.summary.FileWriterCache.clear()
    """

    def __init__(
        self, model_fn: Callable[..., Any], model_dir: Any = None, config: Any = None, params: Any = None,
        warm_start_from: Any = None,
    ) -> None:  # fmt: skip
        _check_not_overridden(self)
        check_model_fn(model_fn, params)
        self._config = _configured(config, model_dir)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = checked_settings(warm_start_from)
        self._session_config = self._config.session_config or _session_config(self._config)
        log.info("Using config: %s", self._config)

    # ---- what it is

    @property
    def model_dir(self) -> str:
        """The folder of its checkpoints and summaries."""
        assert self._config.model_dir is not None
        return self._config.model_dir

    @property
    def config(self) -> RunConfig:
        """The `tf.estimator.RunConfig`, with the model's folder."""
        return self._config

    @property
    def params(self) -> Any:
        """A copy of what the model function gets as ``params``."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function as ``model_fn(features, labels, mode, config)``, ``params`` filled in."""

        def public_model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of evaluations with this name."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, or None."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint."""
        self._check_trained("get_variable_names")
        return sorted(load_checkpoint(self.model_dir).get_variable_to_shape_map())

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint."""
        self._check_trained("get_variable_value")
        return load_checkpoint(self.model_dir).get_tensor(name.removesuffix(":0"))

    # ---- running it

    def train(
        self, input_fn: Any, hooks: Any = None, steps: int | None = None, max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Estimator:  # fmt: skip
        """Trains from the newest checkpoint on: ``steps`` more steps, up to step ``max_steps``, or until the input ends."""
        _check_steps(steps, max_steps)
        own_hooks = list(checked_hooks("hooks", hooks))
        listeners = checked_listeners(saving_listeners)
        if max_steps is not None:
            done = self._global_step()
            if done >= max_steps:
                log.info("Skipping training since max_steps has already saved.")
                return self
        if steps is not None or max_steps is not None:
            own_hooks.append(StopAtStepHook(steps, max_steps))
        strategy = self._config.train_distribute
        device_fn = self._config.device_fn or (None if strategy else _replica_device_setter(self._config))
        with self._graph(device_fn, strategy):
            spec, _, input_hooks = self._called(strategy, input_fn, ModeKeys.TRAIN)
            own_hooks += input_hooks
            if self._warm_start_settings is not None and self.latest_checkpoint() is None:
                start_from(self._warm_start_settings)
            loss = training_loop.train(spec, self._config, self.model_dir, self._session_config, own_hooks, listeners)
        log.info("Loss for final step: %s.", loss)
        return self

    def evaluate(
        self, input_fn: Any, steps: int | None = None, hooks: Any = None, checkpoint_path: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The metrics over ``steps`` batches, or over all input: a dictionary with ``loss`` and ``global_step``.

        They are also written as summaries to ``eval_dir(name)``.
        """
        _check_steps(steps, None)
        own_hooks = list(checked_hooks("hooks", hooks))
        if steps is not None:
            own_hooks.append(evaluation_loop.StopAfterNEvalsHook(steps))
        checkpoint_path = self._checkpoint(checkpoint_path, "evaluate")
        strategy = self._config.eval_distribute
        with self._graph(strategy=strategy):
            spec, loss_metric, input_hooks = self._called(strategy, input_fn, ModeKeys.EVAL)
            own_hooks += input_hooks
            master = self._config.evaluation_master
            results = evaluation_loop.evaluate(
                spec, checkpoint_path, master, self._session_config, own_hooks, loss_metric
            )
        evaluation_loop.write_summary(self.eval_dir(name), results)
        return results

    def predict(
        self, input_fn: Any, predict_keys: Any = None, hooks: Any = None, checkpoint_path: Any = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """Yields what the model says of each example, or with ``yield_single_examples=False`` of each batch."""
        own_hooks = list(checked_hooks("hooks", hooks))
        checkpoint_path = self._checkpoint(checkpoint_path, "predict")
        with self._graph():
            features, _, input_hooks = self._call_input_fn(input_fn, ModeKeys.PREDICT)
            if not input_hooks:
                prediction.warn_of_endless_input()
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self._config)
            tensors = prediction.checked_predictions(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                scaffold=spec.scaffold, checkpoint_filename_with_path=checkpoint_path, master=self._config.master,
                config=self._session_config,
            )  # fmt: skip
            session = MonitoredSession(creator, hooks=[*own_hooks, *input_hooks, *spec.prediction_hooks])
        # The graph is no longer the default one: the caller's own goes on between two examples.
        yield from prediction.predict(session, tensors, yield_single_examples)

    # ---- exporting it

    def export_saved_model(
        self, export_dir_base: Any, serving_input_receiver_fn: Any, assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False, checkpoint_path: Any = None, experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:  # fmt: skip
        """Writes a SavedModel to a new folder, named by the time, below ``export_dir_base``; returns its path.

        ``serving_input_receiver_fn`` makes the placeholders that requests are fed to, see ``tf.estimator.export``.
        """
        if experimental_mode != ModeKeys.PREDICT:
            raise NotImplementedError(
                f"export_saved_model(experimental_mode={experimental_mode!r}) is not supported: only ModeKeys.PREDICT is {at()}"
            )
        return self.export_savedmodel(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, strip_default_attrs=True
        )

    def export_savedmodel(
        self, export_dir_base: Any, serving_input_receiver_fn: Any, assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False, checkpoint_path: Any = None, strip_default_attrs: bool = False,
    ) -> bytes:  # fmt: skip
        """The older name of ``export_saved_model``."""
        if not callable(serving_input_receiver_fn):
            raise ValueError(f"serving_input_receiver_fn must be a function, got {serving_input_receiver_fn!r} {at()}")
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError(f"Couldn't find trained model at {self.model_dir}: train it before the export {at()}")
        with self._graph():
            receiver = saved_model_export.checked_receiver(serving_input_receiver_fn())
            spec = self._call_model_fn(receiver.features, None, ModeKeys.PREDICT, self._config, is_export=True)
            return saved_model_export.export(
                spec, receiver, os.fspath(path), export_dir_base, assets_extra, as_text, strip_default_attrs,
                self._session_config,
            )  # fmt: skip

    # ---- parts

    @contextmanager
    def _graph(self, device_fn: Any = None, strategy: Any = None) -> Iterator[Graph]:
        """A new default graph, with the global step; in the scope of the strategy, if there is one."""
        graph = Graph()
        with ExitStack() as scopes:
            scopes.enter_context(graph.as_default())
            scopes.enter_context(graph.device(device_fn or self._config.device_fn))
            if strategy is not None:
                scopes.enter_context(strategy.scope())
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            yield graph

    def _called(self, strategy: Any, input_fn: Any, mode: str) -> tuple[EstimatorSpec, Any, list[SessionRunHook]]:
        """(spec, metric of the loss or None, hooks) of the model with its input, in all replicas if there are several."""
        if strategy is not None:
            params = self._input_params(mode)
            return distributed.call_replicas(strategy, input_fn, self._call_model_fn, mode, params, self._config)
        features, labels, hooks = self._call_input_fn(input_fn, mode)
        return self._call_model_fn(features, labels, mode, self._config), None, hooks

    def _call_input_fn(self, input_fn: Any, mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        return call_input_fn(input_fn, mode, self._input_params(mode), self._config)

    def _call_model_fn(
        self, features: Any, labels: Any, mode: str, config: RunConfig, is_export: bool = False
    ) -> EstimatorSpec:
        log.info("Calling model_fn.")
        params = self._model_params(mode, is_export)
        spec = call_model_fn(self._model_fn, features, labels, mode, params, config, self._plain_spec)
        log.info("Done calling model_fn.")
        return spec

    def _input_params(self, mode: str) -> Any:
        """What an input function gets as ``params``."""
        return self.params

    def _model_params(self, mode: str, is_export: bool) -> Any:
        """What the model function gets as ``params``."""
        return self.params

    def _plain_spec(self, spec: Any) -> Any:
        """The `EstimatorSpec` for what the model function returned."""
        return spec

    def _global_step(self) -> int:
        """The global step of the newest checkpoint, 0 if there is none."""
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_checkpoint(path).get_tensor("global_step"))

    def _checkpoint(self, path: Any, doing: str) -> str | None:
        path = path or self.latest_checkpoint()
        if path is None:
            log.warning(
                "Could not find trained model in model_dir: %s, running initialization to %s.", self.model_dir, doing
            )
            return None
        return os.fspath(path)

    def _check_trained(self, method: str) -> None:
        if self.latest_checkpoint() is None:
            raise ValueError(f"{method}: could not find trained model in model_dir: {self.model_dir} {at()}")


_PROTECTED = (
    "train", "evaluate", "predict", "export_savedmodel", "export_saved_model", "get_variable_names", "get_variable_value",
    "latest_checkpoint", "eval_dir", "model_dir", "config", "params", "model_fn",
)  # fmt: skip


def _check_not_overridden(estimator: Estimator) -> None:
    changed = [name for name in _PROTECTED if getattr(type(estimator), name) is not getattr(Estimator, name)]
    if changed:
        raise ValueError(
            f"Subclasses of Estimator cannot override members of Estimator. {type(estimator).__name__} does override "
            f"{changed} {at()}"
        )


def _session_config(config: RunConfig) -> ConfigProto:
    """How sessions run.  In a cluster a task works with the parameter servers only, so that it need not wait for others."""
    filters: list[str] = []
    if config.cluster_spec:
        own = f"/job:{config.task_type}/task:{config.task_id}"
        filters = ["/job:ps", own] if config.num_ps_replicas else [own]
    return ConfigProto(allow_soft_placement=True, device_filters=filters)


def _replica_device_setter(config: RunConfig) -> Any:
    """What puts variables on parameter servers in training; None where there are none."""
    if not config.num_ps_replicas:
        return None
    own = f"/job:{config.task_type}/task:{config.task_id}"
    return replica_device_setter(config.num_ps_replicas, worker_device=own, cluster=config.cluster_spec)


def _configured(config: Any, model_dir: Any) -> RunConfig:
    """The configuration with the folder in it: the one of the two that is given, or a temporary one."""
    if config is None:
        config = RunConfig()
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`. Received {config!r} {at()}")
    folder = None if model_dir is None else os.fspath(model_dir)
    if folder is not None and config.model_dir is not None and folder != config.model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"'{folder}', in `RunConfig`: '{config.model_dir}' {at()}"
        )
    folder = folder or config.model_dir
    if folder is None:
        folder = tempfile.mkdtemp()
        log.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=folder)


def _check_steps(steps: Any, max_steps: Any) -> None:
    if steps is not None and max_steps is not None:
        raise ValueError(
            f"Can not provide both steps and max_steps: got steps={steps!r}, max_steps={max_steps!r} {at()}"
        )
    for name, value in (("steps", steps), ("max_steps", max_steps)):
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__") or value <= 0):
            raise ValueError(f"Must specify {name} > 0, a whole number, given: {value!r} {at()}")


def checked_listeners(listeners: Any) -> Sequence[CheckpointSaverListener]:
    """The listeners as a tuple; TypeError for anything else among them."""
    for listener in listeners or ():
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener!r} in the list {at()}"
            )
    return tuple(listeners or ())
