"""Small TF1 programs about variables; each is a function of the module ``tf`` and builds into the default graph.

``make_cases.py`` runs them with TensorFlow and keeps the graphs; tests/library/state/test_variable_names.py builds
the same graphs with Headrace.
"""

# ruff: noqa: B015, B018, SIM117 - the programs are about what they leave in the graph


def plain(tf):
    tf.Variable([1.0, 2.0], name="v")
    tf.Variable(3, trainable=False)
    tf.Variable(tf.constant([1.0, 1.0], name="start"), name="v")
    tf.Variable(lambda: tf.constant([2.0]))
    tf.Variable(2.5, name="d", dtype=tf.float64)
    tf.Variable([1, 2], name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    tf.global_variables_initializer()
    tf.local_variables_initializer()
    tf.variables_initializer([], name="nothing")


def control_dependencies_are_left(tf):
    first = tf.constant(1.0, name="first")
    with tf.control_dependencies([first]), tf.name_scope("a"):
        tf.Variable([1.0, 2.0], name="v")
        tf.get_variable("w", [2, 2])
        tf.get_variable("x", initializer=[1.0, 2.0])
        tf.get_variable("y", initializer=lambda: tf.constant([2.0]))
        tf.get_variable("z", initializer=tf.constant([3.0]))
        tf.constant(2.0, name="inside")


def updates(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    n = tf.Variable(0, name="n")
    with tf.name_scope("s"):
        tf.assign(v, [1.0, 2.0])
        v.assign([3.0, 4.0])
        v.assign_add([1.0, 1.0], name="more")
        v.assign_sub([1.0, 1.0], read_value=False)
        tf.assign_add(v, v)
        tf.scatter_add(v, [0], [1.0])
        tf.scatter_update(v, [0], [1.0])
        v.scatter_sub(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
        tf.scatter_nd_add(v, [[0]], [1.0])
        v.scatter_nd_update([[0]], [1.0])
        n.count_up_to(3)
        v.read_value()
        tf.is_variable_initialized(v)
        v[0:1].assign([3.0])
        v[0].assign(3.0)


def operators(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    v + 1.0
    2.0 * v
    v - v
    -v
    v / 2.0
    v[1]
    v[:1]
    v > 1.0
    abs(v)
    tf.identity(v)
    tf.group(v, name="all")


def scopes(tf):
    with tf.variable_scope("a") as a:
        tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        tf.constant(1.0, name="c")
        with tf.variable_scope("b"):
            tf.get_variable("w", [2], dtype=tf.int32)
            tf.constant(1.0, name="c")
    with tf.variable_scope("a", reuse=True):
        tf.identity(tf.get_variable("w"))
        tf.constant(1.0, name="c")
        with tf.variable_scope("b"):
            tf.identity(tf.get_variable("w", dtype=tf.int32))
    with tf.variable_scope(a):
        tf.get_variable("u", [1])
        tf.constant(1.0, name="c")
    with tf.variable_scope("other"):
        with tf.variable_scope(a, reuse=True):
            tf.get_variable("u", [1])
            tf.constant(1.0, name="c")
        with tf.name_scope(a.original_name_scope):
            tf.constant(1.0, name="back")
        tf.get_variable("own", initializer=1.0)
    tf.global_variables_initializer()


def default_names(tf):
    for _ in range(2):
        with tf.variable_scope(None, default_name="layer"):
            tf.get_variable("w", [2])
            tf.constant(1.0)
            for _ in range(2):
                with tf.variable_scope(None, "inner"):
                    tf.get_variable("w", initializer=1.0)
    with tf.variable_scope("outer"):
        for _ in range(2):
            with tf.variable_scope(None, "layer"):
                tf.get_variable("w", initializer=1.0)
    with tf.variable_scope("outer"):
        with tf.variable_scope(None, "layer", reuse=None):
            tf.constant(2.0)
    with tf.variable_scope("layer"):
        tf.constant(3.0)
    with tf.variable_scope("layer", "unused"):
        tf.get_variable("named", initializer=1.0)


def name_scopes_and_variable_scopes(tf):
    with tf.name_scope("n"):
        with tf.variable_scope("v") as scope:
            tf.get_variable("w", initializer=1.0)
            tf.Variable(1.0, name="plain")
            tf.constant(1.0)
        with tf.variable_scope(scope, auxiliary_name_scope=False):
            tf.constant(1.0, name="same")
            tf.get_variable("x", initializer=1.0)
        with tf.variable_scope("w", auxiliary_name_scope=False):
            tf.constant(1.0, name="here")
            tf.get_variable("x", initializer=1.0)
    with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
        tf.get_variable("root", initializer=1.0)
        tf.get_variable("root")
        tf.constant(1.0, name="root_op")
    with tf.variable_scope(""):
        tf.get_variable("empty", initializer=1.0)
    with tf.variable_scope("v", auxiliary_name_scope=False):
        with tf.name_scope("deep"):
            tf.get_variable("y", initializer=1.0)
            tf.constant(5.0)


def inherited(tf):
    with tf.variable_scope("a", initializer=tf.ones_initializer(), dtype=tf.float64, reuse=tf.AUTO_REUSE):
        tf.get_variable("w", [2])
        with tf.variable_scope("b", initializer=tf.zeros_initializer()):
            tf.get_variable("w", [2])
            tf.get_variable("w", [2])
            tf.get_variable("c", [2], initializer=tf.constant_initializer(3.0))
            tf.get_variable("cls", [2], initializer=tf.ones_initializer)
    tf.get_variable("typed", dtype=tf.float32, initializer=[1.0, 2.0])
    tf.get_local_variable("mine", [2])
    tf.get_variable("kept", [2], trainable=False, collections=["odd"])


def getters(tf):
    def scaled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 2.0

    def renamed(getter, name, *args, **kwargs):
        return getter(name + "_renamed", *args, **kwargs)

    with tf.variable_scope("outer", custom_getter=renamed):
        with tf.variable_scope("inner", custom_getter=scaled):
            tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    tf.get_variable("top", [1], initializer=tf.zeros_initializer(), custom_getter=scaled)


def partitioned(tf):
    w = tf.get_variable("w", [5, 2], partitioner=tf.fixed_size_partitioner(3))
    w.as_tensor()
    tf.convert_to_tensor(w)
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2, axis=1)):
        tf.get_variable("x", [2, 4], initializer=tf.zeros_initializer())
        tf.get_variable("scalar", [], initializer=tf.zeros_initializer())
        tf.get_variable("from_value", initializer=tf.constant([[1.0, 2.0, 3.0]], name="given"))
    with tf.variable_scope("s", reuse=True, partitioner=tf.fixed_size_partitioner(2, axis=1)):
        tf.identity(tf.get_variable("x", [2, 4]).as_tensor())
    single = tf.get_variable("single", [3], partitioner=tf.fixed_size_partitioner(1))
    tf.convert_to_tensor(single)
    big = tf.variable_axis_size_partitioner(max_shard_bytes=16)
    tf.get_variable("big", [4, 2], partitioner=big, initializer=tf.zeros_initializer())
    few = tf.min_max_variable_partitioner(max_partitions=3, min_slice_size=8)
    tf.get_variable("few", [4, 2], partitioner=few, initializer=tf.zeros_initializer())
    tf.global_variables_initializer()


def partitioned_old(tf):
    tf.create_partitioned_variables([4, 2], [2, 1], tf.zeros_initializer())
    with tf.variable_scope("s"):
        tf.create_partitioned_variables([4, 2], [1, 2], lambda shape, dtype, partition_info: tf.ones(shape, dtype))
        tf.create_partitioned_variables([3], [3], None, name="named", trainable=False)


def devices(tf):
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
        w = tf.Variable([1.0, 2.0], name="w")
    with tf.device("/job:worker/task:1"):
        tf.get_variable("x", [2], initializer=tf.zeros_initializer(), caching_device="/cpu:1")
        v.assign([1.0, 2.0])
        w.read_value()
    with tf.colocate_with(v.op):
        tf.constant(1.0, name="near")
        tf.Variable(1.0, name="near_variable")
        tf.get_variable("near_get", [2], initializer=tf.zeros_initializer())
    tf.global_variables_initializer()


def templates(tf):
    def scale(x, start):
        return tf.multiply(x, tf.get_variable("factor", initializer=start))

    x = tf.constant(3.0, name="x")
    double = tf.make_template("scale", scale, start=2.0)
    double(x)
    double(x)
    again = tf.make_template("scale", scale, create_scope_now_=True, start=3.0)
    with tf.variable_scope("inside"):
        again(x)
        tf.make_template("scale", scale, start=4.0)(x)
    tf.make_template("ignored", scale, unique_name_="chosen", start=5.0)(x)


def global_steps(tf):
    with tf.name_scope("train"):
        tf.train.get_or_create_global_step()
        step = tf.train.get_or_create_global_step()
        tf.assign_add(step, 1)


def creators(tf):
    def renamed(next_creator, **kwargs):
        kwargs["name"] = "made_" + kwargs["name"]
        return next_creator(**kwargs)

    def untrained(next_creator, **kwargs):
        kwargs["trainable"] = False
        return next_creator(**kwargs)

    with tf.variable_creator_scope(renamed), tf.variable_creator_scope(untrained):
        tf.Variable(1.0, name="v")
        tf.get_variable("w", initializer=2.0)
    tf.Variable(1.0, name="v")


def initial_values_of_others(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(tf.multiply(v, 2.0, name="twice"), name="w")
    with tf.name_scope("s"):
        tf.Variable(w.value(), name="x")
    tf.global_variables_initializer()


PROGRAMS = {
    f.__name__: f
    for f in (
        plain, control_dependencies_are_left, updates, operators, scopes, default_names,
        name_scopes_and_variable_scopes, inherited, getters, partitioned, partitioned_old,
        devices, templates, global_steps,
        creators, initial_values_of_others,
    )
}  # fmt: skip

COLLECTIONS = ("variables", "local_variables", "trainable_variables", "global_step", "odd", "regularization_losses")


def describe(tf):
    """The default graph as plain data: nodes by name, collections by key."""
    graph = tf.get_default_graph()
    nodes = {}
    for op in graph.get_operations():
        groups = sorted(g.decode() for g in op.colocation_groups())
        nodes[op.name] = {
            "type": op.type,
            "inputs": [t.name for t in op.inputs],
            "controls": sorted(c.name for c in op.control_inputs),
            "device": op.device,
            "groups": [g for g in groups if g != f"loc:@{op.name}"],
        }
    collections = {key: [v.name for v in graph.get_collection(key)] for key in COLLECTIONS}
    return {"nodes": nodes, "collections": {k: v for k, v in collections.items() if v}}
