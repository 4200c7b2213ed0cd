"""Meta graphs: scopes exported and imported with every argument, collections, writers that get a graph."""

import glob
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from tensorflow.python.framework import meta_graph


def _two_layers():
    graph = tf.Graph()
    with graph.as_default():
        images = tf.constant(np.ones((3, 2), np.float32), name="images")
        with tf.name_scope("hidden1"):
            weights, biases = tf.Variable(tf.ones([2, 2]), name="weights"), tf.Variable(tf.zeros([2]), name="biases")
            hidden = tf.nn.relu(tf.matmul(images, weights) + biases)
        with tf.name_scope("hidden2"):
            weights = tf.Variable(tf.ones([2, 1]), name="weights")
            logits = tf.matmul(hidden, weights, name="out")
        tf.add_to_collection("logits", logits)
        tf.add_to_collection("texts", "hidden2/text")
        tf.add_to_collection("numbers", 3)
    return graph


class ScopedTest(tf.test.TestCase):
    def testExportScope(self):
        exported, variables = meta_graph.export_scoped_meta_graph(graph=_two_layers(), export_scope="hidden2")
        self.assertEqual(["weights:0"], list(variables))
        self.assertEqual("hidden2/weights:0", variables["weights:0"].name)
        inputs = {n.name: list(n.input) for n in exported.graph_def.node}
        self.assertEqual(["$unbound_inputs_hidden1/Relu", "weights/read"], inputs["out"])
        self.assertEqual(
            ["logits", "numbers", "texts", "trainable_variables", "unbound_inputs", "variables"],
            sorted(exported.collection_def),
        )
        self.assertEqual(["out:0"], list(exported.collection_def["logits"].node_list.value))
        self.assertEqual(
            [b"$unbound_inputs_hidden1/Relu"], list(exported.collection_def["unbound_inputs"].bytes_list.value)
        )
        self.assertNotEqual("", exported.meta_info_def.tensorflow_version)

    def testCollectionsOutsideTheScope(self):
        exported = tf.train.export_meta_graph(graph=_two_layers(), export_scope="hidden1")
        self.assertEqual(
            ["numbers", "trainable_variables", "unbound_inputs", "variables"], sorted(exported.collection_def)
        )
        empty = tf.train.export_meta_graph(graph=_two_layers(), export_scope="nowhere")
        self.assertEqual(0, len(empty.graph_def.node))

    def testNamesAndFiles(self):
        folder = tempfile.mkdtemp()
        exported, variables = meta_graph.export_scoped_meta_graph(
            os.path.join(folder, "a.meta"), None, _two_layers(), "hidden1/", False, "mine"
        )
        self.assertEqual(["biases:0", "weights:0"], sorted(variables))
        self.assertIn("mine", exported.collection_def)
        read = meta_graph.read_meta_graph_file(os.path.join(folder, "a.meta"))
        self.assertEqual(len(exported.graph_def.node), len(read.graph_def.node))
        with self.assertRaises(OSError):
            meta_graph.read_meta_graph_file(os.path.join(folder, "none.meta"))

    def testImport(self):
        exported, _ = meta_graph.export_scoped_meta_graph(graph=_two_layers(), export_scope="hidden1")
        with tf.Graph().as_default():
            with self.assertRaisesRegexp(ValueError, "Graph contains unbound inputs: .unbound_inputs_images"):
                meta_graph.import_scoped_meta_graph(exported, import_scope="new")
            with self.assertRaisesRegexp(ValueError, "Graph contains unbound inputs"):
                tf.train.import_meta_graph(exported)
        with tf.Graph().as_default() as graph:
            fed = tf.constant([[1.0, 2.0]] * 3)
        variables = meta_graph.import_scoped_meta_graph(
            exported, graph=graph, import_scope="new", input_map={"$unbound_inputs_images": fed}
        )
        self.assertEqual(["new/biases:0", "new/weights:0"], sorted(v.name for v in variables.values()))
        self.assertEqual(["biases:0", "weights:0"], sorted(variables))
        self.assertEqual([], graph.get_collection("unbound_inputs"))
        with tf.Session(graph=graph) as sess:
            sess.run([v.initializer for v in variables.values()])
            self.assertAllEqual([[3.0, 3.0]] * 3, sess.run("new/Relu:0"))

    def testReturnElementsAndPredicate(self):
        exported, _ = meta_graph.export_scoped_meta_graph(graph=_two_layers())
        with tf.Graph().as_default() as graph:
            variables, (out,) = meta_graph.import_scoped_meta_graph_with_return_elements(
                exported,
                import_scope="new",
                return_elements=["hidden2/out:0"],
                restore_collections_predicate=lambda key: key == "logits",
            )
        self.assertEqual("new/hidden2/out:0", out.name)
        self.assertEqual({}, variables)
        self.assertEqual(["logits"], graph.get_all_collection_keys())

    def testTextIsTakenForNames(self):
        exported = tf.train.export_meta_graph(graph=_two_layers())
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(exported, import_scope="new")
            self.assertEqual(["new/hidden2/text"], graph.get_collection("texts"))
            self.assertEqual([3], graph.get_collection("numbers"))
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(exported)
            self.assertEqual([b"hidden2/text"], graph.get_collection("texts"))

    def testCopy(self):
        with tf.Graph().as_default() as graph:
            with tf.name_scope("one"):
                doubled = tf.Variable(2.0, name="v") * 2.0
            copied = meta_graph.copy_scoped_meta_graph(from_scope="one", to_scope="two")
            self.assertEqual(["two/v:0"], [v.name for v in copied.values()])
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                self.assertEqual(4.0, sess.run(doubled.name.replace("one", "two")))
            with self.assertRaisesRegexp(ValueError, "'from_scope' and 'to_scope' need to be different"):
                meta_graph.copy_scoped_meta_graph("one", "one", graph, graph)

    def testLoop(self):
        with tf.Graph().as_default() as graph:
            with tf.name_scope("s"):
                tf.identity(tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)]), name="out")
            exported, _ = meta_graph.export_scoped_meta_graph(graph=graph, export_scope="s")
        with tf.Graph().as_default():
            meta_graph.import_scoped_meta_graph(exported, import_scope="n")
            again = tf.train.export_meta_graph()
        with tf.Graph().as_default():
            tf.train.import_meta_graph(again, import_scope="m")
            with tf.Session() as sess:
                self.assertEqual(10, sess.run("m/n/out:0"))

    def testCreate(self):
        graph = _two_layers()
        self.assertEqual(
            {"logits"}, set(meta_graph.create_meta_graph_def(collection_list=["logits"], graph=graph).collection_def)
        )
        self.assertEqual(
            {"AddV2", "Assign", "Const", "Identity", "MatMul", "Relu", "VariableV2"},
            set(meta_graph.ops_used_by_graph_def(graph.as_graph_def())),
        )
        for argument in ("graph_def", "meta_info_def", "saver_def"):
            with self.assertRaisesRegexp(TypeError, f"{argument} must be of type"):
                meta_graph.create_meta_graph_def(**{argument: 3})
        with self.assertRaises(TypeError):
            tf.train.import_meta_graph(3)
        message = tf.MetaGraphDef()
        meta_graph.add_collection_def(message, "logits", graph=graph, export_scope="hidden2")
        self.assertEqual(["out:0"], list(message.collection_def["logits"].node_list.value))


class WriterTest(tf.test.TestCase):
    def _events(self, make):
        folder = tempfile.mkdtemp()
        make(folder).close()
        found = []
        for path in glob.glob(os.path.join(folder, "*")):
            for event in tf.train.summary_iterator(path):
                if event.WhichOneof("what") == "graph_def":
                    found.append(("graph_def", event.step, len(tf.GraphDef.FromString(event.graph_def).node)))
                elif event.WhichOneof("what") == "meta_graph_def":
                    message = tf.MetaGraphDef.FromString(event.meta_graph_def)
                    found.append(("meta_graph_def", event.step, len(message.graph_def.node)))
        return found

    def testConstructor(self):
        with tf.Graph().as_default() as graph:
            tf.constant(1)
        definition = graph.as_graph_def()
        writer = tf.summary.FileWriter
        for make in (
            lambda d: writer(d, graph), lambda d: writer(d, graph=graph), lambda d: writer(d, definition),
            lambda d: writer(d, graph_def=definition), lambda d: writer(d, None, 10, 120, definition),
            lambda d: writer(d, graph, 5, 1, None, ".x"),
        ):  # fmt: skip
            self.assertEqual([("graph_def", 0, 1), ("meta_graph_def", 0, 1)], self._events(make))

    def testAddGraph(self):
        with tf.Graph().as_default() as graph:
            tf.constant(1)
        definition = graph.as_graph_def()
        for arguments, step in (((graph,), 0), ((graph, 3), 3), ((definition, 2), 2), ((None, 4, definition), 4)):

            def make(folder, arguments=arguments):
                writer = tf.summary.FileWriter(folder)
                writer.add_graph(*arguments)
                return writer

            self.assertEqual([("graph_def", step, 1)], self._events(make))
        with self.assertRaises(ValueError):
            tf.summary.FileWriter(tempfile.mkdtemp(), graph, graph_def=definition)
        with self.assertRaises(TypeError):
            tf.summary.FileWriter(tempfile.mkdtemp(), 3)
