"""Code that mode "always" leaves on disk, and a later program that finds it there."""

from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.compiler import archive, kept

ALWAYS = tf.ConfigProto(compile="always", device_count={"GPU": 0})


@pytest.fixture(autouse=True)
def nothing_is_kept() -> None:
    """Overrides the fixture of this name: here code is kept."""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("HEADRACE_DUMP", raising=False)
    return tmp_path


def program() -> list[float]:
    """Trains; fetches a value that is the variable itself, and one that was computed."""
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=tf.constant([0.5, 1.5, 2.5]))
        x = tf.placeholder(tf.float32, [3])
        loss = tf.reduce_sum(tf.exp(w * x) * 0.1)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        same = w + 0.0
        with tf.Session(config=ALWAYS) as session:
            session.run(tf.global_variables_initializer())
            before = session.run(same)
            losses = [session.run([loss, train], {x: np.array([1.0, -1.0, 0.5], np.float32)})[0] for _ in range(3)]
            return [*losses, *before, *session.run(w)]


def kept_files(folder: Path) -> list[Path]:
    return sorted((folder / "headrace" / archive.CODE).glob("*.json"))


def test_a_second_program_compiles_nothing(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    first = program()
    assert kept_files(own_cache)
    monkeypatch.setattr(kept, "compile_region", lambda *arguments: pytest.fail("was compiled again"))
    assert program() == first


def test_a_dump_is_written_for_each_program(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    first = program()
    monkeypatch.setenv("HEADRACE_DUMP", str(own_cache / "dump"))
    assert program() == first
    assert list((own_cache / "dump").glob("region_*.py"))


def test_code_that_does_not_load_is_compiled_again(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    first = program()
    files = kept_files(own_cache)

    def refuse(parts: dict) -> None:
        raise kept.NeedsCompiler("an op that this program does not have")

    monkeypatch.setattr(kept, "put", refuse)
    assert program() == first and kept_files(own_cache) == files
