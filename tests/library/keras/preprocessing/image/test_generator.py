"""Batches of changed images from arrays, folders and data frames."""

import numpy as np
import pytest

import headrace as tf

image = tf.keras.preprocessing.image
GENERATOR = image.ImageDataGenerator()


@pytest.fixture
def folder(tmp_path):
    """Two classes, with three images and one."""
    for name, count in (("cats", 3), ("dogs", 1)):
        (tmp_path / name).mkdir()
        for i in range(count):
            image.save_img(tmp_path / name / f"{i}.png", np.full([4, 4, 3], 40.0 * i + len(name)), scale=False)
    (tmp_path / "cats" / "notes.txt").write_text("no image")
    return tmp_path


def test_a_folder(folder, capsys):
    batches = GENERATOR.flow_from_directory(str(folder), target_size=(2, 3), batch_size=3, shuffle=False)
    assert capsys.readouterr().out == "Found 4 images belonging to 2 classes.\n"
    assert batches.class_indices == {"cats": 0, "dogs": 1} and len(batches) == 2
    assert batches.filenames == ["cats/0.png", "cats/1.png", "cats/2.png", "dogs/0.png"]
    x, y = next(batches)
    assert x.shape == (3, 2, 3, 3) and x[:, 0, 0, 0].tolist() == [4, 44, 84] and y.tolist() == [[1, 0]] * 3
    x, y = next(batches)
    assert y.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("class_mode", "expected"), [("binary", [0, 0, 0, 1]), ("sparse", [0, 0, 0, 1]), ("input", None), (None, None)]
)
def test_targets_of_a_folder(folder, class_mode, expected):
    batches = GENERATOR.flow_from_directory(
        str(folder), target_size=(4, 4), class_mode=class_mode, color_mode="grayscale", shuffle=False
    )
    found = batches[0]
    if class_mode is None:
        assert found.shape == (4, 4, 4, 1)
    elif class_mode == "input":
        np.testing.assert_array_equal(*found)
    else:
        assert found[1].tolist() == expected


def test_parts_of_a_folder(folder):
    split = image.ImageDataGenerator(validation_split=0.4)
    sizes = [split.flow_from_directory(str(folder), subset=name).samples for name in ("training", "validation")]
    assert sizes == [3, 1]
    for options, message in (
        ({"subset": "test"}, "Invalid subset name: test"), ({"class_mode": "raw"}, "Invalid class_mode: raw"),
        ({"color_mode": "cmyk"}, "Invalid color mode: cmyk"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            split.flow_from_directory(str(folder), **options)


def test_changed_images_are_saved(folder, tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    next(GENERATOR.flow(np.zeros([2, 4, 4, 1]), batch_size=2, save_to_dir=str(saved), save_prefix="seen"))
    assert sorted(one.name[:7] for one in saved.iterdir()) == ["seen_0_", "seen_1_"]


class Frame(dict):
    """As much of a pandas data frame as is used: columns by name, rows by a mask or a slice, ``copy``."""

    def __len__(self):
        return len(next(iter(self.values())))

    def __getitem__(self, key):
        if isinstance(key, str):
            return Column(dict.__getitem__(self, key))
        rows = range(len(self))[key] if isinstance(key, slice) else np.flatnonzero(key)
        return Frame({name: [values[i] for i in rows] for name, values in self.items()})

    def copy(self):
        return Frame(self)


class Column(list):
    def tolist(self):
        return list(self)


def frame(**columns):
    return Frame({"filename": ["cats/0.png", "cats/1.png", "dogs/0.png", "dogs/9.png"], **columns})


def test_a_data_frame(folder, capsys):
    with pytest.warns(UserWarning, match="1 rows of x_col"):
        batches = GENERATOR.flow_from_dataframe(
            frame(**{"class": ["cat", "cat", "dog", "dog"], "weight": [1.0, 2.0, 3.0, 4.0]}), str(folder),
            weight_col="weight", target_size=(4, 4), shuffle=False,
        )  # fmt: skip
    assert "Found 3 validated image filenames belonging to 2 classes." in capsys.readouterr().out
    x, y, weight = next(batches)
    assert y.tolist() == [[1, 0], [1, 0], [0, 1]] and weight.tolist() == [1, 2, 3]
    assert x[:, 0, 0, 0].tolist() == [4, 44, 4]


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"a": [5, 6, 7, 8]}, {"y_col": "a", "class_mode": "raw"}, [5, 6, 7, 8]),
        (
            {"a": [5, 6, 7, 8], "b": [1, 2, 3, 4]}, {"y_col": ["a", "b"], "class_mode": "multi_output"},
            [[5, 6, 7, 8], [1, 2, 3, 4]],
        ),
        ({"class": ["x", "y", "z", "y"]}, {"classes": ["z", "y"], "class_mode": "sparse"}, [1, 0, 1]),
        ({"class": [["x", "y"], ["y"], ["z"], "x"]}, {}, [[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ],
)  # fmt: skip
def test_targets_of_a_data_frame(folder, columns, options, expected):
    batches = GENERATOR.flow_from_dataframe(
        frame(**columns), str(folder), shuffle=False, validate_filenames=False, **options
    )
    targets = batches._targets(np.zeros([batches.samples, 1]), np.arange(batches.samples))
    assert [np.asarray(one).tolist() for one in targets] == expected


def test_a_data_frame_with_mistakes(folder):
    for columns, options, error, message in (
        ({"class": [1, 2, 3, 4]}, {}, TypeError, "must be strings, lists or tuples"),
        ({"class": ["a", "b", "c", "a"]}, {"class_mode": "binary"}, ValueError, "there must be 2 classes. Found 3"),
        ({"class": ["a"] * 4}, {"class_mode": "multi_output"}, TypeError, "y_col must be a list"),
        ({"class": ["a"] * 4, "w": ["x"] * 4}, {"weight_col": "w"}, TypeError, "weight_col=w must be numeric"),
        ({"filename": [1, 2, 3, 4], "class": ["a"] * 4}, {}, TypeError, "x_col=filename must be strings"),
    ):
        with pytest.raises(error, match=message):
            GENERATOR.flow_from_dataframe(frame(**columns), str(folder), **options)


def test_settings_that_need_others():
    with pytest.warns(UserWarning, match="`zca_whitening`, which turns `featurewise_center` on"):
        made = image.ImageDataGenerator(zca_whitening=True)
    made.fit(np.random.RandomState(0).rand(200, 2, 2, 1))
    white = made.standardize(np.random.RandomState(0).rand(200, 2, 2, 1)).reshape(200, 4)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(4), atol=1e-2)  # the mean is by channel, not by pixel
    with pytest.warns(UserWarning, match="`samplewise_std_normalization`, which turns"):
        image.ImageDataGenerator(samplewise_std_normalization=True)
    with pytest.warns(UserWarning, match="has seen no data yet"):
        image.ImageDataGenerator(featurewise_center=True).standardize(np.zeros([2, 2, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"brightness_range": 2}, "`brightness_range` should be tuple or list of two floats"),
        ({"zoom_range": (1, 2, 3)}, "`zoom_range` should be a float"),
        ({"validation_split": 1.5}, "strictly between 0 and 1"),
        ({"data_format": "rows"}, "data_format must be"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(ValueError, match=message):
        image.ImageDataGenerator(**options)


def test_wrong_arrays():
    with pytest.raises(ValueError, match="should have rank 4"):
        GENERATOR.flow(np.zeros([3, 4, 4]))
    with pytest.raises(ValueError, match="should have the same length"):
        GENERATOR.flow(np.zeros([3, 4, 4, 1]), np.zeros([2]))
    with pytest.raises(ValueError, match="different number of classes after the split"):
        image.ImageDataGenerator(validation_split=0.5).flow(np.zeros([4, 2, 2, 1]), [0, 0, 1, 1], subset="training")
    with pytest.warns(UserWarning, match="has 5 channels"):
        GENERATOR.flow(np.zeros([3, 4, 4, 5]))


def test_more_inputs_and_weights():
    batches = GENERATOR.flow(
        (np.zeros([3, 2, 2, 1]), np.arange(3)), [4, 5, 6], sample_weight=[1, 2, 3], shuffle=False, batch_size=2
    )
    (x, other), y, weight = batches[1]
    assert x.shape == (1, 2, 2, 1) and other.tolist() == [2] and y.tolist() == [6] and weight.tolist() == [3]
    with pytest.raises(ValueError, match="Asked to retrieve element 2, but the Sequence has length 2"):
        batches[2]


def test_random_changes_of_images():
    np.random.seed(0)
    pixels = np.random.rand(3, 6, 6)
    changes = (
        (image.random_rotation, (40,)), (image.random_shift, (0.5, 0.5)), (image.random_shear, (30,)),
        (image.random_zoom, ((0.5, 0.8),)), (image.random_channel_shift, (0.5,)),
    )  # fmt: skip
    for change, arguments in changes:
        made = change(pixels, *arguments)
        assert made.shape == pixels.shape and not np.array_equal(made, pixels)
        assert made.min() >= pixels.min() and made.max() <= pixels.max()
    with pytest.raises(ValueError, match="zoom_range"):
        image.random_zoom(pixels, (1, 2, 3))
    with pytest.raises(ValueError, match="brightness_range"):
        image.random_brightness(pixels, (1,))


def test_all_changes_together():
    made = image.ImageDataGenerator(
        rotation_range=10, width_shift_range=0.1, brightness_range=(0.5, 0.9), horizontal_flip=True
    ).random_transform(np.random.RandomState(0).rand(6, 6, 3), seed=1)
    assert made.shape == (6, 6, 3) and made.min() >= 0 and 100 < made.max() < 250
