"""The processes of a small training job, each told what to do by whoever started it.

A parameter server only serves.  The others run a step, or save, when they are asked, and answer with the number of the step
or with ``("error", class, message)``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from functools import partial
from typing import Any

Jobs = dict[str, list[str]]
SETTINGS = {"HEADRACE_LOST_SECONDS": "2", "HEADRACE_COMPILE": "off", "OMP_NUM_THREADS": "1"}


def serve(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A parameter server.  Ends with who has started it."""
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "ps", index)
    pipe.send("ready")
    _until_told(pipe)
    server._stop()


def train(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A worker with a monitored session; the first is the chief, which saves every five steps."""
    _train(pipe, jobs, index, index == 0, folder if index == 0 else None, "")


def train_in_line(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """One of two workers, 2 and 3, that know where to save; the first is the chief.  Their variables are in a container."""
    _train(pipe, jobs, index, index == 2, f"{folder}/line", "line")


def train_by_all_reduce(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """The same, with ``dense="all_reduce"``.  Told to, it dies when another worker asks it for a chunk."""
    from headrace.resources.state.replicas.box import Boxes

    give = Boxes.give
    dying: set[str] = set()

    def give_or_die(boxes: Any, number: int, query: Any, given: Any) -> None:
        if query.what in dying:
            os.kill(os.getpid(), signal.SIGKILL)
        give(boxes, number, query, given)

    Boxes.give = give_or_die  # type: ignore[method-assign]
    deaths = {f"die for {what}": partial(dying.add, what) for what in ("sum", "values")}
    train_as_replicas(pipe, jobs, index, folder, "all_reduce", deaths)


def train_as_replicas(
    pipe: Any, jobs: Jobs, index: int, folder: str, dense: str = "servers", actions: Any = None
) -> None:
    """One of the synchronous workers of `tf.train.replicas`.  All of them know where to save; the first is the chief."""

    def model(tf: Any) -> Any:
        step = tf.train.get_or_create_global_step()
        layers = [tf.get_variable(name, [4], initializer=tf.zeros_initializer()) for name in ("v", "w")]
        loss = tf.add_n([tf.reduce_sum(tf.square(layer - float(index))) for layer in layers])
        sgd = tf.train.GradientDescentOptimizer(0.1)
        optimizer = tf.train.replicas(sgd, "sync", len(jobs["worker"]), dense=dense)
        with tf.control_dependencies([optimizer.minimize(loss, step)]):
            return step.read_value() + 0

    _train(pipe, jobs, index, index == 0, folder, "", model, actions or {})


def train_with_copies(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """One of the workers whose servers copy their variables to each other; each step adds one to a variable on each server."""

    def model(tf: Any) -> Any:
        step = tf.train.get_or_create_global_step()
        variables = [tf.get_variable(name, [], initializer=tf.zeros_initializer()) for name in ("v", "w")]
        with tf.control_dependencies([v.assign_add(1.0, use_locking=True) for v in variables]):
            return step.assign_add(1, use_locking=True)

    _train(pipe, jobs, index, index == 0, folder, "", model, save_checkpoint_steps=10**9, copies_secs=0.05)


def _train(
    pipe: Any, jobs: Jobs, index: int, is_chief: bool, folder: str | None, container: str, model: Any = None,
    actions: Any = None, **options: Any,
) -> None:  # fmt: skip
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    worker = f"/job:worker/task:{index}"
    place = tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(jobs), worker_device=worker)
    with tf.container(container), tf.device(place):
        step = (model or _model)(tf)
    variables = tf.trainable_variables()
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    options = {"save_checkpoint_steps": 5, "save_summaries_steps": None, "log_step_count_steps": None} | options
    session = tf.train.MonitoredTrainingSession(server.target, is_chief, folder, config=config, **options)
    pipe.send("ready")
    with session:
        _answer(pipe, {
            "step": lambda: int(session.run(step)), "values": lambda: [value.tolist() for value in session.run(variables)],
            "copied": lambda: getattr(session._copies.copies._last, "step", 0), **(actions or {}),
        })  # fmt: skip
    server._stop()


def train_together(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """One of two synchronous replicas, the workers 2 and 3; the first is the chief.  Their variables are in a container."""
    _train_together(pipe, jobs, index, "together", f"{folder}/together" if index == 2 else None)


def train_together_in_line(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """The same, but the second replica can take over."""
    _train_together(pipe, jobs, index, "together_in_line", f"{folder}/together_in_line")


def _train_together(pipe: Any, jobs: Jobs, index: int, container: str, folder: str | None) -> None:
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    worker, is_chief = f"/job:worker/task:{index}", index == 2
    place = tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(jobs), worker_device=worker)
    with tf.container(container), tf.device(place):
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_sum(tf.square(tf.get_variable("w", [4], initializer=tf.zeros_initializer()) - 1.0))
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.01), replicas_to_aggregate=2)
        train_op = optimizer.minimize(loss, step)
    session = tf.train.MonitoredTrainingSession(
        server.target, is_chief, folder, save_checkpoint_steps=5,
        hooks=[optimizer.make_session_run_hook(is_chief)], config=tf.ConfigProto(device_filters=["/job:ps", worker]),
        save_summaries_steps=None, log_step_count_steps=None,
    )  # fmt: skip
    pipe.send("ready")
    with session:
        _answer(pipe, {"step": lambda: int(session.run(train_op))})
    server._stop()


def count(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A chief with a monitored session, each step of which adds 1 to a counter on the parameter server and tells its value."""
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    with tf.device("/job:ps"):
        counter = tf.get_variable("counter", [], tf.int64, initializer=tf.zeros_initializer())
        step = counter.assign_add(1, use_locking=True)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    session = tf.train.MonitoredTrainingSession(server.target, config=config, log_step_count_steps=None)

    def steps() -> list[int]:
        """Steps until something is asked, and their values."""
        values = []
        while not pipe.poll():
            values.append(int(session.run(step)))
        pipe.recv()
        return values

    pipe.send("ready")
    with session:
        _answer(
            pipe,
            {"step": lambda: int(session.run(step)), "steps": steps, "read": lambda: int(session.run(counter))},
        )
    server._stop()


def count_on_all(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A worker whose steps add 1 to a counter on each parameter server, until something is asked; it tells how many they were."""
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    counters = []
    for task in range(len(jobs["ps"])):
        with tf.device(f"/job:ps/task:{task}"):
            counters.append(tf.get_variable(f"counter{task}", [], tf.int64, initializer=tf.zeros_initializer()))
    step = tf.group(*(counter.assign_add(1, use_locking=True) for counter in counters))
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    session = tf.train.MonitoredTrainingSession(server.target, index == 0, config=config, log_step_count_steps=None)

    def steps() -> int:
        count = 0
        while not pipe.poll():
            session.run(step)
            count += 1
        pipe.recv()
        return count

    def read() -> list[int]:
        return [int(value) for value in session.run(counters)]

    pipe.send("ready")
    with session:
        _answer(pipe, {"steps": steps, "read": read})
    server._stop()


def ask(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A client that is no task: a plain session on the cluster of a worker, which can also wait at a queue."""
    import headrace as tf

    os.environ.update(SETTINGS)
    with tf.device("/job:ps"):
        step = _model(tf)
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], shared_name="nothing")
        element = queue.dequeue()
    saver = tf.train.Saver()
    config = tf.ConfigProto(device_filters=["/job:ps"])
    session = tf.Session(f"grpc://{jobs['worker'][index]}", config=config)
    missing = tf.report_uninitialized_variables()
    if len(session.run(missing)):
        session.run(tf.global_variables_initializer())
    pipe.send("ready")
    _answer(pipe, {
        "step": lambda: int(session.run(step)), "wait": lambda: session.run(element),
        "save": lambda: saver.save(session, f"{folder}/of_client"),
    })  # fmt: skip
    session.close()


def pair_of_client(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """As `pair`, of a client that is no task."""
    _pair(pipe, f"grpc://{jobs['ps'][0]}", ["/job:ps"], folder)


def pair(pipe: Any, jobs: Jobs, index: int, folder: str) -> None:
    """A worker whose steps add 1 to a variable on each of two servers; it can hold up all steps, and save."""
    import headrace as tf

    os.environ.update(SETTINGS)
    server = tf.train.Server(tf.train.ClusterSpec(jobs), "worker", index)
    _pair(pipe, server.target, ["/job:ps", f"/job:worker/task:{index}"], folder)
    server._stop()


def _pair(pipe: Any, target: str, filters: list[str], folder: str) -> None:
    import headrace as tf
    from headrace.client.cut import cut

    os.environ.update(SETTINGS)
    made = []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            made.append(tf.get_variable("ab"[task], [], tf.int32, initializer=tf.zeros_initializer()))
    adds = [variable.assign_add(1, use_locking=True).op for variable in made]
    saver = tf.train.Saver(sharded=True, consistent=True, asynchronous=True, consistent_wait_secs=60)
    config = tf.ConfigProto(device_filters=filters)
    sessions: list[Any] = []
    cuts: list[Any] = []

    def session() -> Any:
        if not sessions:
            sessions.append(tf.Session(target, config=config))
        return sessions[0]

    def hold() -> str:
        cuts.append(cut(session(), [f"/job:ps/replica:0/task:{task}" for task in range(2)]))
        cuts[-1].__enter__()
        return "held"

    def save() -> list[int]:
        path = saver.save(session(), f"{folder}/pair", write_meta_graph=False)
        saver.wait()
        return [int(tf.train.load_variable(path, name)) for name in "ab"]

    pipe.send("ready")
    _answer(pipe, {
        "begin": lambda: session().run(tf.global_variables_initializer()), "hold": hold, "save": save,
        "step": lambda: session().run(adds) and "done", "first": lambda: session().run(adds[0]),
        "release": lambda: cuts.pop().__exit__(None, None, None), "again": lambda: sessions.pop().close(),
        "read": lambda: [int(value) for value in session().run(made)],
        "leave": lambda: saver.save(session(), f"{folder}/left", write_meta_graph=False) and "leaves",
    })  # fmt: skip


def _model(tf: Any) -> Any:
    """An op that trains a step and gives its number."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [4], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.square(w - 1.0))
    train_op = tf.train.GradientDescentOptimizer(0.01, use_locking=True).minimize(loss, step)
    with tf.control_dependencies([train_op]):
        return step.read_value() + 0


def _answer(pipe: Any, actions: dict[str, Any]) -> None:
    """Does what it is asked for, until it is told to end or an action fails."""
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        if asked == "end":
            return
        try:
            pipe.send(actions[asked]())
        except Exception as error:  # noqa: BLE001 - the test looks at it
            pipe.send(("error", type(error).__name__, str(error)))


def _until_told(pipe: Any) -> None:
    told = threading.Event()
    while not told.is_set():
        try:
            if pipe.recv() == "end":
                told.set()
        except EOFError:
            told.set()


class _Lines:
    """The pipe of a role that was started by a command: lines of JSON out, words in."""

    def send(self, answer: Any) -> None:
        print(json.dumps(answer), flush=True)

    def recv(self) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.strip()


if __name__ == "__main__":
    name, jobs, index, folder = sys.argv[1:]
    globals()[name](_Lines(), json.loads(jobs), int(index), folder)
