"""Every data set from small files of its format, and the errors that say which file to put where."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pytest

import headrace as tf
from headrace.library.keras.datasets import files, mnist
from headrace.library.keras.datasets.plain_pickle import object_array, read_pickle

datasets = tf.keras.datasets


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A home of its own."""
    made = tmp_path / ".keras" / "datasets"
    made.mkdir(parents=True)
    monkeypatch.setattr(files, "FOLDER", str(made))
    monkeypatch.setattr(mnist, "FOLDER", str(made))
    monkeypatch.setattr(mnist, "FASHION", str(tmp_path / "debian"))
    return made


def images(count, *shape):
    return np.random.RandomState(count).randint(0, 256, [count, *shape]).astype(np.uint8)


def test_mnist(folder, tmp_path):
    arrays = {"x_train": images(3, 28, 28), "y_train": images(3), "x_test": images(2, 28, 28), "y_test": images(2)}
    np.savez(folder / "mnist.npz", **arrays)
    (x_train, y_train), (x_test, y_test) = datasets.mnist.load_data()
    for name, found in (("x_train", x_train), ("y_train", y_train), ("x_test", x_test), ("y_test", y_test)):
        np.testing.assert_array_equal(found, arrays[name])
    np.savez(tmp_path / "mine.npz", **arrays)
    assert len(datasets.mnist.load_data(str(tmp_path / "mine.npz"))[0][0]) == 3


def write_idx(folder, name, values):
    header = (2051 if values.ndim == 3 else 2049).to_bytes(4, "big") + b"".join(
        n.to_bytes(4, "big") for n in values.shape
    )
    with gzip.open(folder / name, "wb") as file:
        file.write(header + values.tobytes())


@pytest.mark.parametrize("place", ["keras", "debian"])
def test_fashion_mnist(folder, tmp_path, place):
    where = folder / "fashion-mnist" if place == "keras" else tmp_path / "debian"
    where.mkdir()
    for name, values in (
        ("train-images-idx3-ubyte.gz", images(4, 28, 28)), ("train-labels-idx1-ubyte.gz", images(4)),
        ("t10k-images-idx3-ubyte.gz", images(2, 28, 28)), ("t10k-labels-idx1-ubyte.gz", images(2)),
    ):  # fmt: skip
        write_idx(where, name, values)
    (x_train, y_train), (x_test, y_test) = datasets.fashion_mnist.load_data()
    np.testing.assert_array_equal(x_train, images(4, 28, 28))
    np.testing.assert_array_equal(y_test, images(2))
    write_idx(where, "t10k-labels-idx1-ubyte.gz", images(3))
    with pytest.raises(ValueError, match="2 images and 3 labels"):
        datasets.fashion_mnist.load_data()


def old_style(entries):
    """Bytes for texts, as Python 2 has written them."""
    return {name.encode(): value for name, value in entries.items()}


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar(folder, protocol):
    ten, hundred = folder / "cifar-10-batches-py", folder / "cifar-100-python"
    ten.mkdir()
    hundred.mkdir()
    for i, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        entries = old_style(
            {"data": images(2, 3072), "labels": [i, 9], "batch_label": b"part", "filenames": [b"a", b"b"]}
        )
        (ten / name).write_bytes(pickle.dumps(entries, protocol))
    for name in ("train", "test"):
        entries = old_style({"data": images(2, 3072), "fine_labels": [99, 1], "coarse_labels": [19, 0]})
        (hundred / name).write_bytes(pickle.dumps(entries, protocol))
    (x_train, y_train), (x_test, y_test) = datasets.cifar10.load_data()
    assert x_train.shape == (10, 32, 32, 3) and y_train[:, 0].tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]
    assert y_test.dtype == np.uint8 and x_test.dtype == np.uint8
    np.testing.assert_array_equal(x_test[1], images(2, 3072)[1].reshape(3, 32, 32).transpose(1, 2, 0))
    assert datasets.cifar100.load_data()[0][1].tolist() == [[99], [1]]
    assert datasets.cifar100.load_data("coarse")[1][1].tolist() == [[19], [0]]
    with pytest.raises(ValueError, match="`label_mode` must be one of 'fine', 'coarse', got 'all'"):
        datasets.cifar100.load_data("all")
    (hundred / "test").write_bytes(pickle.dumps(old_style({"data": images(2, 10), "fine_labels": [1, 1]}), protocol))
    with pytest.raises(ValueError, match=r"should hold 2 rows of 3072 bytes, has uint8 of shape \(2, 10\)"):
        datasets.cifar100.load_data()
    (hundred / "test").write_bytes(pickle.dumps(old_style({"data": images(2, 10)}), protocol))
    with pytest.raises(ValueError, match="has no entry 'fine_labels'; it has data"):
        datasets.cifar100.load_data()


REVIEWS = [[1, 20, 3], [4, 500], [6], [7, 8, 9, 300], [2, 2]]


def test_imdb(folder):
    np.savez(
        folder / "imdb.npz", x_train=object_array(REVIEWS), y_train=np.array([0, 1, 0, 1, 1]),
        x_test=object_array([[5, 6], [7, 70000]]), y_test=np.array([1, 0]),
    )  # fmt: skip
    (x_train, y_train), (x_test, y_test) = datasets.imdb.load_data()
    order = np.arange(5)
    np.random.RandomState(113).shuffle(order)
    assert x_train[0] == [1, *(word + 3 for word in REVIEWS[order[0]])] and len(x_train) == 5
    assert y_train.tolist() == [[0, 1, 0, 1, 1][i] for i in order] and sorted(y_test.tolist()) == [0, 1]
    assert sorted(x_test.tolist()) == [[1, 8, 9], [1, 10, 2]]  # the largest number is left out
    (x_train, y_train), _ = datasets.imdb.load_data(num_words=10, skip_top=6, maxlen=4, start_char=None, oov_char=None)
    assert sorted(x_train.tolist()) == [[], [6], [7], [9]]
    with pytest.raises(ValueError, match="shorter than maxlen=1"):
        datasets.imdb.load_data(maxlen=1)
    with pytest.raises(TypeError, match="Unrecognized keyword arguments: words"):
        datasets.imdb.load_data(words=1)


def test_reuters(folder):
    np.savez(folder / "reuters.npz", x=object_array(REVIEWS), y=np.arange(5))
    (x_train, y_train), (x_test, y_test) = datasets.reuters.load_data(test_split=0.4, nb_words=10)
    assert len(x_train) == 3 and len(x_test) == 2 and sorted([*y_train, *y_test]) == [0, 1, 2, 3, 4]
    assert x_train[0] == [1, *(w + 3 if w + 3 < 10 else 2 for w in REVIEWS[y_train[0]])]


def test_word_numbers(folder):
    for name, module in (("imdb", datasets.imdb), ("reuters", datasets.reuters)):
        (folder / f"{name}_word_index.json").write_text(json.dumps({"the": 1}))
        assert module.get_word_index() == {"the": 1}


def test_boston_housing(folder):
    np.savez(folder / "boston_housing.npz", x=np.arange(20.0).reshape(10, 2), y=np.arange(10.0))
    (x_train, y_train), (x_test, y_test) = datasets.boston_housing.load_data(test_split=0.3)
    assert len(x_train) == 7 and len(x_test) == 3
    np.testing.assert_array_equal(x_train[:, 0], 2 * y_train)
    with pytest.raises(ValueError, match="test_split"):
        datasets.boston_housing.load_data(test_split=1.0)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100", "imdb", "reuters", "boston_housing"])
def test_a_missing_file(name):
    with pytest.raises(FileNotFoundError, match=r"\.keras/datasets/.* does not exist, and nothing is downloaded: put "):
        getattr(datasets, name).load_data()


def test_files_of_other_forms(folder):
    path = folder / "mnist.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="is no zip archive"):
        datasets.mnist.load_data()
    np.savez(path, x=np.zeros(1))
    with pytest.raises(ValueError, match=r"has no array 'x_train'; it has x\.npy"):
        datasets.mnist.load_data()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            archive.writestr(f"{name}.npy", b"rubbish")
    with pytest.raises(ValueError, match="magic string"):
        datasets.mnist.load_data()


class Opened:
    def __reduce__(self):
        return open, ("/tmp/written-by-a-pickle", "w")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "value",
    [{"a": [1, -5, 70000, 2**40, 1.5, None, True, "text", b"bytes"], 3: ((), (1,), (1, 2), (1, 2, 3, 4))}, [], {}],
)
def test_plain_data(value, protocol):
    assert read_pickle(pickle.dumps(value, protocol), "it") == value


@pytest.mark.parametrize("dtype", ["<f4", ">i2", "u1", "bool", "<i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(dtype, order):
    array = np.arange(6).reshape(2, 3).astype(dtype, order=order)
    for protocol in (2, 4):
        found = read_pickle(pickle.dumps(array, protocol), "it")
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_code_is_not_run(protocol):
    for value in (Opened(), [Opened()], np.array([Opened()], dtype=object), Exception, np.datetime64(1, "D")):
        with pytest.raises(ValueError, match="it"):
            read_pickle(pickle.dumps(value, protocol), "it")


def test_damaged_data():
    whole = pickle.dumps({"a": [1, 2, 300], "b": np.arange(3)}, 2)
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="^it"):
            read_pickle(whole[:end], "it")
    for bad in (b"\x80\x02P.", b"\x80\x02K\x01K\x02e.", b"\x80\x02(R.", b"\x80\x02)b.", b"\x80\x02K\x01)a.", b"I1\n."):
        with pytest.raises(ValueError, match="^it"):
            read_pickle(bad, "it")
