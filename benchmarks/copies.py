"""What copies of the parameter servers' variables in each other's memory cost: steps a second with and without them.

    python -m benchmarks.copies [--rounds 30] [--every 1.0] [--megabytes 64]

Two parameter servers hold a table each, and one worker trains a few rows of both in each step, so that nearly all the work of the
servers beside the steps is the copies.  Before each copy all rows are written, unless ``--rows`` asks for copies of a few.
Seconds with a copy and without take turns.
"""

import argparse
import multiprocessing
import os
import statistics
import threading
import time
from pathlib import Path

from benchmarks import _harness
from benchmarks.faults import _free_addresses

ROW, BATCH = 64, 32  # numbers of a row, rows of a step
ALONE = 20  # copies whose processor time is counted


def serve(jobs, index):
    """A parameter server, until it is killed."""
    tf = _ready()
    tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index).join()


def work(pipe, jobs, options):
    """The worker: sends how many steps it made in each second, and milliseconds of copies."""
    tf = _ready()
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", 0)
    with tf.device("/job:ps/task:0"):
        step = tf.train.create_global_step()
    rows = options.megabytes * 2**20 // (4 * ROW)
    losses, writes = [], []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            table = tf.get_variable(f"table{task}", [rows, ROW], initializer=tf.zeros_initializer())
            writes.append(table[:1].assign(tf.ones([1, ROW])).op)  # nobody notes which rows this writes
        ids = tf.random_uniform([BATCH], maxval=rows, dtype=tf.int32)
        losses.append(tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0)))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(losses), step)
    with tf.train.MonitoredTrainingSession(server.target, copies_steps=10**9) as sess:  # one at the beginning
        copies = sess._copies.copies
        for _ in range(100):
            sess.run(train)
        copies.copy()
        write = [] if options.rows else writes
        for _ in range(options.rounds):
            plain, _ = _train(sess, train, options.every)
            sess.run(write)
            copying = threading.Thread(target=_timed, args=(copies.copy, took := []))
            copying.start()
            copied, slowest = _train(sess, train, options.every)
            copying.join()
            pipe.send((plain, copied, slowest, 1e3 * took[0]))
        for copied in (False, True):  # what steps take alone, then with a copy after each
            pipe.send(None)
            pipe.recv()
            for _ in range(ALONE):
                sess.run(train)
                sess.run(write)
                if copied:
                    copies.copy()
        pipe.send(None)
        pipe.recv()
    pipe.close()


def _timed(call, took):
    begin = time.perf_counter()
    call()
    took.append(time.perf_counter() - begin)


def _train(sess, train, seconds):
    """How many steps a second, and milliseconds of the slowest step."""
    times, begin = [], time.perf_counter()
    while sum(times) < seconds:
        before = time.perf_counter()
        sess.run(train)
        times.append(time.perf_counter() - before)
    return len(times) / (time.perf_counter() - begin), 1e3 * max(times)


def _ready():
    os.environ.update(HEADRACE_COMPILE="off", OMP_NUM_THREADS="1")
    import headrace as tf

    return tf


def run(options):
    """Steps a second by session, and what is left of them with copies."""
    addresses = _free_addresses(3)
    jobs = {"ps": addresses[:2], "worker": addresses[2:]}
    spawn = multiprocessing.get_context("spawn")
    pipe, end = spawn.Pipe()
    tasks = [spawn.Process(target=serve, args=(jobs, index), daemon=True) for index in range(2)]
    tasks.append(spawn.Process(target=work, args=(end, jobs, options), daemon=True))
    for task in tasks:
        task.start()
    end.close()
    seen = []
    try:
        for _ in range(options.rounds):
            seen.append(pipe.recv())
        seconds = []
        for _ in range(3):
            pipe.recv()
            seconds.append(sum(map(_processor_seconds, tasks[:2])))
            pipe.send(None)
        pipe.poll(10.0)  # it closes
    finally:
        for task in tasks:
            task.kill()
            task.join()
    plain, copied, slowest, copy_ms = zip(*seen, strict=True)
    ratios = [one / other for one, other in zip(copied, plain, strict=True)]
    return {
        "megabytes": options.megabytes, "every": options.every, "rounds": options.rounds,
        "steps_per_s": {"without": statistics.median(plain), "with": statistics.median(copied)},
        "processor_ms_of_a_server": 1e3 * (seconds[2] - 2 * seconds[1] + seconds[0]) / (2 * ALONE),
        "copy_ms": statistics.median(copy_ms), "slowest_step_ms": statistics.median(slowest),
        "ratio": {"median": statistics.median(ratios), "quartiles": statistics.quantiles(ratios, n=4)},
    }  # fmt: skip


def _processor_seconds(task):
    user, system = Path(f"/proc/{task.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main(argv=None):
    """Measures, prints and saves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30, help="of two intervals each (default: %(default)s)")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between copies (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=64, help="on each server (default: %(default)s)")
    parser.add_argument("--rows", action="store_true", help="let only the rows of the steps be written between copies")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    result = run(options)
    rates, ratio = result["steps_per_s"], result["ratio"]
    low, _, high = ratio["quartiles"]
    print(f"{rates['without']:.0f} steps/s without copies, {rates['with']:.0f} with one every {options.every:g} s")
    print(f"with copies {ratio['median']:.1%} of the steps are left; half of the rounds: {low:.1%} to {high:.1%}")
    print(f"it takes {result['processor_ms_of_a_server']:.0f} ms of a processor on each server")
    print(f"a copy takes {result['copy_ms']:.0f} ms, the slowest step meanwhile {result['slowest_step_ms']:.0f} ms")
    if not options.no_save:
        print(f"saved to {_harness.save('copies_rows' if options.rows else 'copies', result)}")


if __name__ == "__main__":
    main()
