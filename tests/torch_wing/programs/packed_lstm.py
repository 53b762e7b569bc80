"""A classifier over sequences of several lengths: pad_sequence, packing, a collate_fn."""

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader


class Tagger(nn.Module):
    def __init__(self, vocab=12, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(p=0.0)
        self.fc = nn.Linear(hidden * 2, 2)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        packed_output, (hidden, cell) = self.lstm(packed)
        output, _ = pad_packed_sequence(packed_output, batch_first=True)
        mask = (text != 0).unsqueeze(-1)
        pooled = (output * mask).sum(1) / mask.sum(1)
        last = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        return self.fc(pooled + last).squeeze(1)


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(list(texts), batch_first=True), lengths, torch.stack(labels)


def build():
    return Tagger()


def train(model):
    rng = np.random.default_rng(0)
    data = []
    for _ in range(24):
        words = rng.integers(1, 12, rng.integers(2, 9))
        data.append((torch.tensor(words), torch.tensor(int(words.sum() % 2))))
    loader = DataLoader(data, batch_size=8, shuffle=False, collate_fn=collate)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for epoch in range(5):
        epoch_loss = epoch_acc = 0
        model.train()
        for text, lengths, label in loader:
            optimizer.zero_grad()
            predictions = model(text, lengths)
            loss = criterion(predictions, label)
            acc = (predictions.argmax(dim=1) == label).float().mean()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
            epoch_acc += acc.item()
        losses += [epoch_loss / len(loader), epoch_acc / len(loader)]
    return losses
