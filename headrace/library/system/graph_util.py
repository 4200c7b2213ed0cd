"""Tools on GraphDefs: write one to a file, cut out what some nodes need, freeze variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import attr_value
from headrace.graph.convert import constant
from headrace.graph.graph import Graph
from headrace.graph.graph_def import of_operations, without_stashes
from headrace.graph.importer import as_message
from headrace.library import log
from headrace.library.system.file import GFile, MakeDirs

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
# Ops on handles that read -> the op on values that does the same, and its attribute for the variable's type.
_READS = {
    "ReadVariableOp": ("Identity", "T"), "ResourceGather": ("Gather", "Tparams"), "ResourceGatherNd": ("GatherNd", "Tparams"),
}  # fmt: skip


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph into the file ``logdir/name``, as text or in binary form; returns the path.

    Args:
      graph_or_graph_def: A `tf.Graph`, or a GraphDef.
      logdir: The folder; it is made if it is not there.
      name: The name of the file.
      as_text: Whether to write text, not the binary form.

    Returns:
      The path of the file.

    >>> path = tf.train.write_graph(tf.get_default_graph(), "/tmp/headrace_doctest", "graph.pbtxt")
    """
    is_graph = isinstance(graph_or_graph_def, Graph)
    definition = graph_or_graph_def.as_graph_def() if is_graph else as_message(graph_or_graph_def)
    MakeDirs(logdir)
    path = os.path.join(logdir, name)
    with GFile(path, "w" if as_text else "wb") as file:
        file.write(str(definition) if as_text else definition.SerializeToString())
    return path


def node_of(name: str) -> str:
    """The node that an input names."""
    return name.removeprefix("^").split(":")[0]


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The nodes that those in ``dest_nodes`` need, themselves included, with the functions these use.

    Args:
      graph_def: A GraphDef.
      dest_nodes: A list of names of nodes, all of which must be there.

    Returns:
      A new GraphDef.

    >>> x, y = tf.constant(1.0, name='x'), tf.constant(2.0, name='y')
    >>> [n.name for n in tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ['y']).node]
    ['y']
    """
    definition = as_message(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError(f"dest_nodes must be a list, got {dest_nodes!r} {at()}")
    nodes = {n.name: n for n in definition.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph {at()}")
    reachable = _reachable(nodes, dest_nodes)
    part = protos().GraphDef()
    part.node.extend(n for n in definition.node if n.name in reachable)
    part.library.function.extend(functions_used(part.node, definition.library.function))
    part.library.gradient.extend(definition.library.gradient)
    part.versions.CopyFrom(definition.versions)
    return part


def _reachable(nodes: dict[str, Any], start: Iterable[str]) -> set[str]:
    reached: set[str] = set()
    stack = list(start)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack.extend(node_of(i) for i in nodes[name].input)
    return reached


def names_in(node: Any) -> list[str]:
    """Names that may be of functions: the node's type, and those in its attributes."""
    attrs = node.attr.values()
    return [node.op, *(a.func.name for a in attrs), *(f.name for a in attrs for f in a.list.func)]


def functions_used(nodes: Iterable[Any], functions: Iterable[Any]) -> list[Any]:
    """Those of the functions that the nodes name, and that these name in turn."""
    by_name = {f.signature.name: f for f in functions}
    used: dict[str, Any] = {}
    stack = list(nodes)
    while stack:
        for name in names_in(stack.pop()):
            if name in by_name and name not in used:
                used[name] = by_name[name]
                stack.extend(by_name[name].node_def)
    return [f for name, f in by_name.items() if name in used]


def remove_training_nodes(input_graph: Any, protected_nodes: Sequence[str] | None = None) -> Any:
    """The graph without what only training needs: CheckNumerics and plain Identity nodes are passed by.

    Args:
      input_graph: A GraphDef.
      protected_nodes: Names of nodes to keep in any case; None for none.

    Returns:
      A new GraphDef.

    >>> y = tf.negative(tf.identity(tf.constant(1.0), name='same'))
    >>> [n.op for n in tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def()).node]
    ['Const', 'Neg']
    """
    definition = as_message(input_graph)
    protected = set(protected_nodes or ())
    nodes = {n.name: n for n in definition.node}
    waited = {node_of(i) for n in definition.node for i in n.input if i.startswith("^")}
    instead: dict[str, str] = {}
    for node in definition.node:
        plain = node.op == "CheckNumerics" or (
            node.op == "Identity" and nodes[node_of(node.input[0])].op not in _VARIABLES  # a read of a variable stays
        )
        if plain and node.name not in protected and node.name not in waited and len(node.input) == 1:
            instead[node.name] = node.input[0]
    result = protos().GraphDef()
    for node in definition.node:
        if node.name in instead:
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        del copy.input[:]
        for text in node.input:
            while node_of(text) in instead and not text.startswith("^"):
                text = instead[node_of(text)]
            copy.input.append(text)
    result.library.CopyFrom(definition.library)
    result.versions.CopyFrom(definition.versions)
    return result


def convert_variables_to_constants(
    sess: Any, input_graph_def: Any, output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None, variable_names_blacklist: Sequence[str] | None = None,
) -> Any:  # fmt: skip
    """The part of the graph that the outputs need, with each variable replaced by a constant of its value in the session.

    Args:
      sess: The session that has the values.
      input_graph_def: The GraphDef of the session's graph.
      output_node_names: A list of names of nodes, without ``:0``.
      variable_names_whitelist: Names of the only variables to replace; None for all.
      variable_names_blacklist: Names of variables to keep; None for none.

    Returns:
      A new GraphDef.

    >>> v = tf.Variable(2.0, name="v")
    >>> y = tf.multiply(v, 3.0, name="y")
    >>> sess = tf.Session()
    >>> _ = sess.run(v.initializer)
    >>> frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["y"])
    >>> [n.op for n in frozen.node]
    ['Const', 'Identity', 'Const', 'Mul']
    """
    part = _without_stashes(extract_sub_graph(input_graph_def, list(output_node_names)), sess.graph, output_node_names)
    variables = [
        n for n in part.node
        if n.op in _VARIABLES
        and (variable_names_whitelist is None or n.name in variable_names_whitelist)
        and (variable_names_blacklist is None or n.name not in variable_names_blacklist)
    ]  # fmt: skip
    frozen = {n.name for n in variables}
    handles = {n.name for n in variables if n.op == "VarHandleOp"}
    for node in part.node:
        for text in node.input:
            if (
                node_of(text) in handles
                and (node.op not in (*_READS, "VarHandleOp") or node.attr["batch_dims"].i)
                and not text.startswith("^")
            ):
                raise ValueError(
                    f"variable {node_of(text)} cannot become a constant: {node.name} ({node.op}) uses the variable itself, not "
                    f"its value {at()}"
                )
    values = dict(zip([n.name for n in variables], sess.run([f"{n.name}:0" for n in variables]), strict=True))
    result = protos().GraphDef()
    for node in part.node:
        copy = result.node.add()
        if node.name in frozen:
            copy.name, copy.op, copy.device = node.name, "Const", node.device
            copy.attr["dtype"].CopyFrom(node.attr["dtype"])
            dtype = dtypes.as_dtype(node.attr["dtype"].type)
            copy.attr["value"].tensor.CopyFrom(attr_value.tensor(values[node.name], dtype))
        elif node.op in _READS and node_of(node.input[0]) in frozen:
            op_type, type_attr = _READS[node.op]
            copy.name, copy.op, copy.device = node.name, op_type, node.device
            copy.input.extend(node.input)
            copy.attr[type_attr].CopyFrom(node.attr["dtype"])
            for name in ("_class", "Tindices"):
                if name in node.attr:
                    copy.attr[name].CopyFrom(node.attr[name])
        else:
            copy.CopyFrom(node)
    result.library.CopyFrom(part.library)
    result.versions.CopyFrom(part.versions)
    log.info("Froze %d variables.", len(frozen))
    return result


def _without_stashes(part: Any, graph: Graph, names: Sequence[str]) -> Any:
    """This part of the graph as it was before gradients were built, so that TensorFlow can import it.

    The part stays as it is if its conditionals and loops keep nothing for gradients, or if it is not of this graph.
    """
    if not any(node.op.startswith("_") for holder in (part, *part.library.function) for node in _nodes(holder)):
        return part
    if _structure(part) != _structure(extract_sub_graph(graph.as_graph_def(), names)):
        return part
    definition = of_operations(without_stashes(graph.get_operations()))
    if not {node.name for node in definition.node}.issuperset(names):
        return part  # an output is a gradient
    smaller = extract_sub_graph(definition, names)
    devices = {node.name: node.device for node in part.node}
    for node in smaller.node:
        node.device = devices.get(node.name, node.device)
    return smaller


def _nodes(holder: Any) -> Any:
    return holder.node_def if hasattr(holder, "node_def") else holder.node


def _structure(definition: Any) -> dict[str, Any]:
    return {node.name: (node.op, *node.input) for node in definition.node}


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether the node, an Operation or a NodeDef, has a host only kernel for what it does: strings, variables if asked.

    Args:
      node: A `tf.Operation` or a NodeDef.
      pin_variables_on_cpu: Whether variables count as well.

    Returns:
      True or False.

    >>> tf.graph_util.must_run_on_cpu(tf.constant('text').op), tf.graph_util.must_run_on_cpu(tf.constant(1.0).op)
    (True, False)
    """
    definition = node.node_def if hasattr(node, "node_def") else node
    if pin_variables_on_cpu and definition.op in _VARIABLES:
        return True
    type_enum = definition.attr["dtype"].type if "dtype" in definition.attr else 0
    is_string = type_enum == dtypes.string.as_datatype_enum
    return bool(is_string and definition.op in ("Const", "Placeholder"))


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> Any:
    """The static shape of a tensor named as a NodeDef names its inputs.

    Args:
      graph: The `tf.Graph` with the tensor.
      input_name: The name of an operation, for its first output, or of a tensor, as in "split:1".

    Returns:
      A `tf.TensorShape`.

    >>> x = tf.zeros([2, 3], name='x')
    >>> tf.graph_util.tensor_shape_from_node_def_name(tf.get_default_graph(), 'x').as_list()
    [2, 3]
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape


def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> Any:
    """An array, or what one can be made of, as a TensorProto.

    Args:
      values: A number, a string, a list or an array.
      dtype: The type of the elements; None for that of `values`.
      shape: The shape; fewer values than it has room for are repeated from the last; None for that of `values`.
      verify_shape: Whether `values` must have exactly this shape.
      allow_broadcast: Accepted as TensorFlow does; it changes nothing.

    Returns:
      A TensorProto.

    >>> tf.make_ndarray(tf.make_tensor_proto([1, 2, 3]))
    array([1, 2, 3], dtype=int32)
    """
    with Graph().as_default():
        tensor = constant(values, dtype, shape, verify_shape=verify_shape)
        array = tensor.op.attrs["value"]
        few = array if shape is None else constant(values, dtype).op.attrs["value"]
    if 0 < few.size < array.size:
        return attr_value.tensor(few, tensor.dtype.base_dtype, array.shape)
    return attr_value.tensor(array, tensor.dtype.base_dtype)


def make_ndarray(tensor: Any) -> Any:
    """The array in a TensorProto, or in an attribute of a node, which is one already.

    Args:
      tensor: A TensorProto, or an array, which is returned as it is.

    Returns:
      A numpy array.

    >>> tf.make_ndarray(tf.make_tensor_proto(1.5, shape=[2]))
    array([1.5, 1.5], dtype=float32)
    """
    return tensor if isinstance(tensor, np.ndarray) else attr_value.array(tensor)
