"""What users' test cases rely on, call by call: the file also passes with ``tensorflow.compat.v1`` 2.21 in place of Headrace.

The exception is ``test_messages``: TensorFlow's ``assertProtoEquals`` cannot report a difference with a new protobuf.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from library.testing.bare_case import Case

import headrace as tf

NAN, INF = float("nan"), float("inf")
Pair = namedtuple("Pair", ["x", "y"])


PASS: list[Callable[[Any], object]] = [
    lambda c: c.assertAllClose([NAN, INF, -INF, 1.0], np.array([NAN, INF, -INF, 1.0])),
    lambda c: c.assertAllClose(NAN, NAN),
    lambda c: c.assertAllClose({"a": NAN, "b": [INF, (1.0, 2.0)]}, {"a": NAN, "b": [INF, (1.0, 2.0)]}),
    lambda c: c.assertAllClose([[1.0], [2.0, NAN]], [[1.0], [2.0, NAN]], msg="ragged"),
    lambda c: c.assertAllClose(Pair(1.0, [2.0]), Pair(1.0, [2.0])),
    lambda c: c.assertAllClose(Pair(1.0, 2.0), {"x": 1.0, "y": 2.0}),
    lambda c: c.assertAllClose([1, 2], (1.0, 2.0)),
    lambda c: c.assertAllClose([], []),
    lambda c: c.assertAllClose(complex(1, NAN), complex(1, NAN)),
    lambda c: c.assertAllCloseAccordingToType(np.float16([1.0, NAN]), np.float16([1.0005, NAN]), msg="half"),
    lambda c: c.assertNotAllClose([NAN], [1.0]),
    lambda c: c.assertNotAllClose([INF], [-INF], rtol=1e-3, atol=1e-3, msg="infinite"),
    lambda c: c.assertAllEqual([NAN, 1.0], [NAN, 1.0]),
    lambda c: c.assertAllEqual([b"a", b"b"], ["a", "b"]),
    lambda c: c.assertNotAllEqual([1, 2], [1, 3], msg="numbers"),
    lambda c: c.assertArrayNear([1.0, INF], [1.05, INF], 0.1, msg="near"),
    lambda c: c.assertNDArrayNear(np.ones(2), np.ones(2) + 0.01, 0.1, msg="near"),
    lambda c: c.assertTrue(c._NDArrayNear(np.ones(2), np.ones(2), 1e-6)),
    lambda c: c.assertEqual(c._GetNdArray([1, 2]).tolist(), [1, 2]),
    lambda c: c.assertEqual(c._GetNdArray([[1], [2, 3]]).dtype, object),
    lambda c: c.assertNear(np.array([1.0]), 1.0, 0.1),
]


@pytest.mark.parametrize("check", PASS, ids=range(len(PASS)))
def test_passes(check: Callable[[Any], object], case: Case) -> None:
    check(case)


FAIL: list[tuple[Callable[[Any], object], type[Exception], str]] = [
    (lambda c: c.assertAllClose([NAN, 1.0], [1.0, NAN], msg="why"), AssertionError, "why"),
    (lambda c: c.assertAllClose([INF], [-INF]), AssertionError, "not close lhs = "),
    (lambda c: c.assertAllClose([INF], [1.0]), AssertionError, "not close rhs = "),
    (lambda c: c.assertAllClose([1.0, 2.0], [1.0, 2.5]), AssertionError, r"not close where = \(array\(\[1\]"),
    (lambda c: c.assertAllClose(1.0, 2.0), AssertionError, "Mismatched value: a is different from b"),
    (lambda c: c.assertAllClose({"k": [1.0, {"m": 2.0}]}, {"k": [1.0, {"m": 3.0}]}), AssertionError, r"a\[k\]\[1\]\[m\]"),
    (lambda c: c.assertAllClose([1.0], [[1.0]]), AssertionError, r"Shape mismatch: expected \(1,\), got \(1, 1\)"),
    (lambda c: c.assertAllClose({"a": 1.0}, 1.0), ValueError, "Can't compare dict to non-dict"),
    (lambda c: c.assertAllClose({"a": 1.0}, {"b": 1.0}, msg="why"), AssertionError, "mismatched keys.*why"),
    (lambda c: c.assertAllClose([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0], [4.0]]), (AssertionError, ValueError), "ismatch"),
    (lambda c: c.assertNotAllClose([NAN], [NAN], msg="why"), AssertionError, "are close at all elements. why"),
    (lambda c: c.assertAllEqual([NAN], [1.0], msg="why"), AssertionError, "why"),
    (lambda c: c.assertAllEqual([1, 2], [1, 3]), AssertionError, r"not equal where = \(array\(\[1\]"),
    (lambda c: c.assertAllEqual([1, 2], [1]), AssertionError, r"Shape mismatch: expected \(2,\), got \(1,\)"),
    (lambda c: c.assertNotAllEqual([1], [1], msg="why"), AssertionError, "are equal at all elements. why"),
    (lambda c: c.assertArrayNear([NAN], [NAN], 0.1), AssertionError, "nan"),
    (lambda c: c.assertArrayNear([1.0, 2.0], [1.0, 3.0], 0.1, msg="why"), AssertionError, "why"),
    (lambda c: c.assertNDArrayNear(np.ones(2), np.zeros(2), 0.1, msg="why"), AssertionError, "why"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "error", "words"), FAIL, ids=range(len(FAIL)))
def test_fails(check: Callable[[Any], object], error: Any, words: str, case: Case) -> None:
    with pytest.raises(error, match=f"(?s){words}"):
        check(case)


# ---- sessions


class TestSessions(tf.test.TestCase):
    def test_another_configuration_enters_the_same_session(self) -> None:
        with self.test_session() as first:
            self.assertEqual(tf.constant(1.0).eval(), 1.0)
        with self.test_session(use_gpu=True) as second, self.test_session(config=tf.ConfigProto()) as third:
            self.assertIs(first, second)
            self.assertIs(first, third)

    def test_a_cached_session_refuses_other_arguments(self) -> None:
        with self.cached_session(use_gpu=False) as first:
            pass
        with self.cached_session(use_gpu=True) as second:
            self.assertIs(first, second)
        for name, arguments in (("config", {"config": tf.ConfigProto()}), ("graph", {"graph": tf.Graph()})):
            other = self.assertRaisesRegex(ValueError, f"The {name} used to get the cached session is different")
            with other, self.cached_session(**arguments):
                pass
        with self.test_session(config=tf.ConfigProto()) as third:
            self.assertIs(first, third)

    def test_a_graph_gets_a_session_of_its_own(self) -> None:
        with self.test_session() as first, self.test_session(graph=tf.Graph()) as second:
            self.assertIsNot(first, second)

    def test_tensors_in_structures(self) -> None:
        with self.test_session():
            self.assertAllClose({"a": tf.constant([1.0, NAN])}, {"a": [1.0, NAN]})
            self.assertAllClose([tf.constant(1.0), tf.constant([2.0, 3.0])], [1.0, [2.0, 3.0]])
            self.assertAllEqual(self._GetNdArray(tf.constant([1, 2])), [1, 2])

    # ---- errors

    def test_errors_of_ops(self) -> None:
        with self.test_session():
            with self.assertRaisesOpError("wrong number"):
                tf.Assert(tf.constant(False), ["wrong number"]).run()
            with self.assertRaisesOpError(lambda e: e.op.name == "named"):
                tf.check_numerics(tf.constant(NAN), "bad", name="named").eval()
            with self.assertRaisesOpError("Caused by: named"):
                tf.check_numerics(tf.constant(NAN), "bad", name="named").eval()
        with self.assertRaisesRegex(AssertionError, "OpError not raised"), self.assertRaisesOpError("x"):
            pass
        other = self.assertRaisesRegex(AssertionError, "Exception of type.*ValueError.*another")
        with other, self.assertRaisesOpError("x"):
            raise ValueError("another")

    # ---- threads

    def test_threads(self) -> None:
        done: list[Any] = []
        thread = self.checkedThread(target=lambda *a, **k: done.append((a, k)), args=(1,), kwargs={"b": 2})
        thread.start()
        thread.join()
        self.assertEqual((done, thread.is_alive()), ([((1,), {"b": 2})], False))
        thread = self.checkedThread(target=int, args=("x",))
        thread.start()
        with self.assertRaisesRegex(AssertionError, "^Error in checkedThread: invalid literal"):
            thread.join()

    def test_a_thread_that_nobody_joins_fails_the_test(self) -> None:
        other = Case()
        other.setUp()
        other.checkedThread(target=int)
        with self.assertRaisesRegex(AssertionError, "A checked thread was not joined"):
            other.tearDown()


# ---- protocol buffers


def test_messages() -> None:
    case, graph = Case(), tf.Graph()
    with graph.as_default():
        tf.constant(1.0, name="one")
    message = graph.as_graph_def()
    del message.node[0].attr["value"]
    message.ClearField("versions")
    message.ClearField("library")
    text = 'node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } }'
    case.assertProtoEquals(text, message)
    case.assertProtoEquals(message, message)
    with pytest.raises(AssertionError, match="(?s)two.*why"):
        case.assertProtoEquals(text.replace("one", "two"), message, msg="why")
    with pytest.raises(AssertionError, match="Can't compare protos of type"):
        case.assertProtoEquals(3, message)


# ---- gradients


class TestComputeGradient:
    def test_a_scalar_may_be_said_to_have_one_element(self) -> None:
        with tf.Graph().as_default(), tf.Session():
            x = tf.constant([1.0, 2.0, 3.0])
            y = tf.reduce_sum(x * x)
            for y_shape in ([1], (), [1, 1]):
                start = np.array([1, 2, 3], np.float32)
                exact, measured = tf.test.compute_gradient(x, [3], y, y_shape, x_init_value=start, delta=1e-2)
                np.testing.assert_allclose(exact, [[2], [4], [6]])
                np.testing.assert_allclose(measured, exact, atol=1e-2)

    def test_empty(self) -> None:
        with tf.Graph().as_default(), tf.Session():
            x = tf.zeros([0, 3])
            exact, measured = tf.test.compute_gradient(x, [0, 3], tf.identity(x), [0, 3])
            assert exact.shape == measured.shape == (0, 0)
            assert tf.test.compute_gradient_error(x, [0, 3], tf.identity(x), [0, 3]) == 0
            v = tf.zeros([2])
            exact, measured = tf.test.compute_gradient(v, [2], v[:0], [0])
            assert exact.shape == measured.shape == (2, 0)

    def test_empty_with_a_wrong_gradient(self) -> None:
        @tf.RegisterGradient("SameAsTensorFlowOnes")
        def _(op: Any, grad: Any) -> Any:
            return tf.ones_like(op.inputs[0]), None, None

        graph = tf.Graph()
        with graph.as_default(), tf.Session():
            x = tf.zeros([2])
            with graph.gradient_override_map({"Slice": "SameAsTensorFlowOnes"}):
                y = tf.slice(x, [0], [0])
            with pytest.raises(ValueError, match="Empty tensor with nonzero gradients"):
                tf.test.compute_gradient(x, [2], y, [0])

    def test_lists_and_feeds(self) -> None:
        with tf.Graph().as_default(), tf.Session():
            a, b, c = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [])
            start = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
            pairs = tf.test.compute_gradient(
                [a, b], [[2], [2]], a * b * c, [2], x_init_value=start, delta=1e-4,
                extra_feed_dict={a: start[0], b: start[1], c: 2.0},
            )  # fmt: skip
            np.testing.assert_allclose(pairs[0][0], np.diag([6.0, 8.0]))
            np.testing.assert_allclose(pairs[1][1], np.diag([2.0, 4.0]), atol=1e-6)

    def test_delta_is_the_step(self) -> None:
        """A cube differs from its slope by the square of the step."""
        with tf.Graph().as_default(), tf.Session():
            x = tf.constant([1.0], tf.float64)
            for delta in (0.5, 0.1):
                _, measured = tf.test.compute_gradient(x, [1], x**3, [1], x_init_value=np.array([1.0]), delta=delta)
                np.testing.assert_allclose(measured, [[3 + delta**2]])
