"""Builds the programs of v1_training_cases.py with real TensorFlow, trains them, and writes v1_training.json.xz.

For each program: its MetaGraph, the losses of some steps, and the variables afterwards.
"""

import json
import lzma
from types import SimpleNamespace

from real import HERE, tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
from tensorflow.python.ops import rnn as rnn_ops
from v1_flow_cases import plain
from v1_training_cases import CASES, Training, feeds

CELLS = SimpleNamespace(
    dynamic_rnn=getattr(rnn_ops, "dynamic_rnn", None) or tf.nn.dynamic_rnn, BasicRNNCell=rnn_cell_impl.BasicRNNCell,
    BasicLSTMCell=rnn_cell_impl.BasicLSTMCell, GRUCell=rnn_cell_impl.GRUCell, MultiRNNCell=rnn_cell_impl.MultiRNNCell,
)  # fmt: skip


def made(build, resource):
    with tf.Graph().as_default() as graph:
        loss = tf.identity(build(Training(tf, CELLS, resource)), name="loss")
        tf.global_variables_initializer().node_def  # noqa: B018 - named "init" in the graph
        meta = tf.train.export_meta_graph()
        losses = []
        with tf.Session(graph=graph, config=plain(tf)) as session:
            session.run("init")
            for feed in feeds():
                losses.append(float(session.run(loss, feed)))
                session.run("train", feed)
            variables = {v.op.name: session.run(v).tolist() for v in tf.global_variables()}
    return {
        "meta": meta.SerializeToString(deterministic=True).decode("latin-1"),
        "losses": losses,
        "variables": variables,
    }


if __name__ == "__main__":
    found = {
        f"{name}, {'resource' if resource else 'reference'}": made(f, resource) for (name, resource), f in CASES.items()
    }
    (HERE / "v1_training.json.xz").write_bytes(lzma.compress(json.dumps(found).encode(), preset=9))
