"""Private names of torch that ops, resources and eager calls use: each once, with what takes its place where a torch lacks it.

The runtime's compiler has more of them behind doors of its own.  A new torch that lacks one is slower or draws other random
numbers, and nothing else: ``tests/resources/calling/test_torch_names.py`` takes each away, and says which are missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import torch

TRIED: Final = ("2.11", "2.13")  # versions of torch that have them all
NAMES: Final = {  # and what is different without it
    "_C._AutoDispatchBelowAutograd": "kernels of a step ask torch's autograd each time",
    "_C.DispatchKey.AutogradOther": "the same",
    "_C._dispatch_tls_is_dispatch_key_excluded": "the same",
    "_C._dispatch_tls_local_exclude_set": "the same",
    "_C._dispatch_tls_local_include_set": "the same",
    "_C._ForceDispatchKeyGuard": "the same",
    "_C._storage_Use_Count": "a variable is copied before each eager write",
    "_fused_sgd_": "updates of gradient descent and momentum go through memory several times",
    "_fused_adam_": "updates of Adam do",
    "_fused_adagrad_": "updates of Adagrad do",
    "_standard_gamma": "a seed gives other gamma numbers, of the same distribution",
    "ops.aten._softmax_backward_data.default": "the gradient is several kernels",
    "ops.aten._log_softmax_backward_data.default": "the same",
    "ops.aten._scaled_dot_product_cudnn_attention.default": "training computes attention twice, and with dropout as separate ops",
    "ops.aten._scaled_dot_product_cudnn_attention_backward.default": "the same",
    "ops.aten._scaled_dot_product_efficient_attention.default": "the same",
    "ops.aten._scaled_dot_product_efficient_attention_backward.default": "the same",
}


def _find(name: str) -> Any:
    """What torch has by the name, or None."""
    assert name in NAMES, name
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def missing() -> list[str]:
    """A line for each name that this torch lacks."""
    return [
        f"torch {torch.__version__} lacks torch.{name}: {without}"
        for name, without in NAMES.items()
        if _find(name) is None
    ]


# ---- below autograd (resources/calling/dispatch.py); of no use unless all are there

DISPATCH: Final = [_find(name) for name in list(NAMES)[:6]]


# ---- eager calls

_use_count = _find("_C._storage_Use_Count")


def storage_uses(tensor: torch.Tensor) -> int:
    """How many tensors and arrays share the tensor's memory, and the count itself; many, if torch does not tell."""
    return _use_count(tensor.untyped_storage()._cdata) if _use_count is not None else sys.maxsize


# ---- updates of lists of tensors; None: the plain rules are used

fused_sgd: Any = _find("_fused_sgd_")
fused_adam: Any = _find("_fused_adam_")
fused_adagrad: Any = _find("_fused_adagrad_")


# ---- random numbers


def _standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of the gamma distribution, by Marsaglia and Tsang's method."""
    like: dict[str, Any] = {"generator": generator, "dtype": alpha.dtype, "device": alpha.device}
    d = torch.where(alpha < 1, alpha + 1, alpha) - 1 / 3
    result = torch.full_like(alpha, float("nan"))
    open_ = alpha >= 0
    while bool(open_.any()):
        x, u = torch.randn(alpha.shape, **like), torch.rand(alpha.shape, **like)
        v = (1 + x / (9 * d).sqrt()) ** 3
        accepted = open_ & (v > 0) & (torch.log(u) < x * x / 2 + d * (1 - v + torch.log(v)))
        result = torch.where(accepted, d * v, result)
        open_ = open_ & ~accepted
    return torch.where(alpha < 1, result * (1 - torch.rand(alpha.shape, **like)) ** (1 / alpha), result)


standard_gamma: Callable[..., torch.Tensor] = _find("_standard_gamma") or _standard_gamma


# ---- gradients


def _softmax_backward(grad: torch.Tensor, output: torch.Tensor, axis: int, dtype: torch.dtype) -> torch.Tensor:
    return (grad - (grad * output).sum(axis, keepdim=True)) * output


def _log_softmax_backward(grad: torch.Tensor, output: torch.Tensor, axis: int, dtype: torch.dtype) -> torch.Tensor:
    return grad - output.exp() * grad.sum(axis, keepdim=True)


softmax_backward = _find("ops.aten._softmax_backward_data.default") or _softmax_backward
log_softmax_backward = _find("ops.aten._log_softmax_backward_data.default") or _log_softmax_backward


# ---- attention with what its gradient needs: a call and its gradient; None: attention that only tells its result is used


def _attention(library: str) -> tuple[Any, Any] | None:
    forward = _find(f"ops.aten._scaled_dot_product_{library}_attention.default")
    backward = _find(f"ops.aten._scaled_dot_product_{library}_attention_backward.default")
    return None if forward is None or backward is None else (forward, backward)


attention, cudnn_attention = _attention("efficient"), _attention("cudnn")
