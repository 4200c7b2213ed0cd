"""The modules at the top: TensorFlow's names and no others, each where TensorFlow has it."""

import importlib
import pkgutil

import headrace as tf
from headrace.tensorflow import finder, names

# Ours, and no part of the system: the program that starts unedited TensorFlow programs, and the faces for those who add ops, and
# for those who plan clusters.
OURS = {"extend", "simulate", "tensorflow"}


def test_dir_shows_no_part_of_the_system() -> None:
    import headrace.models
    import headrace.passes
    import headrace.tools

    parts = {m.name for m in pkgutil.iter_modules(tf.__path__) if m.ispkg and not _is_face(m.name)}
    assert {"core", "graph", "library", "runtime"} <= parts
    assert [name for name in dir(tf) if name in parts - {"eager"} | OURS] == []
    assert headrace.passes.__name__ == "headrace.passes"


def _is_face(package: str) -> bool:
    """Whether TensorFlow has a module of this name."""
    return package in {
        "compat",
        "config",
        "keras",
        "contrib",
        "data",
        "distribute",
        "estimator",
        "examples",
        "io",
        "lookup",
        "nn",
        "saved_model",
        "train",
    }


def test_dir_shows_every_public_name() -> None:
    shown = set(dir(tf))
    assert {"Session", "nn", "train", "contrib", "__version__", "newaxis"} <= shown
    assert {name for name in vars(tf) if not name.startswith("_")} - shown <= tf._PARTS
    assert not any(name.endswith(("_experimental", "_gfile")) for name in shown)


def test_namespaces_below_namespaces_are_modules() -> None:
    for name in ("io.gfile", "lookup.experimental", "nn.rnn_cell", "saved_model.loader", "train.experimental"):
        module = importlib.import_module(f"headrace.{name}")
        parent, _, last = name.partition(".")
        assert getattr(getattr(tf, parent), last) is module


def test_the_places_of_private_modules_in_the_library_exist() -> None:
    """A place that is planned (tf.data, say) may be absent; a file of the library that moved away may not."""
    places = {place for where in names.MODULES.values() for place in where if place.startswith("library.")}
    assert places
    assert [place for place in sorted(places) if finder.target(place) is None] == []
