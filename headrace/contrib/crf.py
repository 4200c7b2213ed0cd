"""tf.contrib.crf: linear-chain conditional random fields."""

from headrace.library.contrib.crf import CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell
from headrace.library.contrib.crf import CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell
from headrace.library.contrib.crf import CrfForwardRnnCell as CrfForwardRnnCell
from headrace.library.contrib.crf import crf_binary_score as crf_binary_score
from headrace.library.contrib.crf import crf_decode as crf_decode
from headrace.library.contrib.crf import crf_forward as crf_forward
from headrace.library.contrib.crf import crf_log_likelihood as crf_log_likelihood
from headrace.library.contrib.crf import crf_log_norm as crf_log_norm
from headrace.library.contrib.crf import crf_multitag_sequence_score as crf_multitag_sequence_score
from headrace.library.contrib.crf import crf_sequence_score as crf_sequence_score
from headrace.library.contrib.crf import crf_unary_score as crf_unary_score
from headrace.library.contrib.crf import viterbi_decode as viterbi_decode
