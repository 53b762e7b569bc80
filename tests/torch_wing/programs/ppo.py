"""PPO: an actor and a critic, Categorical and Normal, clipped ratios, entropy, advantages."""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, Normal, kl_divergence


class ActorCritic(nn.Module):
    def __init__(self, state_dim=4, action_dim=3):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, action_dim))
        self.mean = nn.Linear(state_dim, 2)
        self.log_std = nn.Parameter(torch.zeros(2))
        self.critic = nn.Sequential(nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, 1))
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight, gain=np.sqrt(2))
                m.bias.data.zero_()

    def dists(self, state):
        discrete = Categorical(logits=self.actor(state))
        std = torch.exp(self.log_std).expand_as(self.mean(state))
        return discrete, Independent(Normal(self.mean(state), std), 1)

    def evaluate(self, state, action, move):
        discrete, continuous = self.dists(state)
        logprob = discrete.log_prob(action) + continuous.log_prob(move)
        entropy = discrete.entropy() + continuous.entropy()
        return logprob, torch.squeeze(self.critic(state)), entropy


def build():
    return ActorCritic()


def train(policy):
    rng = np.random.default_rng(0)
    states = torch.tensor(rng.normal(size=(24, 4)), dtype=torch.float32)
    actions = torch.tensor(rng.integers(0, 3, 24))
    moves = torch.from_numpy(rng.normal(size=(24, 2))).float()
    raw, discounted, rewards = rng.normal(size=24).tolist(), 0, []
    for reward in reversed(raw):
        discounted = reward + 0.9 * discounted
        rewards.insert(0, discounted)
    rewards = torch.tensor(rewards, dtype=torch.float32)
    rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)
    optimizer = torch.optim.Adam([
        {"params": policy.actor.parameters(), "lr": 3e-3},
        {"params": policy.mean.parameters(), "lr": 3e-3},
        {"params": [policy.log_std]},
        {"params": policy.critic.parameters(), "lr": 1e-2},
    ])  # fmt: skip
    with torch.no_grad():
        old_logprobs, old_values, _ = policy.evaluate(states, actions, moves)
        old_dists = policy.dists(states)
    advantages = rewards.detach() - old_values.detach()
    found = []
    for _ in range(6):
        for batch in torch.arange(24).split(12):
            logprobs, values, entropy = policy.evaluate(states[batch], actions[batch], moves[batch])
            ratios = torch.exp(logprobs - old_logprobs[batch])
            surr1 = ratios * advantages[batch]
            surr2 = torch.clamp(ratios, 0.8, 1.2) * advantages[batch]
            loss = -torch.min(surr1, surr2) + 0.5 * (values - rewards[batch]) ** 2
            loss = (loss - 0.01 * entropy).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
            found.append(loss.item())
    with torch.no_grad():
        for old, new in zip(old_dists, policy.dists(states)):
            found.append(kl_divergence(old, new).mean().item())
    return found
