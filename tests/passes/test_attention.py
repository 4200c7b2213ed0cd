"""Attention as programs write it becomes one node, forward and backward, with the same numbers; what differs is left alone."""

import math

import numpy as np
import pytest

import headrace as tf
from headrace import extend

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
    mask = tf.constant(RNG.randint(0, 2, [BATCH, LENGTH]), tf.int32)
    mask = tf.placeholder_with_default(mask, [BATCH, LENGTH])
    return tf.multiply(scores, 0.5) + (1.0 - tf.cast(mask[:, None, None, :], tf.float32)) * -10000.0


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


OTHERS = {
    "scaled after the mask": lambda scores: (scores + LATER) * 0.5,
    "a mask that does not hide": half_mask,
    "two masks": lambda scores: scores + LATER + tf.placeholder_with_default(LATER, LATER.shape),
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_forms_are_left_alone(form):
    fed, fetches, _ = build(OTHERS[form])
    run(fed, fetches, [])


def test_dropout_behind_the_softmax_is_left_alone():
    fed, fetches, _ = build(FORMS["scaled"], behind=lambda weights: weights * tf.cast(weights > 0.1, tf.float32))
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
