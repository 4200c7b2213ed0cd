"""Builds the programs of v1_flow_cases.py with real TensorFlow, runs them, and writes v1_flow.json.xz.

`make_v1_flow.py first last file` writes others, for the conformance run.  Some gradients of loops never end in TensorFlow, and
nothing but the end of the process ends them: programs are made in a process of their own, which is killed then.
"""

import json
import lzma
import multiprocessing
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

from v1_flow_cases import SEEDS, case

ENDLESS_S = 10  # TensorFlow takes a fraction of a second for a program that ends
IMPORT_S = 300


def make(seeds, results):
    """Makes the programs, one after the other."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.disable_control_flow_v2()
    tf.disable_resource_variables()
    tf.logging.set_verbosity("FATAL")
    results.send(None)
    for seed in seeds:
        try:
            results.send(case(tf, seed))
        except Exception as e:  # noqa: BLE001 - one program does not end the run, and is reported
            results.send({"failed": f"TensorFlow does not make it: {type(e).__name__}: {e}"})


def made(seeds):
    """The programs by seed; None of one that does not end."""
    found, processes = {}, multiprocessing.get_context("spawn")
    while left := [seed for seed in seeds if seed not in found]:
        receiver, sender = processes.Pipe(duplex=False)
        maker = processes.Process(target=make, args=(left, sender), daemon=True)
        maker.start()
        sender.close()
        if receiver.poll(IMPORT_S):
            receiver.recv()
        for seed in left:
            if not receiver.poll(ENDLESS_S):
                print(f"program {seed} does not end in TensorFlow, and is left out", flush=True)
                found[seed] = None
                break
            found[seed] = receiver.recv()
        maker.kill()
        maker.join()
    return found


if __name__ == "__main__":
    seeds, path = SEEDS, Path(__file__).with_name("v1_flow.json.xz")
    if sys.argv[1:]:
        seeds, path = range(int(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3])
    kept = {str(seed): one for seed, one in made(seeds).items() if one is not None}
    path.write_bytes(lzma.compress(json.dumps(kept).encode(), preset=9))
