"""Strands: a node that blocks has the reads that it alone uses, and no copies of variables."""

from collections.abc import Sequence

from passes.steps import options

import headrace as tf
from headrace.graph import raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.passes.pipeline import Context, Stage, make_step_graph, run_stage


def strands(fetches: Sequence[Tensor] = (), targets: Sequence[Operation] = ()) -> list[list[str]]:
    """The op types of each strand."""
    context = Context(options(), is_async=lambda node: node.op_def.traits.waits)
    run_stage(Stage.CUT, make_step_graph((), fetches, targets, options()), context)
    return [[node.op_def.name for node in strand.nodes] for strand in context.strands]


def save(*tensors: Tensor) -> Operation:
    return raw_ops.SaveV2("prefix", [f"t{i}" for i in range(len(tensors))], [""] * len(tensors), list(tensors))


def test_a_save_reads_the_buffers_itself() -> None:
    one, two = tf.Variable(1.0), tf.Variable(2.0, use_resource=True)
    assert strands(targets=[save(one._ref(), two.value())]) == [["_Read", "_Read", "SaveV2"]]


def test_what_others_use_is_copied() -> None:
    v = tf.Variable(1.0)
    read = v.value()
    doubled = tf.identity(read * 2.0)
    assert strands([doubled], [save(read)]) == [["_ReadCopy", "Mul"], ["SaveV2"]]


def test_a_variable_that_the_step_changes_is_copied() -> None:
    v = tf.Variable(1.0)
    saved = save(v._ref())
    with tf.control_dependencies([saved]):
        after = v.assign_add(1.0)
    assert strands(targets=[saved, after.op]) == [["_ReadCopy"], ["SaveV2"], ["Const", "AssignAdd"]]


def test_values_of_a_step_that_saves_and_changes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Whatever the strands are, a save before an update sees the old value, and one after it the new."""
    for use_resource in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.Variable([1.0, 2.0], use_resource=use_resource)
            first = raw_ops.SaveV2(f"{tmp_path}/first", ["v"], [""], [v.value() if use_resource else v._ref()])
            with tf.control_dependencies([first]):
                update = v.assign_add([10.0, 10.0], read_value=False)
            update = update if isinstance(update, Operation) else update.op
            with tf.control_dependencies([update]):
                read = v.read_value()
                second = raw_ops.SaveV2(f"{tmp_path}/second", ["v"], [""], [read])
            session.run(v.initializer)
            session.run([second, update])
            assert tf.train.load_variable(f"{tmp_path}/first", "v").tolist() == [1.0, 2.0]
            assert tf.train.load_variable(f"{tmp_path}/second", "v").tolist() == [11.0, 12.0]
