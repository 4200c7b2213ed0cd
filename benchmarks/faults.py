"""A job on a cluster is disturbed at random: tasks are killed, stopped for a while, cut off and disconnected.

One parameter server, a chief that saves checkpoints, and a worker that can take over from it train asynchronously, each a
process that is started again when it was killed.  After each disturbance both workers must go on, and one of them must save; no
step may be lost but those since the last checkpoint, and none at all unless the parameter server was killed.  In the end the
processes must end by themselves.

The processes are forked from one that has imported Headrace, so that a start takes a fraction of a second.
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import random
import signal
import socket
import statistics
import tempfile
import time

from benchmarks import _harness
from benchmarks._proxy import Proxy

PATIENCE_S = 120.0  # within which everybody must go on
JOIN_S = 30.0  # without a session, until the parameter server ends
EVENTS = (
    "kill ps", "kill chief", "kill worker", "stop ps", "stop chief", "stop worker",
    "disconnect chief", "disconnect worker", "cut off chief", "cut off worker",
)  # fmt: skip
ROLLS_BACK = ("kill ps",)


# ---- the tasks, each in a process of its own


def serve(pipe, jobs, index, folder, lost_seconds):
    """The parameter server: ends when nobody has had a session for a while."""
    tf = _ready(lost_seconds)
    tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index).join()


def work(pipe, jobs, index, folder, lost_seconds):
    """A worker; the first is the chief.  Sends the number of each step it has trained, until it is told to end."""
    tf = _ready(lost_seconds)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    device = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(jobs), worker_device=device)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [1000], initializer=tf.zeros_initializer())
        loss = tf.reduce_sum(tf.square(w - 1.0))
        train = tf.train.GradientDescentOptimizer(0.01, use_locking=True).minimize(loss, step)
        with tf.control_dependencies([train]):
            number = step.read_value() + 0
    session = tf.train.MonitoredTrainingSession(
        server.target, index == 0, folder, save_checkpoint_steps=20, save_summaries_steps=None,
        log_step_count_steps=None, config=tf.ConfigProto(device_filters=["/job:ps", device]),
    )  # fmt: skip
    with session:
        while not pipe.poll(0.01):
            pipe.send(int(session.run(number)))


def _ready(lost_seconds):
    os.environ.update(
        HEADRACE_LOST_SECONDS=str(lost_seconds), HEADRACE_JOIN_SECONDS=str(JOIN_S), HEADRACE_COMPILE="off"
    )
    import headrace as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


# ---- the one who disturbs


class Task:
    """A process that can be started again."""

    def __init__(self, target, jobs, index, folder, lost_seconds):
        self._start = (target, (jobs, index, folder, lost_seconds))
        self._context = multiprocessing.get_context("forkserver")
        self.process = self.pipe = None
        self.steps = []  # numbers that it has sent since somebody last looked

    def start(self):
        target, arguments = self._start
        self.pipe, end = self._context.Pipe()
        self.process = self._context.Process(target=target, args=(end, *arguments), daemon=True)
        self.process.start()
        end.close()

    def kill(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def drain(self):
        """Takes what it has sent."""
        try:
            while self.pipe.poll():
                self.steps.append(self.pipe.recv())
        except (EOFError, OSError):
            raise SystemExit(f"a task ended by itself, with status {self.process.exitcode}") from None

    def forget_steps(self):
        self.drain()
        steps, self.steps = self.steps, []
        return steps


class Job:
    """The tasks, and what was seen of them."""

    def __init__(self, folder, seed, lost_seconds):
        ps, *workers = _free_addresses(3)
        self._folder, self._random, self._lost_seconds = folder, random.Random(seed), lost_seconds
        self._proxies = {name: Proxy(ps) for name in ("chief", "worker")}
        seen = {name: {"ps": [proxy.address], "worker": workers} for name, proxy in self._proxies.items()}
        self.tasks = {
            "ps": Task(serve, {"ps": [ps], "worker": workers}, 0, folder, lost_seconds),
            "chief": Task(work, seen["chief"], 0, folder, lost_seconds),
            "worker": Task(work, seen["worker"], 1, folder, lost_seconds),
        }
        self.recovery_s = collections.defaultdict(
            list
        )  # from the end of it until both workers went on, by what was done
        self.lost_steps = collections.defaultdict(list)
        self.last_step = 0

    def start(self):
        for task in self.tasks.values():
            task.start()
        self._wait_for_steps("the start")

    def disturb(self, event):
        """Does something to a task, and waits until everybody goes on."""
        self._train(self._random.uniform(0.2, 1.0))
        before = max(max(steps) for steps in self._wait_for_steps(f"before {event}"))
        saved = self._saved_step()
        self._do(event)
        begin = time.perf_counter()
        after = self._wait_for_steps(event)
        self.recovery_s[event].append(time.perf_counter() - begin)
        if event in ROLLS_BACK:
            least = min(min(steps) for steps in after)
            if least <= saved:
                raise SystemExit(f"{event}: training went on at step {least}; the last checkpoint was of {saved}")
            self.lost_steps[event].append(max(0, before + 1 - least))
        else:
            least = min(min(steps[1:]) for steps in after)  # the first of each may have been under way before
            if least <= before:
                raise SystemExit(f"{event}: training went on at step {least} although step {before} was trained")
        self.last_step = max(steps[-1] for steps in after)
        self._wait_for_checkpoint(event, least)

    def _do(self, event):
        what, _, name = event.rpartition(" ")
        task = self.tasks[name]
        pause = self._random.uniform(0.1, 2.0) * self._lost_seconds  # some are noticed by others, some are not
        if what == "kill":
            task.kill()
            task.steps.clear()
            if name == "ps":  # what the others trained before that is no recovery
                for other in ("chief", "worker"):
                    self.tasks[other].forget_steps()
            time.sleep(self._random.uniform(0.0, 1.0))
            task.start()
        elif what == "stop":
            task.signal(signal.SIGSTOP)
            time.sleep(pause)
            task.signal(signal.SIGCONT)
        elif what == "disconnect":
            self._proxies[name].disconnect()
        else:
            self._proxies[name].cut()
            time.sleep(pause)
            self._proxies[name].mend()

    def _train(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            for name in ("chief", "worker"):
                self.tasks[name].drain()

    def _wait_for_steps(self, event):
        """Waits until both workers have trained two more steps each from now on; returns what each of them has sent."""
        end = time.monotonic() + PATIENCE_S
        counts = {name: len(self.tasks[name].steps) for name in ("chief", "worker")}
        while any(len(self.tasks[name].steps) < count + 2 for name, count in counts.items()):
            if time.monotonic() > end:
                silent = [name for name, count in counts.items() if len(self.tasks[name].steps) < count + 2]
                raise SystemExit(f"{event}: {' and '.join(silent)} did not go on within {PATIENCE_S:g} s")
            self._train(0.05)
        return [self.tasks[name].forget_steps() for name in counts]

    def _wait_for_checkpoint(self, event, step):
        """Waits until somebody has saved this step or a later one."""
        end = time.monotonic() + PATIENCE_S
        while self._saved_step() < step:
            if time.monotonic() > end:
                raise SystemExit(f"{event}: nobody saved within {PATIENCE_S:g} s")
            self._train(0.05)

    def _saved_step(self):
        """The step of the newest checkpoint, all of which can be read."""
        import headrace as tf

        reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(self._folder))
        reader.get_tensor("w")
        return int(reader.get_tensor("global_step"))

    def end(self):
        """Tells the workers to end; returns the seconds until all processes have."""
        begin = time.perf_counter()
        for name in ("chief", "worker"):
            self.tasks[name].pipe.send("end")
        statuses = {}
        for name, task in reversed(self.tasks.items()):
            deadline = time.monotonic() + PATIENCE_S
            while task.process.is_alive() and time.monotonic() < deadline:
                with contextlib.suppress(EOFError, OSError):  # it may be sending, or have closed the pipe
                    while task.pipe.poll():
                        task.pipe.recv()
                task.process.join(0.1)
            statuses[name] = task.process.exitcode
        if any(status != 0 for status in statuses.values()):
            raise SystemExit(f"the tasks did not end by themselves; their statuses are {statuses}")
        return time.perf_counter() - begin

    def close(self):
        for task in self.tasks.values():
            if task.process is not None:
                task.process.kill()
                task.process.join()
        for proxy in self._proxies.values():
            proxy.close()


def _free_addresses(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def run(events, seed, folder, lost_seconds):
    """Disturbs a job that many times; returns what was seen."""
    needed = ["service", "connection", "transport.endpoint"]
    preload = ["headrace", "headrace.train", *(f"headrace.cluster.{name}" for name in needed)]
    multiprocessing.get_context("forkserver").set_forkserver_preload(preload)
    choice = random.Random(seed)
    begin = time.perf_counter()
    job = Job(folder, seed, lost_seconds)
    try:
        job.start()
        for number in range(events):
            event = choice.choice(EVENTS)
            job.disturb(event)
            print(f"{number + 1:3d} {event:20s} {job.recovery_s[event][-1]:6.1f} s, step {job.last_step}", flush=True)
        ended_s = job.end()
    finally:
        job.close()
    return {
        "events": events, "seed": seed, "lost_seconds": lost_seconds, "last_step": job.last_step,
        "recovery_s": {event: _summary(times) for event, times in sorted(job.recovery_s.items())},
        "lost_steps": {event: _summary(counts) for event, counts in sorted(job.lost_steps.items())},
        "seconds_until_all_processes_ended": ended_s, "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def _summary(values):
    return {"times": len(values), "median": statistics.median(values), "most": max(values), "all": values}


def main(argv=None):
    """Runs the disturbances and prints what was seen; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=50, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the random events (default: another each time)")
    parser.add_argument("--lost-seconds", type=float, default=5.0, help="of silence until a task is lost")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result = run(options.events, seed, folder, options.lost_seconds)
    print(
        f"{result['events']} events: both workers went on each time, {result['last_step']} steps in the end; all processes "
        f"ended by themselves ({result['seconds']:.0f} s)"
    )
    for event, steps in result["lost_steps"].items():
        print(f"  {event}: {steps['median']:g} steps lost, {steps['most']} at most, all since the last checkpoint")
    if not options.no_save:
        print(f"saved to {_harness.save('faults', result)}")


if __name__ == "__main__":
    main()
