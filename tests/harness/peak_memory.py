#!/usr/bin/env python3
"""peak_memory.py FILE COMMAND...: runs the command, writes its peak resident memory in kB to FILE, and ends as it did."""
import resource
import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
with open(sys.argv[1], "w", encoding="ascii") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)
sys.exit(status if status >= 0 else 128 - status)
