#!/usr/bin/env python3
"""memory_check.py WEFT SNAPSHOT: what weft memory says against the obvious way of working it out from the unpickled dict."""
import json
import pickle
import subprocess
import sys

weft, path = sys.argv[1:]
with open(path, "rb") as file:
    snapshot = pickle.load(file)
said = json.loads(subprocess.run([weft, "memory", "--json", "--at", "end", "--top", "1000", path], capture_output=True, check=True).stdout)

blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
used = [b for b in blocks if b["state"] == "active_allocated"]
end = said["end"]
assert end["reserved_bytes"] == sum(s["total_size"] for s in snapshot["segments"])
assert end["allocated_bytes"] == sum(b["size"] for b in used)
assert end["requested_bytes"] == sum(b["requested_size"] for b in used)
assert end["blocks"] == len(used)
if not any(s["is_expandable"] for s in snapshot["segments"]):
    assert end["segments"] == len(snapshot["segments"])
whole = [s for s in snapshot["segments"] if all(b["state"] == "inactive" for b in s["blocks"])]
assert end["free_whole_bytes"] == sum(s["total_size"] for s in whole)
assert sum(h["bytes"] for h in said["holders"]) == end["allocated_bytes"]
assert sum(h["blocks"] for h in said["holders"]) == end["blocks"]

# The peak of what was asked for, and of what was reserved, forwards from what must have been there at the start.
trace = snapshot["device_traces"][0]
live = {b["address"]: b["requested_size"] for b in used}
reserved = end["reserved_bytes"]
for e in reversed(trace):
    if e["action"] == "alloc":
        live.pop(e["addr"], None)
    if e["action"] == "free_requested":
        live[e["addr"]] = e["size"]
    if e["action"] in ("segment_alloc", "segment_map"):
        reserved -= e["size"]
    if e["action"] in ("segment_free", "segment_unmap"):
        reserved += e["size"]
most = reserved
for e in trace:
    if e["action"] in ("segment_alloc", "segment_map"):
        reserved += e["size"]
    if e["action"] in ("segment_free", "segment_unmap"):
        reserved -= e["size"]
    most = max(most, reserved)
assert said["peak_reserved_bytes"] == most, (said["peak_reserved_bytes"], most)
requested = sum(live.values())
for n, e in enumerate(trace[: said["peak_allocated_event"]]):
    requested += e["size"] if e["action"] == "alloc" else -e["size"] if e["action"] == "free_requested" else 0
at_peak = json.loads(subprocess.run([weft, "memory", "--json", path], capture_output=True, check=True).stdout)["at"]
assert at_peak["requested_bytes"] == requested, (at_peak["requested_bytes"], requested)
assert said["unmatched"] == 0
assert len(said["out_of_memory"]) == min(8, sum(e["action"] == "oom" for e in trace))

# The holes of 1 MiB and more at the end, and the smaller of the blocks beside each.
MIB = 1 << 20
holes = {}
for s in snapshot["segments"]:
    parts = s["blocks"]
    if s["is_expandable"] or all(b["state"] == "inactive" for b in parts):
        continue
    for i, b in enumerate(parts):
        if b["state"] != "inactive" or b["size"] < MIB:
            continue
        beside = [j for j in (i - 1, i + 1) if 0 <= j < len(parts)]
        j = min(beside, key=lambda j: parts[j]["size"])
        beyond = 2 * j - i
        gained = parts[beyond]["size"] if 0 <= beyond < len(parts) and parts[beyond]["state"] == "inactive" else 0
        alone = sum(p["state"] != "inactive" for p in parts) == 1
        holes[b["address"]] = (b["size"], parts[j]["address"], parts[j]["size"], b["size"] + parts[j]["size"] + gained, alone)
assert said["hole_count"] == len(holes)
for h in said["holes"]:
    got = h["bytes"], h["pin_address"], h["pin_bytes"], h["bytes_without_pin"], h["frees_segment"]
    assert got == holes[h["address"]], (h, holes[h["address"]])

# An out of memory that was the last to happen found the memory as it is at the end.
if trace and trace[-1]["action"] == "oom":
    oom, last = trace[-1], said["out_of_memory"][-1]
    assert last["event"] == len(trace) - 1 and last["request_bytes"] >= oom["size"] > last["request_bytes"] - 512
    assert last["device_free_bytes"] == oom["device_free"]
    assert (last["allocated_bytes"], last["reserved_bytes"]) == (end["allocated_bytes"], end["reserved_bytes"])
    free = [b["size"] for b in blocks if b["state"] == "inactive"]
    large = [b["size"] for s in snapshot["segments"] if s["segment_type"] == "large" and s["stream"] == oom["stream"]
             for b in s["blocks"] if b["state"] == "inactive"]
    assert last["fragmented_bytes"] == sum(free)
    assert last["largest_usable_bytes"] == max(large, default=0)
    assert last["would_have_fitted_bytes"] == max(max(large, default=0), oom["device_free"] // (2 * MIB) * 2 * MIB)
    assert last["missing_bytes"] == max(0, last["request_bytes"] - sum(free) - oom["device_free"])
    assert last["fragmentation_was_the_cause"] == (last["missing_bytes"] == 0)
