"""A decoder of 6.74e9 parameters in bfloat16, with checkpoints and AdamW: two steps. Its peak is five times its parameters: they, their
gradients, two states, and what the step needs for itself. Prints the number of parameters."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_default_dtype(torch.bfloat16)
WIDTH, LAYERS, HEADS, INNER, WORDS, TOKENS = 4096, 32, 32, 11008, 32000, 2048


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, INNER, bias=False), nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, tokens, WIDTH))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(WORDS, WIDTH), nn.RMSNorm(WIDTH)
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(LAYERS)), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(self.norm(x))


with torch.device("cuda"):
    model = Decoder()
print("parameters", sum(p.numel() for p in model.parameters()), file=sys.stderr)
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, WORDS, (1, TOKENS), device="cuda")
for _ in range(2):
    logits = model(tokens)
    nn.functional.cross_entropy(logits.view(-1, WORDS), tokens.view(-1)).backward()
    del logits
    optimizer.step()
    optimizer.zero_grad()
