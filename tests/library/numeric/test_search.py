"""Searching, sets, text, signals and pools: what real TensorFlow's results cannot show: errors, shapes, randomness."""

import numpy as np
import pytest

import headrace as tf


def test_searchsorted_in_a_loop_and_with_unknown_shapes(session: tf.Session) -> None:
    rows, values = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, 2])
    found = tf.searchsorted(rows, values)
    assert found.shape.as_list() == [None, 2]
    looped = tf.map_fn(lambda v: tf.searchsorted([1, 5, 9], v), tf.constant([[0, 5], [6, 10]]))
    assert session.run(found, {rows: [[1, 2, 3]], values: [[2.5, 9]]}).tolist() == [[2, 3]]
    assert session.run(looped).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="either 'right' or 'left'"):
        tf.searchsorted([1], [1], side="middle")
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 1"):
        tf.searchsorted([[1, 2], [3, 4]], [[1, 2]])


def test_unravel_index_names_the_index() -> None:
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="12 is not in"):
        session.run(tf.unravel_index([3, 12], [3, 4]))


def test_repeat_knows_its_shape() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.repeat(x, [2, 0, 1], axis=1).shape.as_list() == [None, 3]
    assert tf.repeat(x, 2, axis=-1).shape.as_list() == [None, 6]
    with pytest.raises(ValueError, match="axis=2 out of bounds"):
        tf.repeat(x, 2, axis=2)


def test_sets_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="Types don't match"):
        tf.sets.set_union(tf.constant([[1]]), tf.constant([["a"]]))
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.set_size(tf.constant([[1]]))
    with pytest.raises(ValueError, match=r"must be equal, but are 2 and 1\. Shapes are \[2\] and \[1\]"):
        tf.sets.set_union(tf.constant([[1], [2]]), tf.constant([[1]]))
    other = tf.placeholder(tf.int32, [None, 1])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Mismatched shapes"):
        session.run(tf.sets.set_union(tf.constant([[1], [2]]), other), {other: [[1]]})


def test_unicode_of_several_strings_says_what_to_do(session: tf.Session) -> None:
    with pytest.raises(NotImplementedError, match="give a scalar, for instance inside tf.map_fn"):
        tf.strings.unicode_decode(["a", "bc"], "UTF-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting on input string"):
        session.run(tf.strings.unicode_decode(b"\xff", "UTF-8", errors="strict"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="input encoding: Martian"):
        session.run(tf.strings.unicode_transcode("a", "Martian", "UTF-8"))


def test_signals_of_unknown_length(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2, None])
    framed = tf.signal.frame(x, 4, 2, pad_end=True)
    spectrum = tf.signal.stft(x, 4, 2)
    assert framed.shape.as_list() == [2, None, 4]
    assert spectrum.shape.as_list() == [2, None, 3]
    assert session.run(framed, {x: np.ones((2, 5))})[0].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]]
    assert session.run(spectrum, {x: np.ones((2, 9))}).shape == (2, 3, 3)
    with pytest.raises(ValueError, match="Unknown normalization"):
        tf.signal.dct([1.0, 2.0], norm="l2")
    with pytest.raises(ValueError, match="Nyquist"):
        tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)


@pytest.mark.parametrize("pseudo_random", [False, True])
def test_windows_of_fractional_pools(session: tf.Session, pseudo_random: bool) -> None:
    x = tf.constant(np.random.RandomState(0).rand(1, 17, 23, 1), tf.float32)
    pooled, rows, columns = tf.nn.fractional_max_pool(x, [1.0, 1.44, 1.73, 1.0], pseudo_random)
    assert pooled.shape.as_list() == [1, 11, 13, 1]
    seen = set()
    for _ in range(8):
        image, y, r, c = session.run([x, pooled, rows, columns])
        assert r[0] == c[0] == 0 and (r[-1], c[-1]) == (17, 23)
        assert set(np.diff(r)) == {1, 2} and set(np.diff(c)) == {1, 2}
        assert y[0, 3, 5, 0] == image[0, r[3] : r[4], c[5] : c[6], 0].max()
        seen.add(tuple(r))
    assert len(seen) > 1


def test_deterministic_fractional_pools_keep_their_windows() -> None:
    x = tf.constant(np.random.RandomState(0).rand(1, 17, 23, 1), tf.float32)
    _, rows, _ = tf.nn.fractional_avg_pool(x, [1.0, 1.44, 1.73, 1.0], deterministic=True, seed=1, seed2=2)
    with tf.Session() as first, tf.Session() as second:
        drawn = [session.run(rows).tolist() for session in (first, first, second)]
    assert drawn[0] == drawn[1] == drawn[2]


def test_noise_around_glimpses_lies_between_the_extremes(session: tf.Session) -> None:
    x = np.random.RandomState(0).rand(1, 4, 4, 1).astype(np.float32) + 5
    seen = tf.image.extract_glimpse(x, [6, 6], [[0.0, 0.0]])
    one, two = session.run(seen), session.run(seen)
    np.testing.assert_array_equal(one[0, 1:5, 1:5], x[0])
    assert one.min() >= x.min() and one.max() <= x.max()
    assert (one != two).any()


def test_ctc_labels(session: tf.Session) -> None:
    labels = tf.constant([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]])
    collapsed, lengths = session.run(tf.nn.collapse_repeated(labels, tf.constant([5, 3])))
    unique, places = session.run(tf.nn.ctc_unique_labels(labels))
    assert collapsed.tolist() == [[1, 2, 1], [3, 0, 0]] and lengths.tolist() == [3, 1]
    assert unique.tolist() == [[1, 2, 0, 0, 0], [3, 0, 0, 0, 0]]
    assert places.tolist() == [[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
