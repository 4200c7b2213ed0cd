"""Trainer: `compile` of tf.keras.Model, and training, testing and predicting of single batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph import context
from headrace.library import nest
from headrace.library.backend.graph import get_graph
from headrace.library.backend.keras_tensor import is_placeholder
from headrace.library.keras.optimizers import named as optimizers_by_name
from headrace.library.keras.training.arrays import (
    check_lengths,
    check_targets,
    fitted,
    listed,
    target_shape,
    weights_of,
)
from headrace.library.keras.training.compiled import Compiled
from headrace.library.keras.training.distributed import DistributedSteps, strategy_for
from headrace.library.keras.training.ends import find_ends
from headrace.library.keras.training.fitting import Fitting
from headrace.library.keras.training.step import EagerSteps, GraphSteps


class Settings:
    """What `compile` was given, and what was made of it."""

    def __init__(self, optimizer: Any, arguments: dict[str, Any], run_eagerly: bool, strategy: Any) -> None:
        self.optimizer = optimizer
        self.strategy = strategy  # the distribution strategy of several replicas, or None
        self.arguments = arguments
        self.run_eagerly = run_eagerly
        self.trainable: list[Any] | None = None  # the variables that were trainable then
        self.compiled: Compiled | None = None


class Trainer(Fitting):
    """What a model has besides its layers: it is compiled, trained, evaluated, and predicts."""

    inputs: Any
    outputs: Any
    input_names: list[str]
    output_names: list[str]
    trainable_weights: list[Any]
    _settings: Settings | None = None
    _steps_made: Any = None  # (outputs, steps): steps hold for the outputs that the model had then

    def compile(
        self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, loss_weights: Any = None,
        sample_weight_mode: Any = None, weighted_metrics: Any = None, target_tensors: Any = None, distribute: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Says how the model is trained and what is measured.

        Args:
          optimizer: A name, an optimizer of `tf.keras.optimizers`, or one of `tf.train`.
          loss: A name, a function of labels and predictions, or a `tf.keras.losses.Loss`; a list or a dict by names of
            outputs for several outputs, None in it for an output that is not trained.
          metrics: A list of names, functions and `tf.keras.metrics.Metric`s; a dict or a list of lists for several
            outputs. "accuracy" means the accuracy that the loss and the shape of the output call for.
          loss_weights: A list or dict of the factors of the losses of several outputs in the sum that is minimised.
          sample_weight_mode: "temporal" if sample weights are given for each timestep; a list or dict for several outputs.
          weighted_metrics: Metrics that the sample weights and class weights count for.
          target_tensors: Tensors to take the labels from, in place of what `fit` is given.
          distribute: Not supported: must be None.
          **kwargs: `run_eagerly=True` runs each batch as Python code where ops run eagerly.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        >>> model.compile('sgd', loss='mse', metrics=['mae'])
        >>> model.metrics_names
        ['loss', 'mean_absolute_error']
        """
        run_eagerly = bool(kwargs.pop("run_eagerly", False))
        for key in kwargs:
            raise TypeError(f"Invalid keyword argument in `compile`: {key!r} {at()}")
        if distribute is not None:
            raise NotImplementedError(f"`distribute` is not supported in compile {at()}")
        if run_eagerly and not context.executing_eagerly():
            raise ValueError(f"You can only set `run_eagerly` with eager execution enabled {at()}")
        strategy = strategy_for(self)
        arguments = {
            "loss": loss, "metrics": metrics, "loss_weights": loss_weights, "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics, "target_tensors": target_tensors,
        }  # fmt: skip
        settings = Settings(optimizers_by_name.get(optimizer), arguments, run_eagerly, strategy)
        object.__setattr__(self, "_settings", settings)
        self._steps_made = None
        if self.outputs:
            self._complete()

    def _complete(self) -> None:
        """What `compile` does once inputs and outputs are known."""
        settings = self._compiled_settings()
        if settings.compiled is None:
            with get_graph().as_default(), self._scope():
                settings.compiled = Compiled(self, **settings.arguments)
            settings.trainable = list(self.trainable_weights)
            self._steps_made = None  # those of a prediction before

    def _compiled_settings(self) -> Settings:
        if self._settings is None:
            raise RuntimeError(
                "You must compile your model before training or testing it. Use `model.compile(optimizer, loss)`. "
                + at()
            )
        return self._settings

    def _scope(self) -> Any:
        """The scope of the distribution strategy that the model was compiled with."""
        strategy = None if self._settings is None else self._settings.strategy
        return nullcontext() if strategy is None else strategy.scope()

    # ---- what compile has made

    @property
    def optimizer(self) -> Any:
        """The optimizer; None before `compile`."""
        return None if self._settings is None else self._settings.optimizer

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        self._compiled_settings().optimizer = optimizers_by_name.get(value)
        self._steps_made = None

    @property
    def loss(self) -> Any:
        """The loss that `compile` was given."""
        return None if self._settings is None else self._settings.arguments["loss"]

    @property
    def loss_weights(self) -> Any:
        """The factors of the losses that `compile` was given."""
        return None if self._settings is None else self._settings.arguments["loss_weights"]

    @property
    def sample_weight_mode(self) -> Any:
        """The mode of sample weights that `compile` was given."""
        return None if self._settings is None else self._settings.arguments["sample_weight_mode"]

    @property
    def run_eagerly(self) -> bool:
        """Whether each batch runs as Python code."""
        return self._settings is not None and self._settings.run_eagerly

    @property
    def _is_compiled(self) -> bool:
        return self._settings is not None

    @property
    def _collected_trainable_weights(self) -> list[Any]:
        trainable = self._compiled_settings().trainable
        return list(self.trainable_weights) if trainable is None else trainable

    @property
    def metrics(self) -> list[Any]:
        """The metrics that `compile` was given, then those that layers added."""
        compiled = None if self._settings is None else self._settings.compiled
        return [*(compiled.metrics if compiled is not None else []), *super().metrics]  # type: ignore[misc]

    @property
    def metrics_names(self) -> list[str]:
        """The names of what `evaluate` gives: the loss, the losses of several outputs, the metrics."""
        compiled = None if self._settings is None else self._settings.compiled
        losses = compiled.loss_metrics if compiled is not None else []
        return ["loss", *(m.name for m in losses), *(m.name for m in self.metrics)]

    def reset_metrics(self) -> None:
        """Sets all metrics to their beginnings."""
        compiled = None if self._settings is None else self._settings.compiled
        for metric in (*self.metrics, *(compiled.loss_metrics if compiled is not None else ())):
            metric.reset_states()

    # ---- data

    def _feed_inputs(self) -> list[tuple[str, Any]]:
        """The names and tensors of the inputs that are fed."""
        pairs = zip(self.input_names, self.inputs, strict=True)
        return [(n, t) for n, t in pairs if is_placeholder(t) or hasattr(t, "numpy")]

    def _feed_dtypes(self, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
        """What arrays are converted to before they are fed."""
        inputs = [t.dtype.base_dtype.as_numpy_dtype for _, t in self._feed_inputs()]
        if not ys:
            return inputs
        compiled = self._compiled_settings().compiled
        assert compiled is not None
        return inputs + [
            (e.target if e.target is not None else o).dtype.base_dtype.as_numpy_dtype
            for o, e in zip(self.outputs, compiled.endpoints, strict=True)
            if e.loss is not None and not e.given_target
        ]

    def _standardize(
        self, x: Any, y: Any, sample_weight: Any = None, class_weight: Any = None, needs_targets: bool = True,
        whole: bool = True,
    ) -> tuple[list[Any], list[Any], list[Any]]:  # fmt: skip
        """The data as checked lists of arrays; those of one batch (not ``whole``) also as they are fed."""
        if not self.outputs:
            with self._scope():
                find_ends(self, x)
        feeds = self._feed_inputs()
        names = [name for name, _ in feeds]
        if isinstance(x, (tuple, list)) and any(isinstance(one, (tuple, list, dict)) for one in x):
            flat = nest.flatten(x)
            x = flat if all(hasattr(one, "shape") for one in flat) else x
        xs = fitted(listed(x, names, "input"), names, [t.shape.tuple for _, t in feeds], "input")
        ys: list[Any] = []
        ws: list[Any] = []
        if needs_targets:
            ys, ws = self._standardize_targets(y, sample_weight, class_weight)
        check_lengths(xs, ys, ws)
        if not whole:
            dtypes = self._feed_dtypes(xs, ys)
            fed = [np.asarray(a, dtype) for a, dtype in zip([*xs, *ys], dtypes, strict=True)]
            xs, ys = fed[: len(xs)], fed[len(xs) :]
        return xs, ys, ws

    def _standardize_targets(self, y: Any, sample_weight: Any, class_weight: Any) -> tuple[list[Any], list[Any]]:
        self._complete()
        compiled = self._compiled_settings().compiled
        assert compiled is not None
        pairs = [
            (e, o)
            for e, o in zip(compiled.endpoints, self.outputs, strict=True)
            if e.loss is not None and not e.given_target
        ]
        endpoints, outputs = [e for e, _ in pairs], [o for _, o in pairs]
        names = [e.name for e in endpoints]
        if y is None and names:
            raise ValueError(f"The model is trained on {names}: `y` must be given, with labels for them {at()}")
        if isinstance(y, dict) and len(names) < len(self.output_names):
            y = {name: y[name] for name in names if name in y}
        ys = listed(y, names, "target")
        check_targets(ys, endpoints, outputs)
        ys = fitted(ys, names, [target_shape(e, o) for e, o in pairs], "target")
        ws = weights_of(ys, endpoints, sample_weight, class_weight)
        given = iter(ws)
        return ys, [None if e.given_target else next(given) for e in compiled.trained]

    # ---- steps

    def _steps(self) -> Any:
        """What makes the steps for the outputs that the model has now."""
        key = [id(t) for t in self.outputs]
        if self._steps_made is None or self._steps_made.key != key:
            compiled = None if self._settings is None else self._settings.compiled
            strategy = None if self._settings is None else self._settings.strategy
            if strategy is not None:
                made: Any = DistributedSteps(self, compiled, strategy)
            elif context.executing_eagerly():
                made = EagerSteps(self, compiled, self.run_eagerly)
            else:
                made = GraphSteps(self, compiled)
            made.key = key
            object.__setattr__(self, "_steps_made", made)
        return self._steps_made

    def _step_for(self, mode: str, ws: Sequence[Any]) -> Any:
        return self._steps().get(mode, tuple(w is not None for w in ws))

    # ---- single batches

    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """Takes one training step.

        Args:
          x: The inputs of the batch: an array, or a list or dict of arrays.
          y: The labels, likewise.
          sample_weight: The weight of each sample.
          class_weight: A dict of the weights of classes.
          reset_metrics: Whether the metrics are of this batch only.

        Returns:
          The loss, or a list of it and the metrics in the order of `metrics_names`.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile('sgd', 'mse')
        >>> model.train_on_batch(np.ones([4, 1]), np.ones([4, 1]))
        1.0
        """
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True) -> Any:
        """The loss and metrics of one batch.

        Args:
          x: The inputs of the batch: an array, or a list or dict of arrays.
          y: The labels, likewise.
          sample_weight: The weight of each sample.
          reset_metrics: Whether the metrics are of this batch only.

        Returns:
          The loss, or a list of it and the metrics in the order of `metrics_names`.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile('sgd', 'mse')
        >>> model.test_on_batch(np.ones([4, 1]), np.ones([4, 1]))
        1.0
        """
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics)

    def _on_batch(self, mode: str, x: Any, y: Any, sample_weight: Any, class_weight: Any, reset_metrics: bool) -> Any:
        self._compiled_settings()
        xs, ys, ws = self._standardize(x, y, sample_weight, class_weight, whole=False)
        values = [float(v) for v in self._step_for(mode, ws)(xs, ys, ws)]
        if reset_metrics:
            self.reset_metrics()
        return values[0] if len(values) == 1 else values

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch.

        Args:
          x: The inputs of the batch: an array, or a list or dict of arrays.

        Returns:
          An array, or a list of arrays for several outputs.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='ones')])
        >>> model.predict_on_batch(np.ones([2, 1]))
        array([[1.],
               [1.]], dtype=float32)
        """
        xs, _, _ = self._standardize(x, None, needs_targets=False, whole=False)
        values = self._step_for("predict", ())(xs, (), ())
        return values[0] if len(values) == 1 else values
