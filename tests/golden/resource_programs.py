"""Programs on resource variables: what their reads see, what their updates give, which nodes they make; see program.py.

Every read is ordered before or after each write by edges of the graph, so the results do not depend on timing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()


def variable(tf: Any, value: Any, name: str = "v", **options: Any) -> Any:
    made = tf.Variable(value, name=name, use_resource=True, **options)
    tf.add_to_collection("setup", made.initializer)
    return made


def then(tf: Any, before: Any, make: Any) -> Any:
    with tf.control_dependencies([before]):
        return make()


@PROGRAMS.add("a read keeps its value")
def _(tf: Any) -> Any:
    v = variable(tf, [1.0, 2.0])
    first = v.read_value()
    write = then(tf, first, lambda: v.assign([5.0, 6.0]))
    second = then(tf, write, lambda: first * 10.0)
    return [first, second, then(tf, write, v.read_value)]


@PROGRAMS.add("reads among writes")
def _(tf: Any) -> Any:
    v = variable(tf, 1.0)
    found = [v.read_value()]
    for i in range(3):
        write = then(tf, found[-1], lambda i=i: v.assign_add(10.0**i, read_value=False))
        found.append(then(tf, write, v.value))
    return found


@PROGRAMS.add("a view of a read keeps its value")
def _(tf: Any) -> Any:
    v = variable(tf, np.arange(6.0, dtype=np.float32))
    part = tf.reshape(v.value(), [2, 3])[1]
    write = then(tf, part, lambda: v.assign_sub(np.ones(6, np.float32)))
    return [part, then(tf, write, lambda: tf.identity(part)), then(tf, write, v.read_value)]


@PROGRAMS.add("use as a tensor reads there")
def _(tf: Any) -> Any:
    v = variable(tf, [[1.0, 2.0]])
    before = tf.matmul(v, [[1.0], [1.0]])
    write = then(tf, before, lambda: v.assign([[10.0, 20.0]]))
    after = then(tf, write, lambda: tf.matmul(v, [[1.0], [1.0]]))
    return [before, after, then(tf, write, lambda: v + 1.0), then(tf, write, lambda: tf.nn.relu(v))]


@PROGRAMS.add("an assignment is read after itself")
def _(tf: Any) -> Any:
    v = variable(tf, 1.0)
    first = v.assign_add(1.0)
    value = first.value()
    second = then(tf, value, lambda: first.assign_add(10.0))
    return [value, second.read_value(), second * 2.0]


@PROGRAMS.add("a chain of assignments")
def _(tf: Any) -> Any:
    v = variable(tf, [0.0, 0.0, 0.0])
    chain = v.assign([1.0, 2.0, 3.0]).assign_add([1.0, 1.0, 1.0])
    rows = chain.scatter_update(tf.IndexedSlices(tf.constant([7.0]), tf.constant([1])))
    return [rows.read_value(), rows + 1.0]


@PROGRAMS.add("scatters")
def _(tf: Any) -> Any:
    found = []
    rows = tf.IndexedSlices(tf.constant([[2.0], [3.0], [4.0]]), tf.constant([0, 2, 2]))
    for name in ("scatter_add", "scatter_sub", "scatter_mul", "scatter_div", "scatter_min", "scatter_max"):
        v = variable(tf, [[6.0], [12.0], [24.0]], name)
        found.append(getattr(v, name)(rows).read_value())
        w = variable(tf, [[6.0], [12.0], [24.0]], f"function_{name}")
        found.append(tf.convert_to_tensor(getattr(tf, name)(w, [1], [[3.0]])))
    v = variable(tf, [1.0, 2.0, 3.0], "nd")
    found.append(
        v.scatter_nd_update([[0]], [9.0]).scatter_nd_add([[1]], [5.0]).scatter_nd_sub([[2]], [1.0]).read_value()
    )
    return found


@PROGRAMS.add("gathers", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, np.arange(12.0, dtype=np.float32).reshape(4, 3))
    rows = tf.gather(v, [3, 1, 3])
    looked_up = tf.nn.embedding_lookup(v, [[0, 1], [2, 0]])
    cells = tf.gather_nd(v, [[0, 1], [3, 2]])
    loss = tf.reduce_sum(rows * rows) + tf.reduce_sum(cells)
    return [rows, looked_up, cells, tf.convert_to_tensor(tf.gradients(loss, v)[0])]


@PROGRAMS.add("gradients of several reads", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, [2.0, 3.0])
    x = v.value()
    y = tf.reduce_sum(x * v * v)
    return [y, *tf.gradients(y, [v, v.handle, x])]


@PROGRAMS.add("a gradient sees what was read", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, 3.0)
    x = v.read_value()
    y = x * x
    write = then(tf, y, lambda: v.assign(100.0))
    (slope,) = then(tf, write, lambda: tf.gradients(y, v))
    return [slope, then(tf, write, v.read_value)]


@PROGRAMS.add("shape, count, initialized", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, [[1.0, 2.0]])
    n = variable(tf, 3, "n")
    late = tf.Variable(1.0, name="late", use_resource=True)
    count = n.count_up_to(10)
    return [
        tf.shape(v), tf.raw_ops.VariableShape(input=v.handle), count, then(tf, count, n.read_value), late.is_initialized(),
        tf.is_variable_initialized(v), tf.report_uninitialized_variables([v, late]),
    ]  # fmt: skip


@PROGRAMS.add("slices", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, np.arange(8.0, dtype=np.float32).reshape(2, 4))
    part = v[1, 1:3]
    write = then(tf, part, lambda: part.assign([-1.0, -2.0]))
    return [part, then(tf, write, v.read_value)]


@PROGRAMS.add("branches", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, 2.0)
    x = tf.constant(3.0)

    def update() -> Any:
        with tf.control_dependencies([v.assign_add(x)]):
            return v * x

    found = tf.cond(x > 1.0, update, lambda: v * 1.0)
    return [found, then(tf, found, v.read_value), *tf.gradients(found, [x, v])]


@PROGRAMS.add("loops", names=False)
def _(tf: Any) -> Any:
    v = variable(tf, [1.0, 2.0])
    table = variable(tf, [[1.0], [2.0], [4.0]], "table")

    def step(i: Any, total: Any) -> Any:
        row = tf.gather(table, [i])[0]
        with tf.control_dependencies([v.assign_add([1.0, 1.0], read_value=False)]):
            total = total * row + tf.reduce_sum(v)
        with tf.control_dependencies([total]):
            return i + 1, total

    found = tf.while_loop(lambda i, _: i < 3, step, [0, tf.zeros([1])], parallel_iterations=1)[1]
    return [found, then(tf, found, v.read_value), *map(tf.convert_to_tensor, tf.gradients(found, [table]))]


@PROGRAMS.add("raw ops")
def _(tf: Any) -> Any:
    raw = tf.raw_ops
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[3], shared_name="x", name="x")
    start = raw.AssignVariableOp(resource=handle, value=[1.0, 2.0, 3.0])
    tf.add_to_collection("setup", start)
    before = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
    steps = (
        lambda: raw.AssignAddVariableOp(resource=handle, value=[1.0, 1.0, 1.0]),
        lambda: raw.ResourceScatterAdd(resource=handle, indices=[0, 0], updates=[1.0, 2.0]),
        lambda: raw.ResourceApplyGradientDescent(var=handle, alpha=0.5, delta=[1.0, 2.0, 4.0]),
        lambda: raw.ResourceScatterNdUpdate(ref=handle, indices=[[2]], updates=[50.0]),
        lambda: raw.AssignSubVariableOp(resource=handle, value=[0.5, 0.5, 0.5]),
    )
    found = [before]
    for step in steps:
        write = then(tf, found[-1], step)
        found.append(then(tf, write, lambda: raw.ReadVariableOp(resource=handle, dtype=tf.float32)))
    rows = then(tf, found[-1], lambda: raw.ResourceGather(resource=handle, indices=[2, 0], dtype=tf.float32))
    return [*found, rows, raw.VarIsInitializedOp(resource=handle)]


@PROGRAMS.add("stacks and temporary variables")
def _(tf: Any) -> Any:
    raw = tf.raw_ops
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32, stack_name="s")
    one = raw.StackPushV2(handle=stack, elem=[1.0])
    two = then(tf, one, lambda: raw.StackPushV2(handle=stack, elem=[2.0, 3.0]))
    pops = [then(tf, two, lambda: raw.StackPopV2(handle=stack, elem_type=tf.float32))]
    pops.append(then(tf, pops[0], lambda: raw.StackPopV2(handle=stack, elem_type=tf.float32)))
    temporary = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    filled = tf.assign_add(tf.assign(temporary, [1.0, 2.0]), [0.5, 0.5])
    return [one, two, *pops, raw.DestroyTemporaryVariable(ref=filled, var_name="t")]
