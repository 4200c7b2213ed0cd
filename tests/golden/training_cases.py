"""What `make_cases.py` runs with TensorFlow and `test_training.py` with Headrace: the same updates, twenty steps.

A case is an op, its scalars, its attributes, and how its variables start: "normal", "zero" or a positive number.  TensorFlow has
the ops that start with "_" on resource variables only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

STEPS = 20
ROWS = 5
SHAPE = (ROWS, 3)
BETA1, BETA2 = 0.9, 0.99


class Case(NamedTuple):
    """``refs`` names the variables and how each starts; ``scalars`` the hyper-parameters."""

    op: str
    refs: dict[str, Any]
    scalars: dict[str, float]
    attrs: dict[str, Any]
    grad: str = "grad"

    @property
    def sparse(self) -> bool:
        return self.op.startswith(("Sparse", "_Sparse"))

    @property
    def name(self) -> str:
        return "-".join([self.op, *(f"{k}={v}" for k, v in sorted({**self.scalars, **self.attrs}.items()))])


def _both(op: str, refs: dict[str, Any], scalars: dict[str, float], attrs: dict[str, Any] | None = None) -> list[Case]:
    return [Case(op, refs, scalars, attrs or {}), Case(f"Sparse{op}", refs, scalars, attrs or {})]


_ADAM = {"var": "normal", "m": "zero", "v": "zero"}
_ADAM_SCALARS = {"lr": 0.01, "beta1": BETA1, "beta2": BETA2, "epsilon": 1e-8}
_ADAGRAD = {"var": "normal", "accum": 0.1}
_RMS = {"var": "normal", "ms": 1.0, "mom": "zero"}
_RMS_SCALARS = {"lr": 0.05, "rho": 0.9, "momentum": 0.3, "epsilon": 1e-10}
_CENTERED = {"var": "normal", "mg": "zero", "ms": 1.0, "mom": "zero"}
_FTRL = {"var": "normal", "accum": 0.1, "linear": "zero"}
_FTRL_SCALARS = {"lr": 0.1, "l1": 0.05, "l2": 0.02, "lr_power": -0.5}
_ADADELTA = {"var": "normal", "accum": "zero", "accum_update": "zero"}
_SIGN = {"var": "normal", "m": "zero"}
_SIGN_SCALARS = {"lr": 0.1, "sign_decay": 0.9, "beta": 0.9}
_DA = {"var": "normal", "gradient_accumulator": "zero", "gradient_squared_accumulator": 0.1}

CASES: list[Case] = [
    Case("ApplyGradientDescent", {"var": "normal"}, {"alpha": 0.1}, {}, "delta"),
    Case("ApplyProximalGradientDescent", {"var": "normal"}, {"alpha": 0.1, "l1": 0.05, "l2": 0.1}, {}, "delta"),
    Case("SparseApplyProximalGradientDescent", {"var": "normal"}, {"alpha": 0.1, "l1": 0.05, "l2": 0.1}, {}),
    Case("SparseApplyProximalGradientDescent", {"var": "normal"}, {"alpha": 0.1, "l1": 0.0, "l2": 0.1}, {}),
    *_both("ApplyMomentum", {"var": "normal", "accum": "zero"}, {"lr": 0.1, "momentum": 0.9}),
    *_both("ApplyMomentum", {"var": "normal", "accum": "zero"}, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    Case("_ApplyKerasMomentum", {"var": "normal", "accum": "zero"}, {"lr": 0.1, "momentum": 0.9}, {}),
    Case("_ApplyKerasMomentum", {"var": "normal", "accum": "zero"}, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    Case("_SparseApplyKerasMomentum", {"var": "normal", "accum": "zero"}, {"lr": 0.1, "momentum": 0.9}, {}),
    Case("_ApplyAdamWithAmsgrad", {**_ADAM, "vhat": "zero"}, _ADAM_SCALARS, {}),
    Case("ApplyAdam", _ADAM, _ADAM_SCALARS, {}),
    Case("ApplyAdam", _ADAM, _ADAM_SCALARS, {"use_nesterov": True}),
    Case("ApplyAdam", _ADAM, _ADAM_SCALARS, {"use_locking": True}),
    Case("ApplyAdaMax", _ADAM, _ADAM_SCALARS, {}),
    *_both("ApplyAdagrad", _ADAGRAD, {"lr": 0.1}),
    *_both("ApplyAdagrad", _ADAGRAD, {"lr": 0.1}, {"update_slots": False}),
    *_both("ApplyAdagradV2", _ADAGRAD, {"lr": 0.1, "epsilon": 1e-3}),
    *_both("ApplyProximalAdagrad", _ADAGRAD, {"lr": 0.1, "l1": 0.05, "l2": 0.1}),
    *_both("ApplyProximalAdagrad", _ADAGRAD, {"lr": 0.1, "l1": 0.0, "l2": 0.1}),
    *_both("ApplyAdagradDA", _DA, {"lr": 0.1, "l1": 0.02, "l2": 0.1}),
    *_both("ApplyAdagradDA", _DA, {"lr": 0.1, "l1": 0.0, "l2": 0.1}),
    *_both("ApplyAdadelta", _ADADELTA, {"lr": 1.0, "rho": 0.9, "epsilon": 1e-4}),
    *_both("ApplyRMSProp", _RMS, _RMS_SCALARS),
    *_both("ApplyCenteredRMSProp", _CENTERED, {**_RMS_SCALARS, "epsilon": 1e-3}),
    *_both("ApplyFtrl", _FTRL, _FTRL_SCALARS),
    *_both("ApplyFtrl", _FTRL, {**_FTRL_SCALARS, "lr_power": -0.7}),
    *_both("ApplyFtrl", _FTRL, _FTRL_SCALARS, {"multiply_linear_by_lr": True}),
    *_both("ApplyFtrlV2", _FTRL, {**_FTRL_SCALARS, "l2_shrinkage": 0.03}),
    Case("ApplyAddSign", _SIGN, {**_SIGN_SCALARS, "alpha": 1.0}, {}),
    Case("ApplyPowerSign", _SIGN, {**_SIGN_SCALARS, "logbase": 1.0}, {}),
]  # fmt: skip


def start(case: Case) -> dict[str, np.ndarray]:
    """The variables' first values."""
    random = np.random.RandomState(7)
    values = {}
    for name, how in case.refs.items():
        if how == "normal":
            values[name] = random.standard_normal(SHAPE).astype(np.float32)
        else:
            values[name] = np.full(SHAPE, 0.0 if how == "zero" else how, np.float32)
    return values


def step_inputs(case: Case, step: int) -> dict[str, np.ndarray]:
    """Everything else the op takes at step 0, 1, ...: gradient, row numbers, scalars, powers, the global step."""
    random = np.random.RandomState(100 + step)
    found = {name: np.float32(value) for name, value in case.scalars.items()}
    rows = np.sort(random.permutation(ROWS)[:3]).astype(np.int32)
    found[case.grad] = random.standard_normal((3 if case.sparse else ROWS, *SHAPE[1:])).astype(np.float32)
    if case.sparse:
        found["indices"] = rows
    if case.op in ("ApplyAdam", "ApplyAdaMax", "_ApplyAdamWithAmsgrad"):
        found["beta1_power"] = np.float32(BETA1 ** (step + 1))
    if case.op in ("ApplyAdam", "_ApplyAdamWithAmsgrad"):
        found["beta2_power"] = np.float32(BETA2 ** (step + 1))
    if case.op.endswith("AdagradDA"):
        found["global_step"] = np.int64(step + 1)
    return found
