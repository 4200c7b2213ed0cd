"""The benchmarks of passes and memory, on tiny models."""

from pathlib import Path

import pytest

from benchmarks import ablation, memory
from benchmarks._live_bytes import peak_bytes
from headrace.passes.pipeline import OPTIONAL
from headrace.runtime.compiler.background import queue


def test_every_optional_pass_is_measured() -> None:
    assert set(ablation.PASSES) == OPTIONAL


@pytest.mark.parametrize("name", ["mlp", "deep_adam", "dynamic_rnn"])
def test_ablation(name: str) -> None:
    found = ablation._measure(name, "off", 0.01, "small")
    assert found[""]["best_s"] > 0
    assert set(found) == {"", *ablation.PASSES, ablation.ALL_OFF, ablation.CACHE}
    assert found[ablation.CACHE]["best_s"] > found[""]["best_s"]
    text = ablation._table({name: found})
    assert text.splitlines()[0] == f"| without | {ablation.TITLES[name]} |"
    assert "| nothing: ms per step | " in text


def test_ablation_of_a_compiled_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "PASSES", ())
    found = ablation._measure("mlp", "always", 0.01, "small")
    queue.process.close()
    assert found[""]["best_s"] > 0


def test_the_table_is_put_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{ablation.OPEN}\nold\n{ablation.CLOSE}\nafter\n")
    monkeypatch.setattr(
        ablation, "_in_process", lambda name, mode, options: {"": {"best_s": 0.002}, "cse": {"best_s": 0.003}}
    )
    monkeypatch.setattr(ablation._harness, "save", lambda name, result: "nowhere")
    ablation.main(["--workloads", "mlp", "--interpreted-only", "--markdown", str(page)])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and "| cse | 1.50 |" in text


def test_memory() -> None:
    kept, recomputed = (memory._measure(kind, "off", "small") for kind in memory.RECOMPUTE)
    assert 0 < recomputed < kept
    assert memory._measure("headrace", "mlp", "small") > 0


def test_peak_bytes_counts_what_lives_at_once() -> None:
    torch = pytest.importorskip("torch")

    def work():  # type: ignore[no-untyped-def]
        a = torch.zeros(1000)
        b = a + 1
        del a
        return b + 1

    assert 8000 <= peak_bytes(work) < 9000  # scalars are tensors too
