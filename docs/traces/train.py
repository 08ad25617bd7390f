"""A small training that is slower than it needs to be; with --fixed the same without what `weft audit` found: train.py TRACE [--fixed]

Run with PyTorch; it writes the traces that docs/slow-training.md shows.
"""
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
signal = torch.randn(40000)


def window(i):
    """The spectrum of a part of the signal, and what is to be learnt of it."""
    x = signal[16 * i : 16 * i + 1024]
    return torch.fft.rfft(x, n=8192).abs()[:4096], x.mean().double()


class Windows(torch.utils.data.Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        return window(i)


class Mixer(nn.Module):
    """Mixes 64 tokens, then 64 channels."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Linear(64, 64, bias=False)
        self.channels = nn.Linear(64, 64, bias=False)
        self.head = nn.Linear(4096, 1, bias=False)

    def forward(self, x):
        x = x.view(-1, 64, 64)
        if fixed:
            x = torch.bmm(self.tokens.weight.expand(len(x), 64, 64), x)
        else:
            x = self.tokens(x.transpose(1, 2).contiguous()).transpose(1, 2).contiguous()
        return self.head(torch.relu(self.channels(x)).flatten(1)).squeeze(1)


def batches():
    if not fixed:
        return torch.utils.data.DataLoader(Windows(), batch_size=16)
    x, target = zip(*(window(i) for i in range(320)))  # once, before the training
    return zip(torch.stack(x).split(16), torch.stack(target).float().split(16))


def main():
    model = Mixer()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=2, warmup=2, active=3, repeat=1),
        record_shapes=True,
        with_stack=True,
        profile_memory=True,
        on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1]),
    ) as p:
        for x, target in batches():
            loss = (model(x) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            p.step()


main()
