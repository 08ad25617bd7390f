"""Optimizer steps that Python isn't asked to make: steps.py graph|compiled. And weights that no optimizer has: steps.py average."""
import sys

import torch

model = torch.nn.Linear(1024, 1024).cuda()  # 4 MiB and 4 KiB
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = torch.zeros(8, 1024)
x = batch.cuda()


def train():
    optimizer.zero_grad(set_to_none=True)
    model(x).sum().backward()
    optimizer.step()


if sys.argv[1] == "graph":  # two steps, then six that are replayed, each with a batch that isn't pinned
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        train()
        train()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train()
    for _ in range(6):
        x.copy_(batch)
        graph.replay()
elif sys.argv[1] == "compiled":
    optimizer.step = torch.compile(optimizer.step, backend="eager")
    for _ in range(5):
        train()
else:
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(3):
        train()
        average.update_parameters(model)
