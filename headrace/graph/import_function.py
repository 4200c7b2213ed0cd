"""Nodes of a GraphDef that name functions of its library -> nodes that hold bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph import raw_ops
from headrace.graph.attr_value import decode
from headrace.graph.body import FuncGraph
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.functional import build_call, build_if, build_repeat, build_while
from headrace.graph.handle import value_of
from headrace.graph.import_node import ImportedNode
from headrace.graph.operation import Tensor


class Functions:
    """The functions of a library, and the bodies built from them so far."""

    def __init__(self, library: Any) -> None:
        self._definitions = {f.signature.name: f for f in library.function}
        self.under_way: dict[str, FuncGraph] = {}
        self.bodies: dict[Any, FuncGraph] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def with_bodies(self, nodes: Iterable[Any]) -> Iterator[tuple[str, Any]]:
        """The nodes, then those of the functions that they use, each with words for where it is."""
        pending, seen = [("", node) for node in nodes], set[str]()
        while pending:
            where, node = pending.pop()
            yield where, node
            attrs = node.attr.values()
            for name in (node.op, *(a.func.name for a in attrs), *(f.name for a in attrs for f in a.list.func)):
                if name in self._definitions and name not in seen:
                    seen.add(name)
                    pending.extend((f" of function '{name}'", inner) for inner in self._definitions[name].node_def)

    def get(self, name: str, user: str) -> Any:
        definition = self._definitions.get(name)
        if definition is None:
            available = ", ".join(sorted(self._definitions)) or "no function"
            raise ValueError(
                f"Node '{user}': function '{name}' is not in the library of the graph_def, which has {available}"
            )
        for attr in definition.signature.attr:
            raise ValueError(f"function '{name}' has a type of its own choosing, attr '{attr.name}': Headrace reads functions "
                             "of fixed types")  # fmt: skip
        return definition


class _Typed:
    """A dtype that looks like a tensor of unknown shape."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self._shape = dtype, TensorShape(None)


class Holder:
    """Makes the nodes that hold bodies, in the importer's graph, which is the default one."""

    def __init__(self, importer: Any) -> None:
        self.importer = importer
        self.functions: Functions = importer.functions

    def make(self, node: Any, inputs: Sequence[Tensor]) -> ImportedNode:
        op_type = node.op
        if op_type.endswith("If"):
            return self._if(node, inputs)
        if op_type.endswith("While"):
            return self._while(node, inputs)
        if op_type.endswith("Repeat"):
            return self._repeat(node, inputs)
        if op_type.endswith("Case"):
            return self._case(node, inputs)
        name = node.attr["f"].func.name if op_type.endswith("PartitionedCall") else op_type
        return self._call(node, name, inputs)

    def _name(self, node: Any) -> str:
        return f"{self.importer.scope}{node.name}/"

    def _imported(self, op: Any, outputs: Sequence[Tensor], definition: Any = None) -> ImportedNode:
        names = {"output": list(outputs)}
        if definition is not None:  # a function called by its name: outputs are named as in its definition
            names.update({o.name: [t] for o, t in zip(definition.signature.output_arg, outputs, strict=False)})
        return ImportedNode(op, list(outputs), op, names)

    # ---- bodies

    def _body(
        self, description: str, name: str, node: Any, outer: Any, passed: Sequence[tuple[Tensor, TensorShape | None]],
        results: Sequence[int] | None = None,
    ) -> FuncGraph:  # fmt: skip
        """``passed``: each input, and its shape if it is an argument; other inputs are captured."""
        definition = self.functions.get(name, node.name)
        body = FuncGraph(description, outer)
        self._fill(body, definition, passed, results)
        return body

    def _fill(
        self, body: FuncGraph, definition: Any, passed: Sequence[tuple[Tensor, TensorShape | None]],
        results: Sequence[int] | None,
    ) -> None:  # fmt: skip
        names = [a.name for a in definition.signature.input_arg]
        if len(names) != len(passed):
            raise ValueError(
                f"function '{definition.signature.name}' takes {len(names)} arguments, it is given {len(passed)}"
            )
        with body.as_default():
            arguments: dict[str, Tensor] = {}
            for arg, (tensor, shape) in zip(definition.signature.input_arg, passed, strict=True):
                dtype = dtypes.as_dtype(arg.type)
                if tensor.dtype.base_dtype != dtype and not tensor.dtype._is_ref_dtype and not _is_flow(tensor, dtype):
                    raise ValueError(
                        f"argument '{arg.name}' of function '{definition.signature.name}' is {dtype.name}; it is given "
                        f"{tensor.name} of {tensor.dtype.name}"
                    )
                captured = shape is None
                arguments[arg.name] = (
                    body.capture(tensor) if captured else body.add_arg(tensor.dtype.base_dtype, shape, arg.name)  # type: ignore[arg-type]
                )
            inner = self.importer.inner(body, arguments)
            inner.add(definition.node_def)
            outputs = [inner.tensor(definition.ret[o.name], "ret") for o in definition.signature.output_arg]
            outputs = [t for i, t in enumerate(outputs) if results is None or i in results]
            run = list(dict.fromkeys(inner.imported[n].last for n in definition.control_ret.values()))
            if run:
                with body.control_dependencies(run):
                    outputs = [raw_ops.Identity(t) for t in outputs]
            body.control_outputs = run
            body.outputs = [body._own(value_of(t), "result") for t in outputs]

    # ---- conditionals

    def _if(self, node: Any, inputs: Sequence[Tensor]) -> ImportedNode:
        graph = self.importer.graph
        passed = [(t, None) for t in inputs[1:]]
        branches = [
            self._body(f"the {attr} of a conditional", node.attr[attr].func.name, node, graph, passed)
            for attr in ("then_branch", "else_branch")
        ]
        visible = len(branches[0].outputs)
        if len(branches[1].outputs) != visible:
            raise ValueError(f"Node '{node.name}': its branches have {visible} and {len(branches[1].outputs)} results")
        self._keep_effects(branches)
        op = build_if(_decision(inputs[0]), branches[0], branches[1], self._name(node))
        return self._imported(op, op._outputs[:visible])

    def _keep_effects(self, branches: Sequence[FuncGraph]) -> None:
        """Gives a branch without results one that waits for its effects, so that it runs."""
        if branches[0].outputs or not any(b.control_outputs for b in branches):
            return
        for body in branches:
            with body.as_default(), body.control_dependencies(body.control_outputs):
                body.outputs = [raw_ops.Identity(constant(True))]

    def _case(self, node: Any, inputs: Sequence[Tensor]) -> ImportedNode:
        names = [f.name for f in node.attr["branches"].list.func]
        graph = self.importer.graph
        passed = [(t, None) for t in inputs[1:]]

        def choose(outer: Any, first: int, name: str) -> Any:
            chosen = self._body("a branch of a case", names[first], node, outer, passed)
            if first == len(names) - 1:
                return chosen
            rest = choose_rest(outer, first + 1)
            with outer.as_default():
                return build_if(raw_ops.Equal(outer._own(inputs[0], "case"), first), chosen, rest, name)

        def choose_rest(outer: Any, first: int) -> FuncGraph:
            if first == len(names) - 1:
                return self._body("a branch of a case", names[first], node, outer, passed)
            body = FuncGraph("the other branches of a case", outer)
            with body.as_default():
                body.outputs = list(choose(body, first, "If")._outputs)
            return body

        if len(names) == 1:
            names.append(names[0])
        op = choose(graph, 0, self._name(node))
        return self._imported(op, op._outputs)

    # ---- loops

    def _while(self, node: Any, inputs: Sequence[Tensor]) -> ImportedNode:
        graph = self.importer.graph
        name = node.attr["body"].func.name
        definition = self.functions.get(name, node.name)
        arguments = [a.name for a in definition.signature.input_arg]
        if len(arguments) != len(inputs) or len(definition.signature.output_arg) != len(inputs):
            raise ValueError(f"Node '{node.name}': its body takes {len(arguments)} and gives "
                             f"{len(definition.signature.output_arg)} values, it has {len(inputs)} inputs")  # fmt: skip
        given_back = [
            definition.ret[o.name] == a for o, a in zip(definition.signature.output_arg, arguments, strict=True)
        ]
        fixed = [back or t.dtype._is_ref_dtype for back, t in zip(given_back, inputs, strict=True)]
        if all(fixed) and not all(t.dtype._is_ref_dtype for t in inputs):
            fixed[next(i for i, t in enumerate(inputs) if not t.dtype._is_ref_dtype)] = False
        shapes = self._loop_shapes(node, inputs)
        passed = [(t, None if f else s) for t, f, s in zip(inputs, fixed, shapes, strict=True)]
        variables = [i for i, f in enumerate(fixed) if not f]
        cond = self._body("the condition of a loop", node.attr["cond"].func.name, node, graph, passed)
        with cond.as_default():
            cond.outputs = [cond._own(_decision(cond.outputs[0]), "condition")]
        body = self._body("the body of a loop", name, node, graph, passed, variables)
        op = build_while(
            [inputs[i] for i in variables], cond, body, [shapes[i] for i in variables], self._name(node),
            parallel_iterations=_parallel_iterations(node),
        )  # fmt: skip
        finals = iter(op._outputs[1:])
        return self._imported(op, [inputs[i] if f else next(finals) for i, f in enumerate(fixed)])

    def _loop_shapes(self, node: Any, inputs: Sequence[Tensor]) -> list[TensorShape]:
        shapes = (
            decode(node.attr["output_shapes"], "list(shape)", "output_shapes") if "output_shapes" in node.attr else ()
        )
        if len(shapes) != len(inputs):
            return [TensorShape(None)] * len(inputs)
        return [TensorShape([]) if t.dtype == dtypes.variant else s for s, t in zip(shapes, inputs, strict=True)]

    def _repeat(self, node: Any, inputs: Sequence[Tensor]) -> ImportedNode:
        count = len(node.attr["T"].list.type)
        passed = [(t, t._shape if i < count else None) for i, t in enumerate(inputs[1:])]
        body = self._body("the gradient of a loop", node.attr["body"].func.name, node, self.importer.graph, passed)
        op = build_repeat(
            inputs[0], inputs[1 : 1 + count], body, self._name(node), back_prop=node.attr["back_prop"].b,
            swap_memory=node.attr["swap_memory"].b, parallel_iterations=_parallel_iterations(node),
        )  # fmt: skip
        return self._imported(op, op._outputs)

    def detached(self, name: str, node: Any, values: Sequence[Tensor], refs: Sequence[Tensor]) -> FuncGraph:
        """A function that runs by itself, of elements and of what it has captured."""
        definition = self.functions.get(name, node.name)
        types = [dtypes.as_dtype(a.type) for a in definition.signature.input_arg]
        elements = types[: len(types) - len(values) - len(refs)]
        tensors: list[Any] = [*map(_Typed, elements), *values]
        passed = [*zip(tensors, _argument_shapes(definition), strict=False), *((t, None) for t in refs)]
        body = FuncGraph(f"the function {name}", self.importer.graph, name)
        self._fill(body, definition, passed, None)
        return body

    # ---- calls

    def _call(self, node: Any, name: str, inputs: Sequence[Tensor]) -> ImportedNode:
        definition = self.functions.get(name, node.name)
        refs = [t for t in inputs if t.dtype._is_ref_dtype]
        values = [t for t in inputs if not t.dtype._is_ref_dtype]
        under_way = self.functions.under_way.get(name)
        if under_way is not None:
            under_way.recursive = True
            outputs = [_Typed(dtypes.as_dtype(o.type)) for o in definition.signature.output_arg]
            inner = [t for t in under_way.captures.values() if t.dtype._is_ref_dtype]
            stateful = definition.signature.is_stateful
            op = build_call(under_way, values, inner, outputs, self._name(node), stateful)  # type: ignore[arg-type]
            return self._imported(op, op._outputs, definition)
        body = self._function(name, definition, node, inputs)
        op = build_call(body, values, _unique(refs), body.outputs, self._name(node))
        return self._imported(op, op._outputs, definition)

    def _function(self, name: str, definition: Any, node: Any, inputs: Sequence[Tensor]) -> FuncGraph:
        graph = self.importer.graph
        signature = tuple(t if t.dtype._is_ref_dtype else t.dtype for t in inputs)
        key = (name, graph, signature)
        body = self.functions.bodies.get(key)
        if body is None:
            body = FuncGraph(f"the function {name}", graph, name)
            self.functions.under_way[name] = body
            try:
                shapes = _argument_shapes(definition)
                passed = [(t, None if t.dtype._is_ref_dtype else s) for t, s in zip(inputs, shapes, strict=False)]
                self._fill(body, definition, passed, None)
            finally:
                del self.functions.under_way[name]
            self.functions.bodies[key] = body
        return body


def _argument_shapes(definition: Any) -> list[TensorShape]:
    shapes = []
    for i, _ in enumerate(definition.signature.input_arg):
        attr = definition.arg_attr[i].attr if i in definition.arg_attr else {}
        declared = attr["_output_shapes"].list.shape if "_output_shapes" in attr else []
        one = declared[0] if len(declared) == 1 else None
        ranked = one is not None and not one.unknown_rank
        shapes.append(TensorShape([None if d.size < 0 else d.size for d in one.dim] if ranked else None))  # type: ignore[union-attr]
    return shapes


def _unique(tensors: Sequence[Tensor]) -> list[Tensor]:
    return list(dict.fromkeys(tensors))


def _is_flow(tensor: Tensor, dtype: Any) -> bool:
    """The flow of a tensor array is a float32 in TF, a variant here."""
    return tensor.dtype.base_dtype == dtypes.variant and dtype == dtypes.float32


def _decision(tensor: Tensor) -> Tensor:
    """A condition as a bool: numbers that are not zero are true."""
    base = tensor.dtype.base_dtype
    if base == dtypes.bool:
        return tensor
    if base == dtypes.string:
        raise ValueError(f"{tensor.name} decides a condition and is a string; Headrace takes bools and numbers")
    decision: Tensor = raw_ops.NotEqual(tensor, convert_to_tensor(0, base))
    return decision


def _parallel_iterations(node: Any) -> int:
    parallel = node.attr["parallel_iterations"].i if "parallel_iterations" in node.attr else 0
    return parallel or 10
