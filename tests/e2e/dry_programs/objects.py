"""Two ranks that send each other objects, in every way that torch.distributed has. Prints what came. One's object has hundreds of times the other's bytes."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
mine = {"rank": rank, "words": ["word %d" % i for i in range(3 + 100000 * rank)]}


def come(what, objects):
    said = ["%d: %d %s" % (o["rank"], len(o["words"]), o["words"][-1]) if isinstance(o, dict) else str(o) for o in objects]
    os.write(1, ("rank %d %s %s\n" % (rank, what, said)).encode())  # in one piece: both share a pipe


held = torch.full((1000,), rank, device="cuda")  # kernels before, and memory that isn't the objects'
objects = [None] * ranks
dist.all_gather_object(objects, mine)
come("all_gather", objects)
objects = [None] * ranks
dist.gather_object(mine, objects if rank == 1 else None, dst=1)
come("gather", objects)
objects = [mine, rank, "three"] if rank == 1 else [None] * 3
dist.broadcast_object_list(objects, src=1)
come("broadcast", objects)
objects = [None]
dist.scatter_object_list(objects, [mine, "other"] if rank == 0 else None, src=0)
come("scatter", objects)
objects = [mine, 7] if rank == 0 else [None, None]
if rank == 0:
    dist.send_object_list(objects, dst=1)
else:
    dist.recv_object_list(objects, src=0)
come("send", objects)
dist.destroy_process_group()
