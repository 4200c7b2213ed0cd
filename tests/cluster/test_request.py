"""What tasks are asked, as structs: each has its method, and a graph in one is the graph that arrives."""

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.cluster.request import Register, parsed
from headrace.cluster.requests import REQUESTS
from headrace.cluster.service import _METHODS
from headrace.cluster.transport.codec import decode_payload, decode_tensors, encode_payload, encode_tensors
from headrace.passes.portable import Portable, holder_of_object
from headrace.runtime.session.partition_worker import PartitionWorker


def test_each_request_has_a_method() -> None:
    assert set(REQUESTS) == set(_METHODS)


def test_a_program_runs_from_partitions_that_were_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def register(worker: Any, data: Portable, *others: Any) -> int:
        request = Register("s", None, data.graphs, data.sources, {}, [], {})
        found = parsed(decode_payload(encode_payload(request)), Register, "it")
        headers, buffers = encode_tensors(data.arrays)
        sent.append(data)
        arrays = decode_tensors(headers, [bytes(b) for b in buffers])
        return keep(worker, Portable(found.graphs, found.lines, arrays), *others)

    keep = PartitionWorker.register
    monkeypatch.setattr(PartitionWorker, "register", register)
    fed, fed_words = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.string, [2])
    with tf.device("/cpu:0"):
        x = tf.exp(fed) * np.ones((2, 3), np.float32)
        words = tf.string_join([fed_words, tf.constant([b"", b"c"])])
    with tf.device("/cpu:1"):
        total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.reduce_sum(x)), (0, 0.0))[1]
        lengths = tf.string_join([words, words])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, partition="always")) as session:
        value, joined = session.run([total, lengths], {fed: np.zeros((2, 3)), fed_words: [b"a", b"b"]})
    assert len(sent) == 2 and value == 18 and joined.tolist() == [b"aa", b"bcbc"]


def test_the_node_that_holds_an_object_is_found() -> None:
    nodes = [
        {"name": "plain", "attrs": [["names", ["list", ["object", "other"]]]]},
        {"name": "outer/PyFunc", "attrs": [["T", ["dtype", 1]], ["token", ["list", [["object", 0]]]]]},
    ]
    found = holder_of_object(Portable([{"nodes": nodes}], objects=[len]))
    assert found == (nodes[1], "token")
    assert holder_of_object(Portable([{"nodes": nodes[:1]}])) is None
