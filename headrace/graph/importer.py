"""``import_graph_def``: builds the nodes of a GraphDef, with its functions, in the default graph.

Resource variables become the variables of this graph.  Functional conditionals and loops become nodes that hold bodies;
``graph_def``, which writes them, describes their form.  Wrong input raises ValueError as TF's importer does.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import errors
from headrace.core.proto import protos
from headrace.core.registry import REGISTRY
from headrace.core.shape import TensorShape
from headrace.core.source import at
from headrace.core.tensor_proto import repeating_together
from headrace.graph import context
from headrace.graph.convert import convert_to_tensor
from headrace.graph.graph_def import VERSION
from headrace.graph.import_function import Functions, Holder
from headrace.graph.import_node import HOLDERS, ImportedNode, make_node
from headrace.graph.import_shapes import infer_loops
from headrace.graph.operation import Operation, Tensor


def import_graph_def(
    graph_def: Any, input_map: Mapping[str, Any] | None = None, return_elements: Sequence[str] | None = None,
    name: str | None = None, op_dict: Any = None, producer_op_list: Any = None,
) -> list[Any] | None:  # fmt: skip
    """Adds the nodes to the default graph under the scope ``name`` ("import" if None); gives those of ``return_elements``.

    ``input_map`` says which tensors of this graph take the place of tensors of the imported one ("x:0", or "x").
    ``op_dict`` and ``producer_op_list`` are accepted: ops are looked up in this process; attributes they do not have are dropped.

    Args:
      graph_def: A GraphDef.
      input_map: A dict from names of tensors in `graph_def` to tensors to use in their place; None for none.
      return_elements: Names of operations ("y") or tensors ("y:0") to return; None for none.
      name: A name scope for the nodes; None for "import", "" for none.
      op_dict: Accepted as TensorFlow does; it changes nothing.
      producer_op_list: Accepted as TensorFlow does; it changes nothing.

    Returns:
      A list of operations and tensors, or None without `return_elements`.

    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     y = tf.square(x, name="y")
    >>> (z,) = tf.import_graph_def(graph.as_graph_def(), input_map={"x:0": tf.constant(3.0)}, return_elements=["y:0"])
    >>> print(z.name, tf.Session().run(z))
    import/y:0 9.0
    """
    definition = as_message(graph_def)
    if return_elements is not None:
        return_elements = tuple(return_elements)
        if not all(isinstance(e, str) for e in return_elements):
            raise TypeError(f"Argument `return_elements` must be a list of strings, got {return_elements!r} {at()}")
    if input_map is not None and not all(isinstance(k, str) for k in input_map):
        raise TypeError(
            f"Argument `input_map` must be a dictionary mapping strings to Tensor objects, got {input_map!r} {at()}"
        )
    _check_versions(definition.versions)
    graph = context.get_default_graph()
    if graph.executing_eagerly:
        raise RuntimeError(f"import_graph_def builds nodes: use it inside `with tf.Graph().as_default():` {at()}")
    mapped = {_key(k): v if isinstance(v, Operation) else convert_to_tensor(v) for k, v in (input_map or {}).items()}
    with graph.name_scope("import" if name is None else name) as scope, repeating_together():
        functions = Functions(definition.library)
        _check_registered(definition.node, functions)
        importer = Importer(graph, functions, scope, mapped)
        importer.add(definition.node)
        importer.check_map()
    if definition.versions.producer:
        graph._producer = min(definition.versions.producer, graph._producer)
    return None if return_elements is None else [importer.element(e) for e in return_elements]


def as_message(graph_def: Any) -> Any:
    """The GraphDef as a message of our own class; TensorFlow's class is accepted too."""
    message_class = protos().GraphDef
    if isinstance(graph_def, message_class):
        return graph_def
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "full_name", "").endswith(".GraphDef"):
        message = message_class()
        message.ParseFromString(graph_def.SerializeToString())
        return message
    raise TypeError(f"Argument `graph_def` must be a GraphDef proto, got {type(graph_def).__name__} {at()}")


def _check_versions(versions: Any) -> None:
    """Refuses a GraphDef that says it is not for readers of our version."""
    if versions.min_consumer > VERSION:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version {VERSION}, that of TensorFlow "
            f"1.15: it uses what this version does not know {at()}"
        )
    if VERSION in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {VERSION}, that of TensorFlow 1.15: the program that made it lists it as "
            f"one that reads it wrongly {at()}"
        )


def _check_registered(nodes: Sequence[Any], functions: Functions) -> None:
    """Refuses nodes of types that are not registered, in the graph and in the functions it uses: all in one error."""
    missing: dict[str, list[str]] = {}
    for where, node in functions.with_bodies(nodes):
        if (
            node.op not in REGISTRY
            and f"_{node.op}" not in REGISTRY
            and node.op not in HOLDERS
            and node.op not in functions
        ):
            missing.setdefault(node.op, []).append(f"'{node.name}'{where}")
    if missing:
        types = "; ".join(
            f"'{op_type}' (node {users[0]}{f' and {len(users) - 1} more' if users[1:] else ''})"
            for op_type, users in sorted(missing.items())
        )
        raise errors.NotFoundError(
            None, None,
            f"Op type not registered {types}: Headrace has no {'such ops' if len(missing) > 1 else 'op of this type'}. "
            "Ops of your own must be declared (headrace.extend) before a graph that uses them is imported.",
        )  # fmt: skip


def _key(name: str) -> tuple[str, int]:
    if name.startswith("^"):
        return name[1:], -1
    node, _, index = name.rpartition(":")
    return (node, int(index)) if node and index.isdigit() else (name, 0)


class Importer:
    """The nodes of one graph, or of one function's body, while they are built."""

    def __init__(
        self, graph: Any, functions: Functions, scope: str, mapped: Mapping[tuple[str, int], Any],
        arguments: Mapping[str, Tensor] | None = None,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.functions = functions
        self.scope = scope
        self.arguments = arguments  # in a function, where inputs are written node:output:index
        self.imported: dict[str, ImportedNode] = {}
        self._mapped = mapped
        self._mapped_used: set[tuple[str, int]] = set()
        self._mutable_arrays = False

    def op_type(self, node: Any) -> str:
        """The type that a node gets: arrays are written in place if the graph holds their gradients (ops/mutable_array.py)."""
        return f"_{node.op}" if self._mutable_arrays and node.op.startswith("TensorArray") else str(node.op)

    def add(self, nodes: Sequence[Any]) -> None:
        """Adds the nodes, each after those it needs.  The inputs that close a loop of primitives are connected at the end."""
        self._mutable_arrays = any(n.op == "TensorArrayGradV3" for n in nodes)
        later: list[tuple[Any, int, str]] = []
        by_name = {n.name: n for n in nodes}
        with self.graph.as_default():
            for node in self._ordered(nodes, by_name):
                inputs: list[Any] = []
                for text in node.input:
                    if text.startswith("^"):
                        continue
                    source = self._source(text)[0]
                    if (
                        source in by_name
                        and source not in self.imported
                        and (source, self._source(text)[1]) not in self._mapped
                    ):
                        later.append((node, len(inputs), text))
                        inputs.append(None)
                    else:
                        inputs.append(self.tensor(text, node.name))
                stand_in = next((t for t in inputs if t is not None), None)
                inputs = [stand_in if t is None else t for t in inputs]
                controls = [self._control(t[1:], node.name) for t in node.input if t.startswith("^")]
                made = make_node(self, node, inputs, [c for c in controls if c is not None])
                if later and later[-1][0] is node:
                    made.outputs[0]._shape = TensorShape(None)
                self.imported[node.name] = made
            for node, position, text in later:
                self.imported[node.name].op._update_input(position, self.tensor(text, node.name))
            if later:
                merges = [self.imported[node.name].op for node, position, _ in later if position == 1]
                infer_loops(merges, [one.op for one in self.imported.values()])

    def _ordered(self, nodes: Sequence[Any], by_name: Mapping[str, Any]) -> list[Any]:
        if len(by_name) != len(nodes):
            seen: set[str] = set()
            twice = next(n.name for n in nodes if n.name in seen or seen.add(n.name))  # type: ignore[func-returns-value]
            raise ValueError(f"Node '{twice}' is not unique")
        position = {n.name: i for i, n in enumerate(nodes)}
        waiting: dict[str, int] = {}
        after: dict[str, list[str]] = {}
        for node in nodes:
            before = set()
            for text in node.input:
                source, index = self._source(text.removeprefix("^"))
                if text.startswith("^"):
                    index = -1
                if (source, index) in self._mapped or (self.arguments is not None and source in self.arguments):
                    continue
                if source not in by_name:
                    raise ValueError(f"Node '{node.name}': Unknown input node '{text}'")
                if not (
                    node.op in ("Merge", "RefMerge") and by_name[source].op in ("NextIteration", "RefNextIteration")
                ):
                    before.add(source)
            waiting[node.name] = len(before)
            for source in before:
                after.setdefault(source, []).append(node.name)
        ready = [position[n] for n, count in waiting.items() if not count]
        heapq.heapify(ready)
        order = []
        while ready:
            node = nodes[heapq.heappop(ready)]
            order.append(node)
            for following in after.get(node.name, ()):
                waiting[following] -= 1
                if not waiting[following]:
                    heapq.heappush(ready, position[following])
        if len(order) != len(nodes):
            stuck = [n for n, count in waiting.items() if count]
            raise ValueError(f"{len(stuck)} nodes in a cycle, among them {', '.join(stuck[:3])}")
        return order

    # ---- inputs

    def _source(self, text: str) -> tuple[str, int]:
        """The node that an input names, and the output's number (in a function -1: it is named)."""
        if self.arguments is not None:
            return text.split(":")[0], -1
        node, _, index = text.rpartition(":")
        return (node, int(index)) if node and index.isdigit() else (text, 0)

    def tensor(self, text: str, user: str) -> Tensor:
        """The tensor that an input names."""
        source, index = self._source(text)
        if self.arguments is not None:
            return self._function_tensor(text, source, user)
        replacement = self._mapped.get((source, index))
        if replacement is not None:
            self._mapped_used.add((source, index))
            tensor: Tensor = replacement
            return tensor
        imported = self.imported[source]
        if index >= len(imported.outputs):
            raise ValueError(
                f"Node '{user}': Connecting to invalid output {index} of source node {source} which has {len(imported.outputs)} "
                "outputs."
            )
        return imported.outputs[index]

    def _function_tensor(self, text: str, source: str, user: str) -> Tensor:
        arguments = self.arguments or {}
        if source in arguments:
            return arguments[source]
        imported = self.imported.get(source)
        if imported is None:
            raise ValueError(f"Node '{user}': Unknown input node '{text}'")
        _, output, index = (*text.split(":"), "", "0")[:3] if ":" in text else (text, "", "0")
        tensor = imported.named(output, int(index or 0))
        if tensor is None:
            raise ValueError(f"Node '{user}': there is no output '{text}': {source} is a {imported.op.type}")
        return tensor

    def _control(self, name: str, user: str) -> Operation | None:
        replacement = self._mapped.get((name, -1))
        if replacement is not None:
            self._mapped_used.add((name, -1))
            return replacement.op if isinstance(replacement, Tensor) else replacement
        if self.arguments is not None and name in self.arguments:
            return None
        return self.imported[name].last

    # ---- results

    def check_map(self) -> None:
        missing = [
            f"{node}:{index}" if index >= 0 else f"^{node}"
            for node, index in self._mapped
            if (node, index) not in self._mapped_used and node not in self.imported
        ]
        if missing:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")

    def element(self, name: str) -> Any:
        """An operation or, with ":index", a tensor, by its name in the GraphDef."""
        node, _, index = name.rpartition(":")
        is_tensor = bool(node) and index.isdigit()
        node = node if is_tensor else name
        replacement = self._mapped.get((node, int(index) if is_tensor else 0))
        if replacement is not None and is_tensor:
            return replacement
        if node not in self.imported:
            raise ValueError(f"Requested return node '{node}' not found in graph def")
        imported = self.imported[node]
        if not is_tensor:
            return imported.last
        if int(index) >= len(imported.outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{node}', which has {len(imported.outputs)} output(s)"
            )
        return imported.outputs[int(index)]

    def inner(self, graph: Any, arguments: Mapping[str, Tensor]) -> Importer:
        """An importer for a function's body."""
        return Importer(graph, self.functions, "", {}, arguments)

    @property
    def holder(self) -> Holder:
        return Holder(self)
