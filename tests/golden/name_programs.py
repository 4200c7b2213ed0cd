"""Small programs whose node names and control inputs Headrace must give as TensorFlow 1 does.

Each takes the module (``headrace`` or ``tensorflow.compat.v1``) and builds in a fresh default graph.  Only constants,
placeholders, identities and no_ops are used, so that the programs test names and not the library.
"""

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], None]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


@program
def repeated_names(tf: Any) -> None:
    for name in ["a", "a", "a_1", "a", "A", "b/c", "b/c", "b", None, None]:
        tf.no_op(name=name)


@program
def names_that_collide_with_suffixes(tf: Any) -> None:
    for name in ["x_1", "x", "x", "x", "x_1", "x_1_1", "x_1"]:
        tf.no_op(name=name)


@program
def case_is_ignored(tf: Any) -> None:
    for name in ["Foo", "foo", "FOO", "fOO_1", "Foo"]:
        tf.no_op(name=name)


@program
def scopes(tf: Any) -> None:
    with tf.name_scope("outer") as outer:
        tf.no_op(name="a")
        with tf.name_scope("inner"):
            tf.no_op(name="a")
        with tf.name_scope("inner"):
            tf.no_op(name="a")
        with tf.name_scope("a"):
            tf.no_op(name="a")
    with tf.name_scope("outer"):
        tf.no_op(name="a")
    with tf.name_scope(outer):
        tf.no_op(name="a")
        with tf.name_scope("inner"):
            tf.no_op(name="a")
    tf.no_op(name="outer")


@program
def root_scope(tf: Any) -> None:
    with tf.name_scope("a"), tf.name_scope(None):
        tf.no_op(name="b")
        with tf.name_scope("c"):
            tf.no_op(name="d")
    with tf.name_scope("a"), tf.name_scope(""):
        tf.no_op(name="b")


@program
def default_names(tf: Any) -> None:
    with tf.name_scope(None, "default"):
        tf.no_op()
    with tf.name_scope(None, "default"):
        tf.no_op()
    with tf.name_scope("given", "default", [1, 2]) as scope:
        tf.constant(1, name=scope)


@program
def scope_as_a_name(tf: Any) -> None:
    with tf.name_scope("layer") as scope:
        tf.constant(1.0)
        tf.identity(tf.constant(2.0), name=scope)
    with tf.name_scope("layer") as scope:
        tf.identity(tf.constant(2.0), name=scope)


@program
def values_become_constants(tf: Any) -> None:
    tf.identity(1.0)
    tf.identity([1, 2], name="y")
    with tf.name_scope("s"):
        tf.identity(2.0)
        tf.identity([3.0], name="z")


@program
def names_with_many_parts(tf: Any) -> None:
    for name in ["a/b/c", "a/b/c", "a/b", "a", "a/b/c_1", "a.b-c", "0", "a/_b"]:
        tf.no_op(name=name)


@program
def unique_names(tf: Any) -> None:
    graph = tf.get_default_graph()
    tf.no_op(name=graph.unique_name("u") + "/")
    tf.no_op(name=graph.unique_name("u") + "/")
    graph.unique_name("w", mark_as_used=False)
    tf.no_op(name=graph.unique_name("w", mark_as_used=False))
    with tf.name_scope("s"):
        tf.no_op(name=graph.unique_name("t") + "/")
        tf.no_op(name="t")


@program
def control(tf: Any) -> None:
    a, b, c = tf.no_op(name="a"), tf.constant(1.0, name="b"), tf.no_op(name="c")
    with tf.control_dependencies([a, b]):
        tf.no_op(name="after_a_b")
        with tf.control_dependencies([c]):
            tf.no_op(name="after_a_b_c")
            with tf.control_dependencies(None):
                tf.no_op(name="after_nothing")
                with tf.control_dependencies([a]):
                    tf.no_op(name="after_a_only")
            tf.no_op(name="again_a_b_c")
        tf.identity(b, name="b_is_an_input")
        d = tf.constant(2.0, name="d")
        tf.identity(d, name="d_waits_already")
        with tf.control_dependencies([d]):
            tf.no_op(name="after_d")
            tf.identity(d, name="d_is_an_input")
    with tf.control_dependencies([]):
        tf.no_op(name="free")
    with tf.control_dependencies([a, a]):
        tf.no_op(name="once")


@program
def control_of_outer_and_inner(tf: Any) -> None:
    a, b = tf.no_op(name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a]):
        x = tf.constant(1.0, name="x")
        with tf.control_dependencies([b]):
            y = tf.identity(x, name="y")
            tf.identity(y, name="z")
    tf.identity(y, name="outside")


@program
def devices(tf: Any) -> None:
    with tf.device("/job:ps/task:1"):
        tf.no_op(name="partial")
        with tf.device("/cpu:0"):
            tf.no_op(name="merged")
            with tf.device("/job:worker"):
                tf.no_op(name="overridden")
            with tf.device(None):
                tf.no_op(name="cleared")
        with tf.device(""):
            tf.no_op(name="empty_adds_nothing")
    with tf.device(lambda op: "/device:GPU:0" if op.name == "f" else "/device:CPU:0"):
        tf.no_op(name="f")
        tf.no_op(name="g")
        with tf.device("/job:ps"):
            tf.no_op(name="h")
    with tf.device("/job:a"), tf.device(lambda op: "/device:CPU:3"):
        tf.no_op(name="function_inside")
    with tf.device(tf.DeviceSpec(job="ps", device_type="GPU", device_index=2)):
        tf.no_op(name="spec")


@program
def colocation(tf: Any) -> None:
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    b = tf.constant(2.0, name="b")
    with tf.colocate_with(a.op):
        c = tf.constant(3.0, name="c")
        with tf.colocate_with(b.op):
            tf.constant(4.0, name="with_a_and_b")
        with tf.colocate_with(b.op, ignore_existing=True):
            tf.constant(5.0, name="with_b")
        with tf.colocate_with(None, ignore_existing=True):
            tf.constant(6.0, name="free")
    with tf.colocate_with(c.op):
        tf.constant(7.0, name="with_a")
    with tf.device("/gpu:0"), tf.colocate_with(b.op):
        tf.constant(8.0, name="colocation_clears_devices")
        with tf.device("/gpu:1"):
            tf.constant(9.0, name="device_inside")


def describe(tf: Any, function: Program) -> list[list[Any]]:
    """[name, type, inputs, control inputs, device, colocation groups] of every node."""
    with tf.Graph().as_default() as graph:
        function(tf)
    return [
        [
            node.name,
            node.type,
            [t.name for t in node.inputs],
            sorted(c.name for c in node.control_inputs),
            node.device,
            sorted(g.decode() for g in node.colocation_groups()),
        ]
        for node in graph.get_operations()
    ]
