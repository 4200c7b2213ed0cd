"""The Monte-Carlo example against closed formulas and finite differences."""

from math import exp, log, sqrt

import numpy as np
import pytest

FLAGS = ["--days", "20", "--error", "0.03"]


def test_prices_and_greeks(example, capsys):
    names = example("option_pricing")
    result = names["main"](FLAGS)
    terms = names["Terms"](100.0, 0.2, 0.05, 105.0, 1.0, 90.0)
    exact = names["black_scholes"](terms)
    assert result.errors[0] <= 0.03 and 1 < result.rounds < 30
    assert abs(result.prices[0] - exact[0]) < 4 * result.errors[0]
    np.testing.assert_allclose(result.greeks[0], exact[1:], rtol=0.02)
    assert abs(result.prices[2] - _barrier(names, terms, 20)) < 4 * result.errors[2]
    assert "European" in capsys.readouterr().out


def test_the_asian_option(example):
    names = example("option_pricing")
    flags = ["--days", "8", "--error", "0.05"]
    result = names["main"](flags)
    # An arithmetic mean is above a geometric one, for which there is a formula, and not by much.
    geometric = _geometric(names, names["Terms"](100.0, 0.2, 0.05, 105.0, 1.0, 90.0), 8)
    assert geometric < result.prices[1] + 3 * result.errors[1] and result.prices[1] < 1.1 * geometric
    # The same paths at a neighbouring price: the gradient is the slope between them.
    above, below = (names["main"]([*flags, "--spot", spot]).prices[:2] for spot in ("100.01", "99.99"))
    np.testing.assert_allclose(result.greeks[:, 0], (above - below) / 0.02, rtol=5e-3)


def test_an_asian_option_of_one_day_is_european(example):
    result = example("option_pricing")["main"](["--days", "1", "--steps", "2"])
    assert result.prices[0] == pytest.approx(result.prices[1])
    np.testing.assert_allclose(*result.greeks)


def test_bad_flags(refuses):
    assert "--volatility must be positive, not -0.1" in refuses("option_pricing", "--volatility", "-0.1")
    assert "at least two paths, one day and one step" in refuses("option_pricing", "--paths", "1")


def _barrier(names, terms, days):
    """A down-and-out call, by the formula for a barrier watched all the time, moved to where it acts as one watched daily."""
    barrier = terms.barrier * exp(-0.5826 * terms.volatility * sqrt(terms.years / days))
    power = 2 * terms.rate / terms.volatility**2 - 1
    mirrored = names["black_scholes"](terms._replace(spot=barrier**2 / terms.spot))
    return names["black_scholes"](terms)[0] - (barrier / terms.spot) ** power * mirrored[0]


def _geometric(names, terms, days):
    """A call on the geometric mean of the daily prices."""
    variance = terms.volatility**2 * terms.years * (days + 1) * (2 * days + 1) / (6 * days**2)
    mean = log(terms.spot) + (terms.rate - terms.volatility**2 / 2) * terms.years * (days + 1) / (2 * days)
    upper = (mean - log(terms.strike) + variance) / sqrt(variance)
    forward = exp(mean + variance / 2)
    below = names["below"]
    return exp(-terms.rate * terms.years) * (forward * below(upper) - terms.strike * below(upper - sqrt(variance)))
