"""tensorflow.python.grappler.tf_optimizer: graphs simplified before they are run elsewhere.

Steps here are simplified when they are planned; what programs want of this module is the changed GraphDef.
"""

from __future__ import annotations

from typing import Any

from headrace.core.source import at
from headrace.library.system.graph_transforms import TransformGraph


def OptimizeGraph(  # noqa: N802 - TensorFlow's name
    config_proto_or_rewriter_options: Any, metagraph: Any, verbose: bool = True, graph_id: bytes = b"graph_to_optimize",
    cluster: Any = None, strip_default_attributes: bool = False,
) -> Any:  # fmt: skip
    """The graph of a MetaGraphDef without what its training ops and signatures do not need, its constants folded.

    Args:
      config_proto_or_rewriter_options: Accepted as TensorFlow does; it changes nothing.
      metagraph: A MetaGraphDef, with a collection "train_op" or signatures that say what is fetched.
      verbose: Accepted as TensorFlow does; it changes nothing.
      graph_id: Accepted as TensorFlow does; it changes nothing.
      cluster: Accepted as TensorFlow does; it changes nothing.
      strip_default_attributes: Accepted as TensorFlow does; it changes nothing.

    Returns:
      A GraphDef.

    Example: ``tf_optimizer.OptimizeGraph(tf.ConfigProto(), tf.train.export_meta_graph(graph=graph))``
    """
    fetched = [
        name
        for key in ("train_op", "variables_initializer")
        for name in metagraph.collection_def[key].node_list.value
        if key in metagraph.collection_def
    ]
    fed = []
    for signature in metagraph.signature_def.values():
        fetched += [info.name for info in signature.outputs.values()]
        fed += [info.name for info in signature.inputs.values()]
    if not fetched:
        raise ValueError(
            "the MetaGraphDef does not say what is fetched: it has no collection 'train_op' and no signature. Add one with "
            f"tf.add_to_collection(tf.GraphKeys.TRAIN_OP, op) {at()}"
        )
    return TransformGraph(metagraph.graph_def, fed, fetched, ["strip_unused_nodes"] if not fed else ["fold_constants"])
