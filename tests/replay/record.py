"""Records what PyTorch does: runs the steps of a case in torch and writes down the state afterwards, in the format that weft-replay reads.

A Case is built a step at a time. The first step that torch refuses ends it; the refusal is what the case expects then. A case whose
failing step left traces in torch (finish() gives None) is of no use: a failed step must leave none.
Used by random_programs.py and formats.py beside it.
"""

import torch

DTYPES = {
    name: getattr(torch, name)
    for name in 'float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool'.split()
}
FORMATS = {
    name: getattr(torch, name)
    for name in 'contiguous_format preserve_format channels_last channels_last_3d'.split()
}
aten = torch.ops.aten

# Results that are right within a tolerance only, also for exact inputs.
APPROXIMATE = set(
    'sqrt rsqrt exp expm1 log log1p log2 sin cos tan atan tanh sigmoid erf gelu silu elu softplus pow pow_scalar atan2 lerp addcmul '
    'addcdiv linspace mean prod var std norm logsumexp softmax log_softmax cumprod sum cumsum conv2d avg_pool2d batch_norm linear mm '
    'bmm matmul addmm conv1d mv dot outer baddbmm addmv cross linalg_cross einsum'.split()
)
# Discontinuous: their results say nothing where an input is approximate.
STEPS = set(
    'sign floor ceil round trunc floor_divide fmod remainder eq ne lt le gt ge max min argmax argmin sort argsort topk nonzero '
    'count_nonzero any all isnan isinf isfinite logical_not logical_and logical_or logical_xor view_dtype to item where index take '
    'masked_select bitwise_not'.split()
)
# What keeps the error of approximate inputs where it is.
GENTLE = set(
    'view reshape flatten unflatten transpose permute movedim t narrow select slice expand squeeze unsqueeze diagonal unfold split '
    'tensor_split chunk unbind as_strided detach data view_as reshape_as expand_as broadcast_to clone contiguous to copy zero fill neg '
    'abs cat stack flip roll repeat tril triu pad repeat_interleave masked_fill relu zeros_like ones_like full_like new_zeros '
    'new_ones new_full index_select gather resize set requires_grad squeeze transpose'.split()
)
# The layout that torch gives to these results is the accident of one kernel.
NO_LAYOUT = set('nonzero masked_select one_hot linear einsum'.split())


def plain(value):
    """A number as JSON can hold it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value != value:
        return 'nan'
    if value in (float('inf'), float('-inf')):
        return 'inf' if value > 0 else '-inf'
    return value


def elements(t):
    t = t.detach()
    if t.dtype in (torch.float16, torch.bfloat16):
        t = t.to(torch.float64)
    return [plain(v) for v in t.flatten().tolist()]


def number(value):
    return float(value) if isinstance(value, str) else value


def torch_argument(name, value):
    if name in ('dtype', 'type1', 'type2', 'from_', 'to') and isinstance(value, str):
        return DTYPES[value]
    if name == 'memory_format':
        return FORMATS[value]
    if isinstance(value, str) and value in ('nan', 'inf', '-inf'):
        return float(value)
    return value


def operand_call(function, names):
    """For operators with operands that are a tensor in `in` or a number in `args`: puts each in its place."""

    def call(ins, a):
        rest = list(ins)
        given = [a.pop(n) if n in a else (rest.pop(0) if rest else None) for n in names]
        return function(*given, **a)

    return call


def make(ins, a):
    values = [number(v) for v in a['data']]
    dtype = a['dtype']
    if dtype in (torch.float16, torch.bfloat16):
        t = torch.tensor(values, dtype=torch.float64).to(torch.float32).to(dtype)
    else:
        t = torch.tensor(values, dtype=dtype)
    # A clone: what reshape gives is a view.
    return t.reshape(a['shape']).clone(memory_format=torch.contiguous_format).requires_grad_(a.get('requires_grad', False))


CALLS = {
    'tensor': make,
    'zeros': lambda i, a: torch.zeros(**a),
    'ones': lambda i, a: torch.ones(**a),
    'full': lambda i, a: torch.full(**a),
    'arange': lambda i, a: torch.arange(a.get('start', 0), a['end'], a.get('step', 1), dtype=a.get('dtype')),
    'linspace': lambda i, a: torch.linspace(**a),
    'eye': lambda i, a: torch.eye(*([a.pop('n'), a.pop('m')] if 'm' in a else [a.pop('n')]), **a),
    'empty_strided': lambda i, a: torch.empty_strided(**a),
    'view': lambda i, a: aten.view.default(i[0], a['size']),
    'view_dtype': lambda i, a: i[0].view(a['dtype']),
    'reshape': lambda i, a: torch.reshape(i[0], a['shape']),
    'slice': lambda i, a: aten.slice.Tensor(i[0], a.get('dim', 0), a.get('start'), a.get('end'), a.get('step', 1)),
    'expand': lambda i, a: i[0].expand(a['size']),
    'broadcast_to': lambda i, a: i[0].broadcast_to(a['size']),
    'squeeze': lambda i, a: i[0].squeeze(*([a['dim']] if 'dim' in a else [])),
    'squeeze_': lambda i, a: i[0].squeeze_(*([a['dim']] if 'dim' in a else [])),
    'permute': lambda i, a: torch.permute(i[0], a['dims']),
    'split': lambda i, a: torch.split(i[0], a['split_size_or_sections'], a.get('dim', 0)),
    'data': lambda i, a: i[0].data,
    'set_': lambda i, a: i[0].set_(i[1]),
    'rsub': operand_call(torch.rsub, ['input', 'other']),
    'pow_scalar': lambda i, a: torch.pow(a['self'], i[0]),
    'where': operand_call(torch.where, ['condition', 'self', 'other']),
    'clamp': lambda i, a: torch.clamp(i[0], *(i[1:] if len(i) > 1 else [a.get('min'), a.get('max')])),
    'clamp_': lambda i, a: i[0].clamp_(*(i[1:] if len(i) > 1 else [a.get('min'), a.get('max')])),
    'softmax': lambda i, a: torch.softmax(i[0], **a),
    'log_softmax': lambda i, a: torch.log_softmax(i[0], **a),
    'gelu': lambda i, a: torch.nn.functional.gelu(i[0], **a),
    'silu': lambda i, a: torch.nn.functional.silu(i[0]),
    'silu_': lambda i, a: torch.nn.functional.silu(i[0], inplace=True),
    'leaky_relu': lambda i, a: torch.nn.functional.leaky_relu(i[0], **a),
    'elu': lambda i, a: torch.nn.functional.elu(i[0], **a),
    'softplus': lambda i, a: torch.nn.functional.softplus(i[0], **a),
    'hardtanh': lambda i, a: torch.nn.functional.hardtanh(i[0], **a),
    'relu': lambda i, a: torch.relu(i[0]),
    'norm': lambda i, a: torch.norm(i[0], **a),
    'index': lambda i, a: aten.index.Tensor(i[0], i[1:]),
    'index_put_': lambda i, a: aten.index_put_.default(i[0], i[2:], i[1], a.get('accumulate', False)),
    'index_select': lambda i, a: torch.index_select(i[0], a['dim'], i[1]),
    'index_put': lambda i, a: aten.index_put.default(i[0], i[2:], i[1], a.get('accumulate', False)),
    'index_fill': lambda i, a: i[0].index_fill(a['dim'], i[1], a['value'] if len(i) < 3 else i[2]),
    'index_fill_': lambda i, a: i[0].index_fill_(a['dim'], i[1], a['value'] if len(i) < 3 else i[2]),
    'index_copy': lambda i, a: i[0].index_copy(a['dim'], i[1], i[2]),
    'index_copy_': lambda i, a: i[0].index_copy_(a['dim'], i[1], i[2]),
    'index_add': lambda i, a: torch.index_add(i[0], a['dim'], i[1], i[2], alpha=a.get('alpha', 1)),
    'index_add_': lambda i, a: i[0].index_add_(a['dim'], i[1], i[2], alpha=a.get('alpha', 1)),
    'gather': lambda i, a: torch.gather(i[0], a['dim'], i[1]),
    'scatter': lambda i, a: torch.scatter(i[0], a['dim'], i[1], a['value'] if len(i) < 3 else i[2]),
    'scatter_': lambda i, a: i[0].scatter_(a['dim'], i[1], a['value'] if len(i) < 3 else i[2]),
    'scatter_add': lambda i, a: torch.scatter_add(i[0], a['dim'], i[1], i[2]),
    'scatter_add_': lambda i, a: i[0].scatter_add_(a['dim'], i[1], i[2]),
    'cat': lambda i, a: torch.cat(i, a.get('dim', 0)),
    'stack': lambda i, a: torch.stack(i, a.get('dim', 0)),
    'repeat': lambda i, a: i[0].repeat(a['repeats']),
    'repeat_interleave': lambda i, a: i[0].repeat_interleave(i[1] if len(i) > 1 else a['repeats'], a.get('dim')),
    'pad': lambda i, a: torch.nn.functional.pad(i[0], **a),
    'result_type': lambda i, a: str(torch.result_type(i[0], i[1] if len(i) > 1 else a['other']))[6:],
    'promote_types': lambda i, a: str(torch.promote_types(a['type1'], a['type2']))[6:],
    'can_cast': lambda i, a: torch.can_cast(a['from_'], a['to']),
    'einsum': lambda i, a: torch.einsum(a['equation'], *i),
    'cross': lambda i, a: torch.cross(*i, **a),
    'linalg_cross': lambda i, a: torch.linalg.cross(*i, **a),
    'set_grad_enabled': lambda i, a: torch.set_grad_enabled(a['mode']) and None,
    'backward': lambda i, a: i[0].backward(*i[1:], **a),
    'conv2d': lambda i, a: torch.nn.functional.conv2d(*i, **a),
    'linear': lambda i, a: torch.nn.functional.linear(*i),
    'max_pool2d': lambda i, a: torch.nn.functional.max_pool2d(i[0], **a),
    'avg_pool2d': lambda i, a: torch.nn.functional.avg_pool2d(i[0], **a),
    'batch_norm': lambda i, a: torch.nn.functional.batch_norm(*i, **a),
}
for _name in 'add sub mul div floor_divide fmod remainder pow eq ne lt le gt ge'.split():
    CALLS[_name] = operand_call(getattr(torch, _name), ['input', 'exponent' if _name == 'pow' else 'other'])
    CALLS[_name + '_'] = operand_call(getattr(torch.Tensor, _name + '_'), ['input', 'exponent' if _name == 'pow' else 'other'])
for _name in 'bitwise_and bitwise_or bitwise_xor'.split():
    CALLS[_name] = operand_call(getattr(torch, _name), ['input', 'other'])
    CALLS[_name + '_'] = operand_call(getattr(torch.Tensor, _name + '_'), ['input', 'other'])


def run(op, ins, args):
    args = {name: torch_argument(name, value) for name, value in args.items()}
    if op in CALLS:
        return CALLS[op](list(ins), args)
    return (getattr(torch.Tensor, op, None) or getattr(torch, op))(*ins, **args)


def error_of(step, e):
    text = str(e).split('\nException raised from')[0]
    match = 'exact'
    if ' not implemented for ' in text:
        text, match = text[text.index('not implemented for') :], 'contains'
    elif text.startswith('Could not run'):
        text, match = text.split(' is only available')[0], 'kind'
    kind = next(k for k in (NotImplementedError, IndexError, ValueError, TypeError, RuntimeError) if isinstance(e, k))
    return {'step': step, 'kind': kind.__name__, 'message': text, 'match': match}


def overlaps(t):
    """Whether two elements are one place."""
    places = {0}
    for size, stride in zip(t.shape, t.stride()):
        places = {p + k * stride for p in places for k in range(size)}
    return len(places) < t.numel()


def touches(written, read):
    """Whether the two share places without being the same elements."""
    if written.untyped_storage()._cdata != read.untyped_storage()._cdata:
        return False
    return (written.shape, written.stride(), written.storage_offset()) != (read.shape, read.stride(), read.storage_offset())


class Case:
    def __init__(self, name):
        self.id, self.steps, self.registers, self.error = name, [], {}, None
        self.computed = set()  # registers whose strides in dims of size 1 are the operator's own business
        self.approximate, self.unknown = set(), set()  # storages
        self.loose = set()  # registers whose layout isn't compared
        self.count, self.useless = 0, False
        torch.set_grad_enabled(True)

    def of(self, name):
        return self.registers[name]

    def storage(self, t):
        return t.untyped_storage()._cdata

    def snapshot(self):
        return [(t.dtype, t.shape, t.stride(), t.storage_offset(), t._version, str(elements(t)))
                for t in self.registers.values() if isinstance(t, torch.Tensor)]

    def step(self, op, ins=(), /, **args):
        """Runs one step. Returns the names of its results, None when torch refused."""
        step = {'op': op}
        tensors = [None if n is None else self.registers[n] for n in ins]
        if ins:
            step['in'] = list(ins)
        if args:
            step['args'] = args
        before = self.snapshot()
        try:
            result = run(op, tensors, args)
        except Exception as e:  # every refusal is a result
            if isinstance(e, TypeError) and ('invalid combination' in str(e) or 'argument' in str(e)):
                self.useless = True  # the Python layer's own refusal
            self.error = error_of(len(self.steps), e)
            self.steps.append(step)
            if 'a leaf Variable' in str(e) and tensors[0]._base is not None and tensors[0]._base.grad_fn is not None:
                self.useless = True  # a view whose function torch hasn't renewed yet
            try:
                self.useless |= before != self.snapshot()
            except (RuntimeError, SystemError, MemoryError):  # left in pieces
                self.useless = True
            return None
        plain_name = op.rstrip('_')
        tainted = [t for t in tensors if t is not None and self.storage(t) in self.approximate]
        lost = [t for t in tensors if t is not None and self.storage(t) in self.unknown]
        if op.endswith('_') or result is None:
            results = [] if result is None else [tensors[0]]
            outs = False
        else:
            results = list(result) if isinstance(result, (tuple, list)) else [result]
            outs = len(results)
        for t in results:
            if not isinstance(t, torch.Tensor):
                continue
            if t.numel() > 2000:  # a window with stride 0
                self.useless, self.error = True, {}
                return None
            if op.endswith('_') and op not in ('as_strided_', 'resize_', 'detach_', 'requires_grad_', 'set_'):
                # Where one write meets another, or a read of the same step, the order is the kernel's own.
                if overlaps(t) or any(touches(t, o) for o in tensors[1:] if o is not None):
                    self.unknown.add(self.storage(t))
            if op == 'view_dtype' and tensors[0].is_floating_point() and bool(tensors[0].isnan().any()):
                self.unknown.add(self.storage(t))  # which nan it is
            if op == 'view_dtype' and t.dtype == torch.bool != tensors[0].dtype:
                self.unknown.add(self.storage(t))  # which byte is true
            other_types = any(o.dtype != t.dtype for o in self.registers.values() if isinstance(o, torch.Tensor) and self.storage(o) == self.storage(t))
            if tainted and plain_name not in GENTLE or plain_name in APPROXIMATE and other_types:
                self.unknown.add(self.storage(t))  # errors may grow
            if ('cross' in plain_name or plain_name == 'einsum') and t.is_floating_point() and not bool((t.abs() < 1e3).all()):
                self.unknown.add(self.storage(t))  # differences of large products: one rounding less shows
            if plain_name == 'prod' and t.dtype == torch.float16:
                self.unknown.add(self.storage(t))  # may overflow in one order and not in another
            if lost or (tainted and plain_name in STEPS):
                self.unknown.add(self.storage(t))
            if tainted or (plain_name in APPROXIMATE and (t.is_floating_point() or plain_name in ('pow', 'pow_scalar'))):
                self.approximate.add(self.storage(t))
        self.steps.append(step)
        if not outs:
            return []
        names = ['t%d' % (self.count + k) for k in range(outs)]
        self.count += outs
        step['out'] = names
        for name, t in zip(names, results):
            self.registers[name] = t
            if plain_name in NO_LAYOUT:
                self.loose.add(name)
        return names

    def expectation(self, name, t, letters, seen):
        if t is None:
            return None
        if not isinstance(t, torch.Tensor):
            return {'value': t if isinstance(t, (str, bool)) else plain(t)}
        storage = self.storage(t)
        e = {'dtype': str(t.dtype)[6:], 'shape': list(t.shape)}
        if name not in self.loose:
            e.update(
                stride=list(t.stride()),
                offset=t.storage_offset(),
                contiguous=t.is_contiguous(),
                channels_last=t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last),
                storage=letters.setdefault(storage, 'S%d' % len(letters)),
                nbytes=t.untyped_storage().nbytes(),
            )
        e.update(version=t._version, leaf=t.is_leaf, requires_grad=t.requires_grad, grad_fn=t.grad_fn is not None)
        if id(t) in seen:
            e['is'] = seen[id(t)]
        seen.setdefault(id(t), name)
        if storage not in self.unknown and (t.is_floating_point() or storage not in self.approximate):
            e['data'] = elements(t)
            if storage not in self.approximate:
                e['exact'] = True
            elif t.dtype in (torch.float16, torch.bfloat16):
                e['tol'] = {'rtol': 2e-2, 'atol': 2e-2}
        if t.is_leaf and t.requires_grad:
            e['grad'] = None if t.grad is None else elements(t.grad)
            if t.dtype in (torch.float16, torch.bfloat16):
                e['tol'] = {'rtol': 2e-2, 'atol': 2e-2}
        return e

    def finish(self):
        """The case, or None when it is of no use."""
        torch.set_grad_enabled(True)
        if self.useless:
            return None
        letters, seen = {}, {}
        try:
            expect = {name: self.expectation(name, t, letters, seen) for name, t in self.registers.items()}
        except RuntimeError:  # a view whose history torch refuses to renew
            return None
        return {'id': self.id, 'steps': self.steps, 'expect': expect, 'error': self.error, 'tol': {'rtol': 1e-5, 'atol': 1e-6}}
