"""The log of examples/dashboard.py, and what TensorBoard makes of it and of a large graph in a browser.

`make pictures` keeps what the browser shows in docs/pictures.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from examples.browser import Board, browser, tensorboard
from examples.conftest import FOLDER
from examples.run_both import load
from google.protobuf import text_format

import headrace as tf

STEPS = 600
LAYERS = ("conv1", "conv2", "features", "logits")
LARGE = 36_000  # nodes of Inception in the white paper, section 9.1
PICTURES = os.environ.get("HEADRACE_PICTURES")

pytestmark = pytest.mark.allow_leaks(reason="the browser and TensorBoard live as long as the module")


def events(folder: Path) -> list[Any]:
    """What the event file in a folder holds."""
    (path,) = folder.glob("events.out.tfevents.*")
    return list(tf.train.summary_iterator(str(path)))


def test_the_log_has_every_kind_of_summary(example: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    losses = example("dashboard")["main"](["--folder", str(tmp_path), "--steps", "2"])
    assert len(losses) == 2
    train, test = ({v.tag for e in events(tmp_path / run) for v in e.summary.value} for run in ("train", "test"))
    curves = {"quality/loss", "quality/accuracy", "training/rate"}
    histograms = {f"{kind}/{layer}" for kind in ("weights", "gradients") for layer in LAYERS}
    assert train == curves | histograms | {"configuration", "weights/filters/image"}
    assert test == curves | {"mistakes/table", "mistakes/confusion/image", "mistakes/digits/image"}
    (traced,) = [e.tagged_run_metadata for e in events(tmp_path / "train") if e.HasField("tagged_run_metadata")]
    assert traced.tag == "step 1"
    projector = tf.contrib.tensorboard.plugins.projector
    config = (tmp_path / "test" / "projector_config.pbtxt").read_text()
    (embedding,) = text_format.Parse(config, projector.ProjectorConfig()).embeddings
    for name in (embedding.tensor_path, embedding.metadata_path, embedding.sprite.image_path):
        assert (tmp_path / "test" / name).stat().st_size > 0


def test_no_steps_are_refused(refuses: Callable[..., str]) -> None:
    assert "--steps must be at least 1, not 0" in refuses("dashboard", "--folder", "unused", "--steps", "0")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def board(driver: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """TensorBoard on the log of the whole training."""
    folder = tmp_path_factory.mktemp("log") / "digits"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_COMPILE", "off")
        load(FOLDER / "dashboard.py")["main"](["--folder", str(folder), "--steps", str(STEPS)])
    with tensorboard(folder) as address:
        yield Board(driver, address, Path(PICTURES) if PICTURES else None)


def last_values(card: str) -> dict[str, float]:
    """The value of each run at the last step, from the table below a chart."""
    return {run: float(value) for run, value in re.findall(rf"\b(test|train)\|\S+?\|(\S+?)\|{STEPS - 1}\b", card)}


def test_scalars(full_length: None, board: Board) -> None:
    board.open("timeseries")
    board.click("button", "Scalars")

    def cards() -> list[str]:
        board.script("find('button[aria-label=\"Expand group\"]').forEach(button => button.click())")
        there = board.texts("scalar-card")
        return there if len(there) == 3 and all(last_values(card).keys() == {"test", "train"} for card in there) else []

    accuracy, loss, rate = sorted(board.wait(cards, "three charts with values of two runs"))
    assert accuracy.startswith("quality|/accuracy") and min(last_values(accuracy).values()) > 0.9
    assert loss.startswith("quality|/loss") and max(last_values(loss).values()) < 0.3
    assert rate.startswith("training|/rate") and last_values(rate) == {"test": 0.0004, "train": 0.0004}


def test_curves(full_length: None, board: Board) -> None:
    board.open("scalars")
    cards = board.wait_for("tf-scalar-card", "training/rate|", "quality/accuracy|", "quality/loss|", "600")
    assert len(cards) == 3
    board.picture("scalars")


def test_histograms(full_length: None, board: Board) -> None:
    board.open("histograms")
    tags = [f"tag:|{kind}/{layer}" for kind in ("weights", "gradients") for layer in LAYERS]
    cards = board.wait_for("tf-histogram-loader", *tags, "500")
    assert len(cards) == len(tags)
    board.picture("histograms")


def test_distributions(full_length: None, board: Board) -> None:
    board.open("distributions")
    tags = [f"tag:|{kind}/{layer}" for kind in ("weights", "gradients") for layer in LAYERS]
    assert len(board.wait_for("tf-distribution-loader", *tags)) == len(tags)


def test_images(full_length: None, board: Board) -> None:
    board.open("images")
    board.wait_for(
        "tf-image-loader", "weights/filters/image", "mistakes/confusion/image", "mistakes/digits/image", "599"
    )
    sizes = "return find('img').map(i => i.complete && i.naturalWidth)"
    board.wait(lambda: sorted(board.script(sizes)) == [240, 432, 640], "three pictures")
    board.picture("images")


def test_text(full_length: None, board: Board) -> None:
    board.open("text")
    board.wait_for("tf-text-loader", "mistakes/table", "configuration")
    board.wait_for("td", "two convolutions, 32 features, ten logits", "taken for")
    assert board.texts("td strong") == ["Adam"]
    board.picture("text")


def test_projector(full_length: None, board: Board) -> None:
    board.open("projector")
    board.enter_projector()
    board.click("#colorby paper-item", "label|10  colors")
    board.wait_for("vz-projector-legend", "0|41|1|41|2|41|3|42|4|39|5|40|6|39|7|39|8|39|9|39")
    assert "Points:|400|Dimension:|32" in board.script("return text(document.body)")
    board.picture("projector", turning=True)


def test_graph(full_length: None, board: Board) -> None:
    board.open("graphs")
    board.wait(lambda: {*LAYERS, "input", "loss", "train"} <= board.nodes().keys(), "the scopes of the network")
    edges = board.texts("g.edge text")
    assert {"?×8×8×1", "?×4×4×16", "?×2×2×32", "?×128", "?×32", "?×10"} <= set(edges), "shapes"
    board.click("paper-button", "Fit to screen")
    board.picture("graph")


def test_graph_of_a_traced_step(full_length: None, board: Board) -> None:
    board.open("graphs")
    board.click("paper-item", "step 599")
    board.wait(lambda: board.script("return find('#memory-radio-button').some(b => !b.disabled)"), "memory to color by")
    for choice in ("#compute-time-radio-button", "#memory-radio-button"):
        board.click(choice)
        board.wait(lambda: len({board.nodes()[layer] for layer in LAYERS}) > 1, f"different colors by {choice}")
    assert "Devices included in stats:|CPU:0" in board.texts("tf-graph-controls")[0]
    board.choose_node("conv1", "conv1|Subgraph:", "Node Stats|Memory|832 KB|Compute Time|")
    board.open_scope("conv1", "Conv2D", "BiasAdd", "Relu", "MaxPool")
    board.picture("trace")
    card = board.choose_node("conv1/Conv2D", "Operation:|Conv2D", "Memory|256 KB")
    assert "Tensor Output Sizes|[64, 8, 8, 16]" in card
    assert "Device|/job:localhost/replica:0/task:0/device:CPU:0" in card
    board.click("paper-radio-button", "Device")
    board.wait(lambda: board.nodes()["conv2"] == 'url("#device-conv2")', "colors by device")


@pytest.fixture(scope="module")
def large(driver: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """TensorBoard on the graph of a deep recurrent network, unrolled."""
    folder = tmp_path_factory.mktemp("large")
    with tf.Graph().as_default() as graph:
        inputs = tf.placeholder(tf.float32, [64, 175, 128], name="inputs")
        outputs = tf.unstack(inputs, axis=1, name="steps")
        for layer in range(4):
            with tf.variable_scope(f"layer{layer + 1}"):
                outputs, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(128), outputs, dtype=tf.float32)
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(tf.square(outputs[-1]))
        with tf.name_scope("train"):
            tf.train.AdamOptimizer().minimize(loss)
        assert len(graph.get_operations()) >= LARGE
        tf.summary.FileWriter(folder, graph).close()
    with tensorboard(folder) as address:
        yield Board(driver, address, Path(PICTURES) if PICTURES else None)


def test_a_large_graph(full_length: None, large: Board) -> None:
    large.open("graphs")
    scopes = {"inputs", *(f"layer{i}" for i in range(1, 5)), "loss", "train"}
    large.wait(lambda: scopes <= large.nodes().keys(), "the layers of a large graph")
    large.choose_node("layer2", "layer2|Subgraph:")
    large.open_scope("layer2", "rnn")
    large.picture("large_graph")
    large.open_scope("layer2/rnn", "basic_lstm_cell")
    cell = "layer2/rnn/basic_lstm_cell"
    large.choose_node(cell, "basic_lstm_cell", "Subgraph:")
    large.open_scope(cell, "MatMul")
    large.choose_node(f"{cell}/MatMul", "Operation:|MatMul", "64×512")
