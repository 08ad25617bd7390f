"""Writes print_rows.h: what PyTorch prints, for the tensors that test_print.c makes. Run: python print_rows.py > print_rows.h"""
import torch

inf, nan = float("inf"), float("nan")
torch.manual_seed(0)


def steps(n):
    """What test_print.c fills in: (i * 37 % 101 - 50) / 8."""
    return torch.tensor([((i * 37) % 101 - 50) / 8 for i in range(n)], dtype=torch.float64)


cases = {
    "number": torch.tensor(3.5), "whole": torch.tensor(3.0), "integer": torch.tensor(7), "truth": torch.tensor(True),
    "zeros": torch.zeros(3), "minus_zero": torch.tensor([-0.0, 1.0]), "nans": torch.tensor([nan, inf, -inf]),
    "nan_whole": torch.tensor([nan, 12.0, -inf]), "nan_fraction": torch.tensor([nan, 12.5, -inf, 0.0]),
    "wide_range": torch.tensor([1e-3, 2.0, 1e3, nan]), "large": torch.tensor([1e9, 2.0]), "small": torch.tensor([1e-5]),
    "whole_scientific": torch.tensor([1.0, 5000.0, inf]), "doubles": torch.tensor([0.1, 1 / 3], dtype=torch.float64),
    "halves": torch.tensor([0.1, 65504.0], dtype=torch.float16), "bfloats": torch.tensor([0.1, 3.0], dtype=torch.bfloat16),
    "bytes": torch.tensor([1, 200, 3], dtype=torch.uint8), "truths": torch.tensor([True, False]),
    "int_min": torch.tensor([-(2**63), 2**63 - 1]), "empty": torch.zeros(0), "empty_long": torch.zeros(0, dtype=torch.int64),
    "empty_matrix": torch.zeros(0, 3), "empty_bools": torch.zeros(2, 0, 4, dtype=torch.bool),
    "matrix": steps(12).float().view(3, 4), "transposed": steps(12).float().view(3, 4).t(), "cube": steps(24).float().view(2, 3, 4),
    "long_row": steps(30).float(), "long_rows": steps(60).float().view(2, 30), "row_1000": steps(1000).float(),
    "row_1001": steps(1001).float(), "summary": steps(3000).float().view(50, 60), "summary_cube": steps(2100).float().view(7, 30, 10),
    "summary_thin": steps(2004).float().view(2, 1002), "rank_4": steps(16).float().view(2, 2, 2, 2),
    "summary_scientific": torch.cat([steps(1500) * 1e6, steps(3) * 1e-7]).view(501, 3), "leaf": torch.zeros(2, requires_grad=True),
    "computed": torch.zeros(2, 2, requires_grad=True).t(), "long_suffix": torch.zeros(9, dtype=torch.float64, requires_grad=True).view(9),
    "wrapped_suffix": steps(7).view(7).requires_grad_().view(7),
}
print("/* What test_print.c expects. Written by print_rows.py with PyTorch 2.15. */")
for name, t in cases.items():
    lines = str(t).split("\n")
    print(f'    {{"{name}", ' + "\n     ".join('"' + l + ("\\n" if i < len(lines) - 1 else "") + '"' for i, l in enumerate(lines)) + "},")
