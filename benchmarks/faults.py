"""A job on a cluster is disturbed at random: tasks are killed, stopped for a while, cut off, disconnected, slow or without disk.

Parameter servers and workers train with `tf.train.replicas` in the mode asked for, each a process that is started again when it
was killed, and only then.  The first worker is the chief; the others can take over from it.  Some disturbances come in pairs.
After each all workers must go on, and one of them must save; no step may be lost but those since the last checkpoint, and none
at all unless a parameter server was killed.  In the end the processes must end by themselves.

The processes are forked from one that has imported Headrace, so that a start takes a fraction of a second.
"""

import argparse
import collections
import contextlib
import faulthandler
import json
import multiprocessing
import os
import random
import resource
import signal
import socket
import statistics
import tempfile
import time
import traceback

from benchmarks import _harness
from benchmarks._proxy import Proxy

PATIENCE_S = 120.0  # within which everybody must go on
JOIN_S = 30.0  # without a session, until a parameter server ends
SLOW_S = 0.5  # more for each step of a slow worker
PAIRS = 0.25  # of all disturbances
LASTS = ("stop", "cut off", "slow", "disk full")  # for a while; the others are over at once
EVENTS = {"ps": ("kill", "stop", "disconnect", "cut off", "disk full")}
EVENTS["worker"] = (*EVENTS["ps"], "slow")
MODES = {
    "async": {}, "stale": {"staleness": 2}, "sync": {}, "backup": {"backups": 1}, "quorum": {"quorum": 2, "grace_ms": 20},
    "local": {"steps": 4},
}  # fmt: skip


# ---- the tasks, each in a process of its own


def serve(pipe, jobs, index, settings):
    """A parameter server: ends when nobody has had a session for a while."""
    tf = _ready(settings)
    tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index).join()


def work(pipe, jobs, index, settings):
    """A worker; the first is the chief.  Sends the number of each step it has trained, until it is told to end.

    What it is told else is how many seconds to wait before each step.
    """
    tf = _ready(settings)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    device, workers = f"/job:worker/task:{index}", len(jobs["worker"])
    with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(jobs), worker_device=device)):
        step = tf.train.get_or_create_global_step()
        layers = [tf.get_variable(name, [1000], initializer=tf.zeros_initializer()) for name in ("v", "w")]
        loss = tf.add_n([tf.reduce_sum(tf.square(layer - 1.0)) for layer in layers])
        sgd = tf.train.GradientDescentOptimizer(0.01, use_locking=True)
        mode, dense = settings["mode"], settings["dense"]
        train = tf.train.replicas(sgd, mode, workers, dense=dense, **MODES[mode]).minimize(loss, step)
        with tf.control_dependencies([train]):
            number = step.read_value() + 0
    session = tf.train.MonitoredTrainingSession(
        server.target, index == 0, settings["folder"], save_checkpoint_steps=settings["save_steps"],
        save_summaries_steps=None, log_step_count_steps=None, copies_secs=settings["copies"],
        config=tf.ConfigProto(device_filters=["/job:ps", device]),
    )  # fmt: skip
    pause = 0.01
    try:
        with session:
            while pause is not None:
                if pipe.poll(pause):
                    pause = pipe.recv()
                with contextlib.suppress(tf.errors.ResourceExhaustedError):  # nobody could save
                    pipe.send(int(session.run(number)))
    except BaseException:  # the log may be on the disk that is full
        pipe.send(traceback.format_exc())
        raise


def _ready(settings):
    os.environ.update(
        HEADRACE_LOST_SECONDS=str(settings["lost_seconds"]), HEADRACE_JOIN_SECONDS=str(JOIN_S), HEADRACE_COMPILE="off",
        OMP_NUM_THREADS="1",
    )  # fmt: skip
    faulthandler.register(signal.SIGUSR1)  # to see who waits for what
    import headrace as tf

    tf.logging.set_verbosity(tf.logging.WARN if settings["verbose"] else tf.logging.FATAL)
    return tf


# ---- the one who disturbs


class Task:
    """A process that can be started again."""

    def __init__(self, target, jobs, index, settings):
        self._start = (target, (jobs, index, settings))
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
        self.steps.clear()

    def signal(self, number):
        os.kill(self.process.pid, number)

    def has_room(self, room):
        """Lets it write to files, or no more than a few bytes, as if the disk was full."""
        self.drain()
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (hard if room else 16, hard))

    def drain(self):
        """Takes what it has sent."""
        try:
            while self.pipe.poll():
                self.steps.append(self.pipe.recv())
                if isinstance(self.steps[-1], str):
                    raise SystemExit(f"a task ended by itself:\n{self.steps[-1]}")
        except (EOFError, OSError):
            raise SystemExit(f"a task ended by itself, with status {self.process.exitcode}") from None

    def forget_steps(self):
        self.drain()
        steps, self.steps = self.steps, []
        return steps


class Job:
    """The tasks, and what was seen of them."""

    def __init__(self, servers, workers, seed, settings):
        addresses = _free_addresses(servers + workers)
        self._servers = {f"ps{i}": address for i, address in enumerate(addresses[:servers])}
        self._random, self._settings = random.Random(seed), settings
        self._proxies = {}  # by the names of both ends: each task sees each parameter server through one of its own
        self.tasks, self.workers = {}, {}
        for i, name in enumerate(self._servers):
            self.tasks[name] = Task(serve, self._seen_by(name, addresses[servers:]), i, settings)
        for i in range(workers):
            name = f"worker{i}"
            self.tasks[name] = self.workers[name] = Task(work, self._seen_by(name, addresses[servers:]), i, settings)
        self.recovery_s = collections.defaultdict(
            list
        )  # from the end of it until all workers went on, by what was done
        self.lost_steps = collections.defaultdict(list)
        self.last_step = 0

    def _seen_by(self, name, workers):
        for server, address in self._servers.items():
            if server != name:
                self._proxies[name, server] = Proxy(address)
        servers = [
            self._proxies[name, server].address if server != name else own for server, own in self._servers.items()
        ]
        return {"ps": servers, "worker": workers}

    def start(self):
        for task in self.tasks.values():
            task.start()
        self._wait_for_steps("the start")

    def choose(self):
        """One disturbance or two, of different tasks."""
        names = self._random.sample(sorted(self.tasks), 2 if self._random.random() < PAIRS else 1)
        return [(self._random.choice(EVENTS[name.rstrip("0123456789")]), name) for name in names]

    def disturb(self, events):
        """Does something to tasks, and waits until everybody goes on."""
        event = " and ".join(f"{what} {name}" for what, name in events)
        self._train(self._random.uniform(0.2, 1.0))
        before = max(max(steps) for steps in self._wait_for_steps(f"before {event}"))
        for task in self.workers.values():
            task.forget_steps()
        saved, distance = self._saved()
        for what, name in events:
            self._begin(what, name)
        rolls_back = any(what == "kill" and name in self._servers for what, name in events)
        if rolls_back:  # what the others trained before that is no recovery
            alive = [task for task in self.workers.values() if task.process.is_alive()]
            before = max([before, *(step for task in alive for step in task.forget_steps())])
        longest = 2.0 * self._settings["lost_seconds"] if any(what in LASTS for what, _ in events) else 1.0
        time.sleep(self._random.uniform(0.0, longest))  # some are noticed by others, some are not
        for what, name in events:
            self._end(what, name)
        begin = time.perf_counter()
        after = self._wait_for_steps(event)
        kind = " and ".join(sorted(f"{what} {name.rstrip('0123456789')}" for what, name in events))
        self.recovery_s[kind].append(time.perf_counter() - begin)
        if rolls_back:
            least = min(min(steps) for steps in after)
            if least < saved:
                raise SystemExit(f"{event}: training went on at step {least}; the last checkpoint was of {saved}")
            self.lost_steps[kind].append(max(0, before + 1 - least))
        else:
            least = min(min(steps[1:]) for steps in after)  # the first of each may have been under way before
            if least < before:
                raise SystemExit(f"{event}: training went on at step {least} although step {before} was trained")
        self.last_step = max(steps[-1] for steps in after)
        if self._wait_for_checkpoint(event, least) > distance + 1e-6:
            raise SystemExit(f"{event}: what the variables had learned by step {saved} was lost")
        return event, self.recovery_s[kind][-1]

    def _begin(self, what, name):
        task = self.tasks[name]
        if what == "kill":
            task.kill()
        elif what == "stop":
            task.signal(signal.SIGSTOP)
        elif what == "slow":
            task.pipe.send(SLOW_S)
        elif what == "disk full":
            task.has_room(False)
        for proxy in self._proxies_of(name):
            if what == "disconnect":
                proxy.disconnect()
            elif what == "cut off":
                proxy.cut()

    def _end(self, what, name):
        task = self.tasks[name]
        if what == "kill":
            task.start()
        elif what == "stop":
            task.signal(signal.SIGCONT)
        elif what == "slow":
            task.pipe.send(0.01)
        elif what == "disk full":
            task.has_room(True)
        elif what == "cut off":
            for proxy in self._proxies_of(name):
                proxy.mend()

    def _proxies_of(self, name):
        return [proxy for ends, proxy in self._proxies.items() if name in ends]

    def _train(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            for task in self.workers.values():
                task.drain()
            for name in self._servers:
                if not self.tasks[name].process.is_alive():
                    raise SystemExit(f"{name} ended by itself, with status {self.tasks[name].process.exitcode}")

    def _wait_for_steps(self, event):
        """Waits until all workers have trained two more steps each from now on; returns what each of them has sent."""
        end = time.monotonic() + PATIENCE_S
        for task in self.workers.values():
            task.drain()
        wanted = {name: len(task.steps) + 2 for name, task in self.workers.items()}
        while silent := [name for name, count in wanted.items() if len(self.workers[name].steps) < count]:
            if time.monotonic() > end:
                self._say_who_waits()
                raise SystemExit(f"{event}: {' and '.join(silent)} did not go on within {PATIENCE_S:g} s")
            self._train(0.05)
        return [task.forget_steps() for task in self.workers.values()]

    def _say_who_waits(self):
        for name, task in self.tasks.items():
            print(f"---- {name}", flush=True)
            task.signal(signal.SIGUSR1)
            time.sleep(1.0)  # it writes to the same stream

    def _wait_for_checkpoint(self, event, step):
        """Waits until somebody has saved this step or a later one; returns how far off its variables are."""
        end = time.monotonic() + PATIENCE_S
        while (saved := self._saved())[0] < step:
            if time.monotonic() > end:
                self._say_who_waits()
                raise SystemExit(f"{event}: nobody saved within {PATIENCE_S:g} s")
            self._train(0.05)
        return saved[1]

    def _saved(self):
        """The step of the newest checkpoint, all of which can be read, and how far its variables are from 1, which they learn."""
        import headrace as tf

        reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(self._settings["folder"]))
        distance = max(float(abs(reader.get_tensor(name) - 1.0).max()) for name in ("v", "w"))
        return int(reader.get_tensor("global_step")), distance

    def end(self):
        """Tells the workers to end; returns the seconds until all processes have."""
        begin = time.perf_counter()
        for task in self.workers.values():
            task.pipe.send(None)
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


def run(events, seed, servers, workers, settings):
    """Disturbs a job that many times; returns what was seen."""
    needed = ["service", "connection", "transport.endpoint"]
    preload = ["headrace", "headrace.train", *(f"headrace.cluster.{name}" for name in needed)]
    multiprocessing.get_context("forkserver").set_forkserver_preload(preload)
    begin = time.perf_counter()
    job = Job(servers, workers, seed, settings)
    try:
        job.start()
        for number in range(events):
            event, seconds = job.disturb(job.choose())
            print(f"{number + 1:3d} {event:40s} {seconds:6.1f} s, step {job.last_step}", flush=True)
        ended_s = job.end()
    finally:
        job.close()
    return {
        "events": events, "servers": servers, "workers": workers, "lost_seconds": settings["lost_seconds"],
        "save_steps": settings["save_steps"], "copies": settings["copies"], "last_step": job.last_step,
        "recovery_s": {event: _summary(times) for event, times in sorted(job.recovery_s.items())},
        "lost_steps": {event: _summary(counts) for event, counts in sorted(job.lost_steps.items())},
        "seconds_until_all_processes_ended": ended_s, "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def _summary(values):
    return {"times": len(values), "median": statistics.median(values), "most": max(values), "all": values}


def _save(mode, seed, result):
    """Beside what was seen in other modes and with other seeds."""
    path = _harness.RESULTS / "faults.json"
    modes = json.loads(path.read_text()).get("modes", {}) if path.exists() else {}
    modes.setdefault(mode, {})[str(seed)] = {"commit": _harness.machine()["commit"], **result}
    return _harness.save("faults", {"modes": modes})


def main(argv=None):
    """Runs the disturbances and prints what was seen; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=50, help="how many (default: %(default)s)")
    parser.add_argument("--mode", choices=MODES, default="async", help="of tf.train.replicas (default: %(default)s)")
    parser.add_argument(
        "--dense",
        choices=("servers", "all_reduce"),
        default="servers",
        help="of tf.train.replicas (default: %(default)s)",
    )
    parser.add_argument("--servers", type=int, default=2, help="parameter servers (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=None, help="of the random events (default: another each time)")
    parser.add_argument("--save-steps", type=int, default=20, help="between checkpoints (default: %(default)s)")
    parser.add_argument("--copies", type=float, help="seconds between copies in memory (default: none)")
    parser.add_argument("--lost-seconds", type=float, default=5.0, help="of silence until a task is lost")
    parser.add_argument("--verbose", action="store_true", help="let the tasks say what they warn of")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    parser.add_argument("--json", help="a file for the result of this run alone: several runs may go on at once")
    options = parser.parse_args(argv)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"mode {options.mode}, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "mode": options.mode, "dense": options.dense, "folder": folder, "lost_seconds": options.lost_seconds,
            "verbose": options.verbose, "save_steps": options.save_steps, "copies": options.copies,
        }  # fmt: skip
        result = run(options.events, seed, options.servers, options.workers, settings)
    print(
        f"{result['events']} events: all workers went on each time, {result['last_step']} steps in the end; all processes "
        f"ended by themselves ({result['seconds']:.0f} s)"
    )
    for event, steps in result["lost_steps"].items():
        since = "since the last checkpoint" if options.copies is None else "since the last copy, or checkpoint"
        print(f"  {event}: {steps['median']:g} steps lost, {steps['most']} at most, all {since}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"mode": options.mode, "dense": options.dense, "seed": seed, **_harness.machine(), **result}, file
            )
    elif not options.no_save:
        name = options.mode if options.dense == "servers" else f"{options.mode} {options.dense}"
        copied = "" if options.copies is None else f" copies {options.copies:g}"
        print(f"saved to {_save(name + copied, seed, result)}")


if __name__ == "__main__":
    main()
