"""What one step makes and drops again: stacks of values, and temporary variables.

A node that makes one makes a new one each time it runs.  Pushes and pops are ordered by the graph's edges only.
"""

from __future__ import annotations

import numpy as np
import torch

from headrace.core.dtypes import ANY
from headrace.core.errors import InvalidArgumentError, NotFoundError
from headrace.core.registry import op
from headrace.resources.calling.value import FROM_TORCH
from headrace.resources.state.stack import Stack
from headrace.resources.state.variable import Variable

# ---- stacks

_TRAITS = {"stateful": True, "opaque": True}


def _stack(suffix, making, handle):
    """Declares the four ops on stacks of one version."""
    text = f'Stack{suffix}({making}elem_type: type, stack_name: string = "") -> (handle: {handle})'
    make = op(text, elem_type=ANY, **_TRAITS)
    text = f"StackPush{suffix}(handle: {handle}, elem: T; swap_memory: bool = False) -> (output: T)"
    push = op(text, T=ANY, view=True, **_TRAITS)
    pop = op(f"StackPop{suffix}(handle: {handle}; elem_type: type) -> (elem: elem_type)", elem_type=ANY, **_TRAITS)
    close = op(f"StackClose{suffix}(handle: {handle}) -> ()", **_TRAITS)
    for one in (make, push, pop, close):
        one.not_differentiable()
    make.shape(lambda *args: (2,))
    push.shape(lambda handle, elem, swap_memory: elem)
    pop.shape(lambda handle, elem_type: None)
    push.kernel(_push)
    pop.kernel(lambda handle, elem_type: handle.pop())
    close.kernel(lambda handle: handle.close())
    return make


def _push(handle, elem, swap_memory):
    """Keeps a copy: the value may be the buffer of a variable that the step changes later."""
    if isinstance(elem, (bool, int)):  # a counter of a loop
        handle.push(torch.tensor(elem, dtype=handle.dtype))
        return elem
    if not isinstance(elem, (torch.Tensor, np.ndarray)):  # the handle of an array, say
        handle.push(elem)
        return elem
    is_tensor = isinstance(elem, torch.Tensor)
    dtype = elem.dtype if is_tensor else handle.dtype
    if dtype != handle.dtype:
        raise InvalidArgumentError(
            None, None, f"Stack[{handle.name}] holds {_name(handle.dtype)} values, not {_name(dtype)}"
        )
    handle.push(elem.clone() if is_tensor else elem.copy())
    return elem


def _name(dtype):
    return FROM_TORCH[dtype].name if dtype in FROM_TORCH else str(dtype)


_stack_v2 = _stack("V2", "max_size: host int32; ", "resource")
_stack_v1 = _stack("", "; ", "ref string")


@_stack_v2.kernel
def _(max_size, elem_type, stack_name, *, node):
    return Stack(stack_name or node.name, max_size, elem_type)


_stack_v1.kernel(lambda elem_type, stack_name, *, node: Stack(stack_name or node.name, -1, elem_type))


# ---- temporary variables

temporary = op(
    'TemporaryVariable(; shape: shape, dtype: type, var_name: string = "") -> (ref: ref dtype)', dtype=ANY, **_TRAITS
)
temporary.not_differentiable()
temporary.shape(lambda shape, dtype, var_name: shape)


@temporary.kernel
def _(shape, dtype, var_name, *, node, device):
    """A variable that holds zeros until it is assigned to."""
    variable = Variable(var_name or node.name, node.attrs["dtype"], device, shape)
    variable.hold(torch.zeros(shape, dtype=dtype, device=device))
    return variable


destroy = op("DestroyTemporaryVariable(ref: ref T; var_name: string) -> (value: T)", T=ANY, writes=True, **_TRAITS)
destroy.not_differentiable()
destroy.shape(lambda ref, var_name: ref)


@destroy.kernel
def _(ref, var_name):
    """The last value; the variable has none afterwards."""
    if ref.name != var_name:
        raise NotFoundError(None, None, f"the temporary variable is called {ref.name!r}, not {var_name!r}")
    value = ref.value
    ref.clear()
    return value
