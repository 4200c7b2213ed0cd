"""Graphs whose parameters and float operations are counted by `tf.profiler`, with TensorFlow and with Headrace alike."""

from __future__ import annotations

import contextlib
import io
from typing import Any


def element_wise(tf: Any) -> None:
    x, y = tf.placeholder(tf.float32, [3, 4], name="x"), tf.placeholder(tf.float32, [4], name="y")
    x + y
    for name in ("subtract", "multiply", "realdiv", "maximum", "minimum", "pow", "squared_difference"):
        getattr(tf, name)(x, y, name=f"two_{name}")
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        getattr(tf, name)(x, x, name=f"compare_{name}")
    for name in ("negative", "reciprocal", "square", "rsqrt", "log", "exp", "tanh"):
        getattr(tf, name)(x, name=f"one_{name}")
    tf.nn.softmax(x, name="softmax")
    tf.nn.l2_loss(x, name="l2")
    tf.add_n([x, x, x], name="add_n")
    tf.nn.bias_add(x, y, name="bias")
    tf.gradients(tf.nn.bias_add(x, y, name="biased"), y, name="back")
    tf.gradients(tf.rsqrt(x, name="root"), x, name="back_root")


def reductions(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 4, 5], name="x")
    for name in ("sum", "mean", "max"):
        getattr(tf, f"reduce_{name}")(x, name=f"{name}_all")
        getattr(tf, f"reduce_{name}")(x, axis=1, name=f"{name}_one")
    tf.argmax(x, axis=2, name="argmax")
    tf.argmin(x, axis=0, name="argmin")


def products(tf: Any) -> None:
    a, b = tf.placeholder(tf.float32, [3, 4], name="a"), tf.placeholder(tf.float32, [4, 5], name="b")
    tf.matmul(a, b, name="plain")
    tf.matmul(b, a, transpose_a=True, transpose_b=True, name="turned")
    many = tf.placeholder(tf.float32, [2, 7, 3, 4], name="many")
    tf.matmul(many, tf.placeholder(tf.float32, [2, 7, 4, 5], name="more"), name="batch")
    tf.matmul(tf.placeholder(tf.float32, [None, 4], name="open"), b, name="unknown")


def windows(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 9, 8, 3], name="x")
    conv = tf.nn.conv2d(x, tf.zeros([3, 2, 3, 5], name="filter"), strides=[1, 2, 2, 1], padding="SAME", name="conv")
    tf.nn.depthwise_conv2d_native(x, tf.zeros([3, 3, 3, 2]), [1, 1, 1, 1], "VALID", name="depthwise")
    pool = tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME", name="max_pool")
    mean = tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], "VALID", name="avg_pool")
    deep = tf.placeholder(tf.float32, [1, 4, 5, 6, 2], name="deep")
    tf.nn.conv3d(deep, tf.zeros([2, 2, 3, 2, 3]), strides=[1, 1, 1, 1, 1], padding="SAME", name="conv3d")
    tf.nn.dilation2d(x, tf.zeros([2, 3, 3]), [1, 1, 1, 1], [1, 1, 1, 1], "SAME", name="dilation")
    tf.gradients([conv, pool, mean], x, name="back")


def network(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 8, 8, 3], name="x")
    with tf.variable_scope("net"):
        kernel = tf.get_variable("kernel", [3, 3, 3, 4], initializer=tf.zeros_initializer())
        bias = tf.get_variable("bias", [4], initializer=tf.zeros_initializer())
        tf.get_variable("step", [], trainable=False, initializer=tf.zeros_initializer())
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME"), bias))
        with tf.variable_scope("out"):
            weights = tf.get_variable("weights", [256, 10], initializer=tf.zeros_initializer())
            scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
            z = tf.matmul(tf.reshape(y, [2, 256]), weights) * scale
    tf.reduce_mean(tf.nn.softmax(z) + 1.0, name="loss")
    tf.assign_add(bias, tf.ones([4]), name="up")
    tf.assign_sub(bias, tf.ones([4]), name="down")


def branches(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 3], name="x")
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.matmul(y, x, name="product")), [0, x], name="loop")


CASES = {f.__name__: f for f in (element_wise, reductions, products, windows, network, branches)}


def options(tf: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: the command and the options."""
    builder = tf.profiler.ProfileOptionBuilder
    flops, parameters = builder.float_operation(), builder.trainable_variables_parameter()
    both = builder().select(["params", "float_ops"]).order_by("params").with_max_depth(2)
    shown = builder(flops).with_node_names(show_name_regexes=[".*[a-m]"], hide_name_regexes=["net/out.*"])
    every = builder(parameters).with_accounted_types([".*"]).with_min_parameters(5)
    return {
        "flops": ("scope", flops),
        "parameters": ("scope", parameters),
        "both": ("scope", both.build()),
        "hidden": ("scope", shown.build()),
        "all shown": ("scope", builder(shown.build()).account_displayed_op_only(False).build()),
        "large": ("scope", every.build()),
        "inside": ("scope", builder(flops).with_node_names(start_name_regexes=["net/out"]).build()),
        "cut": ("scope", builder(parameters).with_node_names(trim_name_regexes=["net/out"]).build()),
        "types": ("op", flops),
        "types trained": ("op", parameters),
        "types of parameters": ("op", builder(parameters).with_accounted_types([".*"]).build()),
    }


def chain(tf: Any) -> dict[str, Any]:
    """What a builder makes of every call it has."""
    builder = tf.profiler.ProfileOptionBuilder()
    builder.with_max_depth(7).with_min_memory(1, 2, 3, 4).with_min_execution_time(5, 6, 7).with_min_parameters(8)
    builder.with_min_occurrence(9).with_min_float_operations(10).with_accounted_types(["a"]).with_node_names(
        ["b"], ["c"]
    )
    found: dict[str, Any] = (
        builder.account_displayed_op_only(True).order_by("params").select(["params"]).with_step(3).build()
    )
    outputs = [
        builder.with_empty_output().build()["output"],
        builder.with_stdout_output().build()["output"],
        builder.with_file_output("f").build()["output"],
        builder.with_timeline_output("t").build()["output"],
        builder.with_pprof_output("p").build()["output"],
    ]
    return {**found, "outputs": outputs}


def tree(node: Any) -> list[Any]:
    """One node as a list: its name and its numbers, then its children."""
    numbers = [node.float_ops, node.total_float_ops, node.parameters, node.total_parameters]
    return [node.name, *map(int, numbers), [tree(child) for child in node.children]]


def measure(tf: Any, case: str) -> dict[str, Any]:
    """What the profiler says about one graph, for each of the options."""
    found = {}
    with tf.Graph().as_default() as graph:
        CASES[case](tf)
        for name, (command, chosen) in options(tf).items():
            with contextlib.redirect_stdout(io.StringIO()):
                found[name] = tree(tf.profiler.profile(graph, cmd=command, options={**chosen, "output": "none"}))
    return found
