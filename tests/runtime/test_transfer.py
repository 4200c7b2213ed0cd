"""Copies to CUDA, as far as they can be tested without it; tests/gpu_check.py runs them on a GPU."""

from contextlib import contextmanager
from typing import Any

import pytest
import torch
from passes.steps import step

import headrace as tf
from headrace.runtime import transfer
from headrace.runtime.codegen import generate


class FakeCuda:
    """What torch.cuda does, as a list of words."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def Stream(self, device: Any) -> Any:  # noqa: N802 - torch's name
        return "copying"

    @contextmanager
    def stream(self, stream: Any) -> Any:
        self.said.append(f"on {stream}")
        yield
        self.said.append("off")

    def current_stream(self, device: Any) -> Any:
        fake = self

        class Computing:
            def wait_stream(self, stream: Any) -> None:
                fake.said.append(f"computing waits for {stream}")

        return Computing()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    monkeypatch.setattr(transfer.torch, "cuda", fake)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda value: fake.said.append("pinned") or value.clone())
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda value, stream: fake.said.append("recorded"))
    transfer._copy_stream.cache_clear()
    return fake


def test_a_large_value_goes_through_pinned_memory_on_a_stream_of_its_own(cuda: FakeCuda) -> None:
    value = torch.arange(1 << 15, dtype=torch.float32)
    copy = transfer.to_cuda(value, torch.device("cpu"))
    assert torch.equal(copy, value) and copy.data_ptr() != value.data_ptr()
    assert cuda.said == ["on copying", "pinned", "off", "computing waits for copying", "recorded"]


def test_a_small_value_goes_straight(cuda: FakeCuda) -> None:
    assert transfer.to_cuda(torch.ones(4), torch.device("cpu")).tolist() == [1.0] * 4
    assert cuda.said == []


@pytest.mark.parametrize(("place", "used"), [("cuda", True), ("meta", False), ("cpu", False)])
def test_generated_code_uses_it_for_cuda_alone(place: str, used: bool) -> None:
    graph = step([tf.tanh(tf.placeholder(tf.float32, [4]))])
    node = graph.nodes[-1]

    class Binder:
        threads, recorder, arrays = 1, None, False

        def torch_device(self, name: str) -> Any:
            return torch.device(place) if name else torch.device("cpu")

        def kernel(self, node: Any, kernel_type: str) -> Any:
            return node.op_def.find_kernel(kernel_type, node.attrs)

    node.device = "there"
    program = generate([node], node.inputs, [], Binder(), "test")
    assert (transfer.to_cuda in program.call.__globals__.values()) == used
