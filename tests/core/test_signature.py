"""The signature language: what it accepts, what it says when it does not understand."""

import pytest

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.core.signature import REQUIRED, parse


def test_inputs_attributes_outputs() -> None:
    s = parse("MatMul(a: T, b: T; transpose_a: bool = False, scale: float) -> (product: T)", {"T": dtypes.FLOATING})
    assert s.name == "MatMul"
    assert [(a.name, a.type_attr, a.dtype) for a in s.inputs] == [("a", "T", None), ("b", "T", None)]
    assert [(a.name, a.kind, a.default) for a in s.attrs] == [
        ("transpose_a", "bool", False),
        ("scale", "float", REQUIRED),
    ]
    assert [a.name for a in s.inferred] == ["T"] and s.allowed == {"T": dtypes.FLOATING}
    assert str(s) == "MatMul(a: T, b: T; transpose_a: bool = False, scale: float) -> (product: T)"


def test_fixed_dtypes_host_and_ref() -> None:
    s = parse("F(size: host int32, v: ref T, w: host list(S)) -> (out: ref T)", {})
    size, v, w = s.inputs
    assert size.host and size.dtype == dtypes.int32 and not size.ref
    assert v.ref and v.type_attr == "T" and w.host and w.type_list_attr == "S" and w.is_list
    assert s.outputs[0].ref
    assert str(s) == "F(size: host int32, v: ref T, w: host list(S)) -> (out: ref T)"


def test_handles_of_resource_variables() -> None:
    s = parse("F(v: resource T, table: resource) -> (out: resource T)", {})
    v, table = s.inputs
    assert v.ref and v.resource and v.type_attr == "T" and s.outputs[0].resource
    assert not table.ref and not table.resource and table.dtype == dtypes.resource
    assert str(s) == "F(v: resource T, table: resource) -> (out: resource T)"


def test_lists() -> None:
    s = parse("F(values: N*T) -> (out: N*T)", {})
    assert s.inputs[0].number_attr == "N" and s.inputs[0].is_list
    assert sorted(a.name for a in s.inferred) == ["N", "T"]
    assert [a.kind for a in s.inferred] == ["type", "int"]


def test_a_type_may_be_an_attribute() -> None:
    s = parse("Cast(x: SrcT; DstT: type) -> (y: DstT)", {"DstT": dtypes.float32})
    assert [a.name for a in s.inferred] == ["SrcT"] and s.allowed == {"DstT": (dtypes.float32,)}


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("bool = True", True),
        ("int = -3", -3),
        ("float = 1e-3", 1e-3),
        ("string = 'a, b; c'", "a, b; c"),
        ('str = "x"', "x"),
        ("type = float32", dtypes.float32),
        ("shape = [1, None]", TensorShape([1, None])),
        ("list(int) = [1, 2]", (1, 2)),
        ("list(type) = [int32, float32]", (dtypes.int32, dtypes.float32)),
        ("list(string) = []", ()),
        ("shape = None", None),
        ("any", REQUIRED),
    ],
)
def test_defaults(text: str, default: object) -> None:
    assert parse(f"F(; a: {text}) -> ()", {}).attrs[0].default == default


@pytest.mark.parametrize(
    "text", ["F() -> ()", "F(;a: int) -> ()", "  F ( x : float32 ) -> ( ) ", "_F() -> (y: int32)", "A>B() -> ()"]
)
def test_accepted(text: str) -> None:
    parse(text, {})


@pytest.mark.parametrize(
    ("text", "constraints", "match"),
    [
        ("MatMul", {}, "not an op signature: 'MatMul'"),
        ("F(x: T)", {}, "not an op signature"),
        ("F(x) -> ()", {}, "F: expected 'name: type', got 'x'"),
        ("F(; a) -> ()", {}, "F: expected 'name: kind"),
        ("F(; a: integer) -> ()", {}, "attribute 'a' has unknown kind 'integer'; known"),
        ("F(x: float32) -> (y: T)", {}, "output 'y' uses 'T', which no input or attribute fixes"),
        ("F(x: T) -> (y: N*T)", {}, "output 'y' uses 'N'"),
        ("F(x: T) -> (y: T)", {"S": dtypes.FLOATING}, "dtypes are given for 'S', which the signature does not mention"),
        ("F(x: N*T) -> (y: T)", {"M": 2}, "a shortest length is given for 'M', which the signature does not mention"),
        ("F(x: ) -> ()", {}, "F: expected 'name: type', got 'x:'"),
        ("F(x: big T) -> ()", {}, "F: 'big' in 'x: big T'"),
        ("F(x: list(T) -> ()", {}, "F: .*list"),
        ("F(x: T, x: T) -> ()", {}, "F: two .* called 'x'"),
        ("F(x: T; x: int) -> ()", {}, "F: two .* called 'x'"),
        ("F(x: T) -> (y: T, y: T)", {}, "F: two outputs are called 'y'"),
    ],
)  # fmt: skip
def test_refused(text: str, constraints: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        parse(text, constraints)  # type: ignore[arg-type]
