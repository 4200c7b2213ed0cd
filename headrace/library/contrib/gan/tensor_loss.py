"""Losses of generators and discriminators as functions of tensors: ``tf.contrib.gan.losses.wargs``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.autodiff.gradients import gradients
from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.library.losses import loss as losses
from headrace.library.losses.loss import Reduction, compute_weighted_loss
from headrace.library.network.activation import relu
from headrace.library.numeric import math, reduction
from headrace.library.numeric.random import random_uniform
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import variable_scope
from headrace.library.state.variable_store import AUTO_REUSE
from headrace.library.summary.summary import scalar
from headrace.library.tensor import array, creation

_LOSSES = GraphKeys.LOSSES
_BY_WEIGHT = Reduction.SUM_BY_NONZERO_WEIGHTS
_TOLD = {
    "discriminator_real_outputs": "What the discriminator gives for real data.",
    "discriminator_gen_outputs": "What the discriminator gives for generated data.",
    "discriminator_real_classification_logits": "The logits of the classes of real data, [batch, classes].",
    "discriminator_gen_classification_logits": "The logits of the classes of generated data, [batch, classes].",
    "one_hot_labels": "The classes, [batch, classes].",
    "real_data": "The real data.",
    "generated_data": "The generated data.",
    "generator_inputs": "The inputs of the generator, for the discriminator.",
    "discriminator_fn": "The function of the discriminator.",
    "discriminator_scope": "The variable scope of the discriminator.",
    "structured_generator_inputs": "A list of the inputs that are guessed.",
    "predicted_distributions": "A list of distributions, one for each of those inputs.",
    "weights": "The weights of the examples, which broadcast to the outputs.",
    "real_weights": "The weights of real examples.",
    "generated_weights": "The weights of generated examples.",
    "label_smoothing": "How far labels of real data, or of classes, are from 0 and 1.",
    "real_label": "What the discriminator is to give for real data.",
    "fake_label": "What the discriminator is to give for generated data.",
    "epsilon": "A small number that is added before the square root.",
    "target": "The length that gradients are to have.",
    "one_sided": "True leaves shorter gradients alone.",
    "scope": "A name for the ops; None for that of the loss.",
    "loss_collection": "The collection to add the loss to; None for none.",
    "reduction": "How the losses of examples become one number, of `tf.losses.Reduction`.",
    "add_summaries": "Whether to add summaries of the loss.",
}
Function = TypeVar("Function", bound=Callable[..., Any])


def told(summary: str) -> Callable[[Function], Function]:
    """Gives a loss its help: the summary, and the arguments as the table says."""

    def with_help(function: Function) -> Function:
        code = function.__code__  # type: ignore[attr-defined]
        names = code.co_varnames[: code.co_argcount]
        entries = "\n".join(f"  {name}: {_TOLD[name]}" for name in names)
        needed = ", ".join(names[: code.co_argcount - len(function.__defaults__ or ())])  # type: ignore[attr-defined]
        call = f"tf.contrib.gan.losses.wargs.{function.__name__}({needed})"
        function.__doc__ = f"{summary}\n\nArgs:\n{entries}\n\nReturns:\n  The loss, a scalar.\n\nExample: ``{call}``"
        return function

    return with_help


def _weighted(each: tuple[Any, Any], weights: tuple[Any, Any], scope: Any, how: str) -> dict[str, Any]:
    """The weighted losses on real and on generated data; their sum is what goes to the collection."""
    losses_of = zip(("real", "gen"), each, weights, strict=True)
    return {which: compute_weighted_loss(values, weight, scope, None, how) for which, values, weight in losses_of}


def _sum_of(parts: dict[str, Any], name: str, collection: str | None, summarize: bool, sign: float = 1.0) -> Any:
    """The loss on real data, times ``sign``, and that on generated data; noted in the collection and in summaries."""
    real, generated = parts["real"], parts["gen"]
    loss = generated + real if sign > 0 else generated - real
    losses.add_loss(loss, collection)
    if summarize:
        for which, value in parts.items():
            scalar(f"discriminator_{which}_{name}", value)
        scalar(f"discriminator_{name}", loss)
    return loss


def _summarized(name: str, loss: Any, summarize: bool) -> Any:
    if summarize:
        scalar(name, loss)
    return loss


@told("Wasserstein loss of a generator (Arjovsky et al., 2017): minus what the discriminator gives.")
def wasserstein_generator_loss(
    discriminator_gen_outputs: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "generator_wasserstein_loss", [discriminator_gen_outputs, weights]) as scope:
        each = -convert_to_tensor(discriminator_gen_outputs)
        loss = compute_weighted_loss(each, weights, scope, loss_collection, reduction)
        return _summarized("generator_wass_loss", loss, add_summaries)


@told(
    "Wasserstein loss of a discriminator (Arjovsky et al., 2017): what it gives for generated data minus that for real."
)
def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_weights: Any = 1.0,
    generated_weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "discriminator_wasserstein_loss", [discriminator_real_outputs]) as scope:
        each = (discriminator_real_outputs, discriminator_gen_outputs)
        parts = _weighted(each, (real_weights, generated_weights), scope, reduction)
        return _sum_of(parts, "wass_loss", loss_collection, add_summaries, sign=-1.0)


@told("Hinge loss of a generator (Miyato et al., 2018): minus what the discriminator gives.")
def wasserstein_hinge_generator_loss(
    discriminator_gen_outputs: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    return wasserstein_generator_loss(
        discriminator_gen_outputs, weights, scope or "generator_wasserstein_hinge_loss", loss_collection, reduction,
        add_summaries,
    )  # fmt: skip


@told(
    "Hinge loss of a discriminator (Miyato et al., 2018), which is 0 beyond 1 for real data and below -1 for generated."
)
def wasserstein_hinge_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_weights: Any = 1.0,
    generated_weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = _LOSSES,
    reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "discriminator_wasserstein_hinge_loss", [discriminator_real_outputs]) as scope:
        for_real = relu(1.0 - convert_to_tensor(discriminator_real_outputs))
        for_generated = relu(1.0 + convert_to_tensor(discriminator_gen_outputs))
        parts = _weighted((for_real, for_generated), (real_weights, generated_weights), scope, reduction)
        return _sum_of(parts, "wass_hinge_loss", loss_collection, add_summaries)


@told(
    "How far the discriminator's gradients between real and generated data are from a length (Gulrajani et al., 2017)."
)
def wasserstein_gradient_penalty(
    real_data: Any, generated_data: Any, generator_inputs: Any, discriminator_fn: Any, discriminator_scope: Any,
    epsilon: float = 1e-10, target: float = 1.0, one_sided: bool = False, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "wasserstein_gradient_penalty", [real_data, generated_data]) as scope:
        between = _between(convert_to_tensor(real_data), convert_to_tensor(generated_data))
        # What the discriminator updates belongs to its own scope, not to this one.
        with name_scope(None), variable_scope(discriminator_scope, "gpenalty_dscope", reuse=AUTO_REUSE):
            outputs = discriminator_fn(between, generator_inputs)
        (gradient,) = gradients(outputs[0] if isinstance(outputs, tuple) else outputs, between)
        squares = _sum_over(math.square(gradient), list(range(1, between.shape.ndims)))
        excess = math.sqrt(squares + epsilon) / target - 1.0
        excess = math.maximum(0.0, excess) if one_sided else excess
        loss = compute_weighted_loss(math.square(excess), weights, scope, loss_collection, reduction)
        return _summarized("gradient_penalty_loss", loss, add_summaries)


def _between(real: Any, generated: Any) -> Any:
    """A point between each real example and a generated one."""
    if real.shape.ndims is None:
        raise ValueError(f"real_data can't have unknown rank, got {real} {at()}")
    if generated.shape.ndims is None:
        raise ValueError(f"generated_data can't have unknown rank, got {generated} {at()}")
    difference = generated - real
    batch = difference.shape.as_list()[0]
    shape = [array.shape(difference)[0] if batch is None else batch, *[1] * (difference.shape.ndims - 1)]
    return real + random_uniform(shape) * difference


def _sum_over(values: Any, axes: list[int]) -> Any:
    return reduction.reduce_sum(values, axis=axes)


@told("How wrong the discriminator's classes are, for real and for generated data (Odena et al., 2016).")
def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any, discriminator_gen_classification_logits: Any, one_hot_labels: Any,
    label_smoothing: float = 0.0, real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "acgan_discriminator_loss", [one_hot_labels]) as scope:
        parts = {
            which: losses.softmax_cross_entropy(
                one_hot_labels, logits, weights, label_smoothing, scope, None, reduction
            )
            for which, logits, weights in (
                ("real", discriminator_real_classification_logits, real_weights),
                ("gen", discriminator_gen_classification_logits, generated_weights),
            )
        }
        return _sum_of(parts, "ac_loss", loss_collection, add_summaries)


@told("How wrong the discriminator's classes of generated data are (Odena et al., 2016).")
def acgan_generator_loss(
    discriminator_gen_classification_logits: Any, one_hot_labels: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "acgan_generator_loss", [one_hot_labels]) as scope:
        loss = losses.softmax_cross_entropy(
            one_hot_labels, discriminator_gen_classification_logits, weights, 0.0, scope, loss_collection, reduction
        )
        return _summarized("generator_ac_loss", loss, add_summaries)


@told("The original loss of a discriminator (Goodfellow et al., 2014): the cross entropy of real and generated.")
def minimax_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "discriminator_minimax_loss", [discriminator_real_outputs]) as scope:
        ones = creation.ones_like(discriminator_real_outputs)
        zeros = creation.zeros_like(discriminator_gen_outputs)
        real = losses.sigmoid_cross_entropy(
            ones, discriminator_real_outputs, real_weights, label_smoothing, scope, None, reduction
        )
        gen = losses.sigmoid_cross_entropy(
            zeros, discriminator_gen_outputs, generated_weights, 0, scope, None, reduction
        )
        return _sum_of({"real": real, "gen": gen}, "minimax_loss", loss_collection, add_summaries)


@told("The original loss of a generator (Goodfellow et al., 2014): minus the discriminator's on generated data.")
def minimax_generator_loss(
    discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "generator_minimax_loss", [discriminator_gen_outputs]) as scope:
        ones = creation.ones_like(discriminator_gen_outputs)
        loss = -minimax_discriminator_loss(
            ones, discriminator_gen_outputs, label_smoothing, weights, weights, scope, loss_collection, reduction
        )
        return _summarized("generator_minimax_loss", loss, add_summaries)


@told("The loss of a discriminator that goes with `modified_generator_loss`; it is `minimax_discriminator_loss`.")
def modified_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    return minimax_discriminator_loss(
        discriminator_real_outputs, discriminator_gen_outputs, label_smoothing, real_weights, generated_weights,
        scope or "discriminator_modified_loss", loss_collection, reduction, add_summaries,
    )  # fmt: skip


@told("The loss of a generator that wants its data to be taken for real (Goodfellow et al., 2014).")
def modified_generator_loss(
    discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "generator_modified_loss", [discriminator_gen_outputs]) as scope:
        loss = losses.sigmoid_cross_entropy(
            creation.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, weights, label_smoothing, scope,
            loss_collection, reduction,
        )  # fmt: skip
        return _summarized("generator_modified_loss", loss, add_summaries)


@told("Least squares loss of a generator (Mao et al., 2016).")
def least_squares_generator_loss(
    discriminator_gen_outputs: Any, real_label: float = 1, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "lsq_generator_loss", [discriminator_gen_outputs, real_label]) as scope:
        each = math.squared_difference(convert_to_tensor(discriminator_gen_outputs), float(real_label)) / 2.0
        loss = compute_weighted_loss(each, weights, scope, loss_collection, reduction)
        return _summarized("generator_lsq_loss", loss, add_summaries)


@told("Least squares loss of a discriminator (Mao et al., 2016).")
def least_squares_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_label: float = 1, fake_label: float = 0,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT, add_summaries: bool = False,
) -> Any:  # fmt: skip
    with name_scope(scope, "lsq_discriminator_loss", [discriminator_gen_outputs, real_label]) as scope:
        for_real = math.squared_difference(convert_to_tensor(discriminator_real_outputs), float(real_label)) / 2.0
        for_generated = math.squared_difference(convert_to_tensor(discriminator_gen_outputs), float(fake_label)) / 2.0
        parts = _weighted((for_real, for_generated), (real_weights, generated_weights), scope, reduction)
        return _sum_of(parts, "lsq_loss", loss_collection, add_summaries)


@told("How unlikely the structured inputs are by the discriminator's guess (Chen et al., 2016).")
def mutual_information_penalty(
    structured_generator_inputs: Sequence[Any], predicted_distributions: Sequence[Any], weights: Any = 1.0,
    scope: str | None = None, loss_collection: str | None = _LOSSES, reduction: str = _BY_WEIGHT,
    add_summaries: bool = False,
) -> Any:  # fmt: skip
    pairs = list(zip(structured_generator_inputs, predicted_distributions, strict=True))
    with name_scope(scope, "mutual_information_loss", list(structured_generator_inputs)) as scope:
        likely = array.stack([_mean(distribution.log_prob(noise)) for noise, distribution in pairs])
        loss = -compute_weighted_loss(likely, weights, scope, loss_collection, reduction)
        return _summarized("mutual_information_penalty", loss, add_summaries)


def _mean(values: Any) -> Any:
    return reduction.reduce_mean(values)


def cycle_consistency_loss(
    data_x: Any, reconstructed_data_x: Any, data_y: Any, reconstructed_data_y: Any, scope: str | None = None,
    add_summaries: bool = False,
) -> Any:  # fmt: skip
    """How far data of two domains are from what is left of them after both ways (Zhu et al., 2017).

    Args:
      data_x: Data of one domain.
      reconstructed_data_x: What is left of them.
      data_y: Data of the other domain.
      reconstructed_data_y: What is left of them.
      scope: A name for the ops; None for that of the loss.
      add_summaries: Whether to add summaries of the loss.

    Returns:
      The loss, a scalar: the mean of the absolute differences of both.

    >>> loss = tf.contrib.gan.losses.wargs.cycle_consistency_loss([1.0], [2.0], [1.0], [4.0])
    >>> tf.Session().run(loss)
    np.float32(2.0)
    """
    with name_scope(scope, "cycle_consistency_loss", [data_x, reconstructed_data_x, data_y, reconstructed_data_y]):
        loss_x, loss_y = (
            losses.absolute_difference(data, back)
            for data, back in ((data_x, reconstructed_data_x), (data_y, reconstructed_data_y))
        )
        loss = (loss_x + loss_y) / 2.0
        if add_summaries:
            scalar("cycle_consistency_loss_x2x", loss_x)
            scalar("cycle_consistency_loss_y2y", loss_y)
        return _summarized("cycle_consistency_loss", loss, add_summaries)
