#!/usr/bin/env python3
"""Writes random programs of views, copies, promotions and pointwise operators with what PyTorch made of them, a case a line.

  random_programs.py SEED COUNT [TOPIC] > cases.jsonl     needs PyTorch; weft-replay reads the result

Arguments are mostly right and now and then not: dims and indices out of range, sizes that don't fit, dtypes that don't go together.
"""

import json
import random
import sys
import warnings

import torch
from random_einsum import Einsum
from random_indexing import Indexing
from random_parts import ALL, INTS, Parts, broadcasts, broadcasts_to, convertible

FORMATS = ['contiguous_format', 'preserve_format', 'channels_last', 'channels_last_3d']
UNARY = (
    'neg abs sign square reciprocal floor ceil round trunc isnan isinf isfinite logical_not bitwise_not relu sqrt rsqrt exp expm1 log '
    'log1p log2 sin cos tan atan tanh sigmoid erf'
).split()
UNARY_IN_PLACE = [u for u in UNARY if u not in ('isnan', 'isinf', 'isfinite')]
ACTIVATIONS = 'gelu silu leaky_relu elu softplus hardtanh'.split()
BINARY = (
    'add sub mul div floor_divide fmod remainder pow maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and '
    'bitwise_or bitwise_xor rsub atan2'
).split()
NO_SCALAR = 'maximum minimum logical_and logical_or logical_xor atan2'.split()
NO_IN_PLACE = 'maximum minimum rsub'.split()


class Program(Einsum, Indexing, Parts):
    # ---- views -----------------------------------------------------------------------------------------------------------

    def view_sizes(self, t):
        r = self.rng
        n = t.numel()
        if self.chance(0.2) and n:
            return [-1] if self.chance(0.5) else [1, -1]
        size = list(t.shape)
        for _ in range(r.randrange(1, 4)):
            k = r.randrange(4)
            if k == 0 and len(size) > 1:
                i = r.randrange(len(size) - 1)
                size[i : i + 2] = [size[i] * size[i + 1]]
            elif k == 1 and size:
                i = r.randrange(len(size))
                for f in (2, 3, 5):
                    if size[i] % f == 0 and size[i] and self.chance(0.7):
                        size[i : i + 1] = [f, size[i] // f] if self.chance(0.5) else [size[i] // f, f]
                        break
            elif k == 2:
                size.insert(r.randrange(len(size) + 1), 1)
            elif k == 3 and 1 in size:
                size.remove(1)
        if size and self.chance(0.25):
            size[r.randrange(len(size))] = -1
        if self.wrong():
            size.append(r.choice([2, -1, -2, 0]))
        return size

    def a_view(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        op = r.choice(
            'view view reshape flatten unflatten transpose transpose permute permute movedim t narrow select slice slice expand squeeze unsqueeze '
            'diagonal unfold split tensor_split chunk unbind as_strided detach data view_as reshape_as expand_as broadcast_to view_dtype alias'.split()
        )
        d = self.dim(t)
        n = self.length(t, d)
        if op == 'view':
            return self.step(op, [x], size=self.view_sizes(t))
        if op == 'reshape':
            return self.step(op, [x], shape=self.view_sizes(t))
        if op == 'flatten':
            return self.step(op, [x], start_dim=self.dim(t), end_dim=self.dim(t)) if self.wild else self.step(op, [x])
        if op == 'unflatten':
            sizes = [n] if self.chance(0.2) else ([2, n // 2] if n % 2 == 0 else [1, n])
            if self.chance(0.3):
                sizes[r.randrange(len(sizes))] = -1
            if self.wrong():
                sizes = r.choice([[], [-1, -1], [2, 5], [-2, 1], [0]])
            return self.step(op, [x], dim=d, sizes=sizes)
        if op == 'transpose':
            return self.step(op, [x], dim0=d, dim1=self.dim(t))
        if op == 'permute':
            order = list(range(t.dim()))
            r.shuffle(order)
            order = [k - t.dim() if self.chance(0.2) else k for k in order]
            if self.wrong():
                order = r.choice([order[:-1], order + [0], [0] * len(order), [d] + order[1:]])
            return self.step(op, [x], dims=order)
        if op == 'movedim':
            k = r.randrange(1, t.dim() + 1) if t.dim() else 1
            source, target = ([self.dim(t) for _ in range(k)] if self.wild else r.sample(range(max(t.dim(), 1)), k) for _ in range(2))
            if self.wrong():
                source = source[:-1]
            return self.step(op, [x], source=source, destination=target)
        if op in ('t', 'detach', 'data', 'alias'):
            if op == 't' and t.dim() > 2 and not self.wrong() or op == 'alias':
                return []
            return self.step(op, [x])
        if op == 'narrow':
            start = self.index(n + 1) if n else 0
            length = r.randrange(0, n - (start + n if start < 0 else start) + 1) if 0 <= (start + n if start < 0 else start) <= n else 1
            if self.wrong():
                length = r.choice([-1, n + 1, length + 1])
            return self.step(op, [x], dim=d, start=start, length=length)
        if op == 'select':
            return self.step(op, [x], dim=d, index=self.index(n)) if n or self.wild else []
        if op == 'slice':
            args = {'dim': d}
            if self.chance(0.7):
                args['start'] = r.randrange(-n - 2, n + 2)
            if self.chance(0.6):
                args['end'] = r.randrange(-n - 2, n + 3)
            if self.chance(0.5):
                args['step'] = r.choice([0, -1]) if self.wrong() else r.randrange(1, 4)
            return self.step(op, [x], **args)
        if op in ('expand', 'broadcast_to'):
            size = [r.choice([2, 3, 1, 0]) if s == 1 and self.chance(0.6) else (-1 if self.chance(0.2) else s) for s in t.shape]
            for _ in range(r.choice([0, 0, 1, 2])):
                size.insert(0, r.choice([1, 2, 3]))
            if self.wrong():
                size = r.choice([size[1:], size + [2], [-1] + size, [s + 1 for s in size], [0] + size[1:]])
            return self.step(op, [x], size=size) if abs(torch.Size(size).numel()) < 300 else []
        if op == 'squeeze':
            k = r.randrange(3)
            if k == 2 and t.dim():
                return self.step(op, [x], dim=r.sample(range(t.dim()), r.randrange(t.dim() + 1)))
            return self.step(op, [x], dim=d) if k else self.step(op, [x])
        if op == 'unsqueeze':
            return self.step(op, [x], dim=self.dim(t, 1)) if t.dim() < 7 else []
        if op == 'diagonal':
            if t.dim() < 2 and not self.wrong():
                return []
            two = [self.dim(t), self.dim(t)] if self.wild else r.sample(range(max(t.dim(), 2)), 2)
            return self.step(op, [x], offset=r.randrange(-4, 5), dim1=two[0], dim2=two[1])
        if op == 'unfold':
            size = r.randrange(0, n + 1) + (self.wrong() and n + 1)
            return self.step(op, [x], dimension=d, size=-1 if self.wrong() else size, step=0 if self.wrong() else r.randrange(1, 4))
        if op == 'split':
            if self.chance(0.5):
                return self.step(op, [x], split_size_or_sections=r.choice([-1, 0]) if self.wrong() else r.randrange(1, n + 2), dim=d)
            cut = r.randrange(n + 1)
            parts = [cut, n - cut] if self.chance(0.7) else [n]
            if self.wrong():
                parts = r.choice([parts + [1], [-1, n + 1], []])
            return self.step(op, [x], split_size_or_sections=parts, dim=d)
        if op == 'tensor_split':
            how = r.randrange(1, 5) if self.chance(0.5) else sorted(r.randrange(-n - 1, n + 2) for _ in range(r.randrange(0, 3)))
            return self.step(op, [x], indices_or_sections=0 if self.wrong() else how, dim=d)
        if op == 'chunk':
            return self.step(op, [x], chunks=r.choice([0, -1]) if self.wrong() else r.randrange(1, 5), dim=d)
        if op == 'unbind':
            return self.step(op, [x], dim=d) if n < 6 else []
        if op == 'as_strided':
            return self.step(op, [x], **self.window(t))
        if op in ('view_as', 'reshape_as', 'expand_as'):
            other = self.pick(lambda o: o.numel() == t.numel() if op != 'expand_as' else broadcasts_to(t.shape, o.shape))
            other = self.pick() if self.wrong() else other
            return self.step(op, [x, other]) if other else []
        if op == 'view_dtype':
            return self.step(op, [x], dtype=r.choice(ALL)) if self.chance(0.5) else []
        return []

    def window(self, t):
        r = self.rng
        have = t.untyped_storage().nbytes() // t.element_size()
        rank = r.randrange(0, 4)
        size = [r.choice([0, 1, 2, 2, 3]) for _ in range(rank)]
        stride = [r.choice([0, 1, 1, 2, 3, 4, 6]) for _ in range(rank)]
        offset = r.randrange(0, 3)
        while not self.wild and 0 not in size and offset + 1 + sum((a - 1) * b for a, b in zip(size, stride)) > have:
            if offset:
                offset -= 1
            elif any(stride):
                stride[r.randrange(rank)] = 0
            else:
                break
        args = {'size': size, 'stride': stride}
        if self.chance(0.7):
            args['storage_offset'] = offset
        if self.wrong():
            args.update(r.choice([{'storage_offset': -1}, {'stride': stride + [1]}, {'stride': [-1] * rank}, {'size': [-1] * rank},
                                  ]))
        return args

    def shape_in_place(self):
        r = self.rng
        x = self.pick(lambda t: not t.requires_grad or self.wild)
        if not x:
            return []
        t = self.of(x)
        op = r.choice('t_ transpose_ squeeze_ unsqueeze_ as_strided_ resize_ resize_ set_ detach_ requires_grad_'.split())
        d = self.dim(t)
        if op == 't_':
            return self.step(op, [x]) if t.dim() <= 2 or self.wild else []
        if op == 'transpose_':
            return self.step(op, [x], dim0=d, dim1=self.dim(t))
        if op == 'squeeze_':
            return self.step(op, [x], dim=d) if self.chance(0.6) else self.step(op, [x])
        if op == 'unsqueeze_':
            return self.step(op, [x], dim=self.dim(t, 1)) if t.dim() < 7 else []
        if op == 'as_strided_':
            return self.step(op, [x], **self.window(t))
        if op == 'detach_':
            return self.step(op, [x])
        if op == 'requires_grad_':
            return self.step(op, [x], requires_grad=self.chance(0.8))
        if op == 'set_':
            other = self.pick(lambda o: not o.requires_grad and (o.dtype == t.dtype or self.wrong()))
            return self.step(op, [x, other]) if other else []
        size = self.shape()
        args = {'size': size}
        if self.chance(0.3):
            args['memory_format'] = r.choice(FORMATS)
        if self.wrong() and 0 not in size:
            args['size'] = [-1] + size
        n = 1
        for s in args['size']:
            n *= s
        # New bytes of a storage that grows are undefined: filled at once.
        grows = t.element_size() * (n + t.storage_offset()) > t.untyped_storage().nbytes()
        out = self.step(op, [x], **args)
        if out is not None and grows:
            return self.step('zero_', [x])
        return out

    # ---- copies ----------------------------------------------------------------------------------------------------------

    def a_copy(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        op = r.choice('clone contiguous to to to copy_ copy_ copy_ fill_ zero_ like new item full arange empty_strided'.split())
        formats = ['channels_last'] if t.dim() == 4 else ['channels_last_3d'] if t.dim() == 5 else []
        formats = FORMATS if self.wrong() else formats + ['contiguous_format', 'preserve_format']
        args = {'memory_format': r.choice(formats)} if self.chance(0.5) else {}
        if op in ('clone', 'contiguous'):
            if op == 'contiguous' and args.get('memory_format') == 'preserve_format' and not self.wild:
                args = {}
            return self.step(op, [x], **args)
        if op == 'to':
            if self.chance(0.8):
                args['dtype'] = r.choice(ALL)
                if not convertible(t, args['dtype']):
                    return []
            if self.chance(0.3):
                args['copy'] = self.chance(0.7)
            return self.step(op, [x], **args)
        if op == 'copy_':
            source = self.fitting(t)
            if source is None or not convertible(self.of(source), str(t.dtype)[6:]):
                return []
            return self.step(op, [x, source])
        if op == 'fill_':
            if self.chance(0.2):
                whole = not t.is_floating_point()  # torch makes integers that require a gradient of it
                v = self.pick(
                    lambda o: (o.dim() == 0 or self.wrong()) and convertible(o, str(t.dtype)[6:]) and not (whole and o.requires_grad)
                )
                return self.step(op, [x, v]) if v else []
            value = self.scalar()
            if not t.is_floating_point() and not isinstance(value, (bool, int)) and (isinstance(value, str) or abs(value) > 1000):
                return []
            return self.step(op, [x], value=value)
        if op == 'zero_':
            return self.step(op, [x])
        if op == 'like':
            which = r.choice(['zeros_like', 'ones_like', 'full_like'])
            if which == 'full_like':
                args['fill_value'] = r.choice([1, 2.5, True, 3])
            if self.chance(0.3):
                args['dtype'] = r.choice(ALL)
            return self.step(which, [x], **args)
        if op == 'new':
            which = r.choice(['new_zeros', 'new_ones', 'new_full'])
            args = {'size': [-1, 2] if self.wrong() else self.shape()}
            if which == 'new_full':
                args['fill_value'] = r.choice([1, 2.5, True, 300])
            if self.chance(0.4):
                args['dtype'] = r.choice(ALL)
            return self.step(which, [x], **args)
        if op == 'item':
            return self.step(op, [x]) if t.numel() == 1 or self.wrong() else []
        if op == 'full':
            args = {'size': self.shape(), 'fill_value': r.choice([1, 2.5, True, 7])}
            if self.chance(0.4):
                args['dtype'] = r.choice(ALL)
            return self.step(op, **args)
        if op == 'arange':
            args = {'end': r.choice([4, 5.5, 7, -3, 0]), 'start': r.choice([0, 1, -2, 0.5]), 'step': r.choice([1, 2, 0.5, -1, 0 if self.wild else 1])}
            if self.chance(0.4):
                args['dtype'] = r.choice(ALL)
            return self.step(op, **args)
        if op == 'empty_strided':
            size = self.shape()
            stride = [r.choice([0, 1, 1, 2, 3, 7]) for _ in size]
            if self.wrong():
                stride = r.choice([stride + [1], [-1] * len(size)])
            out = self.step(op, size=size, stride=stride, dtype=r.choice(ALL))
            if not out:
                return out
            # The gaps too, which are undefined and which other windows would show.
            t = self.of(out[0])
            whole = self.step('as_strided', out, size=[t.untyped_storage().nbytes() // t.element_size()], stride=[1])
            return self.step('fill_', whole, value=r.randrange(5))
        return []

    def a_factory(self):
        r = self.rng
        op = r.choice('zeros ones full arange arange arange linspace eye empty_strided zeros_like full_like new_full new_zeros'.split())
        dtype = {'dtype': r.choice(ALL)} if self.chance(0.5) else {}
        size = self.shape()
        if self.wrong():
            size = r.choice([[-1] + size, size + [2**40, 2**40], [2**62, 4], [0, 2**62, 4]])
        value = r.choice([1, 2.5, True, False, -3, -2.5, 300, 70000, 1e20, 'nan', 'inf', 2**40])
        whole = dtype.get('dtype') in INTS
        if whole and (isinstance(value, str) or abs(value) > 1e18):
            value = 1
        if op in ('zeros', 'ones'):
            return self.step(op, size=size, **dtype)
        if op == 'full':
            return self.step(op, size=size, fill_value=value, **dtype)
        if op == 'arange':
            args = {'end': r.choice([4, 5.5, 7, -3, 0, 1.0, 10]), 'start': r.choice([0, 1, -2, 0.5, 3.25]), 'step': r.choice([1, 2, 0.5, -1, 0.3, 3])}
            if self.wrong():
                args['step'] = r.choice([0, 0.0, -1, 'nan', 'inf'])
            for name in ('start', 'step'):
                if self.chance(0.3):
                    del args[name]
            return self.step(op, **args, **dtype)
        if op == 'linspace':
            return self.step(op, start=r.choice([0, 1, -2.5, 3]), end=r.choice([1, 5, -1, 2.5]), steps=-1 if self.wrong() else r.randrange(0, 7), **dtype)
        if op == 'eye':
            args = {'n': -1 if self.wrong() else r.randrange(0, 5)}
            if self.chance(0.5):
                args['m'] = -2 if self.wrong() else r.randrange(0, 5)
            return self.step(op, **args, **dtype)
        if op == 'empty_strided':
            stride = [r.choice([0, 1, 2, 3, 5]) for _ in size]
            if self.wrong():
                stride = r.choice([stride[1:], [-1] * len(size), [2**61] * len(size)])
            out = self.step(op, size=size, stride=stride, **dtype)
            return self.step('zero_', out) if out else out
        x = self.pick()
        if op == 'zeros_like':
            return self.step(op, [x], **dtype)
        if op == 'full_like':
            t = self.of(x)
            if not t.is_floating_point() and not dtype and (isinstance(value, str) or abs(value) > 1e18):
                return []
            return self.step(op, [x], fill_value=value, **dtype)
        args = {'fill_value': value} if op == 'new_full' else {}
        if args and not dtype and not self.of(x).is_floating_point():
            args['fill_value'] = 2
        return self.step(op, [x], size=size, **args, **dtype)

    # ---- arithmetic ------------------------------------------------------------------------------------------------------

    def pointwise(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        k = r.randrange(10)
        if k < 2:
            op = r.choice(UNARY)
            return self.step(op, [x])
        if k == 2:
            op = r.choice(UNARY_IN_PLACE)
            return self.step(op + '_', [x])
        if k == 3:
            op = r.choice(ACTIVATIONS + ['clamp', 'clamp_'])
            if op in ('clamp', 'clamp_'):
                args = {n: self.scalar() for n in ('min', 'max') if self.chance(0.7)}
                if any(isinstance(v, bool) for v in args.values()) and not self.wild:
                    return []
                return self.step(op, [x], **args)
            args = {}
            if self.chance(0.5):
                args = {
                    'gelu': {'approximate': r.choice(['none', 'tanh'])}, 'leaky_relu': {'negative_slope': r.choice([0.0, 0.5, -0.25, 1.0])},
                    'elu': {'alpha': r.choice([0.5, 2.0, 1.0])}, 'softplus': {'beta': r.choice([1.0, 2.0, 0.5]), 'threshold': r.choice([1.0, 20.0])},
                    'hardtanh': {'min_val': r.choice([-1.0, 0.0, -2.5]), 'max_val': r.choice([1.0, 0.5, 2.0])},
                }.get(op, {})
            finite = t.is_floating_point() and bool(t.isfinite().all())  # gelu(inf) is nan in one of torch's kernels
            return self.step(op, [x], **args) if finite or self.wild and not t.is_floating_point() else []
        if k == 4:
            op = r.choice(['where', 'lerp', 'addcmul', 'addcdiv', 'masked_fill', 'masked_fill_', 'cross'])
            if op == 'where':
                c = self.fitting(t, ['bool', 'bool', 'uint8' if self.wild else 'bool'])
                y = self.fitting(t)
                if not c or not y:
                    return []
                m = r.randrange(4)
                if m == 0:
                    return self.step(op, [c, x], other=self.scalar())
                if m == 1:
                    return self.step(op, [c, x], self=self.scalar())
                return self.step(op, [c, x, y])
            if op.startswith('masked_fill'):
                m = self.fitting(t, ['bool'] if not self.wrong() else ['uint8', 'int64'])
                if not m:
                    return []
                if self.chance(0.2):
                    v = self.pick(lambda o: (o.dim() == 0 or self.wrong()) and (t.is_floating_point() or not o.requires_grad))
                    return self.step(op, [x, m, v]) if v else []
                return self.step(op, [x, m], value=self.scalar())
            same = [str(t.dtype)[6:]]
            y, z = self.fitting(t, same), self.fitting(t, same if not self.wrong() else None)
            if not y or not z:
                return []
            if op == 'cross':
                return self.cross(x, y)
            if op == 'lerp':
                return self.step(op, [x, y], weight=0.5) if self.chance(0.5) else self.step(op, [x, y, z])
            return self.step(op, [x, y, z], value=r.choice([1, 2, 0.5]))
        op = r.choice(BINARY)
        args = {}
        if op in ('add', 'sub', 'rsub') and self.chance(0.25):
            args['alpha'] = r.choice([2, -1, 0.5, True, 3])
        if op == 'div' and self.chance(0.5):
            args['rounding_mode'] = 'bogus' if self.wrong() else r.choice(['trunc', 'floor'])
        name = 'exponent' if op == 'pow' else 'other'
        in_place = k >= 8 and op not in NO_IN_PLACE
        if self.chance(0.35) and op not in NO_SCALAR:
            args[name] = self.scalar()
            if op == 'pow' and self.chance(0.15):
                return self.step('pow_scalar', [x], self=args[name])
            return self.step(op + '_' * in_place, [x], **args)
        y = self.fitting(t)
        if y and in_place and op in 'eq ne lt le gt ge' and self.of(y).requires_grad and not t.is_floating_point():
            return []  # torch makes integers that require a gradient of it
        return self.step(op + '_' * in_place, [x, y], **args) if y else []

    def cross(self, x, y):
        """Of tensors with a dim of 3, which few have: most are stretched by an index."""
        r = self.rng
        t, o = self.of(x), self.of(y)
        dims = [d for d in range(t.dim()) if t.shape[d] == 3 and t.dim() == o.dim() and o.shape[d] == 3]
        if not dims and not self.wrong():
            if not t.dim() or t.dim() != o.dim() or t.shape[0] != o.shape[0]:
                return []
            if not t.shape[0]:
                return []
            first = self.step('full', size=[3], fill_value=0, dtype='int64')
            (x,), (y,), dims = self.step('index_select', [x] + first, dim=0), self.step('index_select', [y] + first, dim=0), [0]
        if self.chance(0.3):
            return self.step('cross', [x, y])
        d = r.choice(dims) if dims else self.dim(t)
        return self.step(r.choice(['cross', 'linalg_cross']), [x, y], dim=d - t.dim() if self.chance(0.3) else d)

    def promotion(self):
        r = self.rng
        k = r.randrange(3)
        if k == 0:
            return self.step('promote_types', type1=r.choice(ALL), type2=r.choice(ALL))
        if k == 1:
            return self.step('can_cast', from_=r.choice(ALL), to=r.choice(ALL))
        x = self.pick()
        if self.chance(0.5):
            return self.step('result_type', [x], other=self.scalar())
        return self.step('result_type', [x, self.pick()])

    def joining(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        n = r.randrange(1, 4)
        names = [x]
        d = self.dim(t)
        for _ in range(n - 1):
            size = list(t.shape)
            if self.wrong() and size:
                size[r.randrange(len(size))] += 1
            found = self.pick(lambda o: o.shape == t.shape)
            names.append(found if self.chance(0.5) else (self.new(None, size) or [x])[0])
        return self.step(r.choice(['cat', 'stack']), names, dim=d)

    def rearranging(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        op = r.choice('flip roll repeat tril triu pad repeat_interleave'.split())
        d = self.dim(t)
        if op == 'flip':
            return self.step(op, [x], dims=r.sample(range(t.dim()), r.randrange(t.dim() + 1)))
        if op == 'roll':
            return self.step(op, [x], shifts=[r.randrange(-4, 5)], dims=[d])
        if op == 'repeat':
            repeats = [r.choice([0, 1, 2]) for _ in range(t.dim() + r.randrange(0, 2) - self.wrong())]
            return self.step(op, [x], repeats=repeats) if t.numel() * 2 ** len(repeats) < 300 else []
        if op in ('tril', 'triu'):
            return self.step(op, [x], diagonal=r.randrange(-3, 4)) if t.dim() > 1 or self.wrong() else []
        if op == 'pad':
            pad = [r.randrange(-1, 3) for _ in range(2 * r.randrange(1, t.dim() + 1 + self.wrong()))] if t.dim() else [1, 1]
            return self.step(op, [x], pad=pad, **({'value': r.choice([1, 2.5])} if self.chance(0.4) else {}))
        return self.step(op, [x], repeats=r.randrange(-1 if self.wrong() else 0, 3), dim=d)

    def reduction(self):
        r = self.rng
        x = self.pick()
        t = self.of(x)
        op = r.choice('sum sum mean prod amax amin max min argmax argmin any all var cumsum count_nonzero sort'.split())
        args = {}
        if op in ('sum', 'mean', 'amax', 'amin', 'var', 'any', 'all', 'count_nonzero'):
            k = r.randrange(3)
            if k == 0:
                args['dim'] = [self.dim(t) for _ in range(2)] if self.wild else r.sample(range(t.dim()), r.randrange(t.dim() + 1))
                if op == 'count_nonzero' and not args['dim']:
                    args = {}
            elif k == 1:
                args['dim'] = self.dim(t)
        elif op in ('prod', 'max', 'min', 'argmax', 'argmin') and self.chance(0.6) or op in ('cumsum', 'sort'):
            args['dim'] = self.dim(t)
        if 'dim' in args and op not in ('cumsum', 'sort', 'count_nonzero') and self.chance(0.4) or op in ('amax', 'amin') and self.chance(0.2):
            args['keepdim'] = True
        if op in ('sum', 'prod', 'mean', 'cumsum') and self.chance(0.2):
            args['dtype'] = r.choice(ALL)
        if op == 'sort':
            args['stable'] = True
            args['descending'] = self.chance(0.5)
        return self.step(op, [x], **args)

    def modes(self):
        if not self.grad:
            return []
        k = self.rng.randrange(3)
        if k == 0:
            return self.step('set_grad_enabled', mode=self.chance(0.6))
        if k == 1:
            x = self.pick()
            return self.step('requires_grad_', [x]) if x else []
        x = self.pick(lambda t: t.requires_grad and t.numel() == 1 and t.grad_fn is not None)
        return self.step('backward', [x]) if x else []


TOPICS = {
    'create': [(Program.a_factory, 8), (Program.a_view, 1), (Program.a_copy, 2)],
    'view': [(Program.a_view, 8), (Program.shape_in_place, 2), (Program.a_copy, 2), (Program.pointwise, 1), (Program.modes, 1)],
    'copy': [(Program.a_view, 5), (Program.shape_in_place, 1), (Program.a_copy, 7), (Program.pointwise, 1), (Program.modes, 1)],
    'pointwise': [(Program.a_view, 5), (Program.a_copy, 2), (Program.pointwise, 7), (Program.modes, 1)],
    'promote': [(Program.a_view, 2), (Program.pointwise, 5), (Program.promotion, 3), (Program.a_copy, 1), (Program.joining, 1)],
    'rearrange': [(Program.a_view, 5), (Program.a_copy, 2), (Program.joining, 3), (Program.rearranging, 4), (Program.pointwise, 1), (Program.modes, 1)],
    'index': [(Program.a_view, 5), (Program.a_copy, 1), (Program.indexing, 7), (Program.modes, 1)],
    'overlap': [(Program.a_view, 6), (Program.meeting, 5), (Program.shape_in_place, 1)],
    'gradient': [(Program.a_view, 6), (Program.a_copy, 2), (Program.pointwise, 5), (Program.joining, 1), (Program.rearranging, 1), (Program.reduction, 1)],
    'einsum': [(Program.a_view, 1), (Program.einsum, 6), (Program.modes, 1)],
    'reduce': [(Program.a_view, 5), (Program.a_copy, 1), (Program.reduction, 6), (Program.modes, 1)],
}


def program(topic, seed, number):
    rng = random.Random('%s %s %d' % (topic, seed, number))
    p = Program('random_%s/%s/%04d' % (topic, seed, number), rng)
    if topic == 'gradient':
        p.grad, p.wild, p.plain = True, False, True
    kinds, weights = zip(*TOPICS[topic])
    for _ in range(rng.choice([1, 1, 2])):
        p.new()
    length = rng.randrange(3, 13)
    while p.error is None and len(p.steps) < length and p.count < 40:
        rng.choices(kinds, weights)[0](p)
    if topic == 'gradient' and p.error is None:
        try:
            x = p.pick(lambda t: t.grad_fn is not None and t.is_floating_point() and t.numel())
        except RuntimeError:  # a view whose history torch refuses to renew
            return None
        total = p.step('sum', [x]) if x else None
        if not total or p.step('backward', total) is None:
            return None
    return p.finish()


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    seed, count = sys.argv[1], int(sys.argv[2])
    topics = sys.argv[3:] or list(TOPICS)
    for topic in topics:
        number = written = 0
        while written < count:
            case = program(topic, seed, number)
            number += 1
            if case:
                written += 1
                print(json.dumps(case, separators=(',', ':')))


if __name__ == '__main__':
    main()
