"""Three layers and AdamW: four times its parameters, and what the step needs for itself. Prints its peak; with an argument, all statistics."""
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(512, 1024, device="cuda")
y = torch.randn(512, 1024, device="cuda")
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
print("peak", torch.cuda.max_memory_allocated(), file=sys.stderr)
if len(sys.argv) > 1:
    for name, value in sorted(torch.cuda.memory_stats().items()):
        print("stat", name, value)
