"""tf.keras.layers.Layer: what a subclass may rely on, in graphs and eagerly."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import headrace as tf

K = tf.keras.backend


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    yield
    K.clear_session()


@pytest.fixture
def eagerly() -> Iterator[None]:
    with tf.eager_mode():
        yield


class Scale(tf.keras.layers.Layer):
    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight("scale", [input_shape[-1]], initializer="ones", regularizer=tf.reduce_sum)

    def call(self, inputs: Any, training: Any = None) -> Any:
        self.seen = training
        return inputs * self.scale


def test_a_tf_layer_is_a_keras_layer() -> None:
    assert isinstance(tf.layers.Dense(3), tf.keras.layers.Layer)
    assert isinstance(tf.nn.rnn_cell.BasicLSTMCell(2), tf.keras.layers.Layer)


def test_attributes_are_tracked() -> None:
    outer = tf.keras.layers.Layer()
    outer.first = Scale()
    outer.several = [Scale()]
    outer.named = {"a": tf.Variable(1.0, name="a"), "deep": [Scale(), (Scale(),)]}
    outer.own = tf.Variable(2.0, trainable=False, name="own")
    outer.several.append(Scale())  # later than the attribute
    for layer in outer._flatten_layers(include_self=False):
        layer(tf.zeros([1, 2]))
    assert len(outer.trainable_weights) == 6 and [w.name for w in outer.non_trainable_weights] == ["own:0"]
    outer.trainable = False
    assert outer.trainable_weights == [] and len(outer.weights) == 7 and not outer.first.trainable
    del outer.own
    outer.first = None
    assert len(outer.weights) == 5


def test_two_layers_share_one_variable_once() -> None:
    outer, inner = tf.keras.layers.Layer(), Scale()
    outer.a, outer.b = inner, inner
    inner(tf.zeros([1, 2]))
    assert len(outer.weights) == 1


def test_losses_come_from_calls_and_variables() -> None:
    layer = Scale(activity_regularizer=tf.nn.l2_loss)
    x = tf.ones([2, 3])
    layer(x)
    assert K.batch_get_value(layer.losses) == [1.5, 3.0]  # half the sum of squares per example; the sum of the scale
    assert len(layer.get_losses_for(x)) == 1 and len(layer.get_losses_for(None)) == 1


def test_training_goes_to_the_layers_inside() -> None:
    class Outer(tf.keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Scale()

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.inner(inputs)

    outer = Outer()
    outer(tf.zeros([1, 2]), training=True)
    assert outer.inner.seen is True
    outer(tf.zeros([1, 2]))
    assert outer.inner.seen is None  # in a graph the learning phase decides, if the layer asks for it
    with pytest.raises(TypeError, match="unexpected keyword"):
        outer(tf.zeros([1, 2]), nothing=1)


def test_weights_are_read_and_set() -> None:
    layer = Scale(weights=[np.array([2.0, 3.0], np.float32)])
    y = layer(tf.ones([1, 2]))
    assert K.get_value(y).tolist() == [[2.0, 3.0]]
    layer.set_weights([[4.0, 5.0]])
    assert layer.get_weights()[0].tolist() == [4.0, 5.0] and layer.count_params() == 2
    with pytest.raises(ValueError, match="not compatible"):
        layer.set_weights([[1.0]])
    with pytest.raises(ValueError, match="length 0"):
        layer.set_weights([])


def test_several_graphs_and_sessions() -> None:
    values = []
    for start in (1.0, 2.0):
        with tf.Graph().as_default():
            layer = tf.keras.layers.Dense(1, kernel_initializer=tf.constant_initializer(start))
            assert layer.name == "dense"
            with tf.Session():  # Keras initialises in the default session too
                values.append(K.get_value(layer(tf.ones([1, 1]))).item())
            values.append(layer.get_weights()[0].item())  # and in one of its own
    assert values == [1.0, 1.0, 2.0, 2.0]


def test_variable_scopes_give_name_scopes_only() -> None:
    with tf.variable_scope("bert"), tf.variable_scope("encoder"):
        tf.keras.layers.Dense(2, name="a")(tf.zeros([1, 2]))
        tf.layers.dense(tf.zeros([1, 2]), 2, name="b")
        tf.get_variable("c", [1])
    assert [v.name for v in tf.trainable_variables()] == [
        f"bert/encoder/{name}:0" for name in ("a/kernel", "a/bias", "b/kernel", "b/bias", "c")
    ]
    with tf.variable_scope("bert", reuse=True), tf.variable_scope("encoder"):
        tf.layers.dense(tf.zeros([1, 2]), 2, name="b")
    assert len(tf.trainable_variables()) == 5


def test_a_forgotten_init_and_bad_attributes() -> None:
    class Forgetful(tf.keras.layers.Layer):
        def __init__(self) -> None:
            pass

    with pytest.raises(RuntimeError, match="super"):
        Forgetful()(tf.zeros([1]))
    with pytest.raises(AttributeError, match="Choose a different name"):
        tf.keras.layers.Layer().weights = []


def test_layers_in_bodies_make_their_variables_outside() -> None:
    dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
    y = tf.cond(tf.constant(True), lambda: dense(tf.ones([1, 2])), lambda: tf.zeros([1, 1]))
    z = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, dense(tf.ones([1, 2])) + s), (0, tf.zeros([1, 1])))[1]
    assert K.batch_get_value([y, z]) == [[[2.0]], [[6.0]]]


@pytest.mark.usefixtures("eagerly")
def test_eager_layers_and_models() -> None:
    layer = Scale()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(np.ones([2, 3], np.float32)) ** 2) + tf.add_n(layer.losses)
    assert tape.gradient(loss, layer.trainable_weights)[0].numpy().tolist() == [5.0, 5.0, 5.0]
    x = tf.keras.Input([3])
    model = tf.keras.Model(x, tf.reshape(layer(x) * 2.0, [-1, 3, 1]))
    assert x.name == "input_1:0" and type(model.layers[-1]).__name__ == "TensorFlowOpLayer"
    assert model(np.ones([1, 3], np.float32)).numpy().ravel().tolist() == [2.0, 2.0, 2.0]
    again = tf.keras.models.model_from_json(model.to_json(), {"Scale": Scale})
    assert again(tf.ones([1, 3])).numpy().ravel().tolist() == [2.0, 2.0, 2.0]
    double = K.function([x], [model.output * 2.0])
    assert double([np.ones([1, 3])])[0].ravel().tolist() == [4.0, 4.0, 4.0]
    assert tf.function(lambda t: model(t))(tf.ones([1, 3])).numpy().ravel().tolist() == [2.0, 2.0, 2.0]


@pytest.mark.usefixtures("eagerly")
def test_eager_losses_are_those_of_the_last_call() -> None:
    class Penalty(tf.keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_loss(tf.reduce_sum(inputs), inputs=inputs)
            return inputs

    model = tf.keras.Sequential([Penalty(), Penalty()])
    for _ in range(3):
        model(tf.ones([2]))
    assert [float(loss) for loss in model.losses] == [2.0, 2.0]
