"""tf.spectral: Fourier and cosine transforms, also found in tf.signal."""

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
from headrace.library.signal.short_time import idct as idct
