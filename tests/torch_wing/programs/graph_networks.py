"""GCN and GAT on an edge list: index_add, scatter_reduce, softmax per node, early stopping."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        output = adj.mm(torch.mm(x, self.weight))
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class GATLayer(nn.Module):
    def __init__(self, in_dim, out_dim, heads, concat=True):
        super().__init__()
        self.heads, self.out_dim, self.concat = heads, out_dim, concat
        self.linear = nn.Linear(in_dim, heads * out_dim, bias=False)
        self.att_src = nn.Parameter(torch.Tensor(1, heads, out_dim))
        self.att_dst = nn.Parameter(torch.Tensor(1, heads, out_dim))
        self.leaky = nn.LeakyReLU(0.2)
        for p in (self.linear.weight, self.att_src, self.att_dst):
            nn.init.xavier_uniform_(p)

    def forward(self, x, edge_index):
        src, dst = edge_index
        n = x.size(0)
        h = self.linear(x).view(n, self.heads, self.out_dim)
        alpha = (h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(dim=-1)[dst]
        alpha = self.leaky(alpha)
        index = dst.unsqueeze(-1).expand_as(alpha)
        high = torch.full((n, self.heads), float("-inf")).scatter_reduce(
            0, index, alpha.detach(), reduce="amax", include_self=True
        )
        alpha = (alpha - high[dst]).exp()
        total = torch.zeros(n, self.heads).scatter_add_(0, index, alpha)
        alpha = alpha / (total[dst] + 1e-16)
        out = torch.zeros(n, self.heads, self.out_dim)
        out.index_add_(0, dst, h[src] * alpha.unsqueeze(-1))
        return out.flatten(1) if self.concat else out.mean(dim=1)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(6, 8), GraphConvolution(8, 3, bias=False)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        return F.log_softmax(self.gc2(x, adj), dim=1)


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([GATLayer(6, 4, 2), GATLayer(8, 3, 2, concat=False)])

    def forward(self, x, edge_index):
        for i, layer in enumerate(self.layers):
            x = layer(x, edge_index)
            x = F.elu(x) if i < len(self.layers) - 1 else x
        return x


def build():
    return GCN(), GAT()


def train(models):
    gcn, gat = models
    rng = np.random.default_rng(0)
    n = 16
    edges = torch.from_numpy(np.unique(rng.integers(0, n, (2, 40)), axis=1))
    edges = torch.cat([edges, edges.flip(0), torch.arange(n).repeat(2, 1)], dim=1)
    edges = torch.unique(edges, dim=1)
    adj = torch.zeros(n, n)
    adj[edges[0], edges[1]] = 1.0
    deg = adj.sum(1).pow(-0.5)
    deg[torch.isinf(deg)] = 0.0
    adj = torch.diag(deg) @ adj @ torch.diag(deg)
    features = torch.tensor(rng.normal(size=(n, 6))).float()
    labels = torch.LongTensor(rng.integers(0, 3, n))
    idx_train, idx_val = torch.LongTensor(range(10)), torch.LongTensor(range(10, n))
    found = [edges.size(1), len(repr(gcn.gc1))]
    optimizer = torch.optim.Adam(gcn.parameters(), lr=0.05, weight_decay=5e-4)
    best, best_state = float("inf"), None
    for epoch in range(10):
        gcn.train()
        optimizer.zero_grad()
        output = gcn(features, adj)
        loss = F.nll_loss(output[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()
        gcn.eval()
        with torch.no_grad():
            value = F.nll_loss(gcn(features, adj)[idx_val], labels[idx_val]).item()
        if value < best:
            best, best_state = value, copy.deepcopy(gcn.state_dict())
        preds = output[idx_train].max(1)[1].type_as(labels)
        found += [loss.item(), value, preds.eq(labels[idx_train]).double().mean().item()]
    gcn.load_state_dict(best_state)
    optimizer = torch.optim.Adam(gat.parameters(), lr=0.02)
    for epoch in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(gat(features, edges)[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return [*found, best]
