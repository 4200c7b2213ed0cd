"""A server in another process: `python _process.py [shared] [hasty]`.  Prints its address, and ends with its standard input.

A hasty one takes its peers for lost after a second of silence.
"""

import os
import sys
from dataclasses import replace

from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.interface import DEFAULT_LIMITS


def main() -> None:
    def answer(peer, method, payload, tensors, reply, fail):
        if method == "die":
            os._exit(9)
        elif method == "keep":
            kept.extend(tensors)
            reply({"kept": len(kept)}, [])
        elif method != "silence":
            reply(payload, tensors)

    kept: list[object] = []
    limits = replace(DEFAULT_LIMITS, silence=1.0) if "hasty" in sys.argv else DEFAULT_LIMITS
    endpoint = Endpoint(answer, "localhost:0", shared_memory="shared" in sys.argv, limits=limits)
    print(endpoint.address, flush=True)
    sys.stdin.read()
    endpoint.close()


if __name__ == "__main__":
    main()
