"""Samples of the optimizers' update ops: those compared with TensorFlow, their first step."""

import numpy as np
from golden.training_cases import CASES, Case, start, step_inputs

from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import Sample


def _sample(case: Case, dtype: type = np.float32) -> Sample:
    values = {**start(case), **step_inputs(case, 0)}
    inputs = [values[a.name] for a in REGISTRY.get(case.op).signature.inputs]
    inputs = [v.astype(dtype) if v.dtype == np.float32 else v for v in inputs]
    return Sample(inputs, dict(case.attrs), gradient=False)


SAMPLES: dict[str, list[Sample]] = {}
for _case in CASES:
    SAMPLES.setdefault(_case.op, []).extend([_sample(_case), _sample(_case, np.float64)])


# Variables of no dimensions and of no elements, under their locks; averages and gradients of zero.
def _small(case: Case, shape: tuple[int, ...]) -> Sample:
    signature = REGISTRY.get(case.op).signature
    first = _sample(case)
    given = zip(signature.inputs, first.inputs, strict=True)
    inputs = [np.resize(v, shape) if a.ref or a.name in ("grad", "delta") else v for a, v in given]
    return Sample(inputs, {**first.attrs, "use_locking": True}, gradient=False)


for _case in {c.op: c for c in CASES if not c.sparse}.values():
    SAMPLES[_case.op] += [_small(_case, ()), _small(_case, (0, 2))]
for _name in ("ApplyAddSign", "ApplyPowerSign"):
    _numbers = [np.float32(n) for n in (0.1, 0.7, 0.9, 1.0)]
    _grad = np.array([0, 0.5, -0.5, 0], np.float32)
    SAMPLES[_name].append(Sample([_grad + 1, np.zeros(4, np.float32), *_numbers, _grad], gradient=False))
