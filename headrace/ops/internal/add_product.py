"""_AddProduct: a sum and a matrix product in one call.  Made by the planner only."""

from __future__ import annotations

import torch

from headrace.core.dtypes import FLOATING
from headrace.core.registry import op

add_product = op("_AddProduct(addend: T, a: T, b: T) -> (sum: T)", T=FLOATING)
add_product.not_differentiable()
add_product.shape(lambda addend, a, b: addend)
add_product.kernel(torch.addmm)
