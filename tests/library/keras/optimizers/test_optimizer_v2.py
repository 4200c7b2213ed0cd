"""What all of tf.keras.optimizers share; their steps are compared with Keras's in tests/library/keras/test_losses.py."""

import numpy as np
import pytest
from golden.keras_figures_cases import OPTIMIZERS

import headrace as tf

keras = tf.keras


def trained(optimizer, steps: int = 1):
    """A variable from 4 toward 0, after some steps."""
    w = keras.backend.variable(4.0)
    step = optimizer.minimize(lambda: tf.square(w), [w])
    for _ in range(steps):
        keras.backend.get_session().run(step)
    return w


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
def test_configurations(name: str, options: dict) -> None:
    optimizer = getattr(keras.optimizers, name)(0.25, **options)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert type(again) is type(optimizer)
    assert again.get_config() == optimizer.get_config()


def test_hyper_parameters_are_variables() -> None:
    optimizer = keras.optimizers.SGD(0.25)
    w = trained(optimizer)
    assert keras.backend.get_value(w) == 2.0
    optimizer.lr = 0.5
    assert keras.backend.get_value(optimizer.learning_rate) == 0.5
    keras.backend.set_value(optimizer.lr, 0.125)
    assert optimizer.get_config()["learning_rate"] == 0.125
    assert keras.backend.get_value(optimizer.iterations) == 1
    assert keras.optimizers.SGD(lr=0.75).get_config()["learning_rate"] == 0.75


def test_weights() -> None:
    first, second = keras.optimizers.Adam(0.1), keras.optimizers.Adam(0.1)
    w = trained(first, 3)
    trained(second)
    kept = first.get_weights()
    assert [np.shape(v) for v in kept] == [(), (), ()]
    second.set_weights(kept)
    assert second.get_weights() == kept
    assert first.get_slot_names() == ["m", "v"]
    assert first.get_slot(w, "m") is first.weights[1]
    with pytest.raises(KeyError, match="keeps no 'momentum'"):
        first.get_slot(w, "momentum")
    with pytest.raises(ValueError, match="with a weight list of length 1"):
        second.set_weights(kept[:1])


def test_constraints_and_missing_gradients() -> None:
    w = tf.Variable(4.0, use_resource=True, constraint=lambda v: tf.minimum(v, 1.0))
    other = tf.Variable(1.0, use_resource=True)
    optimizer = keras.optimizers.SGD(0.1)
    step = optimizer.apply_gradients([(tf.constant(1.0), w), (None, other)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([w, other]) == [1.0, 1.0]
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="has `None` for gradient"):
        optimizer.get_gradients(tf.square(w), [other])


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="Unexpected keyword argument passed to optimizer: momentun"):
        keras.optimizers.SGD(momentun=0.9)
    with pytest.raises(ValueError, match="Expected clipnorm >= 0, received: -1"):
        keras.optimizers.SGD(clipnorm=-1)
    with pytest.raises(ValueError, match="`momentum` must be between"):
        keras.optimizers.SGD(momentum=2.0)
    with pytest.raises(ValueError, match="Unknown optimizer: nope"):
        keras.optimizers.get("nope")
    with pytest.raises(ValueError, match="an optimizer is a name"):
        keras.optimizers.get(1)


def test_schedules() -> None:
    schedules = keras.optimizers.schedules
    rate = schedules.PiecewiseConstantDecay([2], [1.0, 0.5])
    again = schedules.deserialize(schedules.serialize(rate))
    assert [tf.Session().run(again(step)) for step in (2, 3)] == [1.0, 0.5]
    optimizer = keras.optimizers.SGD(schedules.InverseTimeDecay(0.25, 1, 1.0))
    restored = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert restored.get_config() == optimizer.get_config()
    assert keras.backend.get_value(trained(optimizer, 2)) == pytest.approx(1.5)
    with pytest.raises(ValueError, match="does not support a LearningRateSchedule"):
        keras.optimizers.Nadam(rate)


def test_eagerly() -> None:
    with tf.eager_mode():
        w = tf.Variable([4.0])
        optimizer = keras.optimizers.SGD(0.25, momentum=0.5)
        for _ in range(2):
            optimizer.minimize(lambda: tf.square(w), [w])
        assert w.numpy().tolist() == [0.0]
        assert int(optimizer.iterations.numpy()) == 2
