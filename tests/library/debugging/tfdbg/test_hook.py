"""tfdbg's hooks in monitored sessions."""

import os

import headrace as tf
from headrace.debugging import tfdbg


def _train(hook):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=[1.0, -1.0])
    loss = tf.reduce_sum(tf.log(w, name="risky"), name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(2):
            sess.run([train, loss])


def test_a_hook_that_dumps(tmp_path):
    def watch_fn(fetches, feeds):
        return tfdbg.WatchOptions(node_name_regex_whitelist="risky")

    _train(tfdbg.DumpingDebugHook(str(tmp_path / "dumps"), watch_fn))
    runs = sorted(os.listdir(tmp_path / "dumps"))
    assert len(runs) == 2
    for run in runs:
        dump = tfdbg.DebugDumpDir(str(tmp_path / "dumps" / run))
        assert [one.node_name for one in dump.find(tfdbg.has_inf_or_nan)] == ["risky"]


def test_a_hook_that_prints(capsys):
    hook = tfdbg.LocalCLIDebugHook()
    hook.add_tensor_filter("is_one", lambda datum, tensor: tensor.shape == (2,) and tensor[0] == 1.0)
    _train(hook)
    out = capsys.readouterr().out
    assert out.count("has_inf_or_nan: risky:0") == 2
    assert "is_one: w/read:0" in out
