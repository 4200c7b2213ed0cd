"""Strings, decoding and parsing, lookup tables and queues."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.framework import test_util
from tensorflow.python.ops import data_flow_ops
from tensorflow.python.ops import lookup_ops
from tensorflow.python.ops import parsing_ops
from tensorflow.python.ops import string_ops


class StringTest(tf.test.TestCase):
    def testJoinSplitAndReduce(self):
        with self.cached_session() as sess:
            joined = string_ops.string_join([tf.constant("a"), ["x", "y"]], separator="-")
            self.assertEqual([2], joined.get_shape().as_list())
            self.assertAllEqual([b"a-x", b"a-y"], sess.run(joined))
            split = string_ops.string_split(["a bc", "", "d"])
            indices, values, shape = sess.run(split)
            self.assertAllEqual([[0, 0], [0, 1], [2, 0]], indices)
            self.assertAllEqual([b"a", b"bc", b"d"], values)
            self.assertAllEqual([3, 2], shape)
            reduced = tf.reduce_join([["a", "b"], ["c", "d"]], 0, separator=":")
            self.assertAllEqual([b"a:c", b"b:d"], sess.run(reduced))
            with self.assertRaisesRegexp(
                errors_impl.OutOfRangeError, "Invalid reduction dimension 2 for input with 2 dimension"
            ):
                axis = tf.placeholder(tf.int32)
                sess.run(tf.reduce_join([["a"]], axis), {axis: 2})

    def testConversions(self):
        with self.cached_session() as sess:
            self.assertAllEqual([b"1", b"-2"], sess.run(tf.as_string([1, -2])))
            self.assertAllEqual([b"3.14", b"0.50"], sess.run(tf.as_string([3.14159, 0.5], precision=2)))
            self.assertAllEqual([b"true", b"false"], sess.run(tf.as_string([True, False])))
            self.assertAllEqual([b"007"], sess.run(tf.as_string([7], width=3, fill="0")))
            self.assertAllClose([1.5, -0.25, np.inf], sess.run(tf.string_to_number(["1.5", " -0.25 ", "inf"])))
            fed = tf.placeholder(tf.string)
            with self.assertRaisesOpError("StringToNumberOp could not correctly convert string: abc"):
                sess.run(tf.string_to_number(fed), {fed: ["abc"]})
            with self.assertRaisesOpError("precision not supported for datatype bool"):
                sess.run(tf.as_string([True], precision=3))
        with self.assertRaises((TypeError, ValueError)):
            tf.string_to_number([1.0])

    def testSubstringsAndPatterns(self):
        with self.cached_session() as sess:
            self.assertAllEqual([b"ell", b"orl"], sess.run(tf.substr(["Hello", "World"], 1, 3)))
            self.assertAllEqual([b"lo", b"ld"], sess.run(tf.substr(["Hello", "World"], [-2, -2], [2, 2])))
            self.assertAllEqual([5, 0], sess.run(tf.strings.length(["Hello", ""])))
            self.assertAllEqual([b"h-e-llo"], sess.run(tf.strings.regex_replace(["heello"], "e+", "-e-")))
            self.assertAllEqual([True, False], sess.run(tf.strings.regex_full_match(["abab", "aba"], "(ab)+")))
            self.assertAllEqual([b"ab c"], sess.run(tf.string_strip(["  ab c \n"])))
            position = tf.placeholder(tf.int32)
            with self.assertRaisesOpError("pos 7 out of range for string at index 0|pos 7 out of range for string"):
                sess.run(tf.substr(["Hello"], position, 1), {position: 7})

    def testHashesAndBytes(self):
        with self.cached_session() as sess:
            buckets = sess.run(tf.string_to_hash_bucket_fast(["a", "b", "a"], 10))
            self.assertEqual(buckets[0], buckets[2])
            self.assertAllEqual([9, 2, 2], sess.run(tf.string_to_hash_bucket_fast(["a", "b", "c"], 10)))
            data = np.array([[1, 2], [3, 4]], np.int16)
            decoded = tf.decode_raw([row.tobytes() for row in data], tf.int16)
            self.assertEqual([2, None], decoded.get_shape().as_list())
            self.assertAllEqual(data, sess.run(decoded))
            fed = tf.placeholder(tf.string)
            with self.assertRaisesOpError(
                "DecodeRaw requires input strings to all be the same size, but element 1 has size . != ."
            ):
                sess.run(tf.decode_raw(fed, tf.uint8), {fed: [b"a", b"bc"]})
            with self.assertRaisesOpError("is not a multiple of 4, the size of"):
                sess.run(tf.decode_raw(fed, tf.int32), {fed: [b"abc"]})
            encoded = tf.encode_base64(["\xff?"])
            self.assertAllEqual(sess.run(tf.decode_base64(encoded)), ["\xff?".encode()])


class ParsingTest(tf.test.TestCase):
    def _example(self, **features):
        example = tf.train.Example()
        for name, value in features.items():
            feature = example.features.feature[name]
            if isinstance(value[0], bytes):
                feature.bytes_list.value.extend(value)
            elif isinstance(value[0], float):
                feature.float_list.value.extend(value)
            else:
                feature.int64_list.value.extend(value)
        return example.SerializeToString()

    @test_util.run_deprecated_v1
    def testParseExample(self):
        serialized = [self._example(a=[1.0, 2.0], b=[b"x"], c=[7]), self._example(a=[3.0, 4.0], c=[8, 9])]
        parsed = parsing_ops.parse_example(
            serialized,
            {
                "a": parsing_ops.FixedLenFeature([2], tf.float32),
                "b": parsing_ops.FixedLenFeature([], tf.string, default_value="none"),
                "c": parsing_ops.VarLenFeature(tf.int64),
            },
        )
        self.assertEqual([2, 2], parsed["a"].get_shape().as_list())
        with self.cached_session() as sess:
            out = sess.run(parsed)
            self.assertAllEqual([[1, 2], [3, 4]], out["a"])
            self.assertAllEqual([b"x", b"none"], out["b"])
            self.assertAllEqual([[0, 0], [1, 0], [1, 1]], out["c"].indices)
            self.assertAllEqual([7, 8, 9], out["c"].values)

    @test_util.run_deprecated_v1
    def testParseErrors(self):
        fed = tf.placeholder(tf.string, [None])
        with self.cached_session() as sess:
            parsed = parsing_ops.parse_example(fed, {"a": parsing_ops.FixedLenFeature([2], tf.float32)})
            with self.assertRaisesOpError("Feature: a \\(data type: float\\) is required but could not be found"):
                sess.run(parsed, {fed: [self._example(b=[1])]})
            with self.assertRaisesOpError(
                "Key: a.*Data types don't match. .*Expected type: float|Data types don't match"
            ):
                sess.run(parsed, {fed: [self._example(a=[1, 2])]})
            with self.assertRaisesOpError(
                "Key: a, Index: 0.  Number of float values != expected.  Values size: 1 but output shape: \\[2\\]"
            ):
                sess.run(parsed, {fed: [self._example(a=[1.0])]})
            with self.assertRaisesOpError("Could not parse example input"):
                sess.run(parsed, {fed: [b"garbage"]})
        with self.assertRaisesRegexp(ValueError, "(?i)features"):
            parsing_ops.parse_example(fed, None)

    @test_util.run_deprecated_v1
    def testDecodeCSV(self):
        with self.cached_session() as sess:
            columns = parsing_ops.decode_csv(["1,2.5,a", ',"3.5","b,c"'], [[9], [0.0], [""]])
            self.assertAllEqual([[1, 9], [2.5, 3.5]], [sess.run(c) for c in columns[:2]])
            self.assertAllEqual([b"a", b"b,c"], sess.run(columns[2]))
            fed = tf.placeholder(tf.string)
            with self.assertRaisesOpError("Expect 2 fields but have 1 in record 0"):
                sess.run(parsing_ops.decode_csv(fed, [[0], [0]]), {fed: ["1"]})
            with self.assertRaisesOpError("Field 0 in record 0 is not a valid int32: x"):
                sess.run(parsing_ops.decode_csv(fed, [[0]]), {fed: ["x"]})
            with self.assertRaisesOpError("Field 1 is required but missing in record 0!"):
                sess.run(parsing_ops.decode_csv(fed, [[0], tf.constant([], tf.int32)]), {fed: ["1,"]})


class LookupTest(tf.test.TestCase):
    @test_util.run_deprecated_v1
    def testStaticTable(self):
        keys, values = tf.constant(["brain", "salad", "surgery"]), tf.constant([0, 1, 2], tf.int64)
        table = lookup_ops.StaticHashTableV1(lookup_ops.KeyValueTensorInitializer(keys, values), -1)
        out = table.lookup(tf.constant(["brain", "tank"]))
        with self.cached_session() as sess:
            with self.assertRaisesOpError("Table not initialized"):
                sess.run(out)
            sess.run(tf.tables_initializer())
            self.assertAllEqual(3, sess.run(table.size()))
            self.assertAllEqual([0, -1], sess.run(out))
            sparse = tf.SparseTensor([[0, 1]], ["surgery"], [1, 2])
            self.assertAllEqual([2], sess.run(table.lookup(sparse)).values)
            self.assertAllEqual([2, 0], sess.run(table.lookup(tf.constant(["surgery", "brain"]))))
        with self.assertRaises(TypeError):
            table.lookup(tf.constant([1, 2], tf.int64))

    @test_util.run_deprecated_v1
    def testMutableTable(self):
        with self.cached_session() as sess:
            table = lookup_ops.MutableHashTable(tf.string, tf.int64, -1)
            sess.run(table.insert(tf.constant(["a", "b"]), tf.constant([5, 6], tf.int64)))
            self.assertAllEqual([6, -1, 5], sess.run(table.lookup(tf.constant(["b", "z", "a"]))))
            sess.run(table.remove(tf.constant(["a"])))
            self.assertAllEqual(1, sess.run(table.size()))
            keys, values = sess.run(table.export())
            self.assertEqual(([b"b"], [6]), (list(keys), list(values)))

    @test_util.run_deprecated_v1
    def testOutOfVocabulary(self):
        table = lookup_ops.index_table_from_tensor(["emerson", "lake", "palmer"], num_oov_buckets=2)
        back = lookup_ops.index_to_string_table_from_tensor(["emerson", "lake"], default_value="UNK")
        with self.cached_session() as sess:
            sess.run(tf.tables_initializer())
            ids = sess.run(table.lookup(tf.constant(["lake", "tarkus"])))
            self.assertEqual(1, ids[0])
            self.assertIn(ids[1], (3, 4))
            self.assertAllEqual([b"lake", b"UNK"], sess.run(back.lookup(tf.constant([1, 7], tf.int64))))


class QueueTest(tf.test.TestCase):
    @test_util.run_deprecated_v1
    def testFifo(self):
        with self.cached_session() as sess:
            q = data_flow_ops.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2]], names=None, name="q")
            sess.run(q.enqueue((1, [1.0, 2.0])))
            sess.run(q.enqueue_many(([2, 3], [[3.0, 4.0], [5.0, 6.0]])))
            self.assertAllEqual(3, sess.run(q.size()))
            number, pair = q.dequeue()
            self.assertEqual([2], pair.get_shape().as_list())
            self.assertAllEqual(1, sess.run([number, pair])[0])
            many = q.dequeue_many(2)
            self.assertEqual([2, 2], many[1].get_shape().as_list())
            self.assertAllEqual([2, 3], sess.run(many)[0])
            sess.run(q.close())
            with self.assertRaisesRegexp(
                errors_impl.OutOfRangeError, "is closed and has insufficient elements \\(requested 1, current size 0\\)"
            ):
                sess.run(number)
            with self.assertRaisesRegexp(errors_impl.CancelledError, "is closed"):
                sess.run(q.enqueue((1, [1.0, 2.0])))
            self.assertTrue(sess.run(q.is_closed()))

    @test_util.run_deprecated_v1
    def testQueueErrors(self):
        q = data_flow_ops.FIFOQueue(10, [tf.int32], shapes=[[2]])
        with self.assertRaisesRegexp(ValueError, r"Shapes \(3,\) and \(2,\) are incompatible"):
            q.enqueue([[1, 2, 3]])
        with self.assertRaises((TypeError, ValueError)):
            q.enqueue([[1.5, 2.5]])
        unshaped = data_flow_ops.FIFOQueue(10, [tf.int32])
        with self.cached_session() as sess:
            with self.assertRaisesOpError("requires? the components to have specified shapes"):
                sess.run(unshaped.dequeue_many(1))
            fed = tf.placeholder(tf.int32)
            with self.assertRaisesOpError("Shape mismatch in tuple component 0. Expected \\[2\\], got \\[3\\]"):
                sess.run(q.enqueue([fed]), {fed: [1, 2, 3]})
        with self.assertRaises(ValueError):
            data_flow_ops.FIFOQueue(10, [tf.int32], names=["a", "b"])

    @test_util.run_deprecated_v1
    def testOtherQueues(self):
        with self.cached_session() as sess:
            padded = data_flow_ops.PaddingFIFOQueue(5, [tf.int32], shapes=[[None]])
            for row in [1], [2, 3]:
                sess.run(padded.enqueue([row]))
            self.assertAllEqual([[1, 0], [2, 3]], sess.run(padded.dequeue_many(2)))
            first = data_flow_ops.PriorityQueue(5, [tf.string], shapes=[[]])
            sess.run(first.enqueue_many(([3, 1, 2], ["c", "a", "b"])))
            self.assertAllEqual([b"a", b"b", b"c"], [sess.run(first.dequeue())[1] for _ in range(3)])
            shuffled = data_flow_ops.RandomShuffleQueue(20, 0, [tf.int32], shapes=[[]], seed=3)
            sess.run(shuffled.enqueue_many([np.arange(10)]))
            self.assertItemsEqual(range(10), sess.run(shuffled.dequeue_many(10)))

    @test_util.run_deprecated_v1
    def testThreads(self):
        with self.cached_session() as sess:
            q = data_flow_ops.FIFOQueue(2, [tf.float32], shapes=[[]])
            fed = tf.placeholder(tf.float32)
            enqueue, dequeue = q.enqueue([fed]), q.dequeue()

            def produce():
                for value in range(8):
                    sess.run(enqueue, {fed: value})

            thread = self.checkedThread(target=produce)
            thread.start()
            self.assertEqual(list(range(8)), [sess.run(dequeue) for _ in range(8)])
            thread.join()


if __name__ == "__main__":
    tf.test.main()
