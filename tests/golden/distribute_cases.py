"""Programs with strategies over two CPUs, written for TensorFlow and for Headrace: ``tf`` is either system.

Each case gives numbers as lists, and names of variables.
"""

import numpy as np

CASES = {}
TWO = ["/cpu:0", "/cpu:1"]
FEATURES = (np.arange(16).reshape(8, 2) % 7 / 7).astype(np.float32)
LABELS = (FEATURES @ np.array([[1.0], [2.0]], np.float32) + 0.5).astype(np.float32)


def strategies(tf):
    distribute = tf.distribute
    return {
        "one": lambda: distribute.OneDeviceStrategy("/cpu:0"),
        "mirrored": lambda: distribute.MirroredStrategy(TWO),
        "mirrored_to_one": lambda: distribute.MirroredStrategy(TWO, distribute.ReductionToOneDevice()),
        "central": lambda: distribute.experimental.CentralStorageStrategy(TWO, "/cpu:0"),
    }


OPTIMIZERS = {
    "descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.05, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.01),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
}


def case(name):
    def keep(run):
        CASES[name] = run
        return run

    return keep


def run(tf, name):
    with tf.Graph().as_default():
        return CASES[name](tf)


def session(tf):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def plain(values):
    if isinstance(values, (list, tuple)):
        return [plain(value) for value in values]
    return np.asarray(values).astype(float).round(5).tolist()


def network(tf, x):
    kernel = tf.constant_initializer(0.3)
    hidden = tf.get_variable("hidden", [2, 3], initializer=kernel)
    bias = tf.get_variable("bias", [3], initializer=tf.zeros_initializer())
    out = tf.get_variable("out", [3, 1], initializer=kernel)
    return tf.matmul(tf.tanh(tf.matmul(x, hidden) + bias), out)


def trained(tf, strategy, optimizer, loss_fn, steps=4):
    """Losses and variables of a training on batches of eight."""
    batches = tf.data.Dataset.from_tensors((FEATURES, LABELS)).repeat()
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(batches)
        step = tf.train.get_or_create_global_step()

        def replica(element):
            loss = loss_fn(*element)
            with tf.control_dependencies([optimizer.minimize(loss, step)]):
                return tf.identity(loss)

        losses = strategy.run(replica, (iterator.get_next(),))
        loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
        names = sorted(v.name for v in tf.global_variables())
        with session(tf) as sess:
            sess.run(iterator.initialize())
            sess.run(tf.global_variables_initializer())
            found = [sess.run(loss) for _ in range(steps)]
            values = sess.run(list(tf.trainable_variables()))
            return {"losses": plain(found), "values": plain(values), "step": int(sess.run(step)), "names": names}


def _training(strategy_name, optimizer_name):
    @case(f"train_{strategy_name}_{optimizer_name}")
    def run(tf):
        strategy = strategies(tf)[strategy_name]()
        optimizer = OPTIMIZERS[optimizer_name](tf)
        return trained(tf, strategy, optimizer, lambda x, y: tf.losses.mean_squared_error(y, network(tf, x)))


for _strategy in ("one", "mirrored", "central"):
    for _optimizer in OPTIMIZERS:
        _training(_strategy, _optimizer)
_training("mirrored_to_one", "adam")


@case("sum_of_losses")
def sum_of_losses(tf):
    def loss(x, y):
        return tf.losses.mean_squared_error(y, network(tf, x), reduction=tf.losses.Reduction.SUM) / 8.0

    return trained(tf, strategies(tf)["mirrored"](), OPTIMIZERS["descent"](tf), loss)


@case("gathered_rows")
def gathered_rows(tf):
    def loss(x, y):
        table = tf.get_variable("table", [4, 2], initializer=tf.constant_initializer(0.5))
        rows = tf.nn.embedding_lookup(table, tf.cast(x[:, 0] * 3.9, tf.int32))
        return tf.reduce_mean(tf.square(tf.reduce_sum(rows * x, 1, keepdims=True) - y))

    return trained(tf, strategies(tf)["mirrored"](), OPTIMIZERS["momentum"](tf), loss)


@case("unlike_means")
def unlike_means(tf):
    """Averages that replicas move by batches of their own."""
    strategy = strategies(tf)["mirrored"]()
    with strategy.scope():
        mean = tf.get_variable(
            "mean", [], initializer=tf.zeros_initializer(), trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.MEAN,
        )  # fmt: skip
        total = tf.get_variable(
            "total", [], initializer=tf.ones_initializer(), trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip

        def replica():
            number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return tf.group(mean.assign_add(number + 1.0), total.assign_add(10.0 * number))

        update = strategy.group(strategy.run(replica))
        read = [mean.read_value(), total.read_value()]
        with session(tf) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(update)
            sess.run(update)
            values = sess.run([*read, *strategy.experimental_local_results(mean)])
            return {"values": plain(values), "names": sorted(v.name for v in tf.global_variables())}


@case("assigned_in_replicas")
def assigned_in_replicas(tf):
    strategy = strategies(tf)["mirrored"]()
    kinds = [tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN, tf.VariableAggregation.ONLY_FIRST_REPLICA]
    with strategy.scope():
        made = [tf.Variable(1.0, name=f"v{i}", aggregation=kind) for i, kind in enumerate(kinds)]

        def replica():
            number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return [v.assign_add(number + 1.0) for v in made]

        update = strategy.group(strategy.run(replica))
        with session(tf) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(update)
            return {"values": plain([sess.run(list(strategy.experimental_local_results(v))) for v in made])}


@case("assigned_outside")
def assigned_outside(tf):
    strategy = strategies(tf)["mirrored"]()
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        updates = [v.assign([3.0, 4.0]), v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.0])]
        with session(tf) as sess:
            sess.run(tf.global_variables_initializer())
            found = []
            for update in updates:
                sess.run(strategy.group(update))
                found.append(sess.run(list(strategy.experimental_local_results(v))))
            return {"values": plain(found)}


@case("reductions")
def reductions(tf):
    strategy = strategies(tf)["mirrored"]()

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.cast(number + 1, tf.float32) * tf.constant([[1.0, 2.0], [3.0, 4.0]])

    with strategy.scope():
        value = strategy.run(replica)
        kinds = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
        results = [strategy.reduce(kind, value, axis=axis) for kind in kinds for axis in (None, 0, 1)]
        with session(tf) as sess:
            return {"values": plain(sess.run(results))}


@case("sum_in_replicas")
def sum_in_replicas(tf):
    """A sum over replicas in a loss, and its gradient."""
    strategy = strategies(tf)["mirrored"]()

    def replica():
        context = tf.distribute.get_replica_context()
        x = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, x * x)
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, [x, 2.0 * x])
        return total, mean, tf.gradients(total * x, x)[0]

    with strategy.scope():
        results = strategy.experimental_local_results(strategy.run(replica))
        with session(tf) as sess:
            return {"values": [plain(sess.run(list(result))) for result in results]}


@case("elements_of_their_own")
def elements_of_their_own(tf):
    strategy = strategies(tf)["mirrored"]()

    def input_fn(context):
        assert context.num_replicas_in_sync == 2
        return tf.data.Dataset.range(12).batch(context.get_per_replica_batch_size(4))

    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(input_fn)
        parts = strategy.experimental_local_results(iterator.get_next())
        with session(tf) as sess:
            sess.run(iterator.initialize())
            found = [[part.tolist() for part in sess.run(parts)] for _ in range(3)]
            try:
                sess.run(parts)
            except tf.errors.OutOfRangeError:
                found.append("end")
            return {"values": found}


@case("layers")
def layers(tf):
    """Batch normalization with averages of each replica, and what is read of them."""
    strategy = strategies(tf)["mirrored"]()
    batches = tf.data.Dataset.from_tensors(FEATURES.reshape(8, 1, 1, 2)).repeat()
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(batches)
        moving = []

        def replica(x):
            with tf.variable_scope("norm", reuse=tf.AUTO_REUSE):
                names = ["gamma", "beta", "mean", "variance"]
                gamma, beta = (tf.get_variable(n, [2], initializer=tf.ones_initializer()) for n in names[:2])
                averages = [
                    tf.get_variable(
                        n, [2], initializer=tf.zeros_initializer(), trainable=False,
                        synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.MEAN,
                    )
                    for n in names[2:]
                ]  # fmt: skip
            moving[:] = averages
            y, mean, variance = tf.nn.fused_batch_norm(x, gamma, beta)[:3]
            moves = [a.assign_sub((a - b) * 0.1) for a, b in zip(averages, (mean, variance), strict=True)]
            loss = tf.reduce_sum(y * y)
            train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
            with tf.control_dependencies([train, *(tf.convert_to_tensor(m) for m in moves)]):
                return tf.identity(loss)

        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, (iterator.get_next(),)), axis=None)
        read = [v.read_value() for v in moving]
        with session(tf) as sess:
            sess.run(iterator.initialize())
            sess.run(tf.global_variables_initializer())
            losses = [sess.run(loss) for _ in range(3)]
            return {"losses": plain(losses), "values": plain(sess.run(read))}
