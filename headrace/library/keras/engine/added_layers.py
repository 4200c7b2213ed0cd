"""Layers that stand in a model's graph for a loss or a metric that was added to the model."""

from __future__ import annotations

from typing import Any

from headrace.library.layers.base_layer import Layer


class AddLoss(Layer):
    """Adds its input to the losses.

    Args:
      unconditional: Whether the loss does not depend on the inputs of the model.
      **kwargs: Arguments of `tf.keras.layers.Layer`.
    """

    def __init__(self, unconditional: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        """Adds the loss and hands it on."""
        self.add_loss(inputs, inputs=None if self.unconditional else inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Reports its input as a metric.

    Args:
      aggregation: "mean", or None if the input is a metric's result.
      metric_name: The name to report it under.
      **kwargs: Arguments of `tf.keras.layers.Layer`.
    """

    def __init__(self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation = aggregation
        self.metric_name = metric_name

    def call(self, inputs: Any) -> Any:  # type: ignore[override]
        """Adds the metric and hands its value on."""
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one."""
        return {**super().get_config(), "aggregation": self.aggregation, "metric_name": self.metric_name}
