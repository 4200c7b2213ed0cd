"""Programs whose loops, branches and functions read variables that they write; see program.py.

Every read is ordered after the writes it must see, so the results do not depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from golden.program import Programs

PROGRAMS = Programs()
Make = Callable[..., Any]


def add(name: str, kinds: tuple[bool, ...] = (False, True)) -> Callable[[Make], Make]:
    """Keeps the program with reference variables (TF1's default) and with resource variables."""

    def keep(build: Make) -> Make:
        for resource in kinds:

            @PROGRAMS.add(f"{name}_{'resource' if resource else 'ref'}", names=False)
            def _(tf: Any, resource: bool = resource) -> Any:
                return build(tf, lambda value: _variable(tf, value, resource))

        return build

    return keep


resource_only = (True,)  # TensorFlow's functions take no references, and its gradients see a reference's last value


def _variable(tf: Any, value: Any, resource: bool) -> Any:
    variable = tf.Variable(value, use_resource=resource)
    tf.add_to_collection("setup", variable.initializer)
    return variable


def after(tf: Any, results: Any, *variables: Any) -> list[Any]:
    """The results, and the values of the variables after them."""
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    with tf.control_dependencies(results):
        return [*results, *(v.read_value() for v in variables)]


def repeat(tf: Any, body: Any, times: int = 10, **options: Any) -> Any:
    """``body()`` some times, one after another: -> the count, when all is done."""

    def step(i: Any) -> Any:
        with tf.control_dependencies([i]):
            done = body()
        with tf.control_dependencies([done]):
            return i + 1

    return tf.while_loop(lambda i: i < times, step, [0], **options)


def _sum(tf: Any, variable: Make, **options: Any) -> Any:
    a, b = variable(0), variable(0)

    def body() -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1)]):
            return tf.assign_add(b, a)

    return after(tf, repeat(tf, body, **options), a, b)


add("sum")(_sum)
add("sum_one_iteration_at_a_time")(partial(_sum, parallel_iterations=1))


@add("explicit_reads")
def _(tf: Any, variable: Make) -> Any:
    a, b, c = variable(1.0), variable(0.0), variable(0.0)

    def body() -> Any:
        with tf.control_dependencies([tf.assign(a, a.read_value() * 2.0)]):
            first = tf.assign_add(b, a.value())
            second = tf.assign_add(c, tf.identity(a.read_value()) + 1.0)
        return tf.group(first, second)

    return after(tf, repeat(tf, body, 5), a, b, c)


@add("update_from_itself")
def _(tf: Any, variable: Make) -> Any:
    a = variable([1.0, 2.0])
    return after(tf, repeat(tf, lambda: tf.assign(a, a * 2.0 - 1.0), 4), a)


@add("computed_before_the_loop")
def _(tf: Any, variable: Make) -> Any:
    """What is computed outside is computed once."""
    a, b = variable(3.0), variable(0.0)
    before = a + 1.0

    def body() -> Any:
        with tf.control_dependencies([before]):
            write = tf.assign_add(a, 1.0)
        with tf.control_dependencies([write]):
            return tf.assign_add(b, before)

    with tf.control_dependencies([before]):
        return after(tf, repeat(tf, body, 3), a, b)


def _condition(tf: Any, variable: Make, read: Callable[[Any, Any], Any], **options: Any) -> Any:
    a = variable(0)

    def step(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(a, 2)]):
            return i + 1

    def go_on(i: Any) -> Any:
        with tf.control_dependencies([i]):
            return read(tf, a) < 7

    return after(tf, tf.while_loop(go_on, step, [0], **options), a)


add("condition")(partial(_condition, read=lambda tf, a: tf.identity(a.read_value())))
add("condition_by_name")(partial(_condition, read=lambda tf, a: a + 0, parallel_iterations=1))


@add("loop_variable_and_state")
def _(tf: Any, variable: Make) -> Any:
    a = variable(1.0)

    def step(i: Any, s: Any) -> Any:
        with tf.control_dependencies([s]):
            write = tf.assign_add(a, tf.cast(i, tf.float32))
        with tf.control_dependencies([write]):
            total = s + a * 2.0
        with tf.control_dependencies([total]):
            return i + 1, total

    return after(tf, tf.while_loop(lambda i, s: i < 4, step, [0, 0.0]), a)


def _branch(tf: Any, variable: Make, taken: bool) -> Any:
    a, b = variable(5.0), variable(7.0)

    def then() -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1.0)]):
            return a * 10.0 + b

    return after(tf, tf.cond(tf.constant(taken), then, lambda: a + b if taken else a - b), a, b)


add("branch")(partial(_branch, taken=True))
add("other_branch")(partial(_branch, taken=False))


@add("branch_after_write")
def _(tf: Any, variable: Make) -> Any:
    """A branch reads what the loop around it wrote."""
    a, b = variable(0), variable(0)

    def body() -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1)]):
            part = tf.cond(tf.equal(a.read_value() % 2, 0), lambda: a + 0, lambda: -a)
        with tf.control_dependencies([part]):
            return tf.assign_add(b, part * part + part)

    return after(tf, repeat(tf, body, 6), a, b)


@add("branch_writes")
def _(tf: Any, variable: Make) -> Any:
    """The loop reads what a branch in it wrote."""
    a, b = variable(0), variable(0)

    def write(by: int) -> Any:
        with tf.control_dependencies([tf.assign_add(a, by)]):
            return a + 0

    def body() -> Any:
        written = tf.cond(tf.equal(b.read_value() % 2, 0), lambda: write(1), lambda: write(2))
        with tf.control_dependencies([written]):
            return tf.assign_add(b, a + written)

    return after(tf, repeat(tf, body, 5), a, b)


@add("nested_loops")
def _(tf: Any, variable: Make) -> Any:
    a, b = variable(0), variable(0)

    def inner() -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1)]):
            return tf.assign_add(b, a)

    def outer() -> Any:
        with tf.control_dependencies([repeat(tf, inner, 3)]):
            return tf.assign_add(b, a * 100)

    return after(tf, repeat(tf, outer, 4), a, b)


@add("inner_loop_reads")
def _(tf: Any, variable: Make) -> Any:
    a, b = variable(1), variable(0)

    def outer() -> Any:
        with tf.control_dependencies([tf.assign_add(a, a)]):
            total = tf.while_loop(lambda j, s: j < 3, lambda j, s: (j + 1, s + a), [0, 0])
        with tf.control_dependencies(total):
            return tf.assign_add(b, total[1])

    return after(tf, repeat(tf, outer, 4), a, b)


@add("written_before_the_loop")
def _(tf: Any, variable: Make) -> Any:
    a = variable(1.0)
    with tf.control_dependencies([tf.assign_add(a, 4.0)]):
        found = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + a), [0, 0.0])
    return after(tf, found, a)


@add("scatter")
def _(tf: Any, variable: Make) -> Any:
    a, b = variable([0.0, 0.0, 0.0]), variable(0.0)

    def step(i: Any) -> Any:
        with tf.control_dependencies([tf.scatter_add(a, [i], [tf.cast(i, tf.float32) + 1.0])]):
            write = tf.assign_add(b, tf.reduce_sum(a * a))
        with tf.control_dependencies([write]):
            return i + 1

    return after(tf, tf.while_loop(lambda i: i < 3, step, [0]), a, b)


@add("rows_gathered")
def _(tf: Any, variable: Make) -> Any:
    a, b = variable([[1.0, 2.0], [3.0, 4.0]]), variable([0.0, 0.0])

    def body() -> Any:
        with tf.control_dependencies([tf.assign_add(a, tf.ones([2, 2]))]):
            return tf.assign_add(b, tf.gather(a, 1))

    return after(tf, repeat(tf, body, 3), a, b)


@add("training")
def _(tf: Any, variable: Make) -> Any:
    """An optimizer in the body: each iteration's gradient is taken where the last one's step led."""
    w = variable([0.0, 4.0])

    def body() -> Any:
        loss = tf.reduce_sum(tf.square(w - [3.0, -1.0]))
        (slope,) = tf.gradients(loss, [w])
        return tf.assign_sub(w, 0.1 * slope)

    return after(tf, repeat(tf, body, 5), w)


@add("map_fn")
def _(tf: Any, variable: Make) -> Any:
    a = variable(10.0)

    def one(x: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1.0)]):
            return a * x

    return after(tf, tf.map_fn(one, tf.constant([1.0, 2.0, 3.0]), parallel_iterations=1), a)


@add("gradient_of_read_only")
def _(tf: Any, variable: Make) -> Any:
    a = variable(2.0)
    found = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * a + a), [0, 1.0])[1]
    return [found, *tf.gradients(found, [a])]


@add("gradient_of_branch", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a = variable(2.0)

    def then() -> Any:
        with tf.control_dependencies([tf.assign_add(a, 1.0)]):
            return a * a

    found = tf.cond(tf.constant(True), then, lambda: a * 1.0)
    return [found, *tf.gradients(found, [a])]


@add("gradient_of_loop", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a = variable(2.0)

    def step(i: Any, s: Any) -> Any:
        with tf.control_dependencies([s]):
            write = tf.assign_add(a, 1.0)
        with tf.control_dependencies([write]):
            total = s * a
        with tf.control_dependencies([total]):
            return i + 1, total

    x = tf.constant(1.5)
    found = tf.while_loop(lambda i, s: i < 3, step, [0, x])[1]
    return [found, *tf.gradients(found, [x])]


@add("gradient_of_unordered_reads")
def _(tf: Any, variable: Make) -> Any:
    """The write comes after all reads of its iteration."""
    a, b = variable(2.0), variable(3.0)

    def step(i: Any, s: Any) -> Any:
        total = s * b
        with tf.control_dependencies([total]):
            write = tf.assign_add(a, total)
        with tf.control_dependencies([write]):
            return i + 1, tf.identity(total)

    found = tf.while_loop(lambda i, s: i < 3, step, [0, 1.5])[1]
    return after(tf, [found, *tf.gradients(found, [b])], a)


@add("function_in_loop", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a, b = variable(1), variable(0)

    @tf.function
    def double() -> Any:
        a.assign(a * 2)
        return a + 0

    def body() -> Any:
        with tf.control_dependencies([double()]):
            return b.assign_add(a + 0)

    return after(tf, repeat(tf, body, 4), a, b)


@add("function_reads_what_the_loop_writes", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a, b = variable(1), variable(0)

    @tf.function
    def doubled() -> Any:
        return a * 2

    def body() -> Any:
        with tf.control_dependencies([a.assign_add(1)]):
            return b.assign_add(doubled())

    return after(tf, repeat(tf, body, 4), a, b)


@add("loop_in_function", resource_only)
def _(tf: Any, variable: Make) -> Any:
    """A function runs its effects in the order in which they were written, in its loops, too."""
    a, b = variable(0), variable(0)

    @tf.function
    def run(n: Any) -> Any:
        def step(i: Any) -> Any:
            a.assign_add(1)
            b.assign_add(a)
            return (i + 1,)

        tf.while_loop(lambda i: i < n, step, [tf.constant(0)])
        return a + b

    return after(tf, run(tf.constant(10)), a, b)


@add("condition_in_function", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a = variable(0)

    @tf.function
    def run() -> Any:
        def step(i: Any) -> Any:
            a.assign_add(2)
            return (i + 1,)

        return tf.while_loop(lambda i: a < 7, step, [tf.constant(0)], return_same_structure=True)[0]

    return after(tf, run(), a)


@add("branch_in_function", resource_only)
def _(tf: Any, variable: Make) -> Any:
    a = variable(5.0)

    @tf.function
    def run(p: Any) -> Any:
        def then() -> Any:
            before = a + 0.0
            a.assign_add(1.0)
            return a * 10.0 + before

        return tf.cond(p, then, lambda: a + 0.0) + a

    return after(tf, run(tf.constant(True)), a)


@add("function_after_a_write", resource_only)
def _(tf: Any, variable: Make) -> Any:
    """The call waits for the write through its input alone."""
    a = variable(1.0)

    @tf.function
    def times(x: Any) -> Any:
        return a * x

    @tf.function
    def raised(x: Any) -> Any:
        a.assign_add(x)
        return x + 1.0

    with tf.control_dependencies([a.assign_add(10.0)]):
        x = tf.constant(2.0)
    return after(tf, times(raised(times(x))), a)
