"""Optionals: values that may be missing, made, taken from iterators, in elements, in bodies and eagerly."""

import numpy as np
import pytest
from library.data.positions import check_positions
from library.data.taking import take

import headrace as tf
from headrace.extend import raw_ops

Dataset = tf.data.Dataset
Optional = tf.data.experimental.Optional
get_next_as_optional = tf.data.experimental.get_next_as_optional


def test_a_value_and_none(session):
    some = Optional.from_value((tf.constant(3), {"a": tf.constant([1.0, 2.0])}))
    none = Optional.none_from_structure(tf.TensorSpec([], tf.int32))
    assert some.value_structure == (tf.TensorSpec([], tf.int32), {"a": tf.TensorSpec([2], tf.float32)})
    assert none.get_value().shape.as_list() == []
    assert session.run([some.has_value(), none.has_value()]) == [True, False]
    number, rest = session.run(some.get_value())
    assert number == 3 and rest["a"].tolist() == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value"):
        session.run(none.get_value())
    with pytest.raises(TypeError, match="has invalid type Optional"):
        session.run(some)


def test_components_of_all_kinds(session):
    sparse = tf.SparseTensor([[1]], [5], [3])
    value = {"s": sparse, "d": Dataset.range(3), "o": Optional.from_value("text")}
    taken = Optional.from_value(value).get_value()
    total = taken["d"].reduce(np.int64(0), lambda a, b: a + b)
    got = session.run([tf.sparse_tensor_to_dense(taken["s"]), total, taken["o"].get_value()])
    assert got[0].tolist() == [0, 5, 0] and got[1:] == [3, b"text"]


class TestIterator:
    def test_the_end_is_an_optional_without_a_value(self, session):
        optional = get_next_as_optional(Dataset.range(2).make_one_shot_iterator())
        assert optional.value_structure == tf.TensorSpec([], tf.int64)
        assert [session.run([optional.has_value(), optional.get_value()]) for _ in range(2)] == [[True, 0], [True, 1]]
        assert [session.run(optional.has_value()) for _ in range(2)] == [False, False]

    def test_errors_are_errors(self, session):
        iterator = Dataset.from_tensor_slices([0.0, 1.0]).map(lambda x: tf.check_numerics(1 / x, "bad"))
        optional = get_next_as_optional(iterator.make_one_shot_iterator())
        waiting = get_next_as_optional(Dataset.range(2).make_initializable_iterator())
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tensor had Inf"):
            session.run(optional.has_value())
        assert session.run([optional.has_value(), optional.get_value()]) == [True, 1]
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(waiting.has_value())
        with pytest.raises(TypeError, match="needs an iterator of a dataset, got 3"):
            get_next_as_optional(3)

    def test_a_loop_that_ends_with_the_dataset(self, session):
        iterator = Dataset.range(5).make_initializable_iterator()

        def body(optional, total):
            return get_next_as_optional(iterator), total + optional.get_value()

        first = get_next_as_optional(iterator)
        _, total = tf.while_loop(lambda optional, _: optional.has_value(), body, (first, np.int64(0)))
        session.run(iterator.initializer)
        assert session.run(total) == 10


class TestBodies:
    def test_the_branch_of_a_conditional(self, session):
        which = tf.placeholder(tf.bool, [])
        none = Optional.none_from_structure(tf.TensorSpec([], tf.int32))
        optional = tf.cond(which, lambda: Optional.from_value(7), lambda: none)
        value = tf.cond(optional.has_value(), optional.get_value, lambda: -1)
        assert [session.run(value, {which: w}) for w in (True, False)] == [7, -1]
        with pytest.raises(TypeError, match="Incompatible Optional values"):
            tf.cond(which, lambda: Optional.from_value(7), lambda: Optional.from_value(7.0))

    def test_an_argument_of_a_function_is_traced_for_what_it_holds(self, session):
        @tf.function
        def doubled(optional):
            return Optional.from_value(optional.get_value() * 2)

        one, two = doubled(Optional.from_value(4)), doubled(Optional.from_value([1.5, 2.0]))
        assert session.run(one.get_value()) == 8
        assert session.run(two.get_value()).tolist() == [3, 4]


def test_the_names_of_structures():
    experimental = tf.data.experimental
    assert experimental.TensorStructure(tf.int32, [2]) == tf.TensorSpec([2], tf.int32)
    sparse = experimental.SparseTensorStructure(tf.int32, [2])
    assert sparse == tf.SparseTensorSpec([2], tf.int32) != tf.SparseTensorSpec([2], tf.int64)
    assert sparse != tf.TensorSpec([2], tf.int32) and hash(sparse) == hash(tf.SparseTensorSpec([2], tf.int32))
    assert sparse.is_compatible_with(tf.SparseTensorSpec([None], tf.int32))
    assert sparse.is_compatible_with(tf.SparseTensor([[1]], [5], [2]))
    assert not sparse.is_compatible_with(tf.TensorSpec([2], tf.int32))
    windows = Dataset.range(4).window(2)
    assert experimental.get_structure(windows) == windows.element_spec == windows.output_types
    again = experimental.from_variant(experimental.to_variant(windows), experimental.get_structure(windows))
    assert [w.tolist() for w in take(again.flat_map(lambda w: w.batch(2)))] == [[0, 1], [2, 3]]
    with pytest.raises(TypeError, match="must be a Dataset or Iterator object, but got 3"):
        experimental.get_structure(3)


class TestElements:
    def test_specs(self):
        dataset = Dataset.from_tensors((1, Optional.from_value(2.0)))
        spec = tf.data.experimental.OptionalStructure(tf.TensorSpec([], tf.float32))
        assert dataset.element_spec[1] == spec and spec.value_type is Optional
        assert (dataset.output_types[1], dataset.output_shapes[1], dataset.output_classes[1]) == (spec, spec, spec)
        again = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
        assert again.element_spec == dataset.element_spec
        assert spec.is_compatible_with(Optional.from_value(1.0))
        assert not spec.is_compatible_with(Optional.from_value(1))
        assert hash(spec) == hash(tf.data.experimental.OptionalStructure.from_value(Optional.from_value(1.0)))
        for wrong in (lambda: dataset.batch(2), lambda: Dataset.from_tensor_slices(Optional.from_value([1.0]))):
            with pytest.raises(TypeError, match="only tensors can be batched or cut into rows, got OptionalSpec"):
                wrong()

    def test_positions(self):
        def optional(x):
            none = Optional.none_from_structure(tf.TensorSpec([], tf.int64))
            return tf.cond(x % 2 > 0, lambda: none, lambda: Optional.from_value(x))

        dataset = Dataset.range(5).map(optional).cache().repeat(2).prefetch(2).filter(lambda o: o.has_value())
        assert check_positions(dataset.map(lambda o: o.get_value() * 10)) == [0, 20, 40] * 2

    def test_what_a_step_changes_is_its_own(self, session):
        taken = Dataset.from_tensors(Optional.from_value([1.0, 2.0])).repeat(2).make_one_shot_iterator().get_next()
        value = taken.get_value()
        session.run(value)[:] = 9
        assert session.run(value).tolist() == [1, 2]

    def test_one_of_another_shape_is_refused(self):
        dataset = Dataset.from_tensors(Optional.from_value([1.0, 2.0]))
        element = dataset.make_one_shot_iterator().get_next()._variant_tensor
        for dtype, shape, message in (
            ([tf.float32], [[3]], r"shape \(2,\), expected \(3,\)"),
            ([tf.string], [[2]], "has type float32, expected string"),
            ([tf.float32] * 2, [[2]] * 2, "has 1 components, expected 2"),
        ):
            with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
                sess.run(raw_ops.OptionalGetValue(element, output_types=dtype, output_shapes=shape))
        not_one = raw_ops.OptionalHasValue(Dataset.range(3)._variant_tensor)
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="an optional is needed, got"):
            sess.run(not_one)


def test_eagerly():
    with tf.eager_mode():
        iterator = iter(Dataset.range(2))
        taken = [get_next_as_optional(iterator) for _ in range(3)]
        assert [bool(o.has_value()) for o in taken] == [True, True, False]
        assert [int(o.get_value()) for o in taken[:2]] == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            taken[2].get_value()
        assert [int(o.get_value()) for o in Dataset.range(3).map(Optional.from_value)] == [0, 1, 2]
        with pytest.raises(ValueError, match="at least one tensor"):
            Optional.from_value(())

        @tf.function
        def doubled(optional):
            return Optional.from_value(optional.get_value() * 2)

        assert [doubled(Optional.from_value(x)).get_value().numpy().tolist() for x in (4, [1.5], 5)] == [8, [3], 10]
