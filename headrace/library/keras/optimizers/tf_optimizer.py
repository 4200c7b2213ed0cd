"""An optimizer of tf.train in the place of one of Keras's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.library.backend.session import track_variable
from headrace.library.scope import init_scope
from headrace.library.state.variable import Variable
from headrace.library.train.optimizer.optimizer import Optimizer


class TFOptimizer:
    """What `Model.compile` makes of an optimizer of `tf.train`, so that it can train a Keras model.

    Args:
      optimizer: An optimizer of `tf.train`.

    >>> wrapped = tf.keras.optimizers.get(tf.train.AdamOptimizer())
    >>> type(wrapped).__name__
    'TFOptimizer'
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._iterations: Any = None
        self._known: set[int] = set()

    @property
    def iterations(self) -> Any:
        """The variable that counts the steps."""
        if self._iterations is None:
            with init_scope():
                self._iterations = Variable(
                    0, dtype=dtypes.int64, trainable=False, name="iterations", use_resource=True
                )
            track_variable(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._iterations = variable

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield "optimizer", self.optimizer
        yield "global_step", self.iterations

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """The operations of one step, in a list."""
        return [self.apply_gradients(self.optimizer.compute_gradients(loss, list(params)))]

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """The gradients of the tensor ``loss`` for each of ``params``."""
        return [grad for grad, _ in self.optimizer.compute_gradients(loss, list(params))]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """Applies gradients to variables and counts the step."""
        done = self.optimizer.apply_gradients(grads_and_vars, global_step=self.iterations, name=name)
        for variable in self.optimizer.variables():
            if id(variable) not in self._known:
                self._known.add(id(variable))
                track_variable(variable)
        return done

    @property
    def weights(self) -> list[Any]:
        raise NotImplementedError(f"an optimizer of tf.train gives its variables by `optimizer.variables()` {at()}")

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError(
            f"{type(self.optimizer).__name__} is an optimizer of tf.train, which has no configuration: compile the model with "
            f"one of tf.keras.optimizers to save it with its optimizer {at()}"
        )
