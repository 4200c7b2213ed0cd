"""Programs over two CPUs: no pass moves a node that is pinned, nor joins the work of two devices, and results stay the same."""

import numpy as np
import pytest
from passes.steps import options

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.bodies import bodies_within
from headrace.passes.pipeline import Context, Stage, make_step_graph, run_stage

TWO = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]


def on(index, function, *arguments, **keywords):  # type: ignore[no-untyped-def]
    with tf.device(f"/cpu:{index}"):
        return function(*arguments, **keywords)


def matrices(count, rows=4, columns=4):  # type: ignore[no-untyped-def]
    return [tf.placeholder(tf.float32, [rows, columns]) for _ in range(count)]


def sum_of_products(where_sum, where_products):  # type: ignore[no-untyped-def]
    a = matrices(6)
    products = [on(where_products, tf.matmul, x, y) for x, y in zip(a[::2], a[1::2], strict=True)]
    return a, on(where_sum, tf.add_n, products)


def transposed_products():  # type: ignore[no-untyped-def]
    w = tf.placeholder(tf.float32, [256, 256])
    a = matrices(10, 4, 256)
    products = [on(i % 2, tf.matmul, x, w, transpose_b=True) for i, x in enumerate(a)]
    return [w, *a], [tf.concat(products[0::2], 0), tf.concat(products[1::2], 0)]


def fixed_in_a_loop():  # type: ignore[no-untyped-def]
    a, b = matrices(2)

    def body(i, h):  # type: ignore[no-untyped-def]
        fixed = on(1, lambda: tf.exp(a) * b)
        return i + 1, on(0, tf.tanh, h + fixed)

    return [a, b], tf.while_loop(lambda i, h: i < 3, body, [0, a])[1]


def transposed_in_a_loop():  # type: ignore[no-untyped-def]
    w = tf.placeholder(tf.float32, [128, 128])
    (a,) = matrices(1, 4, 128)

    def body(i, h):  # type: ignore[no-untyped-def]
        one, other = (on(k, tf.matmul, h, w, transpose_b=True) for k in range(2))
        return i + 1, on(0, tf.tanh, one) + other

    return [w, a], tf.while_loop(lambda i, h: i < 3, body, [0, a])[1]


def recurrent(where_loop, where_product):  # type: ignore[no-untyped-def]
    x = tf.placeholder(tf.float32, [5, 4, 3])
    w, b = tf.placeholder(tf.float32, [11, 8]), tf.placeholder(tf.float32, [8])
    with tf.device(f"/cpu:{where_loop}"):
        rows = tf.TensorArray(tf.float32, 5).unstack(x)

        def body(i, h):  # type: ignore[no-untyped-def]
            joined = tf.concat([rows.read(i), h], 1)
            product = on(where_product, tf.matmul, joined, w)
            return i + 1, tf.tanh(tf.nn.bias_add(product, b))

        y = tf.while_loop(lambda i, h: i < 5, body, [0, tf.zeros([4, 8])])[1]
    slopes = tf.gradients(y, [x, w, b], colocate_gradients_with_ops=True)
    return [x, w, b], [y, *slopes]


def updates():  # type: ignore[no-untyped-def]
    x = tf.placeholder(tf.float32, [8])
    variables = [on(i % 2, tf.Variable, np.full(8, 0.1 * i, np.float32)) for i in range(16)]
    loss = tf.add_n([tf.reduce_sum(v * v * x) for v in variables])
    step = tf.train.AdamOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)
    with tf.control_dependencies([step]):
        return [x], [v.read_value() for v in variables]


def large_update():  # type: ignore[no-untyped-def]
    a, b = matrices(2, 256, 256)
    v = on(0, tf.Variable, tf.zeros([256, 256]))
    return [a, b], on(0, raw_ops.ApplyGradientDescent, v._ref(), 0.1, on(1, tf.matmul, a, b))


def alike_on_both():  # type: ignore[no-untyped-def]
    (a,) = matrices(1)
    return [a], [on(0, tf.exp, a), on(1, tf.exp, a), on(1, tf.exp, a)]


def arithmetic():  # type: ignore[no-untyped-def]
    (a,) = matrices(1)
    half = on(0, lambda: a * 0.5)
    turned = on(0, tf.transpose, a)
    reshaped = on(0, tf.reshape, a, [2, 8])
    return [a], [
        on(1, lambda: half * 4.0), on(1, tf.matmul, turned, a), on(1, tf.reshape, reshaped, [16]), on(1, lambda: a * 1.0),
    ]  # fmt: skip


def constants():  # type: ignore[no-untyped-def]
    (a,) = matrices(1)
    folded = on(1, lambda: tf.exp(tf.constant([1.0, 2.0, 3.0, 4.0])))
    shape = on(1, tf.shape, a)
    return [a], [on(0, lambda: a + folded), shape, on(1, tf.identity, a)]


PROGRAMS = {
    "products on the other device": lambda: sum_of_products(0, 1),
    "products on one device": lambda: sum_of_products(1, 1),
    "transposed products": transposed_products,
    "fixed in a loop": fixed_in_a_loop,
    "transposed in a loop": transposed_in_a_loop,
    "recurrent, one device": lambda: recurrent(1, 1),
    "recurrent, two devices": lambda: recurrent(0, 1),
    "updates": updates,
    "large update": large_update,
    "alike on both": alike_on_both,
    "arithmetic": arithmetic,
    "constants": constants,
}


def flat(fetches):  # type: ignore[no-untyped-def]
    return fetches if isinstance(fetches, list) else [fetches]


class Watch:
    """Where each node is after each pass.  A node of one name in one graph may never change its device."""

    def __init__(self) -> None:
        self.placed: dict[tuple[int, str], str] = {}
        self.moved: list[str] = []

    def __call__(self, name, graph) -> None:  # type: ignore[no-untyped-def]
        if name != "place" and not self.placed:
            return
        for one in [graph, *bodies_within(graph)]:
            for node in one.nodes:
                if node.device not in TWO:
                    self.moved.append(f"{name}: {node.name} is on {node.device!r}")
                before = self.placed.setdefault((id(one), node.name), node.device)
                if before != node.device:
                    self.moved.append(f"{name}: {node.name} went from {before} to {node.device}")


def rewritten(program):  # type: ignore[no-untyped-def]
    feeds, fetches = program()
    watch = Watch()
    chosen = options(devices=TWO, after_each=watch)
    graph = run_stage(Stage.FUSE, make_step_graph(feeds, flat(fetches), [], chosen), Context(chosen))
    assert not watch.moved
    return graph


def work(graph):  # type: ignore[no-untyped-def]
    """(type, number of the device) of the nodes of a graph and of its bodies, sorted."""
    return sorted((n.type, int(n.device[-1])) for g in [graph, *bodies_within(graph)] for n in g.nodes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pinned_nodes_stay(name: str) -> None:
    graph = rewritten(PROGRAMS[name])
    stateless = 0
    for one in [graph, *bodies_within(graph)]:
        for node in one.nodes:
            op = node.origin
            pinned = op is not None and op.device and node.name == op.name and node.type == op.type
            if pinned and not any(t.dtype._is_ref_dtype or t.dtype.name in ("resource", "variant") for t in op.inputs):
                stateless += 1
                assert node.device.endswith(op.device[-5:]), node
    assert stateless or name == "products on one device"  # of which nothing is left


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_one_device(name: str) -> None:
    feeds, fetches = PROGRAMS[name]()
    rng = np.random.RandomState(0)
    fed = {x: rng.uniform(-0.5, 0.5, x.shape.as_list()).astype(np.float32) for x in feeds}
    results = []
    for config in (
        tf.ConfigProto(compile="off", device_count={"CPU": 2}),
        tf.ConfigProto(compile="off", allow_soft_placement=True),
    ):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            results.append(session.run(flat(fetches), fed))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(other).max()))


def test_products_are_not_summed_on_another_device() -> None:
    graph = rewritten(PROGRAMS["products on the other device"])
    assert work(graph).count(("MatMul", 1)) == 3 and ("AddN", 0) in work(graph)
    together = work(rewritten(PROGRAMS["products on one device"]))
    assert ("MatMul", 1) in together and ("ConcatV2", 1) in together and not [t for t in together if t[0] == "AddN"]


def test_each_device_has_its_transposed_matrix() -> None:
    found = work(rewritten(transposed_products))
    assert found.count(("_TransposeCopy", 0)) == found.count(("_TransposeCopy", 1)) == 1


def test_loops_are_rewritten_on_their_device_only() -> None:
    one = work(rewritten(PROGRAMS["recurrent, one device"]))
    assert ("BatchMatMulV2", 1) in one and ("_AddProduct", 1) in one
    assert not {t for t, device in one if device == 0} - {"_Feed", "Const"}
    two = work(rewritten(PROGRAMS["recurrent, two devices"]))
    assert ("_AddProduct", 0) not in two and ("MatMul", 1) in two and ("MatMul", 0) not in two


def test_updates_are_fused_by_device() -> None:
    found = work(rewritten(updates))
    assert found.count(("_ApplyAdamTogether", 0)) == found.count(("_ApplyAdamTogether", 1)) == 1
    apart = work(rewritten(large_update))
    assert ("MatMul", 1) in apart and ("ApplyGradientDescent", 0) in apart


def test_work_of_two_devices_is_not_joined() -> None:
    assert work(rewritten(alike_on_both)) == [("Exp", 0), ("Exp", 1), ("_Feed", 0)]
    found = work(rewritten(arithmetic))
    assert found.count(("Mul", 0)) == 1 and found.count(("Mul", 1)) == 2
    assert ("Transpose", 0) in found and ("Reshape", 0) in found and ("Reshape", 1) in found


def test_what_replaces_a_node_is_where_the_node_was() -> None:
    graph = rewritten(constants)
    places = {n.name: (n.type, n.device[-1]) for n in graph.nodes}
    assert (
        places["Exp"] == ("Const", "1")
        and places["Shape"] == ("Const", "1")
        and places["Identity"] == ("Identity", "1")
    )
