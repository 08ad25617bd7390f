"""Writes layout_rows.h: what PyTorch says of random geometries. Run with torch 2.15: python layout_rows.py > layout_rows.h"""
import random

import torch

random.seed(5)
memory = torch.empty(1 << 16, dtype=torch.uint8)
LAST = {4: ("CHANNELS_LAST", torch.channels_last), 5: ("CHANNELS_LAST_3D", torch.channels_last_3d)}


def suggested(x):
    """resize_as_ with preserve_format gives the strides of the format that the other tensor suggests."""
    got = torch.empty(0, dtype=torch.uint8).resize_as_(x, memory_format=torch.preserve_format).stride()
    plain = torch.empty(x.shape).stride()
    if x.dim() in LAST:
        name, fmt = LAST[x.dim()]
        last = torch.empty(x.shape, memory_format=fmt).stride()
        if last == plain:
            return "EITHER"
        if got == last:
            return "WF_FORMAT_" + name
    return "WF_FORMAT_CONTIGUOUS"


def row(x):
    flags = x.is_contiguous() | sum((x.dim() == n and x.is_contiguous(memory_format=f)) << (n - 3) for n, (_, f) in LAST.items())
    braces = lambda v: "{" + ", ".join(map(str, v)) + "}"
    return f"    {{{x.dim()}, {braces(x.shape)}, {braces(x.stride())}, {braces(x.clone().stride())}, {suggested(x)}, {flags}}},"


def geometry():
    n = random.choice([1, 2, 3, 4, 4, 4, 5, 5])
    shape = [random.choice([1, 1, 2, 3, 4, 0] if random.random() < 0.3 else [1, 2, 3, 4]) for _ in range(n)]
    kind = random.random()
    if kind < 0.45:  # permuted, perhaps with gaps and a broadcast dim
        order = random.sample(range(n), n)
        x = torch.empty([shape[i] for i in order], dtype=torch.uint8).permute([order.index(i) for i in range(n)])
        if random.random() < 0.4:
            d = random.randrange(n)
            x = x.narrow(d, 0, max(0, x.shape[d] - 1))
        d = random.randrange(n)
        if random.random() < 0.3 and x.shape[d] > 0:
            x = x.narrow(d, 0, 1).expand([random.choice([1, 2, 3]) if i == d else -1 for i in range(n)])
        return x
    if kind < 0.7 and n in LAST:
        x = torch.empty(shape, dtype=torch.uint8, memory_format=LAST[n][1])
        d = random.randrange(n)
        return x.narrow(d, 0, max(0, x.shape[d] - 1)) if random.random() < 0.5 else x
    return memory.as_strided(shape, [random.choice([0, 1, 1, 2, 3, 4, 6, 8, 12, 24]) for _ in range(n)])


geometries = {}
for shape, stride in [((6, 5, 4, 3, 2), (6, 0, 120, 0, 1)), ((1, 2, 3, 4), (24, 1, 8, 2)), ((1, 2, 3, 4), (2, 1, 8, 2)),
                      ((1, 3, 4), (1, 1, 1)), ((4096, 1), (1, 1)), ((1, 4096), (1, 2))]:
    geometries[shape, stride] = memory.as_strided(shape, stride)
while len(geometries) < 200:
    x = geometry()
    geometries.setdefault((tuple(x.shape), x.stride()), x)
print("/* ndim, sizes, strides, strides of clone(), suggested format, is_contiguous() in bits 0 to 2 for the three formats. Written by\n"
      " * layout_rows.py with PyTorch 2.15. */")
print("\n".join(row(x) for x in geometries.values()))
