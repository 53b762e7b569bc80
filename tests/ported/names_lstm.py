"""An LSTM that writes names, letter by letter."""

import torch
from torch import nn, optim

NAMES = "emma olivia ava isabella sophia charlotte mia amelia harper evelyn".split()  # noqa: SIM905
stoi = {c: i + 1 for i, c in enumerate(sorted(set("".join(NAMES))))}
stoi["."] = 0
LONGEST = max(map(len, NAMES))


class CharLSTM(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, 8)
        self.lstm = nn.LSTM(8, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        out, state = self.lstm(self.embed(x), state)
        return self.head(out), state


def build():
    return CharLSTM(len(stoi), 24)


def train(model):
    x = torch.zeros(len(NAMES), LONGEST + 1, dtype=torch.long)
    y = torch.full((len(NAMES), LONGEST + 1), -1, dtype=torch.long)
    for i, name in enumerate(NAMES):
        row = [stoi[c] for c in name]
        x[i, 1 : len(row) + 1] = torch.tensor(row)
        y[i, : len(row) + 1] = torch.tensor([*row, 0])
    criterion = nn.CrossEntropyLoss(ignore_index=-1)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        logits, _ = model(x)
        loss = criterion(logits.view(-1, len(stoi)), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    token, state, written = torch.zeros(1, 1, dtype=torch.long), None, []
    with torch.no_grad():
        for _ in range(8):
            logits, state = model(token, state)
            token = torch.argmax(logits[:, -1], dim=-1, keepdim=True)
            written.append(token.item())
    return losses + written
