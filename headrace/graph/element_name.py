"""Names of graph elements: ``"x"`` is an operation, ``"x:0"`` one of its outputs.  Errors say which names are near.

Knows nothing of graphs: it looks into a table of operations by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.graph.operation import Operation


def element_by_name(operations: Mapping[str, Operation], name: str, allow_tensor: bool, allow_operation: bool) -> Any:
    """The operation or tensor of this name; KeyError if there is none, ValueError if it is of the kind not asked for."""
    if ":" in name and allow_tensor:
        op_name, _, port = name.rpartition(":")
        if not op_name or not port.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        op = operations.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, does not "
                f"exist in the graph.{_near(operations, op_name)}"
            )
        if int(port) >= len(op._outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, exists but "
                f"only has {len(op._outputs)} outputs."
            )
        return op._outputs[int(port)]
    if ":" in name:
        raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
    if allow_operation:
        op = operations.get(name)
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.{_near(operations, name)}")
        return op
    if name in operations:
        raise ValueError(
            f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
            f'"<op_name>:<output_index>"; did you mean {name + ":0"!r}?'
        )
    raise ValueError(
        f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form "
        f'"<op_name>:<output_index>".{_near(operations, name)}'
    )


def _near(operations: Mapping[str, Operation], name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(operations)[:5000], 3)
    return f" Did you mean {', '.join(near)}?" if near else ""
