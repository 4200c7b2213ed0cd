"""Compiled: all that `compile` has decided, applied to the outputs of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph import context
from headrace.library.backend.keras_tensor import placeholder
from headrace.library.keras.training import endpoint as ends
from headrace.library.keras.training.endpoint import Endpoint
from headrace.library.numeric import math
from headrace.library.scope import name_scope

_TEMPORAL_MODES = (None, "temporal")


class Compiled:
    """The losses, weights and metrics of a model's outputs."""

    def __init__(
        self, model: Any, loss: Any, metrics: Any, loss_weights: Any, sample_weight_mode: Any, weighted_metrics: Any,
        target_tensors: Any,
    ) -> None:  # fmt: skip
        names = model.output_names
        self.model = model
        self.endpoints: list[Endpoint] = []
        modes = ends.per_output("sample_weight_mode", sample_weight_mode, names, None)
        for mode in modes:
            if mode not in _TEMPORAL_MODES:
                raise ValueError(f'Invalid sample_weight_mode {mode!r}: expected None or "temporal" {at()}')
        weights = ends.per_output("loss_weights", loss_weights, names, 1.0)
        targets = self._targets(target_tensors, names)
        for name, one, weight, mode, target in zip(
            names, ends.losses_for(loss, names), weights, modes, targets, strict=True
        ):
            self.endpoints.append(Endpoint(name, one, 1.0 if weight is None else weight, mode, target))
        self._add_metrics(ends.metrics_for(metrics, names), ends.metrics_for(weighted_metrics, names))

    def _targets(self, given: Any, names: Sequence[str]) -> list[Any]:
        if given is None or (isinstance(given, (list, tuple)) and not given):
            return [None] * len(names)
        if context.executing_eagerly():
            raise ValueError(f"target_tensors argument is not supported when running a model eagerly {at()}")
        if not isinstance(given, (list, tuple, dict)):
            given = [given]
        return ends.per_output("target_tensors", given, names, None)

    def _add_metrics(self, metrics: list[list[Any]], weighted_metrics: list[list[Any]]) -> None:
        outputs = self.model.outputs
        several = len(self.trained) > 1
        for endpoint, output, asked, asked_weighted in zip(
            self.endpoints, outputs, metrics, weighted_metrics, strict=True
        ):
            if endpoint.loss is None:
                continue
            shape = output.shape.tuple
            endpoint.metrics = ends.metric_objects(asked, shape, endpoint.loss, weighted=False)
            endpoint.weighted_metrics = ends.metric_objects(asked_weighted, shape, endpoint.loss, weighted=True)
            if several:
                endpoint.loss_metric = ends.loss_mean(endpoint)
        ends.unique_metric_names(self.endpoints)

    @property
    def trained(self) -> list[Endpoint]:
        """The outputs that have a loss."""
        return [endpoint for endpoint in self.endpoints if endpoint.loss is not None]

    @property
    def metrics(self) -> list[Any]:
        """The metrics of all outputs."""
        return [m for endpoint in self.endpoints for m in (*endpoint.metrics, *endpoint.weighted_metrics)]

    @property
    def loss_metrics(self) -> list[Any]:
        """The metrics that show the losses of several outputs."""
        return [endpoint.loss_metric for endpoint in self.endpoints if endpoint.loss_metric is not None]

    # ---- in a graph

    def placeholders(self, weighted: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """The targets and sample weights of the outputs that are trained; None where there are no weights."""
        targets, weights = [], []
        outputs = [o for o, e in zip(self.model.outputs, self.endpoints, strict=True) if e.loss is not None]
        for endpoint, output, has_weights in zip(self.trained, outputs, weighted, strict=True):
            if endpoint.target is None:
                rank = output.shape.ndims
                shape = None if rank is None else [None] * rank
                endpoint.target = placeholder(shape, dtype=output.dtype, name=f"{endpoint.name}_target")
            if has_weights and endpoint.weights is None:
                shape = [None, None] if endpoint.is_temporal else [None]
                endpoint.weights = placeholder(shape, name=f"{endpoint.name}_sample_weights")
            targets.append(endpoint.target)
            weights.append(endpoint.weights if has_weights else None)
        return targets, weights

    def loss_and_results(
        self, outputs: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any], more_losses: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """The loss to minimise, and the metrics with this batch taken into account, in the order of their names."""
        trained = [(o, e) for o, e in zip(outputs, self.endpoints, strict=True) if e.loss is not None]
        total: Any = None
        shown = []
        with name_scope("loss"):
            for (output, endpoint), target, weight in zip(trained, targets, weights, strict=True):
                with name_scope(f"{endpoint.name}_loss"):
                    loss = endpoint.loss_of(target, output, weight, getattr(output, "_keras_mask", None))
                if endpoint.loss_metric is not None:
                    shown.append(endpoint.loss_metric(loss))
                loss = loss if endpoint.weight == 1.0 else loss * endpoint.weight
                total = loss if total is None else total + loss
            if more_losses:
                more = math.add_n([math.cast(loss, more_losses[0].dtype) for loss in more_losses])
                total = more if total is None else total + more
        if total is None:
            raise ValueError(f"The model cannot be compiled because it has no loss to optimize {at()}")
        with name_scope("metrics"):
            for (output, endpoint), target, weight in zip(trained, targets, weights, strict=True):
                shown += endpoint.results(target, output, weight, getattr(output, "_keras_mask", None))
        return total, shown
