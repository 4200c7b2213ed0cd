"""Groups of elements whose function is called elsewhere; here elsewhere is another thread."""

import numpy as np
import pytest
from resources.data.chains import check_cuts, elements, running

from headrace.core.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from headrace.resources.data.ahead import Outcome, ParallelMap
from headrace.resources.data.chain import Repeat, Take
from headrace.resources.data.elsewhere import MOST, Processes
from headrace.resources.data.function import Filter, Map
from headrace.resources.data.group import Batch
from headrace.resources.data.shuffle import Shuffle
from headrace.resources.data.source import Range


class There:
    count = 2
    seconds = 0.0
    streams = 0

    def __init__(self):
        self.sizes = []

    def check(self, stage):
        if stage.captured:
            raise InvalidArgumentError(None, None, "captured")
        return self.seconds

    def stream(self):
        self.streams += 1
        return self.streams

    def call(self, stage, group, place):
        self.sizes.append(len(group))
        stream, first = place
        more = (lambda i: ((stream, i),)) if stage.function is placed else lambda i: ()
        return [Outcome.of(stage.function, *element, *more(i)) for i, element in enumerate(group, first)], 1e-5

    def save(self):
        return self.streams

    def restore(self, state):
        self.streams = state


class Elsewhere(Processes):
    def __init__(self, input):
        super().__init__(input, 2)
        self.there = There()

    def _started(self, run):
        return self.there


def doubled(x):
    return (np.int64(2 * x),)


def placed(x, place):
    """Where the element is."""
    return (np.array([x, *place]),)


def fails(x):
    if x in (3, 11):
        raise InvalidArgumentError(None, None, "no")
    return (np.int64(x),)


def ends(x):
    if x == 5:
        raise OutOfRangeError(None, None, "over")
    return (x,)


CHAINS = {
    "map": lambda source: Map(source, doubled),
    "parallel": lambda source: ParallelMap(source, doubled, (), 3),
    "twice": lambda source: Map(Shuffle(Map(source, doubled), 4, 1, 2, True), doubled),
    "repeated": lambda source: Repeat(Map(Take(source, 5), doubled), 3),
    "errors": lambda source: Batch(Map(Filter(source, lambda x: (np.bool_(x != 2),)), fails), 4, False),
    "errors before": lambda source: Map(Map(source, fails), doubled),
}


@pytest.mark.parametrize("name", CHAINS)
def test_elements_and_positions(name):
    chain = CHAINS[name]
    assert elements(Elsewhere(chain(Range(range(20))))) == elements(chain(Range(range(20))))
    check_cuts(lambda: Elsewhere(chain(Range(range(20)))))


def test_each_element_has_a_place():
    def chain():
        return Elsewhere(Repeat(Map(Take(Range(range(20)), 7), placed), 2))

    places = [element[0] for element in elements(chain())]
    assert places == [[i, epoch, i] for epoch in (1, 2) for i in range(7)]
    check_cuts(chain)


def test_a_function_that_is_known_begins_with_large_groups():
    stage = Elsewhere(Map(Range(range(400)), doubled))
    stage.there.seconds = 1e-4
    elements(stage, 500)
    assert stage.there.sizes[0] == 100


def test_a_function_may_end_the_dataset():
    with running(Elsewhere(Batch(Map(Range(range(20)), ends), 8, False))) as run:
        assert run.cursor.next()[0].tolist() == [0, 1, 2, 3, 4]


def test_groups_grow_while_calls_are_short():
    stage = Elsewhere(Map(Range(range(4000)), doubled))
    assert len(elements(stage, 5000)) == 4000
    assert stage.there.sizes[0] == 1 and max(stage.there.sizes) == MOST


def test_errors_say_which_element():
    with running(Elsewhere(Map(Range(range(5)), fails))) as run:
        for _ in range(3):
            run.cursor.next()
        with pytest.raises(InvalidArgumentError, match="in element 3 of"):
            run.cursor.next()


def test_what_is_refused_is_refused_when_the_run_begins():
    with pytest.raises(InvalidArgumentError, match="captured"), running(Elsewhere(Map(Range(range(5)), doubled, [1]))):
        pass


def test_a_closed_run_gives_nothing():
    with running(Elsewhere(Map(Range(range(5)), doubled))) as run:
        run.cursor.next()
        run.close()
        with pytest.raises(CancelledError):
            run.cursor.next()
