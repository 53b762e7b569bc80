"""A recommender: EmbeddingBag over tags, sparse embeddings, SparseAdam, BPR, a ranking by topk."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler


class Ratings(Dataset):
    def __init__(self, users=12, items=20, n=60):
        rng = np.random.default_rng(0)
        self.users, self.items = rng.integers(0, users, n), rng.integers(0, items, n)
        self.tags = [rng.integers(1, 15, rng.integers(1, 5)).tolist() for _ in range(n)]
        self.negatives = rng.integers(0, items, n)
        self.ratings = np.sin(self.users + 2.0 * self.items).astype(np.float32)

    def __len__(self):
        return len(self.users)

    def __getitem__(self, i):
        return {
            "user": int(self.users[i]), "item": int(self.items[i]), "tags": self.tags[i],
            "negative": int(self.negatives[i]), "rating": self.ratings[i],
        }  # fmt: skip


def collate(rows):
    tags = [torch.tensor(row["tags"], dtype=torch.int64) for row in rows]
    offsets = torch.tensor([0] + [len(t) for t in tags[:-1]]).cumsum(dim=0)
    batch = {key: torch.tensor([row[key] for row in rows]) for key in ("user", "item", "negative")}
    batch["rating"] = torch.as_tensor(np.array([row["rating"] for row in rows]))
    return {**batch, "tags": torch.cat(tags), "offsets": offsets}


class TwoTower(nn.Module):
    def __init__(self, users=12, items=20, tags=15, dim=6):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        self.tag = nn.EmbeddingBag(tags, dim, mode="mean")
        self.most = nn.EmbeddingBag(tags, dim, mode="max")
        self.bias = nn.ParameterDict({"user": nn.Parameter(torch.zeros(users)),
                                      "item": nn.Parameter(torch.zeros(items))})  # fmt: skip
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 1))
        for e in (self.user, self.item):
            nn.init.uniform_(e.weight, -0.5, 0.5)

    def embeddings(self):
        return [self.user.weight, self.item.weight]

    def score(self, user, item):
        dot = torch.einsum("bd,bd->b", self.user(user), self.item(item))
        return dot + self.bias["user"][user] + self.bias["item"][item]

    def forward(self, batch):
        bags = self.tag(batch["tags"], batch["offsets"])
        most = self.most(batch["tags"], batch["offsets"])
        deep = self.mlp(torch.cat([bags, most, self.user(batch["user"])], dim=-1)).squeeze(-1)
        return self.score(batch["user"], batch["item"]) + deep


def build():
    return TwoTower()


def train(model):
    dataset = Ratings()
    sampler = BatchSampler(SequentialSampler(dataset), batch_size=16, drop_last=False)
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)
    sparse = torch.optim.SparseAdam(model.embeddings(), lr=1e-2)
    ids = {id(p) for p in model.embeddings()}
    dense = torch.optim.Adagrad([p for p in model.parameters() if id(p) not in ids], lr=5e-2)
    found = [len(loader)]
    for epoch in range(4):
        for batch in loader:
            for optimizer in (sparse, dense):
                optimizer.zero_grad()
            predicted = model(batch)
            mse = F.mse_loss(predicted, batch["rating"])
            positive = model.score(batch["user"], batch["item"])
            negative = model.score(batch["user"], batch["negative"])
            bpr = -F.logsigmoid(positive - negative).mean()
            (mse + 0.1 * bpr).backward()
            sparse.step()
            dense.step()
            found += [mse.item(), bpr.item()]
    with torch.inference_mode():
        scores = model.user.weight @ model.item.weight.T + model.bias["item"]
        seen = torch.zeros_like(scores, dtype=torch.bool)
        seen[torch.as_tensor(dataset.users), torch.as_tensor(dataset.items)] = True
        top = scores.masked_fill(seen, float("-inf")).topk(3, dim=1).indices
        by_user = torch.bincount(torch.as_tensor(dataset.users), minlength=12).float()
    sums = torch.tensor([[0, 1, 2], [3, 4, 0]])
    pooled = F.embedding_bag(sums, model.item.weight, mode="sum",
                             per_sample_weights=torch.ones(2, 3) / 3)  # fmt: skip
    return found + top[:4].flatten().tolist() + [by_user.std().item(), pooled.sum().item()]
