"""tf.spectral: Fourier and cosine transforms, also found in tf.signal."""

from headrace.library.short_time import dct as dct
from headrace.library.short_time import idct as idct
from headrace.library.signal import fft as fft
from headrace.library.signal import fft2d as fft2d
from headrace.library.signal import fft3d as fft3d
from headrace.library.signal import ifft as ifft
from headrace.library.signal import ifft2d as ifft2d
from headrace.library.signal import ifft3d as ifft3d
from headrace.library.signal import irfft as irfft
from headrace.library.signal import irfft2d as irfft2d
from headrace.library.signal import irfft3d as irfft3d
from headrace.library.signal import rfft as rfft
from headrace.library.signal import rfft2d as rfft2d
from headrace.library.signal import rfft3d as rfft3d
