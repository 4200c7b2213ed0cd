"""Updates of many variables in one call, by torch's kernels for lists of tensors.  Made by the planner only, for the CPU.

Each op takes lists where the single update takes one variable, slot or gradient.  The numbers are the same up to rounding:
torch's formulas are TF1's once bias corrections are folded into the rate.  What those kernels cannot take (a traced
tensor, a layout that differs between a variable and its slot, a torch without them) is updated by the rule of the single op.

An exception carries ``member``, the position of the variable it is about.
"""

from __future__ import annotations

import math

import torch

from headrace.core.dtypes import float32, float64
from headrace.core.registry import op
from headrace.resources.calling import torch_names
from headrace.resources.state.variable import locked, mark_all

_TYPES = (torch.float32, torch.float64)  # in half precision torch's kernels leave whole vectors unchanged (torch 2.13)
_LATE = torch.tensor(1e30)  # a step at which torch's bias corrections are one


def different_shapes(var, grad):
    return ValueError(f"var and grad do not have the same shape {list(var.shape)} {list(grad.shape)}")


def on_host(buffer):
    """Whether values may be taken out of tensors: these are in the host's memory, and real (not traced)."""
    return type(buffer) is torch.Tensor and buffer.is_cpu


def _together(text, rule, fused):
    """Declares ``_Apply*Together``; ``fused(lists, scalars, attributes)`` updates those of usable layout."""
    definition = op(text, T=(float32, float64), writes=True, stateful=True)
    inputs = definition.signature.inputs
    lists = [i for i, a in enumerate(inputs) if a.is_list]
    refs = sum(a.ref for a in inputs)
    lock = len(inputs)

    @definition.kernel
    def kernel(*args):
        variables = [v for i in range(refs) for v in args[i]]
        try:
            if args[lock]:
                with locked(variables, True):
                    update(args)
            else:
                update(args)
        finally:
            mark_all(variables)

    def update(args):
        columns = [_buffers(args[i]) if i < refs else list(args[i]) for i in lists]
        scalars = [a for i, a in enumerate(args[:lock]) if i not in lists]
        attributes = args[lock + 1 :]
        for i, (buffer, grad) in enumerate(zip(columns[0], columns[-1], strict=True)):
            if buffer.shape != grad.shape:
                raise _about(different_shapes(buffer, grad), i)
        for i in _fused(fused, columns, scalars, attributes):
            one = iter(c[i] for c in columns)
            other = iter(scalars)
            rule(*[next(one) if p in lists else next(other) for p in range(lock)], *attributes)

    return definition


def _buffers(variables):
    try:
        return [v.value for v in variables]
    except AttributeError as error:
        unset = next(i for i, v in enumerate(variables) if not v.initialized)
        raise _about(error, unset) from None


def _about(error, member):
    error.member = member
    return error


def _fused(fused, columns, scalars, attributes):
    """Updates what torch's kernels can take; returns the positions of the others."""
    everything = range(len(columns[0]))
    if not on_host(columns[0][0]):
        return everything
    rest = _arrange(columns)
    if len(rest) == len(everything):
        return everything
    usable = columns if not rest else [[c for i, c in enumerate(column) if i not in rest] for column in columns]
    return rest if fused(usable, scalars, attributes) else everything


def _arrange(columns):
    """Gives gradients the layout of their variables; returns the positions whose slots have another one.

    torch's kernels walk through memory and trust that it means the same in every list.
    """
    rest = set()
    variables, grads = columns[0], columns[-1]
    for i, (variable, grad) in enumerate(zip(variables, grads, strict=True)):
        stride = variable.stride()
        if any(slot[i].stride() != stride for slot in columns[1:-1]):
            rest.add(i)
        elif grad.stride() != stride:
            grads[i] = torch.empty_like(variable).copy_(grad)
    return rest


# ---- the rules: each says whether torch's kernel could do it


def _gradient_descent(lists, scalars, attributes):
    return _descend(*lists, [], scalars[0], 0.0, False)


def _momentum(lists, scalars, attributes):
    variables, slots, grads = lists
    decay = scalars[1].item()
    return decay != 0 and _descend(
        variables, grads, slots, scalars[0], decay, attributes[0]
    )  # of 0, torch takes no slots


def _descend(variables, grads, slots, lr, momentum, nesterov):
    if torch_names.fused_sgd is None:
        return False
    torch_names.fused_sgd(
        variables, grads, slots, weight_decay=0.0, momentum=momentum, lr=lr.item(), dampening=0.0, nesterov=nesterov,
        maximize=False, is_first_step=False,
    )  # fmt: skip
    return True


def _adam(lists, scalars, attributes):
    variables, m, v, grads = lists
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = [s.item() for s in scalars]
    if attributes[0] or max(beta1, beta2, beta1_power, beta2_power) >= 1:  # nesterov, or a rate that is no number
        return False
    if torch_names.fused_adam is None:
        return False
    rate = lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
    torch_names.fused_adam(
        variables, grads, m, v, [], [_LATE] * len(variables), lr=rate, beta1=beta1, beta2=beta2, weight_decay=0.0,
        eps=epsilon, amsgrad=False, maximize=False,
    )  # fmt: skip
    return True


def _adagrad(lists, scalars, attributes):
    variables, sums, grads = lists
    if torch_names.fused_adagrad is None or not attributes[0]:
        return False
    torch_names.fused_adagrad(
        variables, grads, sums, [_LATE] * len(variables), lr=scalars[0].item(), lr_decay=0.0, weight_decay=0.0, eps=0.0,
        maximize=False,
    )  # fmt: skip
    return True


_ALONE = {  # where the lists are among the inputs, and how many inputs there are
    "momentum": (_momentum, (0, 1, 3), 5),
    "adam": (_adam, (0, 1, 2, 9), 10),
    "adagrad": (_adagrad, (0, 1, 3), 4),
}


def alone(name, rule):
    """The rule of a single update, for which a list of one is used where it can be: that goes through memory once."""
    fused, lists, count = _ALONE[name]

    def update(*args):
        if on_host(args[0]) and args[0].dtype in _TYPES and type(args[lists[-1]]) is torch.Tensor:
            scalars = [a for i, a in enumerate(args[:count]) if i not in lists]
            if not _fused(fused, [[args[i]] for i in lists], scalars, args[count:]):
                return
        rule(*args)

    return update


def declare(rules):
    """Declares the ops, given the rules of the single updates by name."""
    _together(
        "_ApplyGradientDescentTogether(var: ref N*T, alpha: T, delta: N*T; use_locking: bool = False) -> ()",
        rules["gradient_descent"], _gradient_descent,
    )  # fmt: skip
    _together(
        "_ApplyMomentumTogether(var: ref N*T, accum: ref N*T, lr: T, grad: N*T, momentum: T; use_locking: bool = False, "
        "use_nesterov: bool = False) -> ()",
        rules["momentum"], _momentum,
    )  # fmt: skip
    _together(
        "_ApplyAdamTogether(var: ref N*T, m: ref N*T, v: ref N*T, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, "
        "epsilon: T, grad: N*T; use_locking: bool = False, use_nesterov: bool = False) -> ()",
        rules["adam"], _adam,
    )  # fmt: skip
    _together(
        "_ApplyAdagradTogether(var: ref N*T, accum: ref N*T, lr: T, grad: N*T; use_locking: bool = False, "
        "update_slots: bool = True) -> ()",
        rules["adagrad"], _adagrad,
    )  # fmt: skip
