"""Copies of parts of a graph, and a program that trades time for memory with them."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

ge = tf.contrib.graph_editor


def test_other_inputs() -> None:
    x, z = tf.placeholder(tf.float32, [2], name="x"), tf.constant([3.0, 4.0])
    w = tf.Variable([2.0, 2.0])
    y = {"sum": tf.reduce_sum(x * w), "apart": tf.square(w)}
    again = ge.graph_replace(y, {x: z})
    assert again["apart"] is y["apart"] and again["sum"] is not y["sum"]
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert sess.run(again["sum"]) == 14.0
        assert sess.run(y["sum"], {x: [1.0, 1.0]}) == 4.0
        assert sess.run(tf.gradients(again["sum"], w)[0]).tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(y["apart"], {x: z})


def test_a_copy_in_another_graph() -> None:
    x = tf.constant([1.0, 2.0], name="x")
    with tf.name_scope("layer"), tf.device("/cpu:0"):
        y = tf.reduce_sum(tf.exp(x), name="y")
    other = tf.Graph()
    view, info = ge.copy(ge.sgv_scope("layer", x.graph), other, dst_scope="copied", src_scope="layer")
    copy = info.transformed(y)
    assert copy.graph is other and copy.name == "copied/y:0" and copy.op.device == y.op.device
    assert info.original(copy) is y and info.transformed(x.op) is None and view.ops[-1] is copy.op
    (placeholder,) = view.inputs
    assert placeholder.op.type == "Placeholder" and placeholder.shape == x.shape
    with tf.Session(graph=other) as sess:
        np.testing.assert_allclose(sess.run(copy, {placeholder: [1.0, 2.0]}), np.exp([1, 2]).sum(), rtol=1e-6)


def test_conditionals_loops_and_control_edges_are_copied() -> None:
    x = tf.constant(2.0)
    with tf.control_dependencies([tf.no_op(name="first")]):
        y = tf.while_loop(lambda v: v < 50.0, lambda v: v * x, [x])
    y = tf.cond(y > 60.0, lambda: y + 1.0, lambda: y - 1.0)
    again = ge.graph_replace(y, {x: tf.constant(3.0)})
    with tf.Session() as sess:
        assert sess.run([y, again]) == [65.0, 82.0]


def _recomputed_gradients(y: Any, xs: list[Any], kept: list[Any]) -> list[Any]:
    """Gradients that keep only some values of the forward step, and compute the others again from them."""
    backward = ge.get_backward_walk_ops([y.op], inclusive=True)
    forward = ge.get_forward_walk_ops([x.op for x in xs], inclusive=True, within_ops=backward)
    forward = [op for op in forward if op.inputs and "/read" not in op.name]

    def between(seeds: list[Any]) -> list[Any]:
        ops = set(ge.get_backward_walk_ops(seeds, inclusive=True, within_ops=forward, stop_at_ts=kept))
        return [op for op in forward if op in ops and not any(t in kept for t in op.outputs)] or []

    cut = {t: tf.stop_gradient(t, name=f"{t.op.name}_kept") for t in kept}
    ops = between([y.op])
    _, info = ge.copy_with_input_replacements(ge.sgv(ops), {})
    for origin, copied in info._transformed_ops.items():
        copied._set_device(origin.node_def.device)
    ge.reroute_ts(cut.values(), cut.keys(), can_modify=info._transformed_ops.values())
    grads = tf.gradients(info._transformed_ops[y.op].outputs[0], [*cut.values(), *xs])
    of_kept, total = dict(zip(kept, grads, strict=False)), grads[len(kept) :]
    for op in info._transformed_ops.values():
        ge.add_control_inputs(op, [y.op])
    for t in reversed(kept):
        earlier = [one for one in kept if one is not t]
        inner = [
            op
            for op in forward
            if op in set(ge.get_backward_walk_ops([t.op], within_ops=forward, stop_at_ts=earlier))
            and not any(one in earlier for one in op.outputs)
        ]
        _, info = ge.copy_with_input_replacements(ge.sgv(inner), {})
        ge.reroute_ts([cut[one] for one in earlier], earlier, can_modify=list(info._transformed_ops.values()))
        ge.add_control_inputs(info._transformed_ops[inner[0]], [of_kept[t].op])
        copy = info._transformed_ops[t.op].outputs[0]
        more = tf.gradients(copy, [*(cut[one] for one in earlier), *xs], grad_ys=of_kept[t])
        for one, grad in zip(earlier, more, strict=False):
            if grad is not None:
                of_kept[one] = grad if of_kept[one] is None else of_kept[one] + grad
        total = [
            b if a is None else a if b is None else a + b for a, b in zip(total, more[len(earlier) :], strict=True)
        ]
    return total


def test_gradients_that_compute_the_forward_step_again() -> None:
    tf.set_random_seed(3)
    x = tf.constant(np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32))
    weights = [tf.Variable(tf.random_uniform([4, 4], -1, 1, seed=i)) for i in range(6)]
    h, layers = x, []
    for w in weights:
        h = tf.tanh(tf.matmul(h, w))
        layers.append(h)
    y = tf.reduce_sum(tf.square(h))
    wanted = tf.gradients(y, weights)
    before = len(tf.get_default_graph().get_operations())
    got = _recomputed_gradients(y, weights, [layers[1], layers[3]])
    added = tf.get_default_graph().get_operations()[before:]
    assert sum(op.type == "Tanh" for op in added) == 6
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for a, b in zip(*sess.run([wanted, got]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
