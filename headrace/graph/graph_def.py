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
from headrace.graph.body import FuncGraph
from headrace.graph.functional import first_result, is_loop
from headrace.graph.graph import set_writer
from headrace.graph.operation import Operation, Tensor
from headrace.graph.py_token import token_of

VERSION = 134  # what TF 1.15 writes

# Attributes of ours that TF's ops do not have.
_OURS = {
    "visible", "Tref", "back_prop", "swap_memory", "func", ("PartitionedCall", "output_shapes"),
    ("StatefulPartitionedCall", "output_shapes"), ("TensorArrayReadV3", "element_shape"),
    ("MaxPoolGradGrad", "explicit_paddings"), ("NonMaxSuppression", "T"),
}  # fmt: skip
# What uses a variable is stateful in TF, even if it only reads.
_STATEFUL = {"PartitionedCall": "StatefulPartitionedCall", "StatelessIf": "If", "StatelessWhile": "While"}
_STASHES = ("_PushStash", "_PopStash", "_EmptyStash")


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
    """The op on resources that does to a variable what this one does through a ref."""
    if op_type in ("Assign", "AssignAdd", "AssignSub"):
        return f"{op_type}VariableOp"
    if op_type.startswith(("Apply", "SparseApply", "Scatter")) and op_type != "ScatterNd":
        return f"Resource{op_type}"
    return {"IsVariableInitialized": "VarIsInitializedOp", "CountUpTo": "ResourceCountUpTo"}.get(op_type)


def of_operations(ops: Sequence[Operation], add_shapes: bool = False) -> Any:
    made = protos().GraphDef()
    made.versions.producer = VERSION
    library = _Library(ops, add_shapes)
    scope = _Scope(library, ops, [], {})
    made.node.extend(scope.nodes)
    made.library.function.extend(library.functions.values())
    return made


class _Library:
    """The functions met so far, and what holds for the whole graph."""

    def __init__(self, ops: Sequence[Operation], add_shapes: bool) -> None:
        self.add_shapes = add_shapes
        self.functions: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self.resources: set[Tensor] = set()
        self.flows = dtypes.float32  # TF's type for the flow of a tensor array
        for op in _every(ops):
            if op.type in _STASHES:
                self.flows = dtypes.variant
        for op in ops:
            if any(isinstance(a, FuncGraph) for a in op.attrs.values()):
                self.resources.update(root(t) for t in op.inputs if t.dtype._is_ref_dtype)

    def kind(self, dtype: DType) -> DType:
        if dtype._is_ref_dtype:
            return RESOURCE
        return self.flows if dtype == dtypes.variant else dtype

    def name(
        self, body: FuncGraph, outputs: Sequence[Any], label: str, counted: bool = False, without: Sequence[int] = ()
    ) -> str:
        """The function for a body with these of its tensors (or arguments) as results, ``without`` some arguments."""
        key = (body, tuple(id(t) for t in outputs), counted, tuple(without))
        found = self._names.get(key)
        if found is None:
            wanted = re.sub(r"[^A-Za-z0-9_]", "_", body.name or label)
            found = wanted
            while found in self.functions:
                found = f"{wanted}_{len(self.functions)}"
            self._names[key] = found
            self.functions[found] = None
            self.functions[found] = self._function(found, body, outputs, counted, without)
        return found

    def _function(
        self, name: str, body: FuncGraph, outputs: Sequence[Any], counted: bool, without: Sequence[int]
    ) -> Any:
        made = protos().FunctionDef()
        made.signature.name = name
        made.signature.is_stateful = body.stateful or any(t.dtype._is_ref_dtype for t in body.inputs)
        arguments: dict[Tensor, _Value] = {}
        if counted:
            made.signature.input_arg.add(name="iterations", type=dtypes.int32.as_datatype_enum)
        for i, tensor in enumerate(t for i, t in enumerate(body.inputs) if i not in without):
            label = re.sub(r"[^a-z0-9_]", "_", tensor.op.name.split("/")[-1].removeprefix("_arg_").lower()).strip("_")
            label = f"{label or 'arg'}_{i}" if label[:1].isalpha() else f"arg_{label}_{i}"
            made.signature.input_arg.add(name=label, type=self.kind(tensor.dtype).as_datatype_enum)
            if not tensor.dtype._is_ref_dtype:
                made.arg_attr[i + counted].attr["_output_shapes"].list.shape.add().CopyFrom(tensor._shape.as_proto())
            arguments[tensor] = _Value(label)
        ops = _closure([*(t.op for t in outputs if t is not None), *body.control_outputs])
        scope = _Scope(self, ops, [t for t in outputs if t is not None], arguments, True)
        made.node_def.extend(scope.nodes)
        for i, tensor in enumerate(outputs):
            kind = dtypes.int32 if tensor is None else self.kind(tensor.dtype)
            made.signature.output_arg.add(name=f"result_{i}", type=kind.as_datatype_enum)
            made.ret[f"result_{i}"] = scope.counter(made) if tensor is None else scope.value(tensor).text(True)
        # TF waits for reads of variables, when it waits for a function, only if they are listed.
        for op in dict.fromkeys(
            [*body.control_outputs, *(o for o in ops if any(t.dtype._is_ref_dtype for t in o.inputs))]
        ):
            label = f"run_{re.sub(r'[^a-z0-9_]', '_', op.name.lower())}"
            made.signature.control_output.append(label)
            made.control_ret[label] = scope.last(op)
        return made


def _every(ops: Iterable[Operation]) -> Iterable[Operation]:
    seen: set[FuncGraph] = set()
    stack = list(ops)
    while stack:
        op = stack.pop()
        yield op
        for attr in op.attrs.values():
            if isinstance(attr, FuncGraph) and attr not in seen:
                seen.add(attr)
                stack.extend(_closure([t.op for t in attr.outputs if t is not None]))


def _writes_before(ops: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """The writes each op waits for, if any."""
    writes = [op for op in ops if op.op_def.traits.writes]
    bits = {op: 1 << i for i, op in enumerate(writes)}
    masks: dict[Operation, int] = {}
    found: dict[Operation, list[Operation]] = {}
    for op in sorted(ops, key=lambda op: op._id):
        mask = 0
        for before in (*(t.op for t in op.inputs), *op._control_inputs):
            mask |= masks.get(before, 0) | bits.get(before, 0)
        masks[op] = mask
        if mask:
            found[op] = [w for w in writes if bits[w] & mask]
    return found


def root(ref: Tensor) -> Tensor:
    """The handle behind a ref."""
    while ref.op.inputs and ref.dtype._is_ref_dtype:
        ref = ref.op.inputs[0]
    return ref


def _closure(roots: Sequence[Operation]) -> list[Operation]:
    """What a body's results need, in the order it was made; arguments are not nodes."""
    seen: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op not in seen and not op.op_def.traits.argument:
            seen.add(op)
            stack.extend([*(t.op for t in op.inputs), *op._control_inputs])
    return sorted(seen, key=lambda op: op._id)


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
        self._last: dict[Operation, str] = {}  # the node to wait for, where it is not the op's own
        self._late: dict[Any, _Value] = {}
        self._before = {} if in_function or not library.resources else _writes_before(ops)
        for op in ops:
            self._emit(op)

    # ---- values

    def value(self, tensor: Tensor) -> _Value:
        found = self.values.get(tensor)
        if found is None:
            output, within = _output_of(tensor)
            found = self.values[tensor] = _Value(tensor.op.name, output, within, tensor.value_index)
        return found

    def last(self, op: Operation) -> str:
        return self._last.get(op, op.name)

    def given(self, op: Operation, tensor: Tensor) -> _Value:
        """The value as an input of the op.  What a variable's one read gives is read when it is used (passes/late_read.py)."""
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
            made = self._node(name, "ReadVariableOp", [self.value(handle)], [self.last(w) for w in writes], read)
            made.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            self.nodes.append(made)
            self._late[key] = _Value(name, "value")
        return self._late[key]

    def free(self, name: str) -> str:
        """A name for a node that the graph does not have."""
        found, count = name, 0
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def counter(self, function: Any) -> str:
        """The next number of iterations of a loop's body."""
        one = self._node(self.free("iterations/one"), "Const", [], [])
        one.attr["dtype"].type = dtypes.int32.as_datatype_enum
        one.attr["value"].tensor.CopyFrom(attr_value.tensor(dtypes.int32.as_numpy_dtype(1)))
        inputs = [_Value("iterations"), _Value(one.name, "output")]
        add = self._node(self.free("iterations/next"), "AddV2", inputs, [])
        add.attr["T"].type = dtypes.int32.as_datatype_enum
        function.node_def.extend([one, add])
        return f"{add.name}:z:0"

    def _is_resource(self, tensor: Tensor) -> bool:
        if not tensor.dtype._is_ref_dtype:
            return False
        return self.in_function or root(tensor) in self.library.resources

    # ---- nodes

    def _node(self, name: str, kind: str, inputs: Sequence[_Value], controls: Iterable[str], op: Any = None) -> Any:
        made = protos().NodeDef()
        made.name = name
        made.op = kind
        made.input.extend(v.text(self.in_function) for v in inputs)
        made.input.extend(f"^{c}" for c in dict.fromkeys(controls))
        if op is not None:
            made.device = op.device
            if op.colocation:
                made.attr["_class"].list.s.extend(c.encode() for c in op.colocation)
        return made

    def _emit(self, op: Operation) -> None:
        if op.op_def.traits.argument:
            return
        controls = [self.last(c) for c in op._control_inputs]
        if any(isinstance(a, FuncGraph) for a in op.attrs.values()):
            self._emit_holder(op, controls)
        elif op.op_def.traits.handle and op._outputs[0] in self.library.resources:
            self._emit_handle(op, controls)
        elif any(self._is_resource(t) for t in op.inputs):
            self._emit_resource(op, controls)
        else:
            made = self._node(op.name, op.type, [self.given(op, t) for t in op.inputs], controls, op)
            self._put_attrs(made, op)
            self.nodes.append(made)

    def _put_attrs(self, made: Any, op: Operation, skip: Sequence[str] = ()) -> None:
        kinds = {a.name: a.kind for a in (*op.op_def.signature.attrs, *op.op_def.signature.inferred)}
        for name, value in op.attrs.items():
            if name in skip or name in _OURS or (op.type, name) in _OURS:
                continue
            kind = kinds.get(name, "any")
            if kind == "tensor" and name == "value" and "dtype" in op.attrs:
                made.attr[name].tensor.CopyFrom(attr_value.tensor(value, op.attrs["dtype"]))
                continue
            if value is None and kind != "shape" and not kind.startswith("list("):
                continue
            if kind == "type":
                value = self.library.kind(value)
            elif kind == "list(type)":
                value = [self.library.kind(v) for v in value]
            try:
                made.attr[name].CopyFrom(encode(value, kind))
            except (TypeError, KeyError) as e:
                raise TypeError(
                    f"attribute '{name}' of {op.name} ({op.type}, made at {op.source}) cannot be written into a GraphDef: {e}"
                ) from None
        if "func" in op.attrs and op.type.startswith("PyFunc"):
            made.attr["token"].s = token_of(op.attrs["func"]).encode()
        if op.type == "MaxPool3DGrad":
            made.attr["TInput"].type = op.attrs["T"].as_datatype_enum
        if self.library.add_shapes:
            made.attr["_output_shapes"].list.SetInParent()
            for tensor in op._outputs:
                made.attr["_output_shapes"].list.shape.add().CopyFrom(tensor._shape.as_proto())

    # ---- variables as resources

    def _emit_handle(self, op: Operation, controls: Sequence[str]) -> None:
        made = self._node(op.name, "VarHandleOp", [], controls, op)
        made.attr["dtype"].type = op._outputs[0].dtype.base_dtype.as_datatype_enum
        made.attr["shape"].shape.CopyFrom(op._outputs[0]._shape.as_proto())
        made.attr["shared_name"].s = (op.attrs.get("shared_name") or op.name).encode()
        made.attr["container"].s = (op.attrs.get("container") or "").encode()
        self.values[op._outputs[0]] = _Value(op.name, "resource")
        self.nodes.append(made)

    def _read(self, name: str, ref: Tensor, controls: Iterable[str], op: Any) -> _Value:
        made = self._node(name, "ReadVariableOp", [self.value(root(ref))], [*controls, *self._chain(ref)], op)
        made.attr["dtype"].type = ref.dtype.base_dtype.as_datatype_enum
        self.nodes.append(made)
        return _Value(name, "value")

    def _chain(self, ref: Tensor) -> list[str]:
        """The writes a ref stands behind."""
        found = []
        while ref.op.inputs and ref.dtype._is_ref_dtype:
            found.append(self.last(ref.op))
            ref = ref.op.inputs[0]
        return found

    def _emit_resource(self, op: Operation, controls: Sequence[str]) -> None:
        kind = resource_type(op.type)
        refs = [t for t in op.inputs if self._is_resource(t)]
        if op.type == "Identity":
            self.values[op._outputs[0]] = self._read(op.name, op.inputs[0], controls, op)
            return
        if kind is None:  # an op that wants the value
            inputs = [
                self._read(self.free(f"{op.name}/read_{i}"), t, (), op) if t in refs else self.given(op, t)
                for i, t in enumerate(op.inputs)
            ]
            made = self._node(op.name, op.type, inputs, controls, op)
            self._put_attrs(made, op)
            self.nodes.append(made)
            return
        gives_ref = bool(op._outputs) and op._outputs[0].dtype._is_ref_dtype
        name = self.free(f"{op.name}/assign") if gives_ref else op.name
        waits = [*controls, *(c for t in refs for c in self._chain(t))]
        made = self._node(
            name, kind, [self.value(root(t)) if t in refs else self.given(op, t) for t in op.inputs], waits, op
        )
        self._put_resource_attrs(made, op)
        self.nodes.append(made)
        if gives_ref:
            self._last[op] = op.name
            read = self._node(op.name, "ReadVariableOp", [self.value(root(op.inputs[0]))], [name], op)
            read.attr["dtype"].type = op._outputs[0].dtype.base_dtype.as_datatype_enum
            self.nodes.append(read)
            self.values[op._outputs[0]] = _Value(op.name, "value")

    def _put_resource_attrs(self, made: Any, op: Operation) -> None:
        if made.op == "VarIsInitializedOp":
            return
        keeps_type = made.op.startswith(("ResourceApply", "ResourceSparseApply", "ResourceScatterNd"))
        self._put_attrs(made, op, () if keeps_type else ("T", "use_locking", "validate_shape"))
        if not keeps_type:
            made.attr["dtype"].type = op.attrs["T"].as_datatype_enum

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

    def _kept(self, op: Operation) -> list[int]:
        """The results that are written: those the user sees, and what was added for others if somebody uses it."""
        first, visible = first_result(op), op.attrs["visible"]
        return [i for i, t in enumerate(op._outputs[first:]) if i < visible or t in self.used]

    def _number(self, op: Operation, tensors: Sequence[Tensor], first: int = 0) -> None:
        for i, tensor in enumerate(tensors):
            self.values[tensor] = _Value(op.name, "output", first + i, first + i)

    def _types(self, made: Any, name: str, kinds: Iterable[DType]) -> None:
        made.attr[name].list.SetInParent()
        made.attr[name].list.type.extend(self.library.kind(k).as_datatype_enum for k in kinds)

    def _shapes(self, made: Any, shapes: Iterable[TensorShape]) -> None:
        made.attr["output_shapes"].list.SetInParent()
        for shape in shapes:
            made.attr["output_shapes"].list.shape.add().CopyFrom(TensorShape(shape).as_proto())

    def _holder(
        self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str], first: _Value | None = None
    ) -> Any:
        values = [self.given(op, t) for t in inputs]
        kind = _STATEFUL.get(op.type, op.type) if any(t.dtype._is_ref_dtype for t in inputs) else op.type
        made = self._node(op.name, kind, [*([first] if first else []), *values], controls, op)
        self.nodes.append(made)
        return made

    def _emit_if(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        kept = self._kept(op)
        made = self._holder(op, inputs, controls)
        made.attr["Tcond"].type = dtypes.bool.as_datatype_enum
        self._types(made, "Tin", [t.dtype for t in inputs[1:]])
        self._types(made, "Tout", [op._outputs[i].dtype for i in kept])
        self._shapes(made, [op._outputs[i]._shape for i in kept])
        for attr in ("then_branch", "else_branch"):
            body = op.attrs[attr]
            label = f"{op.name}_{attr.split('_')[0]}"
            made.attr[attr].func.name = self.library.name(body, [body.outputs[i] for i in kept], label)
        self._number(op, [op._outputs[i] for i in kept])

    def _emit_while(self, op: Operation, inputs: Sequence[Tensor], controls: Sequence[str]) -> None:
        cond, body = op.attrs["cond"], op.attrs["body"]
        counted = op._outputs[0] in self.used
        kept = self._kept(op)
        without = [i for i in range(len(body.args)) if i not in kept]
        fixed = body.inputs[len(body.args) :]
        inputs = [t for i, t in enumerate(inputs) if i not in without]
        start = None
        if counted:
            zero = self._node(self.free(f"{op.name}/start"), "Const", [], controls)
            zero.attr["dtype"].type = dtypes.int32.as_datatype_enum
            zero.attr["value"].tensor.CopyFrom(attr_value.tensor(dtypes.int32.as_numpy_dtype(0)))
            self.nodes.append(zero)
            start = _Value(zero.name, "output")
        made = self._holder(op, inputs, controls, start)
        kinds = [*([dtypes.int32] if counted else []), *(t.dtype for t in inputs)]
        self._types(made, "T", kinds)
        shapes = [*([TensorShape([])] if counted else []), *(op._outputs[1 + i]._shape for i in kept)]
        refs = [TensorShape([]) if t.dtype._is_ref_dtype else t._shape for t in inputs[len(kept) :]]
        self._shapes(made, [*shapes, *refs])
        made.attr["parallel_iterations"].i = op.attrs["parallel_iterations"]
        results = [*([None] if counted else []), *(body.outputs[i] for i in kept), *fixed]
        made.attr["cond"].func.name = self.library.name(cond, cond.outputs, f"{op.name}_cond", counted, without)
        made.attr["body"].func.name = self.library.name(body, results, f"{op.name}_body", counted, without)
        if counted:
            self.values[op._outputs[0]] = _Value(op.name, "output")
        self._number(op, [op._outputs[1 + i] for i in kept], int(counted))

    def _emit_repeat(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        body = op.attrs["body"]
        made = self._holder(op, inputs, controls)
        count = len(body.args)
        self._types(made, "T", [t.dtype for t in inputs[1 : 1 + count]])
        self._types(made, "Tin", [t.dtype for t in inputs[1 + count :]])
        made.attr["body"].func.name = self.library.name(body, body.outputs, f"{op.name}_body")
        for name in ("back_prop", "swap_memory"):
            made.attr[name].b = op.attrs[name]

    def _emit_call(self, op: Operation, inputs: Sequence[Tensor], controls: Iterable[str]) -> None:
        f = op.attrs["f"]
        kept = list(range(len(op._outputs)))
        if not any(t in self.used for t in op._outputs[op.attrs["visible"] :]):
            kept = kept[: op.attrs["visible"]]
        made = self._holder(op, inputs, controls)
        self._types(made, "Tin", [t.dtype for t in inputs])
        self._types(made, "Tout", [op._outputs[i].dtype for i in kept])
        made.attr["f"].func.name = self.library.name(f, [f.outputs[i] for i in kept], f"{op.name}_f")
        for name in ("config", "config_proto", "executor_type"):
            made.attr[name].s = b""


set_writer(of_operations)


def _output_of(tensor: Tensor) -> tuple[str, int]:
    """The name of the output argument, and the position in it."""
    return output_at(tensor.op.op_def, tensor.op.attrs, tensor.value_index)


def output_at(op_def: OpDef, attrs: dict[str, Any], index: int) -> tuple[str, int]:
    for out in op_def.signature.outputs:
        count = 1
        if out.is_list:
            count = attrs[out.number_attr] if out.number_attr else len(attrs[out.type_list_attr or ""])
        if index < count:
            return out.name, index
        index -= count
    raise IndexError(f"{op_def.name} has no output {index}")
