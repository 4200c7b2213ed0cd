"""headrace inspect: every kind of file that it knows, and files that are none of them."""

import json
import os

import pytest

import headrace as tf
from headrace.tools import curve_picture, inspect


def _shown(capsys, path, *arguments):
    assert inspect.main([str(path), *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def model():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    w = tf.get_variable("w", [4, 3])
    y = tf.matmul(x, w, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        yield session, x, y


def test_a_checkpoint_by_its_prefix_its_index_or_its_folder(model, tmp_path, capsys):
    tf.train.Saver().save(model[0], str(tmp_path / "model"), global_step=5)
    for path in (tmp_path / "model-5", tmp_path / "model-5.index", tmp_path):
        first, _, row = _shown(capsys, path).splitlines()
        assert first == f"checkpoint {tmp_path}/model-5, variables 1, numbers 12, size 48 bytes"
        assert row.split() == ["w", "float32", "[4,", "3]", "12", "48"]


def test_a_saved_model(model, tmp_path, capsys):
    session, x, y = model
    tf.saved_model.simple_save(session, str(tmp_path / "export"), {"x": x}, {"score": y})
    lines = _shown(capsys, tmp_path / "export").splitlines()
    assert lines[2].split(maxsplit=5) == ["serve", "serving_default", "takes", "x", "float32", "[-1, 4]  x:0"]
    assert lines[3].split(maxsplit=5) == ["serve", "serving_default", "gives", "score", "float32", "[-1, 3]  y:0"]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_graph(model, tmp_path, capsys, as_text):
    tf.train.write_graph(model[0].graph_def, str(tmp_path), "graph", as_text=as_text)
    report = json.loads(_shown(capsys, tmp_path / "graph", "--json"))
    assert report["what"].startswith("GraphDef ")
    assert {"op": "MatMul", "nodes": 1} in report["rows"]


def test_a_meta_graph_and_the_limit(model, tmp_path, capsys):
    tf.train.export_meta_graph(str(tmp_path / "meta"))
    lines = _shown(capsys, tmp_path / "meta", "--limit", "2").splitlines()
    assert lines[0].startswith("MetaGraphDef ")
    assert lines[-1].endswith("more: --limit 0 shows all")
    assert len(lines) == 5


def test_an_event_file(tmp_path, capsys):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(8):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=8.0 - step)]), step)
    lines = _shown(capsys, tmp_path).splitlines()
    assert lines[2].split() == ["loss", "8", "7", "1", "█▇▆▅▄▃▂▁"]


def test_records_of_examples(tmp_path, capsys):
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for i in range(3):
            ints = tf.train.Feature(int64_list=tf.train.Int64List(value=[7] * (i + 1)))
            words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"]))
            features = {"ids": ints, "word": words} if i else {"ids": ints}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    lines = _shown(capsys, tmp_path / "records").splitlines()
    assert lines[2].split() == ["ids", "int64", "1", "to", "3", "3"]
    assert lines[3].split() == ["word", "bytes", "1", "2"]


@pytest.mark.parametrize("content", [b"", b"hello there", bytes(200), b"\x0a\x05\x0a\x03abc"])
def test_a_file_of_another_kind_is_an_error(tmp_path, capsys, content):
    (tmp_path / "file").write_bytes(content)
    assert inspect.show(str(tmp_path / "file")) == 2
    assert "is none of: a checkpoint" in capsys.readouterr().err


def test_a_damaged_file_is_an_error(tmp_path, capsys):
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer:
        writer.write(b"one")
        writer.write(b"two")
    data = (tmp_path / "records").read_bytes()
    (tmp_path / "records").write_bytes(data[:-2])
    assert inspect.show(str(tmp_path / "records")) == 2
    assert "records" in capsys.readouterr().err


def test_a_checkpoint_that_was_cut_off_says_so(model, tmp_path, capsys):
    path = tf.train.Saver().save(model[0], str(tmp_path / "model"))
    data = tmp_path / "model.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:10])
    assert inspect.show(path) == 2
    shown = capsys.readouterr()
    assert "w         float32  [4, 3]" in shown.out and "is cut off: w needs bytes 0 to 48" in shown.err
    assert inspect.show(path, as_json=True) == 2
    assert "is cut off" in json.loads(capsys.readouterr().out)["damage"]


def test_an_event_file_of_a_job_that_was_killed_shows_what_it_has(tmp_path, capsys):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(4):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=8.0 - step)]), step)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert inspect.show(str(path)) == 2
    shown = capsys.readouterr()
    assert shown.out.splitlines()[2].split() == ["loss", "3", "2", "6", "█▅▁"]
    assert "truncated record" in shown.err


def test_what_is_not_there(tmp_path, capsys):
    assert inspect.show(str(tmp_path / "nothing")) == 2
    assert "there is no such file or folder, and no checkpoint" in capsys.readouterr().err
    assert inspect.show(str(tmp_path)) == 2
    assert "holds no SavedModel, no file `checkpoint` and no event file" in capsys.readouterr().err


def test_a_pipe_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert inspect.main([str(tmp_path / "pipe")]) == 2
    assert "is neither a file nor a folder" in capsys.readouterr().err


def test_a_curve_of_numbers_that_are_none():
    assert inspect.curve([1.0, float("nan"), 2.0]) == "▁?█"
    assert inspect.curve([float("inf")]) == "?"
    assert inspect.curve([3.0, 3.0]) == "▁▁"
    assert len(inspect.curve(list(range(1000)))) == inspect.POINTS


def _written(folder, numbers):
    with tf.summary.FileWriter(str(folder)) as writer:
        for step, number in enumerate(numbers):
            values = [tf.Summary.Value(tag="loss", simple_value=number), tf.Summary.Value(tag="a/b", simple_value=2.0)]
            writer.add_summary(tf.Summary(value=values), step)


def test_a_picture_of_the_curves(tmp_path, capsys):
    from PIL import Image

    _written(tmp_path / "log", [3.0, 1.0, float("nan"), 2.0])
    _shown(capsys, tmp_path / "log", "--png", str(tmp_path / "curves.png"))
    with Image.open(tmp_path / "curves.png") as image:
        assert image.format == "PNG" and image.size == (840, 240)
        blue = [x for x in range(840) for y in range(240) if image.getpixel((x, y)) == (0x4C, 0x78, 0xA8)]
    assert min(blue) < 420 < max(blue)  # a line in each of the two panels


def test_numbers_of_every_size_have_a_place():
    for numbers in ([1.0], [5.0, 5.0], [-1.7e308, 1.7e308], [float("inf")], [float("nan"), 1.0]):
        assert curve_picture.picture({"x": list(enumerate(numbers))}).size == (420, 240)
    many = curve_picture.picture({f"tag{i}": [(0, 1.0)] for i in range(300)})
    assert many.size == (840, 50 * 240)


def test_what_has_no_curves_cannot_be_drawn(model, tmp_path, capsys):
    tf.train.Saver().save(model[0], str(tmp_path / "model"), global_step=5)
    assert inspect.main([str(tmp_path / "model-5"), "--png", str(tmp_path / "x.png")]) == 2
    assert "draws the scalars of an event file" in capsys.readouterr().err
