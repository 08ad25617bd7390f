"""One weight of 4 MiB on each of two GPUs, a process each; its gradients are added up by NCCL, in a bucket of their own."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
model = DistributedDataParallel(torch.nn.Linear(1024, 1024, bias=False).cuda(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
dist.destroy_process_group()
