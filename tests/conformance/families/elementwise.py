"""One and two inputs, element by element."""

from __future__ import annotations

from functools import partial

import numpy as np
from conformance.call import Call
from conformance.draw import Draw, Tensor

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BesselI0e BesselI1e Ceil Cos Cosh Digamma Elu Erf Erfc Erfinv Exp Expm1 "
    "Floor Inv Invert IsFinite IsInf IsNan Lgamma Log Log1p LogicalNot Ndtri Neg Reciprocal Relu Relu6 Rint Round Rsqrt "
    "Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh ZerosLike OnesLike Identity Snapshot"
    " StopGradient PopulationCount Conj Imag Real Angle ComplexAbs PreventGradient CheckNumerics LeakyRelu L2Loss"
).split()
BINARY = (
    "Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow Maximum Minimum "
    "SquaredDifference Xdivy Xlogy Xlog1py Atan2 NextAfter BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift Equal NotEqual "
    "Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr Igamma Igammac Zeta Polygamma Complex"
).split()
SAME = (
    "EluGrad ReluGrad Relu6Grad SeluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad SoftplusGrad "
    "SoftsignGrad LeakyReluGrad ApproximateEqual"
).split()
POSITIVE = ("Igamma", "Igammac", "Zeta", "Polygamma", "Digamma", "Lgamma")


def unary(op: str, d: Draw) -> Call:
    attr = "T"
    dtype = {
        "LogicalNot": "bool",
        "Angle": "complex64",
        "Real": "complex64",
        "Imag": "complex64",
        "ComplexAbs": "complex64",
    }.get(op)
    kind = "positive" if op in POSITIVE else "any"
    shape = d.shape()
    attrs = {"message": "bad"} if op == "CheckNumerics" else {}
    if op == "LeakyRelu" and d.bool():
        attrs["alpha"] = d.choice((0.0, 0.1, 1.5))
    return d.call(op, d.values(shape, dtype or d.dtype(op, attr, but=("string",)), kind), **attrs)


def binary(op: str, d: Draw) -> Call:
    first, second = d.broadcast()
    dtype = "bool" if op.startswith("Logical") else d.dtype(op)
    if dtype == "string" and op not in ("Add", "Equal", "NotEqual"):
        dtype = "float32"
    kind = "positive" if op in POSITIVE else "any"
    y = d.values(second, dtype, kind)
    if op == "Pow" and dtype.startswith(("int", "uint")) and d.bool():
        y = Tensor(np.abs(y.array) % 4, dtype)
    return d.call(op, d.values(first, dtype, kind), y)


def same(op: str, d: Draw) -> Call:
    shape = d.shape()
    dtype = d.dtype(op)
    second = d.shape() if d.rarely() else shape
    return d.call(op, d.values(shape, dtype), d.values(second, dtype))


def select(d: Draw) -> Call:
    shape = d.shape()
    dtype = d.dtype("Select")
    condition = d.choice((shape, shape[:1], ()))
    return d.call("Select", d.values(condition, "bool"), d.values(shape, dtype), d.values(shape, dtype))


def select_v2(d: Draw) -> Call:
    dtype = d.dtype("SelectV2")
    a, b, c = d.broadcast(3)
    return d.call("SelectV2", d.values(a, "bool"), d.values(b, dtype), d.values(c, dtype))


def cast(d: Draw) -> Call:
    known = (
        *"float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split(),
    )
    source, target = d.choice(known), d.choice(known)
    whole = target.startswith(("int", "uint"))
    negative = target.startswith("uint") and source.startswith(("float", "bfloat", "complex"))
    kind = "positive" if negative else "plain" if whole and not source.startswith(("int", "uint")) else "any"
    return d.call("Cast", d.values(d.shape(), source, kind), DstT=target)


def clip(d: Draw) -> Call:
    shape = d.shape()
    dtype = d.dtype("ClipByValue")
    low = shape if d.bool() else ()
    return d.call("ClipByValue", d.values(shape, dtype), d.values(low, dtype), d.values(low, dtype))


def add_n(d: Draw) -> Call:
    shape, dtype = d.shape(), d.dtype("AddN", but=("variant",))
    return d.call("AddN", [d.values(shape, dtype) for _ in range(d.int(1, 4))])


def bitcast(d: Draw) -> Call:
    known = (
        "float32",
        "int32",
        "int64",
        "float64",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "float16",
        "complex64",
        "uint32",
    )
    return d.call(
        "Bitcast", d.values(d.shape(0, 2) + d.choice(((), (2,), (4,), (8,))), d.choice(known)), type=d.choice(known)
    )


def betainc(d: Draw) -> Call:
    shape = d.shape()
    x = d.values(shape, "float64", "unit")
    return d.call(
        "Betainc", *(d.values(shape, "float64", "positive") for _ in range(2)), Tensor(np.abs(x.array)), gradient=False
    )


def bias_add(d: Draw) -> Call:
    shape, last, dtype = d.shape(2, 5), d.bool(), d.dtype("BiasAdd")
    return d.call(
        "BiasAdd",
        d.values(shape, dtype),
        d.values((shape[-1 if last else 1],), dtype),
        data_format="NHWC" if last else "NCHW",
    )


def bias_add_grad(d: Draw) -> Call:
    return d.call(
        "BiasAddGrad", d.values(d.shape(2, 5), d.dtype("BiasAddGrad")), data_format=d.choice(("NHWC", "NCHW"))
    )


OPS = {
    **{op: partial(unary, op) for op in UNARY},
    **{op: partial(binary, op) for op in BINARY},
    **{op: partial(same, op) for op in SAME},
    "Select": select,
    "SelectV2": select_v2,
    "Cast": cast,
    "ClipByValue": clip,
    "AddN": add_n,
    "Bitcast": bitcast,
    "Betainc": betainc,
    "BiasAdd": bias_add,
    "BiasAddGrad": bias_add_grad,
}
