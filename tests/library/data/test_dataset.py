"""Datasets: what methods give, what is known of elements, and what is refused."""

import collections
import gzip
import threading

import numpy as np
import pytest
from library.data.taking import drain, take

import headrace as tf

Dataset = tf.data.Dataset
Pair = collections.namedtuple("Pair", "left right")


def lists(elements):
    return [e.tolist() if hasattr(e, "tolist") else e for e in elements]


class TestSources:
    def test_tensors_and_slices(self):
        assert lists(take(Dataset.from_tensors([1, 2]))) == [[1, 2]]
        assert lists(take(Dataset.from_tensor_slices(([1, 2], ["a", "b"])))) == [(1, b"a"), (2, b"b")]
        named = Dataset.from_tensor_slices(Pair([1.0, 2.0], {"x": [[1], [2]]}))
        assert named.output_types == Pair(tf.float32, {"x": tf.int32})
        assert named.output_shapes == Pair(tf.TensorShape([]), {"x": tf.TensorShape([1])})
        first = take(named)[0]
        assert first.left == 1 and first.right["x"].tolist() == [1]

    def test_rows_must_agree(self):
        with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
            Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))
        with pytest.raises(ValueError, match="scalar"):
            Dataset.from_tensor_slices(3)

    def test_range(self):
        assert take(Dataset.range(10, 0, -4)) == [10, 6, 2]
        with pytest.raises(ValueError, match="Invalid `args`"):
            Dataset.range()

    def test_sparse_tensors(self):
        rows = tf.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 4])
        dataset = Dataset.from_tensor_slices((rows, [0, 1, 2]))
        assert dataset.output_classes == (tf.SparseTensor, tf.Tensor)
        assert dataset.output_shapes == (tf.TensorShape([4]), tf.TensorShape([]))
        (first, _), (second, _), _ = take(dataset)
        assert first.indices.tolist() == [[1]] and first.values.tolist() == [b"a"] and first.dense_shape.tolist() == [4]
        assert second.indices.shape == (0, 1)
        (both,) = take(dataset.batch(3).map(lambda s, _: tf.sparse_tensor_to_dense(s, default_value="-")))
        assert both.tolist() == [[b"-", b"a", b"-", b"-"], [b"-"] * 4, [b"b", b"-", b"-", b"-"]]

    def test_generators(self):
        def count(n):
            for i in range(n):
                yield i, [i] * i

        dataset = Dataset.from_generator(count, (tf.int32, tf.float32), ([], [None]), args=(3,))
        assert [(int(i), r.tolist()) for i, r in take(dataset.repeat(2))] == [(0, []), (1, [1]), (2, [2, 2])] * 2
        assert take(Dataset.from_generator(lambda: "ab", tf.string)) == [b"a", b"b"]

    @pytest.mark.parametrize(
        ("given", "shapes", "message"),
        [
            (["x"], None, "could not be converted to the expected type"),
            ([(1, 2)], [3], r"yielded an element of shape \(2,\) where an element of shape \(3,\) was expected"),
        ],
    )
    def test_generators_must_keep_their_word(self, given, shapes, message):
        element = Dataset.from_generator(lambda: given, tf.int32, shapes).make_one_shot_iterator().get_next()
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(element)

    def test_files(self, tmp_path):
        for name in "ab":
            (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
        files = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
        assert [n.decode()[-5:] for n in take(files)] == ["a.txt", "b.txt"]
        assert take(tf.data.TextLineDataset(files)) == [b"a1", b"a2", b"b1", b"b2"]
        names = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
        assert take(tf.data.TextLineDataset(names)) == [b"a1", b"a2", b"b1", b"b2"]
        assert take(tf.data.TextLineDataset(names, num_parallel_reads=2)) == [b"a1", b"b1", b"a2", b"b2"]
        assert take(tf.data.FixedLengthRecordDataset(names, 3)) == [b"a1\n", b"a2\n", b"b1\n", b"b2\n"]
        assert len(set(take(Dataset.list_files(str(tmp_path / "*.txt"))))) == 2
        with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern"):
            iterator = Dataset.list_files(str(tmp_path / "*.csv")).make_initializable_iterator()
            with tf.Session() as sess:
                sess.run(iterator.initializer)

    def test_tfrecords(self, tmp_path):
        path = str(tmp_path / "records")
        with tf.python_io.TFRecordWriter(path) as writer:
            for i in range(3):
                example = tf.train.Example()
                example.features.feature["x"].int64_list.value.append(i)
                writer.write(example.SerializeToString())
        (tmp_path / "packed").write_bytes(gzip.compress((tmp_path / "records").read_bytes()))
        parse = lambda r: tf.parse_single_example(r, {"x": tf.FixedLenFeature([], tf.int64)})["x"]  # noqa: E731
        assert take(tf.data.TFRecordDataset(path).map(parse)) == [0, 1, 2]
        packed = tf.data.TFRecordDataset([str(tmp_path / "packed")], compression_type="GZIP")
        assert take(packed.map(parse)) == [0, 1, 2]


class TestTransformations:
    def test_batches_and_their_shapes(self):
        dataset = Dataset.from_tensor_slices((np.zeros((5, 2)), ["a"] * 5))
        assert dataset.batch(2).output_shapes == (tf.TensorShape([None, 2]), tf.TensorShape([None]))
        assert dataset.batch(2, drop_remainder=True).output_shapes == (tf.TensorShape([2, 2]), tf.TensorShape([2]))
        assert [b.shape for b, _ in take(dataset.batch(2))] == [(2, 2), (2, 2), (1, 2)]
        assert take(Dataset.range(5).batch(2).unbatch()) == list(range(5))

    def test_padded_batches(self):
        dataset = Dataset.range(1, 4).map(lambda n: (tf.fill([n], n), tf.fill([n], "w")))
        padded = dataset.padded_batch(3, ([None], [4]), (np.int64(-1), "."))
        assert padded.output_shapes == (tf.TensorShape([None, None]), tf.TensorShape([None, 4]))
        ((numbers, words),) = take(padded)
        assert numbers.tolist() == [[1, -1, -1], [2, 2, -1], [3, 3, 3]]
        assert words.tolist() == [[b"w", b".", b".", b"."], [b"w", b"w", b".", b"."], [b"w", b"w", b"w", b"."]]
        with pytest.raises(ValueError, match="not compatible with the corresponding input component shape"):
            Dataset.from_tensors([1, 2]).padded_batch(2, [1])

    def test_maps_of_structures(self):
        dataset = Dataset.from_tensor_slices({"x": [1, 2], "y": [3.0, 4.0]})
        assert take(dataset.map(lambda d: d["x"])) == [1, 2]
        pairs = dataset.map(lambda d: Pair(d["x"] + 1, (d["y"], {"z": d["x"]})))
        assert pairs.output_types == Pair(tf.int32, (tf.float32, {"z": tf.int32}))
        assert take(pairs.map(lambda p: p.left)) == [2, 3]
        assert take(dataset.map(lambda d: [d["x"], d["y"]]).map(lambda x, y: tf.cast(x, tf.float32) + y)) == [4, 6]
        with pytest.raises(TypeError, match="Unsupported return value from function passed to map"):
            dataset.map(lambda d: None)

    def test_control_flow_and_functions_inside(self):
        @tf.function
        def halve(n):
            return tf.cond(n % 2 > 0, lambda: n, lambda: halve(n // 2))

        dataset = Dataset.range(1, 7).map(
            lambda n: (halve(n), tf.while_loop(lambda i: i < n, lambda i: i + 2, [n * 0]))
        )
        assert take(dataset) == [(1, 2), (1, 2), (3, 4), (1, 4), (5, 6), (3, 6)]

    def test_filter_and_friends(self):
        assert take(Dataset.range(7).filter(lambda x: tf.equal(x % 3, 1))) == [1, 4]
        with pytest.raises(ValueError, match="must return a scalar boolean tensor"):
            Dataset.range(3).filter(lambda x: x)
        assert take(Dataset.range(5).skip(1).take(3).shard(2, 1)) == [2]
        assert take(Dataset.range(2).concatenate(Dataset.range(5, 6))) == [0, 1, 5]
        with pytest.raises(TypeError, match="Two datasets to concatenate have different types"):
            Dataset.range(2).concatenate(Dataset.from_tensors(1.0))
        with pytest.raises(ValueError, match="index must be <= num_shards"):
            Dataset.range(2).shard(2, 2)

    def test_flat_map_and_interleave(self):
        assert take(Dataset.range(4).flat_map(lambda n: Dataset.range(n).map(lambda m: m * n))) == [0, 0, 2, 0, 3, 6]
        made = Dataset.range(1, 4).interleave(lambda n: Dataset.from_tensors(n).repeat(3), 2, 2)
        assert take(made) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
        ahead = Dataset.range(1, 4).interleave(lambda n: Dataset.from_tensors(n).repeat(3), 2, 2, num_parallel_calls=2)
        assert take(ahead) == take(made)
        with pytest.raises(TypeError, match="`map_func` must return a `Dataset` object"):
            Dataset.range(3).flat_map(lambda n: n)

    def test_windows(self):
        windows = Dataset.range(5).window(2, shift=1, drop_remainder=True)
        assert isinstance(windows.element_spec, tf.data.DatasetSpec)
        assert lists(take(windows.flat_map(lambda w: w.batch(2)))) == [[0, 1], [1, 2], [2, 3], [3, 4]]

    def test_zip_and_enumerate(self):
        zipped = Dataset.zip({"a": Dataset.range(2), "b": Dataset.range(5)})
        assert take(zipped) == [{"a": 0, "b": 0}, {"a": 1, "b": 1}]
        assert take(Dataset.from_tensor_slices(["x", "y"]).enumerate(5)) == [(5, b"x"), (6, b"y")]
        with pytest.raises(TypeError, match="do not support Python lists|not support Python lists"):
            Dataset.zip(([Dataset.range(2)],))

    def test_reduce(self, session):
        total, count = Dataset.range(5).reduce((np.int64(0), 0), lambda s, x: (s[0] + x, s[1] + 1))
        assert session.run([total, count]) == [10, 5]
        with pytest.raises(TypeError, match="must match the initial state"):
            Dataset.range(5).reduce(0, lambda s, x: x)

    def test_cache_and_prefetch(self, tmp_path):
        calls = []

        def note(x):
            calls.append(int(x))
            return x

        dataset = Dataset.range(3).map(lambda x: tf.py_func(note, [x], tf.int64))
        assert take(dataset.cache().repeat(2).prefetch(2)) == [0, 1, 2] * 2
        assert calls == [0, 1, 2]
        kept = dataset.cache(str(tmp_path / "kept"))
        assert take(kept) == take(kept) == [0, 1, 2]
        assert calls == [0, 1, 2] * 2

    def test_two_iterators_that_write_one_cache(self, session, tmp_path):
        iterators = [
            Dataset.range(3).cache(str(tmp_path / "kept")).make_initializable_iterator(name) for name in ("a", "b")
        ]
        first, second = (i.get_next() for i in iterators)
        session.run([i.initializer for i in iterators])
        assert session.run(first) == 0
        with pytest.raises(tf.errors.AlreadyExistsError, match=r"cache lockfile already exists .*kept.lockfile"):
            session.run(second)
        assert drain(session, first) == [1, 2]
        assert drain(session, second) == [0, 1, 2]
        assert [path.name for path in tmp_path.iterdir()] == ["kept"]

    def test_parallel_calls_meet(self):
        meeting = threading.Barrier(2)

        def meet(x):
            meeting.wait(30)
            return x

        dataset = Dataset.range(4).map(lambda x: tf.py_func(meet, [x], tf.int64), num_parallel_calls=2)
        assert take(dataset) == [0, 1, 2, 3]

    def test_options_are_inherited_and_merged(self):
        options = tf.data.Options()
        options.experimental_deterministic = False
        options.experimental_optimization.map_fusion = True
        dataset = Dataset.range(4).with_options(options).map(lambda x: x, num_parallel_calls=2)
        assert dataset.options().experimental_deterministic is False
        assert dataset.options().experimental_optimization.map_fusion is True
        assert sorted(take(dataset)) == [0, 1, 2, 3]
        assert dataset._variant_tensor.op.get_attr("sloppy") is True
        with pytest.raises(AttributeError, match="experimental_deterministic"):
            options.deterministic = True

    def test_apply(self):
        assert take(Dataset.range(3).apply(lambda d: d.repeat(2))) == [0, 1, 2] * 2
        with pytest.raises(TypeError, match="must return a Dataset"):
            Dataset.range(3).apply(lambda d: 3)


class TestClassesOfTheUsers:
    def test_with_an_element_spec(self):
        class Doubled(Dataset):
            def __init__(self, source):
                self._source = source
                self._doubled = source.map(lambda x: x * 2)
                super().__init__()

            def _as_variant_tensor(self):
                return self._doubled._variant_tensor

            def _inputs(self):
                return [self._source]

            @property
            def element_spec(self):
                return self._doubled.element_spec

        assert take(Doubled(Dataset.range(3)).batch(3))[0].tolist() == [0, 2, 4]

    def test_with_types_and_shapes_as_before(self):
        class Three(Dataset):
            def _as_variant_tensor(self):
                return Dataset.range(3)._variant_tensor

            output_types = tf.int64
            output_shapes = tf.TensorShape([])
            output_classes = tf.Tensor

        assert take(Three().map(lambda x: x + 1)) == [1, 2, 3]
        assert repr(Three()) == "<Three shapes: (), types: tf.int64>"


def test_shuffling_follows_seeds():
    def order(**kwargs):
        return take(Dataset.range(10).shuffle(5, **kwargs).repeat(2))

    assert order(seed=1) == order(seed=1) != order(seed=2)
    assert order(seed=1)[:10] != order(seed=1)[10:]
    same = order(seed=1, reshuffle_each_iteration=False)
    assert same[:10] == same[10:]


def test_output_functions():
    dataset = Dataset.from_tensors((1, "a"))
    assert tf.data.get_output_types(dataset) == (tf.int32, tf.string)
    assert tf.data.get_output_shapes(dataset) == (tf.TensorShape([]), tf.TensorShape([]))
    assert tf.data.get_output_classes(dataset.make_one_shot_iterator()) == (tf.Tensor, tf.Tensor)


def test_numbers_that_are_fed(session):
    number = tf.placeholder(tf.int64, [])
    assert Dataset.range(9).batch(number, drop_remainder=True).output_shapes.as_list() == [None]
    iterator = (
        Dataset.range(9).shard(number, number - 1).batch(number, drop_remainder=True).make_initializable_iterator()
    )
    element = iterator.get_next()
    session.run(iterator.initializer, {number: 3})
    assert session.run(element).tolist() == [2, 5, 8]


def test_rows_of_other_lengths_are_no_batch():
    words = Dataset.from_tensor_slices(["a b", "c", "d"]).map(lambda line: tf.string_split([line]).values)
    assert take(words.batch(3)) == ["InvalidArgumentError"]
    rows = Dataset.from_generator(lambda: iter([[1, 2], [3], [4, 5, 6]]), tf.int32, [None])
    assert take(rows.batch(3)) == ["InvalidArgumentError"]


def test_an_error_leaves_zipped_datasets_side_by_side():
    numbers = Dataset.from_tensor_slices(["0", "one", "2"]).map(lambda text: tf.string_to_number(text, tf.int32))
    assert take(Dataset.zip((numbers, Dataset.range(3)))) == [(0, 0), "InvalidArgumentError", (2, 2)]


def test_a_generator_goes_on_after_an_element_that_is_refused():
    assert take(Dataset.from_generator(lambda: iter([0, "one", 2]), tf.int32, [])) == [0, "InvalidArgumentError", 2]


def test_unbatch_refuses_components_of_different_lengths(session):
    rows = tf.data.Dataset.range(2, 4).map(lambda x: (tf.range(3), tf.range(x))).unbatch()
    element = rows.make_one_shot_iterator().get_next()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Component 0 had size 3 but component 1 had size, 2"):
        session.run(element)
    assert session.run(element) == (0, 0)
