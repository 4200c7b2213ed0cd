"""Names that stand for no element: what the error says."""

import pytest

import headrace as tf


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("y:0", KeyError, "refers to a Tensor which does not exist. The operation, 'y', does not exist"),
        ("x:1", KeyError, "The operation, 'x', exists but only has 1 outputs"),
        ("x:a", ValueError, "looks a like a Tensor name, but is not a valid one"),
        (":0", ValueError, "not a valid one"),
        ("y", KeyError, "refers to an Operation not in the graph"),
    ],
)
def test_wrong_names(name: str, error: type[Exception], match: str) -> None:
    tf.constant(1.0, name="x")
    with pytest.raises(error, match=match):
        tf.get_default_graph().as_graph_element(name)


def test_a_near_name_is_suggested() -> None:
    tf.constant(1.0, name="weights")
    with pytest.raises(KeyError, match="Did you mean weights"):
        tf.get_default_graph().get_operation_by_name("weigths")
