"""tf.contrib.gan.eval: summaries of models, and images in grids."""

from headrace.library.contrib.gan.summaries import (
    add_gan_model_image_summaries as add_gan_model_image_summaries, add_gan_model_summaries as add_gan_model_summaries,
    image_grid as image_grid, image_reshaper as image_reshaper,
)
