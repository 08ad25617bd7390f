#!/usr/bin/env python3
"""Repeats a trace until it is as large as asked: python3 bench/repeat_trace.py TRACE OUT MEGABYTES

The events come again and again, each time later by the trace's length and with correlations and sequence numbers of their own, in the
profiler's own way of writing, so that what reads OUT does what it would do for a long recording."""
import gzip
import json
import sys

IDS = ("correlation", "External id", "Sequence number", "Python id", "Python parent id", "Ev Idx")


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def shifted(events, shift, ids):
    for event in events:
        event = dict(event)
        if "ts" in event:
            event["ts"] = round(event["ts"] + shift, 3)
        if isinstance(event.get("args"), dict):
            args = dict(event["args"])
            for key in IDS:
                if isinstance(args.get(key), int):
                    args[key] += ids
            event["args"] = args
        yield event


def text_of(event):
    """As Kineto writes it: members a line, arrays in a line."""
    args = event.pop("args", None)
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in event.items())
    if args is None:
        return "  {\n    " + head + "\n  }"
    members = ", ".join(f"\n      {json.dumps(key)}: {json.dumps(value)}" for key, value in args.items())
    return "  {\n    " + head + ',\n    "args": {' + members + "\n    }\n  }"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    trace = load(sys.argv[1])
    target = float(sys.argv[3]) * 1e6
    events = trace.pop("traceEvents")
    named = [e for e in events if e.get("ph") == "M"]
    timed = [e for e in events if e.get("ph") != "M"]
    first = min(e["ts"] for e in timed)
    length = max(e["ts"] + e.get("dur", 0) for e in timed) - first + 1
    most = 1 + max([e["args"].get(key, 0) for e in timed if isinstance(e.get("args"), dict) for key in IDS
                    if isinstance(e["args"].get(key, 0), int)] or [0])
    with open(sys.argv[2], "w") as out:
        written = out.write(json.dumps(trace, indent=2)[:-2] + ',\n  "traceEvents": [\n')
        written += out.write(",\n".join(text_of(dict(e)) for e in named))
        repeat = 0
        while written < target:
            written += out.write(",\n" * (repeat > 0 or bool(named)))
            written += out.write(",\n".join(text_of(e) for e in shifted(timed, repeat * length, repeat * most % 2**31)))
            repeat += 1
        out.write("\n  ]\n}\n")
    print(f"{repeat} times {len(timed)} events, {written / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
