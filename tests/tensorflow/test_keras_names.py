"""`import keras` that means tf.keras, on request."""

import importlib
import sys
from collections.abc import Iterator

import pytest

import headrace
import headrace.tensorflow as alias
from headrace.tensorflow import finder, keras_names
from headrace.tensorflow.__main__ import main

IMPORTS = """
from keras.models import Sequential, Model, load_model, model_from_json
from keras.layers import Dense, Dropout, Input, LSTM
from keras.layers.core import Activation, Flatten, Lambda
from keras.layers.convolutional import Conv2D, MaxPooling2D
from keras.layers.normalization import BatchNormalization
from keras.layers.recurrent import GRU
from keras.layers.wrappers import Bidirectional, TimeDistributed
from keras.layers.merge import concatenate
from keras.layers.embeddings import Embedding
from keras.layers.advanced_activations import LeakyReLU
from keras.engine import InputSpec, Layer
from keras.engine.topology import Layer as Same
from keras.utils import np_utils, to_categorical, plot_model
from keras.utils.np_utils import to_categorical as also
from keras.utils.training_utils import multi_gpu_model
from keras.utils.generic_utils import get_custom_objects
from keras.preprocessing.image import ImageDataGenerator
from keras.preprocessing.text import Tokenizer
from keras.preprocessing import sequence
from keras.callbacks import EarlyStopping, ModelCheckpoint
from keras.optimizers import SGD
from keras.applications.vgg16 import VGG16
from keras.applications.imagenet_utils import decode_predictions
from keras.datasets import mnist
from keras.wrappers.scikit_learn import KerasClassifier
from keras import backend as K, objectives, regularizers
import keras.backend.tensorflow_backend as KTF
import keras
"""


@pytest.fixture
def keras() -> Iterator[None]:
    alias.install(keras=True)
    yield
    alias.uninstall()
    assert "keras" not in sys.modules


def test_modules_of_keras_2(keras: None) -> None:
    names: dict[str, object] = {}
    exec(IMPORTS, names)
    tf = headrace
    assert names["Dense"] is tf.keras.layers.Dense and names["Same"] is names["Layer"] is tf.keras.layers.Layer
    assert names["also"] is names["np_utils"].to_categorical is tf.keras.utils.to_categorical
    assert names["objectives"].mse is tf.keras.losses.mse and names["KTF"].get_session is tf.keras.backend.get_session
    assert names["keras"].__version__ == keras_names.VERSION and "Sequential" in dir(names["keras"])


def test_every_place_is_there() -> None:
    for module, places in keras_names.MODULES.items():
        missing = [place for place in places if finder.target(place) is None]
        assert not missing, (module, missing)


def test_what_is_missing_is_named(keras: None) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'keras.zork': Headrace has no tf.keras.zork"):
        importlib.import_module("keras.zork")
    module = importlib.import_module("keras.layers")
    with pytest.raises(AttributeError, match="Headrace has no tf.keras.layers.Densee; nearest: tf.keras.layers.Dense"):
        _ = module.Densee


def test_only_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    try:
        alias.install()
        assert not any(isinstance(one, finder.KerasFinder) for one in sys.meta_path)
        assert main(["--keras", "-c", "import keras, sys; print(keras.layers.Dense.__module__, sys.argv)", "a"]) == 0
        assert capsys.readouterr().out == "headrace.library.layers.core ['-c', 'a']\n"
    finally:
        alias.uninstall()
    assert main(["--keras"]) == 2 and "usage:" in capsys.readouterr().err


def test_a_keras_that_is_there_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", sys)
    with pytest.raises(ImportError, match="Keras is already imported"):
        alias.install(keras=True)
