"""Makes distribute.json with real TensorFlow over two CPUs of one process: ``python make_distribute.py`` in this folder."""

import distribute_cases as cases
from real import keep, tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

if __name__ == "__main__":
    keep("distribute.json", {name: cases.run(tf, name) for name in cases.CASES})
