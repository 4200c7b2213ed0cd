"""``tf.test.assert_equal_graph_def``: whether two GraphDefs have the same nodes, in whatever order."""

from __future__ import annotations

import re
from typing import Any

from headrace.core.proto import protos

_SAVED = re.compile(rb"_temp_[0-9a-z]{32}/part")  # a random name of temporary files
_TABLE = re.compile(rb"hash_table_[0-9a-z\-]+")


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """AssertionError unless both have the same nodes; versions and the order of nodes and control inputs may differ.

    ``checkpoint_v2`` and ``hash_table_shared_name`` leave out random names of temporary files and of tables.

    Args:
      actual, expected: The GraphDefs to compare.
      checkpoint_v2: Whether to leave out random names of temporary files.
      hash_table_shared_name: Whether to leave out random names of tables.

    >>> x = tf.constant(1.0)
    >>> graph_def = tf.get_default_graph().as_graph_def()
    >>> tf.test.assert_equal_graph_def(graph_def, graph_def)
    """
    for name, graph_def in (("actual", actual), ("expected", expected)):
        if not isinstance(graph_def, protos().GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph_def).__name__}")
    ours, theirs = ({n.name: n for n in g.node} for g in (actual, expected))
    for name in ours.keys() - theirs.keys():
        raise AssertionError(f"Found unexpected node '{name}': {ours[name]}")
    for name in theirs.keys() - ours.keys():
        raise AssertionError(f"Did not find expected node '{name}': {theirs[name]}")
    for name, node in ours.items():
        found, theirs_here = (_comparable(n, checkpoint_v2, hash_table_shared_name) for n in (node, theirs[name]))
        for what in theirs_here:
            if found[what] != theirs_here[what]:
                raise AssertionError(
                    f"Node named '{name}' has {what} {found[what]} that does not match expected {theirs_here[what]}"
                )


def _comparable(node: Any, without_files: bool, without_tables: bool) -> dict[str, Any]:
    attrs = dict(node.attr)
    for key, attr in node.attr.items():
        strings = attr.tensor.string_val
        if without_files and len(strings) == 1 and _SAVED.match(strings[0]):
            del attrs[key]
    if without_tables and node.op == "HashTableV2" and _TABLE.match(node.attr["shared_name"].s):
        del attrs["shared_name"]
    inputs = list(node.input)
    return {
        "op": node.op,
        "device": node.device,
        "inputs": [name for name in inputs if not name.startswith("^")],
        "control inputs": sorted(name for name in inputs if name.startswith("^")),
        "attributes": attrs,
    }
