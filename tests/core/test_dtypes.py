"""Expected values were checked against TensorFlow's own `tf.dtypes`, apart from bfloat16 in numpy."""

import copy
import pickle

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype

ENUMS = {
    name: enum
    for enum, name in enumerate(
        "float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 "
        "quint16 uint16 complex128 float16 resource variant uint32 uint64".split(),
        start=1,
    )
}


@pytest.mark.parametrize(("name", "enum"), ENUMS.items())
def test_every_type_has_its_name_number_and_reference(name: str, enum: int) -> None:
    dtype, ref = getattr(dtypes, name), getattr(dtypes, f"{name}_ref")
    assert (dtype.name, dtype.as_datatype_enum) == (name, enum)
    assert (ref.name, ref.as_datatype_enum) == (f"{name}_ref", enum + 100)
    assert dtype._as_ref is ref and ref._as_ref is ref and ref.base_dtype is dtype and dtype.base_dtype is dtype
    assert ref._is_ref_dtype and ref.is_ref_dtype and not dtype._is_ref_dtype
    for same in (dtype, name, enum):
        assert as_dtype(same) is dtype
    assert as_dtype(f"{name}_ref") is as_dtype(enum + 100) is ref
    assert DType(enum) is dtype
    assert ref.as_numpy_dtype == dtype.as_numpy_dtype and ref.is_integer == dtype.is_integer


def test_one_instance_survives_copy_and_pickle() -> None:
    for dtype in (dtypes.float32, dtypes.int32_ref):
        assert copy.deepcopy(dtype) is copy.copy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (float, dtypes.float32),
        (bool, dtypes.bool),
        (object, dtypes.string),
        ("float", dtypes.float32),
        ("double", dtypes.float64),
        ("half", dtypes.float16),
        ("half_ref", dtypes.float16_ref),
        ("float_ref", dtypes.float32_ref),
        (np.float64, dtypes.float64),
        (np.longlong, dtypes.int64),
        (np.ulonglong, dtypes.uint64),
        (np.intc, dtypes.int32),
        (np.dtype("int16"), dtypes.int16),
        (np.dtype(">i4"), dtypes.int32),
        (np.dtype("S3"), dtypes.string),
        (np.dtype("U3"), dtypes.string),
        (np.str_, dtypes.string),
        (np.dtype(object), dtypes.string),
        (np.dtype(bool), dtypes.bool),
        (np.ones(2), dtypes.float64),
        (np.int8(3), dtypes.int8),
        (dtypes.qint8.as_numpy_dtype, dtypes.qint8),
    ],
)
def test_as_dtype_accepts(given: object, expected: DType) -> None:
    assert as_dtype(given) is expected
    assert expected == given


@pytest.mark.parametrize(
    "given", [None, int, complex, str, list, "int", "<f4", "", 0, 24, 99, -1, True, 1.0, (), np.dtype("M8[s]")]
)
def test_as_dtype_refuses_and_names_what_it_received(given: object) -> None:
    with pytest.raises(TypeError, match="Cannot convert") as error:
        as_dtype(given)
    assert repr(given) in str(error.value)
    assert dtypes.float32 != given


def test_unknown_number_is_not_a_dtype() -> None:
    with pytest.raises(TypeError, match="999"):
        DType(999)


def test_equality_hash_and_text() -> None:
    assert dtypes.float32 == "float32" == dtypes.float32
    assert dtypes.float32 == np.float32 and dtypes.float32 == 1
    assert dtypes.float32 != dtypes.float32_ref and dtypes.float32 != dtypes.float64
    assert {dtypes.float32: "a"}[as_dtype("float")] == "a"
    assert hash(dtypes.float32) == int(dtypes.float32) == 1
    assert str(dtypes.float32) == "<dtype: 'float32'>"
    assert repr(dtypes.float32) == "tf.float32"


def test_kinds() -> None:
    def names(attribute: str) -> set[str]:
        return {d.name for d in dtypes.ANY if getattr(d, attribute)}

    assert names("is_floating") == {"float16", "bfloat16", "float32", "float64"}
    assert names("is_complex") == {"complex64", "complex128"}
    assert names("is_integer") == {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    assert names("is_unsigned") == {"uint8", "uint16", "uint32", "uint64"}
    assert names("is_quantized") == {"qint8", "quint8", "qint16", "quint16", "qint32"}
    assert names("is_bool") == {"bool"}
    assert {d.name for d in dtypes.ANY} - names("is_numpy_compatible") == {"resource", "variant"}


def test_type_sets() -> None:
    assert len(set(dtypes.ANY)) == len(dtypes.ANY) == len(ENUMS)
    assert set(dtypes.NUMERIC) == set(dtypes.REAL) | set(dtypes.COMPLEX)
    assert set(dtypes.REAL) == set(dtypes.FLOATING) | set(dtypes.INTEGER)
    assert set(dtypes.FLOAT_OR_COMPLEX) == set(dtypes.FLOATING) | set(dtypes.COMPLEX)
    assert set(dtypes.INDEX) == {dtypes.int32, dtypes.int64}
    assert dtypes.bool not in dtypes.NUMERIC and dtypes.string not in dtypes.NUMERIC


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 4), ("bfloat16", 2), ("bool", 1), ("complex128", 16), ("qint32", 4), ("resource", 1), ("variant", 1)],
)
def test_size(dtype: str, size: int) -> None:
    assert as_dtype(dtype).size == size


def test_extremes_and_limits() -> None:
    assert (dtypes.int8.min, dtypes.int8.max) == (-128, 127)
    assert dtypes.float32.min == np.finfo(np.float32).min
    assert float(dtypes.bfloat16.max) == pytest.approx(3.38953e38, rel=1e-5)
    assert dtypes.uint64.limits == (0, 2**64 - 1) and dtypes.int8.limits == (0, 127)
    assert dtypes.float32.limits == (0, 1) and dtypes.bool.limits == (0, True)
    for dtype in (dtypes.string, dtypes.bool, dtypes.complex64, dtypes.qint8):
        with pytest.raises(TypeError, match="minimum"):
            dtype.min  # noqa: B018
        with pytest.raises(TypeError, match="maximum"):
            dtype.max  # noqa: B018
    for dtype in (dtypes.float16, dtypes.bfloat16, dtypes.string):
        with pytest.raises(ValueError, match="limits"):
            dtype.limits  # noqa: B018


def test_real_dtype() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32 is dtypes.complex64_ref.real_dtype
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32 and dtypes.float32_ref.real_dtype is dtypes.float32_ref


def test_compatibility_lets_a_reference_stand_for_a_value_only() -> None:
    assert dtypes.float32.is_compatible_with(dtypes.float32_ref)
    assert not dtypes.float32_ref.is_compatible_with(dtypes.float32)
    assert dtypes.float32_ref.is_compatible_with("float32_ref")
    assert not dtypes.float32.is_compatible_with(np.float64)


def test_bfloat16_is_seen_as_float32_by_numpy() -> None:
    assert dtypes.bfloat16.as_numpy_dtype is np.float32
    assert as_dtype(np.float32) is dtypes.float32


def test_the_type_of_a_resource_variables_handle() -> None:
    handle, other = dtypes.float32._as_handle, dtypes.int32._as_handle
    assert (
        handle == dtypes.resource == handle == other
        and hash(handle) == hash(dtypes.resource)
        and handle != dtypes.float32
    )
    assert handle.name == "resource" and int(handle) == 20 and handle.base_dtype is dtypes.float32
    assert handle is not other and handle._is_ref_dtype and not handle.is_ref_dtype
    assert pickle.loads(pickle.dumps(handle)) is handle and as_dtype("resource") is dtypes.resource
