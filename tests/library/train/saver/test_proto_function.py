"""Collections that a program writes to meta graphs and reads by functions of its own."""

from collections.abc import Iterator

import pytest

import headrace as tf
from headrace.core.proto import protos
from headrace.library.train.saver import proto_function
from headrace.library.train.saver.variable_message import _from_proto_fn, _to_proto_fn


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(proto_function, "_registered", {})
    yield


def _register(key: str) -> None:
    proto_function.register_proto_function(
        key, proto_type=protos().VariableDef, to_proto=_to_proto_fn, from_proto=_from_proto_fn
    )


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_of_a_collection_of_ones_own(use_resource: bool) -> None:
    _register("mine")
    v = tf.get_variable("scope/v", [2], use_resource=use_resource)
    tf.add_to_collection("mine", v)
    meta_graph = tf.train.export_meta_graph()
    message = protos().VariableDef.FromString(meta_graph.collection_def["mine"].bytes_list.value[0])
    assert message.variable_name == v.name and message.is_resource == use_resource
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph, import_scope="again")
        (imported,) = graph.get_collection("mine")
        assert imported.name == "again/scope/v:0" and imported.shape.as_list() == [2]
        with tf.Session() as sess:
            sess.run(imported.initializer)
            assert sess.run(imported).shape == (2,)


def test_elements_outside_the_exported_scope_are_left_out() -> None:
    _register("mine")
    for name in ("a/v", "b/v"):
        tf.add_to_collection("mine", tf.get_variable(name, [1]))
    meta_graph = tf.train.export_meta_graph(export_scope="a")
    (data,) = meta_graph.collection_def["mine"].bytes_list.value
    assert protos().VariableDef.FromString(data).variable_name == "v:0"


def test_messages_of_another_kind() -> None:
    """What is no variable: a Summary, say."""
    value = protos().Summary.Value
    proto_function.register_proto_function(
        "tags", protos().Summary,
        to_proto=lambda tag, export_scope=None: protos().Summary(value=[value(tag=tag)]),
        from_proto=lambda message, import_scope=None: (message.value[0].tag, import_scope),
    )  # fmt: skip
    tf.constant(1)
    tf.add_to_collection("tags", "one")
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph, import_scope="s")
        assert graph.get_collection("tags") == [("one", "s")]
    assert proto_function.get_collection_proto_type("tags") is protos().Summary
    assert proto_function.get_to_proto_function("other") is proto_function.get_from_proto_function("other") is None


def test_wrong_registrations() -> None:
    _register("mine")
    with pytest.raises(KeyError, match="Registering two"):
        _register("mine")
    with pytest.raises(TypeError, match="to_proto must be callable"):
        proto_function.register_proto_function("x", to_proto=3)  # type: ignore[arg-type]
    proto_function.register_proto_function(
        "wrong", protos().Summary, to_proto=lambda e, export_scope=None: protos().Event()
    )
    tf.add_to_collection("wrong", object())
    with pytest.raises(ValueError, match="returned.*of type Event; registered is Summary"):
        tf.train.export_meta_graph()
