"""fit, evaluate and predict of tf.keras.Model, over all kinds of data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.library.keras.callbacks.callback import CallbackList, History
from headrace.library.keras.callbacks.progress import ProgbarLogger
from headrace.library.keras.training.loop import Totals, run_epoch, run_predictions
from headrace.library.keras.training.source import ArraySource, StreamSource
from headrace.library.keras.training.sources import is_stream, make_source
from headrace.library.keras.utils.progress_bar import Progbar


class Fitting:
    """The loops over batches of a model."""

    stop_training: bool = False
    history: Any = None

    def fit(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, epochs: int = 1, verbose: int = 1,
        callbacks: Any = None, validation_split: float = 0.0, validation_data: Any = None, shuffle: Any = True,
        class_weight: Any = None, sample_weight: Any = None, initial_epoch: int = 0, steps_per_epoch: int | None = None,
        validation_steps: int | None = None, validation_freq: Any = 1, max_queue_size: int = 10, workers: int = 1,
        use_multiprocessing: bool = False, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Trains the model for a number of epochs.

        Args:
          x: The inputs: an array, a list or dict of arrays, a `tf.data` dataset or iterator, a generator or a
            `tf.keras.utils.Sequence`; the last three kinds give batches of (inputs, targets[, sample_weights]).
          y: The labels, if `x` has none: an array, or a list or dict of arrays.
          batch_size: The number of samples of a batch; None for 32.
          epochs: The number of the epoch after the last.
          verbose: 1 for a progress bar, 2 for a line an epoch, 0 for nothing.
          callbacks: A list of `tf.keras.callbacks.Callback`s.
          validation_split: The part of the data, from the end, that is not trained on but evaluated after each epoch.
          validation_data: What is evaluated after each epoch: (x, y), (x, y, sample_weights), a dataset or a generator.
          shuffle: Whether samples are put in a new order before each epoch; "batch" moves whole batches.
          class_weight: A dict of the weights of classes.
          sample_weight: The weight of each sample; of each timestep with the mode "temporal".
          initial_epoch: The number of the first epoch.
          steps_per_epoch: How many batches an epoch has; None for all of the data.
          validation_steps: How many batches are evaluated; None for all.
          validation_freq: After how many epochs to evaluate, or a list of the numbers of epochs.
          max_queue_size: How many batches of a generator or Sequence are made ahead.
          workers: How many threads make batches of a Sequence; 0 for the thread that trains.
          use_multiprocessing: Accepted: threads make the batches, with the same results.
          **kwargs: No further arguments.

        Returns:
          A `tf.keras.callbacks.History`, whose `history` has the figures of each epoch.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile(tf.keras.optimizers.SGD(0.25), 'mse')
        >>> model.fit(np.ones([4, 1]), np.ones([4, 1]), epochs=2, verbose=0).history['loss']
        [1.0, 0.0]
        """
        for key in kwargs:
            raise TypeError(f"Unrecognized keyword argument of `fit`: {key!r} {at()}")
        model: Any = self
        model._compiled_settings()
        source = make_source(
            model, x, y, sample_weight, class_weight, batch_size=batch_size, steps=steps_per_epoch, shuffle=shuffle,
            max_queue_size=max_queue_size, workers=workers, steps_name="steps_per_epoch",
        )  # fmt: skip
        if steps_per_epoch is not None and isinstance(source, ArraySource):
            source.limit(steps_per_epoch)
        validation = None
        if validation_data is not None:
            validation = self._validation_source(validation_data, batch_size, validation_steps, max_queue_size, workers)
        elif validation_split:
            source, validation = _split_source(source, validation_split)
        try:
            return self._run_fit(
                source, validation, epochs, initial_epoch, verbose, callbacks, batch_size, validation_freq
            )
        finally:
            source.close()
            if validation is not None:
                validation.close()

    def _validation_source(
        self, data: Any, batch_size: int | None, steps: int | None, max_queue_size: int, workers: int
    ) -> Any:
        model: Any = self
        if is_stream(data):
            x, y, weights = data, None, None
        elif isinstance(data, (list, tuple)) and len(data) in (2, 3):
            x, y, weights = (*data, None)[:3]
        else:
            raise ValueError(
                "When passing a `validation_data` argument, it must contain either 2 items (x_val, y_val), or 3 items (x_val, "
                f"y_val, val_sample_weights), or be a dataset or an iterator. However we received `validation_data={data!r}` "
                f"{at()}"
            )
        source = make_source(
            model, x, y, weights, batch_size=batch_size, steps=steps, max_queue_size=max_queue_size, workers=workers,
            steps_name="validation_steps",
        )  # fmt: skip
        if steps is not None and isinstance(source, ArraySource):
            source.limit(steps)
        return source

    def _run_fit(
        self, source: Any, validation: Any, epochs: int, initial_epoch: int, verbose: int, callbacks: Any,
        batch_size: int | None, validation_freq: Any,
    ) -> Any:  # fmt: skip
        model: Any = self
        names = model.metrics_names
        by_steps = source.samples is None or source.steps is not None
        shown = [*names, *(f"val_{name}" for name in names)] if validation is not None else list(names)
        told = self._callback_list(callbacks, verbose, by_steps, names)
        told.set_params({
            "batch_size": batch_size or (None if source.samples is None else 32), "epochs": epochs, "steps": source.steps,
            "samples": source.samples, "verbose": verbose, "do_validation": validation is not None, "metrics": shown,
        })  # fmt: skip
        if verbose:
            _announce(source, validation, by_steps)
        if validation is not None and isinstance(validation, ArraySource):
            model._step_for("test", validation.weights)  # made before training begins, so that its plan is made once
        self.stop_training = False
        told.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            model.reset_metrics()
            told.on_epoch_begin(epoch)
            totals = run_epoch(model, source, lambda ws: model._step_for("train", ws), told, "train")
            logs = dict(zip(model.metrics_names, totals.values(), strict=False))
            if validation is not None and _is_due(validation_freq, epoch):
                found = self._evaluate(validation, told)
                logs.update({f"val_{n}": v for n, v in zip(model.metrics_names, found.values(), strict=False)})
            told.on_epoch_end(epoch, logs)
            if self.stop_training or getattr(source, "is_over", False):
                break
        told.on_train_end()
        return self.history

    def _callback_list(self, callbacks: Any, verbose: int, by_steps: bool, names: Sequence[str]) -> CallbackList:
        if isinstance(callbacks, CallbackList):
            return callbacks
        self.history = History()
        listed = list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
        listed.append(self.history)
        if verbose:
            listed.append(ProgbarLogger("steps" if by_steps else "samples", stateful_metrics=names[1:]))
        return CallbackList(listed, self)

    def _evaluate(self, source: Any, callbacks: CallbackList) -> Totals:
        model: Any = self
        model.reset_metrics()
        if isinstance(source, StreamSource):
            source.begin_again()
        callbacks.on_test_begin()
        totals = run_epoch(model, source, lambda ws: model._step_for("test", ws), callbacks, "test")
        callbacks.on_test_end()
        return totals

    def evaluate(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, verbose: int = 1, sample_weight: Any = None,
        steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10, workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:  # fmt: skip
        """The loss and the metrics of the model on data.

        Args:
          x: The inputs, of all kinds that `fit` takes.
          y: The labels, if `x` has none.
          batch_size: The number of samples of a batch; None for 32.
          verbose: 1 for a progress bar, 0 for nothing.
          sample_weight: The weight of each sample.
          steps: How many batches; None for all.
          callbacks: A list of `tf.keras.callbacks.Callback`s.
          max_queue_size: How many batches of a generator or Sequence are made ahead.
          workers: How many threads make batches of a Sequence; 0 for the thread that evaluates.
          use_multiprocessing: Accepted: threads make the batches, with the same results.

        Returns:
          The loss, or a list of it and the metrics in the order of `metrics_names`.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile('sgd', 'mse', metrics=['mae'])
        >>> model.evaluate(np.ones([4, 1]), np.full([4, 1], 2.0), verbose=0)
        [4.0, 2.0]
        """
        model: Any = self
        model._compiled_settings()
        source = make_source(
            model,
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps,
            max_queue_size=max_queue_size,
            workers=workers,
        )
        if steps is not None and isinstance(source, ArraySource):
            source.limit(steps)
        told = CallbackList(callbacks, self)
        if verbose:
            told.append(_Bar(source))
        told.set_params(
            {"steps": source.steps, "samples": source.samples, "verbose": verbose, "metrics": model.metrics_names}
        )
        try:
            values = self._evaluate(source, told).values()
        finally:
            source.close()
        return values[0] if len(values) == 1 else values

    def predict(
        self, x: Any, batch_size: int | None = None, verbose: int = 0, steps: int | None = None, callbacks: Any = None,
        max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False,
    ) -> Any:  # fmt: skip
        """The outputs of the model for data.

        Args:
          x: The inputs, of all kinds that `fit` takes.
          batch_size: The number of samples of a batch; None for 32.
          verbose: 1 for a progress bar, 0 for nothing.
          steps: How many batches; None for all.
          callbacks: A list of `tf.keras.callbacks.Callback`s.
          max_queue_size: How many batches of a generator or Sequence are made ahead.
          workers: How many threads make batches of a Sequence; 0 for the thread that predicts.
          use_multiprocessing: Accepted: threads make the batches, with the same results.

        Returns:
          An array, or a list of arrays for several outputs.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='ones')])
        >>> model.predict(np.ones([2, 1]))
        array([[1.],
               [1.]], dtype=float32)
        """
        model: Any = self
        source = make_source(
            model, x, None, None, batch_size=batch_size, steps=steps, needs_targets=False, max_queue_size=max_queue_size,
            workers=workers,
        )  # fmt: skip
        if steps is not None and isinstance(source, ArraySource):
            source.limit(steps)
        told = CallbackList(callbacks, self)
        if verbose:
            told.append(_Bar(source))
        told.set_params({"steps": source.steps, "samples": source.samples, "verbose": verbose})
        told.on_predict_begin()
        try:
            values = run_predictions(source, lambda xs, ys, ws: model._step_for("predict", ())(xs, ys, ws), told)
        finally:
            source.close()
        told.on_predict_end()
        return values[0] if len(values) == 1 else values

    # ---- the older names for generators

    def fit_generator(
        self, generator: Any, steps_per_epoch: int | None = None, epochs: int = 1, verbose: int = 1,
        callbacks: Any = None, validation_data: Any = None, validation_steps: int | None = None,
        validation_freq: Any = 1, class_weight: Any = None, max_queue_size: int = 10, workers: int = 1,
        use_multiprocessing: bool = False, shuffle: bool = True, initial_epoch: int = 0,
    ) -> Any:  # fmt: skip
        """`fit` on a generator or a `tf.keras.utils.Sequence`.

        Args:
          generator: What gives batches of (inputs, targets[, sample_weights]).
          steps_per_epoch, epochs, verbose, callbacks: Like those of `fit`.
          validation_data, validation_steps, validation_freq: Like those of `fit`.
          class_weight, max_queue_size, workers, use_multiprocessing, shuffle, initial_epoch: Like those of `fit`.

        Returns:
          A `tf.keras.callbacks.History`.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile(tf.keras.optimizers.SGD(0.25), 'mse')
        >>> batches = ((np.ones([4, 1]), np.ones([4, 1])) for _ in range(2))
        >>> model.fit_generator(batches, steps_per_epoch=1, epochs=2, verbose=0).history['loss']
        [1.0, 0.0]
        """
        return self.fit(
            generator, epochs=epochs, verbose=verbose, callbacks=callbacks, validation_data=validation_data,
            shuffle=shuffle, class_weight=class_weight, initial_epoch=initial_epoch, steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps, validation_freq=validation_freq, max_queue_size=max_queue_size,
            workers=workers, use_multiprocessing=use_multiprocessing,
        )  # fmt: skip

    def evaluate_generator(
        self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10,
        workers: int = 1, use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`evaluate` on a generator or a `tf.keras.utils.Sequence`.

        Args:
          generator: What gives batches of (inputs, targets[, sample_weights]).
          steps, callbacks, max_queue_size, workers, use_multiprocessing, verbose: Like those of `evaluate`.

        Returns:
          The loss, or a list of it and the metrics in the order of `metrics_names`.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='zeros')])
        >>> model.compile('sgd', 'mse')
        >>> model.evaluate_generator(iter([(np.ones([4, 1]), np.ones([4, 1]))]), steps=1)
        1.0
        """
        return self.evaluate(
            generator, steps=steps, callbacks=callbacks, max_queue_size=max_queue_size, workers=workers,
            use_multiprocessing=use_multiprocessing, verbose=verbose,
        )  # fmt: skip

    def predict_generator(
        self, generator: Any, steps: int | None = None, callbacks: Any = None, max_queue_size: int = 10,
        workers: int = 1, use_multiprocessing: bool = False, verbose: int = 0,
    ) -> Any:  # fmt: skip
        """`predict` on a generator or a `tf.keras.utils.Sequence`.

        Args:
          generator: What gives batches of inputs, or of (inputs, targets), of which the targets are left out.
          steps, callbacks, max_queue_size, workers, use_multiprocessing, verbose: Like those of `predict`.

        Returns:
          An array, or a list of arrays for several outputs.

        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer='ones')])
        >>> model.predict_generator(iter([np.ones([1, 1]), np.ones([1, 1])]), steps=2)
        array([[1.],
               [1.]], dtype=float32)
        """
        return self.predict(
            generator, steps=steps, callbacks=callbacks, max_queue_size=max_queue_size, workers=workers,
            use_multiprocessing=use_multiprocessing, verbose=verbose,
        )  # fmt: skip


class _Bar(ProgbarLogger):
    """The progress of an evaluation or a prediction."""

    def __init__(self, source: Any) -> None:
        by_steps = source.samples is None or source.steps is not None
        super().__init__("steps" if by_steps else "samples")
        self._target = source.steps if by_steps else source.samples

    def _begin(self, logs: Any = None) -> None:
        self.seen = 0
        self.progbar = Progbar(self._target, unit_name="step" if self.use_steps else "sample")

    def _step(self, batch: int, logs: Any = None) -> None:
        self.seen += 1 if self.use_steps else (logs or {}).get("size", 0)
        self.progbar.update(self.seen)

    def on_test_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_predict_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step(batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step(batch, logs)


def _split_source(source: Any, part: float) -> tuple[Any, Any]:
    """The source of the first samples, and one of the last part."""
    if not isinstance(source, ArraySource):
        raise ValueError(
            f"`validation_split` is only supported for arrays; give validation_data for other kinds of data {at()}"
        )
    if not 0.0 < part < 1.0:
        raise ValueError(f"validation_split must be between 0 and 1, got {part} {at()}")
    return source.split(part)


def _is_due(frequency: Any, epoch: int) -> bool:
    """Whether to evaluate after this epoch."""
    if isinstance(frequency, int):
        if frequency < 1:
            raise ValueError(f"`validation_freq` can not be less than 1, got {frequency} {at()}")
        return (epoch + 1) % frequency == 0
    if isinstance(frequency, (list, tuple, set)):
        return epoch + 1 in frequency
    raise ValueError(f"`validation_freq` must be a whole number or a list of them, got {frequency!r} {at()}")


def _announce(source: Any, validation: Any, by_steps: bool) -> None:
    if by_steps:
        text = f"Train for {'?' if source.steps is None else source.steps} steps"
    else:
        text = f"Train on {source.samples} samples"
    if validation is not None:
        if validation.samples is not None:
            text += f", validate on {validation.samples} samples"
        elif validation.steps is not None:
            text += f", validate for {validation.steps} steps"
    print(text)
