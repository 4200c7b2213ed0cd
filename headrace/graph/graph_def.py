"""A graph as a GraphDef: nodes as NodeDefs, bodies as functions of its library, in TensorFlow's format byte for byte.

Conditionals and loops take the form of TF's functional ``If`` and ``While``: what a loop captures becomes loop variables that do
not change.  A variable whose handle goes into a body is written as a resource variable, which TF requires there:

    %v = VariableV2   %r = Identity(%v)   %a = Assign(%v, %x)
        ->      v: VarHandleOp   r: ReadVariableOp(v)   a/assign: AssignVariableOp(v, x)   a: ReadVariableOp(v) ^a/assign

Nodes of types that begin with "_" (of gradients, mostly) are Headrace's own; only Headrace can read them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.proto import protos
from headrace.core.registry import OpDef
from headrace.core.shape import TensorShape
from headrace.graph import attr_value
from headrace.graph.attr_value import RESOURCE, encode
from headrace.graph.body import Detached, FuncGraph, ancestors
from headrace.graph.functional import first_result, is_loop
from headrace.graph.graph import set_writers
from headrace.graph.infer import group_inputs
from headrace.graph.operation import Operation, Tensor
from headrace.graph.py_token import token_of

VERSION = 134  # what TF 1.15 writes

# Attributes of ours that TF's ops do not have.
_OURS = {
    "visible", "Tref", "back_prop", "swap_memory", "func", ("PartitionedCall", "output_shapes"),
    ("StatefulPartitionedCall", "output_shapes"), ("TensorArrayReadV3", "element_shape"),
    ("_TensorArrayReadV3", "element_shape"), ("MaxPoolGradGrad", "explicit_paddings"), ("NonMaxSuppression", "T"),
    ("VarIsInitializedOp", "T"), ("VariableShape", "T"), ("DestroyResourceOp", "T"), ("DisableCopyOnRead", "T"),
}  # fmt: skip
# A node that uses a variable is stateful in TF, even if it only reads.
_STATEFUL = {"PartitionedCall": "StatefulPartitionedCall", "StatelessIf": "If", "StatelessWhile": "While"}
_STASHES = ("_PushStash", "_PopStash")  # empty ones are not written where nothing is pushed


@dataclass(frozen=True, slots=True)
class _Value:
    """An output as inputs name it: ``node:index`` in a graph, ``node:output:index`` in a function, an argument's name."""

    node: str
    output: str = ""
    within: int = 0
    index: int = 0

    def text(self, in_function: bool) -> str:
        if not self.output:
            return self.node
        if in_function:
            return f"{self.node}:{self.output}:{self.within}"
        return self.node if self.index == 0 else f"{self.node}:{self.index}"


def resource_type(op_type: str) -> str | None:
    """The type of the op on resources that does what this op does through a ref; None if there is none."""
    if op_type in ("Assign", "AssignAdd", "AssignSub"):
        return f"{op_type}VariableOp"
    if op_type.startswith(("Apply", "SparseApply", "Scatter")) and op_type != "ScatterNd":
        return f"Resource{op_type}"
    return {"IsVariableInitialized": "VarIsInitializedOp", "CountUpTo": "ResourceCountUpTo"}.get(op_type)


def versions(ops: Sequence[Operation], producer: int = VERSION) -> Any:
    """The VersionDef of the GraphDef of these ops; older readers than version 12 know no functions."""
    has_functions = any(isinstance(a, (FuncGraph, Detached)) for op in ops for a in op.attrs.values())
    return protos().VersionDef(producer=min(producer, VERSION), min_consumer=12 if has_functions else 0)


def of_operations(ops: Sequence[Operation], add_shapes: bool = False, producer: int = VERSION) -> Any:
    graph_def = protos().GraphDef(versions=versions(ops, producer))
    if sum(getattr(op.attrs.get("value"), "nbytes", 0) for op in ops) >= attr_value.LIMIT:
        raise ValueError("GraphDef cannot be larger than 2GB: its constants are. Feed them, or keep them in variables.")
    library = _Library(ops, add_shapes)
    scope = _Scope(library, ops, [], {})
    graph_def.node.extend(scope.nodes)
    graph_def.library.function.extend(library.functions.values())
    return graph_def


def without_stashes(ops: Sequence[Operation]) -> list[Operation]:
    """Those of the ops that need nothing that conditionals, loops and calls keep for their gradients (ops/stash.py).

    Written without the others, these nodes keep nothing: they are as they were before gradients were built.
    """
    stashes = {t for op in ops if "visible" in op.attrs for t in op._outputs[first_result(op) + op.attrs["visible"] :]}
    users: dict[Operation, list[Operation]] = {}
    dropped = [op for op in ops if any(t in stashes for t in op.inputs)]
    for op in ops:
        for before in (*(t.op for t in op.inputs if t.op.type != "_EmptyStash"), *op._control_inputs):
            users.setdefault(before, []).append(op)
    reached = set(dropped)
    while dropped:
        more = [user for user in users.get(dropped.pop(), ()) if user not in reached]
        reached.update(more)
        dropped.extend(more)
    return [op for op in ops if op not in reached and op.type != "_EmptyStash"]


class _Library:
    """The functions written so far, and what holds for the whole graph."""

    def __init__(self, ops: Sequence[Operation], add_shapes: bool) -> None:
        self.add_shapes = add_shapes
        self.functions: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self.resources: set[Tensor] = set()
        self.flows = dtypes.float32  # TF's type for the flow of a tensor array
        for op in _every(ops, [], set()):
            if op.type in _STASHES or "TensorList" in op.type or "Dataset" in op.type:
                self.flows = dtypes.variant
        for op in ops:
            if any(isinstance(a, (FuncGraph, Detached)) for a in op.attrs.values()):
                self.resources.update(root(t) for t in op.inputs if t.dtype._is_ref_dtype)

    def exported_type(self, dtype: DType) -> DType:
        if dtype._is_ref_dtype:
            return RESOURCE
        return self.flows if dtype == dtypes.variant else dtype

    def name(
        self, body: FuncGraph, outputs: Sequence[Any], label: str, counted: bool = False, without: Sequence[int] = ()
    ) -> str:
        """The name of the function for a body.  Its results are ``outputs``; the arguments at ``without`` are left out."""
        key = (body, tuple(id(t) for t in outputs), counted, tuple(without))
        function_name = self._names.get(key)
        if function_name is None:
            legal = re.sub(r"[^A-Za-z0-9_]", "_", body.name or label)
            function_name = legal
            while function_name in self.functions:
                function_name = f"{legal}_{len(self.functions)}"
            self._names[key] = function_name
            self.functions[function_name] = None
            self.functions[function_name] = self._function(function_name, body, outputs, counted, without)
        return function_name

    def _function(
        self, name: str, body: FuncGraph, outputs: Sequence[Any], counted: bool, without: Sequence[int]
    ) -> Any:
        function_def = protos().FunctionDef()
        function_def.signature.name = name
        function_def.signature.is_stateful = body.stateful or any(t.dtype._is_ref_dtype for t in body.inputs)
        arguments: dict[Tensor, _Value] = {}
        if counted:
            function_def.signature.input_arg.add(name="iterations", type=dtypes.int32.as_datatype_enum)
        for i, tensor in enumerate(t for i, t in enumerate(body.inputs) if i not in without):
            label = re.sub(r"[^a-z0-9_]", "_", tensor.op.name.split("/")[-1].removeprefix("_arg_").lower()).strip("_")
            label = f"{label or 'arg'}_{i}" if label[:1].isalpha() else f"arg_{label}_{i}"
            function_def.signature.input_arg.add(name=label, type=self.exported_type(tensor.dtype).as_datatype_enum)
            if not tensor.dtype._is_ref_dtype:
                function_def.arg_attr[i + counted].attr["_output_shapes"].list.shape.add().CopyFrom(
                    tensor._shape.as_proto()
                )
            arguments[tensor] = _Value(label)
        ops = _closure([*(t.op for t in outputs if t is not None), *body.control_outputs])
        scope = _Scope(self, ops, [t for t in outputs if t is not None], arguments, True)
        function_def.node_def.extend(scope.nodes)
        for i, tensor in enumerate(outputs):
            out_type = dtypes.int32 if tensor is None else self.exported_type(tensor.dtype)
            function_def.signature.output_arg.add(name=f"result_{i}", type=out_type.as_datatype_enum)
            function_def.ret[f"result_{i}"] = (
                scope.counter(function_def) if tensor is None else scope.value(tensor).text(True)
            )
        # When TF waits for a function, it waits for reads of variables only if they are listed.
        for op in dict.fromkeys(
            [*body.control_outputs, *(o for o in ops if any(t.dtype._is_ref_dtype for t in o.inputs))]
        ):
            label = f"run_{re.sub(r'[^a-z0-9_]', '_', op.name.lower())}"
            function_def.signature.control_output.append(label)
            function_def.control_ret[label] = scope.last(op)
        return function_def


def _every(ops: Sequence[Operation], results: Sequence[Tensor], seen: set[Any]) -> Iterable[Operation]:
    """All ops that are written, those in bodies included; ``seen`` are the bodies so far, with the results that are kept."""
    used = {t for op in ops for t in op.inputs} | set(results)
    for op in ops:
        yield op
        for body in op.attrs.values():
            if isinstance(body, Detached) and body not in seen:
                seen.add(body)
                yield from _every(_closure([t.op for t in body.body.outputs]), body.body.outputs, seen)
            if not isinstance(body, FuncGraph):
                continue
            has_results = len(body.outputs) == len(op._outputs) - first_result(op)  # the condition of a loop has others
            result_indices = _kept_results(op, used) if has_results else range(len(body.outputs))
            outputs = [body.outputs[i] for i in result_indices if body.outputs[i] is not None]
            if (body, *outputs) not in seen:
                seen.add((body, *outputs))
                yield from _every(_closure([*(t.op for t in outputs), *body.control_outputs]), outputs, seen)


def _kept_results(op: Operation, used: set[Tensor]) -> list[int]:
    """The positions of the results to write: those that the user sees, and those that gradients added, if they are used."""
    first, visible = first_result(op), op.attrs["visible"]
    return [i for i, t in enumerate(op._outputs[first:]) if i < visible or t in used]


def _writes_before(ops: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """The writes that each op waits for; an op that waits for none is left out."""
    writes = [op for op in ops if op.op_def.traits.writes]
    bits = {op: 1 << i for i, op in enumerate(writes)}
    masks: dict[Operation, int] = {}
    awaited: dict[Operation, list[Operation]] = {}
    for op in sorted(ops, key=lambda op: op._id):
        mask = 0
        for before in (*(t.op for t in op.inputs), *op._control_inputs):
            mask |= masks.get(before, 0) | bits.get(before, 0)
        masks[op] = mask
        if mask:
            awaited[op] = [w for w in writes if bits[w] & mask]
    return awaited


def root(ref: Tensor) -> Tensor:
    """The handle behind a ref."""
    while ref.op.inputs and ref.dtype._is_ref_dtype:
        ref = ref.op.inputs[0]
    return ref


def _closure(roots: Sequence[Operation]) -> list[Operation]:
    """The nodes that the roots depend on, in the order they were built.  Arguments do not count as nodes."""
    return sorted((op for op in ancestors(roots) if not op.op_def.traits.argument), key=lambda op: op._id)


class _Scope:
    """The nodes of one graph or function while they are written."""

    def __init__(
        self, library: _Library, ops: Sequence[Operation], results: Sequence[Tensor], arguments: dict[Tensor, _Value],
        in_function: bool = False,
    ) -> None:  # fmt: skip
        self.library = library
        self.in_function = in_function
        self.values: dict[Tensor, _Value] = dict(arguments)
        self.used = {t for op in ops for t in op.inputs} | set(results)
        self.nodes: list[Any] = []
        self._names = {op.name for op in ops} | {v.node for v in arguments.values()}
        self._last: dict[Operation, str] = {}  # the node to wait for, if it is not the op's own
        self._late: dict[Any, _Value] = {}
        self._before = {} if in_function or not library.resources else _writes_before(ops)
        for op in ops:
            self._emit(op)
        if in_function:
            self._drop_unused_stashes(results)

    def _drop_unused_stashes(self, results: Sequence[Tensor]) -> None:
        """A loop in the body that keeps nothing has no use for the empty stash it would begin with."""
        named = {text.split(":")[0] for node in self.nodes for text in node.input} | {t.op.name for t in results}
        self.nodes = [node for node in self.nodes if node.op != "_EmptyStash" or node.name in named]

    # ---- values

    def value(self, tensor: Tensor) -> _Value:
        output_value = self.values.get(tensor)
        if output_value is None:
            output, within = output_at(tensor.op.op_def, tensor.op.attrs, tensor.value_index)
            output_value = self.values[tensor] = _Value(tensor.op.name, output, within, tensor.value_index)
        return output_value

    def last(self, op: Operation) -> str:
        return self._last.get(op, op.name)

    def input_value(self, op: Operation, tensor: Tensor) -> _Value:
        """The value as an input of the op.  The shared read of a variable takes place when it is used (passes/late_read.py)."""
        read = tensor.op
        if (
            op not in self._before
            or read.type != "Identity"
            or "_place" in read.attrs
            or not self._is_resource(read.inputs[0])
        ):
            return self.value(tensor)
        handle = root(read.inputs[0])
        writes = [w for w in self._before[op] if any(t.dtype._is_ref_dtype and root(t) is handle for t in w.inputs)]
        if not writes:
            return self.value(tensor)
        key = (handle, tuple(writes))
        if key not in self._late:
            name = self.free(f"{read.name}/late")
            node = self._node(name, "ReadVariableOp", [self.value(handle)], [self.last(w) for w in writes], read)
            node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            self.nodes.append(node)
            self._late[key] = _Value(name, "value")
        return self._late[key]

    def free(self, name: str) -> str:
        """The name, with a number appended if the graph has it already."""
        free_name, count = name, 0
        while free_name in self._names:
            count += 1
            free_name = f"{name}_{count}"
        self._names.add(free_name)
        return free_name

    def counter(self, function_def: Any) -> str:
        """The number of iterations after this one, computed in the body of a loop."""
        one = self._node(self.free("iterations/one"), "Const", [], [])
        one.attr["dtype"].type = dtypes.int32.as_datatype_enum
        one.attr["value"].tensor.CopyFrom(attr_value.tensor(dtypes.int32.as_numpy_dtype(1)))
        inputs = [_Value("iterations"), _Value(one.name, "output")]
        add = self._node(self.free("iterations/next"), "AddV2", inputs, [])
        add.attr["T"].type = dtypes.int32.as_datatype_enum
        function_def.node_def.extend([one, add])
        return f"{add.name}:z:0"

    def _is_resource(self, tensor: Tensor) -> bool:
        if not tensor.dtype._is_ref_dtype:
            return False
        return self.in_function or root(tensor) in self.library.resources

    # ---- nodes

    def _node(self, name: str, op_type: str, inputs: Sequence[_Value], controls: Iterable[str], op: Any = None) -> Any:
        node = protos().NodeDef()
        node.name = name
        node.op = op_type.removeprefix("_") if op_type.startswith("_TensorArray") else op_type
        node.input.extend(v.text(self.in_function) for v in inputs)
        node.input.extend(f"^{c}" for c in dict.fromkeys(controls))
        if op is not None:
            node.device = op.device
            if op.colocation:
                node.attr["_class"].list.s.extend(c.encode() for c in op.colocation)
        return node

    def _emit(self, op: Operation) -> None:
        if op.op_def.traits.argument:
            return
        controls = [self.last(c) for c in op._control_inputs]
        if any(isinstance(a, FuncGraph) for a in op.attrs.values()):
            self._emit_holder(op, controls)
        elif any(isinstance(a, Detached) for a in op.attrs.values()):
            self._emit_detached(op, controls)
        elif op.type.startswith("Ref") and op.op_def.traits.primitive and root(op.inputs[0]).dtype._is_resource:
            # The handle of a resource variable in a loop or a branch.
            inputs = [self.input_value(op, t) for t in op.inputs]
            node = self._node(op.name, op.op_def.name.removeprefix("Ref"), inputs, controls, op)
            self._put_attrs(node, op)
            node.attr["T"].type = dtypes.resource.as_datatype_enum
            self.nodes.append(node)
        elif op.op_def.traits.handle and op._outputs[0] in self.library.resources:
            self._emit_handle(op, controls)
        elif any(self._is_resource(t) for t in op.inputs) and not any(a.resource for a in op.op_def.signature.inputs):
            self._emit_resource(op, controls)
        else:
            node = self._node(op.name, op.op_def.name, [self.input_value(op, t) for t in op.inputs], controls, op)
            self._put_attrs(node, op)
            self.nodes.append(node)

    def _put_attrs(self, node: Any, op: Operation, skip: Sequence[str] = ()) -> None:
        kinds = {a.name: a.kind for a in (*op.op_def.signature.attrs, *op.op_def.signature.inferred)}
        for name, value in op.attrs.items():
            if name in skip or name in _OURS or (op.op_def.name, name) in _OURS:
                continue
            kind = kinds.get(name, "any")
            if kind == "tensor" and name == "value" and "dtype" in op.attrs:
                node.attr[name].tensor.CopyFrom(attr_value.tensor(value, op.attrs["dtype"]))
                continue
            if value is None and kind != "shape" and not kind.startswith("list("):
                continue
            if kind == "type":
                value = self.library.exported_type(value)
            elif kind == "list(type)":
                value = [self.library.exported_type(v) for v in value]
            try:
                node.attr[name].CopyFrom(encode(value, kind))
            except (TypeError, KeyError) as e:
                raise TypeError(
                    f"attribute '{name}' of {op.name} ({op.type}, made at {op.source}) cannot be written into a GraphDef: {e}"
                ) from None
        if "func" in op.attrs and op.type.startswith(("PyFunc", "_Iterable")):
            node.attr["token"].s = token_of(op.attrs["func"]).encode()
        if op.type == "MaxPool3DGrad":
            node.attr["TInput"].type = op.attrs["T"].as_datatype_enum
        if self.library.add_shapes:
            node.attr["_output_shapes"].list.SetInParent()
            for tensor in op._outputs:
                is_handle = op.op_def.traits.handle and tensor.dtype._is_resource  # which has its variable's shape here
                shape = TensorShape([]) if is_handle else tensor._shape
                node.attr["_output_shapes"].list.shape.add().CopyFrom(shape.as_proto())

    # ---- variables as resources

    def _emit_handle(self, op: Operation, controls: Sequence[str]) -> None:
        node = self._node(op.name, "VarHandleOp", [], controls, op)
        node.attr["dtype"].type = op._outputs[0].dtype.base_dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(op._outputs[0]._shape.as_proto())
        node.attr["shared_name"].s = (op.attrs.get("shared_name") or op.name).encode()
        node.attr["container"].s = (op.attrs.get("container") or "").encode()
        self.values[op._outputs[0]] = _Value(op.name, "resource")
        self.nodes.append(node)

    def _read(self, name: str, ref: Tensor, controls: Iterable[str], op: Any) -> _Value:
        node = self._node(name, "ReadVariableOp", [self.value(root(ref))], [*controls, *self._chain(ref)], op)
        node.attr["dtype"].type = ref.dtype.base_dtype.as_datatype_enum
        self.nodes.append(node)
        return _Value(name, "value")

    def _chain(self, ref: Tensor) -> list[str]:
        """The nodes that write the variable before this ref has its value."""
        writes = []
        while ref.op.inputs and ref.dtype._is_ref_dtype:
            writes.append(self.last(ref.op))
            ref = ref.op.inputs[0]
        return writes

    def _emit_resource(self, op: Operation, controls: Sequence[str]) -> None:
        op_type = resource_type(op.op_def.name)
        refs = [t for t in op.inputs if self._is_resource(t)]
        if op.type == "Identity":
            self.values[op._outputs[0]] = self._read(op.name, op.inputs[0], controls, op)
            return
        if op_type is None:  # an op that takes the value
            inputs = [
                self._read(self.free(f"{op.name}/read_{i}"), t, (), op) if t in refs else self.input_value(op, t)
                for i, t in enumerate(op.inputs)
            ]
            node = self._node(op.name, op.op_def.name, inputs, controls, op)
            self._put_attrs(node, op)
            self.nodes.append(node)
            return
        gives_ref = bool(op._outputs) and op._outputs[0].dtype._is_ref_dtype
        name = self.free(f"{op.name}/assign") if gives_ref else op.name
        waits = [*controls, *(c for t in refs for c in self._chain(t))]
        node = self._node(
            name, op_type, [self.value(root(t)) if t in refs else self.input_value(op, t) for t in op.inputs], waits, op
        )
        self._put_resource_attrs(node, op)
        self.nodes.append(node)
        if gives_ref:
            self._last[op] = op.name
            read = self._node(op.name, "ReadVariableOp", [self.value(root(op.inputs[0]))], [name], op)
            read.attr["dtype"].type = op._outputs[0].dtype.base_dtype.as_datatype_enum
            self.nodes.append(read)
            self.values[op._outputs[0]] = _Value(op.name, "value")

    def _put_resource_attrs(self, node: Any, op: Operation) -> None:
        if node.op == "VarIsInitializedOp":
            return
        keeps_type = node.op.startswith(("ResourceApply", "ResourceSparseApply", "ResourceScatterNd"))
        self._put_attrs(node, op, () if keeps_type else ("T", "use_locking", "validate_shape"))
        if not keeps_type:
            node.attr["dtype"].type = op.attrs["T"].as_datatype_enum

    # ---- nodes that hold bodies

    def _emit_holder(self, op: Operation, controls: Sequence[str]) -> None:
        controls = [*controls, *(c for t in op.inputs if t.dtype._is_ref_dtype for c in self._chain(t))]
        inputs = [root(t) if t.dtype._is_ref_dtype else t for t in op.inputs]
        if is_loop(op) and "cond" in op.attrs:
            self._emit_while(op, inputs, controls)
        elif is_loop(op):
            self._emit_repeat(op, inputs, controls)
        elif "then_branch" in op.attrs:
            self._emit_if(op, inputs, controls)
        else:
            self._emit_call(op, inputs, controls)

    def _emit_detached(self, op: Operation, controls: Sequence[str]) -> None:
        """A node whose functions run by themselves.  The handles that a function has captured follow its captured values."""
        groups = dict(
            zip([a.name for a in op.op_def.signature.inputs], group_inputs(op.op_def, op.inputs, op.attrs), strict=True)
        )
        refs = {name: groups.pop(name) for name in list(groups) if name.endswith("refs")}
        for name, handles in refs.items():
            groups[name.removesuffix("refs") + "other_arguments"] += [root(t) for t in handles]
        tensors = [t for group in groups.values() for t in (group if isinstance(group, list) else [group])]
        controls = [*controls, *(c for handles in refs.values() for t in handles for c in self._chain(t))]
        node = self._node(op.name, op.op_def.name, [self.value(t) for t in tensors], controls, op)
        functions = [name for name, a in op.attrs.items() if isinstance(a, Detached)]
        self._put_attrs(node, op, [*functions, *(f"T{name}" for name in refs)])
        for name in functions:
            body: FuncGraph = op.attrs[name].body
            node.attr[name].func.name = self.library.name(body, body.outputs, body.name)
        for arg in op.op_def.signature.inputs:
            handles = refs.get(arg.name.removesuffix("other_arguments") + "refs")
            if arg.type_list_attr and arg.name.endswith("other_arguments") and handles:
                node.attr[arg.type_list_attr].list.type.extend([dtypes.resource.as_datatype_enum] * len(handles))
        self.nodes.append(node)

    def _number(self, op: Operation, tensors: Sequence[Tensor], first: int = 0) -> None:
        for i, tensor in enumerate(tensors):
            self.values[tensor] = _Value(op.name, "output", first + i, first + i)

    def _types(self, node: Any, name: str, element_types: Iterable[DType]) -> None:
        node.attr[name].list.SetInParent()
        node.attr[name].list.type.extend(self.library.exported_type(k).as_datatype_enum for k in element_types)

    def _shapes(self, node: Any, shapes: Iterable[TensorShape]) -> None:
        node.attr["output_shapes"].list.SetInParent()
        for shape in shapes:
            node.attr["output_shapes"].list.shape.add().CopyFrom(TensorShape(shape).as_proto())

    def _holder(
        self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str], first: _Value | None = None
    ) -> Any:
        values = [self.input_value(op, t) for t in inputs]
        op_type = op.op_def.name
        if any(t.dtype._is_ref_dtype for t in inputs):
            op_type = _STATEFUL.get(op_type, op_type)
        node = self._node(op.name, op_type, [*([first] if first else []), *values], controls, op)
        self.nodes.append(node)
        return node

    def _emit_if(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        results = _kept_results(op, self.used)
        node = self._holder(op, inputs, controls)
        node.attr["Tcond"].type = dtypes.bool.as_datatype_enum
        self._types(node, "Tin", [t.dtype for t in inputs[1:]])
        self._types(node, "Tout", [op._outputs[i].dtype for i in results])
        self._shapes(node, [op._outputs[i]._shape for i in results])
        for attr in ("then_branch", "else_branch"):
            body = op.attrs[attr]
            label = f"{op.name}_{attr.split('_')[0]}"
            node.attr[attr].func.name = self.library.name(body, [body.outputs[i] for i in results], label)
        self._number(op, [op._outputs[i] for i in results])

    def _emit_while(self, op: Operation, inputs: Sequence[Tensor], controls: Sequence[str]) -> None:
        cond, body = op.attrs["cond"], op.attrs["body"]
        counted = op._outputs[0] in self.used
        result_indices = _kept_results(op, self.used)
        without = [i for i in range(len(body.args)) if i not in result_indices]
        fixed = body.inputs[len(body.args) :]
        inputs = [t for i, t in enumerate(inputs) if i not in without]
        start = None
        if counted:
            zero = self._node(self.free(f"{op.name}/start"), "Const", [], controls)
            zero.attr["dtype"].type = dtypes.int32.as_datatype_enum
            zero.attr["value"].tensor.CopyFrom(attr_value.tensor(dtypes.int32.as_numpy_dtype(0)))
            self.nodes.append(zero)
            start = _Value(zero.name, "output")
        node = self._holder(op, inputs, controls, start)
        element_types = [*([dtypes.int32] if counted else []), *(t.dtype for t in inputs)]
        self._types(node, "T", element_types)
        shapes = [*([TensorShape([])] if counted else []), *(op._outputs[1 + i]._shape for i in result_indices)]
        refs = [TensorShape([]) if t.dtype._is_ref_dtype else t._shape for t in inputs[len(result_indices) :]]
        self._shapes(node, [*shapes, *refs])
        node.attr["parallel_iterations"].i = op.attrs["parallel_iterations"]
        results = [*([None] if counted else []), *(body.outputs[i] for i in result_indices), *fixed]
        node.attr["cond"].func.name = self.library.name(cond, cond.outputs, f"{op.name}_cond", counted, without)
        node.attr["body"].func.name = self.library.name(body, results, f"{op.name}_body", counted, without)
        if counted:
            self.values[op._outputs[0]] = _Value(op.name, "output")
        self._number(op, [op._outputs[1 + i] for i in result_indices], int(counted))

    def _emit_repeat(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        body = op.attrs["body"]
        node = self._holder(op, inputs, controls)
        count = len(body.args)
        self._types(node, "T", [t.dtype for t in inputs[1 : 1 + count]])
        self._types(node, "Tin", [t.dtype for t in inputs[1 + count :]])
        node.attr["body"].func.name = self.library.name(body, body.outputs, f"{op.name}_body")
        node.attr["parallel_iterations"].i = op.attrs["parallel_iterations"]
        for name in ("back_prop", "swap_memory"):
            node.attr[name].b = op.attrs[name]

    def _emit_call(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        f = op.attrs["f"]
        results = list(range(len(op._outputs)))
        if not any(t in self.used for t in op._outputs[op.attrs["visible"] :]):
            results = results[: op.attrs["visible"]]
        node = self._holder(op, inputs, controls)
        self._types(node, "Tin", [t.dtype for t in inputs])
        self._types(node, "Tout", [op._outputs[i].dtype for i in results])
        node.attr["f"].func.name = self.library.name(f, [f.outputs[i] for i in results], f"{op.name}_f")
        for name in ("config", "config_proto", "executor_type"):
            node.attr[name].s = b""


set_writers(of_operations, versions)


def output_at(op_def: OpDef, attrs: dict[str, Any], index: int) -> tuple[str, int]:
    for out in op_def.signature.outputs:
        count = 1
        if out.is_list:
            count = attrs[out.number_attr] if out.number_attr else len(attrs[out.type_list_attr or ""])
        if index < count:
            return out.name, index
        index -= count
    raise IndexError(f"{op_def.name} has no output {index}")
