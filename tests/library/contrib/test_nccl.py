"""contrib.nccl: reductions over devices, on virtual CPUs; which device has what, gradients, and what is refused."""

import numpy as np
import pytest

import headrace as tf

nccl = tf.contrib.nccl
FEEDS = [np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0, -6.0]), np.array([0.5, 0.25, -8.0])]
EXPECTED = {
    "all_sum": np.sum(FEEDS, 0),
    "all_prod": np.prod(FEEDS, 0),
    "all_min": np.min(FEEDS, 0),
    "all_max": np.max(FEEDS, 0),
}


def config(cpus=3):
    return tf.ConfigProto(device_count={"CPU": cpus}, compile="off")


def placed(dtype=tf.float64, count=3):
    """Placeholders, and a tensor on each device."""
    fed = [tf.placeholder(dtype, [3]) for _ in range(count)]
    tensors = []
    for i, x in enumerate(fed):
        with tf.device(f"/cpu:{i}"):
            tensors.append(tf.identity(x, name=f"on_{i}"))
    return fed, tensors


def feeds(fed):
    return dict(zip(fed, FEEDS, strict=False))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_device_has_the_result(name):
    fed, tensors = placed()
    results = getattr(nccl, name)(tensors)
    assert [t.device for t in results] == ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]
    used = []
    for result in results:
        with tf.device(result.device):
            used.append(result * 1.0)
    with tf.Session(config=config()) as session:
        for value in session.run(used, feeds(fed)):
            np.testing.assert_allclose(value, EXPECTED[name])
        plan = session._master.plan(fed, used, [])
        assert {m.name[-5:] for m in plan.partitions.members} == {"CPU:0", "CPU:1", "CPU:2"}
        np.testing.assert_allclose(session.run(results[1], feeds(fed)), EXPECTED[name])  # one alone does not hang


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.int32, tf.int64])
def test_types(dtype):
    fed, tensors = placed(dtype)
    values = [np.array([1, 2, 3], dtype.as_numpy_dtype) * i for i in (1, 2, 3)]
    with tf.Session(config=config()) as session:
        for total in session.run(nccl.all_sum(tensors), dict(zip(fed, values, strict=True))):
            assert total.dtype == dtype.as_numpy_dtype and total.tolist() == [6, 12, 18]


def test_one_tensor_is_its_own_result():
    fed, tensors = placed(count=1)
    with tf.Session(config=config(1)) as session:
        (total,) = session.run(nccl.all_sum(tensors), feeds(fed))
    np.testing.assert_array_equal(total, FEEDS[0])


def test_reduce_sum_is_on_the_current_device():
    fed, tensors = placed()
    with tf.device("/cpu:1"):
        total = nccl.reduce_sum(tensors)
    assert total.device == "/device:CPU:1"
    with tf.Session(config=config()) as session:
        np.testing.assert_allclose(session.run(total, feeds(fed)), EXPECTED["all_sum"])


def test_broadcast():
    fed, tensors = placed()
    copy = nccl.broadcast(tensors[1])
    assert copy.device == "/device:CPU:1"
    used = []
    for i in range(3):
        with tf.device(f"/cpu:{i}"):
            used.append(copy * (i + 1.0))
    with tf.Session(config=config()) as session:
        for i, value in enumerate(session.run(used, feeds(fed))):
            np.testing.assert_allclose(value, FEEDS[1] * (i + 1))


# ---- gradients


def weighted(results):
    """A number that each result has another part in."""
    parts = []
    for i, result in enumerate(results):
        with tf.device(result.device):
            parts.append(tf.reduce_sum(tf.sin(result * (i + 1.0))))
    return tf.add_n(parts)


def broadcasts(tensors):
    """One of the tensors, used on all devices."""
    copy = nccl.broadcast(tensors[1])
    results = []
    for tensor in tensors:
        with tf.device(tensor.device):
            results.append(copy + tensor)
    return results


def on_the_second(tensors):
    with tf.device("/cpu:1"):
        return [nccl.reduce_sum(tensors)]


@pytest.mark.parametrize(
    "reduction", [nccl.all_sum, nccl.all_prod, nccl.all_min, nccl.all_max, on_the_second, broadcasts]
)
@pytest.mark.parametrize("colocate", [False, True])
def test_gradients_against_differences(reduction, colocate):
    fed, tensors = placed()
    y = weighted(reduction(tensors))
    slopes = tf.gradients(y, fed, colocate_gradients_with_ops=colocate)
    with tf.Session(config=config()) as session:
        found = session.run(slopes, feeds(fed))
        for which, x in enumerate(fed):
            for element in range(3):
                step = np.zeros(3)
                step[element] = 1e-6
                above, below = (session.run(y, {**feeds(fed), x: FEEDS[which] + s}) for s in (step, -step))
                assert found[which][element] == pytest.approx((above - below) / 2e-6, abs=1e-5)


def test_a_tower_program_trains_on_every_device():
    """Each tower has its own weights, and keeps them equal to the others' by all_sum of the gradients."""
    x = tf.placeholder(tf.float64, [4, 2])
    weights, losses = [], []
    for i, part in enumerate(tf.split(x, 2)):
        with tf.device(f"/cpu:{i}"):
            weights.append(tf.Variable(np.array([[1.0], [-1.0]])))
            losses.append(tf.reduce_mean(tf.square(tf.matmul(part, weights[-1]) - 1.0)))
    gradients = []
    for loss, w in zip(losses, weights, strict=True):
        with tf.device(w.device):
            gradients.append(tf.gradients(loss, w)[0])
    updates = []
    for w, total in zip(weights, nccl.all_sum(gradients), strict=True):
        with tf.device(w.device):
            updates.append(w.assign_sub(0.05 * total))
    data = np.arange(8.0).reshape(4, 2) / 4
    with tf.Session(config=config(2)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(updates, {x: data})
        first, second = session.run(weights)
    np.testing.assert_array_equal(first, second)
    w = np.array([[1.0], [-1.0]])
    for _ in range(5):
        w = w - 0.05 * data.T @ (data @ w - 1.0)  # two means over two rows, each: together a sum over all four
    np.testing.assert_allclose(first, w)


# ---- what is refused


@pytest.mark.parametrize("name", [*sorted(EXPECTED), "reduce_sum"])
def test_no_tensors(name):
    with pytest.raises(ValueError, match="Must pass >0 tensors to (all )?reduce operations"):
        getattr(nccl, name)([])


@pytest.mark.parametrize("name", [*sorted(EXPECTED), "reduce_sum", "broadcast"])
def test_a_tensor_without_device(name):
    x = tf.constant([1.0])
    line = f"Const:0 \\(made at {__file__}:{x.op.traceback[-1][1]}\\) has no device"
    with pytest.raises(ValueError, match=f"Device assignment required for nccl collective ops: {line}"):
        getattr(nccl, name)(x if name == "broadcast" else [x])


def test_two_tensors_of_one_device():
    with tf.device("/cpu:1"):
        a, b = tf.constant([1.0], name="a"), tf.constant([2.0], name="b")
    with pytest.raises(
        ValueError, match=r"a:0 \(made at .*test_nccl.py:\d+\) and b:0 .* both on /device:CPU:1. Combine"
    ):
        nccl.all_sum([a, b])
    with pytest.raises(ValueError, match="Each tensor of all_max must be on a device of its own"):
        nccl.all_max([a, a])


def test_a_sum_on_a_device_of_none_of_the_tensors():
    _, tensors = placed(count=2)
    with (
        tf.device("/cpu:2"),
        pytest.raises(ValueError, match="One input tensor must be assigned to current device.*CPU:2"),
    ):
        nccl.reduce_sum(tensors)
    with pytest.raises(ValueError, match="the current device is none"):
        nccl.reduce_sum(tensors)


def test_shapes_that_do_not_fit():
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/cpu:1"):
        b = tf.constant([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="test_nccl.py:"):
        nccl.all_sum([a, b])
