"""slim.nets: sizes, names and values of the networks.  The numbers of parameters are of TensorFlow's tests, or published."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf

slim = tf.contrib.slim
nets = slim.nets


def _parameters(variables: Any) -> int:
    return sum(v.shape.num_elements() for v in variables)


@pytest.mark.parametrize(
    ("network", "layers", "parameters"),
    [
        (nets.vgg.vgg_a, 11, 132_863_336),
        (nets.vgg.vgg_16, 16, 138_357_544),
        (nets.vgg.vgg_19, 19, 143_667_240),
    ],
)
def test_vgg(network: Callable[..., Any], layers: int, parameters: int) -> None:
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        logits, ends = network(tf.placeholder(tf.float32, [5, 224, 224, 3]))
    name = network.__name__
    assert logits.op.name == f"{name}/fc8/squeezed" and logits.shape == (5, 1000)
    assert _parameters(slim.get_model_variables()) == parameters
    assert len(slim.get_model_variables()) == 2 * layers == 2 * (len(ends) - 5)
    assert f"{name}/conv5/conv5_2/weights" in {v.op.name for v in slim.get_model_variables()}
    assert ends[f"{name}/pool5"].shape == (5, 7, 7, 512)


def test_alexnet_and_overfeat() -> None:
    with slim.arg_scope(nets.alexnet.alexnet_v2_arg_scope()):
        logits, ends = nets.alexnet.alexnet_v2(tf.zeros([5, 224, 224, 3]), 10)
    assert logits.op.name == "alexnet_v2/fc8/squeezed" and logits.shape == (5, 10)
    assert ends["alexnet_v2/pool5"].shape == (5, 5, 5, 256)
    with slim.arg_scope(nets.overfeat.overfeat_arg_scope()):
        logits, ends = nets.overfeat.overfeat(tf.zeros([5, 231, 231, 3]), 10, spatial_squeeze=False)
    assert logits.op.name == "overfeat/fc8/BiasAdd" and logits.shape == (5, 1, 1, 10)
    layers = ["conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5", "fc6", "fc7", "fc8"]
    assert list(ends) == [f"overfeat/{layer}" for layer in layers]


def _small(version: str, x: Any, output_stride: int | None, reuse: bool = False) -> Any:
    module = getattr(nets, f"resnet_{version}")
    block = getattr(module, f"resnet_{version}_block")
    blocks = [block(f"block{i}", i, 2, 2) for i in (1, 2, 3)]
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        return getattr(module, f"resnet_{version}")(
            x, blocks, None, False, False, output_stride, include_root_block=False, reuse=reuse, scope="small"
        )


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_rates_in_place_of_strides_give_the_same_values(version: str) -> None:
    x = tf.constant(np.random.RandomState(0).rand(1, 19, 19, 3), tf.float32)
    sparse, ends = _small(version, x, None)
    dense, _ = _small(version, x, 2, reuse=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        few, many = session.run([sparse, dense])
    assert few.shape == (1, 3, 3, 12) and many.shape == (1, 10, 10, 12)
    np.testing.assert_allclose(few, many[:, ::4, ::4], rtol=1e-4, atol=1e-5)
    assert {f"small/block2/unit_1/bottleneck_{version}/conv2", "small/block3"} <= set(ends)


def test_a_stride_that_cannot_be_reached() -> None:
    with pytest.raises(ValueError, match="output_stride cannot be reached"):
        _small("v1", tf.zeros([1, 19, 19, 3]), 3)


INCEPTION = {
    "inception_v1": (224, 5_607_184, (2, 7, 7, 1024), "InceptionV1/Mixed_5b/Branch_2/Conv2d_0a_3x3/weights"),
    "inception_v2": (224, 10_173_112, (2, 7, 7, 1024), "InceptionV2/Conv2d_1a_7x7/depthwise_weights"),
    "inception_v3": (299, 21_802_784, (2, 8, 8, 2048), "InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights"),
}


@pytest.mark.parametrize("name", INCEPTION)
def test_inception(name: str, full_length: None) -> None:
    size, parameters, shape, variable = INCEPTION[name]
    with slim.arg_scope(getattr(nets.inception, f"{name}_arg_scope")()):
        net, _ = getattr(nets.inception, f"{name}_base")(tf.zeros([2, size, size, 3]))
        assert net.shape == shape and _parameters(slim.get_model_variables()) == parameters
        assert variable in {v.op.name for v in slim.get_model_variables()}
    with tf.Graph().as_default(), slim.arg_scope(getattr(nets.inception, f"{name}_arg_scope")()):
        logits, ends = getattr(nets.inception, name)(tf.zeros([2, size, size, 3]), 10)
        assert logits.shape == ends["Predictions"].shape == (2, 10)
        if name == "inception_v3":
            assert ends["AuxLogits"].shape == (2, 10) and ends["Mixed_6e"].shape == (2, 17, 17, 768)


def test_resnets(full_length: None) -> None:
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        net, ends = nets.resnet_v1.resnet_v1_50(tf.zeros([2, 224, 224, 3]), 1000)
        assert _parameters(tf.trainable_variables()) == 25_557_032
        assert net.shape == (2, 1, 1, 1000) and ends["resnet_v1_50/block3"].shape == (2, 7, 7, 1024)
        with tf.Graph().as_default():
            net, ends = nets.resnet_v2.resnet_v2_50(tf.zeros([2, 225, 225, 3]), global_pool=False, output_stride=16)
            assert net.shape == (2, 15, 15, 2048)
            assert "resnet_v2_50/postnorm/gamma" in {v.op.name for v in tf.trainable_variables()}
