"""The benchmark of what parts are worth: that each part can be taken out, and how the table is made.  No times are compared."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import _forms, _harness, worth
from headrace.passes.pipeline import OPTIONAL

ALL_OUT = """
import numpy as np
from benchmarks import _forms
for form in _forms.forms():
    form.take_out()
import headrace as tf
from headrace.passes.pipeline import OPTIONAL, passes_off
assert passes_off() == OPTIONAL
x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_sum(tf.square(tf.layers.dense(x, 2)))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train], {x: np.ones((2, 3))})[0] for _ in range(40)]
    program = session._master.plan([x], [], [train]).programs[0]
assert losses[-1] < losses[0] and not program.on_arrays
print("learns")
"""


def test_every_part_has_lines() -> None:
    lines = {form.name: form.lines() for form in _forms.forms()}
    assert set(lines) > OPTIONAL
    assert all(count > 0 for count in lines.values()), lines


def test_every_part_can_be_taken_out() -> None:
    done = subprocess.run([sys.executable, "-c", ALL_OUT], capture_output=True, text=True, cwd=_harness.ROOT)
    assert done.returncode == 0 and done.stdout.strip() == "learns", done.stderr[-3000:]


def test_the_table() -> None:
    seconds = {_forms.NOTHING: [9.0, 2.0, 3.0], "cse": [2.2, 2.1, 9.0], "arrays": [3.0, 3.0, 3.0]}
    result = {
        "lines": {"cse": 10, "arrays": 20, "sink": 30},
        "programs": {"mlp": {"seconds": seconds, "same": ["sink"]}},
    }
    assert worth.rows(result) == [
        ["cse", "10", "1.05", "1.05", "1.05", ""],
        ["arrays", "20", "1.50", "1.50", "1.50", ""],
        ["sink", "30", "=", "1.00", "1.00", "does not pay"],
    ]


def test_a_part_that_has_paid_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def measure(program: str, forms: list[_forms.Form], options: object) -> dict[str, object]:
        asked.append([form.name for form in forms])
        return {"seconds": {_forms.NOTHING: [1.0], **{form.name: [2.0] for form in forms[:1]}}, "same": asked[-1][1:]}

    monkeypatch.setattr(worth, "_measure", measure)
    worth.main(["--decide", "--programs", "mlp", "gan", "--only", "cse", "sink", "--out", str(tmp_path)])
    assert asked == [["cse", "sink"], ["sink"]]
    cells = [row[2:4] for row in worth.rows(json.loads((tmp_path / "worth.json").read_text()))]
    assert cells == [["2.00", "-"], ["=", "2.00"]]


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        worth.main(["--only", "tea"])
    assert "--only names tea; there are accumulate_product" in capsys.readouterr().err


@pytest.mark.usefixtures("full_length")
def test_quick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = ["defer_sums", "array kernels of updates"]
    worth.main(["--quick", "--programs", "policy_gradient", "--only", *parts, "--out", str(tmp_path)])
    found = json.loads((tmp_path / "worth.json").read_text())
    program = found["programs"]["policy_gradient"]
    assert list(found["lines"]) == parts and program["same"] == ["defer_sums"]
    assert set(program["seconds"]) == {_forms.NOTHING, parts[1]} and all(s > 0 for (s,) in program["seconds"].values())
    assert "policy_gradient" in capsys.readouterr().out
