"""The items that handlers make of the features of examples."""

from typing import Any

import numpy as np
import pytest

import headrace as tf

decoders = tf.contrib.slim.tfexample_decoder
PICTURE = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def _example(**features: Any) -> bytes:
    def feature(values: Any) -> Any:
        values = np.atleast_1d(values).tolist()
        if isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        values = [v if isinstance(v, bytes) else v.encode() for v in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    described = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=described)).SerializeToString()


def _decoded(features: Any, handlers: Any, **values: Any) -> Any:
    decoder = decoders.TFExampleDecoder(features, handlers)
    tensors = decoder.decode(tf.constant(_example(**values)))
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        return sess.run(dict(zip(decoder.list_items(), tensors, strict=True)))


def _encoded(encode: Any) -> bytes:
    return tf.Session().run(encode(tf.constant(PICTURE)))


def test_tensors_boxes_and_functions() -> None:
    features = {
        "dense": tf.FixedLenFeature([4], tf.float32),
        "one": tf.FixedLenFeature((), tf.int64),
        "some": tf.VarLenFeature(tf.int64),
        "height": tf.FixedLenFeature([1], tf.int64),
        "width": tf.VarLenFeature(tf.int64),  # of one element
        "names": tf.VarLenFeature(tf.string),
        "missing": tf.VarLenFeature(tf.int64),
        **{f"box/{side}": tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")},
    }
    table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"])
    items = _decoded(
        features,
        {
            "plain": decoders.Tensor("dense"),
            "square": decoders.Tensor("dense", shape=[2, 2]),
            "scalar": decoders.Tensor("one"),
            "listed": decoders.Tensor("some"),
            "shaped": decoders.Tensor("some", shape_keys=["height", "width"]),
            "ids": decoders.LookupTensor("names", table),
            "boxes": decoders.BoundingBox(prefix="box/"),
            "turned": decoders.BoundingBox(["xmin", "ymin", "xmax", "ymax"], "box/"),
            "sum": decoders.ItemHandlerCallback(["one", "height"], lambda t: t["one"] + t["height"]),
            "backup": decoders.BackupHandler(decoders.Tensor("missing"), decoders.Tensor("some")),
            "primary": decoders.BackupHandler(decoders.Tensor("some"), decoders.Tensor("missing")),
        },
        dense=[1.0, 2.0, 3.0, 4.0],
        one=7,
        some=[1, 2, 3, 4, 5, 6],
        height=2,
        width=3,
        names=["dog", "cat", "dog"],
        **{"box/ymin": [0.0, 0.1], "box/xmin": [0.2, 0.3], "box/ymax": [0.4, 0.5], "box/xmax": [0.6, 0.7]},
    )
    assert items["plain"].tolist() == [1, 2, 3, 4] and items["square"].tolist() == [[1, 2], [3, 4]]
    assert items["scalar"] == 7 and items["listed"].tolist() == [1, 2, 3, 4, 5, 6]
    assert items["shaped"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert items["ids"].tolist() == [1, 0, 1]
    np.testing.assert_allclose(items["boxes"], [[0.0, 0.2, 0.4, 0.6], [0.1, 0.3, 0.5, 0.7]], rtol=1e-6)
    np.testing.assert_allclose(items["turned"], items["boxes"][:, [1, 0, 3, 2]], rtol=1e-6)
    assert items["sum"].tolist() == [9]
    assert items["backup"].tolist() == items["primary"].tolist() == [1, 2, 3, 4, 5, 6]


def test_sparse_tensors() -> None:
    features = {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "shape": tf.VarLenFeature(tf.int64),
    }
    handlers = {
        "sparse": decoders.SparseTensor(shape=[6]),
        "dense": decoders.SparseTensor(shape=[6], densify=True, default_value=-1.0),
        "by_key": decoders.SparseTensor(shape_key="shape", densify=True),
    }
    items = _decoded(features, handlers, indices=[1, 4], values=[0.5, 2.0], shape=[5])
    assert items["sparse"].indices.tolist() == [[1], [4]] and items["sparse"].dense_shape.tolist() == [6]
    assert items["dense"].tolist() == [-1, 0.5, -1, -1, 2, -1]
    assert items["by_key"].tolist() == [0, 0.5, 0, 0, 2]


@pytest.mark.parametrize("kind", ["png", "jpeg", "raw"])
def test_images(kind: str) -> None:
    contents = {"png": tf.image.encode_png, "jpeg": tf.image.encode_jpeg}.get(kind)
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="jpeg"),
    }
    shape = [4, 5, 3]
    handlers = {
        "image": decoders.Image(shape=shape),
        "wide": decoders.Image(shape=shape, dtype=tf.uint8 if kind == "raw" else tf.float32),
    }
    if kind != "raw":
        handlers["unknown"] = decoders.Image()
    encoded = PICTURE.tobytes() if contents is None else _encoded(contents)
    items = _decoded(features, handlers, **{"image/encoded": encoded, "image/format": kind})
    for image in items.values():
        assert image.shape == (4, 5, 3)
        assert np.abs(image.astype(int) - PICTURE).max() <= (25 if kind == "jpeg" else 0)


def test_repeated_images() -> None:
    features = {
        "image/encoded": tf.FixedLenFeature((2,), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
    }
    images = _decoded(
        features, {"all": decoders.Image(repeated=True)}, **{"image/encoded": [_encoded(tf.image.encode_png)] * 2}
    )
    assert images["all"].tolist() == [PICTURE.tolist()] * 2


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"expects 4 keys but got 2.*test_item_handler\.py:\d+"):
        decoders.BoundingBox(["a", "b"])
    with pytest.raises(ValueError, match="both shape_keys and shape: got 'h' and"):
        decoders.Tensor("x", shape_keys="h", shape=[1])
    with pytest.raises(ValueError, match="Backup handler is of type"):
        decoders.BackupHandler(decoders.Tensor("x"), 3)
    with pytest.raises(NotImplementedError, match="must define tensors_to_item"):
        decoders.ItemHandler("x").tensors_to_item({})
