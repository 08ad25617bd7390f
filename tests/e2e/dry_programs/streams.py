"""Blocks of 64 MiB that a second stream uses: 2 of them are enough when events finish at once, 21 when they finish at the end."""
import torch

side = torch.cuda.Stream()
for _ in range(20):
    x = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x, y
torch.cuda.synchronize()
