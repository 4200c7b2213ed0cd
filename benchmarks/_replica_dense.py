"""Where dense gradients are summed: at the servers, or among the workers.  Updates a second, and bytes through a server.

Both rows of a number of workers run in turn, and again in the other order, so that a slow minute of the machine hits both.
"""

import time

from benchmarks import _harness

WARM_UP = 3  # updates before the measured ones
DENSE = ("servers", "all_reduce")


def compare(cluster, options):
    """Rows for each number of workers, printed as a table too."""
    try:
        rows = [
            {"workers": workers, "dense": dense, **_measured(cluster, workers, dense, options)}
            for workers in options.workers
            for dense in (*DENSE, *reversed(DENSE))
        ]
    finally:
        cluster.close()
    header = ["workers", "dense", "updates/s", "MiB into a server", "MiB out of a server"]
    lines = [
        [str(row["workers"]), row["dense"], *(f"{row[key]:.2f}" for key in ("updates_a_second", "mib_in", "mib_out"))]
        for row in rows
    ]
    print(_harness.table(header, lines))
    return rows


def _measured(cluster, workers, dense, options):
    """Of the busier of two servers, for each update."""
    import headrace as tf

    tf.Session.reset(cluster.target)
    pipes = cluster.begin({
        "model": "wide", "mode": "sync", "arguments": {"dense": dense}, "workers": workers, "stragglers": "none", "seed": 0,
        "step_s": options.step_ms / 1000, "gathers": False,
    })  # fmt: skip
    for pipe in pipes:
        pipe.send("go")
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
        with tf.Session(cluster.target, config=tf.ConfigProto(device_filters=["/job:ps"])) as session:
            while session.run(step) < WARM_UP:
                time.sleep(0.05)
            begin, first, before = time.perf_counter(), session.run(step), cluster.bytes_of_servers()
            time.sleep(options.seconds)
            seconds, last, after = time.perf_counter() - begin, session.run(step), cluster.bytes_of_servers()
    for pipe in pipes:
        pipe.send("stop")
    for pipe in pipes:
        pipe.recv()
    updates = max(1, int(last - first))
    mib_in, mib_out = ((b - a) / updates / 2**20 for a, b in zip(before, after, strict=True))
    return {"updates_a_second": updates / seconds, "mib_in": mib_in, "mib_out": mib_out}
