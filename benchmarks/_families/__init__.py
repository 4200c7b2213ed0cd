"""The ops that `op_families` compares, by family; `case.py` says what a case is."""

from benchmarks._families import array, dense, host, image, math, network, update  # noqa: F401 - they add the cases
from benchmarks._families.case import CASES as CASES
from benchmarks._families.case import SIZES as SIZES
from benchmarks._families.case import Case as Case
from benchmarks._families.case import Prepared as Prepared
