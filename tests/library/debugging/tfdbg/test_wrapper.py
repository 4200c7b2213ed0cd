"""tfdbg's sessions: files of each run, tables without a terminal, a prompt with one."""

import os

import numpy as np
import pytest

import headrace as tf
from headrace.debugging import tfdbg


def _model():
    x = tf.placeholder(tf.float32, [2], name="x")
    return x, tf.reduce_sum(tf.log(x, name="risky"), name="loss")


def test_each_run_leaves_a_folder(tmp_path):
    x, loss = _model()

    def watch_fn(fetches, feeds):
        assert fetches is loss
        assert list(feeds) == [x]
        return tfdbg.WatchOptions(node_name_regex_whitelist="risky|loss")

    with tfdbg.DumpingDebugWrapperSession(tf.Session(), str(tmp_path), watch_fn) as sess:
        for scale in (1.0, 2.0):
            assert np.isfinite(sess.run(loss, {x: [scale, scale]}))
        assert tf.get_default_session() is sess.session
    runs = sorted(os.listdir(tmp_path))
    assert [name.rpartition("_")[2] for name in runs] == ["1", "2"]
    dumps = [tfdbg.DebugDumpDir(str(tmp_path / name)) for name in runs]
    assert [dump.nodes() for dump in dumps] == [["risky", "loss"]] * 2
    assert dumps[1].get_tensors("loss", 0, "DebugIdentity") == [pytest.approx(2 * np.log(2.0))]


def test_training_and_other_methods_are_the_sessions_own(tmp_path):
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(w)))
    sess = tfdbg.DumpingDebugWrapperSession(tf.Session(), str(tmp_path))
    with sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert w.eval().tolist() == pytest.approx([0.8, 1.6])
        assert sess.graph is tf.get_default_graph()
        assert sess.list_devices()


@pytest.mark.parametrize("wrapper", [tfdbg.DumpingDebugWrapperSession, tfdbg.LocalCLIDebugWrapperSession])
def test_a_folder_that_has_files_is_refused(tmp_path, wrapper):
    (tmp_path / "file").write_text("")
    with tf.Session() as sess:
        with pytest.raises(ValueError, match="non-empty directory"):
            wrapper(sess, str(tmp_path))
        with pytest.raises(ValueError, match="points to a file"):
            wrapper(sess, str(tmp_path / "file"))


def test_other_threads_are_left_alone(tmp_path):
    x, loss = _model()
    sess = tfdbg.DumpingDebugWrapperSession(tf.Session(), str(tmp_path), thread_name_filter="worker")
    sess.run(loss, {x: [1.0, 1.0]})
    assert os.listdir(tmp_path) == []
    sess.close()


def test_without_a_terminal_all_is_printed(capsys, tmp_path):
    x, loss = _model()
    root = tmp_path / "dump"
    sess = tfdbg.LocalCLIDebugWrapperSession(tf.Session(), dump_root=str(root))
    sess.prompt.asks = False
    sess.add_tensor_filter("is_large", lambda datum, tensor: tensor.dtype.kind == "f" and bool((tensor > 5).any()))
    assert sess.run(loss, {x: [0.0, 6.0]}) == -np.inf
    out = capsys.readouterr().out
    assert out.startswith("run 1: ")
    assert "Log" in out
    assert "risky:0" in out
    assert "has_inf_or_nan: risky:0, loss:0" in out
    assert "is_large: x:0" in out
    assert not root.exists()
    sess.close()


def _answers(sess, *lines):
    left = iter(lines)
    sess.prompt.asks = True
    sess.prompt.ask = lambda text: next(left)
    return left


def test_the_prompt(capsys):
    x, loss = _model()
    sess = tfdbg.LocalCLIDebugWrapperSession(tf.Session())
    commands = ["wrong", "run", "lt -n risky", "pt risky", "pt nothing", "ni risky", "lt -f nofilter", "run"]
    left = _answers(sess, *commands)
    sess.run(loss, {x: [1.0, 1.0]})
    assert list(left) == []
    out = capsys.readouterr().out
    assert "--- run 1: fetches loss:0; feeds x:0." in out
    assert "there is no command 'wrong' here" in out
    assert "array([0., 0.], dtype=float32)" in out
    assert "the run has no tensor 'nothing'" in out
    assert "Log risky made at" in out
    assert "there is no filter 'nofilter'; there are has_inf_or_nan" in out
    sess.close()


def test_run_until_a_filter_finds_something_and_several_runs(capsys):
    x, loss = _model()
    sess = tfdbg.LocalCLIDebugWrapperSession(tf.Session())
    left = _answers(sess, "run -t 2", "run -f has_inf_or_nan", "run", "run -n", "exit")
    for value in (1.0, 1.0, 2.0, 3.0, 0.0, 4.0):
        sess.run(loss, {x: [value, 1.0]})
    out = capsys.readouterr().out
    assert "run 5: has_inf_or_nan has found a tensor" in out
    assert "run 3:" not in out.replace("--- run 3:", "")
    with pytest.raises(SystemExit):
        sess.run(loss, {x: [1.0, 1.0]})
    assert list(left) == []
    sess.close()
