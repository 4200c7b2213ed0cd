"""tf.contrib.slim.nets: networks for pictures."""

from headrace.contrib.slim.nets import alexnet as alexnet
from headrace.contrib.slim.nets import inception as inception
from headrace.contrib.slim.nets import inception_v1 as inception_v1
from headrace.contrib.slim.nets import inception_v2 as inception_v2
from headrace.contrib.slim.nets import inception_v3 as inception_v3
from headrace.contrib.slim.nets import overfeat as overfeat
from headrace.contrib.slim.nets import resnet_utils as resnet_utils
from headrace.contrib.slim.nets import resnet_v1 as resnet_v1
from headrace.contrib.slim.nets import resnet_v2 as resnet_v2
from headrace.contrib.slim.nets import vgg as vgg
