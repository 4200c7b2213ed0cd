"""Compiling in the background: through the other process, without it when it fails, and no trace of it afterwards."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY
from headrace.passes.region import find_regions
from headrace.runtime.compiler import archive, background
from headrace.runtime.compiler import process as compile_process
from headrace.runtime.compiler import server as compile_server
from headrace.runtime.compiler.process import CompileProcess, Died
from headrace.runtime.compiler.region_json import decode, encode
from headrace.runtime.compiler.torch_door.generated_module import put
from headrace.runtime.compiler.torch_door.launching import NeedsCompiler
from headrace.runtime.compiler.tried import NotTried
from headrace.runtime.planning import tier

pytestmark = pytest.mark.usefixtures("accelerator")

STARTED = """
import atexit, sys, time
atexit.register(lambda: print(time.monotonic() - begin))  # after the queue's own
from headrace.runtime.compiler.background import queue

queue.submit(lambda: queue.process.ask({}))
while queue.process._process is None:
    pass
print(queue.process._process.pid, flush=True)
begin = time.monotonic()
"""


@pytest.fixture(autouse=True)
def archive_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "folder", lambda: tmp_path / "headrace")


def pid_of(program):
    """The compiling process that a program has started."""
    line = program.stdout.readline()
    assert line, program.stderr.read()
    return int(line)


def wait_for_the_end(pid, seconds=30.0):
    """Waits until no such process runs; a process that ended and that nobody has waited for has no command line."""
    end = time.monotonic() + seconds
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < end, f"process {pid} still runs"
        time.sleep(0.02)


def test_a_program_ends_at_once_while_something_is_compiled():
    """The compiling process takes seconds to start; nobody waits for it, and nobody is left behind."""
    program = subprocess.Popen(
        [sys.executable, "-c", STARTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pid = pid_of(program)
    seconds, complaints = program.communicate(timeout=60)
    assert (program.returncode, complaints) == (0, "")
    assert float(seconds) < 1.5
    wait_for_the_end(pid, 1.0)


def test_the_compiling_process_ends_with_a_program_that_is_killed():
    program = subprocess.Popen(
        [sys.executable, "-c", STARTED + "queue.wait()\nprint('answered', flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pid = pid_of(program)
    assert program.stdout.readline() == "answered\n"
    os.kill(program.pid, signal.SIGKILL)
    program.communicate()
    wait_for_the_end(pid)


INTERRUPTED = """
try:
    print("steps", flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print(queue.process.running, time.monotonic(), flush=True)
"""


def test_an_interrupt_from_the_keyboard_reaches_the_program_while_something_is_compiled():
    """It goes to all processes of the terminal's group: the program ends as it likes, the compiling process with it."""
    program = subprocess.Popen(
        [sys.executable, "-c", STARTED.replace("atexit.register", "(lambda f: None)") + INTERRUPTED],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    pid = pid_of(program)
    assert program.stdout.readline() == "steps\n"
    sent = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)
    words, complaints = program.communicate(timeout=60)
    ended = time.monotonic()
    assert (program.returncode, complaints) == (0, "")
    was_running, caught = words.split()
    assert was_running == "True" and float(caught) - sent < 2.0 and ended - float(caught) < 2.0
    wait_for_the_end(pid, 10.0)


@pytest.mark.parametrize("killed", [False, True])
def test_compilers_that_work_side_by_side_end_with_the_process(killed):
    """Those of a process that was killed hold none of its pipes: its end is noticed at once, and they are ended then."""
    process = CompileProcess()
    process.compilers = 2
    process.ask({})
    group = process._process.pid
    members = [line.split()[0] for line in _processes() if line.split()[1] == str(group)]
    assert len(members) == 3  # the process, and its copies
    if killed:
        os.kill(group, signal.SIGKILL)
        with pytest.raises(Died, match="ended with code -9"):
            process.ask({})
    process.close()
    for pid in members:
        wait_for_the_end(pid, 5.0)


def _processes():
    return subprocess.run(["ps", "-eo", "pid,pgid"], capture_output=True, text=True).stdout.splitlines()[1:]


def test_a_copy_of_the_program_leaves_the_compiling_process_alone():
    process = background.queue.process
    copy = os.fork()
    if copy == 0:
        os._exit(0 if background.queue.process is not process and not background.queue.process.running else 1)
    assert os.waitpid(copy, 0)[1] == 0
    assert background.queue.process is process


def run_hot(monkeypatch, make=lambda x: tf.reduce_sum(tf.exp(x) * tf.tanh(x) + 1.0), runs=40):
    """The plan's tier and the results of a step that is compiled as soon as it may be."""
    x = tf.placeholder(tf.float32, [4])
    y = make(x)
    with tf.Session() as session:
        results = []
        for i in range(runs):
            if i == tier.RUNS + 2:
                background.queue.wait(200)
            results.append(session.run(y, {x: np.ones(4)}))
        return session._master.plan((x,), (y,), ()).variants, results


def test_two_deaths_are_enough_and_say_so_once(monkeypatch, caplog):
    """A compiling process that cannot live leaves the step interpreted, with one line."""
    monkeypatch.setattr(compile_process.sys, "executable", "/bin/false")
    process = CompileProcess()
    for _ in range(2):
        with pytest.raises(Died, match="ended with code 1"):
            process.ask({})
    with pytest.raises(Died, match="ended 2 times; nothing more is compiled in the background"):
        process.ask({})

    monkeypatch.setattr(background.queue, "process", process)
    with caplog.at_level(logging.INFO, "headrace.compile"):
        steps, results = run_hot(monkeypatch)
    assert not steps.compiled
    np.testing.assert_allclose(results, 4 * (np.e * np.tanh(1.0) + 1.0), rtol=1e-6)
    (line,) = caplog.messages
    assert "stays interpreted" in line and "nothing more is compiled in the background" in line


def test_a_compiling_process_that_is_killed_leaves_the_step_interpreted(monkeypatch, caplog):
    process = CompileProcess()
    start = process._start

    def start_and_kill():
        started = start()
        os.kill(started.pid, signal.SIGKILL)
        return started

    monkeypatch.setattr(process, "_start", start_and_kill)
    monkeypatch.setattr(background.queue, "process", process)
    with caplog.at_level(logging.INFO, "headrace.compile"):
        steps, results = run_hot(monkeypatch)
    assert not steps.compiled and not process.running
    np.testing.assert_allclose(results, 4 * (np.e * np.tanh(1.0) + 1.0), rtol=1e-6)
    (line,) = caplog.messages
    assert "stays interpreted" in line and "ended with code -9" in line


def test_what_the_compiler_refuses_stays_interpreted(monkeypatch, caplog):
    monkeypatch.setattr(background.queue.process, "ask", lambda request: {"error": "no such luck"})
    steps, results = run_hot(monkeypatch)
    assert not steps.compiled and len(set(results)) == 1
    (line,) = caplog.messages
    assert line.endswith("CannotCompile: no such luck") and "test_background.py" in line


DOUBLE = """
class Runner:
    def __init__(self, partitions):
        pass

    def call(self, inputs):
        return [inputs[0] * 2.0]
"""
DOUBLED = {"text": DOUBLE, "path": "", "kernels": {}, "cubins": {}, "files": [], "torch": [], "ops": []}


def test_regions_that_compute_the_same_are_compiled_once(monkeypatch):
    """Two bodies whose nodes have other names, say; also in the next program."""
    asked = []

    def ask(request):
        asked.append(request)
        return {"code": DOUBLED}

    monkeypatch.setattr(background.queue.process, "ask", ask)
    for name, factor, requests in [("a", 2.0, 1), ("b", 2.0, 1), ("a", 3.0, 2)]:
        with tf.Graph().as_default(), tf.name_scope(name), tf.Session() as session:
            y = tf.exp(tf.tanh(tf.random_normal([3], name=name))) * factor + 1.0
            graph = session._master.plan((), (y,), ()).graph
            (region,) = find_regions(graph.nodes, graph.fetches)
            call = background.compile_in_background(region, session._master.registered)
            assert call([torch.ones(3)], [])[0].tolist() == [2.0, 2.0, 2.0]
        assert len(asked) == requests


def test_what_the_process_cannot_do_is_compiled_on_the_thread(monkeypatch, caplog):
    """The process answers that the code needs the compiler; the program compiles it itself, and says so."""
    asked = []

    def compile_here(region, binder):
        asked.append([n.type for n in region.nodes])
        raise background.CannotCompile("seen enough")

    monkeypatch.setattr(background.queue.process, "ask", lambda request: {"need": "it calls the compiler's own"})
    monkeypatch.setattr(background, "compile_region", compile_here)
    with caplog.at_level(logging.INFO, "headrace.compile"):
        run_hot(monkeypatch)
    assert asked == [["Exp", "Tanh", "Mul", "AddV2", "Sum"]]
    assert "on a thread of this process: it calls the compiler's own" in caplog.messages[0]
    assert "seen enough" in caplog.messages[1]


class OnGpu:
    """A binder that says that all is on a GPU."""

    def __init__(self, binder):
        self._binder = binder

    def __getattr__(self, name):
        return getattr(self._binder, name)

    def torch_device(self, name):
        return torch.device("cuda", 0)


def test_a_region_on_a_gpu_is_sent_and_what_comes_back_is_loaded(monkeypatch):
    """The request says for which GPU; nothing is compiled in the program, and no compiler is imported there."""
    requests, calls = [], []

    def ask(request):
        requests.append(request)
        return {"code": DOUBLED, "laps": {}}

    class Graphed:
        def __init__(self, compiled, captured, device):
            calls.append((captured, str(device)))
            self.compiled = compiled

        def __call__(self, inputs, refs):
            return self.compiled(*inputs)

    monkeypatch.setattr(background.queue.process, "ask", ask)
    monkeypatch.setattr(background, "compile_region", lambda region, binder: pytest.fail("compiled here"))
    monkeypatch.setattr(background.in_process, "GraphedCall", Graphed)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(name="NVIDIA H200"))
    x = tf.random_normal([3])
    y = tf.exp(tf.tanh(x)) + 1.0
    with tf.Session() as session:
        graph = session._master.plan((), (y,), ()).graph
        (region,) = find_regions(graph.nodes, graph.fetches)
        call = background.compile_in_background(region, OnGpu(session._master.registered))
        assert call([torch.ones(3)], [])[0].tolist() == [2.0, 2.0, 2.0]
    (request,) = requests
    assert (request["device"], request["gpu"]) == ("cuda:0", "NVIDIA H200")
    assert request["precision"] == torch.get_float32_matmul_precision()
    assert calls == [([], "cuda:0")]


def test_a_gpu_that_the_process_cannot_use_is_left_to_the_program(monkeypatch):
    request = {**region_request(), "device": "cuda:0", "gpu": "NVIDIA H200", "precision": "high"}
    answer = compile_server.answer(request)
    assert answer["need"].startswith("the compiling process cannot use cuda:0: ") and not answer["ends"]
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(name="NVIDIA A100"))
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(compile_server.torch, "zeros", lambda *shape, device: None)
    answer = compile_server.answer(request)
    assert answer["need"] == "the compiling process sees NVIDIA A100 as cuda:0, not NVIDIA H200"


def test_a_region_too_large_to_be_tried_is_left_to_the_program_before_it_is_compiled(monkeypatch):
    monkeypatch.setattr(compile_server, "_prepare_gpu", lambda device, request: None)
    monkeypatch.setattr(compile_server, "compile_traced", lambda *arguments: pytest.fail("was compiled"))
    monkeypatch.setattr(compile_server.torch.cuda, "mem_get_info", lambda device: (1600, 10000))
    monkeypatch.setattr(compile_server, "trace_region", lambda *arguments: (None, [torch.ones(40)], []))
    answer = compile_server.answer({**region_request(), "device": "cuda:0"})
    assert answer["need"] == "its inputs take 160 of 1600 bytes that are free on cuda:0, too many for a try"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NeedsCompiler("why"), "error"),  # compiling it in the program would hold up its steps
        (NotTried("why"), "need"),  # only the program has values that it does not refuse
        (torch.OutOfMemoryError("why"), "need"),
    ],
)
def test_refused_code_for_a_gpu_stays_interpreted_unless_only_the_program_can_try_it(monkeypatch, error, kind):
    def compiled(request, laps):
        raise error

    monkeypatch.setattr(compile_server, "_compiled", compiled)
    answer = compile_server.answer({"device": "cuda:0"})
    assert {"need", "error"} & answer.keys() == {kind} and answer[kind].endswith("why")
    if isinstance(error, NeedsCompiler):
        assert "need" in compile_server.answer({"device": "cpu"})


def test_code_for_a_gpu_that_cannot_be_loaded_is_not_compiled_in_the_program(monkeypatch):
    code = {**DOUBLED, "ops": [("nobody", "has_this")]}
    monkeypatch.setattr(background.queue.process, "ask", lambda request: {"code": code})
    monkeypatch.setattr(background, "compile_region", lambda region, binder: pytest.fail("compiled here"))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(name="NVIDIA H200"))
    x = tf.random_normal([3])
    y = tf.exp(tf.tanh(x)) + 1.0
    with tf.Session() as session:
        graph = session._master.plan((), (y,), ()).graph
        (region,) = find_regions(graph.nodes, graph.fetches)
        with pytest.raises(background.CannotCompile, match="cannot be loaded: it calls torch.ops.nobody.has_this"):
            background.compile_in_background(region, OnGpu(session._master.registered))


def test_code_is_tried_in_the_form_in_which_it_is_sent(monkeypatch):
    """The compiler's own code runs first, then what was taken of it is put together and must do the same."""
    region, strides = decode(region_request()["region"])
    binder = compile_server.ServerBinder(1, torch.device("cpu"))
    traced = compile_server.trace_region(region, binder, strides)
    fakes = traced[1]
    artifact = compile_server.compile_traced(traced, region, binder, strides, "it")
    order = []
    code, take, put_together = artifact.code, compile_server.take, compile_server.put
    monkeypatch.setattr(compile_server, "put", lambda parts: order.append("put") or put_together(parts))
    monkeypatch.setattr(compile_server, "take", lambda _: order.append("take") or take(code))
    artifact.code = lambda inputs: order.append("artifact") or code(inputs)
    parts = compile_server._loose(artifact, fakes, binder.device)
    assert order == ["artifact", "take", "put"]
    (total,) = put(parts)([torch.ones(40)])
    torch.testing.assert_close(total, 40 * (torch.e * torch.tanh(torch.tensor(1.0)) + 1.0))

    monkeypatch.setattr(compile_server, "put", lambda parts: lambda inputs: [inputs[0].sum()])
    with pytest.raises(NeedsCompiler, match="by itself it does something else"):
        compile_server._loose(artifact, fakes, binder.device)


def test_a_process_that_lost_its_gpu_ends_and_another_takes_its_place(monkeypatch):
    """A kernel that fails leaves a process without the GPU.  It answers, says that it ends, and no death is counted."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: (_ for _ in ()).throw(RuntimeError("CUDA error")))
    answer = compile_server.answer({**region_request(), "device": "cuda:0", "gpu": "", "precision": "high"})
    assert answer["ends"]

    process = CompileProcess()

    def start():
        process._process = subprocess.Popen(
            [sys.executable, "-c", f"print({json.dumps(answer)!r})"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            process_group=0,
        )  # fmt: skip
        return process._process

    monkeypatch.setattr(process, "_start", start)
    for _ in range(3):
        assert "need" in process.ask({}) and not process.running and process._deaths == 0


ANSWERS = "import sys\nfor i, line in enumerate(sys.stdin): print(f'{{\"number\": {i}}}', flush=True)"


def test_nobody_waits_while_the_process_prepares(monkeypatch):
    """Its answer is passed over later; if it dies meanwhile, another process takes its place before something is asked."""
    process = CompileProcess()
    programs = [ANSWERS, "import sys; sys.stdin.readline()", ANSWERS]

    def start():
        process._process = subprocess.Popen(
            [sys.executable, "-c", programs.pop(0)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )  # fmt: skip
        return process._process

    monkeypatch.setattr(process, "_start", start)
    process.prepare()
    assert process.running
    assert process.ask({})["number"] == 1
    assert process.ask({})["number"] == 2
    process.close()

    process.prepare()
    process._process.wait()
    assert not process.running
    assert process.ask({})["number"] == 0 and process._deaths == 1
    process.close()


def test_what_is_asked_while_the_process_prepares_is_answered():
    """Both requests are there when the process first looks, the second one small, then large."""
    process = CompileProcess()
    process.prepare()
    assert process.ask({"device": "cpu"})["error"] == "KeyError: 'deterministic'"
    assert process.ask({"device": "cpu", "more": "x" * 3_000_000})["error"] == "KeyError: 'deterministic'"
    process.close()


def test_nothing_is_started_once_the_program_ends():
    process = CompileProcess()
    process.stop()
    with pytest.raises(SystemExit):
        process.prepare()
    assert not process.running


def region_request():
    """What would be sent of a small region."""
    x = tf.random_normal([40], seed=1)
    y = tf.reduce_sum(tf.exp(x) * tf.tanh(x) + 1.0)
    with tf.Session() as session:
        graph = session._master.plan((), (y,), ()).graph
        (region,) = find_regions(graph.nodes, graph.fetches)
        return {
            "region": encode(region, session._master.registered, ()), "threads": 1, "device": "cpu",
            "deterministic": False, "title": "it",
        }  # fmt: skip


def test_an_op_of_the_users_own_is_never_sent(request, monkeypatch, caplog):
    monkeypatch.setattr(background.queue.process, "ask", lambda request: pytest.fail("was sent"))
    monkeypatch.setattr(background, "compile_region", lambda region, binder: lambda inputs, refs: [inputs[0].sum()])
    double = extend.op("TestBackgroundDouble(x: float32) -> (y: float32)", view=False)
    request.addfinalizer(lambda: REGISTRY.remove(double.name))
    double.shape(lambda x: x)
    double.kernel(lambda x: x * 2)
    with caplog.at_level(logging.INFO, "headrace.compile"):
        run_hot(monkeypatch, lambda x: tf.reduce_sum(tf.exp(extend.raw_ops.TestBackgroundDouble(x)) + 1.0))
    assert "op TestBackgroundDouble is declared by the program" in caplog.messages[0]


def test_code_from_the_process_computes_and_updates_variables(monkeypatch):
    """A region with a large constant, a variable, a result that is also kept, and results that share memory."""
    monkeypatch.setattr(tier.Tier, "compiled", lambda self, key: None)  # no trial: the compiled plan is used
    results = {}
    for mode in ("auto", "off"):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [2, 3])
            v = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
            y = tf.matmul(tf.tanh(x), v) * tf.constant([0.5, 2.0])
            grown = tf.assign_add(v, tf.matmul(tf.exp(-x), y, transpose_a=True))
            fetches = [y, tf.reshape(y, [4]), grown]
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                outputs = []
                for i in range(tier.RUNS + 40):
                    if i == tier.RUNS + 2:
                        background.queue.wait(200)
                    outputs.append(session.run(fetches, {x: np.full([2, 3], 0.01 * (-1) ** i)}))
                results[mode] = outputs
                if mode == "auto":
                    steps = session._master.plan((x,), tuple(fetches), ()).variants
                    assert [p.regions for p in steps.compiled.values()] == [1]
    for ours, expected in zip(results["auto"], results["off"], strict=True):
        for a, b in zip(ours, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())


SEVERAL = """
import json, os, sys
from headrace.runtime.compiler import archive, server

request = json.load(sys.stdin)
server.import_compiler()
children = []
for i in range(4):
    child = os.fork()
    if not child:
        answer = server.answer(request)
        answer.pop("laps", None)
        archive.keep("it", answer.get("code", answer))
        archive.keep(str(i), {**answer, "files": []})
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("full_length")
def test_processes_that_compile_the_same_together(tmp_path, monkeypatch):
    """They share an empty cache. All get code, the cache holds nothing half-written, and the next program can use it."""
    monkeypatch.undo()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    request = region_request()
    ended = subprocess.run(
        [sys.executable, "-c", SEVERAL], input=json.dumps(request), capture_output=True, text=True, timeout=380
    )
    assert ended.stdout == f"{[0] * 4}\n", ended.stderr[-2000:]
    answers = [archive.find(str(i)) for i in range(4)]
    assert all(a == answers[0] for a in answers) and "code" in answers[0], answers
    leftovers = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix[1:].isdigit()]  # named with a process
    assert not leftovers
    values = torch.linspace(-1.0, 1.0, 40)
    (total,) = put(archive.find("it"))([values])
    torch.testing.assert_close(total, (values.exp() * values.tanh() + 1.0).sum())
