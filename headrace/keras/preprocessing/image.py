"""tf.keras.preprocessing.image: images as arrays, random changes of them, and batches."""

from headrace.library.keras.preprocessing.image.affine import apply_affine_transform as apply_affine_transform
from headrace.library.keras.preprocessing.image.change import (
    apply_brightness_shift as apply_brightness_shift,
)
from headrace.library.keras.preprocessing.image.change import (
    apply_channel_shift as apply_channel_shift,
)
from headrace.library.keras.preprocessing.image.change import (
    random_brightness as random_brightness,
)
from headrace.library.keras.preprocessing.image.change import (
    random_channel_shift as random_channel_shift,
)
from headrace.library.keras.preprocessing.image.change import (
    random_rotation as random_rotation,
)
from headrace.library.keras.preprocessing.image.change import (
    random_shear as random_shear,
)
from headrace.library.keras.preprocessing.image.change import (
    random_shift as random_shift,
)
from headrace.library.keras.preprocessing.image.change import (
    random_zoom as random_zoom,
)
from headrace.library.keras.preprocessing.image.file import (
    array_to_img as array_to_img,
)
from headrace.library.keras.preprocessing.image.file import (
    img_to_array as img_to_array,
)
from headrace.library.keras.preprocessing.image.file import (
    load_img as load_img,
)
from headrace.library.keras.preprocessing.image.file import (
    save_img as save_img,
)
from headrace.library.keras.preprocessing.image.file_iterator import DirectoryIterator as DirectoryIterator
from headrace.library.keras.preprocessing.image.generator import ImageDataGenerator as ImageDataGenerator
from headrace.library.keras.preprocessing.image.iterator import (
    Iterator as Iterator,
)
from headrace.library.keras.preprocessing.image.iterator import (
    NumpyArrayIterator as NumpyArrayIterator,
)
