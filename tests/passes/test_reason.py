"""Why nodes are placed where they are: each cause, with the user's line where one asked."""

import inspect

from passes.steps import options, step

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.bodies import bodies_within
from headrace.passes.pipeline import make_placed_graph
from headrace.passes.place import place
from headrace.passes.reason import Reason, Reasons

PREFIX = "/job:localhost/replica:0/task:0/device:"
DEVICES = [PREFIX + "GPU:0", PREFIX + "GPU:1", PREFIX + "CPU:0"]


def here(back: int = 1) -> str:
    """The line of the caller, or one that many lines before it."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno - back}"


def reasons(*fetches, has_kernel=lambda node, device_type: True, soft=False, feeds=()):  # type: ignore[no-untyped-def]
    """Node name -> why it is where it is, the nodes of bodies among them."""
    told = Reasons()
    targets = [f for f in fetches if isinstance(f, tf.Operation)]
    tensors = [f for f in fetches if isinstance(f, tf.Tensor)]
    graph = step(tensors, list(feeds), targets, lambda g: place(g, DEVICES, has_kernel, soft, told))
    everywhere = [n for one in (graph, *bodies_within(graph)) for n in one.nodes]
    assert all(n in told.of_node for n in everywhere)  # no node is without a reason
    return {n.name: told.of_node[n] for n in everywhere}


def test_asked_for() -> None:
    with tf.device("/job:localhost"):
        with tf.device("/gpu:1"):
            line = here()
            a = raw_ops.Neg(1.0, name="a")
        b = raw_ops.Neg(a, name="b")
    why = reasons(b)
    assert why["a"] == Reason("asked", f"asked for by tf.device at {line}")
    assert why["b"].cause == "asked"


def test_a_device_function_asks_too() -> None:
    with tf.device(lambda node: "/gpu:1" if node.type == "Neg" else ""):
        line = here()
        a = raw_ops.Exp(raw_ops.Neg(1.0, name="a"), name="b")
    why = reasons(a)
    assert why["a"] == Reason("asked", f"asked for by tf.device at {line}")
    assert why["b"] == Reason("default", "default device")


def test_an_imported_graph_asks() -> None:
    with tf.Graph().as_default() as other, tf.device("/gpu:1"):
        raw_ops.Neg(1.0, name="a")
    (a,) = tf.import_graph_def(other.as_graph_def(), return_elements=["a:0"], name="")
    assert reasons(a)["a"].cause == "asked"
    assert "/device:GPU:1 asked for by the node (made at " in reasons(a)["a"].text


def test_default_and_the_first_with_a_kernel() -> None:
    a = raw_ops.Neg(1.0, name="a")
    assert reasons(a)["a"] == Reason("default", "default device")
    why = reasons(a, has_kernel=lambda node, device_type: device_type == "CPU")
    assert why["a"] == Reason("default", "first device with a kernel for it")
    assert why["a/x"] == Reason("follows", "with the nodes that use it")


def test_colocation_and_resources() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VariableV2(shape=[], dtype=tf.float32, name="v")
    add = raw_ops.AssignAdd(v, 1.0, name="add")
    again = raw_ops.AssignAdd(add, 1.0, name="again")
    with tf.colocate_with(v):
        b = raw_ops.Neg(2.0, name="b")
    why = reasons(again, b)
    assert why["v"].cause == "asked"
    assert why["add"] == why["again"] == Reason("resource", "follows the resource v")
    assert why["b"] == Reason("colocated", "colocated with v")


def test_a_wish_that_contradicts_the_maker_of_the_resource() -> None:
    with tf.device("/gpu:1"):
        v = raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")
    with tf.device("/gpu:0"):
        add = raw_ops.AssignAddVariableOp(v, 1.0, name="add")
    why = reasons(add)["add"]
    assert why == Reason("resource", "follows the resource v, not /device:GPU:0, which it asks for")


def test_the_maker_of_state_may_be_placed_by_a_user_that_asks() -> None:
    v = raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")
    with tf.device("/gpu:1"):
        line = here()
        add = raw_ops.AssignAddVariableOp(v, 1.0, name="add")
    assert reasons(add)["v"] == Reason("shared", f"shares a device with add, asked for by tf.device at {line}")


def test_host_ops() -> None:
    with tf.device("/gpu:1"):
        line = here()
        a = tf.as_string(raw_ops.Neg(1.0, name="n"), name="a")
    b = tf.as_string(raw_ops.Neg(1.0, name="m"), name="b")
    why = reasons(a, b)
    assert why["a"] == Reason("host", f"host op: the CPU beside /device:GPU:1, asked for by tf.device at {line}")
    assert why["b"] == Reason("host", "host op: the CPU beside /device:GPU:0")


def test_soft_placement() -> None:
    with tf.device("/gpu:7"):
        line = here()
        a = raw_ops.Neg(1.0, name="a")
    text = f"soft placement: no device with the kernels fits /device:GPU:7, asked for by tf.device at {line}"
    assert reasons(a, soft=True)["a"] == Reason("fallback", text)


def test_feeds() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device("/gpu:1"):
        y = tf.placeholder(tf.float32, [], name="y")
    why = reasons(x + y, feeds=[x, y])
    assert why["_feed/x/0"] == Reason("fed", "fed by the client")
    assert why["_feed/y/0"].text.startswith("fed by the client, asked for by tf.device at ")


def test_bodies() -> None:
    v = raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")

    def body(i):  # type: ignore[no-untyped-def]
        with tf.control_dependencies([raw_ops.AssignAddVariableOp(v, 1.0, name="add")]), tf.device("/gpu:1"):
            return raw_ops.Neg(i, name="neg")

    loop = tf.while_loop(lambda i: i < 3.0, body, [0.0], name="loop")
    told = Reasons()
    chosen = options(devices=DEVICES, has_kernel=lambda node, device_type: True, reasons=told)
    graph = make_placed_graph([], [loop], [], chosen)
    why = {n.name: told.of_node[n] for one in (graph, *bodies_within(graph)) for n in one.nodes}
    assert why["loop/neg"].cause == "asked"
    assert why["loop/add"] == Reason("resource", "follows the resource v")
    assert why["loop/Less"] == Reason("default", "default device")
    assert {r.text for name, r in why.items() if name.startswith("_feed/")} == {
        "passed in by loop/While", "follows the resource v"
    }  # fmt: skip


def test_what_a_function_asks_for_where_it_is_called() -> None:
    @tf.function
    def twice(x):  # type: ignore[no-untyped-def]
        return raw_ops.Neg(x, name="neg")

    x = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:1"):
        y = twice(x)
    told = Reasons()
    graph = make_placed_graph([x], [y], [], options(devices=DEVICES, has_kernel=lambda n, t: True, reasons=told))
    (neg,) = [n for n in graph.nodes if n.type == "Neg"]
    assert neg.device == DEVICES[1]
    assert told.of_node[neg] == Reason("asked", "/device:GPU:1 asked for where its function is called")
