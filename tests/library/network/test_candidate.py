"""Candidate samplers and sampled losses: golden values, distributions, state over steps."""

import functools
from pathlib import Path

import numpy as np
import pytest
from golden import program
from golden.candidate_programs import PROGRAMS

import headrace as tf

pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # TensorFlow warns too
golden = functools.cache(lambda: program.load("candidate"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


def run(sampled: object, steps: int = 1) -> list:
    with tf.Session() as session:
        return [session.run(sampled) for _ in range(steps)]


def test_unique_candidates_differ_and_repeat_with_the_seed() -> None:
    true = tf.constant([[1], [2]], tf.int64)
    sampled = tf.nn.log_uniform_candidate_sampler(true, 1, 40, True, 50, seed=5)
    first, second = run(sampled, 2)
    assert len(set(first.sampled_candidates)) == 40
    assert first.sampled_candidates.tolist() != second.sampled_candidates.tolist()
    again = run(sampled)[0]
    assert first.sampled_candidates.tolist() == again.sampled_candidates.tolist()
    assert np.all((first.sampled_expected_count > 0) & (first.sampled_expected_count <= 1))


@pytest.mark.parametrize("kind", ["uniform", "log_uniform"])
def test_drawn_as_often_as_expected(kind: str) -> None:
    true = tf.constant(np.arange(10)[:, None], tf.int64)
    sampler = getattr(tf.nn, f"{kind}_candidate_sampler")
    found = run(sampler(true, 1, 20000, False, 10, seed=7))[0]
    counts = np.bincount(found.sampled_candidates, minlength=10)
    np.testing.assert_allclose(counts, found.true_expected_count[:, 0], rtol=0.15)


# Of 20,000 draws of TensorFlow's: how often each class was among five different ones out of twelve, and its expected count.
DISTINCT_DRAWN = [0.8652, 0.7084, 0.5873, 0.4924, 0.4214, 0.3656, 0.3219, 0.2926, 0.2688, 0.2468, 0.2204, 0.2094]
DISTINCT_EXPECTED = [1.003, 0.741, 0.588, 0.487, 0.4155, 0.3621, 0.3209, 0.2881, 0.2613, 0.2391, 0.2204, 0.2043]


@pytest.mark.parametrize("arrays", [True, False])
def test_distinct_classes_are_drawn_as_tensorflow_draws_them(arrays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not arrays:
        monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")
    sampled = tf.nn.log_uniform_candidate_sampler(tf.constant(np.arange(12)[:, None], tf.int64), 1, 5, True, 12, seed=3)
    steps = run(sampled, 4000)
    drawn = np.bincount(np.concatenate([s.sampled_candidates for s in steps]), minlength=12) / len(steps)
    np.testing.assert_allclose(drawn, DISTINCT_DRAWN, atol=0.04)  # five standard deviations
    expected = np.mean([s.true_expected_count[:, 0] for s in steps], 0)
    np.testing.assert_allclose(expected, DISTINCT_EXPECTED, rtol=0.02)
    first = steps[0]
    np.testing.assert_array_equal(first.sampled_expected_count, first.true_expected_count[first.sampled_candidates, 0])


def test_learned_unigram_learns_within_a_session() -> None:
    true = tf.constant([[3]] * 50, tf.int64)
    sampled = tf.nn.learned_unigram_candidate_sampler(true, 1, 2, False, 5, seed=1)
    first, second = run(sampled, 2)
    np.testing.assert_allclose(first.true_expected_count[0, 0], 2 / 5)
    np.testing.assert_allclose(second.true_expected_count[0, 0], 2 * 51 / 55, rtol=1e-6)


def test_reserved_ids_are_never_drawn() -> None:
    true = tf.constant([[2]], tf.int64)
    sampled = tf.nn.fixed_unigram_candidate_sampler(
        true, 1, 200, False, 5, unigrams=[1.0, 1.0, 5.0], num_reserved_ids=2, seed=1
    )
    assert set(run(sampled)[0].sampled_candidates) == {2, 3, 4}


def test_weights_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "vocabulary").write_text("the,6\na,3\ncat,1\n")
    true = tf.constant([[0, 2]], tf.int64)
    sampled = tf.nn.fixed_unigram_candidate_sampler(
        true, 2, 2, False, 3, vocab_file=str(tmp_path / "vocabulary"), seed=1
    )
    np.testing.assert_allclose(run(sampled)[0].true_expected_count, [[1.2, 0.2]], rtol=1e-6)


def test_too_few_classes_for_distinct_candidates() -> None:
    with pytest.raises(ValueError, match="range is too small"):
        tf.nn.uniform_candidate_sampler(tf.constant([[1]], tf.int64), 1, 6, True, 5)


def test_sampled_softmax_with_every_class_is_the_full_loss(session: tf.Session) -> None:
    rng = np.random.RandomState(0)
    weights, biases = tf.constant(rng.randn(6, 4)), tf.constant(rng.randn(6))
    inputs, labels = tf.constant(rng.randn(3, 4)), tf.constant([[1], [5], [0]], tf.int64)
    everything = tf.nn.all_candidate_sampler(labels, 1, 6, True)
    candidates, true, drawn = everything
    sampled = tf.nn.sampled_softmax_loss(
        weights,
        biases,
        labels,
        inputs,
        6,
        6,
        sampled_values=(candidates, tf.cast(true, tf.float64), tf.cast(drawn, tf.float64)),
    )
    full = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels[:, 0], logits=tf.matmul(inputs, weights, transpose_b=True) + biases
    )
    np.testing.assert_allclose(*session.run([sampled, full]), rtol=1e-6)
