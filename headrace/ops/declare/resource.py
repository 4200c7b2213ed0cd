"""The form of an op that takes a resource variable's handle, made of the form that takes a reference.

    AssignAdd(ref: ref T, value: T; use_locking) -> (output_ref: ref T)
    ->
    AssignAddVariableOp(resource: resource dtype, value: dtype) -> ()

Both change the same buffers by the same kernel.  A step runs the form by reference (passes/dereference.py), so the passes know
one set of ops; the form by handle is what users build, and what runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.registry import REGISTRY, Kernel, OpDef, Traits
from headrace.core.signature import Arg, Attr, Signature


def resource_form(
    definition: OpDef, name: str, *, names: Mapping[str, str] | None = None, drop: Sequence[str] = (),
    attrs: Sequence[Attr] = (), traits: Mapping[str, Any] | None = None,
) -> OpDef:  # fmt: skip
    """Declares ``name``.  References become handles, and outputs that are references go.

    ``names`` renames inputs and types, ``drop`` leaves out attributes, which keep the defaults of ``definition``, and
    ``attrs`` are further attributes that the signature must have but the kernel does not take.
    """
    names = names or {}
    signature = _signature(definition.signature, name, names, drop, attrs)
    old = definition.traits
    form = REGISTRY.add(
        OpDef(
            signature,
            Traits(
                stateful=True,
                reads=old.reads,
                writes=old.writes,
                opaque=old.opaque,
                by_ref=definition.name,
                **traits or {},
            ),
            definition.location,
        )
    )
    form.not_differentiable()
    spread = _spread(definition, signature)
    gives = bool(signature.outputs)
    shape = definition.shape_fn
    if shape is not None:
        form.shape(lambda *args: _kept(shape(*spread(args)), gives))
    for kernel in definition.kernels.by_device:
        types = tuple((names.get(attr, attr), allowed) for attr, allowed in kernel.types)
        form.kernels.by_device.append(
            Kernel(_call(kernel.call, spread, gives), kernel.device, types, False, False, False, kernel.machine)
        )
    return form


def _signature(
    old: Signature, name: str, names: Mapping[str, str], drop: Sequence[str], attrs: Sequence[Attr]
) -> Signature:
    def renamed(arg: Arg) -> Arg:
        return replace(
            arg, name=names.get(arg.name, arg.name), type_attr=names.get(arg.type_attr or "", arg.type_attr),
            resource=arg.ref,
        )  # fmt: skip

    remaining = (*(a for a in old.attrs if a.name not in drop), *attrs)
    explicit = {a.name for a in remaining}
    inferred = (replace(a, name=names.get(a.name, a.name)) for a in old.inferred)
    return Signature(
        name, tuple(renamed(a) for a in old.inputs), tuple(renamed(a) for a in old.outputs if not a.ref), remaining,
        tuple(a for a in inferred if a.name not in explicit), {names.get(k, k): v for k, v in old.allowed.items()},
    )  # fmt: skip


def _spread(definition: OpDef, signature: Signature) -> Callable[[Sequence[Any]], list[Any]]:
    """What the form by handle is called with -> what the form by reference is called with."""
    inputs = len(signature.inputs)
    positions = {a.name: inputs + i for i, a in enumerate(signature.attrs)}
    picks = [(positions.get(a.name), a.default) for a in definition.signature.attrs]

    def spread(args: Sequence[Any]) -> list[Any]:
        return [*args[:inputs], *(default if at is None else args[at] for at, default in picks)]

    return spread


def _kept(result: Any, gives: bool) -> Any:
    return result if gives else []


def _call(kernel: Callable[..., Any], spread: Callable[[Sequence[Any]], list[Any]], gives: bool) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        result = kernel(*spread(args))
        return result if gives else None

    return call
