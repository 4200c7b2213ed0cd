"""Rewrites of matrix products: before and after as text, and the same values through a session."""

import numpy as np
import pytest
from passes.steps import lines, piped, step
from running import run

import headrace as tf
from headrace.passes.accumulate_product import SMALLEST
from headrace.passes.sum_products import sum_products


def _terms(count: int, transpose: bool = True):
    rng = np.random.RandomState(0)
    a = [tf.placeholder(tf.float32, [4, 3], name=f"a{i}") for i in range(count)]
    b = [tf.placeholder(tf.float32, [4, 5], name=f"b{i}") for i in range(count)]
    values = {t: rng.randn(*t.shape.as_list()).astype(np.float32) for t in (*a, *b)}
    products = [tf.matmul(x, y, transpose_a=transpose, name=f"p{i}") for i, (x, y) in enumerate(zip(a, b, strict=True))]
    return products, values


class TestSumProducts:
    def test_becomes_one_product(self) -> None:
        products, values = _terms(3)
        total = tf.add_n(products, name="total")
        after = lines(step([total], list(values), [], sum_products))
        assert any(line.startswith("%total/product = MatMul(%total/concat_a, %total/concat_b)") for line in after)
        assert not any("AddN" in line or "%p0" in line for line in after)
        assert after[-1] == "fetch %total/product"

    def test_same_value(self) -> None:
        products, values = _terms(4)
        total = tf.add_n(products)
        expected = sum(values[t.op.inputs[0]].T @ values[t.op.inputs[1]] for t in products)
        np.testing.assert_allclose(run(total, values), expected, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("why", ["two terms", "a term is used elsewhere", "a term is fetched"])
    def test_left_alone(self, why: str) -> None:
        products, values = _terms(2 if why == "two terms" else 3)
        total = tf.add_n(products, name="total")
        fetches = [total]
        if why == "a term is used elsewhere":
            fetches.append(tf.negative(products[0]))
        if why == "a term is fetched":
            fetches.append(products[0])
        assert any("%total = AddN" in line for line in lines(step(fetches, list(values), [], sum_products)))

    @pytest.mark.parametrize("bias", [lambda b: tf.reduce_sum(b, 0), lambda b: tf.raw_ops.BiasAddGrad(out_backprop=b)])
    def test_rows_of_its_operands_are_summed_together(self, bias) -> None:  # type: ignore[no-untyped-def]
        products, values = _terms(4)
        operands = [t.op.inputs[1] for t in products]
        total = tf.add_n(products, name="total")
        rows = tf.add_n([bias(b) for b in reversed(operands)], name="rows")
        after = lines(step([total, rows], list(values), [], sum_products))
        assert any(line.startswith("%rows/total = ") and "(%total/concat_b" in line for line in after)
        assert not any("AddN" in line for line in after)
        found = run([total, rows], values)[1]
        np.testing.assert_allclose(found, sum(values[b].sum(0) for b in operands), rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("why", ["not all operands", "columns", "other operands", "an operand twice"])
    def test_sums_left_alone(self, why: str) -> None:
        products, values = _terms(4)
        operands = [t.op.inputs[0 if why == "columns" else 1] for t in products]
        if why == "not all operands":
            operands = operands[:3]
        if why == "other operands":
            operands = [tf.abs(b) for b in operands]
        if why == "an operand twice":
            operands.append(operands[0])
        rows = tf.add_n([tf.reduce_sum(b, 1 if why == "columns" else 0) for b in operands], name="rows")
        numbers = tf.add_n([tf.constant([1.0 + i]) for i in range(3)], name="numbers")
        after = lines(step([tf.add_n(products), rows, numbers], list(values), [], sum_products))
        assert {"%rows = AddN", "%numbers = AddN"} <= {line.split("(")[0] for line in after}


class TestAccumulateProduct:
    def _update(self, rows: int):
        x = tf.placeholder(tf.float32, [8, rows], name="x")
        d = tf.placeholder(tf.float32, [8, 256], name="d")
        w = tf.Variable(np.zeros([rows, 256], np.float32), name="w")
        gradient = tf.matmul(x, d, transpose_a=True, name="g")
        update = tf.raw_ops.ApplyGradientDescent(w._ref(), 0.5, gradient, name="u")
        return x, d, w, gradient, update

    def test_becomes_one_update(self) -> None:
        x, d, _, _, update = self._update(SMALLEST // 256)
        after = lines(piped([], [x, d], [update.op]))
        assert any(line.startswith("%u = _ApplyProduct(%w, ") for line in after)
        assert not any("MatMul" in line for line in after)

    @pytest.mark.parametrize("why", ["small", "fetched"])
    def test_left_alone(self, why: str) -> None:
        x, d, _, gradient, update = self._update(4 if why == "small" else SMALLEST // 256)
        fetches = [gradient] if why == "fetched" else []
        after = lines(piped(fetches, [x, d], [update.op]))
        assert any("MatMul" in line for line in after)

    def test_same_values_as_without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x, d, w, _, update = self._update(SMALLEST // 256)
        rng = np.random.RandomState(0)
        feed = {x: rng.randn(8, SMALLEST // 256).astype(np.float32), d: rng.randn(8, 256).astype(np.float32)}
        results = []
        for reference in ("0", "1"):
            monkeypatch.setenv("HEADRACE_DETERMINISTIC", reference)
            with tf.Session() as sess:
                sess.run(w.initializer)
                sess.run(update.op, feed)
                results.append(sess.run(w))
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
        assert np.abs(results[0]).max() > 1

    def test_momentum(self) -> None:
        x, d, w, gradient, _ = self._update(SMALLEST // 256)
        train = tf.train.MomentumOptimizer(0.5, 0.9).apply_gradients([(gradient, w)])
        text = piped([], [x, d], [train]).to_text()
        assert "_ApplyMomentumProduct" in text
        nesterov = tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True, name="N").apply_gradients([(gradient, w)])
        assert "_ApplyMomentumProduct" not in piped([], [x, d], [nesterov]).to_text()


class TestShareTranspose:
    def _products(self, count: int, rows: int = 256):
        rng = np.random.RandomState(0)
        w = tf.Variable(rng.randn(rows, 300).astype(np.float32), name="w")
        xs = [tf.placeholder(tf.float32, [2, 300], name=f"x{i}") for i in range(count)]
        feed = {x: rng.randn(2, 300).astype(np.float32) for x in xs}
        return w, [tf.matmul(x, w, transpose_b=True) for x in xs], feed

    def test_transposed_once(self) -> None:
        _, products, feed = self._products(5)
        text = lines(piped(products, list(feed), []))
        assert sum("_TransposeCopy(" in line for line in text) == 1
        assert sum("transpose_b=False" in line for line in text) == 5

    def test_few_products_stay(self) -> None:
        _, products, feed = self._products(4)
        assert "_TransposeCopy" not in piped(products, list(feed), []).to_text()

    def test_tiny_matrices_stay(self) -> None:
        _, products, feed = self._products(5, rows=54)
        assert "_TransposeCopy" not in piped(products, list(feed), []).to_text()
        _, products, feed = self._products(5, rows=55)
        assert "_TransposeCopy" in piped(products, list(feed), []).to_text()

    def test_same_values(self, session: tf.Session) -> None:
        w, products, feed = self._products(6)
        session.run(w.initializer)
        matrix = session.run(w)
        for got, x in zip(session.run(products, feed), feed.values(), strict=True):
            np.testing.assert_allclose(got, x @ matrix.T, rtol=1e-4, atol=1e-4)


class TestTrim:
    def test_gated_gradients_are_seen_through(self) -> None:
        products, values = _terms(3)
        with tf.control_dependencies(products):
            gated = [tf.identity(p) for p in products]
        total = tf.add_n(gated, name="total")
        text = piped([total], list(values), []).to_text()
        assert "%total/product = MatMul" in text and "Identity" not in text

    def test_order_after_an_effect_stays(self) -> None:
        v = tf.Variable(1.0, name="v")
        write = tf.assign_add(v, 1.0, name="write")
        with tf.control_dependencies([write]):
            y = tf.identity(tf.constant(2.0), name="y")
        assert "^%write" in piped([y], [], []).to_text()
