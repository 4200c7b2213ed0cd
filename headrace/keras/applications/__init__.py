"""tf.keras.applications: networks of the literature that classify images."""

from headrace.keras.applications import (
    densenet as densenet, imagenet_utils as imagenet_utils, inception_resnet_v2 as inception_resnet_v2,
    inception_v3 as inception_v3, mobilenet as mobilenet, mobilenet_v2 as mobilenet_v2, nasnet as nasnet,
    resnet as resnet, resnet50 as resnet50, resnet_v2 as resnet_v2, vgg16 as vgg16, vgg19 as vgg19,
    xception as xception,
)
from headrace.library.keras.applications.densenet import (
    DenseNet121 as DenseNet121, DenseNet169 as DenseNet169, DenseNet201 as DenseNet201,
)
from headrace.library.keras.applications.inception import (
    InceptionV3 as InceptionV3, InceptionResNetV2 as InceptionResNetV2,
)
from headrace.library.keras.applications.mobilenet import MobileNet as MobileNet, MobileNetV2 as MobileNetV2
from headrace.library.keras.applications.nasnet import NASNetLarge as NASNetLarge, NASNetMobile as NASNetMobile
from headrace.library.keras.applications.resnet import (
    ResNet50 as ResNet50, ResNet101 as ResNet101, ResNet152 as ResNet152, ResNet50V2 as ResNet50V2,
    ResNet101V2 as ResNet101V2, ResNet152V2 as ResNet152V2,
)
from headrace.library.keras.applications.vgg import VGG16 as VGG16, VGG19 as VGG19
from headrace.library.keras.applications.xception import Xception as Xception
