"""A training step of PyTorch/XLA."""

import os

os.environ["PJRT_DEVICE"] = "CPU"

import torch
import torch_xla

device = torch_xla.device()
first = torch.full((256, 1024), 1 / 256, device=device, requires_grad=True)
second = torch.nn.Linear(1024, 10).to(device)
optimizer = torch.optim.Adam([first, *second.parameters()])
images = torch.ones(512, 256, device=device)
labels = torch.zeros(512, dtype=torch.long, device=device)


@torch_xla.compile
def step():
    optimizer.zero_grad()
    hidden = torch.relu(images @ first)
    loss = torch.nn.functional.cross_entropy(second(hidden), labels)
    loss.backward()
    optimizer.step()
    return loss


losses = [step().item() for _ in range(3)]
print("learns" if losses[-1] < losses[0] else losses)
