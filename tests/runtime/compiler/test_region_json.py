"""A region that was sent to another process is the region that arrives there."""

import json

import numpy as np
import pytest

import headrace as tf
from headrace.core.config import ConfigProto
from headrace.passes.region import find_regions
from headrace.runtime.compiler.region_json import LARGEST, CannotSend, decode, encode
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.worker import LocalWorker


def region_of(fetch):
    """The only region of the step that fetches the tensor."""
    with tf.Session() as session:
        graph = session._master.plan((), (fetch,), ()).graph
    (region,) = find_regions(graph.nodes, graph.fetches)
    return region


def sent(region, strides=()):
    return decode(json.loads(json.dumps(encode(region, RegisteredGraph(LocalWorker(ConfigProto())), strides))))


def test_nodes_attributes_and_borders_arrive():
    v = tf.get_variable("v", [2, 3])
    x = tf.random_normal([4, 2])
    y = tf.reduce_sum(tf.nn.relu(tf.matmul(x, v)) * tf.constant([1.0, np.inf, 3.0]), axis=[0, 1])
    region = region_of(y)
    found, strides = sent(region, [[1, 2]])

    assert [n.type for n in found.nodes] == [n.type for n in region.nodes]
    assert [{k: a for k, a in n.attrs.items() if k != "value"} for n in found.nodes] == [
        {k: a for k, a in n.attrs.items() if k != "value"} for n in region.nodes
    ]
    for key in ("inputs", "refs", "outputs"):
        ours, theirs = getattr(region, key), getattr(found, key)
        assert [(v.dtype, v.shape) for v in theirs] == [(v.dtype, v.shape) for v in ours]
    assert (found.device, found.fetched, strides) == (region.device, region.fetched, [[1, 2]])
    constants = [[np.asarray(v.op.attrs["value"]) for v in r.inputs if v.op.type == "Const"] for r in (region, found)]
    for ours, theirs in zip(*constants, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_a_large_constant_is_sent_as_its_shape():
    size = LARGEST // 4 + 1
    region = region_of(tf.exp(tf.tanh(tf.random_uniform([size]))) * tf.constant(np.ones(size, np.float32)) + 1.0)
    (found,) = [v.op.attrs["value"] for v in sent(region)[0].inputs if v.op.type == "Const" and v.shape.rank == 1]
    assert (found.shape, found.dtype, found.any()) == ((size,), np.float32, False)


def test_an_attribute_of_another_kind_is_refused():
    region = region_of(tf.exp(tf.tanh(tf.random_uniform([3]))) * 2.0)
    region.nodes[0].attrs["other"] = object()
    with pytest.raises(CannotSend, match="an attribute is a object"):
        encode(region, RegisteredGraph(LocalWorker(ConfigProto())), ())


def test_attributes_of_all_kinds_arrive():
    region = region_of(tf.exp(tf.tanh(tf.random_uniform([3]))) * 2.0)
    attrs = {
        "bytes": b"\x00\xff", "names": ("a", [b"b", 1.5, None]), "empty": np.zeros((0, 3), np.float32),
        "same": np.broadcast_to(np.int32(7), (2, 2)), "turned": np.arange(6).reshape(2, 3).T, "scalar": np.float64(0.1),
    }  # fmt: skip
    region.nodes[0].attrs.update(attrs)
    found = sent(region)[0].nodes[0].attrs
    assert [found[k] for k in ("bytes", "names", "scalar")] == [attrs[k] for k in ("bytes", "names", "scalar")]
    for key in ("empty", "same", "turned"):
        np.testing.assert_array_equal(found[key], attrs[key], strict=True)


def test_regions_that_compute_the_same_have_the_same_text():
    texts = []
    for scope in ("one", "two"):
        with tf.variable_scope(scope):
            v = tf.get_variable("v", [3])
            region = region_of(tf.exp(tf.tanh(tf.random_uniform([3]) * v)) * tf.constant([1.0, 2.0, 3.0]))
        texts.append(json.dumps(encode(region, RegisteredGraph(LocalWorker(ConfigProto())), ())))
    assert texts[0] == texts[1] and "test_region_json" not in texts[0]
