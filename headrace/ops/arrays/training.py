"""The optimizers' updates of small variables: the rules of `headrace.ops.training` on arrays.

Each rule is a function of buffers that it changes in place.  A scalar taken as it comes, an array of no dimensions, costs half
as much in a ufunc as a Python number does, so numbers that a rule works out are made such arrays.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.ops._update_together import different_shapes
from headrace.ops.arrays._declare import on_arrays
from headrace.ops.arrays._update import MANY, TYPES, apply

_ONE = np.array(1, np.float32)
_array, _add, _subtract, _multiply, _divide, _sqrt = np.array, np.add, np.subtract, np.multiply, np.divide, np.sqrt


# ---- parts of rules


def _approach(average, value, share, spare):
    """Moves a running average so far towards a value; ``spare`` may be the value."""
    _subtract(value, average, spare)
    _add(average, _multiply(spare, share, spare), average)


def _rest(x, like):
    return _array(1 - float(x), like.dtype)


def _shrink(value, threshold, out):
    """Moves values towards zero by ``threshold``, stopping there; ``out`` is another array."""
    dtype = value.dtype
    return _subtract(value, value.clip(_array(-threshold, dtype), _array(threshold, dtype), out), out)


def _over_root(x, squares, spare):
    return _divide(x, _sqrt(squares, spare), spare)


# ---- gradient descent and momentum


@on_arrays("ApplyGradientDescent", most=MANY, saves=4, T=TYPES)
def _gradient_descent(var, alpha, delta, use_locking):
    if use_locking:
        with var.lock:
            return _gradient_descent(var, alpha, delta, False)
    buffer = var.array
    if buffer.shape != delta.shape:
        raise different_shapes(buffer, delta)
    _subtract(buffer, _multiply(delta, alpha), buffer)
    return var


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    rate = float(alpha)
    step = _multiply(delta, alpha)
    _subtract(var, step, var)
    _shrink(var, float(l1) * rate, step)
    _divide(step, _array(1 + float(l2) * rate, var.dtype), var)


def _momentum(var, accum, lr, grad, momentum, use_nesterov):
    _add(_multiply(accum, momentum, accum), grad, accum)
    if use_nesterov:
        step = _multiply(accum, momentum)
        step = _multiply(_add(step, grad, step), lr, step)
    else:
        step = _multiply(accum, lr)
    _subtract(var, step, var)


apply("ProximalGradientDescent", _proximal_gradient_descent)
apply("Momentum", _momentum, saves=8)

# ---- adam and its relatives


def _adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    alpha = _array(float(lr) * math.sqrt(1 - float(beta2_power)) / (1 - float(beta1_power)), var.dtype)
    fresh = _rest(beta1, var)
    step = np.empty_like(var)
    _approach(m, grad, fresh, step)
    _approach(v, _multiply(grad, grad, step), _rest(beta2, var), step)
    _add(_sqrt(v, step), epsilon, step)
    if use_nesterov:
        ahead = _multiply(grad, fresh)
        _divide(_add(ahead, _multiply(m, beta1), ahead), step, step)
    else:
        _divide(m, step, step)
    _subtract(var, _multiply(step, alpha, step), var)


def _adamax(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    rate = _divide(lr, _rest(beta1_power, var))
    step = np.empty_like(var)
    _approach(m, grad, _rest(beta1, var), step)
    np.maximum(_multiply(v, beta2, v), np.abs(grad, step), out=v)
    _divide(m, _add(v, epsilon, step), step)
    _subtract(var, _multiply(step, rate, step), var)


apply("Adam", _adam, saves=12)
apply("AdaMax", _adamax)

# ---- adagrad


def _adagrad(var, accum, lr, grad, update_slots):
    step = np.empty_like(var)
    if update_slots:
        _add(accum, _multiply(grad, grad, step), accum)
    _subtract(var, _multiply(_over_root(grad, accum, step), lr, step), var)


def _adagrad_v2(var, accum, lr, epsilon, grad, update_slots):
    step = np.empty_like(var)
    if update_slots:
        _add(accum, _multiply(grad, grad, step), accum)
    _divide(grad, _add(_sqrt(accum, step), epsilon, step), step)
    _subtract(var, _multiply(step, lr, step), var)


def _proximal_adagrad(var, accum, lr, l1, l2, grad):
    rate = _multiply(grad, grad)
    _over_root(lr, _add(accum, rate, accum), rate)
    prox = _multiply(grad, rate)
    _subtract(var, prox, prox)
    penalty = _multiply(rate, l1)
    np.minimum(np.maximum(prox, -penalty), penalty, out=penalty)
    _multiply(rate, l2, rate)
    _divide(_subtract(prox, penalty, prox), _add(rate, _ONE, rate), var)


def _adagrad_da(var, gradients, squares, grad, lr, l1, l2, global_step):
    rate, steps = float(lr), int(global_step)
    spare = _multiply(grad, grad)
    _add(gradients, grad, gradients)
    _add(squares, spare, squares)
    _shrink(gradients, float(l1) * steps, var)
    _add(_sqrt(squares, spare), _array(float(l2) * steps * rate, var.dtype), spare)
    _divide(_multiply(var, _array(-rate, var.dtype), var), spare, var)


apply("Adagrad", _adagrad, saves=8)
apply("AdagradV2", _adagrad_v2)
apply("ProximalAdagrad", _proximal_adagrad)
apply("AdagradDA", _adagrad_da)

# ---- adadelta and rmsprop


def _adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    fresh = _rest(rho, var)
    spare = _multiply(grad, grad)
    _approach(accum, spare, fresh, spare)
    update = _add(accum_update, epsilon)
    _divide(update, _add(accum, epsilon, spare), update)
    _multiply(_sqrt(update, update), grad, update)
    _subtract(var, _multiply(update, lr, spare), var)
    _approach(accum_update, _multiply(update, update, update), fresh, update)


def _rmsprop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    step = _multiply(grad, grad)
    _approach(ms, step, _rest(rho, var), step)
    _over_root(grad, _add(ms, epsilon, step), step)
    _add(_multiply(mom, momentum, mom), _multiply(step, lr, step), mom)
    _subtract(var, mom, var)


def _centered_rmsprop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    fresh = _rest(rho, var)
    step = _multiply(grad, grad)
    _approach(ms, step, fresh, step)
    _approach(mg, grad, fresh, step)
    _multiply(mg, mg, step)
    _add(_subtract(ms, step, step), epsilon, step)
    _over_root(grad, step, step)
    _add(_multiply(mom, momentum, mom), _multiply(step, lr, step), mom)
    _subtract(var, mom, var)


apply("Adadelta", _adadelta)
apply("RMSProp", _rmsprop)
apply("CenteredRMSProp", _centered_rmsprop)

# ---- ftrl


def _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power, multiply_linear_by_lr):
    _ftrl_step(var, accum, linear, grad, grad, lr, l1, l2, lr_power, multiply_linear_by_lr)


def _ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power, multiply_linear_by_lr):
    pull = _multiply(var, _array(2 * float(l2_shrinkage), var.dtype))
    _ftrl_step(var, accum, linear, grad, _add(pull, grad, pull), lr, l1, l2, lr_power, multiply_linear_by_lr)


def _ftrl_step(var, accum, linear, grad, pull, lr, l1, l2, lr_power, multiply_linear_by_lr):
    exponent, rate, threshold = -float(lr_power), float(lr), float(l1)
    change, after = _power(accum, exponent), _multiply(grad, grad)
    _add(accum, after, accum)
    after = _power(accum, exponent, after)
    _multiply(_subtract(change, after, change), var, change)
    if multiply_linear_by_lr:
        pull, threshold, factor = _multiply(pull, lr), threshold * rate, -1.0
    else:
        factor = -rate
        _divide(change, lr, change)
    _add(linear, _add(change, pull, change), linear)
    _shrink(linear, threshold, change)
    _add(after, _array(2 * float(l2) * rate, var.dtype), after)
    _divide(_multiply(change, _array(factor, var.dtype), change), after, var)


def _power(x, exponent, out=None):
    """The usual exponent is a half, and a root takes a tenth of the time of a power."""
    return _sqrt(x, out) if exponent == 0.5 else np.power(x, _array(exponent, x.dtype), out)


apply("Ftrl", _ftrl)
apply("FtrlV2", _ftrl_v2)

# ---- sign-based updates: longer steps where gradient and average agree in sign.  Where the average is zero they do not
# disagree either; where the gradient is, so is the step.


def _add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    rate = float(lr)
    step = np.empty_like(var)
    _approach(m, grad, _rest(beta, var), step)
    np.copysign(grad, m, step)  # the gradient times both signs
    if np.count_nonzero(m) < m.size:
        step[m == 0] = 0
    _multiply(step, _array(rate * float(sign_decay), var.dtype), step)
    _add(step, _multiply(grad, _array(rate * float(alpha), var.dtype)), step)
    _subtract(var, step, var)


def _power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    """The power has three values only."""
    rate, power = float(lr), float(logbase) * float(sign_decay)
    _approach(m, grad, _rest(beta, var), np.empty_like(var))
    differ = np.not_equal(np.signbit(grad), np.signbit(m))
    shorter, longer = _array(rate * float(np.exp(-power)), var.dtype), _array(rate * float(np.exp(power)), var.dtype)
    step = np.where(differ, shorter, longer)
    if np.count_nonzero(m) < m.size:
        step[m == 0] = rate
    _subtract(var, _multiply(step, grad, step), var)


apply("AddSign", _add_sign)
apply("PowerSign", _power_sign)
