"""Python functions, printing and text: behaviour and words as TensorFlow 1 has them."""

import sys

import numpy as np
import pytest
from running import initialized_session, run

import headrace as tf


def test_py_func_results() -> None:
    x = tf.constant([1.0, 2.0])
    assert run(tf.py_func(lambda a: a * 2, [x], tf.float32)).tolist() == [2, 4]
    total, most = run(tf.py_func(lambda a: (a.sum(), np.argmax(a)), [x], [tf.float32, tf.int64]))
    assert (total, most) == (3.0, 1)
    assert run(tf.py_func(lambda a: "text", [x], tf.string)) == b"text"
    assert run(tf.py_func(lambda a: np.array(["a", "b"]), [x], tf.string)).tolist() == [b"a", b"b"]
    assert run(tf.py_func(lambda a: np.array([b"a\0b"], object), [x], tf.string)).tolist() == [b"a\0b"]
    assert run(tf.py_func(lambda a: True, [x], tf.bool))
    assert run(tf.py_func(lambda a: 3, [x], tf.int64)) == 3


def test_py_func_arguments() -> None:
    seen: list[object] = []
    inputs = [tf.constant(1.0), tf.constant("a"), tf.constant(["a", "b"]), tf.constant([1, 2])]
    operation = tf.py_func(lambda *a: seen.extend(a), inputs, [])
    assert isinstance(operation, tf.Operation)
    assert run(operation) is None
    assert [type(v) for v in seen] == [np.float32, bytes, np.ndarray, np.ndarray]
    assert seen[1] == b"a"
    assert seen[2].dtype == object
    assert seen[3].dtype == np.int32


def test_py_func_may_change_and_keep_its_arrays() -> None:
    kept = np.zeros(2, np.float32)

    def function(x: np.ndarray) -> np.ndarray:
        x += 1
        kept[:] += x
        return kept

    v = tf.Variable([1.0, 1.0])
    y = tf.py_func(function, [v], tf.float32)
    with initialized_session() as sess:
        first = sess.run(y)
        second = sess.run(y)
        assert first.tolist() == [2, 2]
        assert second.tolist() == [4, 4]
        assert sess.run(v).tolist() == [1, 1]


def test_py_func_checks_what_comes_back() -> None:
    x = tf.constant([1.0])
    for function, tout, words in [
        (
            lambda a: a.astype(np.float64),
            tf.float32,
            "0-th value returned by pyfunc_[0-9]+ is double, but expects float",
        ),
        (lambda a: 3, tf.int32, "is int64, but expects int32"),
        (lambda a: (a, a), [tf.float32], "returns 2 values, but expects to see 1 values"),
        (lambda a: None, tf.float32, "returns 0 values, but expects to see 1 values"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.py_func(function, [x], tout))


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
        (RuntimeError, tf.errors.UnknownError),
    ],
)
def test_py_func_errors(raised, error) -> None:
    def function(x):
        raise raised("boom")

    with pytest.raises(error, match=f"{raised.__name__}: .*boom"):
        run(tf.py_func(function, [1.0], tf.float32))


def test_py_func_nodes() -> None:
    x = tf.constant(1.0)
    stateful = tf.py_func(lambda a: a, [x], tf.float32)
    pure = tf.py_func(lambda a: a, [x], [tf.float32], stateful=False, name="q")
    assert (stateful.op.type, stateful.name, stateful.shape.ndims) == ("PyFunc", "PyFunc:0", None)
    assert (pure[0].op.type, pure[0].name) == ("PyFuncStateless", "q:0")
    assert tf.gradients(stateful, x) == [None]
    with pytest.raises(ValueError, match="callable"):
        tf.py_func(3, [x], tf.float32)


def test_a_stateful_function_is_called_every_step_a_fetch_needs_it(session: tf.Session) -> None:
    calls = []
    y = tf.py_func(lambda: (calls.append(1), np.float32(len(calls)))[1], [], tf.float32)
    assert [session.run(y) for _ in range(3)] == [1, 2, 3]
    assert session.run([y, y + 1]) == [4, 5]
    session.run(tf.constant(1))
    assert len(calls) == 4


# ---- printing


def test_print_v1(session: tf.Session, capfd) -> None:
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    y = tf.Print(x, [x, "s", 3, [[1, 2], [3, 4]]], message="hello ", first_n=2)
    for _ in range(4):
        assert session.run(y).tolist() == [1, 2, 3, 4]
    assert capfd.readouterr().err == "hello [1 2 3...][s][3][[1 2][3...]...]\n" * 2
    assert tf.gradients(y, x)[0] is not None


PRINTED = [
    (lambda: tf.print("x:", tf.constant([1.0, 2, 3, 4, 5, 6, 7])), "x: [1 2 3 ... 5 6 7]\n"),
    (lambda: tf.print(tf.constant([[1.5, 2 / 3], [3, 4]])), "[[1.5 0.666666687]\n [3 4]]\n"),
    (lambda: tf.print(tf.constant([1, 2, 3]), summarize=1), "[1 ... 3]\n"),
    (lambda: tf.print(tf.constant([1, 2, 3, 4, 5, 6, 7]), summarize=-1), "[1 2 3 4 5 6 7]\n"),
    (
        lambda: tf.print("a", 1, [tf.constant(2), tf.constant(["s", "t"])], {"k": tf.constant(1)}, sep=","),
        'a,1,[2, ["s" "t"]],{\'k\': 1}\n',
    ),
    (lambda: tf.print(tf.constant("plain"), end="<END>\n"), "plain<END>\n"),
    (
        lambda: tf.print(tf.constant(True), tf.constant(1e-8), tf.constant(1 / 3, tf.float64)),
        "1 1e-08 0.33333333333333331\n",
    ),
    (lambda: tf.print(tf.zeros([2, 2, 2])), "[[[0 0]\n  [0 0]]\n\n [[0 0]\n  [0 0]]]\n"),
    (lambda: tf.print(tf.zeros([0, 3]), None, (1, 2)), "[] None (1, 2)\n"),
    (lambda: tf.print("{}", tf.constant(1)), "{} 1\n"),
]


@pytest.mark.parametrize(("make", "text"), PRINTED)
def test_print(make, text: str, capfd) -> None:
    assert run(make()) is None
    assert capfd.readouterr().err == text


def test_print_elsewhere(capfd, tmp_path) -> None:
    run(tf.print("a", tf.constant(1), output_stream=sys.stdout))
    assert capfd.readouterr().out == "a 1\n"
    path = tmp_path / "log"
    operation = tf.print(tf.constant([1]), output_stream=f"file://{path}")
    run(operation)
    run(operation)
    assert path.read_text() == "[1]\n[1]\n"
    with pytest.raises(ValueError, match="Unsupported output stream"):
        tf.print("a", output_stream=3)
    with pytest.raises(ValueError, match="keyword"):
        tf.print("a", stream=3)


# ---- text


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (
            [1.5, 2 / 3, 1e20, np.nan, -np.inf],
            {},
            [b"1.500000", b"0.666667", b"100000002004087734272.000000", b"nan", b"-inf"],
        ),
        ([1.5, 2 / 3], {"precision": 2}, [b"1.50", b"0.67"]),
        ([1.5, 1e10], {"scientific": True}, [b"1.500000e+00", b"1.000000e+10"]),
        ([1.5, 1e10, 1e-5], {"shortest": True}, [b"1.5", b"1e+10", b"1e-05"]),
        ([1.5], {"width": 10, "fill": "0"}, [b"001.500000"]),
        ([1.5], {"width": 10, "fill": "-"}, [b"1.500000  "]),
        ([1, -23], {"width": 5, "fill": "0"}, [b"00001", b"-0023"]),
        ([True, False], {}, [b"true", b"false"]),
        ([1 + 2j], {}, [b"(1.000000,2.000000)"]),
    ],
)
def test_as_string(value, options, text) -> None:
    assert run(tf.as_string(tf.constant(value), **options)).tolist() == text


def test_as_string_errors() -> None:
    for value, options, words in [
        ([1], {"precision": 2}, "not supported for datatype int32"),
        ([1.0], {"scientific": True, "shortest": True}, "Cannot select both"),
        ([1.0], {"fill": "ab"}, "one or fewer characters"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.as_string(tf.constant(value), **options))


def test_base64_and_timestamp(session: tf.Session) -> None:
    text = tf.encode_base64(["abc", b"\xff\xfe"])
    coded, back = run([text, tf.decode_base64(text)])
    assert coded.tolist() == [b"YWJj", b"__4"]
    assert back.tolist() == [b"abc", b"\xff\xfe"]
    now = tf.timestamp()
    first, second = session.run(now), session.run(now)
    assert 1.5e9 < first <= second
