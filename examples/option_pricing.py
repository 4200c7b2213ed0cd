"""Prices options by Monte Carlo in the graph: no learning, no data, but loops, random numbers and derivatives.

A `while_loop` moves all paths of a share's price through time and keeps what the payoffs need: the last price, the sum, the
lowest. Three call options are priced together:

- European: pays by the last price. The formula of Black and Scholes says what must come out.
- Asian: pays by the mean price. There is no formula.
- Barrier: as the European one, but worth nothing once the price has been below `--barrier` on a day of trade.

The Greeks, how the first two prices change with the share's price, its volatility and the interest rate, are `tf.gradients` of
the loop. Every path has a mirror image, which takes out most of the noise. Rounds of paths are run until the European price is
known to within `--error`. Run it with `python examples/option_pricing.py`; it takes some seconds.
"""

import argparse
from collections import namedtuple
from math import erf, exp, log, pi, sqrt

import numpy as np
from progress import say, steps

import headrace as tf

Terms = namedtuple("Terms", "spot volatility rate strike years barrier")
Result = namedtuple("Result", "prices errors greeks rounds")
"""European, Asian and barrier prices with their standard errors; [delta, vega, rho] of the first two."""


def main(argv=None):
    """Prices the options; returns a Result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spot", type=float, default=100.0, help="price of the share today (default: %(default)s)")
    parser.add_argument("--volatility", type=float, default=0.2, help="of the share, per year (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.05, help="of interest, per year (default: %(default)s)")
    parser.add_argument("--strike", type=float, default=105.0, help="price one may buy at (default: %(default)s)")
    parser.add_argument("--years", type=float, default=1.0, help="until then (default: %(default)s)")
    parser.add_argument("--barrier", type=float, default=90.0, help="(default: %(default)s)")
    parser.add_argument("--days", type=int, default=50, help="of trade in that time (default: %(default)s)")
    parser.add_argument("--paths", type=int, default=10000, help="in a round (default: %(default)s)")
    parser.add_argument("--error", type=float, default=0.02, help="standard error to reach (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="rounds at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the paths (default: %(default)s)")
    options = parser.parse_args(argv)
    terms = Terms(*(getattr(options, name) for name in Terms._fields))
    for name in ("spot", "volatility", "strike", "years", "barrier"):
        if getattr(terms, name) <= 0.0:
            parser.error(f"--{name} must be positive, not {getattr(terms, name):g}")
    if options.paths < 2 or options.days < 1 or options.steps < 1:
        parser.error("needs at least two paths, one day and one step")

    result = price(terms, options)
    exact = black_scholes(terms)
    names = ("European", "Asian", "barrier")
    for name, value, error in zip(names, result.prices, result.errors, strict=True):
        print(f"{name:9s} {value:8.4f} +- {error:.4f}")
    for name, greeks in zip(names, result.greeks, strict=False):
        print(f"{name:9s} delta {greeks[0]:.4f}  vega {greeks[1]:.3f}  rho {greeks[2]:.3f}")
    print(f"by the formula, the European option is worth {exact[0]:.4f}: ", end="")
    print(f"delta {exact[1]:.4f}  vega {exact[2]:.3f}  rho {exact[3]:.3f}")
    return result


def price(terms, options):
    """Runs rounds of paths until the European price is known well enough."""
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        spot, volatility, rate = (tf.constant(value, tf.float64) for value in terms[:3])
        payoffs = simulate(
            terms._replace(spot=spot, volatility=volatility, rate=rate), options.days, options.paths // 2
        )
        means = tf.reduce_mean(payoffs, axis=1)
        squares = tf.reduce_mean(tf.square(payoffs), axis=1)
        greeks = [tf.gradients(means[i], [spot, volatility, rate]) for i in range(2)]

        totals = np.zeros(3), np.zeros(3), np.zeros((2, 3))
        with tf.Session() as session:
            for i in steps(options.steps):
                for total, value in zip(totals, session.run([means, squares, greeks]), strict=True):
                    total += value
                prices, squared, slopes = (total / (i + 1) for total in totals)
                errors = np.sqrt((squared - np.square(prices)) / (options.paths // 2 * (i + 1)))
                if i % 10 == 0:
                    say(f"round {i:3d}  European {prices[0]:.4f} +- {errors[0]:.4f}")
                if errors[0] <= options.error:
                    break
    return Result(prices, errors, slopes, i + 1)


def simulate(terms, days, pairs):
    """What the three options pay on each of that many pairs of paths, in today's money: [3, pairs]."""
    day = terms.years / days
    drift = (terms.rate - tf.square(terms.volatility) / 2) * day
    wobble = terms.volatility * sqrt(day)
    start = tf.fill([2, pairs], tf.log(terms.spot))

    def trade(i, now, total, lowest):
        chance = tf.random_normal([1, pairs], dtype=tf.float64)
        now = now + drift + wobble * tf.concat([chance, -chance], axis=0)
        return i + 1, now, total + tf.exp(now), tf.minimum(lowest, now)

    # In logarithms every day adds a normal number: no error is made by taking the days as steps.
    loop = tf.while_loop(lambda i, *_: i < days, trade, [0, start, tf.zeros([2, pairs], tf.float64), start])
    _, last, total, lowest = loop
    european = tf.nn.relu(tf.exp(last) - terms.strike)
    asian = tf.nn.relu(total / days - terms.strike)
    barrier = tf.where(lowest > log(terms.barrier), european, tf.zeros_like(european))
    payoffs = tf.stack([european, asian, barrier]) * tf.exp(-terms.rate * terms.years)
    return tf.reduce_mean(payoffs, axis=1)  # a path and its mirror image count once: they are not independent


def black_scholes(terms):
    """Price, delta, vega and rho of a European call."""
    spread = terms.volatility * sqrt(terms.years)
    upper = (log(terms.spot / terms.strike) + terms.rate * terms.years) / spread + spread / 2
    lower = upper - spread
    later = terms.strike * exp(-terms.rate * terms.years)
    density = exp(-upper * upper / 2) / sqrt(2 * pi)
    return (
        terms.spot * below(upper) - later * below(lower),
        below(upper),
        terms.spot * density * sqrt(terms.years),
        later * terms.years * below(lower),
    )


def below(x):
    """The chance that a normal number is smaller."""
    return (1.0 + erf(x / sqrt(2.0))) / 2.0


if __name__ == "__main__":
    main()
