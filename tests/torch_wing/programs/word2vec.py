"""Skip-gram with negative samples: two embeddings, bmm, logsigmoid, most similar words."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SkipGramNeg(nn.Module):
    def __init__(self, n_vocab, n_embed):
        super().__init__()
        self.in_embed = nn.Embedding(n_vocab, n_embed)
        self.out_embed = nn.Embedding(n_vocab, n_embed)
        self.in_embed.weight.data.uniform_(-1, 1)
        self.out_embed.weight.data.uniform_(-1, 1)

    def forward(self, centers, contexts, negatives):
        v = self.in_embed(centers)
        u = self.out_embed(contexts)
        pos = F.logsigmoid((u * v).sum(dim=1))
        neg = torch.bmm(self.out_embed(negatives), v.unsqueeze(2)).squeeze(2)
        return -(pos + F.logsigmoid(-neg).sum(1)).mean()


def build():
    return SkipGramNeg(20, 6)


def train(model):
    rng = np.random.default_rng(0)
    words = rng.integers(0, 20, 200)
    freqs = torch.bincount(torch.from_numpy(words), minlength=20).float()
    noise = freqs.pow(0.75) / freqs.pow(0.75).sum()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = [noise.max().item()]
    for step in range(20):
        at = rng.integers(1, 199, 32)
        centers = torch.tensor(words[at], dtype=torch.long)
        contexts = torch.LongTensor(words[at + 1])
        negatives = torch.from_numpy(rng.integers(0, 20, (32, 4)))
        loss = model(centers, contexts, negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    embed = model.in_embed.weight
    magnitudes = embed.pow(2).sum(dim=1).sqrt().unsqueeze(0)
    valid = embed[:4]
    similarities = torch.mm(valid, embed.t()) / magnitudes
    _, closest = similarities.topk(3)
    return losses + closest[:, 1:].flatten().tolist()
