"""Attention as programs write it becomes one node, forward and backward, with the same numbers; what differs is left alone."""

import math
from functools import cache

import numpy as np
import pytest
import torch

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 8, 4
SIZES = [BATCH, HEADS, LENGTH, WIDTH]
RNG = np.random.RandomState(7)
LATER = np.triu(np.full([LENGTH, LENGTH], -1e9, np.float32), 1)


@pytest.fixture(autouse=True)
def accelerator(monkeypatch):
    """One that fuses in 32 bits too, so that the numbers can be compared closely."""
    monkeypatch.setattr("headrace.passes.attention.TYPES", (tf.bfloat16, tf.float32))
    extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
    yield
    extend.unregister_device("ACCELERATOR")


def gpt2(scores):
    """A mask of zeros and ones, made in the graph."""
    rows, columns = tf.range(LENGTH)[:, None], tf.range(LENGTH)
    seen = tf.reshape(tf.cast(rows >= columns, scores.dtype), [1, 1, LENGTH, LENGTH])
    return scores * (1.0 / math.sqrt(WIDTH)) * seen - tf.cast(1e10, scores.dtype) * (1 - seen)


def bert(scores):
    """A mask that is fed, added."""
    mask = tf.constant(np.arange(BATCH * LENGTH).reshape(BATCH, LENGTH) % 3, tf.int32)
    mask = tf.placeholder_with_default(mask, [BATCH, LENGTH])
    return tf.multiply(scores, 0.5) + (1.0 - tf.cast(mask[:, None, None, :] > 0, tf.float32)) * -10000.0


FORMS = {
    "plain": lambda scores: scores,
    "scaled": lambda scores: scores / math.sqrt(WIDTH),
    "later": lambda scores: LATER + scores * 0.5,
    "gpt2": gpt2,
    "bert": bert,
    "subtracted": lambda scores: scores - tf.placeholder_with_default(-LATER, [LENGTH, LENGTH]),
    "every score": lambda scores: scores + RNG.randn(BATCH, HEADS, LENGTH, LENGTH).astype(np.float32),
}


def build(form, sizes=SIZES, behind=lambda weights: weights, wanted=(True, True, True)):
    """Queries, keys and values that are fed, and all that training fetches."""
    fed = [tf.placeholder(tf.float32, sizes) for _ in range(3)]
    query, key, value = (tf.tanh(one) for one in fed)
    weights = behind(tf.nn.softmax(form(tf.matmul(query, key, transpose_b=True))))
    mixed = tf.matmul(weights, value)
    loss = tf.reduce_sum(mixed * tf.sin(tf.range(sizes[-1], dtype=tf.float32) + 1.0))
    slopes = tf.gradients(loss, [one for one, is_wanted in zip(fed, wanted, strict=True) if is_wanted])
    return fed, [mixed, *slopes], weights


def run(fed, fetches, expected, **config):
    """The values, and how many nodes of attention the step for these shapes had."""
    seen = []

    def look(name, graph):
        if name == "attention":
            seen.append([node.type for node in graph.nodes if node.type.startswith("_Attention")])

    feed = {one: RNG.randn(*one.shape.as_list()) for one in fed}
    with tf.Session(config=tf.ConfigProto(compile="off", **config)) as session:
        session._master.after_each_pass = look
        results = [session.run(fetches, feed) for _ in range(2)]
    with tf.Session(config=tf.ConfigProto(compile="off", device_count={"ACCELERATOR": 0}, **config)) as session:
        plain = session.run(fetches, feed)
    for found in results:
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    assert sorted(seen[-1]) == expected


@pytest.mark.parametrize("form", FORMS)
def test_a_form_and_its_gradients(form):
    fed, fetches, _ = build(FORMS[form])
    run(fed, fetches, ["_Attention", "_AttentionGrad"])


@pytest.mark.parametrize(
    "wanted", [(True, False, False), (False, True, False), (False, False, True), (True, True, False)]
)
def test_some_of_the_gradients(wanted):
    fed, fetches, _ = build(FORMS["later"], wanted=wanted)
    run(fed, fetches, ["_Attention", "_AttentionGrad"])


def test_without_gradients_and_with_one_axis_less():
    fed, fetches, _ = build(FORMS["scaled"], sizes=[5, LENGTH, WIDTH])
    run(fed, fetches[:1], ["_Attention"])
    run(fed, fetches, ["_Attention", "_AttentionGrad"])


def test_a_mask_that_hides_the_future_is_not_passed():
    fed, fetches, _ = build(FORMS["gpt2"])
    graphs = []
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session._master.after_each_pass = lambda name, graph: graphs.append(graph)
        session.run(fetches, {one: np.zeros(SIZES) for one in fed})
    nodes = [node for node in graphs[-1].nodes if node.type.startswith("_Attention")]
    assert [(node.attrs["causal"], node.attrs["N"], node.attrs["scale"]) for node in nodes] == [(True, 0, 0.5)] * 2


def half_mask(scores):
    """Zeros and ones, but what is added does not hide where it is 0."""
    seen = np.triu(np.ones([LENGTH, LENGTH], np.float32))
    return scores * seen - 3.0 * (1 - seen)


def below_a_tenth(weights):
    return weights * tf.cast(weights > 0.1, tf.float32)


OTHERS = {
    "scaled after the mask": lambda scores: (scores + LATER) * 0.5,
    "a mask that does not hide": half_mask,
    "two masks": lambda scores: scores + LATER + tf.placeholder_with_default(LATER, LATER.shape),
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_forms_are_left_alone(form):
    fed, fetches, _ = build(OTHERS[form])
    run(fed, fetches, [])


def test_weights_with_holes_are_left_alone():
    fed, fetches, _ = build(FORMS["scaled"], behind=below_a_tenth)
    run(fed, fetches, [])


def test_weights_that_are_fetched_are_left_alone():
    fed, fetches, weights = build(FORMS["scaled"])
    run(fed, [*fetches, weights], [])


def test_a_mask_that_learns_is_left_alone():
    bias = tf.get_variable("bias", [LENGTH, LENGTH], initializer=tf.zeros_initializer())
    fed, fetches, _ = build(lambda scores: scores + bias)
    slope = tf.gradients(fetches[0], bias)
    seen = []
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session.run(bias.initializer)
        session._master.after_each_pass = lambda name, graph: seen.append({node.type for node in graph.nodes})
        session.run([*fetches, *slope], {one: np.zeros(SIZES) for one in fed})
    assert "_Attention" not in seen[-1] and "Softmax" in seen[-1]


def test_it_can_be_left_out(monkeypatch):
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "attention")
    fed, fetches, _ = build(FORMS["later"])
    seen = []
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session._master.after_each_pass = lambda name, graph: seen.append({node.type for node in graph.nodes})
        session.run(fetches, {one: np.zeros(SIZES) for one in fed})
    assert "_Attention" not in seen[-1]


def test_in_a_loop():
    fed = [tf.placeholder(tf.float32, SIZES) for _ in range(3)]

    def body(i, query):
        weights = tf.nn.softmax(tf.matmul(query, fed[1], transpose_b=True) * 0.5 + LATER)
        return i + 1, tf.matmul(weights, fed[2])

    result = tf.while_loop(lambda i, _: i < 3, body, [0, fed[0]])[1]
    slopes = tf.gradients(result, fed)
    feed = {one: RNG.randn(*SIZES) for one in fed}
    found = []
    for count in ({}, {"ACCELERATOR": 0}):
        with tf.Session(config=tf.ConfigProto(compile="off", device_count=count)) as session:
            found.append(session.run([result, *slopes], feed))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_in_sixteen_bits():
    fed, fetches, _ = build(FORMS["later"])
    feed = {one: RNG.randn(*SIZES) for one in fed}
    seen, found = [], []
    for precision in ("high", "bfloat16"):
        with tf.Session(config=tf.ConfigProto(compile="off", precision=precision)) as session:
            session._master.after_each_pass = lambda name, graph: seen.append(graph)
            found.append(session.run(fetches, feed))
    nodes = [node for node in seen[-1].nodes if node.type.startswith("_Attention")]
    assert [node.attrs["T"] for node in nodes] == [tf.bfloat16, tf.bfloat16] and nodes[0].attrs["causal"]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.05, atol=0.02)


def test_in_32_bits_products_are_faster(monkeypatch):
    monkeypatch.undo()
    fed, fetches, _ = build(FORMS["later"])
    run(fed, fetches, [])


# ---- with dropout

RATE, WIDE = 0.25, [BATCH, HEADS, LENGTH, 8]
KEPT = (np.random.RandomState(3).rand(BATCH, HEADS, LENGTH, LENGTH) >= RATE).astype(np.float32)


def dropped(query, key, value, mask, scale, causal, rate):
    """What a kernel does, with the numbers of `KEPT`."""
    assert rate == pytest.approx(RATE, rel=1e-3) or not rate
    scores = query @ key.mT * scale + (mask[0] if mask else 0.0)
    if causal:
        scores = scores + torch.from_numpy(LATER).to(scores.dtype)
    kept = torch.from_numpy(KEPT).to(scores.dtype) / (1 - rate) if rate else 1.0
    return scores.softmax(-1) * kept @ value


@cache
def register_kernels():
    forward, backward = (REGISTRY.get(name) for name in ("_AttentionForward", "_AttentionBackward"))

    @forward.kernel(device="DROPPER")
    def _(query, key, value, mask, scale, causal, rate):
        return dropped(query, key, value, mask, scale, causal, rate), torch.zeros(1), torch.tensor(5), torch.tensor(7)

    @backward.kernel(device="DROPPER")
    def _(query, key, value, grad, output, log_sum, seed, offset, mask, scale, causal, rate):
        assert (int(seed), int(offset)) == (5, 7)
        _, slopes = torch.func.vjp(lambda q, k, v: dropped(q, k, v, mask, scale, causal, rate), query, key, value)
        return slopes(grad)


@pytest.fixture
def dropper():
    """An accelerator with kernels for dropout."""
    extend.register_device("DROPPER", "cpu", 1, priority=300)
    register_kernels()
    yield
    extend.unregister_device("DROPPER")


def own_dropout(weights):
    return tf.nn.dropout(weights, rate=RATE)


def first_dropout(weights):
    """As the first versions of TensorFlow wrote it."""
    kept = tf.floor(1.0 - RATE + tf.random_uniform(tf.shape(weights), dtype=weights.dtype))
    return tf.div(weights, 1.0 - RATE) * kept


def plain_dropout(weights):
    return KEPT * (weights / (1.0 - RATE))


DROPOUTS = {
    "own": own_dropout,
    "first": first_dropout,
    "keras": lambda weights: tf.keras.layers.Dropout(RATE)(weights, training=True),
}


def nodes_and_values(fed, fetches, feed, **config):
    seen = []

    def look(name, graph):
        if name == "attention":
            seen.append([node.type for node in graph.nodes if "Attention" in node.type or node.type == "RandomUniform"])

    with tf.Session(config=tf.ConfigProto(compile="off", **config)) as session:
        session._master.after_each_pass = look
        values = session.run(fetches, feed)
    return sorted(seen[-1]), values


@pytest.mark.parametrize("form", [form for form in FORMS if form != "every score"])  # which has another mask each time
@pytest.mark.parametrize("dropout", DROPOUTS)
def test_dropout_behind_the_softmax(dropper, form, dropout):
    fed, fetches, _ = build(FORMS[form], WIDE, DROPOUTS[dropout])
    feed = {one: RNG.randn(*WIDE) for one in fed}
    types, values = nodes_and_values(fed, fetches, feed)
    assert types == ["_AttentionBackward", "_AttentionForward"]
    others, plain, _ = build(FORMS[form], WIDE, plain_dropout)
    types, expected = nodes_and_values(others, plain, dict(zip(others, feed.values(), strict=True)))
    assert "_AttentionForward" not in types and "RandomUniform" not in types
    for one, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "every score"])
def test_training_hands_on_what_forward_found(dropper, form):
    fed, fetches, _ = build(FORMS[form], WIDE)
    feed = {one: RNG.randn(*WIDE) for one in fed}
    types, values = nodes_and_values(fed, fetches, feed)
    assert types == ["_AttentionBackward", "_AttentionForward"]
    _, expected = nodes_and_values(fed, fetches, feed, device_count={"DROPPER": 0, "ACCELERATOR": 0})
    for one, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    types, _ = nodes_and_values(fed, fetches[:1], feed)  # without gradients there is nothing to hand on
    assert types == ["_Attention"]


@pytest.mark.parametrize("wanted", [(), (True, False, False), (False, True, False), (False, False, True)])
def test_dropout_with_some_of_the_gradients(dropper, wanted):
    fed, fetches, _ = build(FORMS["later"], WIDE, own_dropout, wanted=wanted or (False,) * 3)
    others, plain, _ = build(FORMS["later"], WIDE, plain_dropout, wanted=wanted or (False,) * 3)
    values = [RNG.randn(*WIDE) for _ in fed]
    types, found = nodes_and_values(fed, fetches, dict(zip(fed, values, strict=True)))
    assert types == ["_AttentionBackward", "_AttentionForward"][not any(wanted) :]
    _, expected = nodes_and_values(others, plain, dict(zip(others, values, strict=True)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_dropout_in_sixteen_bits(dropper):
    fed, fetches, _ = build(FORMS["bert"], WIDE, own_dropout)
    feed = {one: RNG.randn(*WIDE) for one in fed}
    types, values = nodes_and_values(fed, fetches, feed, precision="bfloat16")
    assert types == ["_AttentionBackward", "_AttentionForward"]
    others, plain, _ = build(FORMS["bert"], WIDE, plain_dropout)
    _, expected = nodes_and_values(others, plain, dict(zip(others, feed.values(), strict=True)))
    for one, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.06, atol=0.03)


KEPT_APART = {
    "a seed": lambda weights: tf.nn.dropout(weights, rate=RATE, seed=3),
    "a rate that varies": lambda weights: tf.nn.dropout(weights, rate=tf.random_uniform([], 0.1, 0.2)),
    "whole rows": lambda weights: tf.nn.dropout(weights, rate=RATE, noise_shape=[BATCH, HEADS, LENGTH, 1]),
    "not scaled": lambda weights: weights * tf.cast(tf.random_uniform(tf.shape(weights)) >= RATE, weights.dtype),
    "not scaled, and hardly anything dropped": lambda weights: (
        weights * tf.cast(tf.random_uniform(tf.shape(weights)) >= 0.009, weights.dtype)
    ),
    "one choice for all heads": lambda weights: (
        weights / (1 - RATE) * tf.cast(tf.random_uniform([BATCH, 1, LENGTH, LENGTH]) >= RATE, weights.dtype)
    ),
    "one draw for all heads": lambda weights: (
        weights
        / (1 - RATE)
        * tf.cast(tf.random_uniform([BATCH, 1, LENGTH, LENGTH]) >= tf.fill([BATCH, HEADS, 1, 1], RATE), weights.dtype)
    ),
    "twice": lambda weights: tf.nn.dropout(own_dropout(weights), rate=0.5),
    "normal numbers": lambda weights: (
        weights / (1 - RATE) * tf.cast(tf.random_normal(tf.shape(weights)) >= RATE, weights.dtype)
    ),
}


@pytest.mark.parametrize("dropout", KEPT_APART)
def test_another_dropout_is_left_alone(dropper, dropout):
    fed, fetches, _ = build(FORMS["scaled"], WIDE, KEPT_APART[dropout])
    types, _ = nodes_and_values(fed, fetches, {one: RNG.randn(*WIDE) for one in fed})
    assert not any("Attention" in one for one in types)


def drawn_by_hand(weights, dtype=tf.float32):
    """Dropout, and what it drew."""
    drawn = tf.cast(tf.random_uniform(tf.shape(weights)), dtype)
    return weights / (1 - RATE) * tf.cast(drawn >= RATE, weights.dtype), drawn


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_what_dropout_drew_is_fetched(dropper, gradients, dtype):
    drawn = []

    def behind(weights):
        dropped, one = drawn_by_hand(weights, dtype)
        drawn.append(one)
        return dropped

    fed, fetches, _ = build(FORMS["scaled"], WIDE, behind)
    feed = {one: RNG.randn(*WIDE) for one in fed}
    fetches = fetches if gradients else fetches[:1]
    assert "_AttentionForward" in nodes_and_values(fed, fetches, feed)[0]
    types, _ = nodes_and_values(fed, [*fetches, drawn[0]], feed)
    assert not any("Attention" in one for one in types)


@pytest.mark.parametrize("gradients", [True, False])
def test_two_attentions_drop_the_same(dropper, gradients):
    """One choice for both: two kernels would draw two."""
    keep = tf.cast(tf.random_uniform([BATCH, HEADS, LENGTH, LENGTH]) >= RATE, tf.float32)
    parts = [build(FORMS["scaled"], WIDE, lambda weights: weights / (1 - RATE) * keep) for _ in range(2)]
    fetches = [one for _, some, _ in parts for one in (some if gradients else some[:1])]
    types, _ = nodes_and_values(None, fetches, {one: RNG.randn(*WIDE) for fed, _, _ in parts for one in fed})
    assert not any("Attention" in one for one in types)


def test_a_gradient_that_computes_forward_again_drops_the_same(dropper):
    """The choice is made outside; the gradient reads it again."""
    keep = tf.cast(tf.random_uniform([BATCH, HEADS, LENGTH, LENGTH]) >= RATE, tf.float32)
    fed = [tf.placeholder(tf.float32, WIDE) for _ in range(3)]

    def attend(query, key, value):
        return tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True)) * keep / (1 - RATE), value)

    result = tf.recompute_grad(attend)(*fed)
    fetches = [result, *tf.gradients(result, fed)]
    types, _ = nodes_and_values(fed, fetches, {one: RNG.randn(*WIDE) for one in fed})
    assert "_AttentionForward" not in types


def test_a_mask_for_more_examples_than_there_are(dropper):
    """The queries, keys and values are repeated for each of its examples; no kernel does that."""
    one = [1, *WIDE[1:]]
    mask = tf.placeholder_with_default(np.zeros([2, 1, 1, LENGTH], np.float32), [2, 1, 1, LENGTH])
    several = np.ones([2, 1, 1, 1], np.float32)
    for form, behind in (
        (lambda scores: scores + mask, own_dropout),
        (lambda scores: scores + mask, lambda weights: weights),
        (lambda scores: scores, lambda weights: own_dropout(weights) * several),
    ):
        fed, fetches, _ = build(form, one, behind)
        types, values = nodes_and_values(fed, fetches[:1], {x: RNG.randn(*one) for x in fed})
        assert not any("Attention" in name for name in types) and values[0].shape == (2, *WIDE[1:])


def test_what_dropout_kept_is_fetched(dropper):
    fed, fetches, weights = build(FORMS["scaled"], WIDE, own_dropout)
    feed = {one: RNG.randn(*WIDE) for one in fed}
    keep = weights.op.inputs[1]
    scaled = weights.op.inputs[0]
    for more in (weights, scaled, keep, tf.reduce_sum(keep), keep.op.inputs[0], keep.op.inputs[0].op.inputs[0]):
        for some in (fetches, fetches[:1]):
            types, _ = nodes_and_values(fed, [*some, more], feed)
            assert not any("Attention" in one for one in types)


def test_what_the_first_dropout_kept_is_fetched(dropper):
    fed, fetches, weights = build(FORMS["scaled"], WIDE, first_dropout)
    feed = {one: RNG.randn(*WIDE) for one in fed}
    total = weights.op.inputs[1].op.inputs[0]
    assert total.op.type == "AddV2"
    for more in (total, total.op.inputs[1], weights.op.inputs[0]):
        types, _ = nodes_and_values(fed, [*fetches[:1], more], feed)
        assert not any("Attention" in one for one in types)


def test_vectors_that_a_kernel_cannot_read(dropper):
    fed, fetches, _ = build(FORMS["scaled"], SIZES, own_dropout)
    types, _ = nodes_and_values(fed, fetches, {one: RNG.randn(*SIZES) for one in fed})
    assert not any("Attention" in one for one in types)


def test_a_device_without_kernels_for_dropout():
    fed, fetches, _ = build(FORMS["scaled"], WIDE, own_dropout)
    types, _ = nodes_and_values(fed, fetches, {one: RNG.randn(*WIDE) for one in fed})
    assert not any("Attention" in one for one in types)
