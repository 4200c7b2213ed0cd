"""Containers: state by container, class, name, device and owner; what a reset and the end of an owner drop."""

from headrace.resources.state.container import DEFAULT, Containers


class Thing:
    """Some state."""


def get(containers: Containers, container: str = "", name: str = "x", device: str = "", owner: int = 0) -> Thing:
    return containers.get_or_create(container, name, Thing, Thing, device, owner)


def test_every_part_of_the_key_counts() -> None:
    containers = Containers()
    first = get(containers)
    assert get(containers) is first
    others = [get(containers, "box"), get(containers, name="y"), get(containers, device="d"), get(containers, owner=1)]
    others.append(containers.get_or_create("", "x", list, list))  # type: ignore[arg-type]
    assert len({id(thing) for thing in [first, *others]}) == 6


def test_the_default_container_has_a_name() -> None:
    containers = Containers()
    thing = get(containers)
    assert get(containers, DEFAULT) is thing
    containers.reset(DEFAULT)
    assert get(containers) is not thing


def test_a_reset_empties_one_container() -> None:
    containers = Containers()
    default, box, private = get(containers), get(containers, "box"), get(containers, "box", owner=1)
    before = containers.generation
    containers.reset("box")
    assert containers.generation > before
    assert get(containers) is default
    assert get(containers, "box") is not box and get(containers, "box", owner=1) is not private


def test_a_reset_of_what_is_not_there() -> None:
    containers = Containers()
    thing = get(containers)
    containers.reset("nothing")
    assert get(containers) is thing


def test_what_an_owner_leaves() -> None:
    containers = Containers()
    shared, mine, other = get(containers), get(containers, owner=1), get(containers, "box", owner=2)
    containers.forget(1)
    assert get(containers) is shared and get(containers, "box", owner=2) is other
    assert get(containers, owner=1) is not mine
