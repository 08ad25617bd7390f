#!/usr/bin/env python3
"""Writes files that hold no trace, or nothing that can be judged, into the folder given: for bad_input.sh."""
import gzip
import json
import os
import sys

to = sys.argv[1]
DEEP = 1000000


def write(name, data):
    with open(os.path.join(to, name), "wb") as file:
        file.write(data)


def packed(data, parts):
    """Many times the same, packed piece by piece."""
    return b"".join(gzip.compress(data) for _ in range(parts))


event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"Input Dims": [[2, 3]]}}
trace = json.dumps({"schemaVersion": 1, "traceEvents": [event] * 200}).encode()

write("cut.json.gz", gzip.compress(trace)[:60])
write("noise.json.gz", b"\x1f\x8b" + bytes(range(256)) * 4)
write("behind.json.gz", gzip.compress(trace) + b"behind")
write("cut_in_first.json", trace[:70])
write("no_events.json", b'{"traceEvents": []}')
write("not_events.json", b'{"traceEvents": 5}')
write("deep_lists.json", b"[" * DEEP)
write("deep_objects.json", b'{"a":' * DEEP)
write("deep_events.json", b'{"traceEvents": ' + b"[" * DEEP + b"]" * DEEP + b"}")
write("digits.json", json.dumps({"traceEvents": [dict(event, ts=1, dur=2)]}).encode().replace(b'"ts": 1', b'"ts": ' + b"9" * 100000))
write("nan.json", b'{"traceEvents": [NaN, {"ph": "X", "name": "a", "ts": NaN, "dur": Infinity}]}')
write("control.json", b'{"traceEvents": [{"ph": "\x01", "name": "a\x00\x1f\n", "ts": 1}, \x02 ]}')
write("zeros.gz", packed(bytes(1 << 20), 300))
write("spaces.json.gz", gzip.compress(b'{"traceEvents": [') + packed(b" " * (1 << 20), 300))
write("string.json.gz", gzip.compress(b'{"traceEvents": [{"name": "') + packed(b"a" * (1 << 20), 300))
write("execution.json", b'{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}')
