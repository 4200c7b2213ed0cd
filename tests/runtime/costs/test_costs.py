"""Costs as users see them: kept in a file, and used for other graphs."""

import json

import pytest

import headrace as tf
from headrace.passes.cost.measured import Measured
from headrace.profiler import Costs


@pytest.fixture
def costs():
    made = Costs()
    made.add(Measured.of_rows([("CPU", "Exp(float32[2]; )", 1e-6, 2), ("GPU", "MatMul()", 3e-3, 1)]))
    return made


def test_they_are_kept_in_a_file_and_added_up(costs, tmp_path):
    path = str(tmp_path / "costs.json")
    costs.save(path)
    other = Costs()
    other.add(Measured.of_rows([("CPU", "Exp(float32[2]; )", 4e-6, 1)]))
    other.load(path)
    assert list(other) == [("CPU", "Exp(float32[2]; )", pytest.approx(2e-6), 3), ("GPU", "MatMul()", 3e-3, 1)]
    assert len(other) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["costs.json"]


def test_the_costliest_are_shown_first(costs):
    text = str(costs)
    assert text.startswith("measured costs of 2 nodes")
    assert text.index("MatMul") < text.index("Exp")


@pytest.mark.parametrize(
    "text",
    [
        "no JSON", "[]", "{}", '{"format": "other", "costs": []}',
        json.dumps({"format": "headrace costs 1", "costs": [["CPU", "a", -1.0, 1]]}),
        json.dumps({"format": "headrace costs 1", "costs": [["CPU", "a"]]}), "[" * 100_000,
        '{"format": "headrace costs 1", "costs": [["CPU", "a", 1e-6, 1e400]]}', "\udcff",
        '{"format": "headrace costs 1", "costs": [["CPU", "a", 1' + "0" * 400 + ", 1]]}",
    ],
)  # fmt: skip
def test_a_file_that_holds_something_else_is_refused(text, tmp_path, costs):
    path = tmp_path / "costs.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"costs\.json holds no costs"):
        costs.load(str(path))
    assert len(costs) == 2


def test_an_endless_file_is_not_read_to_its_end(tmp_path, costs, monkeypatch):
    path = tmp_path / "costs.json"
    costs.save(str(path))
    monkeypatch.setattr("headrace.runtime.costs.costs.LARGEST", 10)
    with pytest.raises(ValueError, match="holds no costs"):
        costs.load(str(path))


def test_costs_of_one_graph_hold_for_equal_nodes_of_another():
    def build():
        x = tf.placeholder(tf.float32, [3, 3])
        return x, tf.matmul(x, x)

    x, y = build()
    with tf.Session() as session:
        session.measure_costs(y, {x: [[1.0] * 3] * 3}, runs=2)
        kept = session.costs
    with tf.Graph().as_default(), tf.Session() as other:
        x, y = build()
        other.costs.add(kept)
        assert other.predict_cost(y, feeds=[x]).measured == 1.0
