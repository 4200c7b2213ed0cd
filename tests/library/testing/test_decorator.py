"""The decorators of tests that old code imports from ``tensorflow.python.framework.test_util``."""

import os
import unittest
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.testing import decorator as test_util


def _outcome(case: type[unittest.TestCase]) -> tuple[int, int, int]:
    """How many tests of a case passed, failed and were skipped."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    skipped = [test for test, reason in result.skipped if "Not a test" not in reason]
    wrong = len(result.failures) + len(result.errors)
    return result.testsRun - len(result.skipped) - wrong, wrong, len(skipped)


def test_modes() -> None:
    seen: list[Any] = []

    class Modes(tf.test.TestCase):
        @test_util.run_deprecated_v1
        def test_graph(self) -> None:
            seen.append(tf.executing_eagerly())

        @test_util.run_in_graph_and_eager_modes
        def test_plain(self) -> None:
            with self.cached_session():
                value = self.evaluate(tf.add([1, 2], [3, 4]))
            seen.append(("plain", tf.executing_eagerly(), value.tolist()))

        @test_util.run_in_graph_and_eager_modes(use_gpu=False)
        def test_with_arguments(self) -> None:
            x = tf.Variable([1.0, 2.0])
            self.evaluate(tf.global_variables_initializer())
            self.assertAllClose([2.0, 4.0], self.evaluate(x * 2.0))
            self.assertAllClose({"a": 3.0}, self.evaluate({"a": tf.reduce_sum(x)}))
            seen.append(("arguments", tf.executing_eagerly()))

    assert _outcome(Modes) == (3, 0, 0)
    assert seen == [
        False,
        ("plain", False, [4, 6]),
        ("plain", True, [4, 6]),
        ("arguments", False),
        ("arguments", True),
    ]


def test_graphs_where_the_program_is_eager() -> None:
    @test_util.deprecated_graph_mode_only
    class Old(tf.test.TestCase):
        def test_placeholder(self) -> None:
            x = tf.placeholder(tf.float32)
            with self.session() as session:
                self.assertAllEqual(3.0, session.run(x + 1.0, {x: 2.0}))

    with tf.eager_mode():
        assert _outcome(Old) == (1, 0, 0)


def test_a_failure_in_either_mode_is_seen() -> None:
    class Wrong(tf.test.TestCase):
        @test_util.run_in_graph_and_eager_modes
        def test_eager_only(self) -> None:
            self.assertFalse(tf.executing_eagerly())

        @test_util.run_in_graph_and_eager_modes
        def test_graph_only(self) -> None:
            self.assertTrue(tf.executing_eagerly())

    assert _outcome(Wrong) == (0, 2, 0)


def test_whole_classes() -> None:
    modes: list[str] = []

    @test_util.run_all_in_graph_and_eager_modes
    class Both(tf.test.TestCase):
        def test_one(self) -> None:
            modes.append("eager" if tf.executing_eagerly() else "graph")

        def testSkipEagerOne(self) -> None:
            modes.append("only")

    assert _outcome(Both) == (2, 0, 0)
    assert sorted(modes) == ["eager", "graph", "only"]
    with pytest.raises(ValueError, match="run_all_in_graph_and_eager_modes"):
        test_util.run_in_graph_and_eager_modes(Both)


def test_skips() -> None:
    class Skips(tf.test.TestCase):
        @test_util.run_v2_only
        def test_new(self) -> None:
            self.fail("this is TensorFlow 1")

        @test_util.run_v1_only("it uses sessions")
        def test_old(self) -> None:
            self.assertFalse(test_util.is_xla_enabled())

        @test_util.disable_xla("b/1")
        @test_util.skip_if(lambda: True)
        def test_nothing(self) -> None:
            self.fail("skipped")

        @test_util.run_gpu_only
        def test_gpu(self) -> None:
            self.assertTrue(tf.test.is_gpu_available())

    passed, wrong, skipped = _outcome(Skips)
    assert (wrong, passed + skipped) == (0, 4)
    assert skipped == (1 if tf.test.is_gpu_available() else 2)


def test_layouts_and_ops() -> None:
    assert test_util.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert test_util.NCHWToNHWC([1, 4, 2, 3]) == [1, 2, 3, 4]
    with tf.Session() as session, test_util.device(use_gpu=False):
        x = tf.constant(np.zeros([1, 2, 3, 4]), name="x")
        assert session.run(test_util.NCHWToNHWC(test_util.NHWCToNCHW(x))).shape == (1, 2, 3, 4)
        assert x.device == "/device:CPU:0"
    assert test_util.assert_ops_in_graph({"x": "Const"}, tf.get_default_graph())["x"] is x.op
    for wrong in {"x": "Add"}, {"y": "Const"}:
        with pytest.raises(ValueError, match=r"Expected"):
            test_util.assert_ops_in_graph(wrong, tf.get_default_graph())


def test_names_that_python_has_dropped() -> None:
    class Old(tf.test.TestCase):
        def test_all(self) -> None:
            for name, *arguments in (
                ("assertEquals", 1, 1),
                ("assertNotEquals", 1, 2),
                ("assertAlmostEquals", 1.0, 1.0 + 1e-9),
                ("assertRegexpMatches", "abc", "b"),
            ):
                getattr(self, name)(*arguments)
            with getattr(self, "assertRaisesRegexp")(ValueError, "Shape must be rank 1"):  # noqa: B009 - ruff renames it
                tf.reshape([1], 1)

    assert _outcome(Old) == (1, 0, 0)


def test_all_digits_of_float32_where_a_test_asks_for_them() -> None:
    seen = []

    @test_util.run_all_without_tensor_float_32("it compares digits")
    class Precise(tf.test.TestCase):
        def test_it(self) -> None:
            seen.append(os.environ.get("HEADRACE_PRECISION"))

    assert _outcome(Precise)[0] == 1 and seen == ["highest"]
    assert os.environ.get("HEADRACE_PRECISION") != "highest"
