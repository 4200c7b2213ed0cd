"""tf.contrib.image: images turned, moved, warped; colours turned."""

from headrace.library.contrib.image import adjust_hsv_in_yiq as adjust_hsv_in_yiq
from headrace.library.contrib.image import angles_to_projective_transforms as angles_to_projective_transforms
from headrace.library.contrib.image import compose_transforms as compose_transforms
from headrace.library.contrib.image import dense_image_warp as dense_image_warp
from headrace.library.contrib.image import flat_transforms_to_matrices as flat_transforms_to_matrices
from headrace.library.contrib.image import matrices_to_flat_transforms as matrices_to_flat_transforms
from headrace.library.contrib.image import random_hsv_in_yiq as random_hsv_in_yiq
from headrace.library.contrib.image import rotate as rotate
from headrace.library.contrib.image import transform as transform
from headrace.library.contrib.image import translate as translate
from headrace.library.contrib.image import (
    translations_to_projective_transforms as translations_to_projective_transforms,
)
