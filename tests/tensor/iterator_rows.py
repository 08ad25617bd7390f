"""Writes iterator_rows.h: strides that PyTorch gives to results of two and three operands. python iterator_rows.py > iterator_rows.h"""
import random

import torch

random.seed(11)
memory = torch.zeros(1 << 16)


def operand(shape):
    n = len(shape)
    shape = [1 if random.random() < 0.2 else s for s in shape]
    shape = shape[random.choice([0, 0, 0, 1]):] if n > 1 else shape
    n = len(shape)
    kind = random.random()
    if kind < 0.2:
        return torch.zeros(shape)
    if kind < 0.35 and n in (4, 5):
        return torch.zeros(shape).contiguous(memory_format=torch.channels_last if n == 4 else torch.channels_last_3d)
    order = random.sample(range(n), n)
    x = torch.zeros([shape[i] for i in order]).permute([order.index(i) for i in range(n)])
    if kind < 0.75:
        return x
    if kind < 0.85:
        return memory.as_strided(shape, [random.choice([0, 1, 2, 3, 4, 6, 12, 24]) for _ in shape])
    d = random.randrange(n)
    return memory.as_strided(x.shape, [s * (2 if i == d else 1) for i, s in enumerate(x.stride())])


def braces(v):
    return "{" + ", ".join(map(str, v)) + "}"


seen = set()
print("/* operands, {rank, sizes, strides} of each, strides of a + b or where(c, a, b). Written by iterator_rows.py with PyTorch 2.15. */")
while len(seen) < 240:
    n = random.choice([1, 2, 2, 3, 3, 4, 4, 5])
    shape = [random.choice([0, 1, 2, 3, 4]) if random.random() < 0.15 else random.choice([1, 2, 3, 4]) for _ in range(n)]
    same = random.random() < 0.3
    xs = [operand(shape) for _ in range(random.choice([2, 2, 3]))]
    if same:
        xs = [x for x in xs if x.shape == xs[0].shape]
        if len(xs) < 2:
            continue
    if len(xs) == 2:
        out = xs[0] + xs[1]
    else:
        xs[0] = xs[0].bool() if xs[0].is_contiguous() else torch.empty_strided(xs[0].shape, xs[0].stride(), dtype=torch.bool).fill_(False) \
            if 0 not in xs[0].stride() else xs[0]
        if xs[0].dtype != torch.bool:
            continue
        out = torch.where(*xs)
    key = tuple((tuple(x.shape), x.stride()) for x in xs)
    if key in seen:
        continue
    seen.add(key)
    rows = ", ".join(f"{{{x.dim()}, {braces(x.shape)}, {braces(x.stride())}}}" for x in xs)
    print(f"    {{{len(xs)}, {{{rows}}}, {braces(out.stride())}}},")
