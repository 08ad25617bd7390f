"""Programs whose figures are known by arithmetic, for `weft dry-run --self-test`: self_test.py CASE."""
import sys

import torch


def blocks():
    """Three blocks of 4 MiB, of which one is freed before the third is asked for: 8 MiB at most."""
    a = torch.empty(1 << 20, device="cuda")
    b = torch.empty(1 << 20, device="cuda")
    del a
    c = torch.empty(1 << 20, device="cuda")
    return b, c


def training():
    """One weight of 1024 x 1024 (4 MiB): as much gradient, twice as much state of AdamW."""
    model = torch.nn.Linear(1024, 1024, bias=False, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.ones(8, 1024, device="cuda")
    for _ in range(4):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def pageable():
    """One upload a step from pageable memory."""
    _uploads(torch.ones(8, 1024), False)


def pinned():
    """The same from pinned memory, without waiting."""
    _uploads(torch.ones(8, 1024).pin_memory(), True)


def _uploads(batch, non_blocking):
    model = torch.nn.Linear(1024, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        model(batch.to("cuda", non_blocking=non_blocking)).sum().backward()
        optimizer.step()


def value():
    """Reads one value a step."""
    model = torch.nn.Linear(1024, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(8, 1024, device="cuda")
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        loss.item()


def too_much():
    """Asks for more than the device has."""
    held = []
    for _ in range(64):
        held.append(torch.empty(1 << 28, device="cuda"))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
