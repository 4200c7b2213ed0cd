"""The parameters of a model: a table of its variables, with totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.core.table import Table, in_words
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph


def parameter_table(variables: Graph | Sequence[Any] | None = None) -> Table:
    """The variables of a graph, or those given, in a table: name, shape, dtype, count, bytes, device; at the end the totals.

    Args:
      variables: a graph, a list of variables, or None for the default graph.

    Returns:
      A `Table`: ``rows`` is a list of dicts; printed, or shown in a notebook, it is a table.

    >>> with tf.device('/cpu:0'):
    ...     w = tf.get_variable('w', [784, 10])
    ...     step = tf.train.get_or_create_global_step()
    >>> print(tf.debugging.parameter_table())
    variables 2, 7,840 trainable numbers
    name         shape      dtype    count   bytes  trainable  device
    w            [784, 10]  float32  7,840  31,360  yes        /device:CPU:0
    global_step  []         int64        1       8  no         /device:CPU:0
    7,841 numbers, 31.4 KB
    """
    graph = variables if isinstance(variables, Graph) else context.get_default_graph()
    if variables is None or isinstance(variables, Graph):
        found = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    elif isinstance(variables, (list, tuple)):
        found = list(variables)
        graph = found[0].graph if found else graph
    else:
        raise TypeError(f"parameter_table takes a tf.Graph, a list of variables or None, got {variables!r} {at()}")
    trainable = {id(one) for one in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    rows = [_row(one, id(one) in trainable) for one in found]
    learned = sum(row["count"] for row in rows if row["trainable"] == "yes")
    total = f"{sum(row['count'] for row in rows):,} numbers, {in_words(sum(row['bytes'] for row in rows))}"
    return Table(f"variables {len(rows)}, {learned:,} trainable numbers", rows, total)


def _row(variable: Any, trainable: bool) -> dict[str, Any]:
    shape, dtype = variable.shape, variable.dtype.base_dtype
    count = shape.num_elements() or 0 if shape.is_fully_defined() else 0
    return {
        "name": variable.op.name,
        "shape": shape.as_list() if shape.ndims is not None else "unknown",
        "dtype": dtype.name,
        "count": int(count),
        "bytes": int(count * max(dtype.size, 0)),
        "trainable": "yes" if trainable else "no",
        "device": variable.device or "",
    }
