"""tf.signal: discrete Fourier transforms."""

from headrace.library.signal.fourier import (
    fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d, irfft as irfft,
    irfft2d as irfft2d, irfft3d as irfft3d, rfft as rfft, rfft2d as rfft2d, rfft3d as rfft3d,
)
from headrace.library.signal.short_time import (
    dct as dct, fftshift as fftshift, frame as frame, hamming_window as hamming_window, hann_window as hann_window,
    idct as idct, ifftshift as ifftshift, inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn, linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms, overlap_and_add as overlap_and_add,
    stft as stft,
)
