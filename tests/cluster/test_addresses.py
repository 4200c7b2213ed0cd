"""Who knows where a task is: the newest move wins, in whatever order one hears of moves."""

import itertools

from headrace.cluster.addresses import Addresses

A, B = "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"


def test_a_task_is_where_the_cluster_spec_says_until_it_moves() -> None:
    addresses = Addresses({A: "a:1", B: "b:1"})
    assert dict(addresses) == {A: "a:1", B: "b:1"}
    assert addresses.learn({A: (1, "c:1")}) == [A]
    assert dict(addresses) == {A: "c:1", B: "b:1"}
    assert addresses.moves == {A: (1, "c:1")} and addresses.times_moved(A) == 1


def test_moves_are_heard_of_in_any_order() -> None:
    for order in itertools.permutations([(1, "b:1"), (2, "c:1"), (3, "a:1")]):
        addresses = Addresses({A: "a:1"})
        for move in order:
            addresses.learn({A: move})
        assert addresses.moves == {A: (3, "a:1")}


def test_a_move_back_changes_nothing_for_who_missed_the_first_one() -> None:
    assert Addresses({A: "a:1"}).learn({A: (2, "a:1")}) == []


def test_tasks_of_another_cluster_are_left_out() -> None:
    addresses = Addresses({A: "a:1"})
    assert addresses.learn({B: (1, "c:1")}) == []
    assert B not in addresses and not addresses.moves
