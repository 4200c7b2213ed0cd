"""A job that trains and saves all the time is killed with `kill -9` at random moments, and started again each time.

Every start must find a valid checkpoint: `latest_checkpoint` names it, all tensors can be read and have the right checksums,
and it is no older than the last save that had returned.  Every step, before and after a kill, must have the loss and variables
of a job that nobody killed, bit by bit.  Starts save in turn under numbered names, under one name, and in two shards.

The processes are forked from one that has imported Headrace, so that a start takes a fraction of a second.
"""

import argparse
import collections
import hashlib
import multiprocessing
import os
import random
import sys
import tempfile
import time

import numpy as np

from benchmarks import _harness

WAYS = ("numbered", "same name", "two shards")
SIDE = 600  # the model has two matrices of this size, their momentums and a partitioned variable: 6 MB
BATCH = 8
PATIENCE_S = 100.0


# ---- the job, in a process of its own


def train(pipe, folder, way, last_step=None):
    """Goes on from the latest checkpoint and saves after every step, for ever; with `last_step`, does not save and stops there.

    Sends (what, step, digest): what is "restored", "trained" or "saved".
    """
    import headrace as tf

    step_op, loss, batch = _model(tf)
    saver = tf.train.Saver(max_to_keep=2, sharded=way == "two shards")
    variables = tf.global_variables()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        step = _resume(tf, session, saver, folder)
        pipe.send(("restored", step, _digest(session.run(variables))))
        while step != last_step:
            step += 1
            value, _ = session.run([loss, step_op], {batch: _batch(step)})
            pipe.send(("trained", step, _digest([value, *session.run(variables)])))
            if last_step is None:
                saver.save(session, f"{folder}/model", global_step=None if way == "same name" else step)
                pipe.send(("saved", step, ""))


def _model(tf):
    """A small network whose steps depend on the variables and the number of the step only."""
    batch = tf.placeholder(tf.float32, [BATCH, SIDE])
    with tf.device("/cpu:0"):
        hidden = tf.tanh(tf.matmul(batch, tf.get_variable("one", initializer=_matrix(1))))
    with tf.device("/cpu:1"):
        hidden = tf.tanh(tf.matmul(hidden, tf.get_variable("two", initializer=_matrix(2))))
        parts = tf.get_variable(
            "cut/parts", [SIDE, 10], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(3)
        )
    loss = tf.reduce_mean(tf.square(tf.matmul(hidden, parts) - 1.0))
    step = tf.train.get_or_create_global_step()
    return tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=step), loss, batch


def _matrix(seed):
    return (np.random.RandomState(seed).standard_normal([SIDE, SIDE]) / SIDE**0.5).astype(np.float32)


def _batch(step):
    return np.random.RandomState(step).standard_normal([BATCH, SIDE]).astype(np.float32)


def _digest(arrays):
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def _resume(tf, session, saver, folder):
    """Restores the latest checkpoint, if there is one, after reading all of it; returns the number of its step."""
    state = tf.train.get_checkpoint_state(folder)
    if state is None:
        return 0
    latest = tf.train.latest_checkpoint(folder)
    if latest is None:
        raise RuntimeError(f"the checkpoint {state.model_checkpoint_path} is named but not there")
    reader = tf.train.NewCheckpointReader(latest)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(f"{latest}.meta")
    saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
    saver.restore(session, latest)
    return int(session.run(tf.train.get_global_step()))


# ---- the one who kills


class Jobs:
    """Starts, kills and accounts for jobs in one folder."""

    def __init__(self, folder, seed):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["headrace"])
        self._folder, self._random = folder, random.Random(seed)
        self._saved = 0  # the last step whose save returned
        self.digests = {}  # by what and step
        self.left = collections.Counter()  # what kills left behind
        self.resumed = []  # steps that starts went on from
        self._cycle_s = 0.05  # a step and its save take about this long

    def live(self, way):
        """Starts a job, checks where it goes on, and kills it."""
        before = self._leftovers()
        pipe, process = self._start(way)
        try:
            if self._random.random() < 0.05:  # while it restores
                time.sleep(self._random.uniform(0, 0.3))
            else:
                self._check_start(self._received(pipe, process))
                self._watch(pipe, process)
        finally:
            process.kill()
            process.join()
        self._drain(pipe)
        pipe.close()
        for what, paths in self._leftovers().items():
            self.left[what] += bool(paths - before[what])

    def reference(self):
        """Trains to the last step that a job has made, without a kill; returns what it sent."""
        last = max((step for what, step in self.digests if what == "trained"), default=0)
        with tempfile.TemporaryDirectory() as empty:
            pipe, process = self._start("numbered", folder=empty, last_step=last)
            messages = [self._received(pipe, process) for _ in range(last + 1)]
            process.join()
            pipe.close()
        return {step: digest for _, step, digest in messages}

    def _start(self, way, folder=None, last_step=None):
        pipe, end = self._context.Pipe(duplex=False)
        process = self._context.Process(target=train, args=(end, folder or self._folder, way, last_step))
        process.start()
        end.close()
        return pipe, process

    def _received(self, pipe, process):
        if not pipe.poll(PATIENCE_S):
            raise SystemExit(f"the job has not said anything for {PATIENCE_S} s")
        try:
            return pipe.recv()
        except EOFError:
            process.join()
            raise SystemExit(f"the job ended by itself, with status {process.exitcode}") from None

    def _check_start(self, message):
        what, step, digest = message
        assert what == "restored", message
        if not self._saved <= step <= self._saved + 1:
            raise SystemExit(f"the job goes on from step {step}; the last save that returned was of {self._saved}")
        self._keep(what, step, digest)
        self.resumed.append(step)

    def _watch(self, pipe, process):
        """Lets the job save once, to learn how long that takes; then waits for a random moment of the next saves."""
        begin = time.perf_counter()
        while True:
            message = self._received(pipe, process)
            self._take(message)
            if message[0] == "saved":
                break
        self._cycle_s = time.perf_counter() - begin
        time.sleep(self._random.uniform(0, 2 * self._cycle_s))

    def _drain(self, pipe):
        while pipe.poll():
            try:
                self._take(pipe.recv())
            except EOFError:
                return

    def _take(self, message):
        what, step, digest = message
        if what == "saved":
            self._saved = step
        elif what == "trained":
            self._keep(what, step, digest)

    def _keep(self, what, step, digest):
        earlier = self.digests.setdefault((what, step), digest)
        if earlier != digest:
            raise SystemExit(f"step {step} {what}: the variables differ from those of an earlier job")

    def _leftovers(self):
        """The paths, by what they show of the moment of a kill."""
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self._folder) for name in names]
        indexes = {path.removesuffix(".index") for path in paths if path.endswith(".index")}
        data = [path for path in paths if ".data-" in path]
        generations = collections.Counter(path.partition(".data-")[0] for path in data if ".data-00000-" in path)
        return {
            "data without an index": {path for path in data if path.partition(".data-")[0] not in indexes},
            "the data of two checkpoints under one name": {name for name, count in generations.items() if count > 1},
            "an unfinished index, meta graph or checkpoint file": {path for path in paths if ".tempstate" in path},
            "shards that were not merged": {path for path in paths if "_temp/part-" in path and ".index" in path},
        }


def run(kills, seed, folder):
    """Kills that many jobs; returns what was seen."""
    jobs = Jobs(folder, seed)
    begin = time.perf_counter()
    for number in range(kills):
        jobs.live(WAYS[number % len(WAYS)])
        if sys.stdout.isatty():
            print(f"\r{number + 1} kills, step {max(jobs.resumed, default=0)}", end="", flush=True)
    jobs.live("numbered")  # the last kill too must leave a checkpoint
    expected = jobs.reference()
    compared = 0
    for (what, step), digest in jobs.digests.items():
        if what == "trained":
            compared += 1
            if expected[step] != digest:
                raise SystemExit(f"step {step}: loss or variables differ from those of a job that nobody killed")
    files = len(os.listdir(folder))
    return {
        "kills": kills, "seed": seed, "starts": len(jobs.resumed), "last_step": max(expected), "steps_compared": compared,
        "left_behind": dict(jobs.left), "files_at_the_end": files, "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def main(argv=None):
    """Runs the kills and prints what was seen; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the random moments (default: another each time)")
    parser.add_argument("--folder", help="where the checkpoints are (default: a temporary folder)")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    os.environ.update(HEADRACE_COMPILE="off", HEADRACE_DETERMINISTIC="1")  # values are compared bit by bit
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        result = run(options.kills, seed, folder)
    print(
        f"\n{result['kills']} kills: every one of {result['starts']} starts found a valid checkpoint; "
        f"{result['steps_compared']} steps agree bit by bit with a job that nobody killed ({result['seconds']:.0f} s)"
    )
    for what, count in result["left_behind"].items():
        print(f"  {count:4d} kills left {what}")
    if not options.no_save:
        print(f"saved to {_harness.save('kill', result)}")


if __name__ == "__main__":
    main()
