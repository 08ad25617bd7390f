"""A training in a child: forked ("fork", "exit": which ends by os._exit), by multiprocessing ("pool": two with a GPU each, "fail": which raises,
"terminate", "kill": which are ended so when they have trained), or forked after the parent used the GPU ("late": by its tensors, "late-init": from the beginning)."""
import multiprocessing
import os
import sys
import time

import torch


def train():
    model = torch.nn.Linear(1024, 1024, bias=False).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(64, 1024, device="cuda")).sum().backward()
        optimizer.step()


def worker(rank, how, trained):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    train()
    trained.set()
    if how == "fail":
        raise ValueError("no more")
    if how != "pool":
        time.sleep(60)


def child(how, tensor):
    if how == "late":
        print(tensor + 1)
    else:
        train()
    if how == "exit":
        os._exit(0)
    sys.exit(0)


def main(how):
    if how in ("pool", "fail", "terminate", "kill"):
        context = multiprocessing.get_context("fork")
        trained = [context.Event() for _ in range(2)]
        workers = [context.Process(target=worker, args=(rank, how, trained[rank])) for rank in range(2)]
        for process in workers:
            process.start()
        for process, event in zip(workers, trained):
            event.wait()
            if how in ("terminate", "kill"):
                getattr(process, how)()
            process.join()
        return
    tensor = torch.ones(3, device="cuda") if how.startswith("late") else None
    pid = os.fork()
    if not pid:
        child(how, tensor)
    print("child", os.waitpid(pid, 0)[1])


main(sys.argv[1])
