"""tf.signal: discrete Fourier transforms."""

from headrace.library.signal.fourier import fft as fft
from headrace.library.signal.fourier import fft2d as fft2d
from headrace.library.signal.fourier import fft3d as fft3d
from headrace.library.signal.fourier import ifft as ifft
from headrace.library.signal.fourier import ifft2d as ifft2d
from headrace.library.signal.fourier import ifft3d as ifft3d
from headrace.library.signal.fourier import irfft as irfft
from headrace.library.signal.fourier import irfft2d as irfft2d
from headrace.library.signal.fourier import irfft3d as irfft3d
from headrace.library.signal.fourier import rfft as rfft
from headrace.library.signal.fourier import rfft2d as rfft2d
from headrace.library.signal.fourier import rfft3d as rfft3d
from headrace.library.signal.short_time import dct as dct
from headrace.library.signal.short_time import fftshift as fftshift
from headrace.library.signal.short_time import frame as frame
from headrace.library.signal.short_time import hamming_window as hamming_window
from headrace.library.signal.short_time import hann_window as hann_window
from headrace.library.signal.short_time import idct as idct
from headrace.library.signal.short_time import ifftshift as ifftshift
from headrace.library.signal.short_time import inverse_stft as inverse_stft
from headrace.library.signal.short_time import inverse_stft_window_fn as inverse_stft_window_fn
from headrace.library.signal.short_time import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from headrace.library.signal.short_time import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from headrace.library.signal.short_time import overlap_and_add as overlap_and_add
from headrace.library.signal.short_time import stft as stft
