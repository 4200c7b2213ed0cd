"""tf.audio: sound."""

from headrace.library.audio import decode_wav as decode_wav
from headrace.library.audio import encode_wav as encode_wav
