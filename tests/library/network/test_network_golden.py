"""tf.nn against the results real TensorFlow gave (tests/golden/make_cases.py)."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.nn_cases import CASES, LAYOUT_CASES, values

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden" / "nn.npz"


@functools.cache
def golden() -> dict[str, np.ndarray]:
    with np.load(GOLDEN) as file:
        return {name: file[name] for name in file.files}


def expected(name: str) -> list[np.ndarray]:
    found = golden()
    return [found[f"{name}|{i}"] for i in range(sum(key.startswith(f"{name}|") for key in found))]


def run(case: Any, known: bool = True, **options: Any) -> list[np.ndarray]:
    """Runs with constant inputs, or with fed ones of unknown shape."""
    feeds = {}

    def make(name: str, shape: Any) -> Any:
        if known:
            return tf.constant(values(name, shape))
        tensor = tf.placeholder_with_default(values(name, shape), shape)
        feeds[tensor] = values(name, shape)
        return tensor

    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf, make, **options), feeds)


def compare(name: str, found: list[np.ndarray]) -> None:
    wanted = expected(name)
    assert len(found) == len(wanted)
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert a.shape == b.shape, f"output {i}"
        assert a.dtype == b.dtype, f"output {i}"
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=f"output {i}")


@pytest.mark.parametrize("name", sorted(CASES))
def test_same_as_tensorflow(name: str) -> None:
    compare(name, run(CASES[name], known=False))


@pytest.mark.parametrize("name", sorted(LAYOUT_CASES))
def test_channels_first_gives_the_same(name: str) -> None:
    compare(name, run(LAYOUT_CASES[name], layout="NCHW"))


def test_every_case_is_recorded() -> None:
    assert {name.rpartition("|")[0] for name in golden()} == set(CASES)
