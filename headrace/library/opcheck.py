"""opcheck: is an op whole?  Shape rule against kernel, dtypes, gradient against finite differences, every device, aliasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an op to check it with.

    ``inputs``: one entry per signature input: an array (or Python value), or a list of arrays for a list input.
    ``attrs``: attributes by name.  ``gradient``: whether to check gradients with respect to the floating-point inputs
    (False where the op has none at this point: kinks, integers).  ``error``: the exception class the call must raise.
    ``random``: outputs differ from run to run, so only shape and dtype are compared.
    """

    inputs: Sequence[Any] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    gradient: bool = True
    error: type[BaseException] | None = None
    random: bool = False
    rtol: float = 1e-4
    atol: float = 1e-4
    note: str = ""
