"""Programs that don't come through: crash.py python|signal|leave|interrupt. Tests name line 10."""
import os
import signal
import sys

import torch

x = torch.ones(1 << 20, device="cuda")
if sys.argv[1] == "python":
    print(1 / x.sum().item())
elif sys.argv[1] == "signal":
    x.sum()
    os.kill(os.getpid(), signal.SIGSEGV)
elif sys.argv[1] == "leave":
    x.sum()
    os._exit(3)
else:
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt
