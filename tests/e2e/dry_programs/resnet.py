"""ResNet-18, batch 64, forward and backward: prints cuDNN's version and the largest request, on an H100 the work space of a convolution."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))
        self.second = nn.Sequential(nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
        self.aside = nn.Identity()
        if stride != 1:
            self.aside = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        return torch.relu_(self.second(self.first(x)) + self.aside(x))


widths = [64, 64, 128, 256, 512]
layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
for i in range(4):
    layers += [Block(widths[i], widths[i + 1], 1 if i == 0 else 2), Block(widths[i + 1], widths[i + 1], 1)]
net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
net(torch.randn(64, 3, 224, 224, device="cuda")).sum().backward()
requests = [e["size"] for trace in torch.cuda.memory._snapshot()["device_traces"] for e in trace if e["action"] == "alloc"]
print("cudnn", torch.backends.cudnn.version())
print("largest", max(requests))
