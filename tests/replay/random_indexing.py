"""Random steps that index, scatter and mask."""

import torch


class Indexing:
    """Mixed into a program: uses its choices."""

    def indices(self, shape, n, negative=False, distinct=False):
        """A new integer tensor of that shape with indices below n."""
        r = self.rng
        count = 1
        for s in shape:
            count *= s
        if distinct:
            values = r.sample(range(n), count) if count <= n else list(range(count))
        else:
            values = [r.randrange(-n if negative else 0, n) if n else 0 for _ in range(count)]
        if values and self.wrong():
            values[r.randrange(count)] = r.choice([n, -n - 1, n + 7])
        dtype = r.choice(['int64', 'int64', 'int32', 'float32' if self.wrong() else 'int64'])
        made = self.step('tensor', data=values, shape=list(shape), dtype=dtype)
        return made[0] if made else None

    def mask(self, shape):
        made = self.new('bool', [1 if self.chance(0.1) else s for s in shape])
        return made[0] if made else None

    def copy_of(self, x):
        out = self.step('clone', [x])
        return out[0] if out else None

    def same_type(self, t, shape):
        dtype = str(t.dtype)[6:]
        made = self.new(dtype if not self.wrong() else None, shape)
        return made[0] if made else None

    def indexing(self):
        r = self.rng
        x = self.pick(lambda t: t.numel() <= 72)
        if not x:
            return []
        t = self.of(x)
        d = self.dim(t)
        n = self.length(t, d)
        op = r.choice(
            'index index index_put index_put_ index_select index_fill index_fill_ index_copy index_copy_ index_add index_add_ gather scatter '
            'scatter_ scatter_add scatter_add_ take masked_select masked_scatter nonzero topk'.split()
        )
        if op in ('index', 'index_put', 'index_put_'):
            return self.index_many(op, x, t)
        if op in ('index_select', 'index_fill', 'index_fill_', 'index_copy', 'index_copy_', 'index_add', 'index_add_'):
            return self.index_dim(op, x, t, d, n)
        if op in ('gather', 'scatter', 'scatter_', 'scatter_add', 'scatter_add_'):
            return self.gathering(op, x, t, d, n)
        if op == 'take':
            i = self.indices(self.shape(r.randrange(3)), t.numel(), True)
            return self.step(op, [x, i]) if i else []
        if op == 'nonzero':
            return self.step(op, [x])
        if op == 'topk':
            # Ties are the kernel's business: the values alone would do, but they come together.
            if len(set(t.detach().flatten().tolist())) < t.numel() or (t.is_floating_point() and bool(t.isnan().any())):
                return []
            return self.step(op, [x], k=r.randrange(0, n + 1 + self.wrong()), dim=d, largest=self.chance(0.5))
        m = self.mask(t.shape)
        if not m:
            return []
        if op == 'masked_select':
            return self.step(op, [x, m])
        try:
            need = int(self.of(m).expand(t.shape).sum())
        except RuntimeError:
            need = 2
        source = self.same_type(t, [max(0, need - self.wrong())])
        return self.step(op, [x, m, source]) if source else []

    def index_many(self, op, x, t):
        r = self.rng
        common = self.shape(r.randrange(3))
        names, at = [], 0
        while at < t.dim():
            k = r.random()
            if k < 0.35:
                names.append(None)
                at += 1
            elif k < 0.8:
                shape = [1 if self.chance(0.15) else s for s in common]
                if self.wrong():
                    shape = self.shape(1)
                names.append(self.indices(shape, t.shape[at], True))
                at += 1
            else:
                rank = r.randrange(1, t.dim() - at + 1)
                names.append(self.mask(t.shape[at : at + rank]))
                at += rank
            if self.chance(0.15):
                break
        if all(n is None for n in names) or self.error:
            return []
        if op == 'index':
            return self.step(op, [x] + names)
        chosen = [None if n is None else self.of(n) for n in names]
        try:
            places = torch.ops.aten.index.Tensor(torch.arange(t.numel()).reshape(t.shape), chosen)
        except Exception:
            return []
        accumulate = self.chance(0.4) or places.unique().numel() < places.numel()
        if accumulate and t.dtype == torch.bool:
            return []
        shape = list(places.shape)
        if self.chance(0.3):
            shape = shape[r.randrange(len(shape) + 1) :]
        if self.chance(0.2) and t.is_floating_point():  # one number, which one mask takes in any dtype
            shape, t = [1] * r.randrange(3), self.of(self.pick())
        y, values = self.copy_of(x) if op == 'index_put_' else x, self.same_type(t, shape)
        return self.step(op, [y, values] + names, accumulate=accumulate) if y and values else []

    def index_dim(self, op, x, t, d, n):
        r = self.rng
        count = r.randrange(0, max(n, 1) + 1)
        i = self.indices([count], n, op.startswith('index_fill'), distinct=op.startswith('index_copy'))
        if not i:
            return []
        if op == 'index_select':
            return self.step(op, [x, i], dim=d)
        y = self.copy_of(x) if op.endswith('_') else x
        if not y:
            return []
        if op.startswith('index_fill'):
            if self.chance(0.3):
                v = self.pick(lambda o: o.dim() == 0 and (t.is_floating_point() or not o.requires_grad))
                return self.step(op, [y, i, v], dim=d) if v else []
            return self.step(op, [y, i], dim=d, value=r.choice([1, 2.0, True, 0, -1, -1.5]))
        shape = list(t.shape)
        w = self.wrapped(t, d)
        if w is not None:
            shape[w] = count
        if self.wrong() and shape:
            shape[r.randrange(len(shape))] += 1
        source = self.same_type(t, shape)
        if not source:
            return []
        args = {'dim': d}
        if op.startswith('index_add') and self.chance(0.4):
            args['alpha'] = r.choice([2, -1, 0.5])
        if op.startswith('index_add') and t.dtype == torch.bool:
            return []
        return self.step(op, [y, i, source], **args)

    def gathering(self, op, x, t, d, n):
        r = self.rng
        w = self.wrapped(t, d)
        shape = [r.randrange(0 if self.chance(0.1) else min(1, s), s + 1) for s in t.shape]
        if self.wrong() and shape:
            shape = r.choice([shape[1:], [s + 4 for s in shape], shape + [1]])
        distinct = op in ('scatter', 'scatter_')
        if op == 'gather' and w is not None and len(shape) > w:
            shape[w] = r.randrange(0, 5)
        if distinct and w is not None and len(shape) == t.dim():
            # Each row of indices along the dim is a choice without repeats.
            rows = torch.stack([torch.randperm(max(n, 1), generator=torch.Generator().manual_seed(r.randrange(10**6))) for _ in range(8)])
            count = torch.Size(shape).numel()
            values = []
            stride = torch.Size(shape[w + 1 :]).numel()
            for k in range(count):
                values.append(int(rows[(k % stride + k // (stride * shape[w])) % 8][(k // stride) % shape[w] % max(n, 1)]))
            made = self.step('tensor', data=values, shape=shape, dtype='int64')
            i = made[0] if made else None
        else:
            i = self.indices(shape, n)
        if not i:
            return []
        if op == 'gather':
            return self.step(op, [x, i], dim=d)
        y = self.copy_of(x) if op.endswith('_') else x
        if not y or op.startswith('scatter_add') and t.dtype == torch.bool:
            return []
        if distinct and self.chance(0.3):
            return self.step(op, [y, i], dim=d, value=r.choice([1, 2.0, True]))
        source = self.same_type(t, [s + self.chance(0.1) for s in shape])
        return self.step(op, [y, i, source], dim=d) if source else []
