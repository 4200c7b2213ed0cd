"""The assertions of ``tf.test.TestCase`` beyond unittest's: arrays, tolerances by dtype, errors of ops.

Values may be anything numpy takes, evaluated tensors, or Tensors, which are evaluated through the test case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.core import dtypes
from headrace.core.device import canonical_name
from headrace.core.errors import OpError
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlicesValue

if TYPE_CHECKING:
    from unittest import TestCase as _Base
else:
    _Base = object

Predicate = Callable[[BaseException], Any]


class Assertions(_Base):
    """Mixed into a ``unittest.TestCase`` that has ``evaluate``."""

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in the structure given."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """An assertion of absl's TestCase, on which TensorFlow's is built."""
        if not name.startswith(("assert", "_AssertRaises")):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from absl.testing import absltest  # defines flags, so not before it is needed

        attribute = getattr(absltest.TestCase, name)
        return MethodType(attribute, self) if isinstance(attribute, FunctionType) else attribute

    def _GetNdArray(self, a: Any) -> Any:
        """The value of a tensor, or anything else, as an array; TensorFlow's name, which users' own assertions call."""
        if hasattr(a, "_as_graph_element"):
            a = self.evaluate(a)
        elif hasattr(a, "numpy") and callable(a.numpy):
            a = a.numpy()
        if isinstance(a, IndexedSlicesValue):
            a = a.values
        if isinstance(a, np.ndarray):
            return a
        try:
            return np.array(a)
        except ValueError as e:
            if "inhomogeneous" not in str(e):
                raise
            return np.array(a, dtype=object)

    # ---- numbers and arrays that are near

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err, or both are equal (infinities included)."""
        f1, f2 = float(np.squeeze(f1)), float(np.squeeze(f2))
        suffix = f" ({msg})" if msg is not None else ""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1:f} != {f2:f} +/- {err:f}{suffix}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """Two sequences of numbers, element by element."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg=msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """The Euclidean norm of the difference is below err."""
        self.assertTrue(self._NDArrayNear(ndarray1, ndarray2, err), msg=msg)

    def _NDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float) -> bool:
        return bool(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)) < err)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Equal up to the tolerances, NaN equal to NaN; dicts, named tuples, lists and tuples are compared part by part."""
        self._all_close(a, b, rtol, atol, msg or "", "")

    def _all_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str, path: str) -> None:
        a = a._asdict() if hasattr(a, "_asdict") else a
        b = b._asdict() if hasattr(b, "_asdict") else b
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg}")
        if isinstance(a, Mapping):
            keys = f"mismatched keys: a{path} has keys {a.keys()}, but b{path} has keys {b.keys()}. {msg}"
            self.assertCountEqual(a.keys(), b.keys(), keys)
            for key in a:
                self._all_close(a[key], b[key], rtol, atol, msg, f"{path}[{key}]")
            return
        different = f"Mismatched value: a{path} is different from b{path}. {msg}"
        try:
            self._arrays_close(self._GetNdArray(a), self._GetNdArray(b), rtol, atol, different)
        except (ValueError, TypeError, NotImplementedError):
            if not isinstance(a, (list, tuple)):
                raise
            if len(a) != len(b):
                raise ValueError(
                    f"Mismatched length: a{path} has {len(a)} items, but b{path} has {len(b)} items. {msg}"
                ) from None
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._all_close(x, y, rtol, atol, msg, f"{path}[{i}]")

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str) -> None:
        if object in (a.dtype, b.dtype):
            raise TypeError(f"cannot tell how close {a.dtype} is to {b.dtype}. {msg}")  # ragged: compared part by part
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg}")
        if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return
        with np.errstate(invalid="ignore"):  # infinity less infinity
            apart = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
            x, y = (a[apart], b[apart]) if a.ndim else (a, b)
            gap, allowed = np.abs(x - y), atol + rtol * np.abs(y)
        self.fail(
            f"{msg}\nNot equal to tolerance rtol={rtol}, atol={atol}: {int(apart.sum())} of {a.size} elements\n"
            f"not close where = {np.nonzero(apart) if a.ndim else ()}\nnot close lhs = {x}\nnot close rhs = {y}\n"
            f"not close dif = {gap}\nnot close tol = {allowed}\ndtype = {a.dtype}, shape = {a.shape}\na:\n{a}\nb:\n{b}"
        )

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2, msg: str | None = None,
    ) -> None:  # fmt: skip
        """``assertAllClose`` with the tolerances of the coarser of the two dtypes."""
        is_brain = any(isinstance(v, Tensor) and v.dtype.base_dtype == dtypes.bfloat16 for v in (a, b))
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        if np.float32 in (a.dtype, b.dtype) or np.complex64 in (a.dtype, b.dtype):
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.float16 in (a.dtype, b.dtype):
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if is_brain:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """At least one element is not equal up to the tolerances."""
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol)
        except AssertionError:
            return
        self.fail(f"The two values are close at all elements. {msg or ''}\n{a}")

    # ---- arrays that are equal

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Both have the same shape and the same elements; NaN equals NaN."""
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        same = _strings(a) == _strings(b)
        if a.dtype.kind in "fc" and b.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if not np.all(same):
            apart = np.logical_not(same)
            x, y = (a[apart], b[apart]) if a.ndim else (a, b)
            self.fail(
                f"{msg or 'Arrays are not equal'}\nnot equal where = {np.nonzero(apart) if a.ndim else ()}\n"
                f"not equal lhs = {x!r}\nnot equal rhs = {y!r}\na:\n{a}\nb:\n{b}"
            )

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements. {msg or ''}\n{a}")

    # ---- every element

    def _all(self, holds: Any, what: str, value: Any) -> None:
        if not np.all(holds):
            where = np.argwhere(np.logical_not(holds))[:3].tolist()
            self.fail(f"not all elements are {what}: first at {where}\n{value}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        a = self._GetNdArray(a)
        self._all(a > comparison_target, f"greater than {comparison_target}", a)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        a = self._GetNdArray(a)
        self._all(a < comparison_target, f"less than {comparison_target}", a)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        a = self._GetNdArray(a)
        self._all(a >= comparison_target, f"at least {comparison_target}", a)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        a = self._GetNdArray(a)
        self._all(a <= comparison_target, f"at most {comparison_target}", a)

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:  # fmt: skip
        """Every element lies in the range, ends included unless open."""
        a = self._GetNdArray(target)
        if a.dtype.kind not in "iufb":
            raise AssertionError(f"The value of {target} does not have an ordered numeric type: {a.dtype}")
        above = a > lower_bound if open_lower_bound else a >= lower_bound
        below = a < upper_bound if open_upper_bound else a <= upper_bound
        text = f"in {'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        self._all(np.logical_and(above, below), text, a)

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        a = self._GetNdArray(target)
        allowed = set(expected_set)
        strange = sorted(set(a.flatten().tolist()) - allowed, key=str)
        if strange:
            self.fail(f"{len(strange)} unique element(s) are not in the set {allowed}: {strange[:10]}")

    # ---- dtypes, shapes, devices

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        dtype = target.dtype if hasattr(target, "dtype") else np.array(target).dtype
        self.assertEqual(dtypes.as_dtype(dtype).base_dtype, dtypes.as_dtype(expected_dtype))

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """The static shape of a Tensor is the shape of an array."""
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError(f"np_array must be a Numpy ndarray or Numpy scalar, got {np_array!r}")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError(f"tf_tensor must be a Tensor, got {tf_tensor!r}")
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg=msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two names of one device, however they are written."""
        first, second = canonical_name(device1), canonical_name(device2)
        self.assertEqual(first, second, f"Devices {first} and {second} are not equal. {msg or ''}")

    # ---- collections and strings

    def assertDictEqual(self, d1: Any, d2: Any, msg: Any = None) -> None:
        """Two dictionaries are equal; their values may be arrays and tensors, floating-point ones up to the tolerances."""
        try:
            super().assertDictEqual(d1, d2, msg)
        except (AssertionError, TypeError, ValueError, RuntimeError):  # arrays and tensors have no truth
            self.assertCountEqual(d1, d2, msg)
            for key, value in d1.items():
                is_floating = self._GetNdArray(value).dtype.kind == "f"
                (self.assertAllClose if is_floating else self.assertAllEqual)(value, d2[key], msg=key)

    def assertRaisesRegexp(self, *args: Any, **kwargs: Any) -> Any:
        """``assertRaisesRegex`` under its older name, which Python 3.12 has dropped."""
        return self.assertRaisesRegex(*args, **kwargs)

    def assertRegexpMatches(self, *args: Any, **kwargs: Any) -> None:
        """``assertRegex`` under its older name, which Python 3.12 has dropped."""
        self.assertRegex(*args, **kwargs)

    def assertEquals(self, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` under its older name, which Python 3.12 has dropped."""
        self.assertEqual(*args, **kwargs)

    def assertNotEquals(self, *args: Any, **kwargs: Any) -> None:
        """``assertNotEqual`` under its older name, which Python 3.12 has dropped."""
        self.assertNotEqual(*args, **kwargs)

    def assertAlmostEquals(self, *args: Any, **kwargs: Any) -> None:
        """``assertAlmostEqual`` under its older name, which Python 3.12 has dropped."""
        self.assertAlmostEqual(*args, **kwargs)

    def assertItemsEqual(self, first: Any, second: Any, msg: Any = None) -> None:
        self.assertCountEqual(first, second, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}. {msg or ''}")

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        self.assertEqual(len(container), expected_len, f"{container!r} has length {len(container)}. {msg or ''}")

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        if not len(container):
            self.fail(f"{container!r} has length of 0. {msg or ''}")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """A message equals another one of its class, or one written as text (``node { name: "x" }``)."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)) and hasattr(message, "DESCRIPTOR"):
            from google.protobuf import text_format  # comes with whatever made the message

            expected = text_format.Merge(expected, type(message)())
        if not isinstance(expected, type(message)):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(message)}.")
        if expected != message:
            self.assertMultiLineEqual(str(expected), str(message), msg)
            self.fail(msg or f"The messages differ in a way their text does not show:\n{message}")

    def assertProtoEqualsVersion(
        self, expected: str, actual: Any, producer: int | None = None, min_consumer: int | None = None,
        msg: str | None = None,
    ) -> None:  # fmt: skip
        """A GraphDef equals one written as text without its versions."""
        versions = Graph().graph_def_versions
        numbers = (
            versions.producer if producer is None else producer,
            versions.min_consumer if min_consumer is None else min_consumer,
        )
        self.assertProtoEquals(
            "versions {{ producer: {} min_consumer: {} }};\n{}".format(*numbers, expected), actual, msg=msg
        )

    # ---- errors

    @contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Any:
        """The block raises an error of the type whose text the expression finds, or for which the function is true."""
        matches = _predicate(expected_err_re_or_predicate)
        try:
            yield
        except Exception as e:
            if not isinstance(e, exception_type) or not matches(e):
                raise AssertionError(
                    f"Exception of type {type(e)}: {e} does not match {expected_err_re_or_predicate!r}"
                ) from e
        else:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """The block raises an OpError that matches."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)


def _strings(array: Any) -> Any:
    """The array with text encoded, because evaluated strings are bytes."""
    if array.dtype.kind not in "SUO":
        return array
    flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1)]
    encoded = np.empty(len(flat), dtype=object)
    encoded[:] = flat
    return encoded.reshape(array.shape)


def _predicate(expected: Any) -> Predicate:
    if callable(expected):
        return expected  # type: ignore[no-any-return]

    def matches(error: BaseException) -> Any:
        text = error.message if isinstance(error, OpError) else str(error)
        op = error.op if isinstance(error, OpError) else None
        if op is not None:
            text += f"\nCaused by: {op.name}"
        return re.search(expected, text)

    return matches
