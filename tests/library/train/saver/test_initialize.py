"""Starting from another model's checkpoint: init_from_checkpoint and warm_start."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import checkpoint_cases as cases

import headrace as tf

GOLDEN = str(Path(__file__).parents[3] / "golden/checkpoints/partitioned")


@pytest.fixture
def path(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("old/a", initializer=[1.0, 2.0])
        tf.get_variable("old/deep/b", initializer=3.0)
        tf.get_variable("root", initializer=4.0)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, f"{tmp_path}/model")


def values(*variables: Any) -> list[Any]:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [np.asarray(v).tolist() for v in sess.run(list(variables))]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_names_and_scopes(path: str, use_resource: bool) -> None:
    with tf.variable_scope("", use_resource=use_resource):
        one = tf.get_variable("one/a", [2])
        two = tf.get_variable("two/a", [2])
        three = tf.get_variable("three/deep/b", [])
        other = tf.get_variable("other", initializer=9.0)
    tf.train.init_from_checkpoint(path, {"old/a": one, "root": "other"})
    tf.train.init_from_checkpoint(path, [("old/a", "two/a")])
    tf.train.init_from_checkpoint(str(Path(path).parent), {"old/": "three/"})
    assert values(one, two, three, other) == [[1.0, 2.0], [1.0, 2.0], 3.0, 4.0]


def test_the_root(path: str) -> None:
    a = tf.get_variable("new/old/a", [2])
    tf.train.init_from_checkpoint(path, {"/": "new/"})
    assert values(a) == [[1.0, 2.0]]
    with tf.Graph().as_default():
        b = tf.get_variable("deep/b", [])
        tf.train.init_from_checkpoint(path, {"old/": "/"})
        assert values(b) == [3.0]


def test_partitioned() -> None:
    cases.make_partitioned(tf, rows=2, columns=5)
    rows = tf.get_variable(
        "zeros", [8, 3], partitioner=tf.fixed_size_partitioner(4), initializer=tf.zeros_initializer()
    )
    tf.train.init_from_checkpoint(GOLDEN, {"rows": "zeros", "columns": "columns"})
    assert values(rows.as_tensor()) == [cases.ROWS.tolist()]
    more = tf.get_variable("more", [8, 3], partitioner=tf.fixed_size_partitioner(3), initializer=tf.zeros_initializer())
    tf.train.init_from_checkpoint(GOLDEN, {"rows": list(more)})
    assert values(more.as_tensor()) == [cases.ROWS.tolist()]


@pytest.mark.parametrize(
    ("assignments", "error", "message"),
    [
        ({"missing": "one/a"}, ValueError, "Tensor missing is not found in .*model checkpoint"),
        ({"root": "one/a"}, ValueError, r"Shape of variable one/a:0 \(\(2,\)\) doesn't match .* root \(\[\]\)"),
        ({"root": "one/"}, ValueError, "should map to scope only root. Should be 'scope/': 'other_scope/'"),
        ({"old/deep/": "one/"}, ValueError, "Tensor old/deep/a .a in old/deep/. is not found in"),
        ({"root": 3}, TypeError, "needs a variable, a list of its parts or a name, got 3"),
    ],
)
def test_what_does_not_fit(path: str, assignments: Any, error: type[Exception], message: str) -> None:
    tf.get_variable("one/a", [2])
    with pytest.raises(error, match=message):
        tf.train.init_from_checkpoint(path, assignments)


def test_warm_start(path: str) -> None:
    a = tf.get_variable("old/a", [2])
    b = tf.get_variable("new/b", [])
    root = tf.get_variable("root", [], trainable=False, initializer=tf.zeros_initializer())
    tf.train.warm_start(path, var_name_to_prev_var_name={"new/b": "old/deep/b"})
    assert values(a, b, root) == [[1.0, 2.0], 3.0, 0.0]
    tf.train.warm_start(path, ["root"])
    assert values(root) == [4.0]
    tf.train.warm_start(path, None)
    tf.train.warm_start(path, [a])
    with pytest.raises(ValueError, match="that were not used: .'x'."):
        tf.train.warm_start(path, "old/a", var_name_to_prev_var_name={"x": "y"})
