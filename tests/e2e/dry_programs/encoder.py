"""A Transformer encoder with a head over a vocabulary, and AdamW: encoder.py train|forward. Prints the bytes that its tensors take at the peak, or that its
forward pass holds, as PyTorch counts them and as they come out by hand; then, likewise, what the allocator's blocks take."""
import sys

import torch
from torch import nn

BATCH, TOKENS, WIDTH, HEADS, INNER, LAYERS, WORDS = 8, 512, 512, 8, 2048, 6, 32000
POSITIONS = BATCH * TOKENS


def activations():
    """What the forward pass keeps for the backward pass, in bytes."""
    wide = POSITIONS * WIDTH * 4
    layer = 3 * wide  # queries, keys and values
    layer += 2 * wide + BATCH * HEADS * TOKENS * 4  # attention's result by heads and by positions, the logarithm of each row's sum
    layer += 2 * (POSITIONS * WIDTH + wide)  # twice: a mask of dropout (a byte each), and the sum with the residual
    layer += 2 * (wide + 2 * POSITIONS * 4)  # twice: the normed values, a mean and a deviation for each position
    layer += 2 * POSITIONS * INNER * 4 + POSITIONS * INNER  # of the inner layer: its positive part, what dropout left of it, the mask
    return wide + LAYERS * layer + POSITIONS * WORDS * 4 + 4 + 4  # the embedded words; logarithms of probabilities, loss, weight of the targets


def parameters():
    layer = 4 * WIDTH * WIDTH + 4 * WIDTH + 2 * WIDTH * INNER + INNER + WIDTH + 4 * WIDTH
    return 4 * (2 * WORDS * WIDTH + WORDS + LAYERS * layer)


def stat(name):
    return torch.cuda.memory_stats()[name]


encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, batch_first=True), LAYERS)
model = nn.Sequential(nn.Embedding(WORDS, WIDTH), encoder, nn.Linear(WIDTH, WORDS)).cuda()
tokens = torch.randint(0, WORDS, (BATCH, TOKENS), device="cuda")
if sys.argv[1] == "forward":
    before = stat("requested_bytes.all.current"), stat("allocated_bytes.all.current")
    loss = nn.functional.cross_entropy(model(tokens).view(-1, WORDS), tokens.view(-1))
    print("tensors", stat("requested_bytes.all.current") - before[0], "by hand", activations(), file=sys.stderr)
    print("blocks", stat("allocated_bytes.all.current") - before[1], file=sys.stderr)
    sys.exit()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(tokens).view(-1, WORDS), tokens.view(-1)).backward()
    optimizer.step()
# Where the backward pass begins: parameters and two states, gradients of the logits and of their logarithms, but none of parameters yet. The loss has
# a gradient of its own; the weight of the targets, as large, is gone by then.
peak = 3 * parameters() + activations() + 2 * POSITIONS * WORDS * 4 + POSITIONS * 8
print("tensors", stat("requested_bytes.all.peak"), "by hand", peak, file=sys.stderr)
print("blocks", stat("allocated_bytes.all.peak"), file=sys.stderr)
