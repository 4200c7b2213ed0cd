"""The encoding of calls and results, the comparison, and the list of known differences."""

import io
from typing import Any

import numpy as np
import pytest
from conformance.call import compare, same
from conformance.differences import Difference, read, unlisted
from conformance.part import Part, summary
from conformance.wire import decode, digest, encode, receive, send, weights


@pytest.mark.parametrize(
    "message",
    [
        {"a": [1, 2.5, "text", None, True], "b": {"c": b"\x00\xff"}},
        [np.arange(6).reshape(2, 3), np.float32(1.5), np.zeros((0, 3), np.complex64), np.array(True)],
        {"strings": np.array([[b"", b"\xff\x00"], [b"long" * 50, b"x"]], object)},
    ],
)
def test_what_is_encoded_comes_back(message: Any) -> None:
    assert encode(decode(encode(message))) == encode(message)


def test_messages_follow_each_other_on_a_stream() -> None:
    stream = io.BytesIO()
    send(stream, {"x": np.int8([1, 2])})
    send(stream, [3])
    stream.seek(0)
    assert receive(stream)["x"].tolist() == [1, 2] and receive(stream) == [3]
    with pytest.raises(EOFError):
        receive(stream)


def test_digests_tell_calls_apart() -> None:
    assert digest({"x": np.int32([1])}) == digest({"x": np.int32([1])})
    assert digest({"x": np.int32([1])}) != digest({"x": np.int64([1])})


def test_weights_are_all_different_from_zero() -> None:
    assert np.all(weights((50,), "float32")) and weights((2, 3), "complex64").dtype == np.complex64


def _result(value: Any, **more: Any) -> dict[str, Any]:
    array = np.asarray(value)
    return {"static": [list(array.shape)], "outputs": [{"dtype": array.dtype.name, "value": array}], **more}


def test_differences_are_found_by_kind() -> None:
    one = _result(np.float32([1, 2]))
    assert compare(one, one) == []
    assert compare(_result(np.float32([1, 2.1])), one)[0].startswith("outputs 0")
    assert "dtype" in compare(_result(np.float64([1, 2])), one)[0]
    assert compare({"error": "ValueError", "message": ""}, one)[0].startswith("error")
    assert compare(one, {"error": "ValueError", "message": ""})[0].startswith("error")
    assert compare(one, {"error": "TypeError", "message": "", "unsupported": True}) == []
    assert compare({**one, "static": [None]}, one)[0].startswith("static")
    grad = {"dtype": "float32", "value": np.float32([1])}
    assert compare({**one, "gradients": [None]}, {**one, "gradients": [grad]})[0].startswith("gradient 0")
    assert compare({**one, "gradients": "LookupError"}, {**one, "gradients": [grad]})[0].startswith("gradient")
    assert compare({**one, "gradients": [grad]}, {**one, "gradients": "LookupError: none"}) == []


def test_rounding_is_no_difference_but_nan_is() -> None:
    real = np.float32([1, np.nan, np.inf, 1e-9])
    assert same(np.float32([1.00001, np.nan, np.inf, 0]), real, 1e-4)
    assert not same(np.float32([1, 0, np.inf, 0]), real, 1e-4)
    assert not same(np.float32([1, np.nan, -np.inf, 0]), real, 1e-4)


def test_the_list_can_be_read_and_covers_what_it_says() -> None:
    assert read()
    call = {"op": "MulNoNan", "inputs": [{"dtype": "complex64"}], "attrs": {}}
    known = [Difference(("Mul*",), "gradient", "complex", "why"), Difference(("*",), "outputs 1", "", "why")]
    assert unlisted(call, ["gradient 0: x", "outputs 0: y", "outputs 1: z"], known) == ["outputs 0: y"]
    assert unlisted({**call, "inputs": [{"dtype": "int32"}]}, ["gradient 0: x"], known) == ["gradient 0: x"]


def test_a_line_that_cannot_be_read_is_an_error(tmp_path: Any) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n## Op by op\n\n| ops | differs | why |\n| --- | --- | --- |\n| `X` | colour | because |\n"
    )
    with pytest.raises(ValueError, match="not understood: 'colour'"):
        read(page)
    page.write_text("# Page\n")
    with pytest.raises(ValueError, match="no heading"):
        read(page)


def test_the_summary_counts_what_was_compared_and_shows_what_differs() -> None:
    alike, other = Part("samples", "7 samples of 2 ops", []), Part("optimizers", "3 optimizers", ["Adam/dense/v"])
    assert summary([alike], "2.21.0").splitlines() == [
        "Compared with TensorFlow 2.21.0",
        "samples      7 samples of 2 ops: none differ",
        "Headrace agrees with TensorFlow",
    ]
    assert summary([alike, other], "2.21.0").splitlines()[2:] == [
        "optimizers   3 optimizers: 1 differ",
        "    optimizers: Adam/dense/v",
        "1 differences",
    ]
