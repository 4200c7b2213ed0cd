"""Losses of models: those of tensors with a model in the place of its tensors, and the two losses that training needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library.contrib.gan import tensor_loss
from headrace.library.contrib.gan.model import ACGANModel, CycleGANModel, GANModel, InfoGANModel
from headrace.library.losses.loss import get_regularization_loss
from headrace.library.scope import name_scope
from headrace.library.state.variable_scope import variable_scope

_FIELDS = {*InfoGANModel._fields, *ACGANModel._fields}


class GANLoss(NamedTuple):
    """The loss that the generator is to lessen, and that of the discriminator."""

    generator_loss: Any
    discriminator_loss: Any


class CycleGANLoss(NamedTuple):
    """The losses of the model from x to y, and of that from y to x."""

    loss_x2y: Any
    loss_y2x: Any


def _of_model(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """The loss as a function of a model, which has the tensors, and of its further arguments by name."""
    parameters = inspect.signature(loss_fn).parameters
    further = [p.replace(kind=p.KEYWORD_ONLY) for p in parameters.values() if p.name not in _FIELDS]

    def of_model(gan_model: Any, **kwargs: Any) -> Any:
        fields = gan_model._asdict()
        both = sorted(set(fields) & set(kwargs))
        if both:
            raise ValueError(f"The model has {', '.join(both)} already, do not pass them to {loss_fn.__name__} {at()}")
        lacking = [p.name for p in parameters.values() if p.default is p.empty and p.name not in {*fields, *kwargs}]
        if lacking:
            raise ValueError(
                f"{loss_fn.__name__} needs {', '.join(lacking)}, which a {type(gan_model).__name__} has not {at()}"
            )
        return loss_fn(**{name: value for name, value in fields.items() if name in parameters}, **kwargs)

    of_model.__name__ = of_model.__qualname__ = loss_fn.__name__
    first = inspect.Parameter("gan_model", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    of_model.__signature__ = inspect.Signature([first, *further])  # type: ignore[attr-defined]
    of_model.__doc__ = _help_of_model(loss_fn, [p.name for p in further])
    return of_model


def _help_of_model(loss_fn: Callable[..., Any], further: list[str]) -> str:
    """The help of a loss with the model in the place of its tensors."""
    lines = inspect.cleandoc(loss_fn.__doc__ or "").split("\n")
    told = [line for line in lines if line.startswith("  ") and line.strip().partition(":")[0] in further]
    entries = "\n".join(["  gan_model: The model, as `tf.contrib.gan.gan_model` and kin give it.", *told])
    call = f"tf.contrib.gan.losses.{loss_fn.__name__}(model)"
    return f"{lines[0]}\n\nArgs:\n{entries}\n\nReturns:\n  The loss, a scalar.\n\nExample: ``{call}``"


acgan_discriminator_loss = _of_model(tensor_loss.acgan_discriminator_loss)
acgan_generator_loss = _of_model(tensor_loss.acgan_generator_loss)
least_squares_discriminator_loss = _of_model(tensor_loss.least_squares_discriminator_loss)
least_squares_generator_loss = _of_model(tensor_loss.least_squares_generator_loss)
minimax_discriminator_loss = _of_model(tensor_loss.minimax_discriminator_loss)
minimax_generator_loss = _of_model(tensor_loss.minimax_generator_loss)
modified_discriminator_loss = _of_model(tensor_loss.modified_discriminator_loss)
modified_generator_loss = _of_model(tensor_loss.modified_generator_loss)
mutual_information_penalty = _of_model(tensor_loss.mutual_information_penalty)
wasserstein_discriminator_loss = _of_model(tensor_loss.wasserstein_discriminator_loss)
wasserstein_generator_loss = _of_model(tensor_loss.wasserstein_generator_loss)
wasserstein_gradient_penalty = _of_model(tensor_loss.wasserstein_gradient_penalty)
wasserstein_hinge_discriminator_loss = _of_model(tensor_loss.wasserstein_hinge_discriminator_loss)
wasserstein_hinge_generator_loss = _of_model(tensor_loss.wasserstein_hinge_generator_loss)


def cycle_consistency_loss(cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False) -> Any:
    """How far data of two domains are from what is left of them after both ways (Zhu et al., 2017).

    Args:
      cyclegan_model: The `tf.contrib.gan.CycleGANModel`.
      scope: A name for the ops; None for that of the loss.
      add_summaries: Whether to add summaries of the loss.

    Returns:
      The loss, a scalar.

    Example: ``tf.contrib.gan.losses.cycle_consistency_loss(model)``
    """
    return tensor_loss.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs, cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs, cyclegan_model.reconstructed_y, scope, add_summaries,
    )  # fmt: skip


def gan_loss(
    model: Any, generator_loss_fn: Callable[..., Any] = wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = wasserstein_discriminator_loss, gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10, gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False, mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None, aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable[..., Any] | None = None, add_summaries: bool = True,
) -> GANLoss:  # fmt: skip
    """The losses of a model's generator and discriminator, with those of regularizers in their scopes.

    Args:
      model: The model, as `tf.contrib.gan.gan_model` and kin give it.
      generator_loss_fn: A function of the model and `add_summaries` that gives the loss of the generator.
      discriminator_loss_fn: A function of the model and `add_summaries` that gives the loss of the discriminator.
      gradient_penalty_weight: The weight of the gradient penalty in the discriminator's loss; None for none.
      gradient_penalty_epsilon: A small number that the penalty adds before its square root.
      gradient_penalty_target: The length that gradients are to have.
      gradient_penalty_one_sided: True leaves shorter gradients alone.
      mutual_information_penalty_weight: The weight of the mutual information penalty, for an `InfoGANModel`; None for none.
      aux_cond_generator_weight: The weight of the classes in the generator's loss, for an `ACGANModel`; None for none.
      aux_cond_discriminator_weight: The weight of the classes in the discriminator's loss; None for none.
      tensor_pool_fn: A function of (generated data, generator inputs) that gives others for the discriminator, such as
        `tf.contrib.gan.features.tensor_pool`; None for none.
      add_summaries: Whether to add summaries of the losses.

    Returns:
      A `tf.contrib.gan.GANLoss`.

    Example: ``tf.contrib.gan.gan_loss(model, gradient_penalty_weight=1.0)``
    """
    _check_weight("gradient_penalty_weight", gradient_penalty_weight, model, None)
    _check_weight("mutual_information_penalty_weight", mutual_information_penalty_weight, model, InfoGANModel)
    _check_weight("aux_cond_generator_weight", aux_cond_generator_weight, model, ACGANModel)
    _check_weight("aux_cond_discriminator_weight", aux_cond_discriminator_weight, model, ACGANModel)
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(_pooled(model, tensor_pool_fn), add_summaries=add_summaries)
    if _is_used(gradient_penalty_weight):
        discriminator += gradient_penalty_weight * wasserstein_gradient_penalty(
            model, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided, add_summaries=add_summaries,
        )  # fmt: skip
    if _is_used(mutual_information_penalty_weight):
        penalty = mutual_information_penalty_weight * mutual_information_penalty(model, add_summaries=add_summaries)
        generator += penalty
        discriminator += penalty
    if _is_used(aux_cond_generator_weight):
        generator += aux_cond_generator_weight * acgan_generator_loss(model, add_summaries=add_summaries)
    if _is_used(aux_cond_discriminator_weight):
        discriminator += aux_cond_discriminator_weight * acgan_discriminator_loss(model, add_summaries=add_summaries)
    return GANLoss(
        generator + get_regularization_loss(model.generator_scope.name),
        discriminator + get_regularization_loss(model.discriminator_scope.name),
    )


def _check_weight(name: str, weight: Any, model: Any, needed: Any) -> None:
    if weight is None:
        return
    if not isinstance(weight, Tensor) and weight < 0:
        raise ValueError(f"{name} must be greater than 0. Instead, was {weight} {at()}")
    if needed is not None and not isinstance(model, needed):
        raise ValueError(
            f"When {name} is provided, model must be a {needed.__name__}. Instead, was {type(model).__name__} {at()}"
        )


def _is_used(weight: Any) -> bool:
    return weight is not None and (isinstance(weight, Tensor) or weight > 0)


def _pooled(model: Any, tensor_pool_fn: Callable[..., Any] | None) -> Any:
    """The model as the discriminator sees it, with data that the pool gives."""
    if tensor_pool_fn is None:
        return model
    data, inputs = tensor_pool_fn((model.generated_data, model.generator_inputs))
    new = {"generated_data": data, "generator_inputs": inputs}
    with variable_scope(model.discriminator_scope, reuse=True):
        if isinstance(model, InfoGANModel):
            new["discriminator_gen_outputs"], new["predicted_distributions"] = model.discriminator_and_aux_fn(
                data, inputs
            )
        elif isinstance(model, ACGANModel):
            outputs, logits = model.discriminator_fn(data, inputs)
            new |= {"discriminator_gen_outputs": outputs, "discriminator_gen_classification_logits": logits}
        else:
            new["discriminator_gen_outputs"] = model.discriminator_fn(data, inputs)
    return model._replace(**new)


def cyclegan_loss(
    model: Any, generator_loss_fn: Callable[..., Any] = least_squares_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable[..., Any] = cycle_consistency_loss, cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> CycleGANLoss:  # fmt: skip
    """The losses of both models of a `CycleGANModel`, each with that of the two ways together.

    Args:
      model: The `tf.contrib.gan.CycleGANModel`.
      generator_loss_fn: A function of a model and `add_summaries` that gives the loss of its generator.
      discriminator_loss_fn: A function of a model and `add_summaries` that gives the loss of its discriminator.
      cycle_consistency_loss_fn: A function of `model` and `add_summaries` that gives the loss of the two ways together.
      cycle_consistency_loss_weight: The weight of that loss.
      **kwargs: Further arguments of `tf.contrib.gan.gan_loss`.

    Returns:
      A `tf.contrib.gan.CycleGANLoss`.

    Example: ``tf.contrib.gan.cyclegan_loss(model, cycle_consistency_loss_weight=5.0)``
    """
    if not isinstance(model, CycleGANModel):
        raise ValueError(f"model must be a CycleGANModel. Instead, was {type(model).__name__} {at()}")
    _check_weight("cycle_consistency_loss_weight", cycle_consistency_loss_weight, model, None)
    consistency = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    further = cycle_consistency_loss_weight * consistency

    def partial(name: str, one: GANModel) -> GANLoss:
        with name_scope(f"cyclegan_loss_{name}"):
            loss = gan_loss(one, generator_loss_fn, discriminator_loss_fn, **kwargs)
            return loss._replace(generator_loss=loss.generator_loss + further)

    return CycleGANLoss(partial("x2y", model.model_x2y), partial("y2x", model.model_y2x))
