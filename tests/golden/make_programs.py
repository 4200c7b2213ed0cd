"""Makes <family>.json for the families named on the command line (all by default), with real TensorFlow.

Run in this folder with an interpreter that has tensorflow: ``python make_programs.py sparse``.
"""

import importlib
import sys

from program import encode, run
from real import AS_WRITTEN, keep, tf

FAMILIES = (
    "candidate",
    "ctc",
    "feature_column",
    "lookup",
    "parsing",
    "resource",
    "search",
    "signal",
    "sparse",
    "state",
    "string",
    "summary",
    "vision",
)


def make(family: str) -> None:
    programs = importlib.import_module(f"{family}_programs").PROGRAMS
    kept = {}
    for name, program in programs.items():
        values, nodes = run(tf, program, config=AS_WRITTEN)
        kept[name] = {"values": [encode(v) for v in values]}
        if name not in programs.unnamed:
            kept[name]["nodes"] = nodes
    keep(f"{family}.json", kept)


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        make(family)
