"""Sessions: wide unsigned numbers, names as bytes, what may be fed, versions and functions of a GraphDef, cost models."""

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.core.framework import versions_pb2
from tensorflow.python.client import session
from tensorflow.python.framework import function

BIG = 2**63 + 5


class WideUnsignedTest(tf.test.TestCase):
    def testFeeds(self):
        fed = tf.placeholder(tf.uint64)
        with self.cached_session() as sess:
            for value in (BIG, 2**64 - 1, np.uint64(BIG), np.array([BIG, 1], np.uint64), np.array([BIG], np.ulonglong)):
                got = sess.run(tf.identity(fed), {fed: value})
                self.assertEqual(np.uint64, got.dtype)
                self.assertAllEqual(np.array(value, np.uint64), got)
            with self.assertRaisesRegexp(TypeError, "Type of feed value -1 with type .*int.* is not compatible"):
                sess.run(fed, {fed: -1})
            with self.assertRaises(OverflowError):
                sess.run(fed, {fed: 2**64})

    def testOrderAndQuotients(self):
        low, high = [1, 7, BIG, 2**64 - 1, 3], [BIG, 2, 7, BIG + 1, 2**64 - 1]
        x, y = np.array(low, np.uint64), np.array(high, np.uint64)
        a, b = tf.placeholder(tf.uint64, [5]), tf.placeholder(tf.uint64, [5])
        with self.cached_session() as sess:
            for op, expected in (
                (a < b, x < y), (a <= b, x <= y), (a > b, x > y), (a >= b, x >= y), (tf.maximum(a, b), np.maximum(x, y)),
                (tf.minimum(a, b), np.minimum(x, y)), (a // b, x // y), (a % b, x % y), (tf.truncatediv(a, b), x // y),
            ):  # fmt: skip
                self.assertAllEqual(expected, sess.run(op, {a: x, b: y}))


class NamesTest(tf.test.TestCase):
    def testBytes(self):
        a = tf.constant(1.0, name="a")
        tf.no_op(name="o")
        graph = tf.get_default_graph()
        with self.cached_session() as sess:
            self.assertEqual(1.0, sess.run(b"a:0"))
            self.assertIsNone(sess.run(b"o"))
            self.assertEqual([1.0, {"x": 1.0}], sess.run(["a:0", {"x": b"a:0"}]))
            self.assertEqual(6.0, sess.run(a + 1.0, {b"a:0": 5}))
            self.assertEqual(1.0, sess.make_callable(b"a:0")())
        self.assertIs(a, graph.as_graph_element(b"a:0"))

    def testForbidden(self):
        a = tf.constant(1.0, name="a")
        op = tf.no_op(name="o")
        graph = tf.get_default_graph()
        with self.cached_session() as sess:
            self.assertEqual(5.0, sess.run(a, {a: 5.0}))
            sess.run(op)
            graph.prevent_feeding(a)
            graph.prevent_fetching(op)
            self.assertFalse(graph.is_feedable(a))
            self.assertFalse(graph.is_fetchable(op))
            with self.assertRaisesRegexp(ValueError, "Tensor .*a:0.* may not be fed"):
                sess.run(a, {a: 5.0})
            with self.assertRaisesRegexp(ValueError, "has been marked as not fetchable"):
                sess.run(op)

    def testWithoutSession(self):
        a, op = tf.constant(1.0), tf.no_op()
        with self.assertRaisesRegexp(ValueError, r"Cannot evaluate tensor using `eval\(\)`: No default session"):
            a.eval()
        with self.assertRaisesRegexp(ValueError, r"Cannot execute operation using `run\(\)`: No default session"):
            op.run()
        with tf.Session(graph=tf.Graph()) as sess:
            with self.assertRaisesRegexp(ValueError, "the tensor's graph is different from the session's graph"):
                a.eval(session=sess)
            with self.assertRaisesRegexp(ValueError, "the operation's graph is different from the session's graph"):
                op.run(session=sess)


class GraphDefTest(tf.test.TestCase):
    def testFunctionsAndVersions(self):
        @function.Defun(tf.float32)
        def double(x):
            return x * 2.0

        with tf.Graph().as_default() as graph:
            self.assertEqual(0, graph.graph_def_versions.min_consumer)
            double(tf.constant(1.0))
            with tf.Session() as sess:
                definition = sess.graph_def
        self.assertEqual(1, len(definition.library.function))
        self.assertGreater(definition.versions.producer, 20)
        self.assertEqual(12, definition.versions.min_consumer)
        self.assertEqual(12, graph.graph_def_versions.min_consumer)

    def testVersionsOfImported(self):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(tf.GraphDef(versions=versions_pb2.VersionDef(producer=25)))
            self.assertEqual(25, graph.graph_def_versions.producer)
            self.assertEqual(25, graph.as_graph_def().versions.producer)
            with self.assertRaisesRegexp(ValueError, "GraphDef min consumer version 10000 above current version"):
                tf.import_graph_def(tf.GraphDef(versions=versions_pb2.VersionDef(producer=20000, min_consumer=10000)))
            ours = tf.Graph().graph_def_versions.producer
            with self.assertRaisesRegexp(ValueError, f"GraphDef disallows consumer version {ours}"):
                tf.import_graph_def(tf.GraphDef(versions=versions_pb2.VersionDef(producer=25, bad_consumers=[ours])))


class CostModelTest(tf.test.TestCase):
    def testBuildCostModel(self):
        config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=1))
        fed = tf.placeholder(tf.float32, [2, 2])
        product = tf.matmul(fed, fed, name="product")
        metadata = tf.RunMetadata()
        with tf.Session(config=config) as sess:
            for _ in range(2):
                sess.run(product, {fed: np.ones((2, 2))}, run_metadata=metadata)
        self.assertTrue(metadata.HasField("cost_graph"))
        (node,) = [n for n in metadata.cost_graph.node if n.name == "product"]
        self.assertEqual(16, node.output_info[0].size)
        self.assertEqual([2, 2], [d.size for d in node.output_info[0].shape.dim])


class ConversionTest(tf.test.TestCase):
    def testOwnClass(self):
        class Root:
            def __init__(self, squared):
                self.squared, self.root = squared, tf.sqrt(squared)

        register = session.register_session_run_conversion_functions
        register(Root, lambda r: ([r.root], lambda v: v[0]), lambda r, v: [(r.squared, v)], lambda r: [r.squared])
        with self.assertRaisesRegexp(ValueError, "has already been registered"):
            register(Root, lambda r: ([r.root], lambda v: v[0]))
        root = Root(tf.constant([9.0, 16.0]))
        with self.cached_session() as sess:
            self.assertAllEqual([3.0, 4.0], sess.run(root))
            self.assertAllEqual([9.0, 1.0], sess.run({"x": root}, {root: [81.0, 1.0]})["x"])
            handle = sess.partial_run_setup([root.root], [root])
            self.assertAllEqual([2.0, 1.0], sess.partial_run(handle, root, {root: [4.0, 1.0]}))


class PartialRunTest(tf.test.TestCase):
    def testRefused(self):
        a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
        total, doubled = tf.add(a, 1.0, name="total"), tf.multiply(b, 2.0, name="doubled")
        with self.cached_session() as sess:
            handle = sess.partial_run_setup([total], [a])
            with self.assertRaisesOpError("The feed b:0 was not specified in partial_run_setup"):
                sess.partial_run(handle, total, {a: 1.0, b: 2.0})
            handle = sess.partial_run_setup([total], [a])
            with self.assertRaisesOpError("The fetch doubled:0 was not specified in partial_run_setup"):
                sess.partial_run(handle, doubled, {a: 1.0})
            with self.assertRaisesOpError("Must run 'setup' before performing partial runs"):
                sess.partial_run("none", total, {a: 1.0})
            with self.assertRaisesOpError("Must specify at least one target to fetch or execute"):
                sess.partial_run_setup([], [a])


class InferShapesTest(tf.test.TestCase):
    def testShapesInGraphDef(self):
        tf.constant(1.0, shape=[1, 2])
        for wanted in (True, False):
            config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=wanted))
            with tf.Session(config=config) as sess:
                sess.run(tf.constant(1.0))
                self.assertEqual({wanted}, {"_output_shapes" in node.attr for node in sess.graph_def.node})
