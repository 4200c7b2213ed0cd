"""Signals in frames (tf.signal): windows, framing, short-time Fourier transforms, cosine transforms, mel scales."""

from __future__ import annotations

import functools
import math as _math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.infer import constant_value
from headrace.graph.operation import Tensor
from headrace.library.linalg import matrix as linalg
from headrace.library.numeric import math, reduction, segment
from headrace.library.scope import name_scope
from headrace.library.signal.fourier import irfft, rfft
from headrace.library.tensor import array, broadcast, creation, indexing

# ---- windows


def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """A raised cosine of that many samples; ``periodic`` for transforms, not periodic for filters.

    Args:
      window_length: How many samples, an integer.
      periodic: Whether the window is one period of a wave, or symmetric.
      dtype: The type of the result, of floats.
      name: A name for the op.

    Returns:
      A vector of `window_length` samples.

    >>> tf.Session().run(tf.signal.hann_window(4))
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """A raised cosine that does not quite reach zero.

    Args:
      window_length: How many samples, an integer.
      periodic: Whether the window is one period of a wave, as transforms need it, or symmetric, as filters do.
      dtype: The type of the result, of floats.
      name: A name for the op.

    Returns:
      A vector of `window_length` samples.

    >>> tf.Session().run(tf.signal.hamming_window(4)).round(2)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None, default: str, window_length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Tensor:
    element_type = dtypes.as_dtype(dtype)
    if not element_type.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {element_type}")
    with name_scope(name, default, [window_length, periodic]):
        length = convert_to_tensor(window_length, dtypes.int32, name="window_length")
        length.shape.assert_has_rank(0)
        even = 1 - math.floormod(length, 2)
        whole = math.cast(convert_to_tensor(periodic, dtypes.bool, name="periodic"), dtypes.int32)
        n = math.cast(length + whole * even - 1, element_type)
        # A window of one sample is 1, which the division by n would not give.
        safe = raw_ops.Maximum(n, constant(1, element_type))
        count = math.cast(creation.range(length), element_type)
        wave = a - b * math.cos(count * constant(2 * _math.pi, element_type) / safe)
        return indexing.where(
            broadcast.broadcast_to(math.equal(length, 1), array.shape(wave)), creation.ones_like(wave), wave
        )


# ---- frames


def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: int = -1,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Windows of ``frame_length`` samples, one every ``frame_step``, along an axis: [..., frames, frame_length, ...].

    Args:
      signal: A tensor [..., samples, ...] of known rank.
      frame_length: How many samples a window has, an integer.
      frame_step: How many samples lie between the starts of two windows, an integer.
      pad_end: Whether the last windows may reach past the end; if not, samples that fill no window are left out.
      pad_value: What stands past the end.
      axis: The axis of the samples.
      name: A name for the op.

    Returns:
      A tensor of the type of `signal` with two axes, frames and samples, in place of `axis`.

    >>> tf.Session().run(tf.signal.frame([1, 2, 3, 4, 5], 3, 2))
    array([[1, 2, 3],
           [3, 4, 5]], dtype=int32)
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        rank = signal.shape.with_rank_at_least(1).ndims
        if rank is None:
            raise ValueError("signal must have a known rank")
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} is out of bounds for a signal of rank {rank}")
        axis %= rank
        length, step = (_scalar(v, n) for v, n in ((frame_length, "frame_length"), (frame_step, "frame_step")))
        size = signal.shape.as_list()[axis]
        samples = array.shape(signal)[axis] if size is None else size
        if pad_end:
            frames = -(-samples // step)
            missing = raw_ops.Maximum(0, length + step * (frames - 1) - samples)
            pads: Any = [[0, 0]] * axis + [[0, missing]] + [[0, 0]] * (rank - axis - 1)
            signal = array.pad(signal, array.stack([array.stack(p) for p in pads]), constant_values=pad_value)
        else:
            frames = raw_ops.Maximum(0, 1 + (samples - length) // step)
        places = array.expand_dims(creation.range(frames) * step, 1) + array.expand_dims(creation.range(length), 0)
        framed = indexing.gather(signal, places, axis=axis)
        _note_frames(framed, signal, frames, length, axis)
        return framed


def _scalar(value: Any, name: str) -> Any:
    """A number if it is known, else a tensor."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    tensor = convert_to_tensor(value, dtypes.int32, name=name)
    tensor.shape.assert_has_rank(0)
    number = constant_value(tensor)
    return tensor if number is None else int(number)


def _note_frames(framed: Tensor, signal: Tensor, frames: Any, length: Any, axis: int) -> None:
    count = frames if isinstance(frames, int) else constant_value(frames)
    dims = signal.shape.as_list()
    width = length if isinstance(length, int) else None
    framed.set_shape([*dims[:axis], None if count is None else int(count), width, *dims[axis + 1 :]])


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The inverse of `frame`: frames [..., frames, frame_length] added up, ``frame_step`` apart.

    Args:
      signal: A tensor [..., frames, frame_length] of numbers.
      frame_step: How many samples lie between the starts of two frames, an integer.
      name: A name for the op.

    Returns:
      A tensor [..., (frames - 1) * frame_step + frame_length] of the type of `signal`.

    >>> tf.Session().run(tf.signal.overlap_and_add([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], 2)).tolist()
    [1.0, 1.0, 3.0, 2.0, 2.0]
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step: Any = convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.base_dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype.name}")
        static_step = constant_value(step)
        step = math.cast(step, dtypes.int32) if static_step is None else int(static_step)
        sizes = array.shape(signal)
        frames, length = sizes[-2], sizes[-1]
        total = raw_ops.Maximum(length + step * (frames - 1), 0)
        places = array.expand_dims(creation.range(frames) * step, 1) + array.expand_dims(creation.range(length), 0)
        rows = array.reshape(signal, array.stack([-1, frames * length]))
        added = segment.unsorted_segment_sum(array.transpose(rows), array.reshape(places, [-1]), total)
        summed = array.reshape(array.transpose(added), array.concat([sizes[:-2], array.expand_dims(total, 0)], 0))
        dims = signal.shape.as_list() if signal.shape.ndims is not None else None
        if dims is not None and isinstance(step, int):
            whole = None if None in dims[-2:] else dims[-1] + step * (dims[-2] - 1)
            summed.set_shape([*dims[:-2], whole])
        return summed


# ---- short-time Fourier transforms


def stft(
    signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, pad_end: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transform of each window of a signal: [..., samples] -> complex [..., frames, frequencies].

    ``fft_length`` defaults to the smallest power of two that holds a frame.

    Args:
      signals: A tensor [..., samples] of floats.
      frame_length: How many samples a window has, an integer.
      frame_step: How many samples lie between the starts of two windows, an integer.
      fft_length: How many samples are transformed at a time, an integer; a window is cut off or filled with zeros.
        None takes the smallest power of two that holds a frame.
      window_fn: A function of `frame_length` and ``dtype`` that gives the weights of a window's samples; None for
        none.
      pad_end: Whether the last windows may reach past the end, where zeros stand.
      name: A name for the op.

    Returns:
      A complex tensor [..., frames, fft_length // 2 + 1].

    >>> tf.Session().run(tf.signal.stft(tf.ones([16]), frame_length=8, frame_step=4)).shape
    (3, 5)
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = _scalar(frame_length, "frame_length")
        step = _scalar(frame_step, "frame_step")
        size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        framed = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            framed *= window_fn(length, dtype=framed.dtype.base_dtype)
        return rfft(framed, [size])  # type: ignore[no-any-return]


def _enclosing_power(length: Any) -> Any:
    """The smallest power of two that is not smaller."""
    if isinstance(length, int):
        return 1 << (length - 1).bit_length() if length > 1 else 1
    value = math.cast(length, dtypes.float32)
    two = math.log(constant(2.0))
    return math.cast(math.pow(2.0, math.ceil(math.log(value) / two)), length.dtype.base_dtype)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window for `inverse_stft` that undoes the one of `stft`, whatever the overlap.

    Args:
      frame_step: How many samples lie between the starts of two windows, an integer.
      forward_window_fn: The ``window_fn`` that `stft` had.
      name: A name for the op.

    Returns:
      A function of ``frame_length`` and ``dtype``, to give to `inverse_stft` as ``window_fn``.

    >>> window = tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float32)
    >>> tf.Session().run(window).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """

    def inverse_window(frame_length: Any, dtype: Any) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            step = _scalar(frame_step, "frame_step")
            length = _scalar(frame_length, "frame_length")
            window = forward_window_fn(length, dtype=dtype)
            squares = math.square(window)
            overlaps = -(-length // step)
            padded = array.pad(squares, array.expand_dims(array.stack([0, overlaps * step - length]), 0))
            summed = reduction.reduce_sum(array.reshape(padded, array.stack([overlaps, step])), 0, keepdims=True)
            tiled = array.reshape(array.tile(summed, array.stack([overlaps, 1])), array.stack([overlaps * step]))
            return window / tiled[:length]

    return inverse_window


def inverse_stft(
    stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Signals back from their short-time transforms; exact with ``window_fn=inverse_stft_window_fn(frame_step)``.

    Args:
      stfts: A complex tensor [..., frames, fft_length // 2 + 1], as `stft` gives it.
      frame_length: How many samples a window has, an integer.
      frame_step: How many samples lie between the starts of two windows, an integer.
      fft_length: The one that `stft` had; None for the smallest power of two that holds a frame.
      window_fn: A function of `frame_length` and ``dtype`` that gives the weights of a frame's samples; None for
        none.
      name: A name for the op.

    Returns:
      A tensor of floats, [..., (frames - 1) * frame_step + frame_length]. Fewer windows cover its first and last samples,
      which are not exact.

    >>> window = tf.signal.inverse_stft_window_fn(2)
    >>> signal = tf.signal.inverse_stft(tf.signal.stft(tf.ones([8]), 4, 2), 4, 2, window_fn=window)
    >>> tf.Session().run(signal).round(3).tolist()
    [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames: Any = irfft(stfts, [size])
        have = frames.shape.as_list()[-1] if frames.shape.ndims is not None else None
        if isinstance(length, int) and have is not None:
            if length > have:
                frames = array.pad(frames, [[0, 0]] * (frames.shape.ndims - 1) + [[0, length - have]])
            elif length < have:
                frames = frames[..., :length]
        else:
            room = raw_ops.Maximum(0, length - array.shape(frames)[-1])
            pads = [array.stack([0, 0])] * (frames.shape.ndims - 1) + [array.stack([0, room])]
            frames = array.pad(frames[..., :length], array.stack(pads))
        if window_fn is not None:
            frames *= window_fn(length, dtype=frames.dtype.base_dtype)
        return overlap_and_add(frames, step)


# ---- cosine transforms


def dct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The discrete cosine transform, of types 1 to 4, along the last axis.

    Args:
      input: A tensor of floats whose last size is known.
      type: Which of the four transforms: 1, 2, 3 or 4.
      n: The size to cut or fill the last axis to first; None takes it as it is.
      axis: Only -1, the last axis.
      norm: None, or 'ortho' to make the transform orthogonal; not for type 1.
      name: A name for the op.

    Returns:
      A tensor of the type of `input`, with `n` for the last size if it is given.

    >>> tf.Session().run(tf.signal.dct([1.0, 2.0, 3.0]))
    array([12.       , -3.4641016,  0.       ], dtype=float32)
    """
    with name_scope(name, "dct", [input]):
        return _cosine_transform(input, type, n, axis, norm)


def idct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The inverse of `dct`, up to a factor unless ``norm="ortho"``: type 3 undoes type 2.

    Args:
      input: A tensor of floats whose last size is known.
      type: Which transform to undo: 1, 2, 3 or 4.
      n: The size to cut or fill the last axis to first; None takes it as it is.
      axis: Only -1, the last axis.
      norm: None, or 'ortho' if `dct` had it; not for type 1.
      name: A name for the op.

    Returns:
      A tensor of the type of `input`, with `n` for the last size if it is given.

    >>> x = tf.signal.dct([1.0, 2.0, 3.0], norm="ortho")
    >>> tf.Session().run(tf.signal.idct(x, norm="ortho")).round(3).tolist()
    [1.0, 2.0, 3.0]
    """
    with name_scope(name, "idct", [input]):
        return _cosine_transform(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def _cosine_transform(input: Any, type: int, n: Any, axis: int, norm: str | None) -> Tensor:
    x = convert_to_tensor(input, name="input")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if n is not None and n < 1:
        raise ValueError(f"n should be a positive integer or None, got {n}")
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if n is not None:
        x = _resized(x, n)
    size = x.shape.as_list()[-1]
    if size is None:
        raise ValueError("the last dimension must be known; give n, or set_shape")
    if type == 1 and size < 2:
        raise ValueError("DCT-I requires the dimension to be greater than one.")
    table = constant(_cosines(type, size, norm), x.dtype.base_dtype)
    dims = array.shape(x)
    rows = linalg.matmul(array.reshape(x, [-1, size]), table)
    transformed = array.reshape(rows, dims)
    transformed.set_shape(x.shape)
    return transformed


def _resized(x: Tensor, n: int) -> Any:
    dims = x.shape.as_list()
    cut: Any = x[..., :n]
    missing = raw_ops.Maximum(0, n - array.shape(x)[-1])
    padded = array.pad(cut, array.stack([array.stack([0, 0])] * (len(dims) - 1) + [array.stack([0, missing])]))
    padded.set_shape([*dims[:-1], n])
    return padded


@functools.lru_cache(maxsize=32)
def _cosines(type: int, size: int, norm: str | None) -> np.ndarray:
    """[samples, coefficients]"""
    i, k = np.arange(size)[:, None], np.arange(size)[None, :]
    if type == 1:
        weight = np.where((i == 0) | (i == size - 1), 1.0, 2.0)
        return weight * np.cos(np.pi * i * k / (size - 1))
    scale: Any
    if type == 2:
        cosines = 2 * np.cos(np.pi * (2 * i + 1) * k / (2 * size))
        scale = np.where(k == 0, np.sqrt(0.25 / size), np.sqrt(0.5 / size))
    elif type == 3:
        cosines = np.where(i == 0, 1.0, 2 * np.cos(np.pi * i * (2 * k + 1) / (2 * size)))
        scale = np.where(i == 0, np.sqrt(1.0 / size), np.sqrt(0.5 / size))
    else:
        cosines = 2 * np.cos(np.pi * (2 * i + 1) * (2 * k + 1) / (4 * size))
        scale = np.full((1, 1), np.sqrt(0.5 / size))
    return cosines * scale if norm == "ortho" else cosines


# ---- mel scales


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20, num_spectrogram_bins: Any = 129, sample_rate: Any = 8000, lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0, dtype: Any = dtypes.float32, name: str | None = None,
) -> Tensor:  # fmt: skip
    """[frequencies, mel bins]: a spectrogram times this is one on the mel scale.

    Args:
      num_mel_bins: How many bands the mel spectrogram has.
      num_spectrogram_bins: How many frequencies the spectrogram has, ``fft_length // 2 + 1``; a constant.
      sample_rate: Samples of the signal per second; a constant.
      lower_edge_hertz: The lowest frequency of the bands, 0 or more.
      upper_edge_hertz: The highest frequency of the bands, at most half of `sample_rate`.
      dtype: The type of the result, of floats.
      name: A name for the op.

    Returns:
      A matrix [num_spectrogram_bins, num_mel_bins].

    >>> tf.signal.linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129).shape.as_list()
    [129, 20]
    """
    with name_scope(name, "linear_to_mel_weight_matrix"):
        rate, bins = (constant_value(convert_to_tensor(v)) for v in (sample_rate, num_spectrogram_bins))
        if rate is None or bins is None:
            raise ValueError("sample_rate and num_spectrogram_bins must be constants")
        element_type = dtypes.as_dtype(dtype)
        _check_mel(num_mel_bins, float(rate), lower_edge_hertz, upper_edge_hertz, element_type)
        mel = _mel(np.linspace(0.0, float(rate) / 2.0, int(bins))[1:, None])
        edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
        low, center, high = edges[None, :-2], edges[None, 1:-1], edges[None, 2:]
        rising, falling = (mel - low) / (center - low), (high - mel) / (high - center)
        weights = np.maximum(0.0, np.minimum(rising, falling))
        return constant(np.pad(weights, [[1, 0], [0, 0]]), element_type, name="linear_to_mel_weight_matrix")


def _check_mel(bins: int, rate: float, low: float, high: float, dtype: Any) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if rate <= 0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if high > rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got {high}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log(1.0 + hertz / 700.0)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """The cepstral coefficients of log-mel spectrograms, over the last dimension.

    Args:
      log_mel_spectrograms: A tensor of floats, [..., mel bands]: logarithms of mel spectrograms.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `log_mel_spectrograms`; the first 13 coefficients or so are used most.

    >>> tf.Session().run(tf.signal.mfccs_from_log_mel_spectrograms([[1.0, 1.0]])).round(3).tolist()
    [[2.0, 0.0]]
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms)
        bins = x.shape.as_list()[-1] if x.shape.ndims else None
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        count = (
            math.cast(array.shape(x)[-1], x.dtype.base_dtype) if bins is None else constant(bins, x.dtype.base_dtype)
        )
        return dct(x, type=2) * math.rsqrt(count * 2.0)


# ---- order of frequencies


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Moves the zero frequency to the middle of the given axes, or of all.

    Args:
      x: A tensor.
      axes: An axis, or a list of them; None for all, if the rank is known.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.signal.fftshift([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
    with name_scope(name, "fftshift"):
        return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
      x: A tensor.
      axes: An axis, or a list of them; None for all, if the rank is known.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of `x`.

    >>> tf.Session().run(tf.signal.ifftshift([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
    with name_scope(name, "ifftshift"):
        return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(x: Any, axes: Any, by: Callable[[Any], Any]) -> Tensor:
    x = convert_to_tensor(x)
    if axes is None:
        if x.shape.ndims is None:
            raise ValueError("without axes, a tensor of known rank is needed")
        axes = list(range(x.shape.ndims))
    axes = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    sizes = array.shape(x)
    shifts = array.stack([by(sizes[a]) for a in axes])
    return array.roll(x, shifts, axes)
