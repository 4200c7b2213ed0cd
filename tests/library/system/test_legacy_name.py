"""Names and arguments with newer spellings: the same result, and one line in the log each."""

import logging

import numpy as np
import pytest
from running import run

import headrace as tf

X = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)
BATCH = np.array([[[2.0, 1.0], [1.0, 3.0]], [[4.0, 0.0], [1.0, 5.0]]], np.float32)
SAME = {
    "mul": (lambda: tf.mul(X, 2.0), lambda: tf.multiply(X, 2.0)),
    "sub": (lambda: tf.sub(X, 2.0), lambda: tf.subtract(X, 2.0)),
    "neg": (lambda: tf.neg(X), lambda: tf.negative(X)),
    "inv": (lambda: tf.inv(X), lambda: tf.reciprocal(X)),
    "complex_abs": (lambda: tf.complex_abs([3 + 4j]), lambda: tf.abs(tf.constant([3 + 4j]))),
    "pack": (lambda: tf.pack([X, X]), lambda: tf.stack([X, X])),
    "unpack": (lambda: tf.unpack(X)[1], lambda: tf.unstack(X)[1]),
    "select": (lambda: tf.select(X > 0, X, -X), lambda: tf.where(X > 0, X, -X)),
    "listdiff": (lambda: tf.listdiff([1, 2, 3], [2])[0], lambda: tf.setdiff1d([1, 2, 3], [2])[0]),
    "batch_matmul": (lambda: tf.batch_matmul(BATCH, BATCH, adj_y=True), lambda: tf.matmul(BATCH, BATCH, transpose_b=True)),
    "batch_matrix_transpose": (lambda: tf.batch_matrix_transpose(BATCH), lambda: tf.matrix_transpose(BATCH)),
    "batch_matrix_inverse": (lambda: tf.batch_matrix_inverse(BATCH), lambda: tf.matrix_inverse(BATCH)),
    "batch_matrix_determinant": (lambda: tf.batch_matrix_determinant(BATCH), lambda: tf.matrix_determinant(BATCH)),
    "batch_matrix_solve": (lambda: tf.batch_matrix_solve(BATCH, BATCH), lambda: tf.matrix_solve(BATCH, BATCH)),
    "batch_matrix_triangular_solve": (
        lambda: tf.batch_matrix_triangular_solve(BATCH, BATCH), lambda: tf.matrix_triangular_solve(BATCH, BATCH),
    ),
    "batch_cholesky": (lambda: tf.batch_cholesky(BATCH[:1]), lambda: tf.cholesky(BATCH[:1])),
    "batch_matrix_diag": (lambda: tf.batch_matrix_diag(X), lambda: tf.matrix_diag(X)),
    "batch_matrix_diag_part": (lambda: tf.batch_matrix_diag_part(BATCH), lambda: tf.matrix_diag_part(BATCH)),
    "arg_max": (lambda: tf.arg_max(X, 1), lambda: tf.argmax(X, 1)),
    "arg_min": (lambda: tf.arg_min(X, 1), lambda: tf.argmin(X, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_an_old_name_does_what_the_new_one_does_and_says_so_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    old, new = SAME[name]
    with caplog.at_level(logging.WARNING, "tensorflow"):
        found = old()
        old()
    assert [r.getMessage() for r in caplog.records if f"tf.{name} " in r.getMessage()] == [caplog.messages[0]]
    assert "is deprecated; use tf." in caplog.messages[0]
    np.testing.assert_allclose(*run([found, new()]), rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "call"),
    {
        "keep_dims": lambda: tf.reduce_sum(X, 1, keep_dims=True),
        "reduction_indices": lambda: tf.reduce_max(X, reduction_indices=[0]),
        "dim": lambda: tf.expand_dims(X, dim=0),
        "squeeze_dims": lambda: tf.squeeze(X[None], squeeze_dims=[0]),
        "dimension": lambda: tf.argmax(X, dimension=1),
    }.items(),
)
def test_an_old_argument_is_named_once(old: str, call: object, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        call()  # type: ignore[operator]
        call()  # type: ignore[operator]
    assert [m for m in caplog.messages if f"the argument {old!r}" in m] == caplog.messages
    assert len(caplog.messages) == 1


def test_the_modern_spelling_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tensorflow"):
        tf.reduce_sum(X, 1, keepdims=True)
        tf.squeeze(tf.expand_dims(X, 0), axis=[0])
        tf.nn.max_pool(np.zeros((1, 2, 2, 1), np.float32), 2, 2, "SAME")
        tf.global_variables_initializer()
        tf.nn.moments(tf.constant(X), [0], keepdims=True)
        tf.layers.dense(tf.constant(X), 2)
    assert caplog.messages == []


def test_old_initializers(caplog: pytest.LogCaptureFixture) -> None:
    v = tf.Variable(3.0)
    with caplog.at_level(logging.WARNING, "tensorflow"), tf.Session() as session:
        session.run([tf.initialize_all_variables(), tf.initialize_local_variables(), tf.initialize_variables([v])])
        assert session.run(v) == 3.0
        assert tf.all_variables() == [v]
    assert len(caplog.messages) == 4
    assert caplog.messages[0] == (
        "tf.initialize_all_variables is deprecated; use tf.global_variables_initializer instead"
    )


def test_both_spellings_at_once_are_an_error() -> None:
    with pytest.raises(ValueError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        tf.reduce_sum(X, keepdims=True, keep_dims=True)


def test_grad_pass_through() -> None:
    x = tf.constant([0.4, 1.7])
    y = tf.grad_pass_through(tf.round)(x) * [2.0, 3.0]
    value, slope = run([y, tf.gradients(y, x)[0]])
    assert value.tolist() == [0.0, 6.0]
    assert slope.tolist() == [2.0, 3.0]


class Scale(tf.Module):
    def __init__(self, start: float) -> None:
        super().__init__(name="scale")
        with self.name_scope:
            self.factor = tf.Variable(start, name="factor")
            self.count = tf.Variable(0, name="count", trainable=False)

    @tf.Module.with_name_scope
    def __call__(self, x: object) -> tf.Tensor:
        return tf.multiply(x, self.factor, name="product")


class Two(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [Scale(2.0), {"b": Scale(3.0)}]


def test_module_finds_its_variables() -> None:
    two = Two()
    assert two.name == "two"
    assert [m.name for m in two.submodules] == ["scale", "scale"]
    assert [v.name for v in two.trainable_variables] == ["scale/factor:0", "scale_1/factor:0"]
    assert len(two.variables) == 4
    assert two.parts[0](1.0).name == "scale/product:0"  # type: ignore[operator]
    assert two.parts[0](1.0).name == "scale/product_1:0"  # type: ignore[operator]
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module("a b")


def test_is_tensor() -> None:
    things = [tf.constant(1), tf.Variable(1.0), tf.SparseTensor([[0]], [1], [2]), 1, np.zeros(2), None]
    assert [tf.is_tensor(t) for t in things] == [True, True, True, False, False, False]
