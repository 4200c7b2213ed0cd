"""Grid LSTMs beside their formulas in numpy: variables, outputs, states, blocks, unrolling, gradients."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

rnn = tf.contrib.rnn
UNITS = 2
X = np.random.RandomState(3).randn(2, 4).astype(np.float32)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _grid(w: dict[str, Any], pieces: list[Any], states: list[Any], b: int = 0, **o: Any) -> tuple[Any, Any]:
    """One block in numpy; `o`: share, couple, peep, clip, bias."""
    which = ("f", "f") if o.get("share") else ("f", "t")
    m_f = c_f = np.zeros([len(pieces[0]), UNITS])
    outputs, new_states = [], []
    for piece, c_t, m_t in zip(pieces, states[::2], states[1::2], strict=False):
        x = np.concatenate([piece, m_t, m_f], 1)
        new, late = [], []
        for one, old in zip(which, (c_f, c_t), strict=True):
            parts = np.split(x @ w[f"W_{one}_{b}_0"] + w[f"B_{one}_{b}"], 3 if o.get("couple") else 4, 1)
            gates = dict(zip("ijo" if o.get("couple") else "ijfo", parts, strict=True))

            def see(gate: str, c_f: Any, c_t: Any, one: str = one) -> Any:
                if not o.get("peep"):
                    return 0.0
                name = f"W_{gate}_diag_{'freq' if one == 'f' else 'time'}"
                return w[f"{name}f_{b}"] * c_f + w[f"{name}t_{b}"] * c_t

            i = _sigmoid(gates["i"] + see("I", c_f, c_t))
            f = 1 - i if o.get("couple") else _sigmoid(gates["f"] + o.get("bias", 1.0) + see("F", c_f, c_t))
            c = f * old + i * np.tanh(gates["j"])
            new.append(np.clip(c, -o["clip"], o["clip"]) if o.get("clip") else c)
            late.append((gates["o"], see))
        c_f, c_t = new
        m_f, m_t = (_sigmoid(g + see("O", c_f, c_t)) * np.tanh(c) for (g, see), c in zip(late, new, strict=True))
        outputs += [m_t, m_f]
        new_states += [c_t, m_t]
    return outputs, new_states


def _run(cell: Any, state: Any, x: Any = X) -> tuple[dict[str, Any], Any, Any]:
    """The values of the variables, the output and the parts of the state after one step."""
    output, new = cell(tf.constant(x), tf.nest.map_structure(tf.constant, state))
    assert output.shape.as_list() == [len(x), cell.output_size]
    draw = np.random.RandomState(5)
    with tf.Session() as session:
        weights = {}
        for v in tf.trainable_variables():
            value = draw.randn(*v.shape.as_list()).astype(np.float32)
            v.load(value, session)
            weights[v.op.name.partition("/")[2]] = value
        scope = "bidirectional_grid_lstm_cell" if "fwd/B_f_0" in weights else "grid_lstm_cell"
        assert {v.op.name.partition("/")[0] for v in tf.trainable_variables()} == {scope}
        got = session.run([output, new])
    return weights, got[0], got[1]


def _states(number: int) -> list[Any]:
    draw = np.random.RandomState(4)
    return [draw.randn(2, UNITS).astype(np.float32) for _ in range(number)]


def _same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, np.concatenate(expected, 1), rtol=2e-4, atol=1e-5)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "share": {"share": True, "peep": True},
    "couple": {"couple": True, "peep": True, "clip": 0.3},
    "all": {"peep": True, "bias": 0.5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_step_is_as_in_the_formula(name: str) -> None:
    o = OPTIONS[name]
    cell = rnn.GridLSTMCell(
        UNITS, o.get("peep", False), o.get("share", False), o.get("clip"), forget_bias=o.get("bias", 1.0),
        feature_size=2, frequency_skip=1, num_frequency_blocks=[3], couple_input_forget_gates=o.get("couple", False),
    )  # fmt: skip
    states = _states(6)
    weights, output, state = _run(cell, cell.state_tuple_type(*states))
    outputs, expected = _grid(weights, [X[:, i : i + 2] for i in range(3)], states, **o)
    _same(output, outputs)
    _same(np.concatenate(list(state), 1), expected)
    assert type(state).__name__ == "GridLSTMStateTuple" and state._fields[:3] == (
        "state_f00_b00_c", "state_f00_b00_m", "state_f01_b00_c",
    )  # fmt: skip


def test_variables_have_tensorflows_names_and_order() -> None:
    cell = rnn.GridLSTMCell(UNITS, True, num_unit_shards=2, feature_size=2, frequency_skip=2, num_frequency_blocks=[2])
    cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))
    gates = [f"W_{g}_diag_{w}{s}_0" for w in ("freq", "time") for g in "FIO" for s in "ft"]
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"grid_lstm_cell/{n}" for n in ("W_f_0_0", "W_f_0_1", "B_f_0", "W_t_0_0", "W_t_0_1", "B_t_0", *gates)
    ]
    assert [v.shape.as_list() for v in cell.trainable_variables[:3]] == [[3, 8], [3, 8], [8]]


def test_blocks() -> None:
    places = {"feature_size": 2, "frequency_skip": 1, "num_frequency_blocks": [1, 2]}
    cell = rnn.GridLSTMCell(UNITS, **places, start_freqindex_list=[0, 1], end_freqindex_list=[2, 4])
    states = _states(6)
    weights, output, state = _run(cell, cell.state_tuple_type(*states))
    first, first_states = _grid(weights, [X[:, :2]], states[:2])
    second, second_states = _grid(weights, [X[:, 1:3], X[:, 2:4]], states[2:], b=1)
    _same(output, first + second)
    _same(np.concatenate(list(state), 1), first_states + second_states)


def test_a_state_of_one_tensor() -> None:
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=1, num_frequency_blocks=[3], state_is_tuple=False)
    assert cell.state_size == 12 and cell.state_tuple_type is None
    states = _states(6)
    weights, output, state = _run(cell, np.concatenate(states, 1))
    outputs, expected = _grid(weights, [X[:, i : i + 2] for i in range(3)], states)
    _same(output, outputs)
    _same(state, expected)


@pytest.mark.parametrize("offset", [0, 1, -1])
def test_both_directions(offset: int) -> None:
    cell = rnn.BidirectionalGridLSTMCell(
        UNITS, share_time_frequency_weights=True, feature_size=2, frequency_skip=1, num_frequency_blocks=[3],
        backward_slice_offset=offset,
    )  # fmt: skip
    states = _states(12)
    weights, output, state = _run(cell, cell.state_tuple_type(*states))
    assert sorted(weights) == ["bwd/B_f_0", "bwd/W_f_0_0", "fwd/B_f_0", "fwd/W_f_0_0"]
    fwd, bwd = ({n[4:]: v for n, v in weights.items() if n[:3] == d} for d in ("fwd", "bwd"))
    up, up_states = _grid(fwd, [X[:, i : i + 2] for i in range(3)], states[:6], share=True)
    zeros = np.zeros_like(X[:, :1])
    later = {0: X, 1: np.concatenate([X[:, 1:], zeros], 1), -1: np.concatenate([zeros, X[:, :-1]], 1)}[offset]
    down, down_states = _grid(bwd, [later[:, i : i + 2] for i in (2, 1, 0)], states[6:], share=True)
    _same(output, up + down)
    _same(np.concatenate(list(state), 1), up_states + down_states)
    assert type(state).__name__ == "BidirectionalGridLSTMStateTuple" and state._fields[6] == "bwd_state_f00_b00_c"


def test_unrolled_and_trained() -> None:
    """In a while_loop over three steps: the gradient of a weight is that of finite differences; the plain unrolling agrees."""
    rows = np.random.RandomState(1).randn(2, 3, 4)
    make = {"feature_size": 2, "frequency_skip": 2, "num_frequency_blocks": [2], "initializer": tf.ones_initializer()}
    outputs, state = tf.nn.dynamic_rnn(rnn.GridLSTMCell(UNITS, **make), tf.constant(rows), dtype=tf.float64)
    with tf.variable_scope("rnn", reuse=True):
        plain, _ = tf.nn.static_rnn(
            rnn.GridLSTMCell(UNITS, **make, reuse=True), tf.unstack(tf.constant(rows), axis=1), dtype=tf.float64,
            scope=tf.get_variable_scope(),
        )  # fmt: skip
    loss = tf.reduce_sum(outputs**2) + tf.add_n([tf.reduce_sum(s) for s in state])
    variable = next(v for v in tf.trainable_variables() if "W_t" in v.op.name)
    assert variable.op.name == "rnn/grid_lstm_cell/W_t_0_0"
    gradient = tf.gradients(loss, variable)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, other, slope, weight = session.run([outputs, tf.stack(plain, 1), gradient, variable])
        np.testing.assert_allclose(one, other, rtol=1e-10)
        assert (weight == 1).all()
        for place in [(0, 0), (3, 5), (5, 7)]:
            near = []
            for step in (1e-5, -1e-5):
                moved = weight.copy()
                moved[place] += step
                near.append(session.run(loss, {variable: moved}))
            np.testing.assert_allclose(slope[place], (near[0] - near[1]) / 2e-5, rtol=1e-5)


def test_the_batch_may_be_unknown() -> None:
    cell = rnn.GridLSTMCell(UNITS, feature_size=2, frequency_skip=2, num_frequency_blocks=[2])
    x = tf.placeholder(tf.float32, [None, 4])
    output, _ = cell(x, cell.zero_state(tf.shape(x)[0], tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(output, {x: X}).shape == (2, 8)


def test_what_is_refused() -> None:
    places: dict[str, Any] = {"feature_size": 2, "frequency_skip": 1}

    def step(**more: Any) -> None:
        cell = rnn.GridLSTMCell(UNITS, **{**places, **more})
        cell(tf.zeros([1, 4]), cell.zero_state(1, tf.float32))

    with pytest.raises(ValueError, match="Must specify num_frequency_blocks"):
        step()
    with pytest.raises(ValueError, match="feature_size must be an integer of at least 1, got None"):
        step(num_frequency_blocks=[3], feature_size=None)
    with pytest.raises(ValueError, match="requires 2 but gets 3: pieces of feature_size 2, every 1, from 0 to 4"):
        step(num_frequency_blocks=[2])
    with pytest.raises(ValueError, match="is not 1, but instead is 2; give start_freqindex_list"):
        step(num_frequency_blocks=[1, 2])
    with pytest.raises(ValueError, match="does not match 2 1"):
        step(num_frequency_blocks=[1, 2], start_freqindex_list=[0, 1], end_freqindex_list=[2])
    with pytest.raises(ValueError, match="not equal to start_freqindex_list 1 2"):
        step(num_frequency_blocks=[1], start_freqindex_list=[0, 1], end_freqindex_list=[2, 4])
