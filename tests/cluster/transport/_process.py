"""A server in another process: `python _process.py [shared]`.  Prints its address, and ends with its standard input."""

import os
import sys

from headrace.cluster.transport.endpoint import Endpoint


def main() -> None:
    def answer(peer, method, payload, tensors, reply, fail):
        if method == "die":
            os._exit(9)
        elif method == "keep":
            kept.extend(tensors)
            reply({}, [])
        elif method != "silence":
            reply(payload, tensors)

    kept: list[object] = []
    endpoint = Endpoint(answer, "localhost:0", shared_memory="shared" in sys.argv)
    print(endpoint.address, flush=True)
    sys.stdin.read()
    endpoint.close()


if __name__ == "__main__":
    main()
