"""What differs between two graphs, node by node, and between two checkpoints, variable by variable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.core.proto import protos
from headrace.core.source import at
from headrace.core.table import Table
from headrace.graph.graph import Graph

_LONGEST = 60  # characters of a value that is shown


def compare_graphs(first: Any, second: Any) -> Table:
    """What differs between two graphs: nodes that only one of them has, and ops, inputs, devices and attributes that differ.

    Args:
      first: a `tf.Graph`, `tf.GraphDef` or `tf.MetaGraphDef`.
      second: another one.

    Returns:
      A `Table` with a row for each difference: ``node``, ``what``, ``first``, ``second``.  It is empty if there is none.

    >>> with tf.Graph().as_default() as before:
    ...     y = tf.nn.relu(tf.constant([1.0, -1.0], name='x'), name='y')
    >>> with tf.Graph().as_default() as after:
    ...     y = tf.nn.elu(tf.constant([1.0, -1.0], name='x'), name='y')
    ...     z = tf.negative(y, name='z')
    >>> print(tf.debugging.compare_graphs(before, after))
    2 differences: 2 nodes against 3
    node  what           first  second
    z     only in second         Neg
    y     op             Relu   Elu
    """
    ours, theirs = (_nodes(graph) for graph in (first, second))
    rows = [_row(name, "only in first", ours[name].op, "") for name in ours if name not in theirs]
    rows += [_row(name, "only in second", "", theirs[name].op) for name in theirs if name not in ours]
    for name, node in ours.items():
        if name in theirs:
            rows += [_row(name, *difference) for difference in _differences(_facts(node), _facts(theirs[name]))]
    return Table(f"{_differences_in_words(rows)}: {len(ours)} nodes against {len(theirs)}", rows)


def compare_checkpoints(first: Any, second: Any, rtol: float = 0.0, atol: float = 0.0) -> Table:
    """What differs between two checkpoints: variables that only one has, dtypes, shapes, and values beyond the tolerance.

    Args:
      first: what `tf.train.load_checkpoint` gives.
      second: another one.
      rtol: how much a value may differ, as a part of the second one's.
      atol: how much it may differ beside that.

    Returns:
      A `Table` with a row for each difference: ``node``, ``what``, ``first``, ``second``.

    Example: ``tf.debugging.compare_checkpoints(*map(tf.train.load_checkpoint, ("/tmp/first", "/tmp/second")))``
    """
    ours, theirs = (reader.get_variable_to_shape_map() for reader in (first, second))
    types = [reader.get_variable_to_dtype_map() for reader in (first, second)]
    rows = [_row(name, "only in first", ours[name], "") for name in sorted(ours) if name not in theirs]
    rows += [_row(name, "only in second", "", theirs[name]) for name in sorted(theirs) if name not in ours]
    for name in sorted(ours.keys() & theirs.keys()):
        facts = [
            {"dtype": dtypes[name].name, "shape": list(shape[name])}
            for dtypes, shape in zip(types, (ours, theirs), strict=True)
        ]
        found = _differences(*facts)
        if not found:
            far = largest_difference(first.get_tensor(name), second.get_tensor(name), rtol, atol)
            found = [] if far is None else [(f"values, by up to {far:.6g}", "", "")]
        rows += [_row(name, *difference) for difference in found]
    return Table(f"{_differences_in_words(rows)}: {len(ours)} variables against {len(theirs)}", rows)


def largest_difference(first: Any, second: Any, rtol: float, atol: float) -> float | None:
    """How far two arrays of one shape and dtype are apart at most; None if within the tolerance.  NaN is equal to NaN."""
    if first.dtype == object or first.dtype.kind in "SUb":
        return None if np.array_equal(first, second) else float(np.sum(np.asarray(first != second)))
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    one, other = np.asarray(first).astype(wide), np.asarray(second).astype(wide)
    if np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True):
        return None
    with np.errstate(invalid="ignore"):
        far = np.abs(one - other)
    far = np.where(np.isnan(far) & ~((one == other) | (np.isnan(one) & np.isnan(other))), np.inf, far)
    return float(np.nanmax(far))


def _nodes(graph: Any) -> dict[str, Any]:
    if isinstance(graph, Graph):
        graph = graph.as_graph_def()
    if isinstance(graph, protos().MetaGraphDef):
        graph = graph.graph_def
    if not isinstance(graph, protos().GraphDef):
        raise TypeError(f"a graph is a tf.Graph, tf.GraphDef or tf.MetaGraphDef, got {type(graph).__name__} {at()}")
    nodes = {node.name: node for node in graph.node}
    for function in graph.library.function:
        nodes |= {f"{function.signature.name}/{node.name}": node for node in function.node_def}
    return nodes


def _facts(node: Any) -> dict[str, Any]:
    data = [name for name in node.input if not name.startswith("^")]
    control = sorted(name for name in node.input if name.startswith("^"))
    facts = {"op": node.op, "inputs": data, "control inputs": control, "device": node.device}
    return facts | {f"attribute {name}": value for name, value in node.attr.items()}


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys([*first, *second])
    return [(name, first.get(name, ""), second.get(name, "")) for name in names if first.get(name) != second.get(name)]


def _row(node: str, what: str, first: Any, second: Any) -> dict[str, str]:
    return {"node": node, "what": what, "first": _short(first), "second": _short(second)}


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _differences_in_words(rows: list[Any]) -> str:
    return "no difference" if not rows else f"{len(rows)} difference{'s' if len(rows) > 1 else ''}"
