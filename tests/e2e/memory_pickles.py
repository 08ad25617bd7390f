#!/usr/bin/env python3
"""Writes memory snapshots as Python's pickle does, logs, and files that are none, into the folder given: for memory.sh."""
import gzip
import json
import os
import pickle
import sys

to = sys.argv[1]
BASE, MIB = 0x7F0000000000, 1 << 20
FRAMES = [
    {"name": "alloc", "filename": "??", "line": 0},
    {"name": "forward", "filename": "/x/site-packages/torch/nn/modules/linear.py", "line": 12},
    {"name": "run", "filename": "/x/project/model.py", "line": 42},
]


def write(name, data):
    with open(os.path.join(to, name), "wb") as file:
        file.write(data)


def event(action, addr, size):
    return dict(action=action, addr=addr, size=size, stream=0, time_us=1700000000000000, frames=FRAMES, pool_id=(0, 0))


segment = {
    "device": 0, "address": BASE, "total_size": 20 * MIB, "allocated_size": 4 * MIB, "active_size": 4 * MIB, "stream": 0,
    "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
    "blocks": [
        {"address": BASE, "size": 4 * MIB, "requested_size": 4 * MIB - 5, "state": "active_allocated", "frames": FRAMES},
        {"address": BASE + 4 * MIB, "size": 16 * MIB, "requested_size": 0, "state": "inactive", "frames": []},
    ],
}
trace = [
    event("segment_alloc", BASE, 20 * MIB), event("alloc", BASE, 4 * MIB - 5), event("alloc", BASE + 4 * MIB, 8 * MIB),
    event("free_requested", BASE + 4 * MIB, 8 * MIB), event("free_completed", BASE + 4 * MIB, 8 * MIB),
]
snapshot = {
    "segments": [segment], "device_traces": [trace, []], "external_annotations": [],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "roundup_power2_divisions": {"1": 0, "2": 0}},
}
for protocol in (2, 3, 4, 5):
    write(f"p{protocol}.pickle", pickle.dumps(snapshot, protocol))
write("list.pickle", pickle.dumps([segment], 4))
write("rmm.csv", b"Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x7f00,1048576,0x0\n"
      b"1,10:00:00.000002,allocate,0x7f10,2097152,0x0\n1,10:00:01.000000,free,0x7f10,2097152,0x0\n")


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


write("cut.pickle", pickle.dumps(snapshot, 4)[:-200])
write("cut.gz", gzip.compress(pickle.dumps(snapshot, 4))[:-30])
write("evil2.pickle", pickle.dumps({"segments": [], "x": Evil()}, 2))
write("evil4.pickle", pickle.dumps({"segments": [], "x": Evil()}, 4))
write("memo.pickle", b"\x80\x02Nr\x00\x00\x00\x80.")
write("long.pickle", b"\x80\x02\x8a\xff" + b"a" * 255 + b".")
write("nest.pickle", b"\x80\x02" + b"]" * 1000000 + b"a" * 999999 + b".")
write("marks.pickle", b"\x80\x02" + b"(" * 1000000 + b"t" * 1000000 + b".")
write("other.pickle", pickle.dumps({"model": [1.5, 2.5]}, 4))
write("number.pickle", pickle.dumps(5, 4))
write("zero.pickle", pickle.dumps(snapshot, 0))
write("trace.json", json.dumps({"schemaVersion": 1, "traceEvents": []}).encode())
write("timeline.json", json.dumps([[1, 2], [[0, 1], [0, 2]]]).encode())
write("page.html", b"<!doctype html><html></html>")
write("torch.pt", b"PK\x03\x04" + bytes(100))
write("empty", b"")
write("noise", bytes(range(1, 200)) * 10)
write("hole.pickle", pickle.dumps({"segments": [dict(segment, total_size=21 * MIB)]}, 4))
write("text.pickle", pickle.dumps({"segments": [dict(segment, address="here")]}, 4))
# Two devices, of which the second holds more, and a third with an empty trace.
more = dict(segment, device=1, total_size=24 * MIB, blocks=[dict(segment["blocks"][0], size=24 * MIB, requested_size=24 * MIB)])
write("devices.pickle", pickle.dumps(dict(snapshot, segments=[segment, more], device_traces=[trace, [], []]), 4))

# What a terminal would obey, in every text of it.
escape = "\x1b]0;title\x07\x1b[31m\n\u009b"
loud = pickle.loads(pickle.dumps(snapshot))
for e in loud["device_traces"][0] + segment["blocks"]:
    e["frames"] = [dict(f, name=f["name"] + escape, filename=escape + f["filename"]) for f in FRAMES]
loud["segments"][0]["blocks"] = segment["blocks"]
loud["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = escape
write("escape.pickle", pickle.dumps(loud, 4))
write("escape_global.pickle", b"\x80\x04\x8c\x08\x1b[31m\nos\x8c\x06system\x93.")
write("bad.csv", b"Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,grow,0x7f00,1048576,0x0\n")
