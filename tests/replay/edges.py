#!/usr/bin/env python3
"""Walks operators over numbers at the edges of dtypes, and what PyTorch makes of them, a case a line.

  edges.py | gzip -9n > edges.jsonl.gz     needs PyTorch; weft-replay reads the result

Factors, exponents, values and bounds that a dtype can't hold; halves beside one number, which some operators round first and some don't;
bounds of clamp that are tensors, and who has the gradient where numbers are equal, crossed or nan; refusals that come before others.
"""

import itertools
import json
import warnings

import torch
from random_parts import ALL, INTS
from record import Case

HALVES = ['float16', 'bfloat16']
EDGES = [True, -1, -129, 256, 40000, 2**31, 2**63 - 1, 2.75, 65504.0, 65520.0, 3.4e38, 1e39, 'nan', 'inf']


class Walk:
    def __init__(self):
        self.number = {}

    def case(self, topic):
        k = self.number[topic] = self.number.get(topic, -1) + 1
        return Case('edges/%s/%04d' % (topic, k))

    def write(self, case):
        done = case.finish()
        if done:
            print(json.dumps(done, separators=(',', ':')))

    def tensor(self, case, dtype, values, shape=None, **more):
        return case.step('tensor', data=values, shape=[len(values)] if shape is None else shape, dtype=dtype, **more)[0]

    def small(self, case, dtype, shape=None):
        values = [1, 0, 1] if dtype in ('bool', 'uint8') else [1, -2, 3] if dtype in INTS else [1.0, -0.5, 2.0]
        return self.tensor(case, dtype, values[: 1 if shape == [] else 0 if shape == [0] else 3], shape)

    def one_number(self):
        for dtype in ALL:
            for edge in EDGES:
                for op, args in (
                    ('add', {'other': 1, 'alpha': edge}), ('sub_', {'other': 1, 'alpha': edge}), ('pow', {'exponent': edge}), ('pow_', {'exponent': edge}),
                    ('clamp', {'min': edge, 'max': 'nan'}), ('clamp_', {'min': 0, 'max': edge}), ('mul', {'other': edge}), ('full_like', {'fill_value': edge}),
                ):
                    case = self.case(op)
                    case.step(op, [self.small(case, dtype)], **args)
                    self.write(case)
        for dtype in HALVES:
            for base in (2**31, -(2**40), 1e10, 0.1):
                case = self.case('pow_scalar')
                case.step('pow_scalar', [self.tensor(case, dtype, [0.25, -2.0, 1.0, 2.75])], self=base)
                self.write(case)

    def stored(self):
        for dtype, edge, shape in itertools.product(ALL, EDGES, ([3], [1], [0])):
            for op, args in (
                ('pad', {'pad': [1, 0], 'value': edge}), ('fill_', {'value': edge}), ('new_full', {'size': shape, 'fill_value': edge}),
            ):
                case = self.case(op)
                case.step(op, [self.tensor(case, dtype, [1] * shape[0])], **args)
                self.write(case)

    def index_factors(self):
        for dtype, edge, rest, count in itertools.product(ALL, EDGES, ([], [2]), (0, 1)):
            case = self.case('index_add')
            x = case.step('zeros', size=[3] + rest, dtype=dtype)[0]
            index = self.tensor(case, 'int64', [1] * count)
            case.step('index_add', [x, index, case.step('ones', size=[count] + rest, dtype=dtype)[0]], dim=0, alpha=edge)
            self.write(case)

    def parameters(self):
        for dtype, edge in itertools.product(ALL, EDGES + [0.1]):
            for op, args in (
                ('leaky_relu', {'negative_slope': edge}), ('elu', {'alpha': edge}), ('softplus', {'beta': edge}), ('softplus', {'threshold': edge}),
                ('hardtanh', {'min_val': edge}), ('hardtanh', {'max_val': edge}), ('lerp', {'weight': edge}),
            ):
                case = self.case(op)
                x = self.small(case, dtype)
                case.step(op, [x, x] if op == 'lerp' else [x], **args)
                self.write(case)

    def no_elements(self):
        for dtype, op, args in (
            ('int8', 'pow', {'exponent': 300}), ('float16', 'pow', {'exponent': 70000}), ('uint8', 'add', {'other': 1, 'alpha': 300}),
            ('float32', 'addcmul', {'value': 1e39}),
        ):
            case = self.case('no_elements')
            x = self.small(case, dtype, [0])
            case.step(op, [x, x, x] if op == 'addcmul' else [x], **args)
            self.write(case)

    def two_tensors(self):
        for dtype, other in itertools.product(ALL, ('int8', 'float16', 'float32')):
            for edge in (320, 131072, 1e39, 'nan'):
                for op, suffix in itertools.product(('add', 'rsub'), ('', '_')):
                    if op + suffix == 'rsub_':
                        continue
                    case = self.case(op + suffix)
                    case.step(op + suffix, [self.small(case, dtype), self.small(case, other, [])], alpha=edge)
                    self.write(case)

    def three_tensors(self):
        for dtype, other in itertools.product(ALL, ('bool', 'int8', 'int64', 'bfloat16', 'float64')):
            for op, edge in itertools.product(('addcmul', 'addcmul_', 'addcdiv', 'addcdiv_'), (2.5, 320, 131072, 1e39)):
                case = self.case(op)
                first, second = self.small(case, dtype, [] if op.endswith('_') else None), self.small(case, other)
                case.step(op, [first, second, second], value=edge)
                self.write(case)
        for edge in (300, 1e39):
            for dtype in ('int8', 'float32'):
                case = self.case('where')
                condition = self.tensor(case, 'int64', [1, 0, 1])
                case.step('where', [condition, self.small(case, dtype)], other=edge)
                self.write(case)

    def beside_halves(self):
        numbers = [('float64', [0.1]), ('float32', [513.7]), ('int32', [70000]), ('int64', [2**31]), ('bfloat16', [1 / 3]), ('bool', [1])]
        for half, (dtype, values), turned in itertools.product(HALVES, numbers, (False, True)):
            for op, args in (('mul', {}), ('div', {}), ('add', {}), ('maximum', {}), ('fmod', {}), ('pow', {}), ('div', {'rounding_mode': 'floor'})):
                if args and turned:
                    continue  # a quotient of halves is rounded before it is floored
                case = self.case('half_' + op)
                x = self.tensor(case, half, [5.0, -3.25, 2.4375, 0.28564453125, 1.0, 40.0, -0.140625])
                y = self.tensor(case, dtype, values, [])
                case.step(op, [y, x] if turned else [x, y], **args)
                self.write(case)

    def bounds(self):
        every = list(itertools.product([1.0, 2.0, 3.0, 'nan'], repeat=3))
        for which in ((0, 1, 2), (0, 1)):
            for gradients in (every, every[::-1]):
                case = self.case('clamp_gradient')
                ins = [self.tensor(case, 'float32', [t[k] for t in gradients], requires_grad=True) for k in which]
                out = case.step('clamp', ins)
                case.step('backward', case.step('sum', out))
                self.write(case)
        for dtype, low, high in itertools.product(('bool', 'int32', 'bfloat16'), ('bool', 'int8', 'float32'), ('bool', 'int64', None)):
            for op in ('clamp', 'clamp_'):
                case = self.case('clamp_of_tensors')
                ins = [self.small(case, dtype), self.small(case, low)] + ([self.small(case, high)] if high else [])
                case.step(op, ins)
                self.write(case)
        case = self.case('clamp_of_tensors')
        ins = [case.step('zeros', size=[0, 1])[0] for _ in range(2)]
        case.step('clamp', ins)
        self.write(case)

    def refused_first(self):
        for op in ('neg', 'neg_', 'relu', 'relu_'):
            case = self.case('refused_first')
            x = self.tensor(case, 'bool', [1, 0, 1])
            case.step(op, case.step('expand', [x], size=[2, 3]))
            self.write(case)

    def gradients(self):
        for base, exponent in itertools.product(HALVES + ['int32'], ('float32', 'float64')):
            case = self.case('power_gradient')
            x = self.tensor(case, base, [1, 2, 3] if base in INTS else [1.75, 0.0, 0.1])
            e = self.tensor(case, exponent, [2.25, 3.0, 1.5], requires_grad=True)
            case.step('backward', case.step('sum', case.step('pow', [x, e])))
            self.write(case)
        case = self.case('atan2_gradient')
        x = self.tensor(case, 'float16', [1.0, -2.25, 0.0, 300.0], requires_grad=True)
        y = self.tensor(case, 'int32', [2**31 - 1, 3, 0, 2])
        case.step('backward', case.step('sum', case.step('atan2', [x, y])))
        self.write(case)


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    walk = Walk()
    for part in (
        walk.one_number, walk.stored, walk.parameters, walk.index_factors, walk.no_elements, walk.two_tensors, walk.three_tensors, walk.beside_halves, walk.bounds,
        walk.refused_first, walk.gradients,
    ):
        part()


if __name__ == '__main__':
    main()
