"""Conditional random fields against all sequences of tags, one by one."""

import itertools
from typing import Any

import numpy as np
import pytest

import headrace as tf

crf = tf.contrib.crf
LENGTHS = [4, 1, 0, 3]
TAGS = 3


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    random = np.random.RandomState(0)
    return {
        "inputs": random.randn(len(LENGTHS), 4, TAGS),
        "transitions": random.randn(TAGS, TAGS),
        "tags": random.randint(0, TAGS, [len(LENGTHS), 4]),
    }


def _score(inputs: np.ndarray, transitions: np.ndarray, tags: Any) -> float:
    alone = sum(inputs[t, tag] for t, tag in enumerate(tags))
    return float(alone + sum(transitions[a, b] for a, b in itertools.pairwise(tags)))


def _all(inputs: np.ndarray, transitions: np.ndarray, length: int) -> dict[tuple[int, ...], float]:
    return {tags: _score(inputs, transitions, tags) for tags in itertools.product(range(TAGS), repeat=length)}


def _log_sum(scores: Any) -> float:
    return float(np.log(np.sum(np.exp(list(scores)))))


def _run(value: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(value)


def test_scores_and_likelihoods(arrays: dict[str, np.ndarray]) -> None:
    inputs, transitions, tags = arrays["inputs"], arrays["transitions"], arrays["tags"]
    score = crf.crf_sequence_score(inputs, tags, LENGTHS, transitions)
    norm = crf.crf_log_norm(inputs, LENGTHS, transitions)
    likelihood, same = crf.crf_log_likelihood(inputs, tags, LENGTHS, transitions)
    assert same is transitions
    scores, norms, likelihoods = _run([score, norm, likelihood])
    expected = [_score(inputs[i], transitions, tags[i, :n]) for i, n in enumerate(LENGTHS)]
    sums = [_log_sum(_all(inputs[i], transitions, n).values()) if n else 0.0 for i, n in enumerate(LENGTHS)]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    np.testing.assert_allclose(norms, sums, rtol=1e-6)
    np.testing.assert_allclose(likelihoods, np.subtract(expected, sums), rtol=1e-6, atol=1e-9)


def test_several_tags_may_be_right(arrays: dict[str, np.ndarray]) -> None:
    inputs, transitions = arrays["inputs"], arrays["transitions"]
    allowed = np.ones([len(LENGTHS), 4, TAGS], bool)
    allowed[0, 1, 2] = allowed[0, 3, 0] = False
    score = _run(crf.crf_multitag_sequence_score(inputs, allowed, LENGTHS, transitions))
    there = [s for tags, s in _all(inputs[0], transitions, 4).items() if tags[1] != 2 and tags[3] != 0]
    np.testing.assert_allclose(score[0], _log_sum(there), rtol=1e-6)
    np.testing.assert_allclose(score[3], _log_sum(_all(inputs[3], transitions, 3).values()), rtol=1e-6)


def test_the_best_tags(arrays: dict[str, np.ndarray]) -> None:
    inputs, transitions = arrays["inputs"], arrays["transitions"]
    tags, scores = _run(crf.crf_decode(inputs, transitions, tf.constant(LENGTHS)))
    assert tags.dtype == np.int32 and tags.shape == (4, 4)
    for i, n in enumerate(LENGTHS):
        if n:
            every = _all(inputs[i], transitions, n)
            best = max(every, key=lambda one: every[one])
            assert tuple(tags[i, :n]) == best and not tags[i, n:].any()
            np.testing.assert_allclose(scores[i], every[best], rtol=1e-6)
            by_hand = crf.viterbi_decode(inputs[i, :n], transitions)
            assert tuple(by_hand[0]) == best and np.isclose(by_hand[1], every[best])


def test_sequences_of_one_step_and_of_unknown_length(arrays: dict[str, np.ndarray]) -> None:
    transitions = arrays["transitions"].astype(np.float32)
    x = tf.placeholder(tf.float32, [None, None, TAGS])
    tags, scores = crf.crf_decode(x, transitions, [1, 1])
    norm = crf.crf_log_norm(x, [1, 1], transitions)
    value = arrays["inputs"][:2, :1]
    with tf.Session() as session:
        found = session.run([tags, scores, norm], {x: value})
    np.testing.assert_array_equal(found[0], value.argmax(2))
    np.testing.assert_allclose(found[1], value.max(2)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(found[2], np.log(np.exp(value).sum(2))[:, 0], rtol=1e-6)


def test_training_raises_the_likelihood(arrays: dict[str, np.ndarray]) -> None:
    inputs = arrays["inputs"].astype(np.float32)
    likelihood, transitions = crf.crf_log_likelihood(inputs, arrays["tags"], LENGTHS)
    assert transitions.name == "transitions:0" and transitions.shape == (TAGS, TAGS)
    loss = -tf.reduce_sum(likelihood)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(train)
        assert session.run(loss) < 0.9 * before
