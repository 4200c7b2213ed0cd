"""What Headrace saves, restored by real TensorFlow; runs where HEADRACE_TF_PYTHON names an interpreter that has it."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from golden import checkpoint_cases as cases

import headrace as tf

PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
SCRIPT = Path(__file__).with_name("restore_in_tensorflow.py")


@pytest.mark.skipif(not PYTHON, reason="HEADRACE_TF_PYTHON is not set")
@pytest.mark.timeout(300)
def test_tensorflow_restores_what_we_save(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, array in cases.plain().items():
            tf.Variable(array, name=name, use_resource="float" in name)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, f"{tmp_path}/plain")
        tf.train.Saver(sharded=True).save(sess, f"{tmp_path}/sharded")
        for _ in range(2):  # the second has data files of other names
            tf.train.Saver().save(sess, f"{tmp_path}/again")
    with tf.Graph().as_default(), tf.Session() as sess:
        cases.make_partitioned(tf, rows=3, columns=4)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, f"{tmp_path}/partitioned", write_state=False)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(tf.cast(np.array(cases.BFLOAT16), tf.bfloat16), name="bfloat16", trainable=False)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, f"{tmp_path}/odd", write_state=False)
    with tf.Graph().as_default(), tf.Session() as sess:
        cases.make_network(tf)
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, f"{tmp_path}/network", write_state=False)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
    done = subprocess.run(
        [str(PYTHON), str(SCRIPT), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().endswith("restored"), done.stderr[-3000:]
