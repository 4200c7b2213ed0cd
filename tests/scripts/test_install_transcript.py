"""The README's first commands, as a new user types them, in a copy of the checkout.

The packages are those of the tests' environment, lent to the `.venv` of the copy, so nothing is downloaded: pip runs, finds
them, and installs Headrace.  TensorBoard gets a free port.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import headrace as tf
from scripts import prepared, release

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0]
PATIENCE_S = 60.0


def get(address: str, path: str) -> bytes:
    with urllib.request.urlopen(f"{address}{path}", timeout=PATIENCE_S) as answer:
        return answer.read()


def get_until(address: str, path: str, wanted: str) -> Any:
    """What the page says when it has the word: TensorBoard reads the files while it serves."""
    end = time.monotonic() + PATIENCE_S
    while True:
        said = get(address, path).decode()
        if wanted in said or time.monotonic() > end:
            assert wanted in said
            return json.loads(said)
        time.sleep(0.2)


def test_from_a_clone_to_a_model_a_page_and_a_timeline(full_length: None, tmp_path: Path) -> None:
    release.copy(tmp_path / "headrace")
    prepared.make(tmp_path / "headrace" / ".venv")
    lines = COMMANDS.splitlines()
    assert lines[-1].startswith("tensorboard ")
    lines[-1] = f"exec {lines[-1].partition('#')[0]} --port 0 2>&1"
    shell = subprocess.Popen(
        ["bash", "-e", "-c", "\n".join(lines)], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MAKEFLAGS", "VIRTUAL_ENV")},
    )  # fmt: skip
    printed = []
    try:
        for line in shell.stdout:
            printed.append(line)
            if served := re.search(r"TensorBoard \S+ at (http://localhost:\d+)/", line):
                break
        else:
            raise AssertionError("".join(printed))
        text = "".join(printed)
        assert "Installing into .venv: PyTorch, NumPy, TensorBoard and what they need" in text
        assert float(re.search(r"Test accuracy: (\S+)", text)[1]) >= 0.97
        assert re.search(r"Variable|conv1/weights", text)  # headrace inspect
        assert re.search(r"accuracy 0\.\d+", text)  # the example
        assert b"<title>TensorBoard</title>" in get(served[1], "/")
        get_until(served[1], "/data/plugin/scalars/tags", "training/loss")
        get_until(served[1], "/data/plugin/images/tags", "confusion/image")
    finally:
        shell.send_signal(signal.SIGTERM)
        shell.stdout.close()
        shell.wait()
    folder = tmp_path / "headrace" / "headrace-demo"
    assert tf.train.load_variable(str(folder), "global_step") == 1500
    events = json.loads((folder / "timeline-1500.json").read_text())["traceEvents"]
    assert {event["args"]["op"] for event in events if event["ph"] == "X"} >= {"Conv2D", "MaxPool"}
