"""The base class of callbacks, the list of them that a training calls, and the history that `fit` returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Logs = dict[str, Any] | None


class Callback:
    """Base class of callbacks: a subclass overrides the methods of the moments it wants to hear of.

    `self.model` is the model, `self.params` describes the run (`epochs`, `steps`, `samples`, `batch_size`, `metrics` ...).
    `logs` has the figures so far: of a batch, or of an epoch.

    >>> class Losses(tf.keras.callbacks.Callback):
    ...     def on_train_begin(self, logs=None):
    ...         self.losses = []
    ...     def on_batch_end(self, batch, logs=None):
    ...         self.losses.append(logs['loss'])
    """

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Called once before training, with what is known of the run."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called once before training, with the model."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called before each batch of training."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called after each batch of training."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Called before each epoch."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Called after each epoch and its validation."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called before each batch of training; calls `on_batch_begin`."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called after each batch of training; calls `on_batch_end`."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called before each batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called after each batch of an evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called before each batch of a prediction."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called after each batch of a prediction."""

    def on_train_begin(self, logs: Logs = None) -> None:
        """Called before the first epoch."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Called after the last epoch."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """Called before an evaluation."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Called after an evaluation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Called before a prediction."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Called after a prediction."""


_OF_BATCH = {
    ("train", "begin"): ("on_train_batch_begin", "on_batch_begin"),
    ("train", "end"): ("on_train_batch_end", "on_batch_end"),
    ("test", "begin"): ("on_test_batch_begin",),
    ("test", "end"): ("on_test_batch_end",),
    ("predict", "begin"): ("on_predict_batch_begin",),
    ("predict", "end"): ("on_predict_batch_end",),
}


class CallbackList:
    """Several callbacks as one; a callback hears of batches only if it overrides a method for them.

    Args:
      callbacks: The callbacks, called in this order.
      model: The model that they are to know.

    >>> class Ends(tf.keras.callbacks.Callback):
    ...     def on_train_end(self, logs=None):
    ...         print('over')
    >>> tf.keras.callbacks.CallbackList([Ends()]).on_train_end()
    over
    """

    def __init__(self, callbacks: Iterable[Any] | None = None, model: Any = None) -> None:
        self.callbacks: list[Any] = list(callbacks or ())
        self.model = model
        self.params: dict[str, Any] = {}
        if model is not None:
            self.set_model(model)

    def append(self, callback: Any) -> None:
        """Adds a callback at the end."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Tells all callbacks what is known of the run."""
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tells all callbacks the model."""
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def for_batches(self, mode: str, when: str) -> list[Any]:
        """The methods to call at the ``when`` ("begin" or "end") of each batch of "train", "test" or "predict"."""
        names = _OF_BATCH[mode, when]
        wanting = (c for c in self.callbacks if any(_overrides(c, name) for name in names))
        return [getattr(callback, names[0]) for callback in wanting]

    def _tell(self, method: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, method)(*args)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Tells all callbacks that an epoch begins."""
        self._tell("on_epoch_begin", epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Tells all callbacks that an epoch is over."""
        self._tell("on_epoch_end", epoch, logs or {})

    def on_train_begin(self, logs: Logs = None) -> None:
        """Tells all callbacks that training begins."""
        self._tell("on_train_begin", logs or {})

    def on_train_end(self, logs: Logs = None) -> None:
        """Tells all callbacks that training is over."""
        self._tell("on_train_end", logs or {})

    def on_test_begin(self, logs: Logs = None) -> None:
        """Tells all callbacks that an evaluation begins."""
        self._tell("on_test_begin", logs or {})

    def on_test_end(self, logs: Logs = None) -> None:
        """Tells all callbacks that an evaluation is over."""
        self._tell("on_test_end", logs or {})

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Tells all callbacks that a prediction begins."""
        self._tell("on_predict_begin", logs or {})

    def on_predict_end(self, logs: Logs = None) -> None:
        """Tells all callbacks that a prediction is over."""
        self._tell("on_predict_end", logs or {})

    def __iter__(self) -> Any:
        return iter(self.callbacks)


def _overrides(callback: Any, name: str) -> bool:
    return getattr(type(callback), name, None) is not getattr(Callback, name) or name in vars(callback)


class History(Callback):
    """What `fit` returns: `history` has the figures of each epoch by name, `epoch` the numbers of the epochs.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    >>> model.compile('sgd', 'mse')
    >>> history = model.fit(np.ones([4, 1]), np.ones([4, 1]), epochs=2, verbose=0)
    >>> history.epoch, len(history.history['loss'])
    ([0, 1], 2)
    """

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class BaseLogger(Callback):
    """Puts the mean of the figures of all batches into the logs of an epoch, for callbacks of one's own loops.

    Args:
      stateful_metrics: Names of figures that are means already: of these the last is taken.
    """

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        logs = logs or {}
        size = logs.get("size", 0) * logs.get("num_steps", 1)
        self.seen += size
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs is None:
            return
        for name in self.params.get("metrics", ()):
            if name in self.totals:
                stateful = name in self.stateful_metrics
                logs[name] = self.totals[name] if stateful else self.totals[name] / max(self.seen, 1)


class LambdaCallback(Callback):
    """A callback made of functions.

    Args:
      on_epoch_begin, on_epoch_end: Functions of the number of the epoch and the logs.
      on_batch_begin, on_batch_end: Functions of the number of the batch and the logs.
      on_train_begin, on_train_end: Functions of the logs.
      **kwargs: Further methods of `Callback` by name.

    >>> say = tf.keras.callbacks.LambdaCallback(on_train_end=lambda logs: print('over'))
    >>> say.on_train_end({})
    over
    """

    def __init__(
        self, on_epoch_begin: Any = None, on_epoch_end: Any = None, on_batch_begin: Any = None, on_batch_end: Any = None,
        on_train_begin: Any = None, on_train_end: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end,
        }  # fmt: skip
        self.__dict__.update(kwargs)
        self.__dict__.update({name: function for name, function in given.items() if function is not None})
