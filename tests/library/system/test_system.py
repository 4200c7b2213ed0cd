"""tf.logging, tf.compat, tf.resource_loader, tf.sysconfig, versions, and the MNIST reader."""

import gzip
import logging
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
import headrace.compat.v1 as v1
from headrace.examples.tutorials.mnist import input_data
from headrace.library import log as library_log


@pytest.fixture(autouse=True)
def level():
    logger = logging.getLogger("tensorflow")
    before, handlers = logger.level, list(logger.handlers)
    yield
    logger.setLevel(before)
    logger.handlers[:] = handlers


def test_levels(caplog: pytest.LogCaptureFixture) -> None:
    assert tf.logging.get_verbosity() == tf.logging.WARN == logging.WARNING
    tf.logging.info("hidden")
    tf.logging.set_verbosity(tf.logging.INFO)
    assert tf.logging.get_verbosity() == tf.logging.INFO
    tf.logging.debug("hidden")
    tf.logging.info("%d of %d", 1, 2)
    tf.logging.warn("a")
    tf.logging.warning("b")
    tf.logging.error("c")
    tf.logging.fatal("d")
    tf.logging.log(tf.logging.ERROR, "e")
    tf.logging.log_if(tf.logging.ERROR, "f", True)
    tf.logging.log_if(tf.logging.ERROR, "hidden", False)
    assert [r.getMessage() for r in caplog.records] == ["1 of 2", "a", "b", "c", "d", "e", "f"]
    assert {r.filename for r in caplog.records} == {"test_system.py"}
    assert [r.levelno for r in caplog.records[3:6]] == [tf.logging.ERROR, tf.logging.FATAL, tf.logging.ERROR]


def test_counted_messages(caplog: pytest.LogCaptureFixture) -> None:
    for i in range(5):
        tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, i)
        tf.logging.log_first_n(tf.logging.WARN, "first %d", 2, i)
    assert [r.getMessage() for r in caplog.records] == ["every 0", "first 0", "first 1", "every 2", "every 4"]


def test_without_logging_set_up_it_writes_to_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert len(library_log.get_logger().handlers) == 1
    tf.logging.warning("careful")
    assert capsys.readouterr().err == "WARNING:tensorflow:careful\n"


def test_text() -> None:
    assert tf.compat.as_bytes("é") == b"\xc3\xa9" == tf.compat.as_bytes(b"\xc3\xa9")
    assert tf.compat.as_text(b"\xc3\xa9") == "é" == tf.compat.as_str("é")
    assert (tf.compat.as_str_any(3), tf.compat.as_str_any(b"a"), tf.compat.path_to_str(Path("x"))) == ("3", "a", "x")
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
        tf.compat.as_bytes(3)
    assert isinstance("a", tf.compat.bytes_or_text_types)
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert isinstance(np.float32(1), tf.compat.real_types)
    shape = tf.TensorShape([None, 3])
    assert tf.compat.dimension_value(shape[0]) is None
    assert tf.compat.dimension_at_index(shape, 1).value == 3
    assert tf.compat.forward_compatible(2019, 1, 1) and not tf.compat.forward_compatible(2030, 1, 1)


def test_v1_is_the_same_interface() -> None:
    assert v1.placeholder is tf.placeholder
    assert tf.compat.v1.nn.relu is tf.nn.relu
    v1.disable_v2_behavior()
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = v1.no_such_name


def test_versions_are_those_of_the_interface() -> None:
    assert tf.__version__ == tf.VERSION == tf.version.VERSION
    assert tf.__version__.startswith("1.15")
    assert tf.version.HEADRACE_VERSION in tf.GIT_VERSION


def test_beside_the_program(tmp_path: Path) -> None:
    here = Path(__file__).parent
    assert tf.resource_loader.get_data_files_path() == str(here)
    assert tf.resource_loader.get_path_to_datafile("x") == str(here / "x")
    assert b"versions" in tf.resource_loader.load_resource("test_system.py")
    with pytest.raises(OSError):
        tf.resource_loader.load_resource("no")


def test_there_is_nothing_to_compile_against() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="add_an_op"):
        tf.sysconfig.get_include()


def _write(folder: Path, zipped: bool) -> None:
    images = np.arange(6 * 4, dtype=np.uint8).reshape(6, 2, 2)
    labels = np.arange(6, dtype=np.uint8)
    for part in ("train", "t10k"):
        head = b"".join(int(n).to_bytes(4, "big") for n in (2051, 6, 2, 2))
        _put(folder / f"{part}-images-idx3-ubyte", head + images.tobytes(), zipped)
        _put(folder / f"{part}-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 6]) + labels.tobytes(), zipped)


def _put(path: Path, data: bytes, zipped: bool) -> None:
    if zipped:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data))
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("zipped", [False, True])
def test_mnist(tmp_path: Path, zipped: bool) -> None:
    _write(tmp_path, zipped)
    data = input_data.read_data_sets(str(tmp_path), one_hot=True, validation_size=2)
    assert (data.train.num_examples, data.validation.num_examples, data.test.num_examples) == (4, 2, 6)
    assert data.test.images.dtype == np.float32
    np.testing.assert_allclose(data.test.images[1], np.array([4, 5, 6, 7], np.float32) / 255)
    assert data.validation.labels.tolist() == np.eye(10)[:2].tolist()
    seen = []
    for _ in range(4):
        images, labels = data.train.next_batch(3)
        np.testing.assert_allclose(images[:, 0] * 255, labels.argmax(1) * 4, rtol=1e-5)
        seen += labels.argmax(1).tolist()
    assert data.train.epochs_completed == 2
    assert sorted(seen[:4]) == sorted(seen[4:8]) == [2, 3, 4, 5]


def test_mnist_raw_and_fake(tmp_path: Path) -> None:
    _write(tmp_path, False)
    data = input_data.read_data_sets(str(tmp_path), dtype=tf.uint8, reshape=False, validation_size=0)
    assert (data.train.images.shape, data.train.images.dtype) == ((6, 2, 2, 1), np.uint8)
    assert data.train.next_batch(2, shuffle=False)[1].tolist() == [0, 1]
    images, labels = input_data.read_data_sets("nowhere", fake_data=True).train.next_batch(2, fake_data=True)
    assert (len(images), len(images[0]), labels) == (2, 784, [0, 0])


def test_mnist_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)Nothing is downloaded.*t10k-labels-idx1-ubyte.gz.*fashion"):
        input_data.read_data_sets(str(tmp_path))
    _write(tmp_path, False)
    with pytest.raises(ValueError, match="Validation size should be between 0 and 6"):
        input_data.read_data_sets(str(tmp_path))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"\0\0\0\1")
    with pytest.raises(ValueError, match="Invalid magic number 1 in MNIST image file"):
        input_data.read_data_sets(str(tmp_path))
