"""Recurrent Keras layers on Headrace and on TensorFlow: ``results(tf)`` builds all cases in one graph and runs them together.

Each case makes a layer and calls it.  Weights are set by ``weight`` (by their position), so that both sides compute with the
same numbers; kept are the outputs, masks, weights' shapes, and the gradients of the sum of squares of all outputs.
"""

import numpy as np


def weight(position, shape):
    count = int(np.prod(shape))
    return (0.4 * np.sin(0.7 * np.arange(count) + position)).reshape(shape).astype(np.float32)


def values(*shape, start=0.0):
    return np.cos(0.9 * np.arange(np.prod(shape)) + start).reshape(shape).astype(np.float32)


X = values(2, 4, 3)
MASK = np.array([[True, True, False, True], [False, True, True, False]])
IMAGES = values(2, 3, 5, 4, 2)


def layer(name, *args, call=None, x=X, **options):
    """A case: the layer of a name, called on x."""

    def case(tf):
        keras = tf.keras
        given = {key: value(tf) if callable(value) else value for key, value in options.items()}
        made = getattr(keras.layers, name)(*[one(tf) if callable(one) else one for one in args], **given)
        wanted = {key: value(tf) for key, value in (call or {}).items()}
        inputs = tf.constant(x)
        return made, inputs, made(inputs, **wanted)

    return case


def cell(name, *args, **options):
    return lambda tf: getattr(tf.keras.layers, name)(*args, **options)


def cells(*makers):
    return lambda tf: [make(tf) for make in makers]


def masked(tf):
    return tf.constant(MASK)


def states(*sizes):
    return lambda tf: [tf.constant(values(2, size, start=i + 0.5)) for i, size in enumerate(sizes)]


def time_major(case):
    return layer(case[0], *case[1], x=X.transpose(1, 0, 2), time_major=True, return_sequences=True, return_state=True)


class Scaled:
    """A cell that takes constants, made for either library."""

    def __new__(cls, tf):
        class ScaledCell(tf.keras.layers.Layer):
            state_size = 3

            def call(self, inputs, states, constants):
                new = tf.tanh(inputs * constants[0] + states[0])
                return new, [new]

        return ScaledCell()


def several_calls(tf):
    """One layer on two inputs."""
    made = tf.keras.layers.GRU(2, return_sequences=True)
    x = tf.constant(X)
    return made, x, [made(x), made(x * 2.0)]


def with_masking(tf):
    """A mask that comes from a layer and goes through others."""
    keras = tf.keras
    x = keras.layers.Input(tensor=tf.constant(np.where(MASK[:, :, None], X, 0.0).astype(np.float32)))
    made = keras.layers.Bidirectional(keras.layers.LSTM(2, return_sequences=True))
    hidden = made(keras.layers.Masking()(x))
    return made, x, hidden


def states_from_layers(tf):
    keras = tf.keras
    x = keras.layers.Input(tensor=tf.constant(X))
    _, h, c = keras.layers.LSTM(2, return_state=True, kernel_initializer="ones", recurrent_initializer="ones")(x)
    made = keras.layers.LSTM(2, return_sequences=True)
    return made, x, made(x, initial_state=[h, c])


BOTH = {"return_sequences": True, "return_state": True}
GRU_OPTIONS = {
    "gru": {}, "gru_fused": {"implementation": 2}, "gru_after": {"reset_after": True, "recurrent_activation": "sigmoid"},
    "gru_after_fused": {"reset_after": True, "implementation": 2}, "gru_unbiased": {"use_bias": False},
    "gru_after_unbiased": {"use_bias": False, "reset_after": True}, "gru_relu": {"activation": "relu"},
}  # fmt: skip
LSTM_OPTIONS = {
    "lstm": {}, "lstm_fused": {"implementation": 2}, "lstm_unbiased": {"use_bias": False},
    "lstm_sigmoid": {"recurrent_activation": "sigmoid", "activation": "relu"}, "lstm_linear": {"activation": None},
}  # fmt: skip

CASES = {
    "simple": layer("SimpleRNN", 3, **BOTH),
    "simple_last": layer("SimpleRNN", 3, use_bias=False, activation="relu"),
    **{name: layer("GRU", 3, **BOTH, **options) for name, options in GRU_OPTIONS.items()},
    **{name: layer("LSTM", 3, **BOTH, **options) for name, options in LSTM_OPTIONS.items()},
    **{
        f"{name.lower()}_{what}": layer(name, 3, **options, **BOTH)
        for name in ("SimpleRNN", "GRU", "LSTM")
        for what, options in {
            "backwards": {"go_backwards": True}, "unrolled": {"unroll": True},
            "masked": {"call": {"mask": masked}}, "masked_backwards": {"call": {"mask": masked}, "go_backwards": True},
            "masked_unrolled": {"call": {"mask": masked}, "unroll": True},
        }.items()
    },
    "lstm_last": layer("LSTM", 3),
    "lstm_last_masked": layer("LSTM", 3, call={"mask": masked}),
    "lstm_last_unrolled": layer("LSTM", 3, unroll=True, return_state=True),
    "gru_last_masked": layer("GRU", 3, call={"mask": masked}, return_state=True),
    "lstm_time_major": time_major(("LSTM", (3,))),
    "gru_time_major": time_major(("GRU", (3,))),
    "lstm_given_states": layer("LSTM", 3, call={"initial_state": states(3, 3)}, **BOTH),
    "gru_given_state": layer("GRU", 2, call={"initial_state": states(2)}, **BOTH),
    "rnn_one_cell": layer("RNN", cell("LSTMCell", 2), **BOTH),
    "rnn_stacked": layer("RNN", cells(cell("LSTMCell", 3), cell("GRUCell", 2), cell("SimpleRNNCell", 4)), **BOTH),
    "rnn_stacked_masked": layer("RNN", cells(cell("GRUCell", 3), cell("LSTMCell", 2)), call={"mask": masked}, **BOTH),
    "rnn_stacked_unrolled": layer("RNN", cells(cell("GRUCell", 3), cell("LSTMCell", 2)), unroll=True, **BOTH),
    "rnn_stacked_states": layer(
        "RNN", cells(cell("GRUCell", 3), cell("GRUCell", 2)), call={"initial_state": states(3, 2)}, **BOTH
    ),
    "rnn_constants": layer("RNN", Scaled, call={"constants": lambda tf: [tf.constant(values(2, 3, start=2.0))]}),
    "several_calls": several_calls,
    "bidirectional": layer("Bidirectional", cell("LSTM", 2, return_sequences=True)),
    "bidirectional_last": layer("Bidirectional", cell("GRU", 2)),
    "bidirectional_sum": layer("Bidirectional", cell("GRU", 2, return_sequences=True), merge_mode="sum"),
    "bidirectional_mul": layer("Bidirectional", cell("GRU", 2, return_state=True), merge_mode="mul"),
    "bidirectional_ave": layer("Bidirectional", cell("SimpleRNN", 2), merge_mode="ave"),
    "bidirectional_both": layer("Bidirectional", cell("LSTM", 2, **BOTH), merge_mode=None),
    "bidirectional_states": layer(
        "Bidirectional", cell("LSTM", 2, **BOTH), call={"initial_state": states(2, 2, 2, 2)}
    ),
    "with_masking": with_masking,
    "states_from_layers": states_from_layers,
    "time_distributed": layer("TimeDistributed", cell("Dense", 2, activation="tanh")),
    "time_distributed_images": layer("TimeDistributed", cell("Conv2D", 2, 2), x=IMAGES),
    "time_distributed_rnn": layer("TimeDistributed", cell("LSTM", 2), x=values(2, 3, 4, 2)),
    "conv_lstm": layer("ConvLSTM2D", 2, 3, x=IMAGES),
    "conv_lstm_all": layer(
        "ConvLSTM2D", 2, (2, 3), strides=2, padding="same", x=IMAGES, recurrent_activation="sigmoid", **BOTH
    ),
    "conv_lstm_dilated": layer(
        "ConvLSTM2D", 2, 2, dilation_rate=2, use_bias=False, go_backwards=True, return_sequences=True, x=IMAGES
    ),
    "conv_lstm_masked": layer(
        "ConvLSTM2D", 2, 2, x=IMAGES, call={"mask": lambda tf: tf.constant(MASK[:, :3])}, **BOTH
    ),
}  # fmt: skip


def results(tf):
    """The arrays of each case, by ``case/what``."""
    keras = tf.keras
    built = {name: case(tf) for name, case in CASES.items()}
    fetches, numbers = {}, []
    for name, (made, inputs, outputs) in built.items():
        listed = tf.nest.flatten(outputs)
        weights = made.weights
        numbers += [(w, weight(i, w.shape.as_list())) for i, w in enumerate(weights)]
        loss = sum(tf.reduce_sum(one * one) for one in listed)
        gradients = tf.gradients(loss, [*weights, inputs])
        for i, one in enumerate(listed):
            fetches[f"{name}/output/{i}"] = one
            mask = getattr(one, "_keras_mask", None)
            if mask is not None:
                fetches[f"{name}/mask/{i}"] = mask
        for i, one in enumerate(gradients):
            fetches[f"{name}/gradient/{i}"] = one
    keras.backend.batch_set_value(numbers)
    return keras.backend.get_session().run(fetches)
