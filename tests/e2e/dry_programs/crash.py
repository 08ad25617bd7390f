"""Programs that don't come through: crash.py python|signal|leave|interrupt|wait. Tests name line 10."""
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
elif sys.argv[1] == "wait":  # for a value that never comes, by way of a module
    model = torch.nn.Linear(1, 1, device="cuda")
    while not (model(x[:1]) > 0).item():
        for _ in range(100):
            x[:1] + 1
else:
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt
