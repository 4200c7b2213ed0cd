"""The optimizers' update rules: one fused op per rule, dense (`Apply*`) and for some rows (`SparseApply*`).

A rule is written once, as a function of buffers it changes in place (ops/declare/update.py makes the ops of it).
Hyper-parameters are scalar tensors on the variable's device, so no rule ever waits for a device; only on the host, where
a number is cheaper than an op, are their values taken out.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import softshrink

from headrace.core.dtypes import FLOAT_OR_COMPLEX, FLOATING
from headrace.ops.declare.update import SMALL, dense, sparse
from headrace.ops.internal import update_together
from headrace.ops.internal.update_together import alone, different_shapes, on_host
from headrace.resources.state.variable import mark_all

_ONE = torch.tensor(1.0)
_ZERO = torch.tensor(0.0)


def _rest(x, buffer):
    """``1 - x``, as a weight for the buffer's ``lerp_``."""
    return 1 - x.item() if on_host(buffer) else 1 - x


# ---- gradient descent


def gradient_descent(var, alpha, delta):
    if on_host(var) and not var.is_complex():
        var.sub_(delta, alpha=alpha.item())
    else:
        var.addcmul_(delta, alpha, value=-1)


_descent = dense(
    "ApplyGradientDescent(var: ref T, alpha: T, delta: T; use_locking: bool = False) -> (out: ref T)",
    gradient_descent, FLOAT_OR_COMPLEX,
)  # fmt: skip


@_descent.array_kernel(T=SMALL)
def _descend(var, alpha, delta, use_locking):
    if use_locking:
        with var.lock:
            return _descend(var, alpha, delta, False)
    buffer = var.array
    if buffer.shape != delta.shape:
        raise different_shapes(buffer, delta)
    try:
        np.subtract(buffer, delta * alpha, buffer)
    finally:
        if var.touched is not None:
            mark_all((var,))
    return var


def _shrink(value, threshold):
    """Moves values towards zero by ``threshold``, stopping there (the proximal map of an L1 penalty)."""
    if on_host(value) and threshold.ndim == 0 and (number := threshold.item()) >= 0:
        return softshrink(value, number)
    return value - value.clamp(-threshold, threshold)


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    if on_host(var) and (threshold := l1.item() * (rate := alpha.item())) >= 0:
        var.sub_(delta, alpha=rate)
        softshrink(var, threshold, out=var)
        var.div_(1 + l2.item() * rate)
        return
    prox = var.addcmul(delta, alpha, value=-1)
    torch.div(_shrink(prox, l1 * alpha), 1 + l2 * alpha, out=var)


dense(
    "ApplyProximalGradientDescent(var: ref T, alpha: T, l1: T, l2: T, delta: T; use_locking: bool = False) "
    "-> (out: ref T)",
    _proximal_gradient_descent,
)  # fmt: skip
sparse(
    "SparseApplyProximalGradientDescent(var: ref T, alpha: T, l1: T, l2: T, grad: T, indices: Tindices; "
    "use_locking: bool = False) -> (out: ref T)",
    _proximal_gradient_descent,
)  # fmt: skip


# ---- momentum


def momentum(var, accum, lr, grad, momentum, use_nesterov):
    accum.mul_(momentum).add_(grad)
    if use_nesterov:
        grad = torch.addcmul(grad, accum, momentum)
        var.addcmul_(grad, lr, value=-1)
    else:
        var.addcmul_(accum, lr, value=-1)


def _momentum_array(var, accum, lr, grad, momentum, use_nesterov):
    accum *= momentum
    accum += grad
    var -= (accum * momentum + grad) * lr if use_nesterov else accum * lr


dense(
    "ApplyMomentum(var: ref T, accum: ref T, lr: T, grad: T, momentum: T; use_locking: bool = False, "
    "use_nesterov: bool = False) -> (out: ref T)",
    alone("momentum", momentum), FLOAT_OR_COMPLEX, _momentum_array,
)  # fmt: skip
sparse(
    "SparseApplyMomentum(var: ref T, accum: ref T, lr: T, grad: T, indices: Tindices, momentum: T; "
    "use_locking: bool = False, use_nesterov: bool = False) -> (out: ref T)",
    alone("momentum", momentum), FLOAT_OR_COMPLEX,
)  # fmt: skip


def _keras_momentum(var, accum, lr, grad, momentum, use_nesterov):
    """Keeps the step itself, the rate in it; `momentum` keeps a sum of gradients."""
    step = grad * lr
    accum.mul_(momentum).sub_(step)
    if use_nesterov:
        var.addcmul_(accum, momentum).sub_(step)
    else:
        var.add_(accum)


dense(
    "_ApplyKerasMomentum(var: ref T, accum: ref T, lr: T, grad: T, momentum: T; use_locking: bool = False, "
    "use_nesterov: bool = False) -> (out: ref T)",
    _keras_momentum, FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "_SparseApplyKerasMomentum(var: ref T, accum: ref T, lr: T, grad: T, indices: Tindices, momentum: T; "
    "use_locking: bool = False, use_nesterov: bool = False) -> (out: ref T)",
    _keras_momentum, FLOAT_OR_COMPLEX,
)  # fmt: skip


# ---- adam and its relatives


def adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    fresh = _rest(beta1, m)
    m.lerp_(grad, fresh)
    v.lerp_(grad * grad, _rest(beta2, v))
    step = torch.addcmul(grad * fresh, m, beta1) if use_nesterov else m
    alpha = torch.sqrt(1 - beta2_power).mul_(lr).div_(1 - beta1_power)
    var.addcdiv_(step * alpha, v.sqrt().add_(epsilon), value=-1)


def _adam_array(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    alpha = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    fresh = 1 - float(beta1)
    m += (grad - m) * fresh
    v += (grad * grad - v) * (1 - float(beta2))
    step = grad * fresh + m * beta1 if use_nesterov else m
    var -= step / (np.sqrt(v) + epsilon) * alpha


dense(
    "ApplyAdam(var: ref T, m: ref T, v: ref T, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, "
    "grad: T; use_locking: bool = False, use_nesterov: bool = False) -> (out: ref T)",
    alone("adam", adam), FLOATING, _adam_array,
)  # fmt: skip


def _amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    m.lerp_(grad, _rest(beta1, m))
    v.lerp_(grad * grad, _rest(beta2, v))
    torch.maximum(vhat, v, out=vhat)
    alpha = torch.sqrt(1 - beta2_power).mul_(lr).div_(1 - beta1_power)
    var.addcdiv_(m * alpha, vhat.sqrt().add_(epsilon), value=-1)


dense(
    "_ApplyAdamWithAmsgrad(var: ref T, m: ref T, v: ref T, vhat: ref T, beta1_power: T, beta2_power: T, lr: T, beta1: T, "
    "beta2: T, epsilon: T, grad: T; use_locking: bool = False) -> (out: ref T)",
    _amsgrad,
)  # fmt: skip


def _adamax(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    m.lerp_(grad, _rest(beta1, m))
    torch.maximum(v.mul_(beta2), grad.abs(), out=v)
    if on_host(var) and (rest := 1 - beta1_power.item()):
        var.addcdiv_(m, v + epsilon, value=-lr.item() / rest)
        return
    var.addcdiv_(m * (lr / (1 - beta1_power)), v + epsilon, value=-1)


dense(
    "ApplyAdaMax(var: ref T, m: ref T, v: ref T, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T; "
    "use_locking: bool = False) -> (out: ref T)",
    _adamax,
)  # fmt: skip


# ---- adagrad


def adagrad(var, accum, lr, grad, update_slots):
    if update_slots:
        accum.addcmul_(grad, grad)
    var.addcmul_(accum.rsqrt(), grad * lr, value=-1)


dense(
    "ApplyAdagrad(var: ref T, accum: ref T, lr: T, grad: T; use_locking: bool = False, update_slots: bool = True) "
    "-> (out: ref T)",
    alone("adagrad", adagrad), FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "SparseApplyAdagrad(var: ref T, accum: ref T, lr: T, grad: T, indices: Tindices; use_locking: bool = False, "
    "update_slots: bool = True) -> (out: ref T)",
    alone("adagrad", adagrad), FLOAT_OR_COMPLEX,
)  # fmt: skip


def _adagrad_v2(var, accum, lr, epsilon, grad, update_slots):
    if update_slots:
        accum.addcmul_(grad, grad)
    var.addcdiv_(grad * lr, accum.sqrt().add_(epsilon), value=-1)


dense(
    "ApplyAdagradV2(var: ref T, accum: ref T, lr: T, epsilon: T, grad: T; use_locking: bool = False, "
    "update_slots: bool = True) -> (out: ref T)",
    _adagrad_v2, FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "SparseApplyAdagradV2(var: ref T, accum: ref T, lr: T, epsilon: T, grad: T, indices: Tindices; "
    "use_locking: bool = False, update_slots: bool = True) -> (out: ref T)",
    _adagrad_v2, FLOAT_OR_COMPLEX,
)  # fmt: skip


def _proximal_adagrad(var, accum, lr, l1, l2, grad):
    accum.addcmul_(grad, grad)
    rate = accum.rsqrt().mul_(lr)
    prox = var.addcmul(grad, rate, value=-1)
    more = torch.add(_ONE, rate, alpha=l2.item()) if on_host(var) else (rate * l2).add_(1)
    torch.div(_shrink(prox, rate.mul_(l1)), more, out=var)


dense(
    "ApplyProximalAdagrad(var: ref T, accum: ref T, lr: T, l1: T, l2: T, grad: T; use_locking: bool = False) "
    "-> (out: ref T)",
    _proximal_adagrad,
)  # fmt: skip
sparse(
    "SparseApplyProximalAdagrad(var: ref T, accum: ref T, lr: T, l1: T, l2: T, grad: T, indices: Tindices; "
    "use_locking: bool = False) -> (out: ref T)",
    _proximal_adagrad,
)  # fmt: skip


def _adagrad_da(var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step):
    gradient_accumulator.add_(grad)
    gradient_squared_accumulator.addcmul_(grad, grad)
    if on_host(var) and (threshold := l1.item() * (count := global_step.item())) >= 0:
        rate = lr.item()
        denominator = gradient_squared_accumulator.sqrt().add_(l2, alpha=count * rate)
        shrunk = softshrink(gradient_accumulator, threshold)
        torch.addcdiv(_ZERO, shrunk, denominator, value=-rate, out=var)
        return
    step = global_step.to(var.dtype)
    denominator = gradient_squared_accumulator.sqrt().add_(l2 * step * lr)
    torch.div(_shrink(gradient_accumulator, l1 * step).mul_(-lr), denominator, out=var)


dense(
    "ApplyAdagradDA(var: ref T, gradient_accumulator: ref T, gradient_squared_accumulator: ref T, grad: T, lr: T, "
    "l1: T, l2: T, global_step: int64; use_locking: bool = False) -> (out: ref T)",
    _adagrad_da,
)  # fmt: skip
sparse(
    "SparseApplyAdagradDA(var: ref T, gradient_accumulator: ref T, gradient_squared_accumulator: ref T, grad: T, "
    "indices: Tindices, lr: T, l1: T, l2: T, global_step: int64; use_locking: bool = False) -> (out: ref T)",
    _adagrad_da,
)  # fmt: skip


# ---- adadelta and rmsprop


def _adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    fresh = _rest(rho, accum)
    if on_host(var) and not var.is_complex():
        accum.mul_(rho).addcmul_(grad, grad, value=fresh)
        update = (accum_update + epsilon).div_(accum + epsilon).sqrt_().mul_(grad)
        var.sub_(update, alpha=lr.item())
        accum_update.mul_(rho).addcmul_(update, update, value=fresh)
        return
    accum.lerp_(grad * grad, fresh)
    update = (accum_update + epsilon).sqrt_().mul_((accum + epsilon).rsqrt_()).mul_(grad)
    var.addcmul_(update, lr, value=-1)
    accum_update.lerp_(update * update, fresh)


dense(
    "ApplyAdadelta(var: ref T, accum: ref T, accum_update: ref T, lr: T, rho: T, epsilon: T, grad: T; "
    "use_locking: bool = False) -> (out: ref T)",
    _adadelta, FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "SparseApplyAdadelta(var: ref T, accum: ref T, accum_update: ref T, lr: T, rho: T, epsilon: T, grad: T, "
    "indices: Tindices; use_locking: bool = False) -> (out: ref T)",
    _adadelta, FLOAT_OR_COMPLEX,
)  # fmt: skip


def rmsprop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    if on_host(var) and not var.is_complex():
        ms.mul_(rho).addcmul_(grad, grad, value=1 - rho.item())  # a tensor is a cheaper factor than a number
        mom.mul_(momentum).addcdiv_(grad, (ms + epsilon).sqrt_(), value=lr.item())
        var.sub_(mom)
        return
    ms.lerp_(grad * grad, _rest(rho, ms))
    mom.mul_(momentum).addcmul_((ms + epsilon).rsqrt_(), grad * lr)
    var.sub_(mom)


dense(
    "ApplyRMSProp(var: ref T, ms: ref T, mom: ref T, lr: T, rho: T, momentum: T, epsilon: T, grad: T; "
    "use_locking: bool = False) -> (out: ref T)",
    rmsprop, FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "SparseApplyRMSProp(var: ref T, ms: ref T, mom: ref T, lr: T, rho: T, momentum: T, epsilon: T, grad: T, "
    "indices: Tindices; use_locking: bool = False) -> (out: ref T)",
    rmsprop, FLOAT_OR_COMPLEX,
)  # fmt: skip


def _centered_rmsprop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    fresh = _rest(rho, ms)
    ms.lerp_(grad * grad, fresh)
    mg.lerp_(grad, fresh)
    variance = (ms + epsilon).addcmul_(mg, mg, value=-1)
    if on_host(var) and not var.is_complex():
        mom.mul_(momentum).addcdiv_(grad, variance.sqrt_(), value=lr.item())
        var.sub_(mom)
        return
    mom.mul_(momentum).addcmul_(variance.rsqrt_(), grad * lr)
    var.sub_(mom)


dense(
    "ApplyCenteredRMSProp(var: ref T, mg: ref T, ms: ref T, mom: ref T, lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T; use_locking: bool = False) -> (out: ref T)",
    _centered_rmsprop, FLOAT_OR_COMPLEX,
)  # fmt: skip
sparse(
    "SparseApplyCenteredRMSProp(var: ref T, mg: ref T, ms: ref T, mom: ref T, lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T, indices: Tindices; use_locking: bool = False) -> (out: ref T)",
    _centered_rmsprop, FLOAT_OR_COMPLEX,
)  # fmt: skip


# ---- ftrl


def _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power, multiply_linear_by_lr):
    _ftrl_step(var, accum, linear, grad, grad, lr, l1, l2, lr_power, multiply_linear_by_lr)


def _ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power, multiply_linear_by_lr):
    shrunk = torch.addcmul(grad, var, l2_shrinkage * 2)
    _ftrl_step(var, accum, linear, grad, shrunk, lr, l1, l2, lr_power, multiply_linear_by_lr)


def _ftrl_step(var, accum, linear, grad, pull, lr, l1, l2, lr_power, multiply_linear_by_lr):
    power = -lr_power.item() if on_host(accum) else -lr_power
    root = type(power) is float and power == 0.5  # the usual: a root takes a thirtieth of the time of a power
    before = accum.sqrt() if root else accum.pow(power)
    accum.addcmul_(grad, grad)
    after = accum.sqrt() if root else accum.pow(power)
    if on_host(var) and not multiply_linear_by_lr and (rate := lr.item()) and (threshold := l1.item()) >= 0:
        linear.add_(pull).addcmul_(before.sub_(after), var, value=1 / rate)
        torch.addcdiv(_ZERO, softshrink(linear, threshold), after.add_(l2, alpha=2 * rate), value=-rate, out=var)
        return
    if multiply_linear_by_lr:
        linear.add_(pull * lr).addcmul_(after - before, var, value=-1)
        l1, quadratic = l1 * lr, after.add_(2 * l2 * lr)
    else:
        linear.add_(pull).addcmul_((after - before).div_(lr), var, value=-1)
        quadratic = after.div_(lr).add_(2 * l2)
    torch.div(_shrink(linear, l1).neg_(), quadratic, out=var)


_FTRL_ATTRS = "use_locking: bool = False, multiply_linear_by_lr: bool = False"
_FTRL_REFS = "var: ref T, accum: ref T, linear: ref T, grad: T"
dense(f"ApplyFtrl({_FTRL_REFS}, lr: T, l1: T, l2: T, lr_power: T; {_FTRL_ATTRS}) -> (out: ref T)", _ftrl)
sparse(
    f"SparseApplyFtrl({_FTRL_REFS}, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T; {_FTRL_ATTRS}) "
    "-> (out: ref T)",
    _ftrl,
)
dense(
    f"ApplyFtrlV2({_FTRL_REFS}, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T; {_FTRL_ATTRS}) -> (out: ref T)",
    _ftrl_v2,
)
sparse(
    f"SparseApplyFtrlV2({_FTRL_REFS}, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T; "
    f"{_FTRL_ATTRS}) -> (out: ref T)",
    _ftrl_v2,
)


# ---- sign-based updates


def _sign_agreement(m, beta, grad):
    m.lerp_(grad, _rest(beta, m))
    return grad.sign().mul_(m.sign())


def _scaled_step(var, scale, lr, grad):
    if on_host(var):
        var.addcmul_(scale, grad, value=-lr.item())
    else:
        var.addcmul_(scale, grad * lr, value=-1)


def _add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    agreement = _sign_agreement(m, beta, grad)
    if on_host(var):
        scale = torch.add(alpha, agreement, alpha=sign_decay.item())
    else:
        scale = agreement.mul_(sign_decay).add_(alpha)
    _scaled_step(var, scale, lr, grad)


def _power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    _scaled_step(var, _sign_agreement(m, beta, grad).mul_(sign_decay * logbase).exp_(), lr, grad)


dense(
    "ApplyAddSign(var: ref T, m: ref T, lr: T, alpha: T, sign_decay: T, beta: T, grad: T; use_locking: bool = False) "
    "-> (out: ref T)",
    _add_sign,
)  # fmt: skip
dense(
    "ApplyPowerSign(var: ref T, m: ref T, lr: T, logbase: T, sign_decay: T, beta: T, grad: T; "
    "use_locking: bool = False) -> (out: ref T)",
    _power_sign,
)  # fmt: skip

update_together.declare({"gradient_descent": gradient_descent, "momentum": momentum, "adam": adam, "adagrad": adagrad})
