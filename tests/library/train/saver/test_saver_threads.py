"""A saver that several threads use: the service of a Supervisor and the program save to the same names."""

from __future__ import annotations

from pathlib import Path

import headrace as tf
from tests.resources.calls import run_threads


def test_threads_may_save_to_the_same_name(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    saver = tf.train.Saver(sharded=True)
    with tf.Session() as sess:
        sess.run(v.initializer)

        def save() -> None:
            for _ in range(20):
                saver.save(sess, f"{tmp_path}/model", global_step=1, write_meta_graph=False)

        run_threads(save, save, save)
        saver.restore(sess, f"{tmp_path}/model-1")
    assert saver.last_checkpoints == [f"{tmp_path}/model-1"]
