"""tf.audio: sound."""

from headrace.library.signal.audio import decode_wav as decode_wav
from headrace.library.signal.audio import encode_wav as encode_wav
