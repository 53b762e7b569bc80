"""A temporal convolutional network on the adding problem: weight_norm, Chomp1d, clipping."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, stride, dilation, padding, dropout=0.2):
        super().__init__()
        self.conv1 = weight_norm(
            nn.Conv1d(n_inputs, n_outputs, kernel_size, stride=stride, padding=padding,
                      dilation=dilation)
        )  # fmt: skip
        self.chomp1, self.relu1 = Chomp1d(padding), nn.ReLU()
        self.dropout1 = nn.Dropout(dropout)
        self.conv2 = weight_norm(
            nn.Conv1d(n_outputs, n_outputs, kernel_size, stride=stride, padding=padding,
                      dilation=dilation)
        )  # fmt: skip
        self.chomp2, self.relu2, self.dropout2 = Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout)
        self.net = nn.Sequential(
            self.conv1, self.chomp1, self.relu1, self.dropout1,
            self.conv2, self.chomp2, self.relu2, self.dropout2,
        )  # fmt: skip
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()
        self.init_weights()

    def init_weights(self):
        if self.downsample is not None:
            self.downsample.weight.data.normal_(0, 0.1)

    def forward(self, x):
        out = self.net(x)
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(out + res)


class TemporalConvNet(nn.Module):
    def __init__(self, num_inputs, num_channels, kernel_size=2, dropout=0.2):
        super().__init__()
        layers = []
        for i in range(len(num_channels)):
            dilation_size = 2**i
            in_channels = num_inputs if i == 0 else num_channels[i - 1]
            layers += [
                TemporalBlock(in_channels, num_channels[i], kernel_size, stride=1,
                              dilation=dilation_size, padding=(kernel_size - 1) * dilation_size,
                              dropout=dropout)
            ]  # fmt: skip
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        return self.network(x)


class TCN(nn.Module):
    def __init__(self, input_size, output_size, num_channels, kernel_size, dropout):
        super().__init__()
        self.tcn = TemporalConvNet(input_size, num_channels, kernel_size, dropout)
        self.linear = nn.Linear(num_channels[-1], output_size)
        self.linear.weight.data.normal_(0, 0.1)

    def forward(self, x):
        return self.linear(self.tcn(x)[:, :, -1])


def build():
    return TCN(2, 1, [6, 6, 8], kernel_size=3, dropout=0.0)


def train(model):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(24, 2, 14)).astype(np.float32)
    x[:, 1] = 0
    for row in x:
        row[1, rng.choice(14, 2, replace=False)] = 1.0
    X = torch.from_numpy(x)
    Y = (X[:, 0] * X[:, 1]).sum(dim=1, keepdim=True)
    optimizer = torch.optim.NAdam(model.parameters(), lr=4e-3)
    found = [sum(p.numel() for p in model.parameters())]
    for epoch in range(3):
        model.train()
        total_loss = 0
        for i in range(0, X.size(0), 8):
            x, y = X[i : i + 8], Y.narrow(0, i, 8)
            optimizer.zero_grad()
            output = model(x)
            loss = F.mse_loss(output, y)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total_loss += loss.item()
            found += [loss.item(), float(norm)]
        found.append(total_loss / 3)
    model.eval()
    before = model(X).detach()
    for module in model.modules():
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight")
    assert torch.allclose(model(X), before, atol=1e-5)
    return [*found, before.std().item(), float("tcn.network.0.conv1.weight" in model.state_dict())]
