"""Structures of several replicas as one, and back."""

from collections import namedtuple

import pytest

import headrace as tf
from headrace.library.distribute.values import Mirrored, PerReplica, local_results, regroup, select

Pair = namedtuple("Pair", ["a", "b"])


def test_structures_are_regrouped_and_selected() -> None:
    shared = object()
    one = {"x": Pair(1, [2, "s"]), "same": shared, "none": None}
    two = {"x": Pair(3, [2, "s"]), "same": shared, "none": None}
    found = regroup([one, two])
    assert isinstance(found["x"], Pair) and found["x"].a.values == (1, 3)
    assert found["x"].b == [2, "s"] and found["same"] is shared and found["none"] is None
    assert select(0, found) == one and select(1, found) == two
    assert local_results(found) == (one, two) and local_results(5) == (5,)
    assert regroup([one]) == one


@pytest.mark.parametrize("values", [[(1,), (1, 2)], [{"a": 1}, {"b": 1}]])
def test_what_is_not_alike_is_refused(values: list[object]) -> None:
    with pytest.raises(ValueError, match="structures that are not alike"):
        regroup(values)


def test_a_mirrored_value_is_used_as_its_tensor() -> None:
    with tf.device("/cpu:0"):
        x = tf.constant(2.0)
    value = Mirrored([x, tf.constant(2.0)])
    assert value.device == "/device:CPU:0" and value.shape == [] and value.get() is value.primary is x
    with tf.Session() as sess:
        assert sess.run([value, value * 3.0, 1.0 - value, tf.add(value, value), -value]) == [2.0, 6.0, -1.0, 4.0, -2.0]
    per_replica = PerReplica([x, x])
    with pytest.raises(ValueError, match="a value for each of 2 replicas"):
        tf.add(per_replica, 1.0)
    assert repr(PerReplica([1, 2])) == "PerReplica(0: 1, 1: 2)" and tf.Session().run(PerReplica([x])) == 2.0
