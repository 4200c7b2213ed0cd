"""tf.keras.datasets: data sets that many examples use, from files on this machine."""

from headrace.keras.datasets import (
    boston_housing as boston_housing,
)
from headrace.keras.datasets import (
    cifar10 as cifar10,
)
from headrace.keras.datasets import (
    cifar100 as cifar100,
)
from headrace.keras.datasets import (
    fashion_mnist as fashion_mnist,
)
from headrace.keras.datasets import (
    imdb as imdb,
)
from headrace.keras.datasets import (
    mnist as mnist,
)
from headrace.keras.datasets import (
    reuters as reuters,
)
