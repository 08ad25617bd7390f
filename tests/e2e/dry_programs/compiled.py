"""A compiled module: the watching must neither break its graph nor speak up."""
import sys

import torch
from torch._dynamo.utils import counters

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
compiled = torch.compile(model, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    compiled(torch.ones(4, 64, device="cuda")).sum().backward()
    optimizer.step()
print("graphs", counters["stats"]["unique_graphs"], "breaks", len(counters["graph_break"]), file=sys.stderr)
