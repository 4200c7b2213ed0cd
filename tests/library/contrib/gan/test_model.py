"""Models of generators and discriminators: tensors, scopes, variables, mistakes."""

from typing import Any

import numpy as np
import pytest
from library.contrib.gan.networks import discriminator, generator, guesses, two_outputs

import headrace as tf

gan = tf.contrib.gan


def _names(variables: Any) -> list[str]:
    return [v.op.name for v in variables]


def test_a_model() -> None:
    model = gan.gan_model(generator, discriminator, tf.ones([4, 2]), tf.zeros([4, 3]), generator_scope="Gen")
    assert _names(model.generator_variables) == ["Gen/g/kernel", "Gen/g/bias"]
    assert _names(model.discriminator_variables) == ["Discriminator/d/kernel", "Discriminator/d/bias"]
    assert model.generator_scope.name == "Gen" and len(tf.global_variables()) == 4
    assert model.discriminator_real_outputs.shape.as_list() == [4, 1] == model.discriminator_gen_outputs.shape.as_list()
    small = gan.gan_model(
        generator, discriminator, np.float32([[1, 2]]), [np.float32([[1]]), np.float32([[2]])], "A", "B"
    )
    assert small.generated_data.shape == (1, 2) and isinstance(small.generator_inputs, list)


def test_a_model_that_guesses_its_inputs() -> None:
    noise, code = tf.zeros([4, 3]), tf.constant([0, 1, 2, 1])
    model = gan.infogan_model(
        lambda inputs: generator([inputs[0], tf.one_hot(inputs[1], 3)]), guesses, tf.ones([4, 2]), [noise], [code]
    )
    assert isinstance(model, gan.InfoGANModel) and len(model.generator_inputs) == 2
    assert model.structured_generator_inputs == [code] and len(model.predicted_distributions) == 1
    with tf.variable_scope(model.discriminator_scope, reuse=True):
        assert model.discriminator_fn(model.real_data, None).shape.as_list() == [4, 1]


def test_a_model_that_classifies() -> None:
    labels = tf.one_hot([0, 1, 2, 0], 3)
    model = gan.acgan_model(generator, two_outputs, tf.ones([4, 2]), tf.zeros([4, 3]), labels)
    assert isinstance(model, gan.ACGANModel) and model.one_hot_labels is labels
    assert model.discriminator_gen_classification_logits.shape.as_list() == [4, 3]
    assert len(model.discriminator_variables) == 4


def test_two_models_between_domains() -> None:
    model = gan.cyclegan_model(generator, discriminator, tf.zeros([4, 2]), tf.ones([4, 2]))
    assert _names(model.model_x2y.generator_variables) == ["ModelX2Y/Generator/g/kernel", "ModelX2Y/Generator/g/bias"]
    assert _names(model.model_y2x.discriminator_variables)[0] == "ModelY2X/Discriminator/d/kernel"
    assert len(tf.global_variables()) == 8
    x, y = model.model_x2y, model.model_y2x
    w = {v.op.name: v for v in tf.global_variables()}
    back = tf.matmul(x.generated_data, w["ModelY2X/Generator/g/kernel"]) + w["ModelY2X/Generator/g/bias"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert abs(sess.run(back - model.reconstructed_x)).max() < 1e-6
    assert y.real_data is x.generator_inputs


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: gan.gan_model(generator, lambda data, _: data, tf.ones([4, 5]), tf.zeros([4, 3])),
            r"Generator output shape .4, 2. must be the same shape as real data .4, 5. ",
        ),
        (lambda: gan.acgan_model(generator, discriminator, tf.ones([4, 2]), tf.zeros([4, 3]), 0), "must give a pair"),
        (lambda: gan.infogan_model(generator, two_outputs, tf.ones([4, 2]), [tf.zeros([4, 3])], []), "list of tf.dist"),
        (lambda: gan.infogan_model(generator, guesses, tf.ones([4, 2]), [tf.zeros([4, 3])], []), "got 1 and 0"),
    ],
)
def test_mistakes(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()
