"""A training in a child: forked ("fork", "exit": which ends by os._exit), by multiprocessing ("pool": two with a GPU each, "fail": which raises), or
forked after the parent used the GPU ("late": by its tensors, "late-init": from the beginning)."""
import multiprocessing
import os
import sys

import torch


def train():
    model = torch.nn.Linear(1024, 1024, bias=False).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(64, 1024, device="cuda")).sum().backward()
        optimizer.step()


def worker(rank, fail):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    train()
    if fail:
        raise ValueError("no more")


def child(how, tensor):
    if how == "late":
        print(tensor + 1)
    else:
        train()
    if how == "exit":
        os._exit(0)
    sys.exit(0)


def main(how):
    if how in ("pool", "fail"):
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=worker, args=(rank, how == "fail")) for rank in range(2)]
        for process in workers:
            process.start()
        for process in workers:
            process.join()
        return
    tensor = torch.ones(3, device="cuda") if how.startswith("late") else None
    pid = os.fork()
    if not pid:
        child(how, tensor)
    print("child", os.waitpid(pid, 0)[1])


main(sys.argv[1])
