"""A table that compares by identity and keeps no object alive."""

import gc

from headrace.library.train.saver.by_identity import ByIdentity


class Thing:
    """Equal to every other one."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Owner:
    def __init__(self) -> None:
        self.ended = 0
        self.table: ByIdentity[int] = ByIdentity(self.end)

    def end(self) -> None:
        self.ended += 1


def test_objects_that_go_leave_the_table() -> None:
    owner = Owner()
    one, other = Thing(), Thing()
    owner.table[one], owner.table[other] = 1, 2
    owner.table[[3]] = 3  # cannot be referred to weakly
    assert [value for _, value in owner.table.items()] == [1, 2]
    assert one in owner.table and Thing() not in owner.table and owner.table[other] == 2
    del one
    gc.collect()
    assert [value for _, value in owner.table.items()] == [2] and owner.ended == 0
    owner.table.pop(Thing())
    owner.table.pop(other)
    assert not list(owner.table.items()) and owner.ended == 1


def test_a_value_can_be_replaced() -> None:
    owner, thing = Owner(), Thing()
    owner.table[thing] = 1
    owner.table[thing] = 2
    gc.collect()
    assert owner.table[thing] == 2 and owner.ended == 0
