"""headrace compare: what differs between two files."""

import json

import pytest

import headrace as tf
from headrace.tools.compare import main


def _checkpoint(path, values):
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in values.items():
            tf.get_variable(name, initializer=value)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(path))


def _graph(path, activation):
    with tf.Graph().as_default() as graph:
        activation(tf.placeholder(tf.float32, [None, 3], name="x"), name="y")
        return tf.train.write_graph(graph, str(path.parent), path.name, as_text=path.suffix == ".pbtxt")


def test_checkpoints(tmp_path, capsys):
    first = _checkpoint(tmp_path / "a" / "model", {"same": [1.0], "moved": [1.0, 2.0], "cast": [1], "gone": [0.0]})
    second = _checkpoint(tmp_path / "b" / "model", {"same": [1.0], "moved": [1.0, 2.5], "cast": [1.0], "new": [0.0]})
    assert main([first, second]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "4 differences: 4 variables against 4".split()
    assert ["gone", "only", "in", "first", "[1]"] in lines
    assert ["new", "only", "in", "second", "[1]"] in lines
    assert ["cast", "dtype", "int32", "float32"] in lines
    assert ["moved", "values,", "by", "up", "to", "0.5"] in lines
    assert main([str(tmp_path / "a"), first]) == 0


def test_a_tolerance(tmp_path, capsys):
    first = _checkpoint(tmp_path / "a", {"w": [1.0, 2.0]})
    second = _checkpoint(tmp_path / "b", {"w": [1.0, 2.01]})
    assert main([first, second, "--rtol", "0.1"]) == 0
    assert main([first, second, "--json"]) == 1
    assert json.loads(capsys.readouterr().out.partition("\n")[2])[0]["what"].startswith("values, by up to 0.0")


@pytest.mark.parametrize("ending", ["pb", "pbtxt"])
def test_graphs(tmp_path, capsys, ending):
    first = _graph(tmp_path / f"a.{ending}", tf.nn.relu)
    second = _graph(tmp_path / f"b.{ending}", tf.nn.elu)
    assert main([first, second]) == 1
    assert ["y", "op", "Relu", "Elu"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_saved_models(tmp_path, capsys):
    for name, factor in (("a", 2.0), ("b", 3.0)):
        with tf.Graph().as_default(), tf.Session() as sess:
            x = tf.placeholder(tf.float32, [None], name="x")
            tf.saved_model.simple_save(sess, str(tmp_path / name), {"x": x}, {"y": tf.multiply(x, factor, name="y")})
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "attribute value" in capsys.readouterr().out


def test_what_cannot_be_compared(tmp_path, capsys):
    checkpoint, graph = _checkpoint(tmp_path / "c", {"w": [1.0]}), _graph(tmp_path / "g.pb", tf.nn.relu)
    assert main([checkpoint, graph]) == 2
    assert "both must be of one kind" in capsys.readouterr().err
    assert main([checkpoint, str(tmp_path / "nothing")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    (tmp_path / "text").write_text("no graph")
    assert main([graph, str(tmp_path / "text")]) == 2
    assert "is none of" in capsys.readouterr().err
