"""One NodeDef -> a node.  Attributes are checked against the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.signature import REQUIRED
from headrace.graph import raw_ops
from headrace.graph.attr_value import decode
from headrace.graph.body import Detached
from headrace.graph.build import output_dtypes
from headrace.graph.graph_def import output_at
from headrace.graph.operation import Operation, Tensor
from headrace.graph.py_token import function_of

# Attributes that only TF's ops have, each with the one value under which TF's op does what ours does; None: any value.
_THEIRS: dict[str, Any] = {
    "grad_a": None, "grad_b": None, "grad_x": None, "grad_y": None, "bad_indices_policy": "", "T_threshold": None,
    "Tk": dtypes.int32, "index_type": dtypes.int32, "TInput": None, "sparse_gradient": None, "axis": -1,
    "blank_index": -1, "ensure_minimum_range": None, "fill_mode": "CONSTANT", "narrow_range": False,
    "perturb_singular": False, "shape_type": dtypes.int32, "Tserialized": dtypes.string,
}  # fmt: skip
# Types of nodes that name functions.
HOLDERS = frozenset((
    "If", "StatelessIf", "While", "StatelessWhile", "_Repeat", "_StatelessRepeat", "Case", "StatelessCase", "PartitionedCall",
    "StatefulPartitionedCall",
))  # fmt: skip
_OF_REFERENCES = frozenset(("Switch", "Merge", "Enter", "Exit", "NextIteration"))
# Ops whose "T" has a default in TF, so that a node may leave it out.
_DEFAULT_T = frozenset(
    "AdjustContrastv2 AdjustHue AdjustSaturation Angle BroadcastArgs BroadcastGradientArgs CTCBeamSearchDecoder CTCGreedyDecoder "
    "CTCLoss Complex ComplexAbs Conj DrawBoundingBoxes DrawBoundingBoxesV2 EncodePng HSVToRGB HistogramSummary Imag ImageSummary "
    "InTopK InTopKV2 InvertPermutation LRN LRNGrad LeakyRelu LeakyReluGrad MaxPool MaxPool3DGrad MaxPoolGrad NextAfter "
    "NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 RGBToHSV Real StatelessRandomNormal "
    "StatelessRandomUniform StatelessRandomUniformFullInt StatelessTruncatedNormal Where".split()
)
_KINDS = {"b": "bool", "i": "int", "f": "float", "s": "string", "type": "type"}


@dataclass(slots=True)
class ImportedNode:
    """The nodes built for a NodeDef: its outputs as the GraphDef numbers them, and the operation to wait for."""

    op: Any
    outputs: list[Tensor]
    last: Operation
    names: dict[str, list[Tensor]] = field(default_factory=dict)

    def named(self, output: str, index: int) -> Tensor | None:
        """The tensor that a function's node calls ``node:output:index``."""
        if not output:
            return self.outputs[0] if self.outputs else None
        if self.names:
            tensors = self.names.get(output)
            return tensors[index] if tensors is not None and index < len(tensors) else None
        for i, tensor in enumerate(self.outputs):
            if output_at(self.op.op_def, self.op.attrs, i) == (output, index):
                return tensor
        return None


def make_node(importer: Any, node: Any, inputs: Sequence[Tensor], controls: Sequence[Operation]) -> ImportedNode:
    """Adds the node to the importer's graph, which is the default one."""
    op_type = importer.op_type(node)
    if op_type in HOLDERS or op_type in importer.functions:
        with importer.graph.control_dependencies(controls):
            imported: ImportedNode = importer.holder.make(node, inputs)
        _finish(importer, node, imported.op, ())
        return imported
    if op_type in REGISTRY and any(a.kind == "func" for a in REGISTRY.get(op_type).signature.attrs):
        return _make_detached(importer, node, REGISTRY.get(op_type), inputs, controls)
    if op_type == "Identity" and inputs and inputs[0].dtype._is_ref_dtype and _type(node, "T") == dtypes.resource:
        with importer.graph.control_dependencies(controls):
            wait = raw_ops.NoOp(name=f"{importer.scope}{node.name}/")
        return ImportedNode(wait, list(inputs), wait, {"output": list(inputs)})
    if op_type in _OF_REFERENCES and any(t.dtype._is_ref_dtype for t in inputs) and _type(node, "T") == dtypes.resource:
        # The handle of a variable goes into a loop or a branch: here it is a reference.
        op_def = REGISTRY.get(f"Ref{op_type}")
        attrs = attributes(op_def, node, importer.scope)
        attrs["T"] = inputs[0].dtype.base_dtype
    else:
        op_def = REGISTRY.get(op_type)
        attrs = attributes(op_def, node, importer.scope, _element_types(op_def, node, inputs))
    op = create(importer, node, op_def, inputs, attrs, controls)
    return ImportedNode(op, list(op._outputs), op)


def _make_detached(
    importer: Any, node: Any, op_def: OpDef, inputs: Sequence[Tensor], controls: Sequence[Operation]
) -> ImportedNode:
    """A node whose functions run by themselves.  Among what they have captured, the handles of variables come last here."""
    rest = list(inputs)
    groups: dict[str, list[Tensor]] = {}
    for arg in op_def.signature.inputs:
        if arg.name.endswith("refs"):
            continue
        count = 1
        if arg.is_list:
            listed = node.attr[arg.type_list_attr].list.type if arg.type_list_attr else ()
            count = len(listed) if arg.type_list_attr else node.attr[arg.number_attr].i
        groups[arg.name], rest = rest[:count], rest[count:]
    types: dict[str, Any] = {}
    for arg in op_def.signature.inputs:
        if arg.name.endswith("refs"):
            captured = groups[arg.name.removesuffix("refs") + "other_arguments"]
            groups[arg.name] = [t for t in captured if t.dtype._is_ref_dtype]
            captured[:] = [t for t in captured if not t.dtype._is_ref_dtype]
            types[arg.type_list_attr or ""] = tuple(t.dtype.base_dtype for t in groups[arg.name])
    attrs = attributes(op_def, node, importer.scope, types)
    for arg in op_def.signature.inputs:
        if arg.name.endswith("other_arguments"):
            attrs[arg.type_list_attr or ""] = tuple(t.dtype.base_dtype for t in groups[arg.name])
    for attr in op_def.signature.attrs:
        if attr.kind == "func":
            owner = f"{attr.name}_" if f"{attr.name}_other_arguments" in groups else ""
            values, refs = groups.get(f"{owner}other_arguments", []), groups.get(f"{owner}refs", [])
            attrs[attr.name] = Detached(importer.holder.detached(attrs[attr.name], node, values, refs))
    ordered = [t for arg in op_def.signature.inputs for t in groups[arg.name]]
    op = create(importer, node, op_def, ordered, attrs, controls)
    return ImportedNode(op, list(op._outputs), op)


def create(
    importer: Any, node: Any, op_def: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any],
    controls: Sequence[Operation], name: str = "",
) -> Operation:  # fmt: skip
    inputs = _checked_inputs(importer, node, op_def, inputs, attrs)
    full = f"{importer.scope}{name or node.name}"
    try:
        with importer.graph.control_dependencies(None):
            op = importer.graph.create_op(op_def, inputs, output_dtypes(op_def, attrs), name=f"{full}/", attrs=attrs)
    except ValueError as e:
        if "not a valid node name" in str(e):
            raise ValueError(f"Node '{node.name}': Node name contains invalid characters") from None
        raise ValueError(f"Node '{node.name}': {e}") from None
    _finish(importer, node, op, controls)
    return op  # type: ignore[no-any-return]


def _finish(importer: Any, node: Any, op: Any, controls: Sequence[Operation]) -> None:
    parts = op.name.lower().split("/")
    for i in range(len(parts)):  # nodes built later get other names
        importer.graph._names_in_use.setdefault("/".join(parts[: i + 1]), 1)
    op._control_inputs.extend(c for c in controls if c not in op._control_inputs)
    if node.device:
        op._device = node.device
    if "_class" in node.attr:
        groups = [s.decode().removeprefix("loc:@") for s in node.attr["_class"].list.s]
        op.colocation = tuple(f"loc:@{importer.scope}{g}" for g in groups)


# ---- attributes


def attributes(
    op_def: OpDef, node: Any, scope: str = "", element_types: Mapping[str, DType] | None = None
) -> dict[str, Any]:
    """All attributes of the node in their canonical form.  ``element_types`` are for types that it does not say itself."""
    signature = op_def.signature
    attrs: dict[str, Any] = {}
    declared = (*signature.attrs, *signature.inferred)
    for attr in declared:
        if attr.name == "func" and op_def.name.startswith(("PyFunc", "_Iterable")):
            attrs["func"] = function_of(node.attr["token"].s.decode())
        elif attr.name in node.attr:
            try:
                attrs[attr.name] = decode(node.attr[attr.name], attr.kind, attr.name)
            except ValueError as e:
                raise ValueError(f"{e}\n\t; NodeDef: {{{{node {scope}{node.name}}}}}; {signature}") from None
        elif attr.default is not REQUIRED:
            attrs[attr.name] = attr.default
        elif element_types and attr.name in element_types:
            attrs[attr.name] = element_types[attr.name]
        else:
            raise ValueError(
                f"NodeDef missing attr '{attr.name}' from {signature}; NodeDef: {{{{node {scope}{node.name}}}}}"
            )
    names = {a.name for a in declared}
    for name, value in node.attr.items():
        if name.startswith("_") and name not in ("_class", "_output_shapes"):
            if value.WhichOneof("value") in ("b", "i", "f", "s", "type"):
                attrs[name] = decode(value, "any", name)
        elif name in _THEIRS and name not in names and op_def.name not in ("Pack", "Unpack"):
            accepted = _THEIRS[name]
            if accepted is not None and decode(value, "any", name) != accepted:
                raise ValueError(
                    f"Node '{node.name}': attr '{name}' of {op_def.name} is {decode(value, 'any', name)!r}; Headrace has this op "
                    f"with {accepted!r} only"
                )
    for name, allowed in signature.allowed.items():
        value = attrs.get(name)
        for dtype in value if isinstance(value, tuple) else (value,):
            if isinstance(dtype, DType) and dtype.base_dtype not in allowed and dtype.base_dtype != dtypes.variant:
                raise ValueError(
                    f"Value for attr '{name}' of {dtype.name} is not in the list of allowed values: "
                    f"{', '.join(d.name for d in allowed)}\n\t; NodeDef: {{{{node {scope}{node.name}}}}}; {signature}"
                )
    return attrs


def _checked_inputs(
    importer: Any, node: Any, op_def: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any]
) -> list[Tensor]:
    expected: list[tuple[DType, bool]] = []
    names: list[tuple[str, int]] = []
    for arg in op_def.signature.inputs:
        if arg.type_list_attr:
            element_types = list(attrs[arg.type_list_attr])
            names += [(arg.type_list_attr, i) for i in range(len(element_types))]
        else:
            count = attrs[arg.number_attr] if arg.number_attr else 1
            element_types = [arg.dtype or attrs[arg.type_attr or ""]] * count
            names += [(arg.type_attr or "", -1)] * count
        expected += [(k, arg.ref) for k in element_types]
    if len(expected) != len(inputs):
        types_text = ", ".join(k.name for k, _ in expected)
        raise ValueError(
            f"NodeDef expected inputs '{types_text}' do not match {len(inputs)} inputs specified; {op_def.signature}; NodeDef: "
            f"{{{{node {importer.scope}{node.name}}}}}"
        )
    for i, ((expected_type, ref), tensor) in enumerate(zip(expected, inputs, strict=True)):
        dtype = tensor.dtype.base_dtype
        if dtype == dtypes.variant and expected_type == dtypes.float32:  # the flow of a tensor array
            attr, position = names[i]
            if position >= 0:
                attrs[attr] = (*attrs[attr][:position], dtype, *attrs[attr][position + 1 :])
            elif attr:
                attrs[attr] = dtype
        elif dtype != expected_type.base_dtype or (ref and not tensor.dtype._is_ref_dtype):
            type_name = f"{expected_type.name}_ref" if ref else expected_type.name
            raise ValueError(
                f"Input {i} of node {importer.scope}{node.name} was passed {dtype.name} from {tensor.name} incompatible with "
                f"expected {type_name}."
            )
    return list(inputs)


def _type(node: Any, name: str) -> DType:
    dtype: DType = decode(node.attr[name], "type", name)
    return dtype


def _element_types(op_def: OpDef, node: Any, inputs: Sequence[Tensor]) -> dict[str, DType]:
    """The types that the inputs say, for attributes that a node may leave out: TF's op has a default, or no such attribute."""
    element_types: dict[str, DType] = {}
    position = 0
    for arg in op_def.signature.inputs:
        if arg.type_list_attr:
            break  # how many there are is said by the attribute itself, which has no default
        count = node.attr[arg.number_attr].i if arg.number_attr else 1
        may_lack = arg.resource or arg.type_attr != "T" or op_def.name in _DEFAULT_T
        if arg.type_attr is not None and may_lack and count and position < len(inputs):
            element_types.setdefault(arg.type_attr, inputs[position].dtype.base_dtype)
        position += count
    return element_types
