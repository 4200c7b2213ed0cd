"""Nested structures: lists, tuples, named tuples, dictionaries and attrs classes of leaves (TF1's ``nest``).

A structure is walked depth first; the entries of a dictionary in the order of its sorted keys.  Everything else,
strings and arrays included, is a leaf.  With ``expand_composites`` an IndexedSlices, a SparseTensor or an optional is not a
leaf but the tensors it is made of.  Knows nothing of graphs besides those types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.graph.structures import Composite
from headrace.library.nest_level import children as _children
from headrace.library.nest_level import is_attrs as is_attrs
from headrace.library.nest_level import is_mapping as is_mapping
from headrace.library.nest_level import is_namedtuple as is_namedtuple
from headrace.library.nest_level import is_sequence as is_sequence
from headrace.library.nest_level import is_sequence_or_composite as is_sequence_or_composite
from headrace.library.nest_level import items as _items
from headrace.library.nest_level import like as _like
from headrace.library.nest_level import same_type as _same_type
from headrace.library.nest_level import walks as _walks

_Path = tuple[Any, ...]
is_nested = is_sequence


class _Dot:
    """Stands for a leaf in messages."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves in walking order; a leaf alone gives a list of itself.

    Args:
      structure: A nested structure, or a single value.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A list.

    >>> tf.nest.flatten({"b": [2, 3], "a": 1})
    [1, 2, 3]
    """
    leaves: list[Any] = []
    _collect(structure, _walks(expand_composites), leaves)
    return leaves


def _collect(structure: Any, walks: Callable[[Any], bool], leaves: list[Any]) -> None:
    if not walks(structure):
        leaves.append(structure)
        return
    for child in _children(structure):
        _collect(child, walks, leaves)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The inverse of ``flatten``: the leaves put into a structure like the given one.

    Args:
      structure: The structure to imitate; its leaves are not used.
      flat_sequence: The leaves, as many as `structure` has.
      expand_composites: Whether sparse tensors and the like are put together from their tensors.

    Returns:
      A structure nested like `structure`.

    >>> tf.nest.pack_sequence_as({"a": 0, "b": (0, 0)}, [1, 2, 3])
    {'a': 1, 'b': (2, 3)}
    """
    walks = _walks(expand_composites)
    if not is_sequence(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__}: {flat_sequence!r}")
    flat = _children(flat_sequence)
    if not walks(structure):
        if len(flat) != 1:
            raise ValueError(
                f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1. Structure: {structure!r}, "
                f"flat_sequence: {flat!r}"
            )
        return flat[0]
    count = len(flatten(structure, expand_composites))
    if count != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had {len(flat)} elements. "
            f"Structure: {structure!r}, flat_sequence: {flat!r}."
        )
    return _pack(structure, iter(flat), walks)


def _pack(structure: Any, leaves: Iterator[Any], walks: Callable[[Any], bool]) -> Any:
    if not walks(structure):
        return next(leaves)
    return _like(structure, [_pack(child, leaves, walks) for child in _children(structure)])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises ValueError if the two are nested differently, TypeError if their sequences are of different types.

    Args:
      nest1, nest2: The structures to compare; their leaves may differ.
      check_types: Whether their lists, tuples and dictionaries must be of the same types.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    >>> tf.nest.assert_same_structure([1, (2, 3)], ['a', ('b', 'c')])
    >>> tf.nest.assert_same_structure([1, 2], [1, [2]])
    Traceback (most recent call last):
    ValueError: ...
    """
    try:
        _compare(nest1, nest2, check_types, _walks(expand_composites))
    except (ValueError, TypeError) as error:
        first, second = (map_structure(lambda _: _DOT, n, expand_composites=expand_composites) for n in (nest1, nest2))
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(nest1).__name__} str={nest1}\n\n"
            f"Second structure: type={type(nest2).__name__} str={nest2}\n\n"
            f"More specifically: {error}\nEntire first structure:\n{first}\nEntire second structure:\n{second}"
        ) from None


def _compare(a: Any, b: Any, check_types: bool, walks: Callable[[Any], bool]) -> None:
    if walks(a) != walks(b):
        walked, other = (a, b) if walks(a) else (b, a)
        raise ValueError(
            f'Substructure "type={type(walked).__name__} str={walked}" is a sequence, '
            f'while substructure "type={type(other).__name__} str={other}" is not'
        )
    if not walks(a):
        return
    if check_types and not _same_type(a, b):
        raise TypeError(
            "The two namedtuples or sequences don't have the same sequence type. "
            f"First structure has type {type(a).__name__}, while second structure has type {type(b).__name__}."
        )
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) != set(b):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. "
            f"First structure has keys {list(a)}, while second structure has keys {list(b)}."
        )
    if isinstance(a, Composite) and check_types and a.element_spec != b.element_spec:
        raise TypeError(f"Incompatible {type(a).__name__} values: {a.element_spec} vs {b.element_spec}.")
    first, second = _children(a), _children(b)
    if len(first) != len(second):
        raise ValueError(
            f"The two structures don't have the same number of elements. First structure: {a}. Second structure: {b}."
        )
    for x, y in zip(first, second, strict=True):
        _compare(x, y, check_types, walks)


def _options(kwargs: dict[str, Any], **defaults: Any) -> list[Any]:
    values = [kwargs.pop(key, default) for key, default in defaults.items()]
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are {', '.join(sorted(defaults))}; got: {', '.join(sorted(kwargs))}"
        )
    return values


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """``func`` applied to the leaves of structures nested alike.  Keywords: ``check_types``, ``expand_composites``.

    Args:
      func: A function of as many values as there are structures.
      *structure: Structures that are nested alike.
      **kwargs: ``check_types`` (True), whether their types must be the same, and ``expand_composites`` (False).

    Returns:
      A structure nested like the first one.

    >>> tf.nest.map_structure(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    _need_callable(func)
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, expand = _options(kwargs, check_types=True, expand_composites=False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types, expand_composites=expand)
    columns = zip(*[flatten(s, expand) for s in structure], strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns], expand)


def _need_callable(func: Any) -> None:
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")


# ---- paths


def yield_flattened_paths(structure: Any, expand_composites: bool = False) -> Iterator[_Path]:
    """The path (a tuple of keys and positions) of each leaf, in walking order.

    Args:
      structure: A nested structure, or a single value.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      An iterator over tuples.

    >>> list(tf.contrib.framework.nest.yield_flattened_paths({'a': [1, 2]}))
    [('a', 0), ('a', 1)]
    """
    for path, _ in _walk_paths(structure, (), _walks(expand_composites)):
        yield path


def _walk_paths(structure: Any, path: _Path, walks: Callable[[Any], bool]) -> Iterator[tuple[_Path, Any]]:
    if not walks(structure):
        yield path, structure
        return
    for key, child in _items(structure):
        yield from _walk_paths(child, (*path, key), walks)


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[_Path, Any]]:
    """The leaves of a structure, each with its path, a tuple of keys.

    Args:
      structure: A nested structure, or a single value.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A list of pairs of a path and a leaf.

    >>> tf.contrib.framework.nest.flatten_with_tuple_paths({'a': [7, 8]})
    [(('a', 0), 7), (('a', 1), 8)]
    """
    return list(_walk_paths(structure, (), _walks(expand_composites)))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Pairs of the path joined by ``separator`` and the leaf: ``[("a/0", x), ...]``.

    Args:
      structure: A nested structure, or a single value.
      separator: What stands between two keys.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A list of pairs of a string and a leaf.

    >>> tf.contrib.framework.nest.flatten_with_joined_string_paths({'a': [7, 8]})
    [('a/0', 7), ('a/1', 8)]
    """
    pairs = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(str(key) for key in path), leaf) for path, leaf in pairs]


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """``func(path, *leaves)`` on structures nested alike; the path is a tuple of keys.

    Args:
      func: A function of a path and of as many values as there are structures.
      *structure: Structures that are nested alike.
      **kwargs: ``check_types`` (True), whether their types must be the same, and ``expand_composites`` (False).

    Returns:
      A structure nested like the first one.

    >>> tf.contrib.framework.nest.map_structure_with_tuple_paths(lambda path, x: (path, x), {'a': 7})
    {'a': (('a',), 7)}
    """
    check_types, expand = _options(kwargs, check_types=True, expand_composites=False)
    paths = iter(list(yield_flattened_paths(structure[0], expand)))
    return map_structure(
        lambda *leaves: func(next(paths), *leaves), *structure, check_types=check_types, expand_composites=expand
    )


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """``func(path, *leaves)`` on structures nested alike; the path is joined by "/".

    Args:
      func: A function of a path and of as many values as there are structures.
      *structure: Structures that are nested alike.
      **kwargs: ``check_types`` (True), whether their types must be the same, and ``expand_composites`` (False).

    Returns:
      A structure nested like the first one.

    >>> tf.contrib.framework.nest.map_structure_with_paths(lambda path, x: f'{path}={x}', {'a': [7]})
    {'a': ['a/0=7']}
    """
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(str(key) for key in path), *leaves), *structure, **kwargs
    )


# ---- up to a shallower structure


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises unless ``shallow_tree`` is nested like the upper part of ``input_tree``.

    Args:
      shallow_tree: The structure that may end earlier.
      input_tree: The structure that may go deeper.
      check_types: Whether their lists, tuples and dictionaries must be of the same types.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    >>> tf.contrib.framework.nest.assert_shallow_structure([0, 0], [1, [2, 3]])
    """
    walks = _walks(expand_composites)
    if not walks(shallow_tree):
        return
    if not walks(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    if check_types and not _same_type(shallow_tree, input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    shallow, deep = _items(shallow_tree), _items(input_tree)
    if len(shallow) != len(deep):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(deep)}, while shallow structure has length {len(shallow)}."
        )
    if isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping):
        absent = [key for key, _ in shallow if key not in input_tree]
        if absent:
            raise ValueError(f"The two structures don't have the same keys. Input structure lacks the keys {absent}.")
    for (_, a), (_, b) in zip(shallow, deep, strict=True):
        assert_shallow_structure(a, b, check_types, expand_composites)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """What ``input_tree`` holds at the leaves of ``shallow_tree``.

    Args:
      shallow_tree: The structure that says where to stop.
      input_tree: The structure to flatten; it may go deeper.
      check_types: Whether their lists, tuples and dictionaries must be of the same types.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A list.

    >>> from headrace.library import nest
    >>> nest.flatten_up_to([0, 0], [[1, 2], {"a": 3}])
    [[1, 2], {'a': 3}]
    """
    return [v for _, v in flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types, expand_composites)]


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[_Path, Any]]:
    """The parts of a tree at the leaves of a shallower one, each with its path.

    Args:
      shallow_tree: The structure that says where to stop.
      input_tree: The structure to flatten; it may go deeper.
      check_types: Whether their lists, tuples and dictionaries must be of the same types.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A list of pairs of a path and a part.

    >>> tf.contrib.framework.nest.flatten_with_tuple_paths_up_to([0, 0], [[1, 2], 3])
    [((0,), [1, 2]), ((1,), 3)]
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return list(_walk_up_to(shallow_tree, input_tree, (), _walks(expand_composites)))


def _walk_up_to(shallow: Any, deep: Any, path: _Path, walks: Callable[[Any], bool]) -> Iterator[tuple[_Path, Any]]:
    if not walks(shallow):
        yield path, deep
        return
    for (key, a), (_, b) in zip(_items(shallow), _items(deep), strict=True):
        yield from _walk_up_to(a, b, (*path, key), walks)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """``func`` applied to what the inputs hold at the leaves of ``shallow_tree``; the result is nested like it.

    Args:
      shallow_tree: The structure that says where to stop.
      func: A function of as many parts as there are inputs.
      *inputs: Structures that are nested like `shallow_tree`, or deeper.
      **kwargs: ``check_types`` (True), whether their types must be the same, and ``expand_composites`` (False).

    Returns:
      A structure nested like `shallow_tree`.

    >>> tf.contrib.framework.nest.map_structure_up_to([0, 0], len, [[1, 2], [3]])
    [2, 1]
    """
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda _, *values: func(*values), *inputs, **kwargs)


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """``func(path, *parts)`` on the parts of trees at the leaves of a shallower one.

    Args:
      shallow_tree: The structure that says where to stop.
      func: A function of a path and of as many parts as there are inputs.
      *inputs: Structures that are nested like `shallow_tree`, or deeper.
      **kwargs: ``check_types`` (True), whether their types must be the same, and ``expand_composites`` (False).

    Returns:
      A structure nested like `shallow_tree`.

    >>> tf.contrib.framework.nest.map_structure_with_tuple_paths_up_to([0], lambda path, x: (path, x), [[1, 2]])
    [((0,), [1, 2])]
    """
    _need_callable(func)
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types, expand = _options(kwargs, check_types=True, expand_composites=False)
    path_pairs = [flatten_with_tuple_paths_up_to(shallow_tree, tree, check_types, expand) for tree in inputs]
    results = [func(pairs[0][0], *[value for _, value in pairs]) for pairs in zip(*path_pairs, strict=True)]
    return pack_sequence_as(shallow_tree, results, expand)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """The part of ``structure`` that ``traverse_fn`` says to walk into, False where it stops and True at leaves.

    Args:
      traverse_fn: A function from a part to True or False, or to one of them for each child.
      structure: A nested structure, or a single value.
      expand_composites: Whether sparse tensors and the like are taken apart into their tensors.

    Returns:
      A structure of booleans.

    >>> tf.contrib.framework.nest.get_traverse_shallow_structure(lambda part: not isinstance(part, tuple), [1, (2, 3)])
    [True, False]
    """
    walks = _walks(expand_composites)
    answer = traverse_fn(structure)
    if not walks(structure):
        if not isinstance(answer, bool):
            raise TypeError(f"traverse_fn returned structure: {answer!r} for non-structure: {structure!r}")
        return answer
    children = _children(structure)
    if isinstance(answer, bool):
        if not answer:
            return False
        return _like(structure, [get_traverse_shallow_structure(traverse_fn, c, expand_composites) for c in children])
    assert_shallow_structure(answer, structure, expand_composites=expand_composites)
    shallow = []
    for flag, child in zip(_children(answer), children, strict=True):
        if not isinstance(flag, bool):
            raise TypeError(f"traverse_fn didn't return a depth=1 structure of bools, got: {answer!r}")
        shallow.append(get_traverse_shallow_structure(traverse_fn, child, expand_composites) if flag else False)
    return _like(structure, shallow)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Keys and values flattened alike: ``{(4, 5): (a, b)}`` becomes ``{4: a, 5: b}``.

    Args:
      dictionary: A dictionary whose keys may be tuples, with values nested like them.

    Returns:
      A dictionary; ValueError if a key comes twice.

    >>> tf.contrib.framework.nest.flatten_dict_items({(4, 5): ('a', 'b'), 6: 'c'})
    {4: 'a', 5: 'b', 6: 'c'}
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if not is_sequence(key):
            pairs = [(key, value)]
        else:
            assert_same_structure(key, value, check_types=False)
            pairs = list(zip(flatten(key), flatten(value), strict=True))
        for k, v in pairs:
            if k in flat:
                raise ValueError(f"Could not flatten dictionary: key {k} is not unique.")
            flat[k] = v
    return flat


def list_to_tuple(structure: Any) -> Any:
    """The structure with its lists made tuples.

    Args:
      structure: A nested structure, or a single value.

    Returns:
      A structure without lists.

    >>> tf.contrib.framework.nest.list_to_tuple([1, {'a': [2]}])
    (1, {'a': (2,)})
    """
    if not is_sequence(structure):
        return structure
    children = [list_to_tuple(c) for c in _children(structure)]
    return tuple(children) if type(structure) is list else _like(structure, children)
