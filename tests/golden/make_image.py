"""Makes image.npz: the results of image_cases.py by real TensorFlow, and a JPEG file with its pixels.

Run with an interpreter that has tensorflow.
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from image_cases import CASES, GREY, SMOOTH

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")


def results(case):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf))


def files():
    """Files as TensorFlow writes them, and what it reads from them."""
    with tf.Graph().as_default(), tf.Session() as session:
        jpeg = tf.image.encode_jpeg(SMOOTH)
        grey = tf.image.encode_jpeg(GREY)
        found = {"jpeg": jpeg, "grey_jpeg": grey, "png": tf.image.encode_png(SMOOTH)}
        contents = session.run(found)
        arrays = {f"file|{name}": np.frombuffer(data, np.uint8) for name, data in contents.items()}
        accurate = {"dct_method": "INTEGER_ACCURATE"}  # Pillow's; TensorFlow's default is the fast, coarse one
        pixels = {
            "jpeg_fast": tf.image.decode_jpeg(contents["jpeg"]),
            "jpeg": tf.image.decode_jpeg(contents["jpeg"], **accurate),
            "jpeg_grey": tf.image.decode_jpeg(contents["jpeg"], channels=1, **accurate),
            "jpeg_half": tf.image.decode_jpeg(contents["jpeg"], ratio=2, **accurate),
            "jpeg_window": tf.image.decode_and_crop_jpeg(contents["jpeg"], [2, 3, 5, 6], **accurate),
            "jpeg_shape": tf.image.extract_jpeg_shape(contents["jpeg"]),
            "grey_jpeg": tf.image.decode_jpeg(contents["grey_jpeg"], **accurate),
            "png": tf.image.decode_png(contents["png"]),
            "png_grey": tf.image.decode_png(contents["png"], channels=1),
        }
        return arrays | {f"pixels|{name}": value for name, value in session.run(pixels).items()}


if __name__ == "__main__":
    arrays = files()
    for name, case in CASES.items():
        for i, array in enumerate(results(case)):
            arrays[f"{name}|{i}"] = array
    path = Path(__file__).parent / "image.npz"
    np.savez_compressed(path, **arrays)
    print(f"{len(CASES)} cases, {len(arrays)} arrays, {path.stat().st_size} bytes")
