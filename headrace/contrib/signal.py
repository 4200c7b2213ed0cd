"""tf.contrib.signal: frames, spectra and windows of signals; `tf.signal` has them too."""

from headrace.signal import dct as dct
from headrace.signal import frame as frame
from headrace.signal import hamming_window as hamming_window
from headrace.signal import hann_window as hann_window
from headrace.signal import idct as idct
from headrace.signal import inverse_stft as inverse_stft
from headrace.signal import inverse_stft_window_fn as inverse_stft_window_fn
from headrace.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from headrace.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from headrace.signal import overlap_and_add as overlap_and_add
from headrace.signal import stft as stft
