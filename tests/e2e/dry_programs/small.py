"""Small programs over what PyTorch does on a GPU: small.py NAME. Each compares the bytes of its tensors, as PyTorch counts them (requested_bytes), with
what comes out by hand, or shapes where values would decide. `small.py list` prints the names."""
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore")
FLOAT = 4
WORK = {}  # by name


def work(function):
    WORK[function.__name__] = function
    return function


def count(which):
    return torch.cuda.memory_stats()["requested_bytes.all." + which]


def held(function, expected, also=0):
    """What the function returns takes so many bytes more than there were, in some releases others besides."""
    before = count("current")
    result = function()
    came = count("current") - before
    assert came in (expected, expected + also), "%d bytes are held, expected %d" % (came, expected)
    return result


def peak(function, expected):
    """While the function runs it takes at most so many bytes more than there were."""
    torch.cuda.reset_peak_memory_stats()
    before = count("current")
    result = function()
    came = count("peak") - before
    assert came == expected, "%d bytes at the peak, expected %d" % (came, expected)
    return result


def cuda(*sizes, **options):
    return torch.randn(*sizes, device="cuda", **options)


def multiply_once():
    """Releases that keep cuBLAS's workspace have it from here on."""
    a = cuda(8, 8)
    torch.addmm(a[0], a, a)
    torch.bmm(a[None], a[None])


def train(model, x, steps=3, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        y = model(x)
        (y[0] if isinstance(y, tuple) else y).float().sum().backward()
        optimizer.step()
    return sum(p.numel() for p in model.parameters()) * FLOAT


# ---- graphs, streams, memory ----


@work
def graph():
    x = torch.ones(1000, 1000, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x * 2
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()

    def capture():
        with torch.cuda.graph(captured):
            y = x * 2
            return y + 1

    result = held(capture, 1000 * 1000 * FLOAT, also=2 * 8)  # two numbers of the random generator's
    for _ in range(3):
        captured.replay()
    assert result.shape == (1000, 1000)


@work
def graphed_training():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
    x = cuda(16, 64, requires_grad=True)
    model = torch.cuda.make_graphed_callables(model, (x,))
    train(model, x)
    assert model[0].weight.grad.shape == (64, 64)


@work
def streams():
    x = cuda(1000, 1000)
    side = torch.cuda.Stream()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    with torch.cuda.stream(side):
        side.wait_event(begin)
        y = held(lambda: x + 1, 1000 * 1000 * FLOAT)
    end.record(side)
    end.synchronize()
    assert begin.elapsed_time(end) >= 0 and side.query() and y.shape == x.shape


@work
def record_stream():
    side = torch.cuda.Stream()
    x = cuda(1000, 1000)
    with torch.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    before = torch.cuda.memory_allocated()
    del x
    torch.cuda.synchronize()
    assert before - torch.cuda.memory_allocated() >= 1000 * 1000 * FLOAT and y.numel() == 1000 * 1000


@work
def summary():
    x = cuda(1000, 1000)
    assert "Allocated memory" in torch.cuda.memory_summary()
    free, total = torch.cuda.mem_get_info()
    assert total - free >= x.numel() * FLOAT
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


@work
def snapshot():
    x = cuda(1000, 1000)
    blocks = [b for s in torch.cuda.memory._snapshot()["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
    assert x.data_ptr() in [b.get("address", s) for s, b in enumerate(blocks)] or sum(b["size"] for b in blocks) >= 4000000


@work
def out_of_memory():
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        assert "Tried to allocate 1048576.00 GiB" in str(error)
    held(lambda: torch.empty(1000, device="cuda"), 4000)  # and goes on


@work
def pinned_loader():
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(64, 1000))
    for (x,) in DataLoader(data, batch_size=16, pin_memory=True, num_workers=2):
        assert x.is_pinned()
        y = held(lambda: x.to("cuda", non_blocking=True), 16 * 1000 * FLOAT)
        del y


# ---- layers ----


@work
def conv2d_channels_last():
    model = nn.Conv2d(16, 32, 3, padding=1).cuda().to(memory_format=torch.channels_last)
    x = cuda(4, 16, 30, 30).to(memory_format=torch.channels_last)
    y = held(lambda: model(x), 4 * 32 * 30 * 30 * FLOAT)
    assert y.is_contiguous(memory_format=torch.channels_last)
    train(model, x)


@work
def conv3d():
    model = nn.Conv3d(3, 8, 3).cuda()
    x = cuda(2, 3, 10, 12, 14)
    held(lambda: model(x), 2 * 8 * 8 * 10 * 12 * FLOAT)
    train(model, x)


@work
def conv_transpose():
    model = nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1).cuda()
    x = cuda(2, 8, 15, 15)
    held(lambda: model(x), 2 * 4 * 30 * 30 * FLOAT)
    train(model, x)


@work
def lstm():
    model = nn.LSTM(100, 200, num_layers=2, batch_first=True).cuda()
    x = cuda(8, 30, 100)
    y, (h, c) = model(x)
    assert y.shape == (8, 30, 200) and h.shape == c.shape == (2, 8, 200)
    train(model, x)


@work
def gru():
    model = nn.GRU(100, 200, bidirectional=True).cuda()
    x = cuda(30, 8, 100)
    y, h = model(x)
    assert y.shape == (30, 8, 400) and h.shape == (2, 8, 200)
    train(model, x)


@work
def batch_norm():
    model = nn.BatchNorm2d(16).cuda()
    x = cuda(8, 16, 20, 20)
    held(lambda: model(x), (8 * 16 * 20 * 20 + 2 * 16) * FLOAT)  # a mean and a deviation for each channel are kept for the backward pass
    train(model, x)


@work
def group_norm():
    model = nn.GroupNorm(4, 16).cuda()
    x = cuda(8, 16, 20, 20)
    held(lambda: model(x), (8 * 16 * 20 * 20 + 2 * 8 * 4) * FLOAT)
    train(model, x)


@work
def layer_norm():
    model = nn.LayerNorm(500).cuda()
    x = cuda(40, 500)
    held(lambda: model(x), (40 * 500 + 2 * 40) * FLOAT)
    train(model, x)


@work
def embedding_bag():
    model = nn.EmbeddingBag(1000, 64, mode="sum").cuda()
    bags = torch.randint(0, 1000, (16, 10), device="cuda")
    assert model(bags).shape == (16, 64)
    train(model, bags)


@work
def multi_head_attention():
    model = nn.MultiheadAttention(64, 4, batch_first=True).cuda()
    x = cuda(2, 50, 64)
    y, weights = model(x, x, x)
    assert y.shape == x.shape and weights.shape == (2, 50, 50)


@work
def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    shape = (2, 4, 256, 64)
    for dtype, backends in ((torch.float32, ["MATH", "EFFICIENT_ATTENTION"]), (torch.bfloat16, ["MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION"])):
        for backend in backends:
            q, k, v = (cuda(*shape, dtype=dtype, requires_grad=True) for _ in range(3))
            with sdpa_kernel([getattr(SDPBackend, backend)]):
                for causal in (False, True):
                    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                    assert y.shape == shape and y.dtype == dtype
                    y.sum().backward()


@work
def checkpoint():
    from torch.utils.checkpoint import checkpoint

    layers = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)) for _ in range(4)).cuda()
    x = cuda(64, 256, requires_grad=True)
    multiply_once()

    def run(keep):
        y = x
        for layer in layers:
            y = layer(y) if keep else checkpoint(layer, y, use_reentrant=False)
        return y

    each = 64 * 256 * FLOAT
    run(True).sum().backward()  # what is made once is there
    held(lambda: run(False), 4 * each)  # each layer's result, which is the next one's input
    held(lambda: run(True), 4 * (each + 64 * 1024 * FLOAT))  # and of each the positive part of its inner one


@work
def ctc():
    logits = cuda(50, 16, 20, requires_grad=True)
    targets = torch.randint(1, 20, (16, 30))
    loss = F.ctc_loss(logits.log_softmax(2), targets.cuda(), torch.full((16,), 50), torch.full((16,), 30))
    loss.backward()
    assert logits.grad.shape == logits.shape


# ---- numbers ----


@work
def matrix_multiply():
    a, b = cuda(300, 500), cuda(500, 700)
    multiply_once()
    held(lambda: a @ b, 300 * 700 * FLOAT)
    held(lambda: torch.bmm(a.expand(3, -1, -1), b.expand(3, -1, -1)), 3 * 300 * 700 * FLOAT)


@work
def einsum():
    a, b = cuda(8, 30, 40), cuda(8, 40, 50)
    multiply_once()
    held(lambda: torch.einsum("bij,bjk->bik", a, b), 8 * 30 * 50 * FLOAT)


@work
def fp8():
    a, b = cuda(64, 128).to(torch.float8_e4m3fn), cuda(96, 128).to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    y = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    y = y[0] if isinstance(y, tuple) else y  # until 2.4
    assert a.element_size() == 1 and y.shape == (64, 96) and y.dtype == torch.bfloat16


@work
def sparse():
    indices = torch.randint(0, 100, (2, 500))
    a = held(lambda: torch.sparse_coo_tensor(indices, torch.ones(500), (100, 100)).cuda(), 500 * (2 * 8 + FLOAT))
    assert torch.sparse.mm(a, cuda(100, 30)).shape == (100, 30)
    rows = torch.sparse_csr_tensor(torch.arange(0, 101, dtype=torch.int64), torch.zeros(100, dtype=torch.int64), torch.ones(100), (100, 100)).cuda()
    assert (rows @ cuda(100, 30)).shape == (100, 30)


@work
def fft():
    x = cuda(16, 1000)
    y = held(lambda: torch.fft.rfft(x), 16 * 501 * 2 * FLOAT)
    assert torch.fft.irfft(y, n=1000).shape == x.shape and torch.fft.fft2(cuda(4, 30, 30)).shape == (4, 30, 30)


@work
def svd():
    u, s, v = torch.linalg.svd(cuda(30, 20), full_matrices=False)
    assert u.shape == (30, 20) and s.shape == (20,) and v.shape == (20, 20)


@work
def eigh():
    a = cuda(30, 30)
    values, vectors = torch.linalg.eigh(a @ a.t())
    assert values.shape == (30,) and vectors.shape == (30, 30)


@work
def cholesky():
    a = torch.eye(30, device="cuda")
    assert torch.linalg.cholesky(a).shape == (30, 30) and torch.linalg.solve(a, cuda(30, 3)).shape == (30, 3)
    assert torch.linalg.qr(a)[0].shape == (30, 30) and torch.linalg.inv(a).shape == (30, 30)


@work
def cumsum():
    x = cuda(1000, 300)
    held(lambda: x.cumsum(1), 1000 * 300 * FLOAT)
    values, indices = x.cummax(1)
    assert values.shape == indices.shape == x.shape


@work
def sort():
    x = cuda(1000, 300)
    held(lambda: x.sort(1), 1000 * 300 * (FLOAT + 8))
    held(lambda: x.topk(10, 1), 1000 * 10 * (FLOAT + 8))
    held(lambda: x.argmax(1), 1000 * 8)


@work
def by_value():
    """What depends on values comes out empty, without an error."""
    x = torch.ones(1000, device="cuda")
    assert x.nonzero().shape == (0, 1) and x[x > 0].numel() == 0 and x.unique().numel() <= 1000


@work
def nms():
    boxes, scores = cuda(100, 4), cuda(100)
    order, keep = scores.argsort(descending=True), []
    while order.numel():
        first, rest = order[0], order[1:]
        keep.append(first)
        low = torch.maximum(boxes[first, :2], boxes[rest, :2])
        high = torch.minimum(boxes[first, 2:], boxes[rest, 2:])
        order = rest[(high - low).clamp(min=0).prod(1) > 0.5]
    assert len(keep) == 1


@work
def index_put():
    x = torch.zeros(1000, 10, device="cuda")
    rows = torch.arange(0, 500, device="cuda")
    x[rows] = 1.0
    x.index_put_((rows,), torch.ones(500, 10, device="cuda"), accumulate=True)
    held(lambda: x[rows], 500 * 10 * FLOAT)


@work
def scatter():
    x = torch.zeros(100, 50, device="cuda")
    where = torch.zeros(100, 50, dtype=torch.int64, device="cuda")
    held(lambda: x.scatter_add(1, where, torch.ones_like(x)), 100 * 50 * FLOAT)
    held(lambda: x.gather(1, where), 100 * 50 * FLOAT)


@work
def histogram():
    x = cuda(1000)
    held(lambda: torch.histc(x, bins=50, min=-3, max=3), 50 * FLOAT)
    assert torch.bincount(torch.zeros(100, dtype=torch.int64, device="cuda"), minlength=30).shape == (30,)


@work
def multinomial():
    held(lambda: torch.multinomial(torch.ones(16, 100, device="cuda"), 10, replacement=True), 16 * 10 * 8)


@work
def dropout():
    x = cuda(1000, 300, requires_grad=True)
    held(lambda: F.dropout(x, 0.5), 1000 * 300 * (FLOAT + 1))  # and a mask of a byte each


@work
def interpolate():
    x = cuda(2, 3, 20, 20)
    for mode in ("nearest", "bilinear", "bicubic"):
        held(lambda: F.interpolate(x, scale_factor=2, mode=mode), 2 * 3 * 40 * 40 * FLOAT)


@work
def grid_sample():
    x, grid = cuda(2, 3, 20, 20), cuda(2, 30, 30, 2)
    held(lambda: F.grid_sample(x, grid, align_corners=False), 2 * 3 * 30 * 30 * FLOAT)


@work
def pointwise():
    """The sum of three temporaries, of which two are there at a time."""
    x = cuda(1000, 1000)
    peak(lambda: (x * 2 + x).exp_(), 2 * 1000 * 1000 * FLOAT)


# ---- training ----


@work
def autocast_bf16():
    model, x = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 8)).cuda(), cuda(32, 256)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = model(x)
        assert y.dtype == torch.bfloat16
        y.float().sum().backward()
        optimizer.step()


@work
def autocast_fp16():
    model, x = nn.Linear(256, 256).cuda(), cuda(32, 256)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() >= 0


def optimizer_state(make, states):
    model = nn.Linear(512, 512, bias=False).cuda()
    model(cuda(4, 512)).sum().backward()
    optimizer = make(model.parameters())
    held(optimizer.step, states * 512 * 512 * FLOAT + (FLOAT if optimizer.defaults.get("fused") or optimizer.defaults.get("capturable") else 0))


@work
def adamw_foreach():
    optimizer_state(lambda p: torch.optim.AdamW(p, foreach=True), 2)


@work
def adamw_fused():
    optimizer_state(lambda p: torch.optim.AdamW(p, fused=True), 2)  # its count of steps lies on the GPU


@work
def adamw_capturable():
    optimizer_state(lambda p: torch.optim.AdamW(p, capturable=True), 2)


@work
def sgd():
    optimizer_state(lambda p: torch.optim.SGD(p, lr=0.1), 0)
    optimizer_state(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 1)


@work
def compiled():
    model = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda(), backend="aot_eager")
    train(model, cuda(8, 64))


@work
def compiled_by_triton():
    model = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.LayerNorm(64)).cuda())
    train(model, cuda(8, 64))


@work
def fully_sharded():
    """One process: what is sharded is whole."""
    import os

    import torch.distributed as dist
    from torch.distributed.fsdp import FullyShardedDataParallel

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    train(FullyShardedDataParallel(nn.Linear(256, 256).cuda()), cuda(4, 256))
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print(*WORK)
    else:
        torch.cuda.init()
        WORK[sys.argv[1]]()
        print("came out", sys.argv[1], file=sys.stderr)
