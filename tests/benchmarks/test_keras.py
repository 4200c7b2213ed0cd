"""The benchmark of Keras's `fit`: how its table is made.  No times are compared."""

import sys

import pytest

from benchmarks import _harness, keras


def test_the_faster_manner_of_tf_keras_counts() -> None:
    runs = {"headrace": [2.0, 9.0, 2.0], "tf_keras 1": [4.0], "tf_keras 2": [5.0], "torch": [1.0]}
    assert keras.rows({"mlp": runs}) == [["mlp", "2.0 s", "4.0 s", "1.0 s", "0.50", "2.00"]]


def test_a_given_python_without_tf_keras_is_refused() -> None:
    with pytest.raises(SystemExit, match=f"{sys.executable} has no headrace_missing"):
        _harness.tensorflow_python(sys.executable, packages=("headrace_missing",))


def test_a_given_python_with_the_package_is_taken() -> None:
    assert _harness.tensorflow_python(sys.executable, packages=("pytest",)) == sys.executable
