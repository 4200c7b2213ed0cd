"""Makes training.npz: every update of training_cases.py run with TensorFlow.  `python tests/golden/make_training.py`"""

from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from training_cases import CASES, STEPS, start, step_inputs

tf.disable_v2_behavior()


def run(case):
    """The variables after all steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        by_handle = case.op.startswith("_")
        variables = {name: tf.Variable(value, use_resource=by_handle) for name, value in start(case).items()}
        first = step_inputs(case, 0)
        feeds = {name: tf.placeholder(value.dtype, value.shape) for name, value in first.items()}
        function = getattr(tf.raw_ops, f"Resource{case.op[1:]}" if by_handle else case.op)
        refs = {name: v.handle if by_handle else v._ref() for name, v in variables.items()}
        step = function(**refs, **feeds, **case.attrs)
        step = step if by_handle else step.op
        session.run(tf.global_variables_initializer())
        for i in range(STEPS):
            session.run(step, {feeds[name]: value for name, value in step_inputs(case, i).items()})
        return session.run(variables)


if __name__ == "__main__":
    found = {f"{case.name}/{name}": value for case in CASES for name, value in run(case).items()}
    np.savez_compressed(Path(__file__).with_name("training.npz"), **found)
