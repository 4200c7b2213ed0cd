"""Training updates, each as its op; assignments."""

import numpy as np

from benchmarks._families.case import add, normal, positive

U = "training updates"
SMALL = np.float32(1e-3)


def _apply(op, slots, *scalars, **attrs):
    """An op on a variable, that many slots and a gradient; the other inputs are constants, by name."""

    def build(tf, *given):
        names = ("var", *slots, "grad")
        refs = {name: v.op.outputs[0] if name != "grad" else v for name, v in zip(names, given, strict=False)}
        refs.update({name: tf.constant(np.float32(value)) for name, value in dict(scalars).items()})
        if op in ("ApplyGradientDescent", "ApplyProximalGradientDescent"):
            refs["delta"] = refs.pop("grad")
        if "DA" in op:
            refs["global_step"] = tf.constant(np.int64(1))
        if len(given) > len(names):
            refs["indices"] = given[-1]
        return getattr(tf.raw_ops, op)(**refs, **attrs)

    return build


def _dense(slots):
    return lambda n, r: (normal(r, n), *(positive(r, n) for _ in slots), normal(r, n) * SMALL)


def _rows(slots):
    """A quarter of the rows of 64."""
    return lambda n, r: (
        normal(r, n // 64, 64), *(positive(r, n // 64, 64) for _ in slots), normal(r, n // 256, 64) * SMALL,
        r.permutation(n // 64)[: n // 256].astype(np.int32),
    )  # fmt: skip


LR = ("lr", SMALL)
L1, L2 = ("l1", 1e-4), ("l2", 1e-4)
RULES = {
    "GradientDescent": ((), [("alpha", SMALL)]),
    "Momentum": (("accum",), [LR, ("momentum", 0.9)]),
    "Adagrad": (("accum",), [LR]),
    "ProximalGradientDescent": ((), [("alpha", SMALL), L1, L2]),
    "ProximalAdagrad": (("accum",), [LR, L1, L2]),
    "AdagradDA": (("gradient_accumulator", "gradient_squared_accumulator"), [LR, L1, L2]),
    "Adadelta": (("accum", "accum_update"), [LR, ("rho", 0.95), ("epsilon", 1e-8)]),
    "Adam": (
        ("m", "v"),
        [("beta1_power", 0.5), ("beta2_power", 0.5), LR, ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8)],
    ),
    "AdaMax": (("m", "v"), [("beta1_power", 0.5), LR, ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8)]),
    "RMSProp": (("ms", "mom"), [LR, ("rho", 0.9), ("momentum", 0.9), ("epsilon", 1e-3)]),
    "CenteredRMSProp": (("mg", "ms", "mom"), [LR, ("rho", 0.9), ("momentum", 0.9), ("epsilon", 10.0)]),
    "Ftrl": (("accum", "linear"), [LR, L1, L2, ("lr_power", -0.5)]),
    "AddSign": (("m",), [LR, ("alpha", 1.0), ("sign_decay", 0.9), ("beta", 0.9)]),
    "PowerSign": (("m",), [LR, ("logbase", 1.0), ("sign_decay", 0.9), ("beta", 0.9)]),
}
SPARSE = ("Momentum", "Adagrad", "Ftrl")

for _name, (_slots, _scalars) in RULES.items():
    add(U, f"Apply{_name}", _apply(f"Apply{_name}", _slots, *_scalars), _dense(_slots), tolerance=1e-3)
for _name in SPARSE:
    _slots, _scalars = RULES[_name]
    add(U, f"SparseApply{_name}", _apply(f"SparseApply{_name}", _slots, *_scalars), _rows(_slots), tolerance=1e-3)

A = "assignment"
add(A, "Assign", lambda tf, v, x: tf.assign(v, x), lambda n, r: (normal(r, n), normal(r, n)))
add(A, "AssignAdd", lambda tf, v, x: tf.assign_add(v, x), lambda n, r: (normal(r, n), normal(r, n) * SMALL))
