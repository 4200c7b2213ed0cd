"""What a layer adds to the training of the model it is part of: losses, updates and metrics.

In a graph they are tensors and operations, kept where the call that made them was built.  Eagerly the losses of a call are
kept until the outermost layer is called again.  Functions are called whenever somebody asks for the losses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation
from headrace.library import nest
from headrace.library.backend.config import floatx
from headrace.library.backend.graph import get_graph, in_keras_graph
from headrace.library.backend.keras_tensor import is_symbolic, is_tensor
from headrace.library.layers.call_context import call_context
from headrace.library.layers.reach import reachable_from


class MetricClasses:
    """The classes of metrics, which are layers themselves: installed by library/keras/metrics."""

    mean: Callable[..., Any] | None = None

    @classmethod
    def new_mean(cls, name: str | None, dtype: Any) -> Any:
        """A metric that keeps the mean of what it is called with."""
        if cls.mean is None:
            raise NotImplementedError("add_metric(aggregation='mean') needs tf.keras.metrics")
        return cls.mean(name=name, dtype=dtype)


class Adding:
    """An object with losses, updates and metrics, its own and those of the layers it holds."""

    name: str
    trainable: bool
    stateful: bool
    _losses: list[Any]  # tensors of graphs
    _eager_losses: list[Any]
    _callable_losses: list[Callable[[], Any]]
    _updates: list[Any]
    _metrics: list[Any]
    _inbound_nodes: list[Any]
    _flatten_layers: Callable[..., list[Any]]
    _graph_network_add_loss: Callable[[Any], None] | None = None  # of models made of a graph of layers
    _graph_network_add_metric: Callable[[Any, Any, Any], None] | None = None

    # ---- losses

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds terms to the loss that training minimises.

        Args:
          losses: Tensors, or functions without arguments that make them.
          inputs: The tensors they depend on; None for losses that do not depend on the inputs of the layer.

        >>> class Penalty(tf.keras.layers.Layer):
        ...     def call(self, inputs):
        ...         self.add_loss(tf.reduce_sum(inputs), inputs=True)
        ...         return inputs
        >>> layer = Penalty()
        >>> y = layer(tf.ones([2, 3]))
        >>> len(layer.losses)
        1
        """
        unconditional = inputs is None
        for loss in nest.flatten(losses):
            if callable(loss) and not is_tensor(loss):
                self._callable_losses.append(partial(_computed_loss, loss, unconditional))
            elif loss is not None:
                self._add_loss(_computed_loss(loss, unconditional))

    def _add_loss(self, loss: Any) -> None:
        if not is_symbolic(loss):
            self._eager_losses.append(loss)
        elif self._graph_network_add_loss is not None and not call_context().in_call:
            self._graph_network_add_loss(loss)
        elif loss.graph.building_function and _eager_outside(loss.graph):  # of this call of a tf.function only
            self._eager_losses.append(loss)
        else:
            self._losses.append(loss)

    @property
    def losses(self) -> list[Any]:
        """The terms that the layer and those in it add to the loss."""
        return self._all_losses()

    def _all_losses(self) -> list[Any]:
        """Those of every call, also on tensors that no layer made."""
        losses: list[Any] = []
        for layer in self._flatten_layers():
            losses.extend(layer._eager_losses or layer._losses)
            losses.extend(loss for make in layer._callable_losses if (loss := make()) is not None)
        return losses

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on some tensors.

        Args:
          inputs: Tensors; None for the losses that depend on no input of the layer.

        Returns:
          A list of tensors.

        >>> layer = tf.keras.layers.Layer()
        >>> layer.add_loss(tf.constant(1.0))
        >>> len(layer.get_losses_for(None))
        1
        """
        losses = self._all_losses()
        if inputs is None:
            return [loss for loss in losses if getattr(loss, "_unconditional_loss", True)]
        losses = [loss for loss in losses if not getattr(loss, "_unconditional_loss", True)]
        reached = reachable_from(nest.flatten(inputs), losses)
        return [loss for loss in losses if loss in reached]

    def _clear_losses(self) -> None:
        """Forgets the losses of the last eager call."""
        for layer in self._flatten_layers():
            layer._eager_losses = []

    # ---- updates

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations that run with each step of training.

        Args:
          updates: Operations, tensors, or functions without arguments that make them.
          inputs: Not used any more: what an update depends on is found in the graph.

        >>> layer = tf.keras.layers.Layer()
        >>> count = layer.add_weight("count", shape=[], initializer="zeros", trainable=False)
        >>> layer.add_update(count.assign_add(1.0))
        >>> len(layer.updates)
        1
        """
        if isinstance(updates, (list, tuple)):
            items = list(updates)
        else:
            items = [updates]
        call = call_context()
        graph = context.get_default_graph()
        if graph.executing_eagerly or (graph.building_function and _eager_outside(graph)):  # it has run, or runs now
            for item in () if call.frozen else items:
                _called(item)
            return
        if call.in_call:
            sources = nest.flatten(call.inputs)
        else:
            sources = [t for node in self._inbound_nodes for t in nest.flatten(node.input_tensors)]
        for item in items:
            update = self._as_update(item)
            if update is None:
                continue
            self._unconditional_updates[update] = update not in reachable_from(sources, [update])
            self._updates.append(update)

    _unconditional_updates: dict[Any, bool]

    def _as_update(self, update: Any) -> Any:
        """What is kept of an update: its operation."""
        update = _called(update)
        if update is None or isinstance(update, Operation):
            return update
        if getattr(
            getattr(update, "graph", None), "executing_eagerly", False
        ):  # an eager variable, changed by the body
            return None
        return update.op if hasattr(update, "op") else convert_to_tensor(update).op

    @property
    def updates(self) -> list[Any]:
        """The operations of the layer and those in it that run with each step of training."""
        return self._all_updates()

    def _all_updates(self) -> list[Any]:
        """Those of every call, also on tensors that no layer made."""
        return [u for layer in self._flatten_layers() if layer.trainable or layer.stateful for u in layer._updates]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on some tensors.

        Args:
          inputs: Tensors; None for the updates that depend on no input of the layer.

        Returns:
          A list of operations.

        >>> layer = tf.keras.layers.Layer()
        >>> layer.get_updates_for(None)
        []
        """
        free = {u for layer in self._flatten_layers() for u, yes in layer._unconditional_updates.items() if yes}
        if inputs is None:
            return [u for u in self._all_updates() if u in free]
        updates = [u for u in self._all_updates() if u not in free]
        reached = reachable_from(nest.flatten(inputs), updates)
        return [u for u in updates if u in reached]

    # ---- metrics

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Adds a number that is reported while the model trains and is evaluated.

        Args:
          value: A tensor; the result of calling a metric, or with `aggregation` any tensor.
          aggregation: "mean" for the mean of all values of an epoch; None if `value` is a metric's result.
          name: The name to report it under; for a metric's result the metric's.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                f"We currently support only `mean` sample-wise metric aggregation. You provided aggregation={aggregation!r}"
            )
        of_metric = getattr(value, "_metric_obj", None)
        if name is None and of_metric is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), name='mean_activation', "
                "aggregation='mean')`"
            )
        name = of_metric.name if of_metric is not None else name
        if call_context().in_call or not is_symbolic(value):
            self._add_metric(value, aggregation, name)
        elif self._graph_network_add_metric is not None:
            if of_metric is not None:
                raise ValueError(
                    "Using the result of calling a `Metric` object when calling `add_metric` on a Functional Model is not "
                    "supported. Please pass the Tensor to monitor directly."
                )
            self._graph_network_add_metric(value, aggregation, name)
        else:
            with get_graph().as_default():
                self._add_metric(value, aggregation, name)

    def _add_metric(self, value: Any, aggregation: str | None, name: str | None) -> None:
        same = [metric for metric in self._metrics if metric.name == name]
        if len(same) > 1:
            raise ValueError(
                f"Please provide different names for the metrics you have added. We found {len(same)} {name!r}"
            )
        if aggregation is not None:
            metric = same[0] if same else MetricClasses.new_mean(name, value.dtype)
            metric(value)
        elif same:
            return
        else:
            metric = getattr(value, "_metric_obj", None)
            if metric is None:
                raise ValueError(
                    "We do not support adding an aggregated metric result tensor that is not the output of a "
                    "`tf.keras.metrics.Metric` metric instance: its state could not be reset after every epoch. Pass an "
                    "un-aggregated result with `aggregation='mean'`, for example `self.add_metric(tf.reduce_sum(inputs), "
                    "name='mean_activation', aggregation='mean')`."
                )
        if not same:
            self._metrics.append(metric)

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer and those in it."""
        return [metric for layer in self._flatten_layers() for metric in layer._metrics]


def _computed_loss(loss: Any, unconditional: bool) -> Any:
    value = loss() if callable(loss) and not is_tensor(loss) else loss
    if value is None:
        return None
    if not is_tensor(value):
        value = convert_to_tensor(value, dtype=floatx())
    if is_symbolic(value):
        value._unconditional_loss = unconditional
    return value


def runs_eagerly() -> bool:
    """Whether what is called now runs eagerly, or is the body of a `tf.function` that does."""
    return context.executing_eagerly() or _eager_outside(context.get_default_graph())


def _eager_outside(graph: Any) -> bool:
    return bool(getattr(graph, "root", graph).executing_eagerly) and not in_keras_graph(graph)


def _called(update: Any) -> Any:
    function = callable(update) and not is_tensor(update) and not isinstance(update, Operation)
    return update() if function else update
