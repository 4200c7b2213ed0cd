"""Samples of the optimizers' update ops: those compared with TensorFlow, their first step."""

import numpy as np
from golden.training_cases import CASES, Case, start, step_inputs

from headrace.core.registry import REGISTRY
from headrace.library.opcheck import Sample


def _sample(case: Case, dtype: type = np.float32) -> Sample:
    values = {**start(case), **step_inputs(case, 0)}
    inputs = [values[a.name] for a in REGISTRY.get(case.op).signature.inputs]
    inputs = [v.astype(dtype) if v.dtype == np.float32 else v for v in inputs]
    return Sample(inputs, dict(case.attrs), gradient=False)


SAMPLES: dict[str, list[Sample]] = {}
for _case in CASES:
    SAMPLES.setdefault(_case.op, []).extend([_sample(_case), _sample(_case, np.float64)])
