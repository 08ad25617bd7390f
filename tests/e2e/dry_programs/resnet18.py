"""ResNet-18's forward pass on 64 images of 224 x 224. Prints the bytes that its tensors take afterwards, without parameters and the running figures of
batch norm, as PyTorch counts them and as they come out by hand; then, likewise, what the allocator's blocks take."""
import sys

import torch
from torch import nn

BATCH = 64


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


def stage(channels, out, stride):
    return nn.Sequential(Block(channels, out, stride), Block(out, out, 1))


def activations():
    """What the forward pass keeps, in bytes."""
    image, stem = BATCH * 3 * 224 * 224 * 4, BATCH * 64 * 112 * 112 * 4
    total = image + 2 * stem  # the convolution's result and the normed one, whose negative values ReLU sets to zero where they lie
    pooled = stem // 4
    total += pooled + 2 * pooled  # the maxima, and where they were: 8 bytes each
    for number in range(4):
        each = pooled >> number  # half the height and width, twice the channels
        total += (8 if number == 0 else 9) * each  # two blocks of two convolutions and two norms; one more where a shortcut has one
    total += 2 * 4 * (64 + 4 * 64 + 5 * (128 + 256 + 512))  # of each norm a mean and a deviation for each channel
    return total + BATCH * 512 * 4 + BATCH * 1000 * 4  # averages, classes


def stat(name):
    return torch.cuda.memory_stats()[name]


model = nn.Sequential(
    nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
    stage(64, 64, 1), stage(64, 128, 2), stage(128, 256, 2), stage(256, 512, 2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
print("parameters", sum(p.numel() for p in model.parameters()), file=sys.stderr)
before = stat("requested_bytes.all.current"), stat("allocated_bytes.all.current")
y = model(torch.randn(BATCH, 3, 224, 224, device="cuda"))
torch._C._cuda_clearCublasWorkspaces()
print("tensors", stat("requested_bytes.all.current") - before[0], "by hand", activations(), file=sys.stderr)
print("blocks", stat("allocated_bytes.all.current") - before[1], file=sys.stderr)
