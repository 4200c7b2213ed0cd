"""IndexedSlices and SparseTensor: parts, conversion, refusals."""

import warnings

import numpy as np
import pytest

import headrace as tf
from headrace.graph import raw_ops


def slices(dense: bool = True) -> tf.IndexedSlices:
    shape = tf.constant([4, 2], name="dense_shape") if dense else None
    return tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, 4.0]], name="values"), tf.constant([0, 2], name="indices"), shape
    )


class TestIndexedSlices:
    def test_parts(self) -> None:
        s = slices()
        assert (s.name, s.dtype, s.shape.as_list(), s.op.type) == ("values:0", tf.float32, [4, 2], "Const")
        assert s.graph is tf.get_default_graph() and s.device == ""
        assert slices(dense=False).shape.ndims is None
        assert "IndexedSlices(indices=" in repr(s) and "dense_shape" in repr(s)

    def test_rows_that_repeat_add_up(self, session: tf.Session) -> None:
        s = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([2, 0, 2]), tf.constant([3, 1]))
        dense = tf.convert_to_tensor(s)
        assert dense.shape.as_list() == [3, 1]
        assert session.run(dense).tolist() == [[2.0], [0.0], [5.0]]
        assert session.run(raw_ops.Neg(s)).tolist() == [[-2.0], [0.0], [-5.0]]

    def test_negative(self, session: tf.Session) -> None:
        assert session.run((-slices()).values).tolist() == [[-1.0, -2.0], [-3.0, -4.0]]

    def test_no_dense_shape(self) -> None:
        with pytest.raises(ValueError, match="without dense_shape"):
            tf.convert_to_tensor(slices(dense=False))

    def test_wrong_dtype(self) -> None:
        with pytest.raises(ValueError, match="requested dtype int32 for IndexedSlices with dtype float32"):
            tf.convert_to_tensor(slices(), tf.int32)

    def test_unknown_size_warns(self) -> None:
        s = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.placeholder(tf.int32, [2]))
        with pytest.warns(UserWarning, match="dense Tensor of unknown shape") as caught:
            for _ in range(2):
                tf.convert_to_tensor(s)
        assert [warning.filename for warning in caught] == [__file__] * len(caught)

    def test_a_line_is_warned_of_once(self) -> None:
        s = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.placeholder(tf.int32, [2]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(2):
                tf.convert_to_tensor(s)
        assert len(caught) == 1

    def test_left_alone(self) -> None:
        s = slices()
        assert tf.convert_to_tensor_or_indexed_slices(s) is s
        assert isinstance(tf.convert_to_tensor_or_indexed_slices([1.0]), tf.Tensor)
        with pytest.raises(ValueError, match="requested dtype int32"):
            tf.convert_to_tensor_or_indexed_slices(s, tf.int32)

    def test_fetched_and_fed(self, session: tf.Session) -> None:
        s = slices()
        value = session.run(s)
        assert value.values.tolist() == [[1.0, 2.0], [3.0, 4.0]] and value.indices.tolist() == [0, 2]
        assert value.dense_shape.tolist() == [4, 2]


class TestSparseTensor:
    def make(self) -> tf.SparseTensor:
        return tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])

    def test_parts(self) -> None:
        s = self.make()
        assert s.indices.dtype == tf.int64 and s.values.dtype == s.dtype == tf.float32
        assert s.shape.as_list() == s.get_shape().as_list() == [3, 4]
        assert s.op is s.values.op and s.graph is tf.get_default_graph()
        assert repr(s).startswith("SparseTensor(indices=Tensor(")

    @pytest.mark.parametrize(
        ("indices", "values", "shape"),
        [
            ([[0, 1]], [1.0, 2.0], [3, 4]),  # one index for two values
            ([[0, 1]], [1.0], [3]),  # two coordinates, one dimension
            ([0, 1], [1.0, 2.0], [3]),  # indices of rank 1
            ([[0]], [[1.0]], [3]),  # values of rank 2
        ],
    )
    def test_parts_that_do_not_fit(self, indices: object, values: object, shape: object) -> None:
        with pytest.raises(ValueError):
            tf.SparseTensor(indices, values, shape)

    def test_does_not_convert(self) -> None:
        with pytest.raises(TypeError, match="not dense"):
            tf.convert_to_tensor(self.make())
        with pytest.raises(TypeError):
            raw_ops.Neg(self.make())

    def test_from_values(self) -> None:
        s = self.make()
        assert tf.SparseTensor.from_value(s) is s
        value = tf.SparseTensorValue(np.array([[0, 1]]), np.array([1.5]), np.array([2, 2]))
        assert tf.SparseTensor.from_value(value).dtype == tf.float64
        assert tf.convert_to_tensor_or_sparse_tensor(s) is s
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
        assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1.0]), tf.Tensor)
        with pytest.raises(TypeError, match="Neither a SparseTensor nor SparseTensorValue"):
            tf.SparseTensor.from_value([1.0])
        with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
            tf.convert_to_tensor_or_sparse_tensor(s, tf.int32)

    def test_evaluated(self) -> None:
        s = self.make()
        with tf.Session():
            value = s.eval()
        assert isinstance(value, tf.SparseTensorValue)
        assert value.indices.tolist() == [[0, 1], [2, 0]] and value.dense_shape.tolist() == [3, 4]
