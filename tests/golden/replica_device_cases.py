"""Graphs for parameter servers and workers, written for TensorFlow and for Headrace: ``tf`` is either system.

Each case builds nodes in the default graph.  What is compared is the device of every node that both systems have by name.
"""

CLUSTER = {"ps": ["ps0:1", "ps1:1"], "worker": ["w0:1", "w1:1", "w2:1"]}
CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def zeros(tf, name, shape=(2,)):
    return tf.Variable(tf.zeros(shape), name=name)


def variables(tf, count=3):
    """Variables of each sort, and something computed from them."""
    made = [zeros(tf, f"v{i}") for i in range(count)]
    made.append(tf.get_variable("got", [2]))
    made.append(tf.get_variable("resource", [2], use_resource=True))
    made.append(tf.get_variable("local", [2], collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False))
    return tf.add_n([tf.identity(v, name=f"read_{i}") for i, v in enumerate(made)], name="sum")


def setter(tf, **keywords):
    return tf.device(tf.train.replica_device_setter(**keywords))


@case
def cluster_dictionary(tf):
    with setter(tf, cluster=CLUSTER):
        variables(tf)


@case
def cluster_spec(tf):
    with setter(tf, cluster=tf.train.ClusterSpec(CLUSTER)):
        variables(tf)


@case
def cluster_def(tf):
    with setter(tf, cluster=tf.train.ClusterSpec(CLUSTER).as_cluster_def()):
        variables(tf)


@case
def sparse_cluster(tf):
    with setter(tf, cluster={"ps": {0: "ps0:1", 3: "ps3:1", 7: "ps7:1"}, "worker": ["w0:1"]}):
        variables(tf)


@case
def cluster_without_parameter_servers(tf):
    with tf.device("/job:outer"), setter(tf, cluster={"worker": ["w0:1"]}):
        variables(tf)


@case
def cluster_with_no_tasks(tf):
    with tf.device("/job:outer"), setter(tf, cluster={"ps": [], "worker": ["w0:1"]}):
        variables(tf)


@case
def no_tasks(tf):
    with tf.device("/job:outer"), setter(tf):
        variables(tf)


@case
def number_of_tasks(tf):
    with setter(tf, ps_tasks=4):
        variables(tf)


@case
def cluster_wins_over_number(tf):
    with setter(tf, ps_tasks=5, cluster=CLUSTER):
        variables(tf)


@case
def another_job(tf):
    cluster = {"sun": ["sun0:1", "sun1:1", "sun2:1"], "moon": ["moon0:1", "moon1:1"]}
    with setter(tf, ps_device="/job:moon", worker_device="/job:sun", cluster=cluster):
        variables(tf)


@case
def parameter_servers_with_a_device(tf):
    with setter(tf, ps_tasks=2, ps_device="/job:ps/cpu:0", worker_device="/job:worker/task:1/gpu:2"):
        variables(tf)


@case
def servers_without_a_job(tf):
    with setter(tf, ps_tasks=2, ps_device="/cpu:1"):
        variables(tf)


@case
def no_device_for_servers(tf):
    with setter(tf, ps_tasks=2, ps_device=""):
        variables(tf)


@case
def no_device_for_workers(tf):
    with setter(tf, ps_tasks=2, worker_device=""):
        variables(tf)


@case
def none_for_workers(tf):
    with setter(tf, ps_tasks=2, worker_device=None):
        variables(tf)


@case
def a_task_in_the_servers_device(tf):
    with setter(tf, ps_tasks=2, ps_device="/job:ps/task:5"):
        variables(tf)


@case
def inner_devices(tf):
    with setter(tf, cluster=CLUSTER, worker_device="/job:worker/task:2"):
        for i, device in enumerate(
            ["/cpu:1", "/gpu:0", "/job:ps", "/job:worker", "/job:other/task:4", "/task:1", "/job:ps/task:1/cpu:0", ""]
        ):
            with tf.device(device):
                v = zeros(tf, f"inner{i}")
                tf.identity(v, name=f"use{i}")
        zeros(tf, "last")


@case
def inner_devices_win_whole(tf):
    with setter(tf, cluster=CLUSTER, merge_devices=False):
        for i, device in enumerate(["/cpu:1", "/job:ps", "/job:other/task:4", ""]):
            with tf.device(device):
                v = zeros(tf, f"inner{i}")
                tf.identity(v, name=f"use{i}")
        zeros(tf, "last")


@case
def outer_devices(tf):
    for i, device in enumerate(["/cpu:0", "/job:outer/task:3/gpu:1", "/replica:2"]):
        with tf.device(device), setter(tf, cluster=CLUSTER), tf.name_scope(f"scope{i}"):
            tf.identity(zeros(tf, f"v{i}"), name="use")


@case
def inside_none(tf):
    with setter(tf, cluster=CLUSTER):
        zeros(tf, "before")
        with tf.device(None):
            zeros(tf, "free")
            with tf.device("/cpu:3"):
                zeros(tf, "named")
        zeros(tf, "after")


@case
def nested_setters(tf):
    with setter(tf, cluster=CLUSTER), setter(tf, ps_tasks=3, ps_device="/job:inner", worker_device="/gpu:1"):
        variables(tf)


@case
def functions(tf):
    def by_type(op):
        return "/job:matrices" if op.type == "MatMul" else op.device

    with tf.device("/task:3"), tf.device(by_type), tf.device("/cpu:0"):
        x = tf.constant([[1.0]], name="x")
        tf.matmul(x, x, name="product")
    with tf.device(lambda op: ""), tf.device("/cpu:0"):
        tf.constant(1.0, name="empty")
    with tf.device("/cpu:0"), tf.device(lambda op: "/job:a/gpu:1"):
        tf.constant(1.0, name="overridden")
    with tf.device(lambda op: "/job:a"), tf.device(lambda op: op.device or "/task:1"):
        tf.constant(1.0, name="two")


@case
def merging_functions(tf):
    with tf.device("/job:a/cpu:0"), tf.device(tf.DeviceSpec(task=2)), tf.device("/gpu:1"):
        tf.constant(1.0, name="parts")


@case
def chosen_ops(tf):
    with setter(tf, cluster=CLUSTER, ps_ops=["Const", "VariableV2"]):
        tf.constant(1.0, name="a")
        tf.constant(1.0, name="b")
        variables(tf, 1)


@case
def strategy(tf):
    tasks = iter(range(7, 20))
    with setter(tf, ps_tasks=2, ps_strategy=lambda op: next(tasks)):
        variables(tf)


@case
def tables(tf):
    with setter(tf, cluster=CLUSTER):
        zeros(tf, "v")
        tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2, name="dense")
        zeros(tf, "w")


@case
def accumulators_and_queues(tf):
    with setter(tf, cluster=CLUSTER):
        tf.ConditionalAccumulator(tf.float32, shape=[2], name="one").num_accumulated()
        tf.ConditionalAccumulator(tf.float32, shape=[2], name="two").apply_grad([1.0, 2.0], name="apply")
        tf.SparseConditionalAccumulator(tf.float32, name="sparse")
        tf.FIFOQueue(3, [tf.float32], name="queue").size(name="size")


@case
def colocation(tf):
    with setter(tf, cluster=CLUSTER):
        v, w = zeros(tf, "v"), zeros(tf, "w")
        with tf.colocate_with(w):
            tf.constant(1.0, name="beside")
            zeros(tf, "variable_beside")
            with tf.device("/cpu:1"):
                tf.constant(1.0, name="device_beside")
        with tf.colocate_with(v.op):
            tf.constant(2.0, name="beside_op")
        zeros(tf, "after")


@case
def initializers(tf):
    with setter(tf, cluster=CLUSTER):
        tf.get_variable("drawn", [3, 2], initializer=tf.random_normal_initializer())
        tf.get_variable("constant", initializer=tf.constant([1.0, 2.0]))
        tf.get_variable("resource", [3], initializer=tf.zeros_initializer(), use_resource=True)
        tf.Variable(lambda: tf.ones([2]), name="lazy")
        tf.global_variables_initializer()
        tf.train.get_or_create_global_step()


@case
def partitioned(tf):
    with setter(tf, cluster={**CLUSTER, "ps": ["ps0:1", "ps1:1", "ps2:1"]}):
        zeros(tf, "first")
        table = tf.get_variable("table", [10, 2], partitioner=tf.fixed_size_partitioner(4))
        tf.nn.embedding_lookup(table, [1, 7], name="rows")
        zeros(tf, "last")


@case
def partitioned_resource(tf):
    with setter(tf, cluster={**CLUSTER, "ps": ["ps0:1", "ps1:1", "ps2:1"]}):
        tf.get_variable("table", [10, 2], partitioner=tf.fixed_size_partitioner(4), use_resource=True)
        zeros(tf, "last")


def _train(tf, optimizer, use_resource=False, average=False):
    with setter(tf, cluster=CLUSTER, worker_device="/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2], use_resource=use_resource)
        b = tf.get_variable("b", [2], use_resource=use_resource)
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b), name="loss")
        step = tf.train.get_or_create_global_step()
        train = optimizer.minimize(loss, step, name="train")
        if average:
            with tf.control_dependencies([train]):
                tf.train.ExponentialMovingAverage(0.9, step).apply([w, b])


@case
def gradient_descent(tf):
    _train(tf, tf.train.GradientDescentOptimizer(0.1))


@case
def slots_of_momentum(tf):
    _train(tf, tf.train.MomentumOptimizer(0.1, 0.9))


@case
def slots_of_adam(tf):
    _train(tf, tf.train.AdamOptimizer(0.1))


@case
def slots_of_resources(tf):
    _train(tf, tf.train.AdamOptimizer(0.1), use_resource=True)


@case
def slots_of_rmsprop(tf):
    _train(tf, tf.train.RMSPropOptimizer(0.1))


@case
def slots_of_ftrl(tf):
    _train(tf, tf.train.FtrlOptimizer(0.1))


@case
def moving_averages(tf):
    _train(tf, tf.train.GradientDescentOptimizer(0.1), average=True)


@case
def caching_devices(tf):
    with setter(tf, cluster=CLUSTER, worker_device="/job:worker/task:1"):
        with tf.variable_scope("scope", caching_device=lambda op: op.device):
            cached = tf.get_variable("cached", [3])
        with tf.variable_scope("named", caching_device="/job:worker/cpu:0"):
            tf.identity(tf.get_variable("cached", [3]) + cached, name="use")


@case
def synchronous_replicas(tf):
    _train(tf, tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(0.1), 2, total_num_replicas=3))


@case
def synchronous_replicas_of_resources(tf):
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), 2)
    _train(tf, optimizer, use_resource=True)
    optimizer.get_init_tokens_op()


@case
def synchronous_rows(tf):
    with setter(tf, cluster=CLUSTER, worker_device="/job:worker/task:1"):
        step = tf.train.get_or_create_global_step()
        table = tf.get_variable("table", [10, 2])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 2, 2]))
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2)
        optimizer.minimize(loss, step, name="train")
        optimizer.get_init_tokens_op(0)


def devices(tf, name):
    """The devices of the case's nodes, by the name of the node."""
    tf.reset_default_graph()
    CASES[name](tf)
    return {op.name: op.device for op in tf.get_default_graph().get_operations()}
