"""A BiLSTM with a linear-chain CRF (forward algorithm, Viterbi), and a GRU trained with CTC."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CRF(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        for p in self.parameters():
            nn.init.uniform_(p, -0.1, 0.1)

    def forward(self, emissions, tags, mask, reduction="mean"):
        emissions, tags, mask = (
            emissions.transpose(0, 1),
            tags.transpose(0, 1),
            mask.transpose(0, 1),
        )
        llh = self._score(emissions, tags, mask) - self._normalizer(emissions, mask)
        return llh.sum() if reduction == "sum" else llh.mean()

    def _score(self, emissions, tags, mask):
        n, b = tags.shape
        score = self.start_transitions[tags[0]] + emissions[0, torch.arange(b), tags[0]]
        for i in range(1, n):
            step = self.transitions[tags[i - 1], tags[i]] + emissions[i, torch.arange(b), tags[i]]
            score += step * mask[i].float()
        ends = mask.long().sum(dim=0) - 1
        return score + self.end_transitions[tags[ends, torch.arange(b)]]

    def _normalizer(self, emissions, mask):
        score = self.start_transitions + emissions[0]
        for i in range(1, emissions.size(0)):
            following = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            score = torch.where(mask[i].unsqueeze(1), torch.logsumexp(following, dim=1), score)
        return torch.logsumexp(score + self.end_transitions, dim=1)

    @torch.no_grad()
    def decode(self, emissions):
        score, history = self.start_transitions + emissions[0], []
        for emission in emissions[1:]:
            best, indices = (score.unsqueeze(1) + self.transitions).max(dim=0)
            score = best + emission
            history.append(indices)
        tags = [(score + self.end_transitions).max(dim=0)[1].item()]
        for indices in reversed(history):
            tags.append(indices[tags[-1]].item())
        return tags[::-1]


class Tagger(nn.Module):
    def __init__(self, vocab=20, tags=4, dim=10):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim // 2, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Linear(dim, tags)
        self.crf = CRF(tags)

    def forward(self, x):
        return self.hidden2tag(self.lstm(self.embed(x))[0])


class Recognizer(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.conv = nn.Conv1d(5, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)
        self.gru = nn.GRU(8, 8, num_layers=2, batch_first=True)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.gelu(self.norm(self.conv(x).transpose(1, 2)))
        return F.log_softmax(self.fc(self.gru(x)[0]), dim=-1).transpose(0, 1)


def build():
    return Tagger(), Recognizer()


def train(models):
    tagger, recognizer = models
    rng = np.random.default_rng(0)
    words = torch.from_numpy(rng.integers(1, 20, (8, 6)))
    lengths = torch.tensor([6, 5, 4, 6, 3, 2, 6, 5])
    mask = torch.arange(6)[None, :] < lengths[:, None]
    words = words.masked_fill(~mask, 0)
    tags = (words % 4).long()
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1, weight_decay=1e-4)
    found = []
    for _ in range(8):
        tagger.zero_grad()
        loss = -tagger.crf(tagger(words), tags, mask)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    found += tagger.crf.decode(tagger(words)[0])
    speech = torch.tensor(rng.normal(size=(4, 5, 12)), dtype=torch.float32)
    texts = torch.tensor(rng.integers(1, 6, (4, 4)), dtype=torch.long)
    spoken = torch.full(size=(4,), fill_value=12, dtype=torch.long)
    written = torch.tensor([4, 3, 2, 4])
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.Adam(recognizer.parameters(), lr=1e-2)
    for step in range(8):
        optimizer.zero_grad()
        log_probs = recognizer(speech)
        if step % 2:
            flat = torch.cat([t[:n] for t, n in zip(texts, written)])
            loss = ctc(log_probs, flat, spoken, written)
        else:
            loss = F.ctc_loss(log_probs, texts, spoken, written, reduction="sum") / 4
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    best = torch.unique_consecutive(recognizer(speech).argmax(-1)[:, 0])
    return found + best[best != 0].tolist()
