"""Newton's method in the graph: loops that stop when the data say so, around gradients, Hessians and linear solves.

Two problems, each a single `session.run`:

- Logistic regression. Each step solves a linear system with the Hessian of the loss; an inner loop halves the step until the
  loss falls by enough. The outer loop stops when the gradient is shorter than `--tolerance`.
- Kepler's equation E - e sin E = M for thousands of orbits together. The derivative comes from `tf.gradients` inside the loop;
  and `tf.gradients` of the whole loop says how each answer changes with M, which is 1 / (1 - e cos E).

Run it with `python examples/newton.py`; it takes a few seconds.
"""

import argparse
from collections import namedtuple

import numpy as np

import headrace as tf

RIDGE = 1e-3  # the weight of the squared weights in the loss

Fit = namedtuple("Fit", "weights loss slope steps")
Orbits = namedtuple("Orbits", "anomalies residual sensitivities steps")


def main(argv=None):
    """Solves both; returns what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000, help="of the regression's data (default: %(default)s)")
    parser.add_argument("--features", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument("--orbits", type=int, default=10000, help="(default: %(default)s)")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="when to stop (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=50, help="steps at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: %(default)s)")
    options = parser.parse_args(argv)
    if not options.tolerance > 0.0:
        parser.error(f"--tolerance must be positive, not {options.tolerance:g}")
    random = np.random.RandomState(options.seed)
    fit = regression(*examples(random, options.rows, options.features), options.tolerance, options.limit)
    orbits = kepler(*skies(random, options.orbits), options.tolerance, options.limit)

    print(f"regression: {fit.steps} steps, loss {fit.loss:.6f}, length of the gradient {fit.slope:.1e}")
    print(f"Kepler: {orbits.steps} steps for {options.orbits} orbits, largest residual {orbits.residual:.1e}")
    if fit.slope > options.tolerance or orbits.residual > options.tolerance:
        print(f"not within {options.tolerance:g} after {options.limit} steps")
    return fit, orbits


def regression(inputs, labels, tolerance, limit):
    """Logistic regression by Newton's method."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [None, inputs.shape[1]], name="inputs")
        y = tf.placeholder(tf.float64, [None], name="labels")

        def loss(weights):
            logits = tf.reduce_sum(x * weights, axis=1)
            surprise = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
            return tf.reduce_mean(surprise) + RIDGE * tf.reduce_sum(tf.square(weights))

        weights, steps = minimum(loss, tf.zeros([inputs.shape[1]], tf.float64), tolerance, limit)
        value = loss(weights)
        slope = tf.norm(tf.gradients(value, weights)[0])
        with tf.Session() as session:
            return Fit(*session.run([weights, value, slope, steps], {x: inputs, y: labels}))


def minimum(loss, start, tolerance, limit):
    """Where a convex function has its minimum, and the steps it took to get there, at most `limit`."""

    def go_on(_, point, slope):
        return tf.norm(slope) > tolerance

    def step(i, point, slope):
        value = loss(point)
        curvature = tf.hessians(value, point)[0]
        direction = tf.squeeze(tf.matrix_solve(curvature, slope[:, tf.newaxis]), axis=1)
        promise = 1e-4 * tf.reduce_sum(slope * direction)

        def too_long(size):
            falls = loss(point - size * direction) <= value - size * promise
            return tf.logical_and(tf.logical_not(falls), size > 1e-6)

        size = tf.while_loop(too_long, lambda size: size / 2, [tf.constant(1.0, tf.float64)])
        point = point - size * direction
        return i + 1, point, tf.gradients(loss(point), point)[0]

    first = tf.gradients(loss(start), start)[0]
    steps, point, _ = tf.while_loop(go_on, step, (0, start, first), maximum_iterations=limit, back_prop=False)
    return point, steps


def kepler(means, eccentricities, tolerance, limit):
    """The eccentric anomaly E of every orbit, given its mean anomaly M and its eccentricity e."""
    with tf.Graph().as_default():
        mean = tf.placeholder(tf.float64, [None], name="mean")
        eccentricity = tf.placeholder(tf.float64, [None], name="eccentricity")

        def excess(anomaly):
            return anomaly - eccentricity * tf.sin(anomaly) - mean

        # From here on every step goes down towards E: between E and pi the function is positive and convex.
        anomaly, steps = root(excess, tf.minimum(mean + eccentricity, np.pi), tolerance, limit)
        residual = tf.reduce_max(tf.abs(excess(anomaly)))
        sensitivity = tf.gradients(anomaly, mean)[0]
        with tf.Session() as session:
            fetches = [anomaly, residual, sensitivity, steps]
            return Orbits(*session.run(fetches, {mean: means, eccentricity: eccentricities}))


def root(function, start, tolerance, limit):
    """Where a function of each element is 0, and the steps until all of them were, at most `limit`."""

    def go_on(_, point):
        return tf.reduce_max(tf.abs(function(point))) > tolerance

    def step(i, point):
        value = function(point)
        return i + 1, point - value / tf.gradients(value, point)[0]

    steps, point = tf.while_loop(go_on, step, (0, start), maximum_iterations=limit)
    return point, steps


def examples(random, rows, features):
    """Inputs, the last of them always 1, and labels that follow a logistic law."""
    inputs = random.standard_normal((rows, features))
    inputs[:, -1] = 1.0
    chances = 1.0 / (1.0 + np.exp(-inputs @ random.standard_normal(features) * 2.0))
    return inputs, (random.uniform(size=rows) < chances).astype(np.float64)


def skies(random, orbits):
    """Mean anomalies from 0 to pi and eccentricities from 0, a circle, almost to 1."""
    return random.uniform(0.0, np.pi, orbits), random.uniform(0.0, 0.95, orbits)


if __name__ == "__main__":
    main()
