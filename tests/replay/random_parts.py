"""What random programs are made of: which register, which dim, which sizes, which numbers; mostly right and now and then not."""

import torch
from record import DTYPES, Case

FLOATS = ['float32', 'float32', 'float64', 'float16', 'bfloat16']
INTS = ['int64', 'int32', 'int16', 'int8', 'uint8']
ALL = list(DTYPES)


class Parts(Case):
    def __init__(self, name, rng):
        super().__init__(name)
        self.rng = rng
        self.wild = rng.random() < 0.3  # a program that provokes refusals
        self.grad = rng.random() < 0.3
        self.plain = False  # no nan, no infinity

    # ---- what steps are made of ------------------------------------------------------------------------------------------

    def chance(self, p):
        return self.rng.random() < p

    def wrong(self):
        return self.rng.random() < (0.12 if self.wild else 0.01)

    def pick(self, accept=lambda t: True):
        names = [n for n, t in self.registers.items() if isinstance(t, torch.Tensor) and accept(t)]
        if not names:
            return None
        return self.rng.choice(names[-4:] if self.chance(0.6) else names)

    def dim(self, t, more=0):
        n = max(t.dim() + more, 1)
        if self.wrong():
            return self.rng.choice([n, -n - 1, n + 1])
        return self.rng.randrange(-n, n)

    def wrapped(self, t, d):
        return d % t.dim() if t.dim() and -t.dim() <= d < t.dim() else None

    def length(self, t, d):
        w = self.wrapped(t, d)
        return 1 if w is None else t.shape[w]

    def index(self, n):
        if self.wrong() or n == 0:
            return self.rng.choice([n, -n - 1, n + 3])
        return self.rng.randrange(-n, n)

    def shape(self, rank=None):
        r = self.rng
        rank = r.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5]) if rank is None else rank
        while True:
            size = [0 if self.chance(0.04) else r.choice([1, 1, 2, 2, 3, 4, 5]) for _ in range(rank)]
            n = 1
            for s in size:
                n *= s
            if n <= 72:
                return size

    def scalar(self):
        r = self.rng
        if self.wrong():
            return r.choice([300, -200, 2**40, -(2**40), 1e300, 'nan', 'inf', '-inf', 3.7, True])
        return r.choice([0, 1, 2, -1, 3, -3, 2.0, 0.5, -1.5, 2.5, True, False, 1.0, 100])

    def values(self, dtype, n):
        r = self.rng
        if dtype == 'bool':
            return [r.randrange(2) for _ in range(n)]
        if dtype in INTS:
            low = 0 if dtype == 'uint8' else -6
            return [r.randrange(low, 7) for _ in range(n)]
        special = not self.plain and self.chance(0.1)
        choices = ['nan', 'inf', '-inf', -0.0, 65504.0, 1e38]
        return [r.choice(choices) if special and self.chance(0.3) else r.randrange(-12, 13) / 4 for _ in range(n)]

    def new(self, dtype=None, shape=None):
        dtype = dtype or self.rng.choice(['float32'] * 3 + ALL)
        shape = self.shape() if shape is None else list(shape)
        n = 1
        for s in shape:
            n *= s
        args = {'data': self.values(dtype, n), 'shape': shape, 'dtype': dtype}
        if self.grad and dtype in FLOATS and self.chance(0.6):
            args['requires_grad'] = True
        return self.step('tensor', **args)

    def fitting(self, t, dtypes=None):
        """A register whose sizes broadcast with those of t, made when there is none."""
        if self.chance(0.35):
            found = self.pick(lambda o: o is not t and broadcasts(o.shape, t.shape) and (not dtypes or str(o.dtype)[6:] in dtypes))
            if found:
                return found
        size = [1 if self.chance(0.15) else s for s in t.shape]
        if self.chance(0.3):
            size = size[self.rng.randrange(len(size) + 1) :]
        if self.wrong():
            size = self.shape()
        same = self.chance(0.5)
        made = self.new(self.rng.choice(dtypes) if dtypes else (str(t.dtype)[6:] if same else None), size)
        name = made[0] if made else None
        if name and len(size) > 1 and self.chance(0.4):
            name = self.relaid(name) or name
        return name

    def meeting(self):
        """A step that writes to one view of a tensor and reads another: overlaps are refused, or the step is right."""
        r = self.rng
        x = self.pick(lambda t: t.numel() > 0)
        t = self.of(x) if x else None
        y = x and self.pick(lambda o: o is not t and self.storage(o) == self.storage(t) and broadcasts_to(o.shape, t.shape) and o.numel() > 0)
        if not y:
            return []
        op = r.choice('copy_ copy_ add_ mul_ sub_ maximum where masked_fill_ lerp_ addcmul_ eq_ index_copy_ add'.split())
        if op == 'where':
            c = self.new('bool', t.shape)
            return self.step(op, [c[0], x, y]) if c else []
        if op == 'masked_fill_':
            m = self.of(y).dtype == torch.bool
            return self.step(op, [x, y], value=1) if m else self.step('fill_', [x, y]) if self.of(y).dim() == 0 else []
        if op == 'addcmul_':
            return self.step(op, [x, y, y], value=1)
        if op == 'lerp_':
            return self.step(op, [x, y], weight=0.5)
        if op == 'index_copy_':
            if t.dim() == 0 or self.of(y).dim() != t.dim():
                return []
            i = self.step('tensor', data=list(range(self.of(y).shape[0])), shape=[self.of(y).shape[0]], dtype='int64')
            return self.step(op, [x, i[0], y], dim=0) if i else []
        return self.step(op, [x, y])

    def relaid(self, name):
        """The same sizes in another order of memory."""
        t = self.of(name)
        order = list(range(t.dim()))
        self.rng.shuffle(order)
        back = [order.index(k) for k in range(t.dim())]
        steps = [('permute', {'dims': order}), ('contiguous', {}), ('permute', {'dims': back})]
        for op, args in steps:
            out = self.step(op, [name], **args)
            if not out:
                return None
            name = out[0]
        return name


def broadcasts(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(reversed(a), reversed(b)))


def broadcasts_to(a, b):
    return len(a) <= len(b) and all(x == y or x == 1 for x, y in zip(reversed(a), reversed(b)))


def convertible(t, dtype):
    """Floats become integers only where they fit: beyond, the result is the machine's own business."""
    if not t.is_floating_point() or dtype not in INTS or t.numel() == 0:
        return True
    t = t.detach().double()
    low = 0 if dtype == 'uint8' else -100
    return bool(torch.isfinite(t).all() and (t > low - 1).all() and (t < 100).all())
