"""Clusters on Ray: the README's program by one command, on this machine and on three nodes; ends of all kinds; from Python.

Ray runs in processes of its own, never in that of the tests: it keeps threads and descriptors.  Most tests share one cluster.
"""

import os
import re
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(600)]

README = (Path(__file__).parents[3] / "README.md").read_text()
PROGRAM, COMMAND = re.findall(r"```python\n(import json.*?)```.*?```sh\n(headrace launch [^\n]*)", README, re.DOTALL)[0]
LAUNCH = (sys.executable, "-c", "from headrace.tools.cli import main; main()", "launch")
ENVIRONMENT = {
    **os.environ, "HEADRACE_COMPILE": "off", "HEADRACE_LEAVE_SECONDS": "0", "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
}  # fmt: skip

NODES = """
    import sys

    from ray.cluster_utils import Cluster

    for attempt in range(3):  # Ray gives a node 30 s to start, which may be too short on a busy machine
        try:
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": True})
            cluster.add_node(num_cpus=1)
            largest = cluster.add_node(num_cpus=2)
            break
        except Exception as e:
            print(e, file=sys.stderr)
    else:
        sys.exit("Ray did not start")
    head = cluster.head_node
    print(cluster.address, head.get_session_dir_path(), head.address_info["webui_url"], flush=True)
    if input():
        cluster.remove_node(largest, allow_graceful=False)
        input()
    cluster.shutdown()
"""

STUBBORN = """
    import json, os, signal, subprocess, sys, time

    task = json.loads(os.environ["TF_CONFIG"])["task"]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print("begun", os.getpid(), child.pid, sys.argv[1:], "in", os.getcwd(), flush=True)
    if "fail" in sys.argv and task == {"type": "worker", "index": 0}:
        while not os.path.exists("all have begun"):
            time.sleep(0.1)
        sys.exit("the worker gives up")
    time.sleep(600)
"""

FROM_PYTHON = """
    import sys

    import headrace as tf

    try:
        tf.cluster.ray(ps=2, workers=4, address=sys.argv[1])
    except ValueError as e:
        print(e)
    with tf.cluster.ray(ps=1, workers=1, address=sys.argv[1]) as c:
        print(c.tasks, c.cluster_spec.jobs)
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(2.0, name="v")
        with tf.device("/job:worker/task:0"):
            y = v * 3.0
        with tf.Session(c.target) as session:
            session.run(v.initializer)
            print("on the worker", session.run(y))
        added = c.add_worker()
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                v = tf.Variable(0.0, name="v")
            with tf.device("/job:worker/task:%d" % added):
                y = v * 5.0
            with tf.device("/job:ps/task:0"):
                z = y + 1.0
            with tf.Session(c.target_of("/job:worker/task:%d" % added)) as session:
                print("on the added worker", session.run([y, z]), [d.name for d in session.list_devices()])
        c.remove_worker(added)
        print(c.tasks, c.cluster_spec.num_tasks("worker"))
        try:
            c.remove_worker(added)
        except ValueError as e:
            print(e)
"""


class Nodes:
    """A Ray cluster of three nodes, with 1, 1 and 2 CPUs, in processes of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(NODES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=ENVIRONMENT,
        )  # fmt: skip
        assert self.process.stdout is not None and self.process.stdin is not None
        self.address, self.folder, self.dashboard = self.process.stdout.readline().split()

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.write("")
        self.process.communicate(timeout=120)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    cluster = Nodes()
    yield cluster
    cluster.close()


def run(
    folder: Path, *arguments: str, environment: Mapping[str, str] = ENVIRONMENT
) -> subprocess.CompletedProcess[str]:
    """``headrace launch``, to its end."""
    return subprocess.run(
        [*LAUNCH, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


class Launched:
    """A job of stubborn programs that has begun.  ``pids``: of the programs, and of processes that they have started."""

    def __init__(self, folder: Path, tasks: int, *arguments: str) -> None:
        (folder / "stubborn.py").write_text(textwrap.dedent(STUBBORN))
        self.process = subprocess.Popen(
            [*LAUNCH, *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.lines = [line for _ in range(tasks) if (line := self.process.stdout.readline())]
        if len(self.lines) < tasks:
            pytest.fail(f"the job did not begin: {self.lines} {self.process.communicate(timeout=120)[1]}")
        self.pids = [int(pid) for line in self.lines for pid in re.findall(r"begun (\d+) (\d+)", line)[0]]

    def end(self) -> tuple[int, str]:
        """Waits for the end, and until nothing is left; returns the exit code and what was written to stderr."""
        errors = self.process.communicate(timeout=120)[1]
        end = time.monotonic() + 60
        while any(map(is_running, self.pids)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not [pid for pid in self.pids if is_running(pid)], "the job leaves processes behind"
        return self.process.returncode, errors


def check_training(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    losses = dict(re.findall(r"\[worker (\d)\] loss (\S+) after \d+ steps", done.stdout))
    assert sorted(losses) == ["0", "1", "2"]
    assert all(float(loss) < 0.01 for loss in losses.values())


def test_the_readme_on_this_machine(tmp_path: Path) -> None:
    """One command starts Ray, a parameter server and three workers, and ends them."""
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run(tmp_path, *COMMAND.split()[2:])
    for _ in range(2):
        if "Ray did not start" in done.stderr:  # it gives itself 30 s, which may be too short on a busy machine
            done = run(tmp_path, *COMMAND.split()[2:])
    check_training(done)


def group_of(leader: int) -> list[str]:
    """The command lines of the processes in a group that have not ended."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(group) == leader and state != "Z":
                commands.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has just ended
            continue
    return commands


def test_control_c_while_ray_starts(tmp_path: Path) -> None:
    """The agents that Ray's node starts would otherwise live for another minute."""
    (tmp_path / "train.py").write_text(PROGRAM)
    launcher = subprocess.Popen(
        [*LAUNCH, "train.py"], cwd=tmp_path, env={k: v for k, v in ENVIRONMENT.items() if k != "RAY_ADDRESS"},
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 120
    while not any(command.startswith("ray::") for command in group_of(launcher.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    launcher.send_signal(signal.SIGINT)
    errors = launcher.communicate(timeout=60)[1]
    assert launcher.returncode == 130, errors
    assert errors.endswith("headrace launch: interrupted; all tasks are stopped\n")
    assert group_of(launcher.pid) == []


def test_the_readme_on_three_nodes(nodes: Nodes, tmp_path: Path) -> None:
    """The same command with an address.  The tasks fill the nodes.  The key is in no log of Ray's and in no output."""
    (tmp_path / "train.py").write_text(PROGRAM)
    key = secrets.token_hex(16)
    done = run(
        tmp_path,
        *COMMAND.split()[2:],
        environment={**ENVIRONMENT, "RAY_ADDRESS": nodes.address, "HEADRACE_CLUSTER_KEY": key},
    )
    check_training(done)
    assert key not in done.stdout + done.stderr
    logs = [path for path in Path(nodes.folder).rglob("*") if path.is_file()]
    assert logs and not [path for path in logs if key.encode() in path.read_bytes()]


def test_a_failure_ends_the_job(nodes: Nodes, tmp_path: Path) -> None:
    """The others are stopped, and the exit code is that of the first that failed.  The program gets the flags it should."""
    job = Launched(
        tmp_path, 2, "--address", nodes.address, "--ps=1", "--restarts=0", "--flags", "stubborn.py", "fail", "--own=3"
    )
    (tmp_path / "all have begun").touch()
    code, errors = job.end()
    assert code == 1
    assert "[worker 0] the worker gives up\n" in errors
    assert "headrace: worker 0 ended with code 1; the job ends\n" in errors
    (worker,) = [line for line in job.lines if line.startswith("[worker 0] ")]
    hosts = r"'--ps_hosts=localhost:\d+', '--worker_hosts=localhost:\d+'"
    assert re.search(rf"\['--job_name=worker', '--task_index=0', {hosts}, 'fail', '--own=3'\]", worker)


KILLED = """
    import json, os, signal, sys

    import headrace as tf

    config = json.loads(os.environ["TF_CONFIG"])
    task = config["task"]
    server = tf.train.Server(config["cluster"], task["type"], task["index"])
    with open(f"{task['type']}.starts", "a") as file:
        file.write(config["cluster"][task["type"]][0] + chr(10))
    starts = len(open(f"{task['type']}.starts").readlines())
    if task["type"] == "ps":
        with open("ps.pid", "w") as file:
            file.write(str(os.getpid()))
        server.join()
    with tf.device("/job:ps/task:0"):
        step = tf.train.create_global_step()
        v = tf.get_variable("v", initializer=0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        train = step.assign_add(1)
    hooks = [tf.train.StopAtStepHook(last_step=6)]
    options = {"save_checkpoint_steps": 2, "save_summaries_steps": None, "log_step_count_steps": None}
    with tf.train.MonitoredTrainingSession(server.target, checkpoint_dir="model", hooks=hooks, **options) as session:
        while not session.should_stop():
            now = session.run(train)
            if now == 3 and starts == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if now == 5 and not os.path.exists("ps killed"):
                open("ps killed", "w").close()
                os.kill(int(open("ps.pid").read()), signal.SIGKILL)
    print("trained", starts, flush=True)
"""
DYING = """
    import os, signal

    print("begun", os.getpid(), os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_tasks_are_started_again_at_their_addresses(nodes: Nodes, tmp_path: Path) -> None:
    """The worker kills itself at step 3, and the parameter server at step 5; the job reaches step 6 from its checkpoints."""
    (tmp_path / "train.py").write_text(textwrap.dedent(KILLED))
    done = run(tmp_path, "--address", nodes.address, "--ps=1", "--workers=1", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[worker 0] trained 2\n" in done.stdout
    assert "headrace: worker 0 was killed by SIGKILL; it is started again (1 of 3)\n" in done.stderr
    assert "headrace: ps 0 was killed by SIGKILL; it is started again (1 of 3)\n" in done.stderr
    for job in ("ps", "worker"):
        first, second = (tmp_path / f"{job}.starts").read_text().split()
        assert first == second  # its address


def test_a_task_that_fails_too_often_ends_the_job(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(textwrap.dedent(DYING))
    done = run(tmp_path, "--address", nodes.address, "--restarts=1", "--restart-window=100", "dying.py")
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert done.stdout.count("begun") == 2
    killed = "headrace: worker 0 was killed by SIGKILL; it "
    assert f"{killed}is started again (1 of 1)\n" in done.stderr
    assert f"{killed}was started again once in 100 s (--restarts), so the job ends\n" in done.stderr


def members(leader: int) -> dict[int, str]:
    """The processes of a session, and their names."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(process.name)) == leader:
                found[int(process.name)] = (process / "comm").read_text().strip()
    return found


def listening(pids: Iterable[int]) -> set[str]:
    """The addresses at which the processes listen, as /proc/net/tcp writes them."""
    sockets = set()
    for pid in pids:
        with suppress(OSError):
            sockets |= {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}


def test_a_ray_of_its_own_listens_to_this_machine_only_and_asks_for_a_token(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(textwrap.dedent(STUBBORN))
    ours = {k: v for k, v in ENVIRONMENT.items() if k not in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    launcher = subprocess.Popen(
        [*LAUNCH, "stubborn.py"], cwd=tmp_path, env={**ours, "HOME": str(tmp_path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert launcher.stdout is not None and "begun" in launcher.stdout.readline()
        processes = members(launcher.pid)
        addresses = listening(processes)
        (node,) = [pid for pid, name in processes.items() if name == "raylet"]
        environment = dict(pair.split("=", 1) for pair in Path(f"/proc/{node}/environ").read_text().split("\0") if pair)
    finally:
        launcher.send_signal(signal.SIGINT)
        errors = launcher.communicate(timeout=60)[1]
    assert launcher.returncode == 130, errors
    assert {"raylet", "gcs_server"} <= set(processes.values())
    assert addresses and addresses <= {"0100007F", "0000000000000000FFFF00000100007F"}, addresses
    assert environment["RAY_AUTH_MODE"] == "token" and len(environment["RAY_AUTH_TOKEN"]) == 64
    assert not (tmp_path / ".ray").exists()  # the token is in no file


def test_control_c_stops_all(nodes: Nodes, tmp_path: Path) -> None:
    """Ray has brought the program's folder to the nodes."""
    job = Launched(tmp_path, 2, "--address", nodes.address, "--ps", "1", "--working-dir", str(tmp_path), "stubborn.py")
    assert all(f" in {tmp_path}\n" not in line for line in job.lines)
    job.process.send_signal(signal.SIGINT)
    code, errors = job.end()
    assert code == 130
    assert errors.endswith("headrace launch: interrupted; all tasks are stopped\n")


def test_a_killed_launcher_leaves_nothing(nodes: Nodes, tmp_path: Path) -> None:
    job = Launched(tmp_path, 1, "--address", nodes.address, "stubborn.py")
    job.process.kill()
    assert job.end()[0] == -9


def test_ray_job_submit(nodes: Nodes, tmp_path: Path) -> None:
    """The launcher runs on the cluster, in the folder that was submitted, and so do its tasks; its exit code comes back."""
    (tmp_path / "where.py").write_text(
        "import os, sys; print(os.environ['TF_CONFIG'], os.getcwd()); sys.exit('no more')"
    )
    submit = (
        str(Path(sys.executable).with_name("ray")),
        "job",
        "submit",
        "--working-dir",
        ".",
        "--",
        *LAUNCH,
        "--restarts=0",
        "where.py",
    )
    done = subprocess.run(
        submit, cwd=tmp_path, env={**ENVIRONMENT, "RAY_API_SERVER_ADDRESS": f"http://{nodes.dashboard}"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert re.search(r"\[worker 0\] .*\"type\": \"worker\".* /\S*working_dir_files\S*\n", done.stdout), (
        done.stdout + done.stderr
    )
    # What a task writes to standard error may overtake what it has written to standard output; its end comes after both.
    # Ray shows the last lines of a failed job a second time.
    before, end, _ = done.stdout.partition("headrace: worker 0 ended with code 1; the job ends\n")
    assert end, done.stdout
    assert before.count("[worker 0] no more\n") == 1, done.stdout
    assert done.returncode == 1


def test_from_python(nodes: Nodes, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(FROM_PYTHON), nodes.address],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    too_small, *lines, removed_before = done.stdout.splitlines()
    assert too_small.startswith("the Ray cluster is too small: 6 CPUs are asked for, and the cluster has 4 (at ")
    assert lines == [
        "['/job:ps/task:0', '/job:worker/task:0'] ['ps', 'worker']",
        "on the worker 6.0",
        "on the added worker [np.float32(10.0), np.float32(11.0)] "
        "['/job:worker/replica:0/task:1/device:CPU:0', '/job:ps/replica:0/task:0/device:CPU:0']",
        "['/job:ps/task:0', '/job:worker/task:0'] 1",
    ]
    assert removed_before.startswith("there is no worker 1; the workers are [0] (at ")


MOVES = """
    import os, signal, sys
    import headrace as tf
    from headrace.cluster.connection import client_endpoint
    from headrace.cluster.request import Status, ask

    def process_at(address):
        return ask(client_endpoint(first).connect(address), Status()).status["process"]

    def count():
        with tf.Graph().as_default(), tf.device("/job:ps/task:1"):
            v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
            with tf.Session(c.target) as session:
                missing = len(session.run(tf.report_uninitialized_variables([v])))
                if missing:
                    session.run(v.initializer)
                return missing, float(session.run(v.assign_add(1)))

    with tf.cluster.ray(ps=2, workers=1, address=sys.argv[1]) as c:
        first = c.target_of("/job:ps/task:0").removeprefix("grpc://")
        print(count())
        new = tf.cluster.move(c.target, "ps:1", first)
        print(count(), process_at(new) == process_at(first))
        os.kill(process_at(first), signal.SIGKILL)
        print(count(), process_at(new) == process_at(first))
"""


def test_a_task_that_has_moved_is_started_again_where_it_is(nodes: Nodes, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MOVES), nodes.address],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("(")]
    assert lines == ["(1, 1.0)", "(0, 2.0) True", "(1, 1.0) True"], done.stdout


def test_a_lost_node_is_named(nodes: Nodes, tmp_path: Path) -> None:
    """Last: the cluster loses the only node that has room for the worker."""
    job = Launched(
        tmp_path, 2, "--address", nodes.address, "--ps", "1", "--workers", "1", "--cpus-per-worker", "2", "stubborn.py"
    )
    nodes.write("remove the largest node")
    code, errors = job.end()
    assert code == 1
    assert "headrace: worker 0 is lost: its actor or its node has gone (" in errors
