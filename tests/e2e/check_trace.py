#!/usr/bin/env python3
"""Reads a Chrome trace and the JSON report of the same run, and checks them against each other and against what Perfetto asks for:
check_trace.py TRACE REPORT"""
import json
import sys
from collections import defaultdict


def fail(text):
    print(text)
    sys.exit(1)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    events = trace["traceEvents"]
    named, lanes, sums = set(), defaultdict(list), defaultdict(int)
    for event in events:
        if event["ph"] == "M":
            named.add((event["pid"], event["tid"], event["name"]))
        elif event["ph"] == "X":
            if not (isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["dur"] >= 0):
                fail(f"not an event that viewers take: {event}")
            lanes[event["pid"], event["tid"]].append((round(event["ts"] * 1000), -round(event["dur"] * 1000)))
            if "bytes" in event["args"]:
                sums[event["args"]["kind"], not event["args"]["implicit"]] += event["args"]["bytes"]
        elif event["ph"] == "C":
            if not event["args"]["allocated"] <= event["args"]["reserved"]:
                fail(f"more allocated than reserved: {event}")
        else:
            fail(f"an unexpected phase: {event}")
    for pid, tid in lanes:
        if (pid, tid, "thread_name") not in named or (pid, 0, "process_name") not in named:
            fail(f"no name for process {pid}, thread {tid}")
        ends = []
        for start, length in sorted(lanes[pid, tid]):
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and start - length > ends[-1]:
                fail(f"events of process {pid}, thread {tid} overlap without nesting at {start} ns")
            ends.append(start - length)
    expected = {(c["kind"], c["asked"]): c["bytes_written"] for c in report["copies_by_kind"]}
    if dict(sums) != expected:
        fail(f"bytes differ: {dict(sums)} in the trace, {expected} in the report")
    by_site = defaultdict(int)
    for copy in report["copies"]:
        by_site[copy["kind"], copy["asked"]] += copy["bytes_written"]
    if dict(by_site) != expected:
        fail(f"bytes differ: {dict(by_site)} by site, {expected} by kind")


main()
