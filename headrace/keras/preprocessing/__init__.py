"""tf.keras.preprocessing: texts, sequences and images as arrays."""

from headrace.keras.preprocessing import image as image
from headrace.keras.preprocessing import sequence as sequence
from headrace.keras.preprocessing import text as text
