"""Signatures and the tensors in them."""

from typing import Any

import pytest

import headrace as tf

utils = tf.saved_model.signature_def_utils


def test_a_tensor_and_back() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    info = tf.saved_model.utils.build_tensor_info(x)
    assert (info.name, info.dtype, [d.size for d in info.tensor_shape.dim]) == ("x:0", 1, [-1, 3])
    assert tf.saved_model.get_tensor_from_tensor_info(info) is x
    assert tf.saved_model.build_tensor_info(tf.Variable(1.0, name="v")).name == "v:0"
    assert tf.saved_model.build_tensor_info(tf.placeholder(tf.int32)).tensor_shape.unknown_rank


def test_a_sparse_tensor_and_back() -> None:
    sparse = tf.sparse_placeholder(tf.int64, [2, 3], name="s")
    info = tf.saved_model.build_tensor_info(sparse)
    assert info.WhichOneof("encoding") == "coo_sparse"
    found = tf.saved_model.get_tensor_from_tensor_info(info)
    assert [t.name for t in (found.indices, found.values, found.dense_shape)] == [
        t.name for t in (sparse.indices, sparse.values, sparse.dense_shape)
    ]


def test_other_graphs_and_scopes() -> None:
    info = tf.saved_model.build_tensor_info(tf.placeholder(tf.float32, name="x"))
    with tf.Graph().as_default() as graph, tf.name_scope("inner"):
        x = tf.placeholder(tf.float32, name="x")
    assert tf.saved_model.get_tensor_from_tensor_info(info, graph, "inner") is x
    with pytest.raises(KeyError, match="'x:0' of a TensorInfo is not in the graph"):
        tf.saved_model.get_tensor_from_tensor_info(info, graph)
    info.ClearField("name")
    with pytest.raises(ValueError, match="Invalid TensorInfo.encoding: None"):
        tf.saved_model.get_tensor_from_tensor_info(info)


def test_kinds_of_signatures() -> None:
    text, number = tf.placeholder(tf.string, name="text"), tf.placeholder(tf.float32, name="number")
    predict = utils.predict_signature_def({"a": number}, {"b": text})
    classify = utils.classification_signature_def(text, text, number)
    regress = utils.regression_signature_def(text, number)
    assert [s.method_name.split("/")[-1] for s in (predict, classify, regress)] == ["predict", "classify", "regress"]
    assert [sorted(s.outputs) for s in (predict, classify, regress)] == [["b"], ["classes", "scores"], ["outputs"]]
    assert all(map(utils.is_valid_signature, (predict, classify, regress)))
    assert list(utils.classification_signature_def(text, None, number).outputs) == ["scores"]
    for wrong in (classify, regress):
        wrong.inputs["inputs"].dtype = 1
        assert not utils.is_valid_signature(wrong)
    predict.method_name = "other"
    assert not utils.is_valid_signature(predict)
    assert not utils.is_valid_signature(None)
    assert not utils.is_valid_signature(utils.build_signature_def(method_name="tensorflow/serving/predict"))


def test_what_is_refused() -> None:
    text, number = tf.placeholder(tf.string), tf.placeholder(tf.float32)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: utils.predict_signature_def({}, {"y": number}), ValueError, "`inputs` cannot be None or empty"),
        (lambda: utils.predict_signature_def({"x": number}, [number]), TypeError, "`outputs` must be a dict"),
        (lambda: utils.predict_signature_def({"x": 3}, {"y": number}), TypeError, "it was given 3 of type int"),
        (lambda: utils.classification_signature_def(None, text, None), ValueError, "`examples` cannot be None"),
        (lambda: utils.classification_signature_def("x", text, None), ValueError, "must be a string Tensor"),
        (lambda: utils.classification_signature_def(text, None, None), ValueError, "cannot both be None"),
        (
            lambda: utils.classification_signature_def(text, number, None),
            ValueError,
            "`classes` must be of type string",
        ),
        (lambda: utils.regression_signature_def(number, number), ValueError, "`examples` must be of type string"),
        (lambda: utils.regression_signature_def(text, None), ValueError, "`predictions` cannot be None"),
        (lambda: utils.regression_signature_def(text, text), ValueError, "`predictions` must be of type float32"),
        (lambda: utils.build_signature_def({"x": number}), TypeError, "must be a TensorInfo"),
    ]
    for make, error, words in cases:
        with pytest.raises(error, match=words):
            make()


def test_constants() -> None:
    constants, names = tf.saved_model.constants, tf.saved_model.signature_constants
    assert (constants.SAVED_MODEL_FILENAME_PB, constants.MAIN_OP_KEY) == ("saved_model.pb", "saved_model_main_op")
    assert names.DEFAULT_SERVING_SIGNATURE_DEF_KEY == tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    assert tf.saved_model.tag_constants.SERVING == "serve"
