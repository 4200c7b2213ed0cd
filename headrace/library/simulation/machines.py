"""The rates of the machine that steps are planned for: those that were measured on this one, else the usual ones."""

from __future__ import annotations

import importlib
import importlib.util

from headrace.passes.cost.rates import USUAL, Machine

_CALIBRATE = "headrace.runtime.costs.calibrate"


def machine() -> Machine:
    """The rates of this machine, if there is what measures them."""
    if importlib.util.find_spec("headrace.runtime.costs") is None:
        return USUAL
    measured: Machine = importlib.import_module(_CALIBRATE).machine()
    return measured
