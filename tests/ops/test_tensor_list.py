"""Lists of tensors, by their raw ops: tests/library/saved_model/test_saved_model_golden.py imports programs that use them."""

from typing import Any

import numpy as np
import pytest
from running import run

import headrace as tf
from headrace.core import errors

ops = tf.raw_ops


def stack(handle: Any, shape: Any = -1, **options: Any) -> Any:
    return ops.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=tf.float32, **options)


def get(handle: Any, index: int, shape: Any = -1, dtype: Any = tf.float32) -> Any:
    return ops.TensorListGetItem(input_handle=handle, index=index, element_shape=shape, element_dtype=dtype)


def reserve(count: Any, shape: Any = -1) -> Any:
    return ops.TensorListReserve(element_shape=shape, num_elements=count, element_dtype=tf.float32)


def test_from_a_tensor_and_back() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    handle = ops.TensorListFromTensor(tensor=rows, element_shape=[2])
    gathered = ops.TensorListGather(input_handle=handle, indices=[2, 0], element_shape=-1, element_dtype=tf.float32)
    np.testing.assert_array_equal(run(stack(handle)), rows)
    np.testing.assert_array_equal(run(gathered), rows[[2, 0]])
    assert run(ops.TensorListLength(input_handle=handle)) == 3
    assert stack(handle, [2], num_elements=3).shape == [3, 2]


def test_a_change_leaves_the_older_list() -> None:
    first = ops.TensorListFromTensor(tensor=np.float32([1, 2]), element_shape=[])
    second = ops.TensorListSetItem(input_handle=first, index=1, item=np.float32(5))
    assert [list(v) for v in run([stack(first), stack(second)])] == [[1, 2], [1, 5]]


def test_what_was_not_set_is_zeros() -> None:
    handle = ops.TensorListSetItem(input_handle=reserve(2), index=1, item=np.float32([3, 4]))
    np.testing.assert_array_equal(run(stack(handle)), [[0, 0], [3, 4]])
    np.testing.assert_array_equal(run(get(reserve(1, [2]), 0)), [0, 0])
    np.testing.assert_array_equal(run(get(reserve(1, [-1]), 0, [3])), [0, 0, 0])
    assert run(stack(reserve(0, [2]))).shape == (0, 2)


def test_push_pop_and_resize() -> None:
    handle = ops.EmptyTensorList(element_shape=-1, max_num_elements=2, element_dtype=tf.string)
    for text in ("a", "b"):
        handle = ops.TensorListPushBack(input_handle=handle, tensor=text)
    full = ops.TensorListPushBack(input_handle=handle, tensor="c")
    popped = ops.TensorListPopBack(input_handle=handle, element_shape=[], element_dtype=tf.string)
    longer = ops.TensorListResize(input_handle=handle, size=3)
    assert run([popped.tensor, ops.TensorListLength(input_handle=popped.output_handle)]) == [b"b", 1]
    assert run([get(longer, 2, [], tf.string), get(longer, 0, [], tf.string)]) == [b"", b"a"]
    with pytest.raises(errors.InvalidArgumentError, match="full list"):
        run(ops.TensorListLength(input_handle=full))


def test_a_list_grows_in_a_loop() -> None:
    handle = reserve(0, [])

    def body(i: Any, handle: Any) -> Any:
        item = tf.cast(i * i, tf.float32)
        return i + 1, ops.TensorListSetItem(input_handle=handle, index=i, item=item, resize_if_index_out_of_bounds=True)

    _, squares = tf.while_loop(lambda i, _: i < 4, body, [0, handle])
    np.testing.assert_array_equal(run(stack(squares)), [0, 1, 4, 9])
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        np.testing.assert_array_equal(run("TensorListStack:0"), [0, 1, 4, 9])


def test_mistakes() -> None:
    three = ops.TensorListFromTensor(tensor=np.zeros((3, 2), np.float32), element_shape=[2])
    empty = ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)
    for wrong, words in (
        (get(three, 3), "access element 3 in a list with 3 elements"),
        (get(reserve(1), 0), "not fully defined"),
        (get(three, 0, [3]), "of shape .3,"),
        (stack(three, num_elements=4), "expected a list with 4 elements"),
        (stack(empty), "empty list"),
        (stack(ops.TensorListSetItem(input_handle=three, index=3, item=np.zeros(2, np.float32))), "modify element 3"),
        (stack(ops.TensorListSetItem(input_handle=three, index=0, item=np.zeros(5, np.float32))), "shape .5."),
        (stack(ops.TensorListFromTensor(tensor=np.zeros((3, 2), np.float32), element_shape=[4])), "from a tensor"),
        (stack(reserve(-1)), "non negative"),
        (ops.TensorListPopBack(input_handle=empty, element_shape=[], element_dtype=tf.float32).tensor, "empty list"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            run(wrong)


def test_a_gradient_is_refused() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    y = stack(ops.TensorListFromTensor(tensor=x, element_shape=[2]), [2])
    with pytest.raises(LookupError, match="No gradient defined for operation 'TensorListStack'.*test_tensor_list.py"):
        tf.gradients(y, [x])
