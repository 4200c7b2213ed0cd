"""``TPUEstimator``: an ``Estimator`` that tells its functions the size of batches, for programs that also run on TPUs."""

from __future__ import annotations

from typing import Any

from headrace.core import event
from headrace.core.source import at
from headrace.library import log
from headrace.library.estimator.estimator import Estimator
from headrace.library.estimator.mode_keys import ModeKeys
from headrace.library.estimator.tpu.run_config import RunConfig, check_positive
from headrace.library.estimator.tpu.spec import TPUEstimatorSpec
from headrace.library.estimator.user_function import arguments, where_defined
from headrace.library.scope import device
from headrace.library.train.hook.step_counter import StepCounterHook
from headrace.library.train.session.run_hook import SessionRunHook

_RESERVED = ("batch_size", "context")


class TPUEstimator(Estimator):
    """An `tf.estimator.Estimator` for programs that also run on TPUs; here it runs on CPUs and GPUs, with ``use_tpu=False``.

    The model function and the input functions must name ``params``, in which they find ``batch_size``, the one of the mode.  The
    model function also finds ``use_tpu``, which is False, and may return a `tf.contrib.tpu.TPUEstimatorSpec`.

    Args:
      model_fn: The function that builds the model.
      model_dir: The folder of the checkpoints; None for that of `config`, or a temporary one.
      config: A `tf.contrib.tpu.RunConfig`.
      params: A dict, or an object with the method ``set_hparam``, without "batch_size" and "context".
      use_tpu: Whether to run on TPUs; must be False.
      train_batch_size: The size of the batches in training, or None.
      eval_batch_size: The size of the batches in evaluation, or None.
      predict_batch_size: The size of the batches in prediction, or None.
      batch_axis: The axis of the batch in each input of a TPU; not used.
      eval_on_tpu: Whether TPUs evaluate; not used.
      export_to_tpu: Whether an exported model also has a graph for TPUs; not used.
      export_to_cpu: Whether an exported model has a graph for CPUs; must be True.
      warm_start_from: A checkpoint, or a `tf.estimator.WarmStartSettings`, for the first values; None for none.
      embedding_config_spec: Embeddings on TPUs; must be None.
      export_saved_model_api_version: How models for TPUs are exported; not used.

    >>> def model_fn(features, labels, mode, params):
    ...     y = tf.get_variable("w", [], initializer=tf.ones_initializer()) * features["x"]
    ...     return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"y": y})
    >>> def input_fn(params):
    ...     return tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0, 3.0]}).batch(params["batch_size"])
    >>> config = tf.contrib.tpu.RunConfig()
    >>> estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=False, predict_batch_size=2)
    >>> [float(one["y"]) for one in estimator.predict(input_fn)]
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self, model_fn: Any = None, model_dir: Any = None, config: Any = None, params: Any = None, use_tpu: bool = True,
        train_batch_size: int | None = None, eval_batch_size: int | None = None,
        predict_batch_size: int | None = None, batch_axis: Any = None, eval_on_tpu: bool = True,
        export_to_tpu: bool = True, export_to_cpu: bool = True, warm_start_from: Any = None,
        embedding_config_spec: Any = None, export_saved_model_api_version: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(config, RunConfig):
            raise ValueError(f"`config` must be provided with type tf.contrib.tpu.RunConfig, got {config!r} {at()}")
        if use_tpu or embedding_config_spec is not None or not export_to_cpu:
            raise ValueError(
                "Headrace runs where PyTorch runs, on CPUs and GPUs, and not on TPUs: pass use_tpu=False, "
                f"embedding_config_spec=None and export_to_cpu=True, got use_tpu={use_tpu!r}, "
                f"embedding_config_spec={embedding_config_spec!r}, export_to_cpu={export_to_cpu!r} {at()}"
            )
        reserved = [name for name in _RESERVED if params is not None and name in params]
        if reserved:
            raise ValueError(f"{list(_RESERVED)} are reserved keys but {reserved} are in params {params} {at()}")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size, ModeKeys.PREDICT: predict_batch_size,
        }  # fmt: skip
        for mode, size in self._batch_sizes.items():
            if size is not None:
                check_positive(f"the batch size of {mode}", size)
        self._log_steps = config.log_step_count_steps
        super().__init__(model_fn, model_dir, config.replace(log_step_count_steps=None), params, warm_start_from)
        _check_takes_params("model_fn", model_fn)

    # ---- what its functions are called with

    def _call_input_fn(self, input_fn: Any, mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        _check_takes_params("input_fn", input_fn)
        with device("/device:CPU:0"):
            return super()._call_input_fn(input_fn, mode)

    def _input_params(self, mode: str) -> Any:
        return _with(self.params, batch_size=self._batch_sizes[mode])

    def _model_params(self, mode: str, is_export: bool) -> Any:
        if is_export:  # requests come in batches of any size
            return _with(self.params, use_tpu=False)
        size = self._batch_sizes[mode]
        return _with(self.params, use_tpu=False) if size is None else _with(self.params, use_tpu=False, batch_size=size)

    def _plain_spec(self, spec: Any) -> Any:
        """The spec for the loops of every estimator, with the log that takes the place of theirs."""
        if isinstance(spec, TPUEstimatorSpec):
            spec = spec.as_estimator_spec()
        if getattr(spec, "mode", None) != ModeKeys.TRAIN or self._log_steps is None:
            return spec
        log.info("Running %s on CPU", spec.mode)
        hook = _ExamplesPerSecondHook(self._batch_sizes[ModeKeys.TRAIN], self._log_steps, self.model_dir)
        return spec._replace(training_hooks=(*spec.training_hooks, hook))


class _ExamplesPerSecondHook(StepCounterHook):
    """Logs steps per second and examples per second, and writes both as summaries."""

    def __init__(self, batch_size: int | None, every_n_steps: int, output_dir: str) -> None:
        super().__init__(every_n_steps, output_dir=output_dir)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_time: float, elapsed_steps: Any, global_step: Any) -> None:
        super()._log_and_record(elapsed_time, elapsed_steps, global_step)
        if self._batch_size is None:
            return
        per_second = self._batch_size * elapsed_steps / elapsed_time
        log.info("examples/sec: %g", per_second)
        if self._summary_writer is not None:
            self._summary_writer.add_summary(event.scalar(b"examples/sec", per_second), global_step)


def _check_takes_params(name: str, function: Any) -> None:
    if callable(function) and "params" not in arguments(function):
        raise ValueError(
            f"{name} {where_defined(function)} does not include params argument, required by TPUEstimator to pass batch size as "
            f'params["batch_size"] {at()}'
        )


def _with(params: Any, **values: Any) -> Any:
    """The parameters, which are a copy, with these too."""
    for name, value in values.items():
        if not hasattr(params, "set_hparam"):
            params[name] = value
        elif name in params:
            params.set_hparam(name, value)
        else:
            params.add_hparam(name, value)
    return params
