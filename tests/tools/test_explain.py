"""``headrace explain``: a program runs up to the step that is explained."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import tensorflow as tf

print("the program prints", sys.argv[1:])
x = tf.placeholder(tf.float32, [None, 4], name="x")
w = tf.get_variable("w", [4, 2])
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(w)
    for i in range(3):
        sess.run([train, loss], {x: [[1, 2, 3, 4]]})
        print("step", i)
"""

MONITORED = """
import tensorflow as tf

step = tf.train.get_or_create_global_step()
bump = tf.assign_add(step, 1, name="bump")
queue = tf.train.string_input_producer(["a", "b"])
value = queue.dequeue(name="value")
with tf.train.MonitoredTrainingSession(checkpoint_dir="model", save_summaries_steps=1) as sess:
    while not sess.should_stop():
        sess.run([bump, value])
"""


def explain(*arguments: str, text: str, folder: Path, tool: str = "explain") -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    command = {
        "explain": ["-m", "headrace.tools.explain"],
        "cli": ["-c", "from headrace.tools.cli import main; main()", "explain"],
    }[tool]
    return subprocess.run(
        [sys.executable, *command, *arguments], cwd=folder, capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "HEADRACE_COMPILE": "off"},
    )  # fmt: skip


def test_the_step_of_the_loop(tmp_path: Path) -> None:
    done = explain("program.py", "--batch", "3", text=PROGRAM, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    first, *lines, hint = done.stdout.splitlines()
    assert first.startswith("Request 3: loss:0, GradientDescent (run at ")
    assert first.endswith("program.py:14)")
    assert [line.split()[0] for line in lines] == ["devices", "nodes", "partitions", "waits", "compiled"]
    assert lines[-1].startswith("  compiled    no: compiling is off")
    assert hint.startswith("--nodes shows")
    assert "the program prints ['--batch', '3']" in done.stderr
    assert "step 0" not in done.stderr  # it never trained


def test_by_number_and_as_json(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    done = explain("--step", "1", "--json", "program.py", text=PROGRAM, folder=tmp_path, tool="cli")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert "w/Assign" in {n["name"] for n in read["nodes"]}
    assert read["passes"] == []


def test_by_fetch_with_passes(tmp_path: Path) -> None:
    done = explain("--fetch", "loss", "--passes=fold,place", "program.py", text=PROGRAM, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Request 3: " in done.stdout
    assert "Passes: " in done.stdout
    assert "place: the step" in done.stdout


def test_a_program_that_ends_before(tmp_path: Path) -> None:
    done = explain("--step", "9", "program.py", text=PROGRAM, folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "there was no request 9\n  1: init (run at " in done.stderr
    assert "  3: loss:0, GradientDescent (run at " in done.stderr


def test_a_monitored_session(tmp_path: Path) -> None:
    done = explain("--nodes", "program.py", text=MONITORED, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bump" in done.stdout.splitlines()[0]
    assert "value (QueueDequeueV2, made at " in done.stdout
    assert "Strands\n" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"], "nothing was written"


def test_an_error_is_that_of_a_plain_run(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    done = explain("program.py", text="import tensorflow as tf\ntf.matmul(1.0, 2.0)\n", folder=tmp_path, tool="cli")
    assert done.returncode == 1
    trace = done.stderr.splitlines()
    assert trace[:3] == [
        "Traceback (most recent call last):",
        '  File "program.py", line 2, in <module>',
        "    tf.matmul(1.0, 2.0)",
    ]
    assert "headrace/" not in done.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = explain("nowhere.py", text=PROGRAM, folder=tmp_path)
    assert done.returncode == 2
    assert "cannot open 'nowhere.py'" in done.stderr
