"""RNN and its cells: states from batch to batch, dropout, plain data, models, eager calls, compiled steps, mistakes."""

import numpy as np
import pytest

import headrace as tf

layers = tf.keras.layers
X = np.random.RandomState(0).randn(2, 4, 3).astype(np.float32)
EVERY = {
    "SimpleRNN": {"units": 2}, "GRU": {"units": 2}, "LSTM": {"units": 2}, "CuDNNGRU": {"units": 2},
    "CuDNNLSTM": {"units": 2},
}  # fmt: skip


def run(fetches):
    return tf.keras.backend.get_session().run(fetches)


@pytest.fixture(autouse=True)
def clear():
    yield
    tf.keras.backend.clear_session()


@pytest.mark.parametrize("name", EVERY)
def test_states_go_from_batch_to_batch(name):
    whole = getattr(layers, name)(2)
    expected = whole(tf.constant(X))
    part = getattr(layers, name)(2, stateful=True)
    x = tf.placeholder(tf.float32, [2, 2, 3])
    output = part(x)
    part.set_weights(whole.get_weights())
    session = tf.keras.backend.get_session()
    for _ in range(2):
        session.run([output, part.updates], {x: X[:, :2]})
        second, _ = session.run([output, part.updates], {x: X[:, 2:]})
        np.testing.assert_allclose(second, run(expected), rtol=1e-5, atol=1e-6)
        part.reset_states()
    states = [np.full([2, 2], 0.5 + i) for i in range(len(part.states))]
    part.reset_states(states if len(states) > 1 else states[0])
    given = whole(tf.constant(X[:, :2]), initial_state=[tf.constant(s, tf.float32) for s in states])
    np.testing.assert_allclose(session.run(output, {x: X[:, :2]}), run(given), rtol=1e-5, atol=1e-6)
    assert part.weights == part.trainable_weights and len(part.weights) == 3  # the states are no weights


@pytest.mark.parametrize("name", [*EVERY, "RNN", "Bidirectional", "TimeDistributed", "ConvLSTM2D"])
def test_plain_data_makes_the_same_layer(name):
    make = {
        "RNN": lambda: layers.RNN([layers.LSTMCell(2), layers.GRUCell(3, reset_after=True)], return_state=True),
        "Bidirectional": lambda: layers.Bidirectional(layers.GRU(2), merge_mode="sum"),
        "TimeDistributed": lambda: layers.TimeDistributed(layers.Dense(2, activation="relu")),
        "ConvLSTM2D": lambda: layers.ConvLSTM2D(2, 2, padding="same", return_sequences=True),
    }.get(name, lambda: getattr(layers, name)(2, kernel_regularizer=tf.keras.regularizers.l2(0.1), go_backwards=True))
    made = make()
    config = layers.serialize(made)
    same = layers.deserialize(config)
    assert type(same) is type(made) and layers.serialize(same) == config
    x = tf.constant(np.random.RandomState(1).randn(2, 3, 4, 4, 2) if name == "ConvLSTM2D" else X, tf.float32)
    first, second = made(x), same(x)
    same.set_weights(made.get_weights())
    np.testing.assert_allclose(*run([tf.nest.flatten(first)[0], tf.nest.flatten(second)[0]]), rtol=1e-5)
    shape = made.compute_output_shape(x.shape)
    assert [s.as_list() for s in tf.nest.flatten(shape)] == [t.shape.as_list() for t in tf.nest.flatten(first)]


@pytest.mark.parametrize("implementation", [1, 2])
@pytest.mark.parametrize("name", ["SimpleRNN", "GRU", "LSTM"])
def test_dropout_drops_the_same_in_all_steps(name, implementation):
    options = {} if name == "SimpleRNN" else {"implementation": implementation}
    layer = getattr(layers, name)(40, dropout=0.5, recurrent_dropout=0.4, return_sequences=True, **options)
    x = tf.constant(np.ones([1, 5, 40], np.float32))
    trained, plain = layer(x, training=True), layer(x, training=False)
    phase = layer(x)
    kernel = np.tile(np.eye(40), [1, layer.cell.gates])
    layer.set_weights([kernel, kernel, np.zeros(40 * layer.cell.gates)])
    a, b, d = run([trained, plain, phase])
    assert not np.allclose(a, b) and not np.array_equal(a, run(trained))
    np.testing.assert_array_equal(b, d)
    if name == "SimpleRNN":
        dropped = a[0] == 0
        assert 5 < dropped[0].sum() < 35 and (dropped[1:] == dropped[0]).all()
    np.testing.assert_array_equal(
        run(phase).shape, tf.keras.backend.get_session().run(phase, {tf.keras.backend.learning_phase(): True}).shape
    )


def test_cells_may_be_called_by_hand():
    cell = layers.LSTMCell(2, dropout=0.5)
    state = cell.get_initial_state(tf.constant(X[:, 0]))
    outputs = []
    for t in range(4):
        output, state = cell(tf.constant(X[:, t]), state, training=False)
        outputs.append(output)
    rnn = layers.RNN(cell, return_sequences=True)
    np.testing.assert_allclose(*run([tf.stack(outputs, 1), rnn(tf.constant(X), training=False)]), rtol=1e-5, atol=1e-6)
    cell(tf.constant(X[:, 0]), state, training=True)
    first = cell._masks["inputs"]
    cell.reset_dropout_mask()
    cell.reset_recurrent_dropout_mask()
    cell(tf.constant(X[:, 0]), state, training=True)
    assert cell._masks["inputs"] is not first


def test_a_cell_of_ones_own():
    class Sum(layers.AbstractRNNCell):
        state_size = output_size = 3

        def call(self, inputs, states):
            return states[0] + inputs, [states[0] + inputs]

    class Doubled(layers.LSTMCell):
        def call(self, inputs, states, training=None):
            output, states = super().call(inputs, states, training)
            return output * 2.0, states

    np.testing.assert_allclose(run(layers.RNN(Sum())(tf.constant(X))), X.sum(1), rtol=1e-5)
    lstm = layers.LSTMCell(2)
    doubled = Doubled.from_config(lstm.get_config())
    a, b = layers.RNN(lstm)(tf.constant(X)), layers.RNN(doubled)(tf.constant(X))
    doubled.set_weights(lstm.get_weights())
    a, b = run([a, b])
    np.testing.assert_allclose(2 * a, b, rtol=1e-5)
    with pytest.raises(NotImplementedError):
        layers.AbstractRNNCell().call(None, None)
    with pytest.raises(NotImplementedError):
        layers.AbstractRNNCell().state_size  # noqa: B018
    with pytest.raises(NotImplementedError):
        layers.AbstractRNNCell().output_size  # noqa: B018


def test_nested_inputs_and_outputs():
    class Both(layers.Layer):
        state_size = (3, 3)
        output_size = (3, 1)

        def call(self, inputs, states):
            a, b = inputs
            new = states[0] + a, states[1] - b
            return (new[0], tf.reduce_sum(new[1], 1, keepdims=True)), list(new)

    first, second = layers.RNN(Both())((tf.constant(X), tf.constant(X)))
    np.testing.assert_allclose(run(first), X.sum(1), rtol=1e-5)
    np.testing.assert_allclose(run(second), -X.sum((1, 2))[:, None], rtol=1e-4, atol=1e-6)


def test_models_of_them():
    model = tf.keras.Sequential([
        layers.Embedding(7, 3, mask_zero=True, input_length=5), layers.LSTM(4, return_sequences=True),
        layers.Bidirectional(layers.GRU(3)), layers.Dense(2),
    ])  # fmt: skip
    assert model.output_shape == (None, 2) and [len(one.weights) for one in model.layers] == [1, 3, 6, 2]
    names = [w.name for w in model.layers[1].weights]
    assert names == ["lstm/kernel:0", "lstm/recurrent_kernel:0", "lstm/bias:0"]
    same = tf.keras.Sequential.from_config(model.get_config())
    same.set_weights(model.get_weights())
    numbers = tf.constant([[1, 2, 3, 0, 0], [4, 5, 6, 1, 0]])
    a, b = run([model(numbers), same(numbers)])
    np.testing.assert_allclose(a, b, rtol=1e-5)
    x = tf.keras.Input(batch_shape=(2, None, 3))
    output, *states = layers.LSTM(4, return_state=True)(x)
    decoder = layers.LSTM(4, return_sequences=True)
    functional = tf.keras.Model(x, decoder(x, initial_state=states))
    again = functional(tf.constant(X))
    expected = decoder(tf.constant(X), initial_state=functional.layers[1](tf.constant(X))[1:])
    np.testing.assert_allclose(*run([again, expected]), rtol=1e-5)


def test_unknown_sizes():
    x = tf.placeholder(tf.float32, [None, None, 3])
    mask = tf.placeholder(tf.bool, [None, None])
    layer = layers.LSTM(2, return_sequences=True)
    plain, masked = layer(x), layer(x, mask=mask)
    nested = layers.TimeDistributed(layers.Dense(2))(x)
    session = tf.keras.backend.get_session()
    for batch, steps in ((2, 4), (1, 2)):
        values = X[:batch, :steps]
        a, b, c = session.run([plain, masked, nested], {x: values, mask: np.ones([batch, steps], bool)})
        assert a.shape == b.shape == c.shape == (batch, steps, 2)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_compiled_step_gives_the_same():
    layer = layers.GRU(3)
    y = layer(tf.constant(X))
    expected, weights = run(y), layer.get_weights()
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        for variable, value in zip(layer.weights, weights, strict=True):
            variable.load(value, session)
        np.testing.assert_allclose(session.run(y), expected, rtol=1e-4, atol=1e-5)


def test_inside_conditionals_and_functions():
    layer = layers.GRU(2)
    x = tf.constant(X)
    expected = layer(x)
    chosen = tf.cond(tf.constant(True), lambda: layer(x), lambda: tf.zeros([2, 2]))
    traced = tf.function(lambda t: layer(t))(x)
    for one in run([chosen, traced]):
        np.testing.assert_allclose(one, run(expected), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.RNN(3), "`cell` should have `call`"),
        (lambda: layers.RNN(layers.Dense(2)), "`cell` should have `state_size`"),
        (lambda: layers.StackedRNNCells([3]), "All cells must have a `call` method"),
        (lambda: layers.LSTM(0), "`units` must be a positive integer, got 0"),
        (lambda: layers.LSTM(2, unroll=True)(tf.placeholder(tf.float32, [2, None, 3])), "Cannot unroll a RNN"),
        (
            lambda: layers.LSTM(2, stateful=True)(tf.placeholder(tf.float32, [None, 2, 3])),
            "needs to know its batch size",
        ),
        (lambda: layers.LSTM(2)(tf.zeros([2, 3])), "expected ndim=3, found ndim=2"),
        (lambda: layers.LSTM(2)(tf.zeros([2, 3, 3]), initial_state=[tf.zeros([2, 2])]), "not compatible with"),
        (lambda: layers.GRU(2)(tf.zeros([2, 3, 3]), initial_state=[tf.zeros([2, 5])]), "not compatible with"),
        (lambda: layers.GRU(2)(tf.placeholder(tf.float32, [2, 3, None])), "last dimension of the inputs to `GRUCell`"),
        (
            lambda: layers.RNN(layers.GRUCell(2))(tf.zeros([2, 3, 3]), constants=[tf.zeros([2])]),
            "does not support constants",
        ),
        (lambda: layers.CuDNNGRU(2)(tf.zeros([2, 3, 3]), mask=tf.ones([2, 3], tf.bool)), "Masking is not supported"),
        (lambda: layers.Wrapper(3), "goes around a `tf.keras.layers.Layer`; got 3"),
        (lambda: layers.TimeDistributed(layers.Dense(2))(tf.zeros([2, 3])), "rank 3 or more"),
        (lambda: layers.Bidirectional(layers.GRU(2), merge_mode="max"), "Invalid merge mode"),
        (lambda: layers.Bidirectional(layers.GRU(2), backward_layer=layers.GRU(2)), "different `go_backwards`"),
        (
            lambda: layers.Bidirectional(layers.GRU(2), backward_layer=layers.GRU(2, go_backwards=True, stateful=True)),
            "the same `stateful`",
        ),
        (
            lambda: layers.Bidirectional(layers.GRU(2))(tf.zeros([2, 3, 3]), initial_state=[tf.zeros([2, 2])]),
            "an even number; got 1",
        ),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_resetting_what_keeps_nothing():
    for layer in (layers.LSTM(2), layers.Bidirectional(layers.LSTM(2))):
        with pytest.raises(AttributeError, match="Layer must be stateful"):
            layer.reset_states()
    layer = layers.LSTM(2, stateful=True)
    layer(tf.zeros([2, 3, 3]))
    with pytest.raises(ValueError, match="expects 2 states, but it received 1 state values"):
        layer.reset_states([np.zeros([2, 2])])
    with pytest.raises(ValueError, match=r"expected shape=\(2, 2\), found shape=\(3, 2\)"):
        layer.reset_states([np.zeros([3, 2]), np.zeros([2, 2])])
    with pytest.raises(TypeError, match="Unrolling isn't possible"):
        layers.ConvLSTM2D(2, 2, unroll=True)


def test_bidirectional_states():
    layer = layers.Bidirectional(layers.LSTM(2, stateful=True), weights=None)
    layer(tf.constant(X))
    layer.reset_states([np.full([2, 2], i) for i in range(4)])
    assert [run(s)[0, 0] for one in (layer.forward_layer, layer.backward_layer) for s in one.states] == [0, 1, 2, 3]
    layer.reset_states()
    assert [run(s)[0, 0] for one in (layer.forward_layer, layer.backward_layer) for s in one.states] == [0] * 4
    with pytest.raises(ValueError, match="should be a list or tuple"):
        layer.reset_states(np.zeros([4, 2, 2]))


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_the_weights_of_cudnn(name):
    """CuDNN's layers compute what the others do with sigmoids, and a second bias."""
    options = {"recurrent_activation": "sigmoid", **({"reset_after": True} if name == "GRU" else {})}
    plain = getattr(layers, name)(2, return_sequences=True, **options)
    cudnn = getattr(layers, f"CuDNN{name}")(2, return_sequences=True)
    a, b = plain(tf.constant(X)), cudnn(tf.constant(X))
    kernel, recurrent, bias = cudnn.get_weights()
    if name == "LSTM":
        assert bias.tolist() == [0] * 10 + [1, 1] + [0] * 4
    bias = np.linspace(-1, 1, bias.size).astype(np.float32)
    cudnn.set_weights([kernel, recurrent, bias])
    halves = bias.reshape(2, -1)
    plain.set_weights([kernel, recurrent, halves if name == "GRU" else halves.sum(0)])
    np.testing.assert_allclose(*run([a, b]), rtol=1e-5, atol=1e-6)
    assert "unroll" not in cudnn.get_config() and cudnn.recurrent_kernel is cudnn.weights[1]


def test_eagerly():
    layer = layers.LSTM(2, return_sequences=True, dropout=0.5)
    mask = np.array([[True, False, True, True]] * 2)
    expected = layer(tf.constant(X), mask=tf.constant(mask))
    weights, expected = layer.get_weights(), run(expected)
    with tf.eager_mode():
        eager = layers.LSTM(2, return_sequences=True, dropout=0.5)
        eager(tf.constant(X))
        eager.set_weights(weights)
        with tf.GradientTape() as tape:
            y = eager(tf.constant(X), mask=tf.constant(mask))
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
        assert all(one is not None for one in tape.gradient(y, eager.trainable_weights))
        kept = layers.GRU(2, stateful=True)
        first = kept(tf.constant(X)).numpy()
        assert not np.allclose(first, kept(tf.constant(X)).numpy())
        kept.reset_states()
        np.testing.assert_allclose(first, kept(tf.constant(X)).numpy(), rtol=1e-5)
        both = layers.Bidirectional(layers.SimpleRNN(2))(tf.constant(X))
        assert both.shape.as_list() == [2, 4]
