#!/usr/bin/env python3
"""Walks every operator over layouts and writes the strides that PyTorch gives its results, a case a line.

  formats.py | gzip -9n > formats.jsonl.gz     needs PyTorch; weft-replay reads the result

Only layouts are expected of the results: sizes, strides, contiguity, sharing. Their elements are what other groups are about.
"""

import json
import warnings

import torch
from record import Case

SHAPES = [[2, 3, 4, 5], [1, 3, 4, 5], [2, 1, 4, 5], [2, 3, 1, 1], [1, 3, 1, 1], [4, 1, 4, 1], [2, 3, 2, 3, 4], [1, 2, 2, 1, 3], [4, 3, 2], [3, 4], [4, 1], [5], []]
LAYOUTS = ['contiguous', 'channels_last', 'transposed', 'reversed', 'sliced', 'expanded', 'folded', 'empty']

UNARY = 'neg abs sqrt exp relu sigmoid tanh floor sign logical_not isnan isinf isfinite erf square reciprocal gelu silu hardtanh leaky_relu elu softplus'.split()
SCALAR = [('add', {'other': 2}), ('mul', {'other': 0.5}), ('div', {'other': 2}), ('eq', {'other': 1}), ('pow', {'exponent': 2}), ('clamp', {'min': 0}),
          ('clamp', {'min': 0, 'max': 1}), ('fmod', {'other': 2}), ('floor_divide', {'other': 2}), ('rsub', {'other': 1}), ('pow_scalar', {'self': 2})]
COPIES = [('clone', {}), ('clone', {'memory_format': 'contiguous_format'}), ('contiguous', {}), ('to', {'dtype': 'float64'}), ('to', {'copy': True}),
          ('to', {'dtype': 'int32', 'memory_format': 'contiguous_format'}), ('zeros_like', {}), ('ones_like', {'dtype': 'int64'}),
          ('full_like', {'fill_value': 1, 'memory_format': 'contiguous_format'}), ('empty_like', {}), ('new_zeros', {'size': [2, 2]})]
FOUR = [('clone', {'memory_format': 'channels_last'}), ('contiguous', {'memory_format': 'channels_last'}), ('to', {'memory_format': 'channels_last'}),
        ('to', {'dtype': 'float16', 'memory_format': 'channels_last'}), ('empty_like', {'memory_format': 'channels_last'}),
        ('zeros_like', {'dtype': 'bool', 'memory_format': 'channels_last'})]
FIVE = [(op, dict(a, memory_format='channels_last_3d')) for op, a in FOUR]
REDUCTIONS = 'sum mean amax amin any all var std prod max min argmax argmin logsumexp norm count_nonzero'.split()
VIEWS = [('transpose', {'dim0': 0, 'dim1': -1}), ('unsqueeze', {'dim': 0}), ('unsqueeze', {'dim': -1}), ('squeeze', {}), ('select', {'dim': 0, 'index': 0}),
         ('slice', {'dim': 0, 'step': 2}), ('flatten', {}), ('reshape', {'shape': [-1]}), ('unfold', {'dimension': 0, 'size': 1, 'step': 1}), ('t', {}),
         ('unbind', {'dim': 0}), ('chunk', {'chunks': 2, 'dim': -1}), ('movedim', {'source': [0], 'destination': [-1]}), ('narrow', {'dim': 0, 'start': 0, 'length': 1}),
         ('diagonal', {}), ('expand', {'size': [2, -1, -1, -1, -1]}), ('detach', {}), ('view_dtype', {'dtype': 'int32'}), ('view_dtype', {'dtype': 'uint8'})]
MOVES = [('flip', {'dims': [0]}), ('flip', {'dims': [0, -1]}), ('roll', {'shifts': [1], 'dims': [0]}), ('roll', {'shifts': [1]}), ('roll', {'shifts': [1], 'dims': [2]}),
         ('roll', {'shifts': [1, -1], 'dims': [1, 0]}), ('tril', {}), ('triu', {'diagonal': 1}),
         ('cumsum', {'dim': 0}), ('cumprod', {'dim': -1}), ('softmax', {'dim': 0}), ('softmax', {'dim': -1}), ('log_softmax', {'dim': 0}),
         ('sort', {'dim': 0, 'stable': True}), ('sort', {'stable': True}), ('argsort', {'dim': 0, 'stable': True}), ('topk', {'k': 1, 'dim': 0}),
         ('pad', {'pad': [1, 1]}), ('pad', {'pad': [0, 0]}), ('repeat_interleave', {'repeats': 2, 'dim': 0}), ('repeat', {'repeats': [2, 1, 1, 1, 1]})]


def laid_out(case, shape, layout, dtype='float32'):
    """A register of that shape and layout; None where the layout makes no sense for the shape."""
    n = len(shape)
    if layout == 'contiguous':
        return case.step('full', size=shape, fill_value=1, dtype=dtype)[0]
    if layout == 'channels_last':
        if n not in (4, 5):
            return None
        x = case.step('full', size=shape, fill_value=1, dtype=dtype)
        return case.step('contiguous', x, memory_format='channels_last' if n == 4 else 'channels_last_3d')[0]
    if n == 0:
        return None
    if layout in ('transposed', 'reversed', 'folded'):
        order = list(range(n))
        if layout == 'transposed':
            order[0], order[-1] = order[-1], order[0]
        elif layout == 'reversed':
            order = order[::-1]
        else:  # channels last by hand, which leaves odd strides in dims of size 1
            order = [0] + list(range(2, n)) + [1] if n > 1 else [0]
        x = case.step('full', size=[shape[d] for d in order], fill_value=1, dtype=dtype)
        return case.step('permute', x, dims=[order.index(d) for d in range(n)])[0]
    if layout == 'sliced':
        x = case.step('full', size=[2 * shape[0]] + shape[1:], fill_value=1, dtype=dtype)
        return case.step('slice', x, dim=0, step=2)[0]
    if layout == 'expanded':
        x = case.step('full', size=shape[:-1] + [1], fill_value=1, dtype=dtype)
        return case.step('expand', x, size=shape)[0]
    x = case.step('full', size=shape, fill_value=1, dtype=dtype)
    return case.step('narrow', x, dim=n - 1, start=0, length=0)[0]


class Walk:
    def __init__(self):
        self.number = {}

    def case(self, topic):
        k = self.number[topic] = self.number.get(topic, -1) + 1
        return Case('formats/%s/%04d' % (topic, k))

    def write(self, case, strict=True):
        done = case.finish()
        if not done or done['error']:
            return
        for name, e in done['expect'].items():
            if not e or 'value' in e:
                continue
            for field in ('data', 'exact', 'tol', 'version', 'leaf', 'requires_grad', 'grad_fn', 'nbytes', 'offset'):
                e.pop(field, None)
            if not strict and 'stride' in e:
                e['stride'] = [None if s == 1 else k for s, k in zip(e['shape'], e['stride'])]
        last = done['steps'][-1].get('out', done['steps'][-1]['in'][:1])
        done['expect'] = {n: e for n, e in done['expect'].items() if n in last}
        print(json.dumps(done, separators=(',', ':')))

    def one_input(self, topic, calls, dtype='float32', strict=True, ranks=range(6)):
        for shape in SHAPES:
            for layout in LAYOUTS:
                if len(shape) not in ranks:
                    continue
                for op, args in calls:
                    case = self.case(topic)
                    x = laid_out(case, shape, layout, dtype)
                    if x is None:
                        break
                    case.step(op, [x], **args)
                    self.write(case, strict)

    def two_inputs(self, topic, calls, dtypes):
        pairs = [(a, b) for a in LAYOUTS[:-1] for b in LAYOUTS[:-1]]
        for shape in ([2, 3, 4, 5], [1, 3, 4, 5], [2, 3, 1, 4], [3, 4]):
            for a, b in pairs:
                for op, args, third in calls:
                    for first, second in dtypes:
                        case = self.case(topic)
                        x, y = laid_out(case, shape, a, first), laid_out(case, shape, b, second)
                        if not x or not y:
                            continue
                        if op == 'where':
                            c = case.step('full', size=shape[-2:], fill_value=1, dtype='bool')
                            case.step(op, [c[0], x, y])
                        else:
                            case.step(op, [x, y] + ([x] if third else []), **args)
                        self.write(case)

    def broadcast(self):
        for small in ([1, 3, 1, 1], [5], [4, 1], [2, 1, 1, 1], [1, 3, 4, 1], []):
            for layout in LAYOUTS[:-1]:
                for turned in (False, True):
                    case = self.case('broadcast')
                    x = laid_out(case, [2, 3, 4, 5], layout)
                    y = laid_out(case, small, 'contiguous')
                    case.step('add', [y, x] if turned else [x, y])
                    self.write(case)

    def network(self):
        for n, c, h, w in ((2, 4, 6, 5), (1, 4, 6, 5), (2, 1, 4, 4), (1, 3, 1, 1), (2, 4, 1, 3)):
            for layout in LAYOUTS[:-1]:
                for op, args in (
                    ('max_pool2d', {'kernel_size': 1}), ('avg_pool2d', {'kernel_size': 1}), ('max_pool2d', {'kernel_size': [1, 1], 'stride': [1, 1]}),
                    ('batch_norm', {'training': True}), ('conv2d', {}), ('conv2d', {'padding': 1}), ('conv2d', {'groups': c}),
                ):
                    for weight_layout in ('contiguous', 'channels_last') if op == 'conv2d' else ('contiguous',):
                        case = self.case(op)
                        x = laid_out(case, [n, c, h, w], layout)
                        ins = [x]
                        if op == 'batch_norm':
                            if n * h * w == 1:
                                continue
                            ins += [None, None]
                        if op == 'conv2d':
                            groups = args.get('groups', 1)
                            k = 3 if 'padding' in args else 1
                            ins.append(laid_out(case, [4, c // groups, k, k] if groups == 1 else [c, 1, k, k], weight_layout))
                        case.step(op, ins, **args)
                        self.write(case, strict=False)

    def joining(self):
        for shape in ([2, 3, 4, 5], [1, 3, 4, 5], [2, 3, 1, 1], [1, 2, 2, 1, 3], [4, 1, 4, 1], [2, 2, 1], [4, 3]):
            for a in LAYOUTS[:-1]:
                for b in LAYOUTS[:-1]:
                    for op, dim in (('cat', 0), ('cat', 1), ('cat', -1), ('stack', 0), ('stack', 1), ('stack', -1)):
                        case = self.case(op)
                        x, y = laid_out(case, shape, a), laid_out(case, shape, b)
                        if x and y:
                            case.step(op, [x, y], dim=dim)
                            self.write(case)

    def indexing(self):
        for shape in ([2, 3, 4, 5], [1, 3, 4, 5], [3, 4]):
            for layout in LAYOUTS:
                for op in 'index_select gather index index_fill_ masked_fill masked_select take scatter_add index_add masked_fill_'.split():
                    case = self.case('indexing')
                    x = laid_out(case, shape, layout)
                    if not x or case.of(x).numel() == 0:
                        continue
                    if op.startswith('masked'):
                        m = case.step('full', size=shape[-1:], fill_value=1, dtype='bool')[0]
                        case.step(op, [x, m], **({} if op == 'masked_select' else {'value': 2}))
                    elif op in ('gather', 'scatter_add'):
                        i = case.step('full', size=shape, fill_value=0, dtype='int64')[0]
                        case.step(op, [x, i] + ([x] if op == 'scatter_add' else []), dim=1)
                    else:
                        i = case.step('full', size=[2], fill_value=0, dtype='int64')[0]
                        if op == 'take':
                            case.step(op, [x, i])
                        elif op == 'index':
                            case.step(op, [x, None, i])
                        elif op == 'index_add':
                            part = case.step('narrow', [x], dim=1, start=0, length=2)
                            case.step(op, [x, i] + part, dim=1)
                        else:
                            case.step(op, [x, i], dim=1, **({'value': 2} if op == 'index_fill_' else {}))
                    self.write(case)


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    walk = Walk()
    walk.one_input('unary', [(op, {}) for op in UNARY])
    walk.one_input('unary_of_integers', [(op, {}) for op in 'neg exp isinf isfinite sqrt sigmoid logical_not'.split()], 'int32')
    walk.one_input('number', SCALAR)
    walk.one_input('number_of_integers', [('add', {'other': 0.5}), ('div', {'other': 2}), ('lt', {'other': 1.5}), ('pow', {'exponent': 2.5})], 'int16')
    walk.one_input('copies', COPIES)
    walk.one_input('copies', FOUR, ranks=[4])
    walk.one_input('copies', FIVE, ranks=[5])
    walk.one_input('views', VIEWS)
    walk.one_input('moves', MOVES)
    for op in REDUCTIONS:
        calls = [{}, {'dim': 0}, {'dim': 1, 'keepdim': True}, {'dim': -1}]
        if op == 'logsumexp':
            calls = calls[1:]
        if op == 'count_nonzero':
            calls = [{}, {'dim': 0}]
        walk.one_input(op, [(op, dict(a)) for a in calls])
    walk.two_inputs('binary', [('add', {}, False), ('lerp', {'weight': 0.5}, False), ('addcmul', {}, True), ('where', {}, False), ('cross', {'dim': 1}, False)],
                    [('float32', 'float32')])
    walk.two_inputs('mixed', [('add', {}, False), ('lt', {}, False), ('where', {}, False)], [('float32', 'int32'), ('int16', 'float64')])
    walk.broadcast()
    walk.network()
    walk.joining()
    walk.indexing()


if __name__ == '__main__':
    main()
