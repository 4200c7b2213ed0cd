"""The shipped digits: complete, in range, split reproducibly."""

import numpy as np
import pytest

from headrace.models import digits


def test_every_image_is_in_exactly_one_part() -> None:
    train, test = digits.load()
    assert len(train.labels) + len(test.labels) == 1797
    assert len(test.labels) == 359
    both = np.concatenate([train.images, test.images]).reshape(1797, -1)
    reference = np.concatenate([*(part.images for part in digits.load(0.5, seed=7))]).reshape(1797, -1)
    assert np.array_equal(both[np.lexsort(both.T)], reference[np.lexsort(reference.T)])


def test_types_and_ranges() -> None:
    for part in digits.load():
        assert part.images.dtype == np.float32
        assert part.images.shape[1:] == digits.IMAGE_SHAPE
        assert part.images.min() == 0.0
        assert part.images.max() == 1.0
        assert part.labels.dtype == np.int64
        assert set(part.labels) == set(range(digits.CLASSES))


def test_the_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    first, again, other = digits.load(seed=3), digits.load(seed=3), digits.load(seed=4)
    assert np.array_equal(first.train.labels, again.train.labels)
    assert np.array_equal(first.test.images, again.test.images)
    assert not np.array_equal(first.test.labels, other.test.labels)


def test_images_keep_their_labels() -> None:
    """Class means from the training part classify most of the test part: rows were not mixed up."""
    train, test = digits.load()
    means = np.stack([train.images[train.labels == digit].mean(axis=0) for digit in range(digits.CLASSES)])
    distance = np.square(test.images[:, None] - means[None]).sum(axis=(2, 3, 4))
    assert (distance.argmin(axis=1) == test.labels).mean() > 0.85


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 2])
def test_a_fraction_that_leaves_a_part_empty_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="test_fraction"):
        digits.load(test_fraction=fraction)
