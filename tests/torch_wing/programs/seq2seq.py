"""A translator: a GRU encoder, a decoder with additive attention, teacher forcing, an own Adam."""

import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

SOS, EOS, MAX = 0, 1, 6


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(0.0)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS)
        decoder_hidden, decoder_outputs = encoder_hidden, []
        for i in range(MAX):
            embedded = self.embedding(decoder_input)
            query = decoder_hidden.permute(1, 0, 2)
            context, _ = self.attention(query, encoder_outputs)
            output, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            decoder_outputs.append(self.out(output))
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_outputs[-1].topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(decoder_outputs, dim=1), dim=-1), decoder_hidden


class OwnAdam(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                state["step"] += 1
                exp_avg.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                size = group["lr"] * math.sqrt(1 - beta2 ** state["step"])
                size /= 1 - beta1 ** state["step"]
                p.addcdiv_(exp_avg, exp_avg_sq.sqrt().add_(group["eps"]), value=-size)


def build():
    return EncoderRNN(12, 8), AttnDecoderRNN(8, 12)


def train(models):
    encoder, decoder = models
    rng = np.random.default_rng(0)
    random.seed(0)
    source = torch.tensor(rng.integers(2, 12, (10, MAX)))
    target = source.flip(1)
    target[:, -1] = EOS
    encoder_optimizer = OwnAdam(encoder.parameters())
    decoder_optimizer = OwnAdam(decoder.parameters(), lr=2e-2)
    criterion = nn.NLLLoss()
    losses = []
    for epoch in range(8):
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        outputs, hidden = encoder(source)
        given = target if random.random() < 0.8 else None
        decoded, _ = decoder(outputs, hidden, given)
        loss = criterion(decoded.view(-1, decoded.size(-1)), target.view(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        losses.append(loss.item())
    encoder.eval()
    with torch.no_grad():
        decoded, _ = decoder(*encoder(source[:1]))
        _, topi = decoded.topk(1)
        losses += topi.squeeze().tolist()
    return losses
