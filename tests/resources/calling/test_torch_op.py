"""Ops of torch's that Headrace defines: what they compute, and that a program which only calls them never has a compiler."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from headrace.resources.calling import torch_op

CALLS = """
import sys, torch
import headrace as tf
from headrace.resources.calling.torch_op import define

for name in ("accumulate", "keep", "max_pool2d", "max_pool2d_backward"):
    define(name)
ops = torch.ops.headrace
total = torch.ones(2, 2)
assert ops.accumulate(total, torch.eye(2), torch.full((2, 2), 3.0)) is None
assert ops.keep(total) is None
image = torch.arange(16.0).reshape(1, 1, 4, 4)
places = [2, 2], [2, 2], [0, 0], False
pooled, where = ops.max_pool2d(image, *places)
gradient = ops.max_pool2d_backward(torch.ones_like(pooled), image, *places, where)
print(total.tolist(), pooled.flatten().tolist(), gradient.sum().item())
print([name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules])
"""


def test_calling_one_does_not_import_the_compiler():
    said = subprocess.run([sys.executable, "-c", CALLS], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == ["[[4.0, 4.0], [4.0, 4.0]] [5.0, 7.0, 13.0, 15.0] 4.0", "[]"]


def test_an_op_is_made_from_its_schema():
    halve = torch_op.torch_op("halve_for_a_test(Tensor x) -> Tensor", lambda x: x / 2, torch.empty_like)
    assert halve is torch.ops.headrace.halve_for_a_test.default
    assert halve(torch.tensor([3.0])).tolist() == [1.5]
    assert halve(torch.empty(5, device="meta")).shape == (5,)


def test_a_name_is_defined_once():
    torch_op.defines("once_for_a_test")(lambda: None)
    with pytest.raises(ValueError, match="headrace::once_for_a_test is defined twice"):
        torch_op.defines("once_for_a_test")(lambda: None)


def test_threads_define_an_op_together():
    @torch_op.defines("together_for_a_test")
    def define():
        time.sleep(0.05)  # long enough for the others to come
        return torch_op.torch_op("together_for_a_test(Tensor x) -> Tensor", torch.clone)

    with ThreadPoolExecutor(4) as pool:
        (op,) = set(pool.map(lambda _: define(), range(4)))
    assert op is torch.ops.headrace.together_for_a_test.default
