"""What ops say of inputs that do not fit, where programs and tests match on it."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.ops import data_flow_ops


def late(value, dtype=None):
    """A tensor whose value is known only when it runs."""
    return tf.placeholder_with_default(tf.constant(value, dtype), None)


class SegmentMessagesTest(tf.test.TestCase):
    def testSorted(self):
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        for op in (tf.segment_sum, tf.segment_mean, tf.segment_prod, tf.segment_min, tf.segment_max):
            for data, ids, message in (
                (rows, [0, 2, 1], "segment ids are not increasing"),
                (
                    rows,
                    [-1, 0, 0],
                    r"Segment id -1 out of range \[0, 1\), possibly because 'segment_ids' input is not sorted",
                ),
                (rows, [0, 0, -1], "segment ids must be >= 0"),
                (rows, [0, 0], "segment_ids should be the same size as dimension 0 of input"),
                (rows, [[0, 0, 0]], "segment_ids should be a vector"),
                ([1.0], 0, "segment_ids should be a vector"),
                (1.0, [0], "input must be at least rank 1"),
            ):
                with self.cached_session() as sess:
                    with self.assertRaisesOpError(message):
                        sess.run(op(late(data), late(ids)))

    def testChosenRows(self):
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        for op in (tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n):
            for data, indices, ids, message in (
                (rows, [0, 1, 7], [0, 0, 1], r"indices\[2\] == 7 out of range \[0, 3\)"),
                (rows, [0, 1, 2], [-1, 0, 1], r"Segment id -1 out of range \[0, 2\), possibly because"),
                (rows, [0, 1, 2], [-2, -1, -1], "segment ids must be >= 0"),
                (rows, [0, 1], [0, 0, 1], "segment_ids and indices should have same size"),
                (rows, [[0]], [0], "indices should be a vector"),
                (1.0, [0], [0], "Shape must be at least rank 1"),
            ):
                with self.cached_session() as sess:
                    with self.assertRaisesOpError(message):
                        sess.run(op(late(data), late(indices), late(ids)))
            with self.cached_session() as sess:
                with self.assertRaisesOpError("segment ids must be < num_segments"):
                    sess.run(op(late(rows), late([0, 1]), late([0, 2]), num_segments=late(2)))

    def testUnsorted(self):
        for op in (tf.unsorted_segment_sum, tf.unsorted_segment_max, tf.unsorted_segment_min, tf.unsorted_segment_prod):
            for data, ids, count, message in (
                ([1.0, 2.0, 3.0], [0, 5, 1], 2, r"segment_ids\[1\] = 5 is out of range \[0, 2\)"),
                ([1.0, 2.0, 3.0], [0, 1], 2, r"data.shape = \[3\] does not start with segment_ids.shape = \[2\]"),
                ([1.0, 2.0], [[0, 1]], 2, r"data.shape = \[2\] does not start with segment_ids.shape = \[1,2\]"),
                ([1.0], [0], -1, "Input num_segments == -1 must not be negative"),
            ):
                with self.cached_session() as sess:
                    with self.assertRaisesOpError(message):
                        sess.run(op(late(data), late(ids), late(count)))


class BarrierMessagesTest(tf.test.TestCase):
    def testInserts(self):
        barrier = data_flow_ops.Barrier((tf.float32, tf.float32), shapes=((), ()))
        with self.cached_session() as sess:
            sess.run(barrier.insert_many(0, keys=["a", "b"], values=[1.0, 2.0]))
            with self.assertRaisesOpError("Key a already has a value for component 0 in"):
                sess.run(barrier.insert_many(0, keys=["a"], values=[1.0]))
            with self.assertRaisesOpError(r"The component ID is out of range 2 > num_components \(= 2\)"):
                sess.run(barrier.insert_many(2, keys=["a"], values=[1.0]))
            sess.run(barrier.close())
            with self.assertRaisesOpError("is closed, but attempted to insert a brand new key: z"):
                sess.run(barrier.insert_many(0, keys=["z"], values=[1.0]))

    def testReductions(self):
        for make in (tf.ConditionalAccumulator, tf.SparseConditionalAccumulator):
            with self.assertRaisesRegexp(ValueError, 'passed string \'Invalid\' not in: "MEAN", "SUM"'):
                make(tf.float32, reduction_type="Invalid")


class SetMessagesTest(tf.test.TestCase):
    def testSets(self):
        sorted_indices = tf.SparseTensorValue([[0, 0]], [1], [2, 2])
        a, b = tf.sparse_placeholder(tf.int32), tf.sparse_placeholder(tf.int32)
        for op in (tf.sets.set_intersection, tf.sets.set_difference, tf.sets.set_union):
            with self.cached_session() as sess:
                with self.assertRaisesOpError(r"Mismatched shapes \[2\] vs \[3\]"):
                    sess.run(op(late(np.zeros((2, 3), np.int32)), late(np.zeros((3, 3), np.int32))))
                with self.assertRaisesOpError(r"Shape \[3\] has rank 1 < 2"):
                    sess.run(op(late(np.zeros(3, np.int32)), late(np.zeros(3, np.int32))))
                with self.assertRaisesOpError(
                    r"indices\[1\] = \[0,0\] is out of order. Many sparse ops require sorted indices"
                ):
                    sess.run(op(a, b), {a: tf.SparseTensorValue([[1, 0], [0, 0]], [1, 2], [2, 2]), b: sorted_indices})

    def testStaticShapes(self):
        values = tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 3])
        self.assertIsNone(tf.sets.set_size(values).shape.ndims)
        with self.cached_session() as sess:
            self.assertAllEqual([1, 1], sess.run(tf.sets.set_size(values)))
        for op in (tf.sets.set_intersection, tf.sets.set_difference, tf.sets.set_union):
            for a, b, rank in (
                (tf.zeros([2, 3], tf.int32), tf.zeros([2, 5], tf.int32), 2),
                (tf.placeholder(tf.int32, [None, 3]), tf.placeholder(tf.int32), 2),
                (tf.zeros([2, 3, 4], tf.int32), tf.sparse_placeholder(tf.int32), 3),
            ):
                result = op(a, b)
                self.assertEqual([None, rank], result.indices.shape.as_list())
                self.assertEqual([None], result.values.shape.as_list())
                self.assertEqual([rank], result.dense_shape.shape.as_list())
