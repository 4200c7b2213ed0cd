"""State that is packed in one process and unpacked in another is the same state."""

import numpy as np
import pytest
import torch

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.resources.state.container import Containers
from headrace.resources.state.movable import Movable, Parcel
from headrace.resources.state.pieces import Pieces, PieceTaker
from headrace.resources.state.queue.queue import Queue
from headrace.resources.state.queue.store import FifoStore, PriorityStore, ShuffleStore, Store
from headrace.resources.state.table import Table
from headrace.resources.state.variable import Variable

CPU = torch.device("cpu")


def moved(before: Movable, after: Movable) -> None:
    """Packs one and unpacks it into the other."""
    contents = before.packed()
    assert contents is not None
    data, tensors = contents
    after.unpack(data, [t.clone() if isinstance(t, torch.Tensor) else t for t in tensors])


# ---- variables


@pytest.mark.parametrize("value", [torch.randn(3, 4), torch.tensor(True), torch.empty(0, 2), torch.ones(2).bfloat16()])
def test_a_variable(value: torch.Tensor) -> None:
    before, after = (Variable("v", dtypes.float32, CPU) for _ in range(2))
    before.assign(value)
    moved(before, after)
    assert torch.equal(after.value, value) and after.value.dtype == value.dtype


def test_a_variable_keeps_the_order_of_its_memory() -> None:
    before, after = (Variable("v", dtypes.float32, CPU, (2, 3, 4, 5), (3, 2, 0, 1)) for _ in range(2))
    before.assign(torch.randn(2, 3, 4, 5))
    moved(before, after)
    assert after.value.stride() == before.value.stride() and torch.equal(after.value, before.value)


def test_a_variable_whose_shape_was_changed() -> None:
    before, after = (Variable("v", dtypes.float32, CPU, (2,)) for _ in range(2))
    before.assign(torch.zeros(5), validate_shape=False)
    moved(before, after)
    assert tuple(after.value.shape) == (5,)


def test_strings() -> None:
    before, after = (Variable("v", dtypes.string, CPU) for _ in range(2))
    before.assign(np.array([b"a", b"", b"\x00"], object))
    moved(before, after)
    assert after.value.tolist() == [b"a", b"", b"\x00"]


def test_a_variable_without_a_value_has_nothing_to_move() -> None:
    assert Variable("v", dtypes.float32, CPU).packed() is None


# ---- tables


@pytest.mark.parametrize(("keys", "values", "key_dtype", "value_dtype", "shape"), [
    ([b"a", b"b\x00"], [1, -2], dtypes.string, dtypes.int64, ()),
    ([1, 2**62], [0.1, 1e300], dtypes.int64, dtypes.float64, ()),
    ([2**63 + 1, 1], [True, False], dtypes.uint64, dtypes.bool, ()),
    ([1, 2], [(0.5, 1.5), (2.5, 3.5)], dtypes.int64, dtypes.float32, (2,)),
    ([1, 2], [(b"x", b"y"), (b"z", b"")], dtypes.int64, dtypes.string, (2,)),
    ([], [], dtypes.int64, dtypes.string, ()),
])  # fmt: skip
def test_a_table(keys: list, values: list, key_dtype: dtypes.DType, value_dtype: dtypes.DType, shape: tuple) -> None:
    before, after = (Table("t", key_dtype, value_dtype, False, shape) for _ in range(2))
    before.insert(keys, values)
    moved(before, after)
    assert after.export() == (keys, values)


def test_a_table_that_must_be_initialised() -> None:
    before, after = (Table("t", dtypes.int64, dtypes.int64, True) for _ in range(2))
    assert before.packed() is None
    before.initialize([1, 2], [3, 4])
    moved(before, after)
    after.initialize([1, 2], [3, 4])  # as every new session does
    assert after.find([2], -1) == [4]
    assert after.find_numbers(np.array([1, 5]), -1).tolist() == [3, -1]


# ---- queues


def queue(store: Store, *kinds: dtypes.DType) -> Queue:
    return Queue("FIFOQueue", "q", store, 10, kinds, [TensorShape(None)] * len(kinds))


def put(one: Queue, *element: object) -> None:
    one.enqueue(element, lambda result, error: None)


def take_all(one: Queue) -> list:
    taken: list = []
    while one.size():
        one.dequeue(lambda element, error: taken.append(element))
    return [tuple(np.asarray(value).tolist() for value in element) for element in taken]


def test_a_queue_keeps_its_elements_and_their_order() -> None:
    before, after = (queue(FifoStore(), dtypes.float32, dtypes.string) for _ in range(2))
    for i in range(4):
        put(before, torch.tensor([float(i)] * 2), np.array(b"%d" % i, object))
    moved(before, after)
    assert take_all(after) == [([float(i)] * 2, b"%d" % i) for i in range(4)]


def test_a_queue_of_elements_of_different_shapes() -> None:
    before, after = (queue(FifoStore(), dtypes.int64, dtypes.int64) for _ in range(2))
    put(before, torch.tensor([1]), torch.tensor(5))
    put(before, torch.tensor([2, 3]), torch.tensor(6))
    moved(before, after)
    assert take_all(after) == [([1], 5), ([2, 3], 6)]


def test_a_queue_that_is_empty_and_closed() -> None:
    before, after = (queue(FifoStore(), dtypes.int64) for _ in range(2))
    before.close(False, lambda result, error: None)
    moved(before, after)
    assert after.is_closed and not after.size()


def test_a_queue_that_shuffles_goes_on_in_the_same_order() -> None:
    before, after = (queue(ShuffleStore(0, 3, 4), dtypes.int64) for _ in range(2))
    for i in range(8):
        put(before, torch.tensor(i))
    before.dequeue(lambda element, error: None)
    moved(before, after)
    assert take_all(after) == take_all(before)


def test_a_queue_by_priority() -> None:
    before, after = (queue(PriorityStore(), dtypes.int64, dtypes.int64) for _ in range(2))
    for i in (3, 1, 2):
        put(before, torch.tensor(i), torch.tensor(10 * i))
    moved(before, after)
    assert take_all(after) == [(1, 10), (2, 20), (3, 30)]


def test_variants_stay() -> None:
    assert queue(FifoStore(), dtypes.variant).packed() is None


# ---- pieces


def test_pieces_that_were_given_back_come_again() -> None:
    before, after = (Pieces("p", 4, 1, "digest") for _ in range(2))
    taker = PieceTaker(before)
    handouts = [before.take(taker) for _ in range(3)]
    before.finish(taker, handouts[0][1])
    taker.end()  # with its session
    moved(before, after)
    new = PieceTaker(after)
    assert [after.take(new)[2] for _ in range(3)] == [1, 2, 3]


# ---- containers


def make(containers: Containers, name: str, container: str = "", device: str = "d") -> Variable:
    return containers.get_or_create(container, name, Variable, lambda: Variable(name, dtypes.float32, CPU), device)


def everything(name: str) -> bool:
    return True


def test_what_arrives_waits_until_somebody_asks() -> None:
    before, after = Containers(), Containers()
    make(before, "v").assign(torch.ones(2))
    make(before, "w", "other").assign(torch.zeros(2))
    make(before, "never assigned")
    after.arrive(before.parcels(everything))
    assert torch.equal(make(after, "v").value, torch.ones(2))
    assert torch.equal(make(after, "w", "other").value, torch.zeros(2))
    assert not make(after, "never assigned").initialized
    make(after, "v").assign(torch.zeros(2))
    assert torch.equal(make(after, "v").value, torch.zeros(2))  # it is filled once


def test_what_nobody_has_asked_for_moves_on() -> None:
    containers = Containers()
    containers.arrive([Parcel("localhost", "Variable", "v", "d", {}, [torch.ones(2)])])
    assert [parcel.name for parcel in containers.parcels(everything)] == ["v"]
    assert not containers.parcels(lambda name: name != "Variable")
    make(containers, "v")
    assert [parcel.name for parcel in containers.parcels(everything)] == ["v"]


def test_what_belongs_to_one_session_stays() -> None:
    containers = Containers()
    own = containers.get_or_create("", "v", Variable, lambda: Variable("v", dtypes.float32, CPU), "d", owner=7)
    own.assign(torch.ones(1))
    assert not containers.parcels(everything)
    containers.arrive([Parcel("localhost", "Variable", "v", "d", {}, [torch.zeros(1)])])
    other = containers.get_or_create("", "v", Variable, lambda: Variable("v", dtypes.float32, CPU), "d", owner=8)
    assert not other.initialized


def test_a_reset_drops_what_has_arrived() -> None:
    containers = Containers()
    containers.arrive([Parcel("one", "Variable", "v", "d", {}, [torch.ones(2)])])
    containers.reset("one")
    assert not make(containers, "v", "one").initialized
