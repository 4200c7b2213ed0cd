"""GraphDef: what is written, what is refused, and the tools on it."""

import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import json_format, text_format

import headrace as tf
from headrace.graph.graph_def import of_operations

A = 'node{name:"a" op:"Placeholder" attr{key:"dtype" value{type:DT_FLOAT}}}'
T = 'attr{key:"T" value{type:DT_FLOAT}}'


def parse(text):
    return text_format.Parse(text, tf.GraphDef())


def load(text, **kwargs):
    return tf.import_graph_def(parse(text), **kwargs)


class TestWrite:
    def test_nodes(self):
        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([x]), tf.name_scope("s"):
            y = tf.split(x, 2, axis=1, name="y")
        z = tf.negative(y[1], name="z")
        made = tf.get_default_graph().as_graph_def(add_shapes=True)
        nodes = {n.name: n for n in made.node}
        assert nodes["x"].device == "/device:CPU:0"
        assert [d.size for d in nodes["x"].attr["shape"].shape.dim] == [-1, 2]
        assert list(nodes["s/y"].input) == ["s/split_dim" if "s/split_dim" in nodes else "s/y/split_dim", "x"]
        assert list(nodes["z"].input) == ["s/y:1"] and nodes["s/y"].attr["num_split"].i == 2
        assert [d.size for d in nodes["z"].attr["_output_shapes"].list.shape[0].dim] == [-1, 1]
        assert made.versions.producer == tf.GRAPH_DEF_VERSION
        assert isinstance(made, tf.GraphDef) and isinstance(made.node[0], tf.NodeDef)
        assert z.op.type == nodes["z"].op

    def test_control_inputs_and_colocation(self):
        v = tf.Variable(1.0, name="v")
        with tf.control_dependencies([v.initializer]):
            tf.no_op(name="after")
        nodes = {n.name: n for n in tf.get_default_graph().as_graph_def().node}
        assert list(nodes["after"].input) == ["^v/Assign"]
        assert list(nodes["v/read"].attr["_class"].list.s) == [b"loc:@v"]

    def test_from_version(self):
        tf.constant(1, name="a")
        version = tf.get_default_graph().version
        tf.constant(2, name="b")
        assert [n.name for n in tf.get_default_graph().as_graph_def(from_version=version).node] == ["b"]

    def test_bodies_are_functions_of_the_library(self):
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: tf.while_loop(lambda i: i < 3.0, lambda i: i + x, [x]), lambda: x)
        made = tf.get_default_graph().as_graph_def()
        names = [f.signature.name for f in made.library.function]
        assert names == ["cond_If_then", "cond_while_While_cond", "cond_while_While_body", "cond_If_else"]
        node = next(n for n in made.node if n.op == "StatelessIf")
        assert node.attr["then_branch"].func.name == "cond_If_then"

    def test_a_defun_keeps_its_name(self):
        tf.Defun(tf.float32, func_name="Twice")(lambda x: x * 2)(1.0)
        assert [f.signature.name for f in tf.get_default_graph().as_graph_def().library.function] == ["Twice"]

    def test_records_are_written_only_if_somebody_uses_them(self):
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), (0, x))[1]
        tf.gradients(y, x)
        whole = tf.get_default_graph().as_graph_def()
        forward = [n for n in tf.get_default_graph().get_operations() if not n.name.startswith("gradients")]
        assert any(n.op == "_PushStash" for f in whole.library.function for n in f.node_def)
        assert not any(n.op.startswith("_") for f in of_operations(forward).library.function for n in f.node_def)


class TestRead:
    def test_names_and_elements(self):
        assert load(A) is None
        op, tensor = load(A, return_elements=["a", "a:0"])
        assert (op.name, tensor.name) == ("import_1/a", "import_1/a:0")
        assert load(A, return_elements=["a"], name="x/y")[0].name == "x/y/a"
        load(A, name="")
        assert load(A, name="", return_elements=["a"])[0].name == "a_1"
        assert tf.identity(1.0, name="a").name == "a_2:0"

    def test_input_map(self):
        text = f'{A} node{{name:"b" op:"Neg" input:"a" {T}}}'
        x = tf.constant(3.0)
        for key in ("a", "a:0"):
            (b,) = load(text, input_map={key: x}, return_elements=["b:0"])
            assert b.op.inputs[0] is x
        assert load(text, input_map={"a": 2.0}, return_elements=["a:0"])[0].op.type == "Const"

    def test_nodes_in_any_order(self):
        (b,) = load(f'node{{name:"b" op:"Neg" input:"a" {T}}} {A}', return_elements=["b:0"])
        assert tf.Session().run(b, {"import/a:0": 2.0}) == -2

    def test_missing_attributes_take_their_defaults_and_unknown_ones_are_dropped(self):
        text = f'{A} node{{name:"b" op:"MatMul" input:"a" input:"a" {T} attr{{key:"grad_a" value{{b:true}}}}}}'
        (b,) = load(text, return_elements=["b"])
        assert b.get_attr("transpose_a") is False
        load(f'{A} node{{name:"b" op:"Neg" input:"a" {T} attr{{key:"zzz" value{{i:3}}}}}}')

    def test_a_message_of_another_class(self):
        class Foreign:
            class DESCRIPTOR:  # noqa: N801 - protobuf's name
                full_name = "tensorflow.GraphDef"

            def SerializeToString(self):  # noqa: N802 - protobuf's name
                return parse(A).SerializeToString()

        tf.import_graph_def(Foreign(), name="foreign")
        assert tf.get_default_graph().get_operation_by_name("foreign/a").type == "Placeholder"

    @pytest.mark.parametrize(
        "text, message",
        [
            (f'node{{name:"b" op:"Neg" input:"a" {T}}}', "Node 'b': Unknown input node 'a'"),
            (f'{A} node{{name:"b" op:"Neg" input:"a:1" {T}}}', "invalid output 1 of source node a which has 1 outputs"),
            (f'{A} node{{name:"b" op:"Neg" input:"a" attr{{key:"T" value{{type:DT_INT32}}}}}}',
             "Input 0 of node import/b was passed float32 from import/a:0 incompatible with expected int32"),
            (f'{A} node{{name:"b" op:"Neg" input:"a" attr{{key:"T" value{{type:DT_STRING}}}}}}',
             "Value for attr 'T' of string is not in the list of allowed values"),
            (f'{A} node{{name:"b" op:"Neg" input:"a" attr{{key:"T" value{{i:3}}}}}}',
             "AttrValue had value with type 'int' when 'type' expected"),
            (f'{A} node{{name:"b" op:"Neg" input:"a"}}', "NodeDef missing attr 'T' from Neg"),
            (f'{A} node{{name:"b" op:"Neg" {T}}}', "expected inputs 'float32' do not match 0 inputs"),
            (f'node{{name:"a" op:"Neg" input:"b" {T}}} node{{name:"b" op:"Neg" input:"a" {T}}}', "2 nodes in a cycle"),
            (A + A, "Node 'a' is not unique"),
            ('node{name:"b c" op:"NoOp"}', "Node 'b c': Node name contains invalid characters"),
            ('node{name:"c" op:"NoOp" input:"^zz"}', "Node 'c': Unknown input node '\\^zz'"),
            ('node{name:"c" op:"PartitionedCall" attr{key:"f" value{func{name:"g"}}}}', "function 'g' is not in the library"),
            (f'{A} node{{name:"b" op:"GatherNd" input:"a" input:"a" attr{{key:"bad_indices_policy" value{{s:"IGNORE"}}}} '
             'attr{key:"Tparams" value{type:DT_FLOAT}} attr{key:"Tindices" value{type:DT_INT32}}}',
             "attr 'bad_indices_policy' of GatherNd is 'IGNORE'"),
            ('node{name:"p" op:"PyFunc" attr{key:"token" value{s:"gone"}} attr{key:"Tout" value{list{}}} '
             'attr{key:"Tin" value{list{}}}}', "callback gone is not found"),
        ],
    )  # fmt: skip
    def test_what_is_wrong(self, text, message):
        with pytest.raises(ValueError, match=message):
            load(text)

    def test_wrong_arguments(self):
        with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Foo'"):
            load('node{name:"b" op:"Foo"}')
        with pytest.raises(TypeError, match="must be a GraphDef proto"):
            tf.import_graph_def(3)
        with pytest.raises(ValueError, match=r"Attempted to map inputs that were not found in graph_def: \[zz:0\]"):
            load(A, input_map={"zz:0": 1.0})
        with pytest.raises(ValueError, match="Requested return node 'q' not found"):
            load(A, return_elements=["q"])
        with pytest.raises(ValueError, match="Invalid return output 3 of node 'a'"):
            load(A, return_elements=["a:3"])
        with tf.eager_mode(), pytest.raises(RuntimeError, match="builds nodes"):
            load(A)


class TestTools:
    def test_write_graph(self, tmp_path):
        tf.constant([1.0, 2.0], name="c")
        graph = tf.get_default_graph()
        text = tf.train.write_graph(graph, str(tmp_path / "new"), "g.pbtxt")
        binary = tf.io.write_graph(graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
        with open(text) as f:
            assert text_format.Parse(f.read(), tf.GraphDef()) == graph.as_graph_def()
        with open(binary, "rb") as f:
            assert tf.GraphDef.FromString(f.read()) == graph.as_graph_def()

    def test_sub_graphs(self):
        x = tf.placeholder(tf.float32, [], name="x")
        tf.identity(tf.function(lambda y: y * 2)(x), name="a")
        tf.identity(tf.function(lambda y: y * 3)(x), name="b")
        whole = tf.get_default_graph().as_graph_def()
        part = tf.graph_util.extract_sub_graph(whole, ["a"])
        assert [n.name for n in part.node] == ["x", "PartitionedCall", "a"]
        assert (len(whole.library.function), len(part.library.function)) == (2, 1)
        with pytest.raises(AssertionError, match="q is not in graph"):
            tf.graph_util.extract_sub_graph(whole, ["q"])
        with pytest.raises(TypeError, match="must be a list"):
            tf.graph_util.extract_sub_graph(whole, "a")

    @pytest.mark.parametrize("captured", [False, True])
    def test_frozen_variables(self, captured):
        x = tf.placeholder(tf.float32, [2], name="x")
        v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3.0, name="w")
        tf.multiply(x * v, w, name="y")
        if captured:  # then it is written as a resource variable
            tf.cond(x[0] > 0, lambda: v.assign_add(x), lambda: v.assign(x))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(v.assign([5.0, 6.0]))
            frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["y"])
            part = tf.graph_util.convert_variables_to_constants(
                session, session.graph.as_graph_def(), ["y"], variable_names_blacklist=["w"]
            )
        assert {n.op for n in frozen.node} == {"Placeholder", "Const", "Identity", "Mul"}
        assert [n.name for n in part.node if n.op == "VariableV2"] == ["w"]
        with tf.Graph().as_default(), tf.Session() as session:
            (y,) = tf.import_graph_def(frozen, {"x": [1.0, 1.0]}, ["y:0"])
            assert session.run(y).tolist() == [15, 18]

    def test_a_variable_that_is_written_cannot_be_frozen(self):
        v = tf.Variable(1.0, name="v")
        tf.identity(tf.cond(v > 0, lambda: v.assign_add(1.0), lambda: v.assign(0.0)), name="y")
        with tf.Session() as session, pytest.raises(ValueError, match="variable v cannot become a constant"):
            tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["y"])

    def test_nodes_of_training_are_removed(self):
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.identity(tf.check_numerics(tf.identity(x), "bad"), name="middle")
        tf.negative(y, name="y")
        made = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def())
        assert [(n.name, list(n.input)) for n in made.node] == [("x", []), ("y", ["x"])]
        kept = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def(), ["middle"])
        assert [n.name for n in kept.node] == ["x", "middle", "y"]

    def test_arrays_as_messages(self):
        for array in (
            np.arange(6, dtype=np.int64).reshape(2, 3),
            np.array([1.5, np.nan]),
            np.array([b"a", b""], object),
        ):
            back = tf.make_ndarray(tf.make_tensor_proto(array))
            np.testing.assert_array_equal(back, array)
        assert tf.make_ndarray(tf.make_tensor_proto(7, tf.float32, [2])).tolist() == [7, 7]

    def test_the_last_element_stands_for_those_that_are_missing(self):
        few = tf.make_tensor_proto([1.0, 2.0], shape=[2, 2])
        assert list(few.float_val) == [1, 2] and not few.tensor_content
        assert tf.make_ndarray(few).tolist() == [[1, 2], [2, 2]]
        assert list(tf.make_tensor_proto(1, shape=[3]).int_val) == [1]
        assert list(tf.make_tensor_proto("a", shape=[3]).string_val) == [b"a"]
        assert list(tf.make_tensor_proto(1 + 2j, shape=[3]).dcomplex_val) == [1, 2]
        assert tf.make_tensor_proto([1.0, 2.0], shape=[2]).tensor_content


def test_without_tensorboard_the_message_says_what_to_install():
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "import headrace as tf\n"
        "try:\n    tf.GraphDef()\nexcept ImportError as e:\n    print(e)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install tensorboard" in found.stdout


def test_messages_are_handed_out_as_messages() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.square(x, name="y")
        with tf.Session() as session:
            assert isinstance(session.graph_def, tf.GraphDef) and session.graph_def == graph.as_graph_def()
    assert graph.graph_def_versions == graph.as_graph_def().versions
    assert graph.graph_def_versions.producer > 0
    as_dict = json_format.MessageToDict(graph.as_graph_def())
    assert [node["name"] for node in as_dict["node"]] == ["x", "y"]
    assert json_format.ParseDict(as_dict, tf.GraphDef()) == graph.as_graph_def()


@pytest.mark.parametrize("shape", [None, [], [None, 3], [0, 2]])
def test_shapes_as_messages(shape: object) -> None:
    message = tf.TensorShape(shape).as_proto()
    assert tf.TensorShape(message).as_proto() == message
    assert message.unknown_rank == (shape is None)
    assert [dim.size for dim in message.dim] == [-1 if size is None else size for size in shape or []]
