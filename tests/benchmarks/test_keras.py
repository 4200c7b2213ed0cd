"""The benchmark of Keras's `fit`: how its table is made.  No times are compared."""

from benchmarks import keras


def test_the_faster_manner_of_tf_keras_counts() -> None:
    runs = {"headrace": [2.0, 9.0, 2.0], "tf_keras 1": [4.0], "tf_keras 2": [5.0], "torch": [1.0]}
    assert keras.rows({"mlp": runs}) == [["mlp", "2.0 s", "4.0 s", "1.0 s", "0.50", "2.00"]]
