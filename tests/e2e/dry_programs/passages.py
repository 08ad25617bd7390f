"""Two ranks that send each other a few integers, in every way that goes from rank to rank. Prints what came."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, device = dist.get_rank(), torch.device("cuda", dist.get_rank())
torch.cuda.set_device(device)
other = 1 - rank


def come(what, tensors):
    os.write(1, b"rank %d %s %s\n" % (rank, what.encode(), str([t.tolist() for t in tensors]).encode()))  # in one piece: both share a pipe


def numbers(*values):
    return torch.tensor(values, device=device)


place = torch.empty(2, dtype=torch.long, device=device)
if rank == 0:
    dist.send(numbers(3, 4), other)
else:
    dist.recv(place, other)
    come("send", [place])
dist.all_to_all_single(place, numbers(10 * rank, 10 * rank + 1))
come("all_to_all", [place])
places = [torch.empty(1, dtype=torch.long, device=device) for _ in range(2)]
dist.gather(numbers(20 + rank), places if rank == 0 else None, 0)
if rank == 0:
    come("gather", places)
dist.scatter(places[0], [numbers(30), numbers(31)] if rank == 0 else None, 0)
come("scatter", [places[0]])
mine = numbers(40 + rank)
for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, places[1], other), dist.P2POp(dist.isend, mine, other)]):
    work.wait()
come("batch", [places[1]])
dist.destroy_process_group()
