/* The table of findings. Remedies are in PyTorch's words, so that they can be typed. */
#include "audit/finding_kinds.h"

const wf__finding_kind wf__finding_kinds[WF__KINDS] = {
    [WF__KIND_HIDDEN_COPY] =
        {.rule = "hidden-copy",
         .title = "{op} copies its input into another layout ({cause})",
         .remedy =
             "Hand it the layout that it takes: make the tensor in that order where it is created, or call .contiguous() once, "
             "outside of the loop. For convolutions keep model and input in memory_format=torch.channels_last; after a "
             "transpose use reshape only where view would work."},
    [WF__KIND_MATMUL_COPY] =
        {.rule = "hidden-copy",
         .title = "{op} copies an operand so that it can be a batch of matrices ({cause})",
         .remedy =
             "For attention use torch.nn.functional.scaled_dot_product_attention, which takes strides. Else bring batch and heads "
             "next to each other before the product (x.transpose(1, 2).contiguous() once, for both uses), or write it as "
             "torch.einsum over 3-dimensional tensors."},
    [WF__KIND_ASKED_COPY] =
        {.rule = "layout-copy",
         .title = "{cause} copies a tensor that isn't contiguous",
         .remedy =
             "Most operators take strides: drop the .contiguous(), and .view() with it becomes .reshape() or .flatten(). Where a "
             "layout is needed, produce it so: order the dimensions of the product or of the weights instead of the result."},
    [WF__KIND_BROADCAST] =
        {.rule = "broadcast-copy",
         .title = "{op} copies a broadcast operand into its output",
         .alone = "a broadcast tensor is written out in full",
         .remedy =
             "A bias on the CPU is copied into the output before the product: nn.Linear(..., bias=False) where a normalisation "
             "follows. An expand() that is written out: keep it expanded, operators broadcast by themselves."},
    [WF__KIND_DUPLICATE] =
        {.rule = "clone",
         .title = "{op} clones a tensor as it is",
         .alone = "clone() duplicates a tensor as it is",
         .remedy = "Clone only what is changed in place afterwards; use detach() to leave the graph, and out-of-place "
                   "operators where the old value is still needed."},
    [WF__KIND_CONVERSION] =
        {.rule = "dtype-copy",
         .title = "{op} converts a tensor ({cause})",
         .alone = "a tensor is converted ({cause})",
         .remedy = "Make it in the dtype in which it is used: dtype=... where it is created, model.to(dtype) once "
                   "before the loop; convert in the dataset, where workers do it beside the training."},
    [WF__KIND_AUTOCAST] =
        {.rule = "dtype-copy",
         .title = "{op} casts its input for mixed precision ({cause})",
         .remedy = "Autocast converts float32 inputs at every call: keep activations in the half type by keeping whole "
                   "blocks under one torch.autocast, or hold the model in bfloat16 (model.to(torch.bfloat16)) with "
                   "float32 only in the optimizer."},
    [WF__KIND_DOUBLE] =
        {.rule = "dtype-copy",
         .title = "{op} widens a tensor to double ({cause})",
         .alone = "a tensor is widened to double ({cause})",
         .remedy = "Doubles come from NumPy arrays and Python numbers: torch.from_numpy(a.astype(numpy.float32)), "
                   "torch.tensor(x, dtype=torch.float32); give sums dtype= only where they need it."},
    [WF__KIND_PLAIN_COPY] =
        {.rule = "copy",
         .title = "{op} copies a tensor ({cause})",
         .alone = "{cause} copies a tensor as it is",
         .remedy = "Write results where they are needed (out=...), or swap the two tensors instead of copying one "
                   "into the other.",
         .least = 0.01},
    [WF__KIND_DEVICE_COPY] =
        {.rule = "device-copy",
         .title = "{op} copies on the device ({cause})",
         .alone = "memory is copied on the device ({cause})",
         .remedy = "Let the producer write into its place (out=..., index_copy_ into a buffer made before), and keep "
                   "torch.cat and stack out of the inner loop.",
         .least = 0.01},
    [WF__KIND_PAGEABLE_UPLOAD] =
        {.rule = "pageable-transfer",
         .title = "{op} uploads from pageable memory, so the host waits",
         .alone = "uploads from pageable memory: the host waits for each",
         .remedy = "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True); for tensors of your own "
                   "x.pin_memory() once. Constants: create them on the device (device=...).",
         .always = true},
    [WF__KIND_PAGEABLE_DOWNLOAD] =
        {.rule = "pageable-transfer",
         .title = "{op} downloads into pageable memory, so the host waits",
         .alone = "downloads into pageable memory: the host waits for each",
         .remedy =
             "Keep results on the device and fetch them once an epoch; or copy into torch.empty(..., pin_memory=True) with "
             "copy_(x, non_blocking=True), record an event, and read it a step later.",
         .always = true},
    [WF__KIND_SMALL_TRANSFERS] =
        {.rule = "small-transfers",
         .title = "{op} moves pieces of less than 64 KiB between host and device",
         .alone = "pieces of less than 64 KiB move between host and device",
         .remedy =
             "Each costs a call, whatever its size: pack them into one tensor on the host, move that, and split it into views on "
             "the device; make constants on the device.",
         .always = true},
    [WF__KIND_TRANSFER_LOOP] =
        {.rule = "transfers-in-loop",
         .title = "{op} moves tensors one by one in a loop ({cause})",
         .alone = "tensors move one by one in a loop ({cause})",
         .remedy =
             "Stack them on the host and move them once (torch.stack(list).to(device, non_blocking=True)); let collate_fn do so in "
             "the workers. Models: model.to(device) once, before the loop.",
         .always = true},
    [WF__KIND_NO_OVERLAP] =
        {.rule = "no-overlap",
         .title = "{op} uploads on the stream that computes, so neither overlaps",
         .alone = "uploads run on the stream that computes, so neither overlaps",
         .remedy =
             "Upload the next batch on a stream of its own: with torch.cuda.stream(side): batch = batch.to(device, "
             "non_blocking=True); then torch.cuda.current_stream().wait_stream(side) and batch.record_stream(...) before use.",
         .least = 0.01},
    [WF__KIND_READBACK] =
        {.rule = "sync",
         .title = "{op} makes the host wait for the device",
         .remedy = "Its value is needed on the host. Keep losses and metrics as tensors and read them every N steps; "
                   "replace nonzero and masks by torch.where or index_select of known size; test for NaN once an "
                   "epoch.",
         .always = true},
    [WF__KIND_DOWNLOAD_SYNC] =
        {.rule = "sync",
         .title = "{op} fetches a tensor and waits for the device",
         .alone = "fetching a tensor waits for the device",
         .remedy = "to('cpu'), .cpu() and .numpy() wait for all work before: fetch after the last kernel of the "
                   "step is launched, into pinned memory with non_blocking=True, and synchronise on an event "
                   "later.",
         .always = true},
    [WF__KIND_UPLOAD_SYNC] =
        {.rule = "sync",
         .title = "{op} waits for its upload",
         .alone = "an upload waits for the device",
         .remedy = "Pinned memory (pin_memory=True) with non_blocking=True doesn't wait; torch.tensor(list, "
                   "device='cuda') does: make such tensors once, or on the device.",
         .always = true},
    [WF__KIND_EXPLICIT_SYNC] =
        {.rule = "sync",
         .title = "{cause} is called by the program",
         .alone = "{cause} is called by the program",
         .remedy = "torch.cuda.synchronize() and event.synchronize() stop the host from running ahead: measure with "
                   "torch.cuda.Event(enable_timing=True) and read the times after the epoch.",
         .always = true},
    [WF__KIND_OTHER_SYNC] =
        {.rule = "sync",
         .title = "{op} calls {cause}",
         .remedy = "Find out what it needs on the host: torch.cuda.set_sync_debug_mode('warn') prints the line.",
         .always = true},
    [WF__KIND_IDLE_LOADER] =
        {.rule = "device-idle",
         .title = "the device is idle while the host waits for the loader",
         .remedy =
             "DataLoader(..., num_workers=N, persistent_workers=True, prefetch_factor=4, pin_memory=True): raise N "
             "until the wait ends; move work into the workers, or decode and resize ahead of time.",
         .least = 0.01},
    [WF__KIND_IDLE_SYNC] =
        {.rule = "device-idle",
         .title = "the device is idle after {op} made the host wait for it",
         .remedy =
             "After a wait the host is no longer ahead, and the device idles until the next launch: remove the wait "
             "(see its own finding), or do it at the end of the step.",
         .least = 0.01},
    [WF__KIND_IDLE_ALLOC] = {.rule = "device-idle",
                             .title = "the device is idle while the host calls {cause}",
                             .alone = "the device is idle while the host calls {cause}",
                             .remedy = "See the finding on memory taken from the driver.",
                             .least = 0.01},
    [WF__KIND_IDLE_OPERATOR] =
        {.rule = "device-idle",
         .title = "the device is idle while the host is in {op}",
         .remedy = "The host is slower than the device: larger batches; fewer, larger operators (torch.compile, "
                   "foreach=True or fused=True optimizers); torch.cuda.graph for steps of fixed shape.",
         .least = 0.01},
    [WF__KIND_IDLE_PYTHON] =
        {.rule = "device-idle",
         .title = "the device is idle while the host is in Python",
         .remedy = "No operator runs: take work out of the loop (logging, metrics, data), larger batches, "
                   "torch.compile(mode='reduce-overhead'), torch.cuda.graph.",
         .least = 0.01},
    [WF__KIND_LOADER] =
        {.rule = "loader-wait",
         .title = "the training waits for data ({cause})",
         .alone = "the training waits for data ({cause})",
         .remedy =
             "_SingleProcessDataLoaderIter loads between the steps: num_workers=N moves that beside them. With workers: more of "
             "them, persistent_workers=True, prefetch_factor=4, cheaper transforms, data that is decoded and resized "
             "ahead of time."},
    [WF__KIND_DEVICE_ALLOC] =
        {.rule = "alloc-in-steady-state",
         .title = "{op} calls {cause} in the steady state",
         .alone = "{cause} is called in the steady state",
         .remedy =
             "The caching allocator meets sizes it has no block for: keep shapes equal (drop_last=True, padding to a "
             "few lengths), no torch.cuda.empty_cache() in the loop; "
             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. `weft memory` shows the fragmentation.",
         .always = true},
    [WF__KIND_HOST_ALLOC] = {.rule = "alloc-in-steady-state",
                             .title = "{op} pins memory in the steady state ({cause})",
                             .alone = "memory is pinned in the steady state ({cause})",
                             .remedy =
                                 "Pinning costs far more than a copy: make pinned buffers once and reuse them; let "
                                 "DataLoader(pin_memory=True) do it in its thread.",
                             .always = true},
};
