"""Models: a generator and a discriminator on data, as tuples of their tensors, variables and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.contrib.variables import get_trainable_variables
from headrace.library.distribution.distribution import Distribution
from headrace.library.state.variable_scope import variable_scope


class GANModel(NamedTuple):
    """A generator and a discriminator, what they are fed and what they give."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class InfoGANModel(NamedTuple):
    """A `GANModel` whose discriminator also guesses the structured part of the generator's inputs."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


class ACGANModel(NamedTuple):
    """A `GANModel` whose discriminator also classifies."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


class CycleGANModel(NamedTuple):
    """Two models, from one domain to the other and back, and what is left of the data after both ways."""

    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


def as_tensors(value: Any) -> Any:
    """A tensor, or a list or dictionary of tensors, of values."""
    if isinstance(value, (list, tuple)):
        return [convert_to_tensor(one) for one in value]
    if isinstance(value, dict):
        return {key: convert_to_tensor(one) for key, one in value.items()}
    return convert_to_tensor(value)


def _check_shapes(generated: Any, real: Any) -> None:
    for one, other in zip(nest.flatten(generated), nest.flatten(real), strict=True):
        if not one.shape.is_compatible_with(other.shape):
            raise ValueError(
                f"Generator output shape {one.shape} must be the same shape as real data {other.shape} {at()}"
            )


def _built(
    generator_fn: Any, discriminator_fn: Any, real_data: Any, generator_inputs: Any, scopes: tuple[Any, Any],
    check_shapes: bool,
) -> tuple[GANModel, Any, Any]:  # fmt: skip
    """The model, with whatever the discriminator gave for real and for generated data as its outputs."""
    with variable_scope(scopes[0]) as generator_scope:
        inputs = as_tensors(generator_inputs)
        generated = generator_fn(inputs)
    with variable_scope(scopes[1]) as discriminator_scope:
        for_generated = discriminator_fn(generated, inputs)
    with variable_scope(discriminator_scope, reuse=True):
        real = as_tensors(real_data)
        for_real = discriminator_fn(real, inputs)
    if check_shapes:
        _check_shapes(generated, real)
    model = GANModel(
        inputs, generated, get_trainable_variables(generator_scope), generator_scope, generator_fn, real, for_real,
        for_generated, get_trainable_variables(discriminator_scope), discriminator_scope, discriminator_fn,
    )  # fmt: skip
    return model, for_real, for_generated


def gan_model(
    generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any, generator_inputs: Any,
    generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator", check_shapes: bool = True,
) -> GANModel:  # fmt: skip
    """Builds a generator, and a discriminator on what it generates and on real data.

    Args:
      generator_fn: A function of the inputs that gives data.
      discriminator_fn: A function of data and of the generator's inputs that gives logits.
      real_data: The real data, a tensor.
      generator_inputs: The inputs: a tensor, or a list or dictionary of tensors.
      generator_scope: The variable scope of the generator, or its name.
      discriminator_scope: The variable scope of the discriminator, or its name.
      check_shapes: Whether real and generated data must have the same shape.

    Returns:
      A `tf.contrib.gan.GANModel`.

    >>> model = tf.contrib.gan.gan_model(
    ...     lambda noise: tf.layers.dense(noise, 4), lambda data, noise: tf.layers.dense(data, 1),
    ...     tf.zeros([8, 4]), tf.random_normal([8, 2]))
    >>> [v.op.name for v in model.generator_variables]
    ['Generator/dense/kernel', 'Generator/dense/bias']
    """
    scopes = (generator_scope, discriminator_scope)
    return _built(generator_fn, discriminator_fn, real_data, generator_inputs, scopes, check_shapes)[0]


def infogan_model(
    generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any,
    unstructured_generator_inputs: Any, structured_generator_inputs: Any, generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> InfoGANModel:  # fmt: skip
    """Builds a model whose discriminator also guesses the structured inputs (Chen et al., 2016).

    Args:
      generator_fn: A function of a list of inputs, unstructured ones first, that gives data.
      discriminator_fn: A function of data and of the inputs that gives logits and a list of `tf.distributions.Distribution`, one
        for each structured input.
      real_data: The real data, a tensor.
      unstructured_generator_inputs: A list of tensors of noise.
      structured_generator_inputs: A list of tensors to be guessed.
      generator_scope: The variable scope of the generator, or its name.
      discriminator_scope: The variable scope of the discriminator, or its name.

    Returns:
      A `tf.contrib.gan.InfoGANModel`.

    Example: ``tf.contrib.gan.infogan_model(generator_fn, discriminator_fn, images, [noise], [codes])``
    """
    structured = as_tensors(list(structured_generator_inputs))
    inputs = as_tensors(list(unstructured_generator_inputs)) + structured
    scopes = (generator_scope, discriminator_scope)
    model, for_real, for_generated = _built(generator_fn, discriminator_fn, real_data, inputs, scopes, True)
    outputs, distributions = _pair(for_generated, "logits and predicted distributions")
    _check_distributions(distributions, structured)
    fields = model._replace(
        discriminator_real_outputs=_pair(for_real, "logits and predicted distributions")[0],
        discriminator_gen_outputs=outputs,
        discriminator_fn=lambda data, inputs: discriminator_fn(data, inputs)[0],
    )
    return InfoGANModel(*fields, structured, distributions, discriminator_fn)


def _pair(outputs: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(outputs, (list, tuple)) or len(outputs) != 2:
        raise ValueError(f"discriminator_fn must give a pair, {what}, got {outputs!r} {at()}")
    return outputs[0], outputs[1]


def _check_distributions(distributions: Any, structured: list[Any]) -> None:
    if not isinstance(distributions, (list, tuple)) or not all(isinstance(d, Distribution) for d in distributions):
        raise ValueError(
            f"predicted_distributions must be a list of tf.distributions.Distribution, got {distributions!r} {at()}"
        )
    if len(distributions) != len(structured):
        raise ValueError(
            f"There must be a distribution for each structured input: got {len(distributions)} and {len(structured)} {at()}"
        )


def acgan_model(
    generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], real_data: Any, generator_inputs: Any,
    one_hot_labels: Any, generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> ACGANModel:  # fmt: skip
    """Builds a model whose discriminator also classifies real and generated data (Odena et al., 2016).

    Args:
      generator_fn: A function of the inputs that gives data.
      discriminator_fn: A function of data and of the inputs that gives logits, and logits of the classes.
      real_data: The real data, a tensor.
      generator_inputs: The inputs: a tensor, or a list or dictionary of tensors.
      one_hot_labels: The classes of the data, [batch, classes].
      generator_scope: The variable scope of the generator, or its name.
      discriminator_scope: The variable scope of the discriminator, or its name.
      check_shapes: Whether real and generated data must have the same shape.

    Returns:
      A `tf.contrib.gan.ACGANModel`.

    Example: ``tf.contrib.gan.acgan_model(generator_fn, discriminator_fn, images, noise, tf.one_hot(labels, 10))``
    """
    scopes = (generator_scope, discriminator_scope)
    model, for_real, for_generated = _built(
        generator_fn, discriminator_fn, real_data, generator_inputs, scopes, check_shapes
    )
    real, real_logits = _pair(for_real, "logits and classification logits")
    generated, generated_logits = _pair(for_generated, "logits and classification logits")
    fields = model._replace(discriminator_real_outputs=real, discriminator_gen_outputs=generated)
    return ACGANModel(*fields, convert_to_tensor(one_hot_labels), real_logits, generated_logits)


def cyclegan_model(
    generator_fn: Callable[..., Any], discriminator_fn: Callable[..., Any], data_x: Any, data_y: Any,
    generator_scope: Any = "Generator", discriminator_scope: Any = "Discriminator", model_x2y_scope: Any = "ModelX2Y",
    model_y2x_scope: Any = "ModelY2X", check_shapes: bool = True,
) -> CycleGANModel:  # fmt: skip
    """Builds a model for each way between two domains, and the ways back (Zhu et al., 2017).

    Args:
      generator_fn: A function of data of one domain that gives data of the other.
      discriminator_fn: A function of data and of the generator's inputs that gives logits.
      data_x: Real data of one domain.
      data_y: Real data of the other.
      generator_scope: The name of the variable scope of each generator.
      discriminator_scope: The name of the variable scope of each discriminator.
      model_x2y_scope: The variable scope around the model from x to y, or its name.
      model_y2x_scope: The variable scope around the model from y to x, or its name.
      check_shapes: Whether real and generated data must have the same shape.

    Returns:
      A `tf.contrib.gan.CycleGANModel`.

    Example: ``tf.contrib.gan.cyclegan_model(generator_fn, discriminator_fn, photos, paintings)``
    """
    scopes = (generator_scope, discriminator_scope)
    with variable_scope(model_x2y_scope):
        x2y = _built(generator_fn, discriminator_fn, data_y, data_x, scopes, check_shapes)[0]
    with variable_scope(model_y2x_scope):
        y2x = _built(generator_fn, discriminator_fn, data_x, data_y, scopes, check_shapes)[0]
    with variable_scope(y2x.generator_scope, reuse=True):
        back_to_x = y2x.generator_fn(x2y.generated_data)
    with variable_scope(x2y.generator_scope, reuse=True):
        back_to_y = x2y.generator_fn(y2x.generated_data)
    return CycleGANModel(x2y, y2x, back_to_x, back_to_y)
