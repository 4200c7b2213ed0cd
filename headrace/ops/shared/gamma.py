"""How the incomplete gamma function, and with it a gamma sample, changes with its shape."""

from __future__ import annotations

import torch

_SERIES_TERMS = 260
_SERIES_LIMIT = 100.0


def gamma_slope(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """d P(a, x) / da: the power series term by term for moderate x, differences of the smaller tail beyond."""
    dtype = a.dtype
    a, x = torch.broadcast_tensors(a.double(), x.double())
    near = x < _SERIES_LIMIT
    bounded = torch.where(near, x, torch.ones_like(x)).clamp_min(1e-300).unsqueeze(-1)
    order = a.unsqueeze(-1) + torch.arange(_SERIES_TERMS, device=a.device, dtype=a.dtype)
    log_x = torch.log(bounded)
    terms = torch.exp(order * log_x - bounded - torch.lgamma(order + 1)) * (log_x - torch.digamma(order + 1))
    far = _differences(a, torch.where(near, torch.full_like(x, _SERIES_LIMIT), x))
    result = torch.where(near, terms.sum(-1), far)
    return torch.where(x > 0, result, torch.zeros_like(result)).to(dtype)


def _differences(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Differences of the fourth order.  The step is small beside the function's own scale, the root of a."""
    step = 5e-3 * a.clamp(min=1.0).sqrt()
    step = torch.minimum(step, a / 4)

    def odd(h: torch.Tensor) -> torch.Tensor:
        lower = torch.special.gammainc(a + h, x) - torch.special.gammainc(a - h, x)
        upper = torch.special.gammaincc(a - h, x) - torch.special.gammaincc(a + h, x)
        return torch.where(x > a, upper, lower)

    return (8 * odd(step) - odd(2 * step)) / (12 * step)


def sample_slope(alpha: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
    """d sample / d alpha at a fixed quantile; what it comes close to in the tails where the density vanishes."""
    a, x = torch.broadcast_tensors(alpha.double(), sample.double())
    density = torch.exp((a - 1) * torch.log(x) - x - torch.lgamma(a))
    usable = (density > 1e-200) & (x > 0)
    exact = -gamma_slope(a, x) / torch.where(usable, density, torch.ones_like(density))
    return torch.where(usable & exact.isfinite(), exact, _tail_slope(a, x)).to(alpha.dtype)


def _tail_slope(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """How a gamma number far in a tail changes with ``a``.

    There the first terms are enough: log P is near a log x - x - lgamma(a + 1), and log Q near (a - 1) log x - x - lgamma(a).
    """
    low = (x * torch.digamma(a + 1) - torch.xlogy(x, x)) / (a - x)
    high = (torch.log(x) - torch.digamma(a)) * x / (x - a + 1)
    return torch.where(x < a, low, high)
