"""Unrolled loops, and arrays and stashes passed directly: as graphs, and by their numbers.

Compiled steps for the CPU keep their loops, so the tests of those say that unrolling pays; the compiler is told to refuse, so
that the unrolled steps run interpreted.
"""

import numpy as np
import pytest

import headrace as tf
from headrace.passes import unroll
from headrace.passes.pipeline import Context, Stage, run_stage
from headrace.runtime.compiler.compile import CannotCompile
from headrace.runtime.planning import planner

STEPS, BATCH, UNITS = 5, 3, 4
LOOPS = {"StatelessWhile", "_StatelessRepeat", "While", "_Repeat"}


def refuse(region, binder):
    raise CannotCompile("a test")


class Unrolled:
    """Runs steps with unrolled loops; ``graph`` is the last one."""

    def __init__(self, monkeypatch, mode):
        self.mode = mode
        self.graphs = []
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(unroll, "pays", lambda loop: True)
        monkeypatch.setattr(planner, "compile_region", refuse)
        monkeypatch.setattr(planner, "RUNS", 1)
        for name in ("make_compiled_plan", "make_plan", "make_plan_for"):
            monkeypatch.setattr(planner, name, self._noting(getattr(planner, name)))

    def _noting(self, make):
        def run(*args, **kwargs):
            plan = make(*args, **kwargs)
            self.graphs.append(plan.graph)
            return plan

        return run

    @property
    def graph(self):
        return self.graphs[-1]

    def session(self, unrolled=True):
        self._monkeypatch.setenv("HEADRACE_PASSES_OFF", "" if unrolled else "unroll,pass_on")
        return tf.Session(config=tf.ConfigProto(compile=self.mode))

    def both(self, fetches, feeds=None):
        """The values of two steps, which must be those of the loops as they are."""
        found = []
        for unrolled in (False, True):
            with self.session(unrolled) as session:
                session.run(tf.global_variables_initializer())
                found.append([*session.run(fetches, feeds), *session.run(fetches, feeds)])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
        return found[1]

    def stays(self, fetches, feeds=None):
        """The same, for a loop that must stay one."""
        found = self.both(fetches, feeds)
        assert not LOOPS.isdisjoint(types(self.graph))
        return found


@pytest.fixture(params=["always", "off"])
def steps(request, monkeypatch):
    return Unrolled(monkeypatch, request.param)


def types(graph):
    return [n.type for n in graph.nodes]


def is_flat(graph):
    """Whether no loop is left, nor an array or a stash."""
    held = [n for n in graph.nodes for v in n.outputs if v.dtype.name in ("variant", "resource")]
    return not held and LOOPS.isdisjoint(types(graph))


def weights(*shape, seed=0):
    return tf.Variable(np.random.RandomState(seed).standard_normal(shape).astype(np.float32) * 0.3)


def values(*shape):
    return np.random.RandomState(7).standard_normal(shape).astype(np.float32)


def recurrent(x, cell, length=STEPS, **options):
    """The outputs of a loop over the rows of ``x``, and its last state."""
    rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    outputs = tf.TensorArray(tf.float32, tf.shape(x)[0])

    def body(i, h, outputs):
        h = cell(rows.read(i), h)
        return i + 1, h, outputs.write(i, h)

    first = (0, tf.zeros([BATCH, UNITS]), outputs)
    return tf.while_loop(lambda i, *_: i < length, body, first, **options)


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [None, BATCH, UNITS])


@pytest.fixture
def cell():
    w = weights(2 * UNITS, UNITS)
    return lambda row, h: tf.tanh(tf.matmul(tf.concat([row, h], 1), w))


FED = (STEPS, BATCH, UNITS)


def test_outputs_and_gradients(steps, x, cell):
    i, last, outputs = recurrent(x, cell)
    y = outputs.stack()
    steps.both([i, last, y, *tf.gradients(tf.reduce_sum(y * y), [x, *tf.trainable_variables()])], {x: values(*FED)})
    assert is_flat(steps.graph)
    assert types(steps.graph).count("Tanh") == STEPS


def test_the_length_may_come_from_a_fed_shape(steps, x, cell):
    _, last, _ = recurrent(x, cell, tf.shape(x)[0])
    for length in (1, 3):
        steps.both([last, *tf.gradients(last, tf.trainable_variables())], {x: values(length, BATCH, UNITS)})
        assert is_flat(steps.graph)
        assert types(steps.graph).count("Tanh") == length


def test_a_loop_that_does_not_run(steps, x, cell):
    i, last, _ = recurrent(x, cell, 0)
    found = steps.both([i, last, *tf.gradients(last, x)], {x: values(*FED)})
    assert found[0] == 0
    assert not found[1].any()
    assert is_flat(steps.graph)


def test_a_gradient_that_only_some_iterations_get(steps, x, cell):
    y = recurrent(x, cell)[2]
    loss = tf.reduce_sum(y.read(1) ** 2 + y.gather([1, 3]))
    steps.both([loss, *tf.gradients(loss, [x, *tf.trainable_variables()])], {x: values(*FED)})
    assert is_flat(steps.graph)


def test_gradients_of_gradients(steps, x, cell):
    last = recurrent(x, cell)[1]
    gradient = tf.gradients(tf.reduce_sum(last * last), x)[0]
    steps.both([gradient, *tf.gradients(tf.reduce_sum(gradient * gradient), x)], {x: values(*FED)})


def test_two_loops_one_after_the_other(steps, x):
    w, v = weights(UNITS, UNITS), weights(UNITS, UNITS, seed=1)
    y = recurrent(x, lambda row, h: tf.tanh(row + tf.matmul(h, w)))[2].stack()
    z = recurrent(y, lambda row, h: tf.sigmoid(row * h + tf.matmul(h, v)))[1]
    steps.both([z, *tf.gradients(z, [x, w, v])], {x: values(*FED)})
    assert is_flat(steps.graph)


def test_dynamic_rnn_of_the_library(steps):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 6, UNITS])
    y, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(UNITS), x, dtype=tf.float32)
    loss = tf.reduce_sum(y) + tf.reduce_sum(state.c)
    steps.both([loss, *tf.gradients(loss, tf.trainable_variables())], {x: values(BATCH, 6, UNITS)})
    assert is_flat(steps.graph)


def test_functions_of_higher_order(steps):
    x = tf.placeholder(tf.float32, [4, UNITS])
    found = [
        tf.scan(lambda a, b: a * 0.5 + tf.sin(b), x), tf.map_fn(tf.cos, x), tf.foldl(lambda a, b: a * b, x),
        tf.foldr(lambda a, b: a - b, x),
    ]  # fmt: skip
    steps.both([*found, *tf.gradients(sum(map(tf.reduce_sum, found)), x)], {x: values(4, UNITS)})
    assert is_flat(steps.graph)


def test_counting_down_by_two_conditions(steps):
    x = tf.placeholder(tf.float32, [6])
    rows = tf.TensorArray(tf.float32, 6).unstack(x)
    _, y = tf.while_loop(
        lambda i, s: tf.logical_and(i >= 0, i > 1), lambda i, s: (i - 2, s * 2.0 + rows.read(i)), (5, 0.0)
    )
    found = steps.both([y, *tf.gradients(y, x)], {x: np.arange(6, dtype=np.float32)})
    assert found[0] == 13.0
    assert is_flat(steps.graph)


def test_an_array_that_grows_and_one_that_is_read_often(steps):
    x = tf.placeholder(tf.float32, [3])
    fixed = tf.TensorArray(tf.float32, 1, clear_after_read=False).write(0, x)
    grown = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, grown = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(i, fixed.read(0) * 2.0)), (0, grown))
    y = grown.stack()
    steps.both([y, grown.size(), *tf.gradients(y * y, x)], {x: values(3)})
    assert is_flat(steps.graph)


def test_who_waits_for_a_loop_still_does(steps):
    v = tf.Variable(1.0)
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s * 2.0), (0, v.read_value()))
    with tf.control_dependencies([y.op]):
        after = v.assign_add(1.0)
    found = steps.both([y, after])
    assert [float(value) for value in found] == [8.0, 2.0, 16.0, 3.0]
    assert LOOPS.isdisjoint(types(steps.graph))


def test_what_a_constant_waits_for_is_waited_for(steps):
    """Folding leaves the check of an index with the constant that the index becomes."""
    with tf.control_dependencies([tf.Assert(tf.constant(2) < 2, ["no such row"])]):
        index = tf.identity(tf.constant(1))
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack([[1.0], [2.0]])
    _, y = tf.while_loop(lambda i, s: i < index, lambda i, s: (i + 1, s + 1.0), (0, 0.0))
    with steps.session() as session:
        for fetch in (array.read(index), array.gather([index]), y):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no such row"):
                session.run(fetch)


def test_loops_of_unknown_length_stay(steps, x, cell):
    n = tf.placeholder(tf.int32, [])
    steps.stays([recurrent(x, cell, n)[1]], {x: values(*FED), n: 2})
    _, y = tf.while_loop(lambda i, s: s < 100.0, lambda i, s: (i + 1, s * 2.0), (0, tf.reduce_max(x)))
    steps.stays([y], {x: np.ones(FED, np.float32)})


def test_loops_that_do_more_than_compute_stay(steps, x, cell):
    drawn = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.random_normal([], seed=3)), (0, 0.0))
    steps.stays(drawn)
    v = tf.Variable(0.0, trainable=False)

    def count(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    assert steps.stays([tf.while_loop(lambda i: i < 3, count, [0]), v.read_value()])[0] == 3

    def checked(i):
        with tf.control_dependencies([tf.Assert(i < 9, [i])]):
            return i < 3

    steps.stays([tf.while_loop(checked, lambda i: i + 1, [0])])
    swapped = recurrent(x, cell, swap_memory=True)[1]
    steps.stays(tf.gradients(swapped, tf.trainable_variables()), {x: values(*FED)})


def test_an_index_that_the_data_decide_is_nothing_for_a_compiler(steps):
    x, table = tf.placeholder(tf.int32, [5]), weights(UNITS, 6)
    y = tf.scan(lambda a, symbol: a + table[:, symbol], x, tf.zeros([UNITS]))
    steps.both([y, *tf.gradients(y, table)], {x: [0, 5, 2, 2, 1]})
    assert LOOPS.isdisjoint(types(steps.graph)) == (steps.mode == "off")


def test_long_loops_stay(steps, x, cell, monkeypatch):
    monkeypatch.setattr(unroll, "MOST_COMPILED", 3 * STEPS)
    monkeypatch.setattr(unroll, "MOST_INTERPRETED", 3 * STEPS)
    steps.stays([recurrent(x, cell)[1]], {x: values(*FED)})


def test_a_loop_that_unrolls_beside_one_that_stays(steps, x, cell):
    n = tf.placeholder(tf.int32, [])
    y = recurrent(x, cell)[2].stack()
    z = recurrent(y, cell, n)[1]
    steps.stays([z, *tf.gradients(z, [x, *tf.trainable_variables()])], {x: values(*FED), n: 3})
    assert types(steps.graph).count("StatelessWhile") == 1


def test_mistakes_stay_mistakes(steps):
    x = tf.placeholder(tf.float32, [2])
    array = tf.TensorArray(tf.float32, 2)
    _, twice = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(0, x)), (0, array))
    _, beyond = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x)), (0, array))
    _, unread = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + array.read(i)), (0, x))
    for unrolled in (False, True):
        with steps.session(unrolled) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="already been written to"):
                session.run(twice.read(0), {x: [1, 2]})
            with pytest.raises(tf.errors.InvalidArgumentError, match="not resizeable and size is: 2"):
                session.run(beyond.read(0), {x: [1, 2]})
            with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read from TensorArray index 0"):
                session.run(unread, {x: [1, 2]})


def test_compiled_steps_for_the_cpu_keep_their_loops(x, cell, monkeypatch):
    seen = []
    monkeypatch.setattr(planner, "compile_region", refuse)
    last = recurrent(x, cell)[1]
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        session.run(tf.global_variables_initializer())
        session._master.after_each_pass = lambda name, graph: seen.append((name, types(graph)))
        session.run(last, {x: values(*FED)})
    assert all("StatelessWhile" in found for name, found in seen if name == "unroll")
    assert "unroll" in dict(seen)


def test_interpreted_steps_are_planned_again_after_some_runs(monkeypatch, cell):
    """Also where all shapes were known from the start."""
    steps = Unrolled(monkeypatch, "off")
    monkeypatch.setattr(planner, "RUNS", 3)
    last = recurrent(tf.constant(values(*FED)), cell)[1]
    with steps.session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(last) for _ in range(2)]
        assert "StatelessWhile" in types(steps.graph)
        found += [session.run(last) for _ in range(2)]
        assert is_flat(steps.graph)
    for value in found[1:]:
        np.testing.assert_allclose(value, found[0], rtol=1e-6)


def test_stashes_and_arrays_outside_loops():
    """What is written to an array is read from it, whoever writes."""
    from passes.steps import lines, options, piped

    a, b = tf.placeholder(tf.float32, [2], name="a"), tf.placeholder(tf.float32, [2], name="b")
    array = tf.TensorArray(tf.float32, 2).write(0, a).write(1, b)
    graph = piped([array.read(1), array.stack()], [a, b])
    run_stage(Stage.UNROLL, graph, Context(options()))
    assert [line for line in lines(graph) if line.startswith("fetch")] == [
        "fetch %_feed/b/0, %TensorArrayStack/TensorArrayGatherV3/Pack_0"
    ]
    assert "TensorArrayWriteV3" not in types(graph)


def test_the_length_is_found_in_time(steps):
    """Each value is computed once an iteration, and only those that decide; none is large."""

    def body(i, number, board):
        for j in range(40):
            number = tf.bitwise.bitwise_xor(number, number * 5 + j)
        return i + 1, number, tf.cumsum(board, 1)

    found = tf.while_loop(lambda i, *_: i < 3, body, (0, 1, tf.ones([300, 300], tf.int32)))
    steps.both([found[1], tf.reduce_sum(found[2])])
    assert LOOPS.isdisjoint(types(steps.graph))


def test_loops_share_the_room(steps, monkeypatch):
    monkeypatch.setattr(unroll, "MOST_COMPILED", 150)
    monkeypatch.setattr(unroll, "MOST_INTERPRETED", 150)
    x = h = tf.placeholder(tf.float32, [2])
    for _ in range(5):
        _, h = tf.while_loop(lambda i, _: i < 10, lambda i, h: (i + 1, tf.tanh(h * 2.0) * 3.0), (0, h))
    steps.stays([h], {x: [0.1, 0.2]})
    assert 1 <= types(steps.graph).count("StatelessWhile") <= 4


def test_large_values_of_the_counter_do_not_become_constants(steps):
    x = tf.placeholder(tf.float32, [100_000])
    _, y = tf.while_loop(lambda i, _: i < 5, lambda i, h: (i + 1, h * 0.5 + tf.one_hot(i, 100_000)), (0, x))
    steps.both([y[:8]], {x: np.ones(100_000, np.float32)})
    assert LOOPS.isdisjoint(types(steps.graph))
    held = [n.attrs["value"] for n in steps.graph.nodes if n.type == "Const"]
    assert sum(value.nbytes for value in held) < 100_000


def test_a_step_with_a_deadline_keeps_its_loops(monkeypatch, x, cell):
    """An unrolled step is over when it is; a loop looks at the clock after each iteration."""
    steps = Unrolled(monkeypatch, "off")
    y = tf.while_loop(lambda i, _: i < 200, lambda i, h: (i + 1, tf.matmul(h, h) * 1e-3), (0, tf.ones([500, 500])))[1]
    with steps.session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError, match="iterations of the loop made at"):
                session.run(y.op, options=tf.RunOptions(timeout_in_ms=20))
        session.run(y.op)
        assert LOOPS.isdisjoint(types(steps.graph))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(y.op, options=tf.RunOptions(timeout_in_ms=20))
