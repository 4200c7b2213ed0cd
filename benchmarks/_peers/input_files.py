"""The files that the comparison of input pipelines reads, made once for all libraries."""

import io
from pathlib import Path

import numpy as np

RECORDS, IMAGES, ROWS, LINES = 8000, 192, 12000, 8000
RECORD_FILES = 4
FLOATS = 16  # of a record
COLUMNS = 8  # of a row of CSV
WORDS = 5000  # in the vocabulary
SIZE, CROP = (256, 192), 160  # of an image


def write_all(tf, folder):
    """Writes the files of all cases into the folder."""
    random = np.random.RandomState(0)
    write_records(tf, folder, random)
    write_images(folder, random)
    write_rows(folder, random)
    write_lines(folder, random)


def write_records(tf, folder, random):
    """Examples of small features, as TFRecords."""
    for i in range(RECORD_FILES):
        with tf.python_io.TFRecordWriter(f"{folder}/{i}.tfrecord") as writer:
            for _ in range(RECORDS // RECORD_FILES):
                feature = {
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=random.rand(FLOATS).tolist())),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[random.randint(10)])),
                    "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"name%d" % random.randint(1000)])),
                }
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def write_images(folder, random):
    """JPEG files: smooth colours, as in photographs."""
    from PIL import Image

    for i in range(IMAGES):
        small = Image.fromarray(random.randint(0, 256, (12, 16, 3)).astype(np.uint8))
        data = io.BytesIO()
        small.resize(SIZE, Image.Resampling.BICUBIC).save(data, "JPEG", quality=90)
        Path(f"{folder}/{i:04d}.jpg").write_bytes(data.getvalue())


def write_rows(folder, random):
    """A table of numbers, a text in its last column."""
    numbers = random.rand(ROWS, COLUMNS - 1)
    lines = [",".join([*(f"{n:.4f}" for n in row), f"kind{i % 7}"]) for i, row in enumerate(numbers)]
    Path(f"{folder}/table.csv").write_text("\n".join(lines) + "\n")


def write_lines(folder, random):
    """Lines of 3 to 40 words, frequent ones more often, and the vocabulary."""
    words = np.array([f"word{i}" for i in range(WORDS)])
    lines = []
    for length in random.randint(3, 41, LINES):
        lines.append(" ".join(words[np.minimum(random.zipf(1.3, length), WORDS) - 1]))
    Path(f"{folder}/lines.txt").write_text("\n".join(lines) + "\n")
    Path(f"{folder}/words.txt").write_text("\n".join(words) + "\n")


def arrays():
    """Images and labels in memory, and nothing on the disk."""
    random = np.random.RandomState(1)
    return random.randint(0, 256, (20000, 784)).astype(np.uint8), random.randint(0, 10, 20000)


def generated(count=12000):
    """What a Python generator of a user gives: a row and a label."""
    rows = np.random.RandomState(2).rand(64, 32).astype(np.float32)
    for i in range(count):
        yield rows[i % 64], i % 10
