"""A loop over a DataLoader: loader.py pageable|pinned WORKERS. Tests name lines 17, 18 and 23."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

pinned = sys.argv[1] == "pinned"
data = TensorDataset(torch.randn(1024, 512), torch.randint(0, 10, (1024,)))
loader = DataLoader(data, batch_size=128, pin_memory=pinned, num_workers=int(sys.argv[2]))
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    for x, y in loader:
        x = x.to("cuda", non_blocking=pinned)
        y = y.to("cuda", non_blocking=pinned)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


train()
