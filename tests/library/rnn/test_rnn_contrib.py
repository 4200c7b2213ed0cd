"""Cells of tf.contrib.rnn beside their formulas in numpy: names of variables, outputs, states, unrolling and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf

rnn = tf.contrib.rnn
Weights = dict[str, Any]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _split(x: Any, count: int) -> list[Any]:
    return np.split(x, count, axis=-1)


def _sru(w: Weights, x: Any, c: Any) -> Any:
    candidate, f, r, passed = _split(x @ w["kernel"], 4)
    f, r = _split(_sigmoid(np.concatenate([f, r], 1) + w["bias"]), 2)
    new = f * c + (1 - f) * candidate
    return r * np.tanh(new) + (1 - r) * passed, new


def _ind_rnn(w: Weights, x: Any, h: Any) -> Any:
    new = np.tanh(x @ w["kernel_w"] + w["kernel_u"] * h + w["bias"])
    return new, new


def _indy_gru(w: Weights, x: Any, h: Any) -> Any:
    gates = x @ w["gates/kernel_w"] + w["gates/kernel_u"] * np.tile(h, [1, 2]) + w["gates/bias"]
    r, u = _split(_sigmoid(gates), 2)
    c = np.tanh(x @ w["candidate/kernel_w"] + w["candidate/kernel_u"] * (r * h) + w["candidate/bias"])
    new = u * h + (1 - u) * c
    return new, new


def _lstm(gates: Any, c: Any, bias: float = 1.0) -> Any:
    i, j, f, o = _split(gates, 4)
    new_c = _sigmoid(f + bias) * c + _sigmoid(i) * np.tanh(j)
    new_h = _sigmoid(o) * np.tanh(new_c)
    return new_h, (new_c, new_h)


def _indy_lstm(w: Weights, x: Any, state: Any) -> Any:
    c, h = state
    return _lstm(x @ w["kernel_w"] + w["kernel_u"] * np.tile(h, [1, 4]) + w["bias"], c)


def _coupled(w: Weights, x: Any, state: Any) -> Any:
    c, h = state
    matrix = np.concatenate([w["W_0"], w["W_1"]])
    j, f, o = _split(np.concatenate([x, h], 1) @ matrix + w["B"], 3)
    f = _sigmoid(f + 1 + w["W_F_diag"] * c)
    new_c = f * c + (1 - f) * np.tanh(j)
    new_h = np.clip((_sigmoid(o + w["W_O_diag"] * new_c) * np.tanh(new_c)) @ w["W_P_0"], -0.1, 0.1)
    return new_h, (new_c, new_h)


def _normal(w: Weights, x: Any, scope: str) -> Any:
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
    return x * w[f"{scope}/gamma"] + w[f"{scope}/beta"]


def _coupled_normal(w: Weights, x: Any, state: Any) -> Any:
    c, h = _split(state, 2)
    j, f, o = _split(np.concatenate([x, h], 1) @ w["W_0"], 3)
    j, f, o = _normal(w, j, "transform"), _normal(w, f, "forget"), _normal(w, o, "output")
    f = _sigmoid(f + 1)
    new_c = _normal(w, f * c + (1 - f) * np.tanh(j), "state")
    new_h = _sigmoid(o) * np.tanh(new_c)
    return new_h, np.concatenate([new_c, new_h], 1)


def _groups(w: Weights, x: Any, state: Any) -> Any:
    c, h = state
    pieces = [
        _split(np.concatenate([a, b], 1) @ w[f"group{i}/kernel"], 4)
        for i, (a, b) in enumerate(zip(_split(x, 2), _split(h, 2), strict=True))
    ]
    gates = [
        np.concatenate(part, 1) + w[f"bias_{n}"] for part, n in zip(zip(*pieces, strict=True), "ijfo", strict=True)
    ]
    new_h, (new_c, _) = _lstm(np.concatenate(gates, 1), c)
    new_h = new_h @ w["projection/kernel"]
    return new_h, (new_c, new_h)


def _intersection(w: Weights, x: Any, h: Any) -> Any:
    x = x @ w["in_projection/kernel"] + w["in_projection/bias"]
    gate_h, new, gate_y, y = _split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4)
    gate_h, gate_y = _sigmoid(gate_h + 1), _sigmoid(gate_y + 1)
    return gate_y * x + (1 - gate_y) * np.maximum(y, 0), gate_h * h + (1 - gate_h) * np.tanh(new)


def _layer_norm(w: Weights, x: Any, state: Any) -> Any:
    c, h = state
    return _lstm(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], c)


def _gru_block(w: Weights, x: Any, h: Any) -> Any:
    r, u = _split(_sigmoid(np.concatenate([x, h], 1) @ w["w_ru"] + w["b_ru"]), 2)
    c = np.tanh(np.concatenate([x, r * h], 1) @ w["w_c"] + w["b_c"])
    new = u * h + (1 - u) * c
    return new, new


def _highway(w: Weights, x: Any, h: Any) -> Any:
    new = np.tanh(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"])
    carry, transform = (_sigmoid(x @ w[f"{g}_w"] + w[f"{g}_b"]) for g in ("carry", "transform"))
    return x * carry + new * transform, new


CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any], str]] = {
    "sru": (lambda: rnn.SRUCell(4), _sru, "sru_cell"),
    "ind_rnn": (lambda: rnn.IndRNNCell(4), _ind_rnn, "ind_rnn_cell"),
    "indy_gru": (lambda: rnn.IndyGRUCell(4), _indy_gru, "indy_gru_cell"),
    "indy_lstm": (lambda: rnn.IndyLSTMCell(4), _indy_lstm, "indy_lstm_cell"),
    "coupled": (
        lambda: rnn.CoupledInputForgetGateLSTMCell(4, True, num_proj=2, proj_clip=0.1, num_unit_shards=2),
        _coupled,
        "coupled_input_forget_gate_lstm_cell",
    ),
    "coupled_normal": (
        lambda: rnn.CoupledInputForgetGateLSTMCell(4, layer_norm=True, state_is_tuple=False),
        _coupled_normal,
        "coupled_input_forget_gate_lstm_cell",
    ),
    "groups": (lambda: rnn.GLSTMCell(4, num_proj=2, number_of_groups=2), _groups, "glstm_cell"),
    "intersection": (lambda: rnn.IntersectionRNNCell(4, 4), _intersection, "intersection_rnn_cell"),
    "layer_norm_off": (
        lambda: rnn.LayerNormBasicLSTMCell(4, layer_norm=False), _layer_norm, "layer_norm_basic_lstm_cell",
    ),
    "gru_block": (lambda: rnn.GRUBlockCell(4), _gru_block, "gru_cell"),
    "highway": (lambda: rnn.HighwayWrapper(rnn.BasicRNNCell(6), False), _highway, ""),
    "compiled": (lambda: rnn.CompiledWrapper(rnn.SRUCell(4)), _sru, "sru_cell"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_two_steps_are_as_in_the_formula(name: str) -> None:
    make, formula, scope = CASES[name]
    rows = np.random.RandomState(1).randn(2, 2, 6).astype(np.float32)  # [batch, time, size]
    cell = make()
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(rows), dtype=tf.float32)
    variables = tf.trainable_variables()
    gradients = tf.gradients(tf.reduce_sum(outputs * outputs), variables)
    assert all(gradient is not None for gradient in gradients if name != "coupled_normal")  # its B is not used
    draw = np.random.RandomState(2)
    with tf.Session() as sess:
        weights = {}
        for v in variables:
            value = 0.5 * draw.randn(*v.shape.as_list()).astype(np.float32)
            v.load(value, sess)
            names = v.op.name.removeprefix("rnn/").removeprefix("basic_rnn_cell/")
            assert names.startswith(scope)
            weights[names.removeprefix(f"{scope}/" if scope else "")] = value
        got = sess.run([outputs, state])
        assert all(np.isfinite(g).all() for g in sess.run([g for g in gradients if g is not None]))
    start = tf.nest.map_structure(lambda s: np.zeros_like(s), tuple(got[1]) if isinstance(got[1], tuple) else got[1])
    for t in range(2):
        output, start = formula(weights, rows[:, t], start)
        np.testing.assert_allclose(got[0][:, t], output, rtol=2e-4, atol=1e-5)
    for mine, expected in zip(tf.nest.flatten(got[1]), tf.nest.flatten(start), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=2e-4, atol=1e-5)


def test_time_and_frequency() -> None:
    cell = rnn.TimeFreqLSTMCell(2, use_peepholes=True, cell_clip=0.2, feature_size=2, frequency_skip=2)
    x, state = np.float32([[0.1, -0.4, 0.7, 0.2]]), np.float32([np.linspace(-1, 1, 8)])
    output, new_state = cell(tf.constant(x), tf.constant(state))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        w = {v.op.name.rpartition("/")[2]: sess.run(v) for v in tf.trainable_variables()}
        got = sess.run([output, new_state])
    below, outputs, states = np.zeros([1, 2]), [], []
    for piece, old in zip(_split(x, 2), _split(state, 2), strict=True):
        c, h = _split(old, 2)
        i, j, f, o = _split(np.concatenate([piece, h, below], 1) @ w["W_0"] + w["B"], 4)
        new_c = _sigmoid(f + 1 + w["W_F_diag"] * c) * c + _sigmoid(i + w["W_I_diag"] * c) * np.tanh(j)
        new_c = np.clip(new_c, -0.2, 0.2)
        below = _sigmoid(o + w["W_O_diag"] * new_c) * np.tanh(new_c)
        outputs.append(below)
        states += [new_c, below]
    np.testing.assert_allclose(got[0], np.concatenate(outputs, 1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got[1], np.concatenate(states, 1), rtol=1e-4, atol=1e-6)
    assert sorted(w) == ["B", "W_0", "W_F_diag", "W_I_diag", "W_O_diag"]


@pytest.mark.parametrize("leak", [0.0, 0.001])
def test_phased(leak: float) -> None:
    cell = rnn.PhasedLSTMCell(3, use_peepholes=True, leak=leak, ratio_on=0.5, period_init_min=2.0, period_init_max=9.0)
    times, x = np.float32([[0.5], [7.25]]), np.float32([[0.1, 0.2], [0.3, -0.4]])
    c, h = np.float32([[0.1, 0.2, 0.3]] * 2), np.float32([[-0.1, 0.5, 0.0]] * 2)
    output, state = cell((tf.constant(times), tf.constant(x)), rnn.LSTMStateTuple(tf.constant(c), tf.constant(h)))
    gradients = tf.gradients(tf.reduce_sum(output), tf.trainable_variables())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        w = {v.op.name.partition("/")[2]: sess.run(v) for v in tf.trainable_variables()}
        got = sess.run([output, state.c])
        assert all(np.isfinite(g).all() for g in sess.run(gradients))
    assert (w["period"] >= 2).all() and (w["period"] <= 9).all()
    assert (w["phase"] >= 0).all() and (w["phase"] < w["period"]).all() and (w["ratio_on"] == 0.5).all()

    def linear(name: str, *args: Any) -> Any:
        return np.concatenate(args, 1) @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    i, f = _split(_sigmoid(linear("mask_gates", x, h, c)), 2)
    new_c = c * f + i * np.tanh(linear("new_input", x, h))
    new_h = np.tanh(new_c) * _sigmoid(linear("output_gate", x, h, new_c))
    cycle = np.mod(times - w["phase"], w["period"]) / w["period"]
    k = np.where(cycle < 0.25, 2 * cycle / 0.5, np.where(cycle < 0.5, 2 - 2 * cycle / 0.5, leak * cycle))
    np.testing.assert_allclose(got[0], k * new_h + (1 - k) * h, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got[1], k * new_c + (1 - k) * c, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("places", [(5,), (3, 4), (2, 3, 2)])
def test_convolutions(places: tuple[int, ...]) -> None:
    make = (rnn.Conv1DLSTMCell, rnn.Conv2DLSTMCell, rnn.Conv3DLSTMCell)[len(places) - 1]
    cell = make(input_shape=[*places, 2], output_channels=3, kernel_shape=[1] * len(places))
    rows = np.random.RandomState(0).randn(2, 2, *places, 2).astype(np.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(rows), dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        kernel, bias = sess.run(tf.trainable_variables())
        got, final = sess.run([outputs, state])
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"rnn/conv_{len(places)}d_lstm_cell/{n}" for n in ("kernel", "biases")
    ]
    matrix = kernel.reshape(5, 12)  # a kernel of one place is a matrix
    c = h = np.zeros([2, *places, 3])
    for t in range(2):
        h, (c, _) = _lstm(np.concatenate([rows[:, t], h], -1) @ matrix + bias, c)
        np.testing.assert_allclose(got[:, t], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(final.c, c, rtol=1e-4, atol=1e-5)


def test_a_convolution_with_its_inputs_beside() -> None:
    cell = rnn.ConvLSTMCell(1, [5, 2], 3, [3], use_bias=False, skip_connection=True)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([1, 2, 5, 2]), dtype=tf.float32)
    assert outputs.shape.as_list() == [1, 2, 5, 5] and state.h.shape.as_list() == [1, 5, 3]
    assert len(tf.trainable_variables()) == 1


def test_the_bias_without_normalisation_starts_as_the_scope_says() -> None:
    with tf.variable_scope("a", initializer=tf.constant_initializer(0.5)):
        cell = rnn.LayerNormBasicLSTMCell(2, layer_norm=False)
        cell(tf.zeros([1, 2]), cell.zero_state(1, tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert all((sess.run(v) == 0.5).all() for v in tf.trainable_variables())


def test_names_of_the_second_block_cell() -> None:
    cell = rnn.GRUBlockCellV2(2)
    cell(tf.zeros([1, 2]), cell.zero_state(1, tf.float32))
    assert tf.trainable_variables()[0].op.name == "gru_cell/gates/kernel"


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: rnn.GLSTMCell(3, number_of_groups=2), "num_units must be divisible by number_of_groups: got 3, 2"),
        (lambda: rnn.GLSTMCell(4, number_of_groups=2), "input size 3 must be divisible"),
        (lambda: rnn.IntersectionRNNCell(4), "The width of the inputs, 3, must be num_units, 4"),
        (lambda: rnn.ConvLSTMCell(2, [3, 3], 1, [1, 1]), "Invalid input_shape"),
        (
            lambda: rnn.Conv1DLSTMCell(input_shape=[3, 3], output_channels=1, kernel_shape=[1, 1]),
            "Invalid kernel_shape",
        ),
        (lambda: rnn.CoupledInputForgetGateLSTMCell(4, num_unit_shards=9), "Too many shards: 9"),
        (lambda: rnn.TimeFreqLSTMCell(2, feature_size=4), "feature_size 4 is more than the width 3"),
    ],
)
def test_mistakes(make: Callable[[], Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        cell = make()
        cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
