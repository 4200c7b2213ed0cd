"""Text as code points and as characters (tf.strings.unicode_*)."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.numeric import reduction
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation


def unicode_transcode(
    input: Any, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Strings in another encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".

    What cannot be read is replaced, left out ("ignore") or an error ("strict").

    Args:
      input: A tensor of strings.
      input_encoding: How the strings are encoded, such as "UTF-8", "UTF-16-BE" or "LATIN1".
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What happens to bytes that cannot be read: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      replace_control_characters: Whether control characters below 32 are replaced too.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `input`.

    >>> tf.Session().run(tf.strings.unicode_transcode(["na\u00efve"], "UTF-8", "UTF-16-BE"))[0]
    b'\\x00n\\x00a\\x00\\xef\\x00v\\x00e'
    """
    return raw_ops.UnicodeTranscode(
        input, input_encoding, output_encoding, errors, replacement_char, replace_control_characters, name=name
    )


def _scalar(input: Any, caller: str) -> Tensor:
    text = convert_to_tensor(input, dtypes.string, name="input")
    if text.shape.ndims != 0:
        raise NotImplementedError(
            f"tf.strings.{caller} of a tensor of shape {text.shape}: the rows differ in length and there are no ragged "
            "tensors; give a scalar, for instance inside tf.map_fn"
        )
    return text


def unicode_decode(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The code points of a string: ``tf.strings.unicode_decode("g\u00f6", "UTF-8")`` is [103, 246].

    Args:
      input: A scalar string.
      input_encoding: How the string is encoded, such as "UTF-8", "UTF-16-BE" or "LATIN1".
      errors: What happens to bytes that cannot be read: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      replace_control_characters: Whether control characters below 32 are replaced too.
      name: A name for the op.

    Returns:
      An int32 vector.

    >>> tf.Session().run(tf.strings.unicode_decode("hi", "UTF-8")).tolist()
    [104, 105]
    """
    with name_scope(name, "UnicodeDecode", [input]):
        text = _scalar(input, "unicode_decode")
        return raw_ops.UnicodeDecode(text, input_encoding, errors, replacement_char, replace_control_characters)[1]


def unicode_decode_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The code points of a string, and the byte each starts at.

    Args:
      input: A scalar string.
      input_encoding: How the string is encoded, such as "UTF-8", "UTF-16-BE" or "LATIN1".
      errors: What happens to bytes that cannot be read: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      replace_control_characters: Whether control characters below 32 are replaced too.
      name: A name for the op.

    Returns:
      Two vectors: int32 code points and int64 offsets.

    >>> points, starts = tf.strings.unicode_decode_with_offsets("hi", "UTF-8")
    >>> [one.tolist() for one in tf.Session().run([points, starts])]
    [[104, 105], [0, 1]]
    """
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        text = _scalar(input, "unicode_decode_with_offsets")
        _, points, starts = raw_ops.UnicodeDecodeWithOffsets(
            text, input_encoding, errors, replacement_char, replace_control_characters
        )
        return points, starts


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Tensor:
    """Strings of code points: a vector gives a scalar, a matrix a vector and so on.

    Args:
      input: An int32 tensor of code points of known rank, at least 1.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What happens to numbers that are no code points: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      name: A name for the op.

    Returns:
      A tensor of strings without the last dimension of `input`.

    >>> tf.Session().run(tf.strings.unicode_encode([[104, 105]], "UTF-8")).tolist()
    [b'hi']
    """
    with name_scope(name, "UnicodeEncode", [input]):
        points = convert_to_tensor(input, dtypes.int32, name="input")
        if points.shape.ndims is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if points.shape.ndims == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        sizes = array.shape(points)
        rows = reduction.reduce_prod(sizes[:-1])
        splits = creation.range(rows + 1) * sizes[-1]
        flat = array.reshape(points, [-1])
        strings: Any = raw_ops.UnicodeEncode(flat, splits, errors, output_encoding, replacement_char)
        return array.reshape(strings, sizes[:-1])


def unicode_split(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Tensor:
    """The characters of a string, each a string of its own.

    Args:
      input: A scalar string.
      input_encoding: How the string is encoded: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What happens to bytes that cannot be read: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      name: A name for the op.

    Returns:
      A vector of strings in the same encoding.

    >>> tf.Session().run(tf.strings.unicode_split("hi", "UTF-8")).tolist()
    [b'h', b'i']
    """
    with name_scope(name, "UnicodeSplit", [input]):
        points = unicode_decode(_scalar(input, "unicode_split"), input_encoding, errors, replacement_char)
        return _characters(points, input_encoding, errors, replacement_char)


def _characters(points: Tensor, encoding: str, errors: str, replacement: int) -> Tensor:
    return unicode_encode(array.expand_dims(points, -1), encoding, errors, replacement)


def unicode_split_with_offsets(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The characters of a string, and the byte each starts at.

    Args:
      input: A scalar string.
      input_encoding: How the string is encoded: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What happens to bytes that cannot be read: "replace", "ignore" or "strict".
      replacement_char: The code point that replaces them.
      name: A name for the op.

    Returns:
      Two vectors: strings in the same encoding, and int64 offsets.

    >>> characters, starts = tf.strings.unicode_split_with_offsets("hi", "UTF-8")
    >>> [one.tolist() for one in tf.Session().run([characters, starts])]
    [[b'h', b'i'], [0, 1]]
    """
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        text = _scalar(input, "unicode_split_with_offsets")
        points, starts = unicode_decode_with_offsets(text, input_encoding, errors, replacement_char)
        return _characters(points, input_encoding, errors, replacement_char), starts


def bytes_split(input: Any, name: str | None = None) -> Tensor:
    """The bytes of a string, each a string of its own.

    Args:
      input: A scalar string.
      name: A name for the op.

    Returns:
      A vector of strings of one byte each.

    >>> tf.Session().run(tf.strings.bytes_split("h\u00e9"))
    array([b'h', b'\\xc3', b'\\xa9'], dtype=object)
    """
    with name_scope(name, "StringsByteSplit", [input]):
        text = _scalar(input, "bytes_split")
        return raw_ops.StringSplit(array.expand_dims(text, 0), "")[1]
