"""Newton's method in the graph against the same in NumPy."""

import numpy as np


def test_regression_as_in_numpy(example):
    names = example("newton")
    inputs, labels = names["examples"](np.random.RandomState(5), 300, 4)
    fit = names["regression"](inputs, labels, 1e-9, 50)
    weights = np.zeros(4)
    for _ in range(20):  # iteratively reweighted least squares
        chances = 1.0 / (1.0 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chances - labels) / 300 + 2 * names["RIDGE"] * weights
        curvature = (inputs.T * chances * (1 - chances)) @ inputs / 300 + 2 * names["RIDGE"] * np.eye(4)
        weights -= np.linalg.solve(curvature, slope)
    np.testing.assert_allclose(fit.weights, weights, rtol=1e-9)
    assert fit.slope < 1e-9 and 3 <= fit.steps <= 10


def test_the_data_decide_when_to_stop(example):
    names = example("newton")
    data = names["examples"](np.random.RandomState(5), 300, 4)
    steps = [names["regression"](*data, tolerance, 50).steps for tolerance in (1e-1, 1e-3, 1e-12)]
    assert steps[0] < steps[1] < steps[2]


def test_steps_that_overshoot_are_halved(example):
    names = example("newton")
    tf = names["tf"]
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.constant([3.0], tf.float64)  # from where plain Newton steps run away
        point, steps = names["minimum"](lambda x: tf.reduce_sum(tf.sqrt(1.0 + tf.square(x))), start, 1e-9, 50)
        place, count = session.run([point, steps])
    np.testing.assert_allclose(place, [0.0], atol=1e-9)
    assert 3 <= count < 50


def test_kepler(example):
    names = example("newton")
    means, eccentricities = names["skies"](np.random.RandomState(0), 1000)
    orbits = names["kepler"](means, eccentricities, 1e-12, 50)
    np.testing.assert_allclose(orbits.anomalies - eccentricities * np.sin(orbits.anomalies), means, atol=1e-12)
    np.testing.assert_allclose(orbits.sensitivities, 1 / (1 - eccentricities * np.cos(orbits.anomalies)), rtol=1e-8)
    assert orbits.steps <= 10


def test_the_program(example, capsys):
    fit, orbits = example("newton")["main"](["--rows", "200", "--orbits", "50"])
    assert fit.slope < 1e-9 and orbits.residual < 1e-9
    out = capsys.readouterr().out
    assert f"regression: {fit.steps} steps" in out and "Kepler:" in out and "not within" not in out
    example("newton")["main"](["--rows", "200", "--orbits", "50", "--limit", "1"])
    assert "not within 1e-09 after 1 steps" in capsys.readouterr().out


def test_bad_flags(refuses):
    assert "--tolerance must be positive, not 0" in refuses("newton", "--tolerance", "0")
