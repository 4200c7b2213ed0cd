"""`headrace port`: which TensorFlow names a program uses, on which lines, and which are missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.tools import cli, port

PROGRAM = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow.python.framework import ops
from tensorflow.python.ops import math_ops as m
from tensorflow import nn
n = tf.nn
x = tf.placeholder(tf.float32).get_shape().as_list()
print(tf.app.flags.FLAGS.size, tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.NOTHING)
print(ops.Tensor, m.add, m.nothing, nn.relu, n.reluu, tf1.nn.relu, tf.nothing.deep)
print(tf.errors.NotFoundError)
"""


def _uses(program: str) -> dict[str, tuple[list[int], bool]]:
    return {use.name: (use.lines, bool(use.missing)) for use in port.examine(program).uses}


def test_names_and_lines() -> None:
    assert _uses(PROGRAM) == {
        "tf.GraphKeys.GLOBAL_VARIABLES": ([9], False),
        "tf.GraphKeys.NOTHING": ([9], True),
        "tf.app.flags.FLAGS": ([9], False),
        "tf.errors.NotFoundError": ([11], False),
        "tf.float32": ([8], False),
        "tf.nn": ([6, 7], False),
        "tf.nn.relu": ([10], False),
        "tf.nn.reluu": ([10], True),
        "tf.nothing.deep": ([10], True),
        "tf.placeholder": ([8], False),
        "tf.python.framework.ops": ([4], False),
        "tf.python.framework.ops.Tensor": ([10], False),
        "tf.python.ops.math_ops": ([5], False),
        "tf.python.ops.math_ops.add": ([10], False),
        "tf.python.ops.math_ops.nothing": ([10], True),
    }


def test_names_of_datasets() -> None:
    uses = _uses("""
from tensorflow.python.data.ops import dataset_ops, iterator_ops, readers
from tensorflow.python.data.experimental.ops import batching, grouping
from tensorflow.contrib.data.python.ops import batching as older
from tensorflow.data import Dataset
from tensorflow.contrib import data
print(dataset_ops.Dataset, dataset_ops.make_one_shot_iterator, iterator_ops.Iterator.from_structure, readers.TextLineDataset)
print(batching.map_and_batch, grouping.bucket_by_sequence_length, older.batch_and_drop_remainder, data.unbatch)
print(Dataset.from_generator, Dataset.nothing, data.SqlDataset, data.nothing, batching.nothing)
""")
    missing = {
        "tf.data.Dataset.nothing",
        "tf.contrib.data.nothing",
        "tf.python.data.experimental.ops.batching.nothing",
    }
    assert {name for name, (_, is_missing) in uses.items() if is_missing} == missing
    assert len(uses) > 14


def test_the_nearest_names_are_given() -> None:
    (use,) = port.examine("import headrace as tf\ntf.nn.reluu\n").missing
    assert use.missing.startswith("Headrace has no tf.nn.reluu; nearest: tf.nn.relu")


def test_other_modules_are_left_alone() -> None:
    assert _uses("import numpy as tf\nimport os\ntf.zork; os.zork; zork.zork\nfrom . import tensorflow\n") == {}


def test_a_python_2_program() -> None:
    report = port.examine("import tensorflow as tf\nprint 'hello'\n")
    assert report.problem.startswith("line 2: not Python 3")


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.py").write_text("import tensorflow as tf\ntf.nn.relu\n")
    (tmp_path / "bad.py").write_text("import tensorflow as tf\ntf.nothing\n\ntf.nothing\n")
    assert port.main([str(tmp_path / "good.py")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 file, 1 ready",
        f"{tmp_path / 'good.py'}: 1 TensorFlow names, 1 present, 0 missing",
        "  present  tf.nn.relu  line 2",
    ]
    assert port.main([str(tmp_path), "--missing"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2 files, 1 ready; tf.nothing blocks 1",
        f"{tmp_path / 'bad.py'}: 1 TensorFlow names, 0 present, 1 missing",
        "  missing  tf.nothing  lines 2, 4",
        f"{tmp_path / 'good.py'}: 1 TensorFlow names, 1 present, 0 missing",
    ]
    assert port.main([str(tmp_path / "none.py")]) == 2
    assert "none.py: No such file" in capsys.readouterr().err


def test_the_verdict_names_what_blocks() -> None:
    ragged = "import tensorflow as tf\nfrom tensorflow.ragged import constant\ntf.ragged.range; tf.newaxis\n"
    reports = [port.examine(source) for source in (ragged, ragged + "tf.zork\n", "import tensorflow\n", "print 1\n")]
    assert port.verdict(reports) == "4 files, 1 ready; tf.ragged blocks 2, tf.zork blocks 1, 1 is not Python 3"
    assert [use.name for use in reports[0].missing] == ["tf.ragged.constant", "tf.ragged.range"]
    said = [line for line in port._described(reports[0], True) if "use today: tf.SparseTensor" in line]
    assert len(said) == 1, "the advice is given once"


def test_the_headrace_command(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    (tmp_path / "bad.py").write_text("import tensorflow as tf\ntf.nothing\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    command = [sys.executable, "-c", "from headrace.tools.cli import main; main()", "port", "bad.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "missing  tf.nothing  line 2" in done.stdout


def test_without_typer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    assert cli.main() == 2
    assert "pip install typer" in capsys.readouterr().err
