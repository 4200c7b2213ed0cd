"""Makes timeline.json: what real TensorFlow's Timeline makes of the trace in timeline.pbtxt.

Run in this folder with an interpreter that has tensorflow.
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from google.protobuf import text_format
from tensorflow.core.framework.step_stats_pb2 import StepStats
from tensorflow.python.client.timeline import Timeline

HERE = Path(__file__).parent

if __name__ == "__main__":
    stats = text_format.Parse((HERE / "timeline.pbtxt").read_text(), StepStats())
    (HERE / "timeline.json").write_text(Timeline(stats).generate_chrome_trace_format() + "\n")
