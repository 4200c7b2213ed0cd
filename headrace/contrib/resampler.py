"""tf.contrib.resampler: pictures read between their pixels, with gradients for the places too."""

from headrace.library.contrib.resampler import resampler as resampler
