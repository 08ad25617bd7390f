"""Writes pointwise_torch.h: what PyTorch computes for every pointwise operator on numbers that are hard.

    python pointwise_torch.py > pointwise_torch.h

Floats are computed in float64 (the kernels' f32 results must be these, rounded) except where the element type decides."""
import torch
import torch.nn.functional as F

nan, inf = float("nan"), float("inf")
X = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, -0.3, 20.5, -30.0, 1e-5, 7.0, -7.0, 88.0, 0.1, inf, -inf, nan]
Y = [2.0, -1.0, 0.3, -3.0, 2.5, 1.5, -3.5, 0.7, 3.0, 4.0, -2.0, -2.0, 2.0, 0.25, 0.1, 1.0, 2.0, 1.0]
Z = [0.1, 0.9, 0.5, -0.5, 2.0, 1.0, 0.25, 3.0, -1.0, 0.4, 0.6, 1.5, -2.0, 0.5, 7.0, 2.0, 3.0, 1.0]
N = [0, 1, -1, 2, -7, 7, 100, -128, 127, 5, -5, 3, 2**62, -(2**63), 2**40 + 3, 9]
M = [1, 2, 3, -2, 2, -2, 7, -1, 3, 63, 2, -1, 2, -3, 5, -1]
K = [3, -3, 2, 1, 0, 5, -4, 2, 2, 1, 1, 9, 1, 1, 3, 2]

x, y, z = (torch.tensor(v, dtype=torch.float64) for v in (X, Y, Z))
n, m, k = (torch.tensor(v, dtype=torch.int64) for v in (N, M, K))


def grad(f):
    def run(g, v):
        leaf = v.clone().requires_grad_()
        f(leaf).backward(g)
        return leaf.grad
    return run


floats = {  # name: (inputs, scalars, function)
    **{name.upper(): (1, [], getattr(torch, name)) for name in
       "neg abs sign square sqrt rsqrt reciprocal exp expm1 log log1p log2 sin cos tan atan tanh sigmoid erf floor ceil round trunc "
       "isnan isinf isfinite logical_not relu".split()},
    "SILU": (1, [], F.silu), "LEAKY_RELU": (1, [0.1], lambda v: F.leaky_relu(v, 0.1)),
    "ELU": (1, [1.5], lambda v: F.elu(v, 1.5)), "SOFTPLUS": (1, [2.0, 10.0], lambda v: F.softplus(v, 2.0, 10.0)),
    "GELU": (1, [], lambda v: v * 0.5 * (1 + torch.erf(v * 0.5 ** 0.5))),
    "GELU_TANH": (1, [], lambda v: F.gelu(v, approximate="tanh")),
    "HARDTANH": (1, [-1.0, 2.0], lambda v: F.hardtanh(v, -1.0, 2.0)), "CLAMP": (1, [-0.25, 3.0], lambda v: torch.clamp(v, -0.25, 3.0)),
    "POW_SCALAR_EXP": (1, [1.7], lambda v: v ** 1.7), "POW_SCALAR_BASE": (1, [2.5], lambda v: torch.pow(2.5, v)),
    "AFFINE": (1, [3.0, -2.0], lambda v: 3.0 * v - 2.0),
    "ADD": (2, [0.5], lambda a, b: torch.add(a, b, alpha=0.5)), "SUB": (2, [2.0], lambda a, b: torch.sub(a, b, alpha=2.0)),
    **{name.upper(): (2, [], getattr(torch, name)) for name in
       "mul div fmod remainder pow atan2 maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor".split()},
    "DIV_TRUNC": (2, [], lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    "DIV_FLOOR": (2, [], lambda a, b: torch.div(a, b, rounding_mode="floor")),
    "THRESHOLD_BACKWARD": (2, [0.4], lambda g, v: torch.ops.aten.threshold_backward(g, v, 0.4)),
    "SIGMOID_BACKWARD": (2, [], torch.ops.aten.sigmoid_backward), "TANH_BACKWARD": (2, [], torch.ops.aten.tanh_backward),
    "GELU_BACKWARD": (2, [], grad(F.gelu)), "GELU_TANH_BACKWARD": (2, [], grad(lambda v: F.gelu(v, approximate="tanh"))),
    "SILU_BACKWARD": (2, [], grad(F.silu)), "ELU_BACKWARD": (2, [1.5, 0.8, 1.2, 0.0], lambda g, v: torch.ops.aten.elu_backward(g, 1.5, 0.8, 1.2, False, v)),
    "SOFTPLUS_BACKWARD": (2, [2.0, 3.0], grad(lambda v: F.softplus(v, 2.0, 3.0))),
    "LEAKY_RELU_BACKWARD": (2, [0.1], grad(lambda v: F.leaky_relu(v, 0.1))),
    "HARDTANH_BACKWARD": (2, [-1.0, 2.0], grad(lambda v: F.hardtanh(v, -1.0, 2.0))),
    "LERP": (3, [], torch.lerp), "ADDCMUL": (3, [0.5], lambda a, b, c: torch.addcmul(a, b, c, value=0.5)),
    "ADDCDIV": (3, [2.0], lambda a, b, c: torch.addcdiv(a, b, c, value=2.0)), "CLAMP_TENSOR": (3, [], torch.clamp),
}
integers = {
    **{name.upper(): (1, [], getattr(torch, name)) for name in
       "neg abs sign square floor ceil round trunc isnan isinf isfinite logical_not bitwise_not relu".split()},
    "HARDTANH": (1, [-2, 6], lambda v: F.hardtanh(v, -2, 6)), "CLAMP": (1, [-5, 100], lambda v: torch.clamp(v, -5, 100)),
    "AFFINE": (1, [3, -2], lambda v: 3 * v - 2),
    "ADD": (2, [3], lambda a, b: torch.add(a, b, alpha=3)), "SUB": (2, [2], lambda a, b: torch.sub(a, b, alpha=2)),
    **{name.upper(): (2, [], getattr(torch, name)) for name in
       "mul fmod remainder pow maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or "
       "bitwise_xor".split()},
    "DIV_TRUNC": (2, [], lambda a, b: torch.div(a, b, rounding_mode="trunc")),
    "DIV_FLOOR": (2, [], lambda a, b: torch.div(a, b, rounding_mode="floor")),
    "THRESHOLD_BACKWARD": (2, [1], lambda g, v: torch.ops.aten.threshold_backward(g, v, 1)),
    "ADDCMUL": (3, [2], lambda a, b, c: torch.addcmul(a, b, c, value=2)), "CLAMP_TENSOR": (3, [], torch.clamp),
}


def number(v):
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, int):
        return "INT64_MIN" if v == -(2**63) else f"{v}"
    return "NAN" if v != v else "INFINITY" if v == inf else "-INFINITY" if v == -inf else float(v).hex()


def table(kind, ops, args, ctype):
    print(f"static const struct {{ int op, inputs; double scalar[4]; int scalars; {ctype} expected[{len(args[0])}]; }} {kind}_rows[] = {{")
    for name, (inputs, scalars, f) in ops.items():
        result = f(*args[:inputs]).tolist()
        print(f"    {{WF__PW_{name}, {inputs}, {{{', '.join(map(str, scalars)) or '0'}}}, {len(scalars)}, {{{', '.join(number(v) for v in result)}}}}},")
    print("};")


print(f"/* Written by pointwise_torch.py with PyTorch {torch.__version__}. */\n/* clang-format off */")
for name, values in zip("xyz", (X, Y, Z)):
    print(f"static const double float_{name}[] = {{{', '.join(number(v) for v in values)}}};")
for name, values in zip("xyz", (N, M, K)):
    print(f"static const int64_t integer_{name}[] = {{{', '.join(number(v) for v in values)}}};")
table("float", floats, (x, y, z), "double")
table("integer", integers, (n, m, k), "int64_t")
