"""tf.test: the test case, its assertions, gradient checking."""

import os
import random
import unittest
from typing import Any

import numpy as np
import pytest
from library.testing.bare_case import Case

import headrace as tf
from headrace.graph import raw_ops
from headrace.library.testing import test_case


class TestAssertions:
    def fails(self, check: Any, *args: Any, match: str | None = None, **kwargs: Any) -> None:
        with pytest.raises(AssertionError, match=match):
            check(*args, **kwargs)

    def test_near(self, case: Case) -> None:
        case.assertNear(1.0, 1.1, 0.2)
        case.assertNear(float("inf"), float("inf"), 0.1)
        self.fails(case.assertNear, 1.0, 1.5, 0.2, "why", match="why")
        case.assertArrayNear([1.0, 2.0], [1.05, 2.05], 0.1)
        self.fails(case.assertArrayNear, [1.0, 2.0], [1.0, 2.5], 0.1)
        self.fails(case.assertArrayNear, [1.0, 2.0], [1.0], 0.1)
        case.assertNDArrayNear(np.ones((2, 2)), np.ones((2, 2)), 1e-9)
        self.fails(case.assertNDArrayNear, np.ones((2, 2)), np.zeros((2, 2)), 1.0)

    def test_all_close(self, case: Case) -> None:
        case.assertAllClose([1.0, 2.0], np.array([1.0, 2.0 + 1e-7]))
        case.assertAllClose({"a": [1.0], "b": (2.0, [3.0, 4.0])}, {"a": [1.0], "b": (2.0, [3.0, 4.0])})
        case.assertAllClose([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]])
        self.fails(case.assertAllClose, [1.0, 2.0], [1.0, 2.1], match=r"not close where = \(array\(\[1\]\),\)")
        self.fails(case.assertAllClose, [1.0], [[1.0]], match="Shape mismatch")
        self.fails(case.assertAllClose, {"a": 1.0}, {"a": 2.0}, match=r"\[a\]")
        self.fails(case.assertAllClose, {"a": 1.0}, {"b": 1.0}, match="mismatched keys")
        with pytest.raises(ValueError, match="dict"):
            case.assertAllClose({"a": 1.0}, 1.0)
        self.fails(case.assertAllClose, [[1.0], [2.0, 3.0]], [[1.0], [2.0, 4.0]], match=r"a\[1\] is different")
        case.assertNotAllClose(1.0, 2.0)
        self.fails(case.assertNotAllClose, 1.0, 1.0)

    def test_tolerance_by_type(self, case: Case) -> None:
        case.assertAllCloseAccordingToType(np.float16(1.0), np.float16(1.001))
        self.fails(case.assertAllCloseAccordingToType, np.float32(1.0), np.float32(1.001))
        case.assertAllCloseAccordingToType(tf.constant(1.0, tf.bfloat16), np.float32(1.009))

    def test_all_equal(self, case: Case) -> None:
        case.assertAllEqual([1, 2], np.array([1, 2]))
        case.assertAllEqual([np.nan, 1.0], [np.nan, 1.0])
        case.assertAllEqual(["a", b"b"], np.array([b"a", b"b"], dtype=object))
        self.fails(case.assertAllEqual, [1, 2], [1, 3], match=r"not equal where = \(array\(\[1\]\),\)")
        self.fails(case.assertAllEqual, [1, 2], [[1, 2]])
        case.assertNotAllEqual([1], [2])
        self.fails(case.assertNotAllEqual, [1], [1])

    def test_every_element(self, case: Case) -> None:
        case.assertAllGreater([2, 3], 1)
        case.assertAllLess([2, 3], 4)
        case.assertAllGreaterEqual([2, 3], 2)
        case.assertAllLessEqual([2, 3], 3)
        case.assertAllInRange([2, 3], 2, 3)
        case.assertAllInSet([1, 2, 1], {1, 2})
        self.fails(case.assertAllGreater, [2, 3], 2, match=r"first at \[\[0\]\]")
        self.fails(case.assertAllInRange, [2, 3], 2, 3, open_upper_bound=True, match=r"in \[2, 3\)")
        self.fails(case.assertAllInRange, np.array([b"a"], object), 0, 1, match="ordered numeric")
        self.fails(case.assertAllInSet, [1, 5], {1, 2}, match="5")

    def test_shapes_dtypes_devices(self, case: Case) -> None:
        case.assertShapeEqual(np.zeros((2, 3)), tf.zeros_like(np.zeros((2, 3))))
        self.fails(case.assertShapeEqual, np.zeros((2, 3)), tf.constant([1.0]))
        with pytest.raises(TypeError):
            case.assertShapeEqual([1], tf.constant([1]))
        case.assertDTypeEqual(tf.constant(1.0), tf.float32)
        self.fails(case.assertDTypeEqual, np.zeros(1, np.int64), tf.int32)
        case.assertDeviceEqual("/gpu:0", "/device:GPU:0")
        self.fails(case.assertDeviceEqual, "/gpu:0", "/cpu:0")

    def test_collections(self, case: Case) -> None:
        case.assertItemsEqual([1, 2, 2], [2, 1, 2])
        case.assertLen([1, 2], 2)
        case.assertEmpty([])
        case.assertNotEmpty([1])
        case.assertStartsWith("abc", "ab")
        for check, args in [(case.assertItemsEqual, ([1], [2])), (case.assertLen, ([1], 2)), (case.assertEmpty, ([1],)),
                            (case.assertNotEmpty, ([],)), (case.assertStartsWith, ("abc", "b"))]:  # fmt: skip
            self.fails(check, *args)

    def test_errors(self, case: Case) -> None:
        with case.assertRaisesWithPredicateMatch(ValueError, "a.c"):
            raise ValueError("xabcx")
        with case.assertRaisesWithPredicateMatch(ValueError, lambda e: e.args == ("x",)):
            raise ValueError("x")
        with (
            pytest.raises(AssertionError, match="does not match"),
            case.assertRaisesWithPredicateMatch(ValueError, "y"),
        ):
            raise ValueError("x")
        with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError("y"):
            pass
        x = tf.placeholder(tf.float32, name="unfed")
        with case.test_session() as session, case.assertRaisesOpError("must feed.*unfed"):
            session.run(x)

    def test_tensors_are_evaluated(self, case: Case) -> None:
        case.assertAllEqual(tf.constant([1, 2]), [1, 2])
        case.assertAllClose({"a": tf.constant(1.0)}, {"a": 1.0})


class TestSessions(tf.test.TestCase):
    def test_default_graph_is_fresh_and_seeded(self) -> None:
        self.assertEqual(tf.get_default_graph().get_operations(), [])
        self.assertEqual(tf.get_default_graph().seed, test_case.DEFAULT_GRAPH_SEED)
        drawn = random.random(), np.random.random()
        self.setUp()
        self.assertEqual(drawn, (random.random(), np.random.random()))

    def test_test_session(self) -> None:
        with self.test_session() as session:
            x = tf.constant(3.0)
            self.assertIs(tf.get_default_session(), session)
            self.assertEqual(x.eval(), 3.0)
            self.assertEqual(x.device, "/device:CPU:0")
        with self.test_session() as again:
            self.assertIs(again, session)

    def test_session_is_new(self) -> None:
        with self.session(use_gpu=True) as first:
            self.assertEqual(tf.constant(1.0).device, "")
        with self.session() as second:
            self.assertIsNot(first, second)

    def test_session_of_a_graph(self) -> None:
        other = tf.Graph()
        with self.test_session(graph=other) as session:
            self.assertIs(session.graph, other)
            self.assertIs(tf.get_default_graph(), other)

    def test_cached_session_and_evaluate(self) -> None:
        self.assertEqual(self.evaluate(tf.constant(2.0)), 2.0)
        with self.cached_session():
            self.assertEqual(self.evaluate({"a": tf.constant(2.0)}), {"a": 2.0})

    def test_temp_dir(self) -> None:
        mine = self.get_temp_dir()
        self.assertEqual(mine, self.get_temp_dir())
        self.assertTrue(os.path.isdir(mine) and mine.startswith(tf.test.get_temp_dir()))

    def test_checked_thread(self) -> None:
        done: list[int] = []
        thread = self.checkedThread(target=done.append, args=(1,))
        thread.start()
        thread.join()
        self.assertEqual(done, [1])

    def test_checked_thread_fails_the_test(self) -> None:
        thread = self.checkedThread(target=int, args=("x",))
        thread.start()
        with self.assertRaisesRegex(AssertionError, "invalid literal"):
            thread.join()


def test_the_helper_named_test_session_is_skipped_by_unittest() -> None:
    class Own(tf.test.TestCase):
        def test_one(self) -> None:
            self.assertEqual(1, 1)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Own).run(result)
    assert (result.testsRun, len(result.skipped), result.wasSuccessful()) == (2, 1, True)


class TestComputeGradient:
    def test_matrix(self) -> None:
        x = tf.constant(np.arange(6, dtype=np.float64).reshape(2, 3))
        y = raw_ops.MatMul(x, np.array([[1.0], [2.0], [3.0]]))
        with tf.Session():
            theoretical, numerical = tf.test.compute_gradient(x, [2, 3], y, [2, 1])
            assert theoretical.shape == (6, 2)
            np.testing.assert_allclose(theoretical[:, 0], [1, 2, 3, 0, 0, 0])
            np.testing.assert_allclose(numerical, theoretical, atol=1e-6)
            assert tf.test.compute_gradient_error(x, [2, 3], y, [2, 1]) < 1e-6

    def test_a_wrong_gradient_shows(self) -> None:
        @tf.RegisterGradient("TestComputeGradientWrong")
        def _(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
            return raw_ops.Neg(grad)

        x = tf.placeholder(tf.float32, [2])
        with tf.get_default_graph().gradient_override_map({"Identity": "TestComputeGradientWrong"}):
            y = tf.identity(x)
        with tf.Session():
            error = tf.test.compute_gradient_error(x, [2], y, [2], x_init_value=np.array([1.0, 2.0], np.float32))
        assert abs(error - 2.0) < 1e-2

    def test_complex(self) -> None:
        x = tf.constant([1 + 2j, 3 - 1j], dtype=tf.complex128)
        y = raw_ops.Square(x)
        with tf.Session():
            theoretical, numerical = tf.test.compute_gradient(x, [2], y, [2], x_init_value=np.array([1 + 2j, 3 - 1j]))
        assert theoretical.shape == numerical.shape == (4, 4)
        np.testing.assert_allclose(theoretical, numerical, atol=1e-5)

    def test_list_of_inputs_feeds_and_initialisers(self) -> None:
        a, b = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [2])
        v = raw_ops.VariableV2(shape=[], dtype=tf.float64)
        y = raw_ops.Mul(raw_ops.Mul(a, b), v)
        start = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
        with tf.Session():
            pairs = tf.test.compute_gradient(
                [a, b], [[2], [2]], y, [2], x_init_value=start, init_targets=raw_ops.Assign(v, np.float64(2.0)).op,
                extra_feed_dict={a: start[0], b: start[1]},
            )  # fmt: skip
        np.testing.assert_allclose(pairs[0][0], np.diag([6.0, 8.0]))
        np.testing.assert_allclose(pairs[1][1], np.diag([2.0, 4.0]), atol=1e-6)

    def test_sparse_gradient(self) -> None:
        x = tf.placeholder(tf.float64, [4, 2])
        y = raw_ops.GatherV2(x, [1, 1, 3], 0)
        with tf.Session():
            assert tf.test.compute_gradient_error(x, [4, 2], y, [3, 2]) < 1e-6

    def test_errors(self) -> None:
        x = tf.constant([1.0])
        with pytest.raises(ValueError, match="default session"):
            tf.test.compute_gradient(x, [1], x, [1])
        with tf.Session(), pytest.raises(TypeError, match="floating-point x"):
            tf.test.compute_gradient(tf.constant([1]), [1], x, [1])


def test_the_machine() -> None:
    assert tf.test.is_gpu_available() == (tf.test.gpu_device_name() != "") or not tf.test.is_built_with_gpu_support()
    assert tf.test.is_built_with_cuda() in (True, False)
    assert not tf.test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(99, 0))
    assert tf.test.mock is unittest.mock


def test_benchmark(caplog: pytest.LogCaptureFixture) -> None:
    class Own(tf.test.Benchmark):
        def benchmark_neg(self) -> None: ...

    x = raw_ops.Neg(tf.constant(1.0))
    with tf.Session(config=tf.test.benchmark_config()) as session, caplog.at_level("INFO", logger="headrace"):
        result = Own().run_op_benchmark(session, x, min_iters=3, name="neg", mbs=1)
    assert result["iters"] == 3 and result["wall_time"] > 0 and result["throughput"] > 0
    assert "Benchmark neg: iters=3" in caplog.text
    assert tf.test.Benchmark.is_abstract() and not Own.is_abstract()
