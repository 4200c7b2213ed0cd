"""Sound (tf.audio, and the ops of contrib's audio_ops)."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.operation import Tensor


def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> Any:
    """A 16-bit WAV file -> (audio [frames, channels] in [-1, 1], sample_rate); frames are cut off or filled with zeros.

    Args:
      contents: The bytes of the file, a scalar string.
      desired_channels: How many channels the result has; -1 takes what the file has.
      desired_samples: How many frames the result has; -1 takes what the file has.
      name: A name for the op.

    Returns:
      A named tuple: `audio`, float32 [frames, channels], and `sample_rate`, an int32 scalar: frames per second.

    >>> sound = tf.constant([[0.5], [-0.25]])
    >>> audio, rate = tf.audio.decode_wav(tf.audio.encode_wav(sound, 8000))
    >>> tf.Session().run(rate)
    np.int32(8000)
    """
    return raw_ops.DecodeWav(contents, desired_channels, desired_samples, name=name)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """[frames, channels] as the contents of a 16-bit WAV file; what is outside [-1, 1] is clipped.

    Args:
      audio: A float32 tensor [frames, channels] in [-1, 1].
      sample_rate: Frames per second, an int32 scalar.
      name: A name for the op.

    Returns:
      A scalar string: the bytes of the file.

    >>> tf.Session().run(tf.audio.encode_wav([[0.5], [-0.25]], 8000))[:4]
    b'RIFF'
    """
    return raw_ops.EncodeWav(audio, sample_rate, name=name)


def audio_spectrogram(
    input: Any, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """[frames, channels] -> [channels, windows, frequencies]: how strong each frequency is in each window."""
    return raw_ops.AudioSpectrogram(input, window_size, stride, magnitude_squared, name=name)


def mfcc(
    spectrogram: Any, sample_rate: Any, upper_frequency_limit: float = 4000, lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40, dct_coefficient_count: int = 13, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Mel-frequency cepstral coefficients of a spectrogram of squared magnitudes."""
    return raw_ops.Mfcc(
        spectrogram, sample_rate, float(upper_frequency_limit), float(lower_frequency_limit), filterbank_channel_count,
        dct_coefficient_count, name=name,
    )  # fmt: skip
