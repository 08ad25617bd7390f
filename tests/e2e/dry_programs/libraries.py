"""Calls that ask cuFFT, cuSOLVER and cuSPARSE how much work space they need: a transform, two factorizations, three sparse products."""
import torch

signal = torch.zeros(8, 1024, 1024, dtype=torch.complex64, device="cuda")
torch.fft.fft(signal)
del signal
dense = torch.zeros(64, 64, device="cuda")
for _ in range(2):
    torch.linalg.lu_factor(dense)
diagonal = torch.sparse_csr_tensor(torch.arange(65), torch.arange(64), torch.ones(64), (64, 64), device="cuda")
diagonal @ dense
diagonal @ dense[0]
diagonal @ diagonal
