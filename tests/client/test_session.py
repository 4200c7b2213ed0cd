"""Sessions: nested fetches and feeds, pruning, plan cache, callables, partial runs, threads, life."""

import collections
from functools import partial
from typing import Any

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.core.registry import REGISTRY, op


@pytest.fixture
def counting():
    """An op that counts how often its kernel runs."""
    calls = []
    definition = op("TestCount(x: T) -> (y: T)", T=tf.as_dtype("float32"), stateful=True)
    definition.shape(lambda x: x)
    definition.not_differentiable()

    @definition.kernel
    def _(x):
        calls.append(1)
        return x + 1

    yield calls
    REGISTRY.remove("TestCount")


class TestFetches:
    def test_structures(self) -> None:
        a, b = tf.constant(1.0, name="a"), tf.constant([2, 3], name="b")
        Pair = collections.namedtuple("Pair", "first second")
        with tf.Session() as sess:
            assert sess.run(a) == 1.0 and isinstance(sess.run(a), np.float32)
            assert sess.run([a, a]) == [1.0, 1.0]
            assert sess.run((a,)) == (1.0,)
            got = sess.run({"x": a, "y": [b, "b:0"], "z": Pair(a, a.op)})
            assert got["x"] == 1.0 and got["z"] == Pair(1.0, None)
            np.testing.assert_array_equal(got["y"], [[2, 3], [2, 3]])
            assert sess.run("a:0") == 1.0 and sess.run("a") is None
            assert sess.run([]) == []
            ordered = sess.run(collections.OrderedDict([("q", a), ("p", b)]))
            assert isinstance(ordered, collections.OrderedDict) and list(ordered) == ["q", "p"]

    def test_sparse_and_slices(self) -> None:
        sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
        slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3]))
        with tf.Session() as sess:
            got = sess.run(sparse)
            assert isinstance(got, tf.SparseTensorValue) and got.dense_shape.tolist() == [2, 2]
            rows = sess.run(slices)
            assert rows.indices.tolist() == [3] and rows.dense_shape is None

    def test_variables_and_operations(self) -> None:
        v = tf.Variable(3.0)
        with tf.Session() as sess:
            assert sess.run(v.initializer) is None
            assert sess.run([v, tf.group()]) == [3.0, None]

    @pytest.mark.parametrize(
        ("fetch", "error"),
        [
            (None, TypeError),
            (3.5, TypeError),
            ("nothing:0", ValueError),
            ("a:7", ValueError),
            (["a:0", None], TypeError),
        ],
    )
    def test_bad(self, fetch, error) -> None:
        tf.constant(1.0, name="a")
        with tf.Session() as sess, pytest.raises(error, match="Fetch argument"):
            sess.run(fetch)

    def test_of_another_graph(self) -> None:
        tf.constant(1.0)
        with tf.Graph().as_default():
            other = tf.constant(2.0)
        with tf.Session() as sess, pytest.raises(ValueError, match=r"another graph at .*test_session.py:\d+"):
            sess.run(other)

    def test_results_are_the_callers_own(self) -> None:
        v = tf.Variable([1.0, 2.0])
        x = tf.placeholder(tf.float32, [2])
        c = tf.constant([5.0, 6.0])
        given = np.zeros(2, np.float32)
        fetches = [v, v.read_value(), tf.reshape(v, [2, 1]), tf.identity(x), tf.identity(c), c]
        with tf.Session() as sess:
            sess.run(v.initializer)
            for value in sess.run(fetches, {x: given}):
                value += 100
            assert given.tolist() == [0, 0]
            assert sess.run(v).tolist() == [1, 2] and sess.run(c).tolist() == [5, 6]


class TestFeeds:
    def test_any_tensor(self) -> None:
        a = tf.constant(2.0)
        b = a * 3.0
        c = b + 1.0
        with tf.Session() as sess:
            assert sess.run(c) == 7 and sess.run(c, {b: 10.0}) == 11 and sess.run(c, {"Const:0": 1.0}) == 4
            assert sess.run(b, {b: 5.0}) == 5

    def test_nested_keys(self) -> None:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        sparse = tf.sparse_placeholder(tf.float32)
        with tf.Session() as sess:
            assert sess.run(x - y, {(x, y): (5.0, 3.0)}) == 2
            fed = tf.SparseTensorValue([[0, 0]], [4.0], [1, 1])
            assert sess.run(sparse.values, {sparse: fed}).tolist() == [4.0]

    def test_casting(self) -> None:
        f, i, b = (tf.placeholder(d) for d in (tf.float32, tf.int32, tf.bool))
        with tf.Session() as sess:
            assert sess.run(f, {f: 3}) == 3.0 and sess.run(f, {f: np.float64(2.5)}) == 2.5
            assert sess.run(i, {i: np.int64(7)}) == 7 and sess.run(b, {b: True})
            assert sess.run(f, {f: [[1, 2]]}).dtype == np.float32
            with pytest.raises(TypeError, match="not compatible with Tensor type int32"):
                sess.run(i, {i: 2**40})

    @pytest.mark.parametrize("wanted", [tf.int32, tf.int64, tf.uint8, tf.float16, tf.float32, tf.complex64, tf.bool])
    @pytest.mark.parametrize("fed", [np.int64, np.uint8, np.float32, np.float64, ">i4"])
    def test_arrays_of_other_types_are_cast(self, fed: Any, wanted: Any) -> None:
        x = tf.placeholder(wanted, [2, 3])
        value = np.array([[0, 1, 2], [3, 4, 5]], fed)
        with tf.Session() as sess:
            for array in (value, np.asfortranarray(value), value[::-1]):
                got = sess.run(tf.identity(x), {x: array})
                assert got.dtype == wanted.as_numpy_dtype
                np.testing.assert_array_equal(got, array.astype(wanted.as_numpy_dtype))

    def test_complex_arrays_are_not_cast_to_real_ones(self) -> None:
        x = tf.placeholder(tf.float32, [2])
        with tf.Session() as sess, pytest.raises(TypeError, match="complex values cannot be fed"):
            sess.run(x, {x: np.ones(2, np.complex64)})

    @pytest.mark.parametrize("order", ["F", "negative", "readonly", "broadcast"])
    def test_awkward_arrays(self, order) -> None:
        x = tf.placeholder(tf.float32, [3, 2])
        base = np.arange(6, dtype=np.float32).reshape(3, 2)
        value = {"F": np.asfortranarray(base), "negative": base[::-1], "readonly": base.copy(),
                 "broadcast": np.broadcast_to(np.float32(1), [3, 2])}[order]  # fmt: skip
        if order == "readonly":
            value.flags.writeable = False
        with tf.Session() as sess:
            np.testing.assert_array_equal(sess.run(x * 2.0, {x: value}), value * 2)

    def test_two_batch_sizes(self) -> None:
        x = tf.placeholder(tf.float32, [None, 2])
        s = tf.reduce_sum(x, 1)
        with tf.Session() as sess:
            assert sess.run(s, {x: np.ones([3, 2])}).shape == (3,)
            assert sess.run(s, {x: np.ones([0, 2])}).shape == (0,)

    @pytest.mark.parametrize(
        ("value", "error", "match"),
        [
            (np.zeros([2, 3]), ValueError, r"shape \(2, 3\) for Tensor 'x:0', which has shape \(\?, 2\)"),
            (np.zeros(2), ValueError, "which has shape"),
            (None, TypeError, "None cannot be fed"),
            ("text", ValueError, "could not convert"),
            ([[1, 2], [3]], ValueError, "inhomogeneous"),
        ],
    )
    def test_bad_value(self, value, error, match) -> None:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.Session() as sess, pytest.raises(error, match=match) as caught:
            sess.run(x, {x: value})
        assert "test_session.py" in str(caught.value)

    def test_bad_keys(self) -> None:
        x = tf.placeholder(tf.float32, name="x")
        with tf.Session() as sess:
            with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
                sess.run(x, {3: 1.0})
            with pytest.raises(TypeError, match="feed_dict key.*does not exist"):
                sess.run(x, {"y:0": 1.0})
            with pytest.raises(TypeError, match=r"cannot be a tf\.Tensor"):
                sess.run(x, {x: tf.constant(1.0)})
            with pytest.raises(ValueError, match="x:0 is fed twice"):
                sess.run(x, {x: 1.0, "x:0": 2.0})
            with pytest.raises(TypeError, match="must be a dictionary"):
                sess.run(x, [1.0])

    def test_missing(self) -> None:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(x + 1.0)
        assert "must feed a value for placeholder tensor 'x'" in caught.value.message
        assert caught.value.op is x.op and "test_session.py" in caught.value.message

    def test_default(self) -> None:
        x = tf.placeholder_with_default([1.0, 2.0], [None])
        with tf.Session() as sess:
            assert sess.run(x).tolist() == [1, 2] and sess.run(x, {x: [5.0]}).tolist() == [5]

    def test_strings(self) -> None:
        s = tf.placeholder(tf.string, [None])
        with tf.Session() as sess:
            assert sess.run(s, {s: ["a", b"\xff"]}).tolist() == [b"a", b"\xff"]
            assert sess.run(tf.constant("text")) == b"text"


class TestPlanning:
    def test_only_the_closure_runs(self, counting) -> None:
        """Fig. 6 of the paper: feed b, fetch f; d and e do not run."""
        a = tf.constant(1.0)
        b = tf.raw_ops.TestCount(a)
        d = tf.raw_ops.TestCount(a)
        tf.raw_ops.TestCount(d)
        f = tf.raw_ops.TestCount(b)
        with tf.Session() as sess:
            sess.run(f, {b: 2.0})
            assert len(counting) == 1
            sess.run(f)
            assert len(counting) == 3

    def test_plan_is_cached(self) -> None:
        x = tf.placeholder(tf.float32)
        y = x + 1.0
        with tf.Session() as sess:
            sess.run(y, {x: 1.0})
            plans = len(sess._master._plans)
            tf.constant(5.0)  # a growing graph leaves plans alone
            sess.run(y, {x: [2.0, 3.0]})
            sess.run([y, y], {x: 1.0})
            assert len(sess._master._plans) == plans

    def test_graph_grows_between_runs(self) -> None:
        a = tf.constant(1.0)
        with tf.Session() as sess:
            assert sess.run(a) == 1
            assert sess.run(a + 1.0) == 2

    def test_changed_node_is_planned_again(self) -> None:
        a, b = tf.constant(1.0), tf.constant(5.0)
        c = tf.identity(a)
        with tf.Session() as sess:
            assert sess.run(c) == 1
            c.op._update_input(0, b)
            assert sess.run(c) == 5

    def test_empty_graph(self) -> None:
        with tf.Session() as sess, pytest.raises(RuntimeError, match="graph is empty"):
            sess.run([])


class TestCallable:
    def test_values(self) -> None:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        with tf.Session() as sess:
            f = sess.make_callable({"d": x - y}, [x, y])
            assert f(5.0, 3.0) == {"d": 2.0}
            with pytest.raises(tf.errors.InvalidArgumentError, match="takes 2 values to feed, got 1"):
                f(1.0)
            with pytest.raises(TypeError, match="must be a list"):
                sess.make_callable(x, x)


class TestPartialRun:
    def test_steps(self, counting) -> None:
        a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
        r1 = tf.raw_ops.TestCount(a) + b
        r2 = r1 * c
        with tf.Session() as sess:
            h = sess.partial_run_setup([r1, r2], [a, b, c])
            assert sess.partial_run(h, r1, {a: 1.0, b: 2.0}) == 4.0
            assert sess.partial_run(h, r2, {c: 10.0}) == 40.0
            assert len(counting) == 1
            with pytest.raises(tf.errors.InvalidArgumentError, match="its run has ended"):  # and its values are freed
                sess.partial_run(h, r2)

    def test_mistakes(self) -> None:
        a, b = (tf.placeholder(tf.float32, [], name=n) for n in "ab")
        r = tf.add(a, b, name="r")
        with tf.Session() as sess:
            h = sess.partial_run_setup([r], [a, b])
            with pytest.raises(tf.errors.InvalidArgumentError, match="Fetch r:0 can't be computed.*not fed yet: b:0"):
                sess.partial_run(h, r, {a: 1.0})
            sess.partial_run(h, [], {a: 1.0})  # a call that is refused has fed nothing
            with pytest.raises(tf.errors.InvalidArgumentError, match="The feed a:0 has already been fed"):
                sess.partial_run(h, [], {a: 1.0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="was not specified in partial_run_setup"):
                sess.partial_run(h, a + 1.0)
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="The feed r:0 was not specified in partial_run_setup"
            ):
                sess.partial_run(h, [], {r: 1.0})
            with pytest.raises(RuntimeError, match=r"requires empty `target_list`.*\['r'\]"):
                sess.partial_run(h, r.op)
            assert sess.partial_run(h, r, {b: 2.0}) == 3.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="not a handle"):
                sess.partial_run("nonsense", r)
            h = sess.partial_run_setup([r, r], [a, b])
            assert sess.partial_run(h, [r, r], {a: 1.0, b: 1.0}) == [2.0, 2.0]
            h = sess.partial_run_setup([r, tf.negative(r)], [a, b])
            assert sess.partial_run(h, r, {a: 1.0, b: 1.0}) == 2.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="The fetch r:0 has already been fetched"):
                sess.partial_run(h, r)
        with pytest.raises(RuntimeError, match="closed Session"):
            sess.partial_run(h, r)

    @pytest.mark.parametrize("control_flow", ["auto", "lowered"])
    def test_loops(self, control_flow: str) -> None:
        a, b = (tf.placeholder(tf.float32, [], name=n) for n in "ab")
        _, power = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * a), [0, 1.0])
        total = power + b
        with tf.Session(config=tf.ConfigProto(control_flow=control_flow)) as sess:
            h = sess.partial_run_setup([power, total], [a, b])
            assert sess.partial_run(h, power, {a: 2.0}) == 8.0
            assert sess.partial_run(h, total, {b: 1.0}) == 9.0

    def test_a_use_that_waits_for_a_feed_sees_what_was_written_before(self) -> None:
        a = tf.placeholder(tf.float32, [])
        v = tf.Variable(1.0)
        waited = tf.square(a)
        with tf.control_dependencies([waited]):
            later = v.read_value() + waited
        write = v.assign_add(1.0)
        with tf.Session() as sess:
            sess.run(v.initializer)
            h = sess.partial_run_setup([later, write], [a])
            assert sess.partial_run(h, write) == 2.0
            assert sess.partial_run(h, later, {a: 3.0}) == 11.0

    def test_fetches_become_handles(self) -> None:
        a = tf.placeholder(tf.float32, [])
        kept = tf.get_session_handle(a * 2.0)
        with tf.Session() as sess:
            handle = sess.partial_run(sess.partial_run_setup([kept], [a]), kept, {a: 3.0})
            assert handle.eval() == 6.0


class TestThreads:
    def test_concurrent_runs_share_only_state(self) -> None:
        x = tf.placeholder(tf.float32, [100])
        y = tf.reduce_sum(x * 2.0)
        counter = tf.Variable(0)
        add = tf.assign_add(counter, 1, use_locking=True)

        def work(sess: tf.Session, k: int) -> None:
            for _ in range(50):
                assert sess.run(y, {x: np.full(100, k)}) == 200 * k
                sess.run(add.op)

        with tf.Session() as sess:
            sess.run(counter.initializer)
            run_threads(*(partial(work, sess, k) for k in range(4)))
            assert sess.run(counter) == 200


class TestLife:
    def test_closed(self) -> None:
        a = tf.constant(1.0)
        sess = tf.Session()
        sess.close()
        sess.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            sess.run(a)

    def test_default_session(self) -> None:
        a = tf.constant(4.0)
        with pytest.raises(ValueError, match="No default session"):
            a.eval()
        with tf.Session() as sess:
            assert a.eval() == 4 and tf.get_default_session() is sess
            with tf.Session() as inner:
                assert tf.get_default_session() is inner
            assert tf.get_default_session() is sess
        assert tf.get_default_session() is None

    def test_interactive(self) -> None:
        sess = tf.InteractiveSession()
        try:
            v = tf.Variable(1.0)
            v.initializer.run()
            assert v.eval() == 1
        finally:
            sess.close()
        assert tf.get_default_session() is None

    def test_state_is_per_session(self) -> None:
        v = tf.Variable(1.0)
        with tf.Session() as one, tf.Session() as two:
            one.run(v.initializer)
            with pytest.raises(tf.errors.FailedPreconditionError):
                two.run(v)

    def test_reset_empties_a_container(self) -> None:
        with tf.container("box"):
            kept = tf.Variable(1.0)
        other = tf.Variable(2.0)
        with tf.Session() as sess:
            sess.run([kept.initializer, other.initializer])
            tf.Session.reset("", ["box"])
            assert sess.run(other) == 2
            with pytest.raises(tf.errors.FailedPreconditionError):
                sess.run(kept)

    def test_arguments(self) -> None:
        with pytest.raises(TypeError, match=r"graph must be a tf\.Graph"):
            tf.Session(graph=3)
        with pytest.raises(TypeError, match=r"config must be a tf\.ConfigProto"):
            tf.Session(config={})
        with pytest.raises(tf.errors.NotFoundError, match="No session factory"):
            tf.Session("nowhere:1")

    def test_devices(self) -> None:
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            names = [d.name for d in sess.list_devices() if d.device_type == "CPU"]
            assert names == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]
            with tf.device("/cpu:0"):
                a = tf.Variable([1.0, 2.0])
            with tf.device("/cpu:1"):
                b = a * 3.0
            sess.run(a.initializer)
            assert sess.run(b).tolist() == [3, 6]
            with tf.device("/gpu:7"):
                c = tf.constant(1.0) + 1.0
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Cannot assign a device.*test_session.py"):
                sess.run(c)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            assert sess.run(c) == 2


def test_a_closed_session_holds_nothing_without_the_garbage_collector() -> None:
    import gc
    import weakref

    import torch

    alive = []
    keep = tf.py_func(lambda: alive.append(1) or np.ones(3, np.float32), [], tf.float32)
    v = tf.get_variable("v", initializer=np.ones(1000, np.float32))
    step = [v + 1.0, tf.assign_add(v, tf.ones([1000])), keep]
    gc.collect()
    gc.disable()
    try:
        sess = tf.Session(config=tf.ConfigProto(compile="off"))
        sess.run(v.initializer)
        sess.run(step)
        buffer = next(s for s in sess._master.registered._handles.values() if hasattr(s, "value"))
        seen = weakref.ref(buffer)
        assert isinstance(buffer.value, torch.Tensor)
        del buffer
        sess.close()
        assert seen() is None
    finally:
        gc.enable()


class TestAsTensorFlow:
    def test_names_may_be_bytes(self) -> None:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.add(x, 1.0, name="y")
        with tf.Session() as sess:
            assert sess.run(b"y:0", {"x:0": 1.0}) == 2.0
            assert sess.run([b"y:0", b"y"], {x: 1.0}) == [2.0, None]

    def test_a_session_is_entered_once(self) -> None:
        one = tf.constant(1)
        sess = tf.Session()
        again = pytest.raises(RuntimeError, match=r"not re-entrant. Use `Session.as_default\(\)`")
        with sess:
            with again, sess:
                pass
            with sess.as_default(), sess.as_default():
                assert one.eval() == 1
        with pytest.raises(RuntimeError, match="closed Session"), sess:
            sess.run(one)

    @pytest.mark.parametrize(
        ("dtype", "shape", "words"),
        [
            (tf.float32, [2, 3], "with dtype float and shape \\[2,3\\]:"),
            (tf.float64, [None, 2], "with dtype double and shape \\[\\?,2\\]:"),
            (tf.int32, None, "with dtype int32:"),
            (tf.string, [], "with dtype string:"),
        ],
    )
    def test_a_placeholder_without_a_value(self, dtype: Any, shape: Any, words: str) -> None:
        p = tf.placeholder(dtype, shape, name="p")
        text = f"^You must feed a value for placeholder tensor 'p' {words}"
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=text):
            sess.run(tf.identity(p))

    def test_negative_sizes_are_refused(self) -> None:
        refused = "^Error converting shape to a TensorShape: Dimension -1 must be >= 0"
        for build in (
            lambda: tf.placeholder(tf.float32, [-1]),
            lambda: tf.placeholder_with_default([1.0], [-1]),
            lambda: tf.raw_ops.Placeholder(dtype=tf.float32, shape=[-1]),
        ):
            with pytest.raises(ValueError, match=refused):
                build()

    def test_partial_runs_need_a_graph(self) -> None:
        with tf.Session() as sess, pytest.raises(RuntimeError, match="The Session graph is empty"):
            sess.partial_run_setup([])

    def test_all_nodes_need_a_device(self) -> None:
        with tf.device("/job:other/task:3"):
            tf.constant(1.0, name="elsewhere")
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="operation elsewhere"):
            sess.run(tf.constant(2.0))

    def test_only_nodes_that_are_needed_need_a_device_where_the_config_says_so(self) -> None:
        with tf.device("/gpu:7"):
            absent = tf.constant(1.0, name="absent")
        with tf.device("/job:other/task:3"):
            elsewhere = tf.constant(1.0)
        with tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True))) as sess:
            assert sess.run(tf.constant(2.0)) == 2.0
            for node in (absent, elsewhere):
                with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation"):
                    sess.run(node)
