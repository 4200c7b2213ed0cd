"""contrib.quantize: graphs rewritten so that layers compute with weights and activations rounded to few bits.

A layer is a Conv2D, DepthwiseConv2dNative or MatMul with weights read from a variable; then a batch normalization or a bias,
or neither; then a relu, or none:

    x, w -> Conv2D -> BiasAdd -> Relu        =>    x, fake_quant(w) -> Conv2D -> BiasAdd -> Relu -> fake_quant

A batch normalization is folded into weights and bias first (``fold``).  The ranges are variables: of weights those of the last
step, of activations moving averages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.contrib.batch_norm_fold import BATCH_NORMS, fold
from headrace.library.contrib.variables import model_variable
from headrace.library.control.control_flow import cond
from headrace.library.network.quantization import fake_quant_with_min_max_vars
from headrace.library.numeric import reduction
from headrace.library.scope import name_scope
from headrace.library.state import assign
from headrace.library.state.global_step import get_or_create_global_step
from headrace.library.state.initializers import Constant
from headrace.library.state.variable_scope import variable_scope
from headrace.library.train.moving_averages import assign_moving_average

_LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_BIASES = ("BiasAdd", "Add", "AddV2")
_RELUS = ("Relu", "Relu6")
_READS = ("Identity", "ReadVariableOp")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_DECAY = 0.999  # of the moving averages of activations' ranges


@dataclass(frozen=True, slots=True)
class _Settings:
    is_training: bool
    weight_bits: int
    activation_bits: int
    symmetric: bool
    delay: int


def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Rewrites a graph for training, before an optimizer is added: layers compute with 8 bits, and learn their ranges.

    Args:
      input_graph: The graph, which is changed; None for the default graph.
      quant_delay: The global step from which on values are rounded; ranges are learned from the beginning.

    >>> x = tf.layers.dense(tf.zeros([1, 4]), 3, tf.nn.relu, name="layer")
    >>> tf.contrib.quantize.create_training_graph()
    >>> [v.op.name for v in tf.global_variables() if v.op.name.endswith("weights_quant/min")]
    ['layer/weights_quant/min']
    """
    _rewrite(input_graph, _Settings(True, 8, 8, False, quant_delay))


def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Rewrites a graph for evaluation or export: layers compute with 8 bits, in the ranges that a checkpoint has.

    Args:
      input_graph: The graph, which is changed; None for the default graph.

    >>> x = tf.layers.dense(tf.zeros([1, 4]), 3, tf.nn.relu, name="layer")
    >>> tf.contrib.quantize.create_eval_graph()
    >>> sum(op.type == "FakeQuantWithMinMaxVars" for op in tf.get_default_graph().get_operations())
    2
    """
    _rewrite(input_graph, _Settings(False, 8, 8, False, 0))


def experimental_create_training_graph(
    input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    quant_delay: int = 0, freeze_bn_delay: int | None = None, scope: str | None = None,
) -> None:  # fmt: skip
    """Rewrites a graph for training with widths of one's own.

    Args:
      input_graph: The graph, which is changed; None for the default graph.
      weight_bits: The bits of weights, 2 to 16.
      activation_bits: The bits of activations, 2 to 16.
      symmetric: Whether a range reaches as far below zero as above.
      quant_delay: The global step from which on values are rounded.
      freeze_bn_delay: Must be None: batch normalizations always use the statistics of the batch in training.
      scope: The name scope whose layers are rewritten; None for all.

    >>> x = tf.layers.dense(tf.zeros([1, 4]), 3, name="layer")
    >>> tf.contrib.quantize.experimental_create_training_graph(weight_bits=4, scope="layer")
    """
    if freeze_bn_delay is not None:
        raise NotImplementedError(f"freeze_bn_delay must be None, got {freeze_bn_delay!r} {at()}")
    _rewrite(input_graph, _Settings(True, weight_bits, activation_bits, symmetric, quant_delay), scope)


def experimental_create_eval_graph(
    input_graph: Graph | None = None, weight_bits: int = 8, activation_bits: int = 8, symmetric: bool = False,
    quant_delay: int | None = None, scope: str | None = None,
) -> None:  # fmt: skip
    """Rewrites a graph for evaluation or export with widths of one's own.

    Args:
      input_graph: The graph, which is changed; None for the default graph.
      weight_bits: The bits of weights, 2 to 16.
      activation_bits: The bits of activations, 2 to 16.
      symmetric: Changes nothing: the ranges are those of the checkpoint.
      quant_delay: The global step from which on values are rounded; None for always.
      scope: The name scope whose layers are rewritten; None for all.

    >>> x = tf.layers.dense(tf.zeros([1, 4]), 3, name="layer")
    >>> tf.contrib.quantize.experimental_create_eval_graph(activation_bits=4)
    """
    _rewrite(input_graph, _Settings(False, weight_bits, activation_bits, symmetric, quant_delay or 0), scope)


def _rewrite(graph: Graph | None, settings: _Settings, scope: str | None = None) -> None:
    for bits in (settings.weight_bits, settings.activation_bits):
        if not isinstance(bits, int) or not 2 <= bits <= 16:
            raise ValueError(f"weight_bits and activation_bits must be from 2 to 16, got {bits!r} {at()}")
    graph = context.get_default_graph() if graph is None else graph
    prefix = f"{scope.rstrip('/')}/" if scope else ""
    layers = [n for n in graph.get_operations() if n.type in _LAYERS and n.name.startswith(prefix) and _has_weights(n)]
    sums: dict[Operation, None] = {}
    with graph.as_default(), graph.name_scope(None):
        for layer in layers:
            place = layer.name.rpartition("/")[0] or layer.name
            layer, out = _with_bias(layer, place, settings.is_training)
            weights = layer.inputs[1]
            _replace(weights, _quantizer(settings, weights, f"{place}/weights_quant", of_weights=True), [layer])
            after = _only_consumer(out)
            if after is not None and after.type in _BIASES[1:]:  # a bypass: what is added is rounded, and the sum
                sums[after] = None
                _round(settings, out, f"{place}/conv_quant")
            else:
                _round(settings, _after_relu(out), f"{place}/act_quant")
        for add in sums:
            _round(settings, _after_relu(add.outputs[0]), f"{add.name.rpartition('/')[0] or add.name}/add_quant")


def _has_weights(layer: Operation) -> bool:
    """Whether the second input is read from a variable."""
    read = layer.inputs[1].op
    return read.type in _VARIABLES or (read.type in _READS and read.inputs[0].op.type in _VARIABLES)


def _with_bias(layer: Operation, place: str, is_training: bool) -> tuple[Operation, Tensor]:
    """The layer, with a batch normalization folded into it, and its output with the bias added."""
    out = layer.outputs[0]
    after = _only_consumer(out)
    if after is not None and after.type in _BIASES and _is_variable(after.inputs[1]):
        out, after = after.outputs[0], _only_consumer(after.outputs[0])
    if after is None or after.type not in BATCH_NORMS:
        return layer, out
    if out is not layer.outputs[0]:
        raise NotImplementedError(
            f"{after.name} normalizes a layer with a bias, {layer.name}: a bias before a batch normalization has no effect; "
            f"leave it out (use_bias=False) {at()}"
        )
    consumers = list(after.outputs[0].consumers())
    folded, total = fold(layer, after, place, is_training)
    _replace(after.outputs[0], total, consumers)
    return folded, total


def _is_variable(tensor: Tensor) -> bool:
    return tensor.op.type in _VARIABLES or (tensor.op.type in _READS and tensor.op.inputs[0].op.type in _VARIABLES)


def _only_consumer(tensor: Tensor) -> Operation | None:
    consumers = tensor.consumers()
    return consumers[0] if len(consumers) == 1 else None


def _after_relu(tensor: Tensor) -> Tensor:
    after = _only_consumer(tensor)
    return after.outputs[0] if after is not None and after.type in _RELUS else tensor


def _replace(old: Tensor, new: Callable[[], Tensor] | Tensor, consumers: list[Operation]) -> None:
    """Lets these consumers, and none that are made meanwhile, take another tensor."""
    value = new() if callable(new) else new
    for consumer in consumers:
        for i, tensor in enumerate(consumer.inputs):
            if tensor is old:
                consumer._update_input(i, value)


def _round(settings: _Settings, out: Tensor, name: str) -> None:
    _replace(out, _quantizer(settings, out, name, of_weights=False), list(out.consumers()))


def _quantizer(settings: _Settings, tensor: Tensor, name: str, of_weights: bool) -> Callable[[], Tensor]:
    def rounded() -> Tensor:
        return _quantized(settings, tensor, name, of_weights)

    return rounded


def _quantized(settings: _Settings, tensor: Tensor, name: str, of_weights: bool) -> Tensor:
    bits = settings.weight_bits if of_weights else settings.activation_bits
    with variable_scope(None, name):
        low, high = (
            model_variable(
                title, [], initializer=Constant(start), trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES],
            )
            for title, start in (("min", -6.0), ("max", 6.0))
        )  # fmt: skip
        ends = _learned(settings, tensor, low, high, of_weights) if settings.is_training else (low, high)
        rounded = fake_quant_with_min_max_vars(tensor, *ends, num_bits=bits, narrow_range=of_weights)
    if not settings.delay:
        return rounded
    with name_scope(f"{name}/delayed_quant"):
        active = raw_ops.GreaterEqual(raw_ops.Cast(get_or_create_global_step(), DstT="int64"), int(settings.delay))
        return cond(active, lambda: rounded, lambda: tensor)  # type: ignore[no-any-return]


def _learned(settings: _Settings, tensor: Tensor, low: Any, high: Any, of_weights: bool) -> tuple[Any, Any]:
    """The ends of the range, once they have taken this batch into account; zero is always inside."""
    least = raw_ops.Minimum(reduction.reduce_min(tensor, name="BatchMin"), 0.0)
    most = raw_ops.Maximum(reduction.reduce_max(tensor, name="BatchMax"), 0.0)
    if settings.symmetric:
        most = raw_ops.Maximum(most, raw_ops.Neg(least))
        least = raw_ops.Neg(most)
    if of_weights:
        return assign.assign(low, least, name="AssignMinLast"), assign.assign(high, most, name="AssignMaxLast")
    return (
        assign_moving_average(low, least, _DECAY, name="AssignMinEma"),
        assign_moving_average(high, most, _DECAY, name="AssignMaxEma"),
    )
