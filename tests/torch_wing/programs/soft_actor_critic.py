"""Soft actor-critic: twin critics, target networks with lerp_ and copy_, a learned temperature."""

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

LOG_STD_MAX, LOG_STD_MIN = 2, -5


def mlp(sizes, activation=nn.ReLU, output_activation=nn.Identity):
    layers = []
    for j in range(len(sizes) - 1):
        act = activation if j < len(sizes) - 2 else output_activation
        layers += [nn.Linear(sizes[j], sizes[j + 1]), act()]
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, limit=2.0):
        super().__init__()
        self.net = mlp([obs_dim, 16, 16], output_activation=nn.ReLU)
        self.mu_layer, self.log_std_layer = nn.Linear(16, act_dim), nn.Linear(16, act_dim)
        self.register_buffer("action_scale", torch.tensor(limit / 2.0, dtype=torch.float32))
        self.register_buffer("action_bias", torch.tensor([0.1] * act_dim))

    def forward(self, obs, noise):
        h = self.net(obs)
        mu, log_std = self.mu_layer(h), torch.tanh(self.log_std_layer(h))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        std = log_std.exp()
        normal = Normal(mu, std)
        x_t = mu + std * noise
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q1, self.q2 = (mlp([obs_dim + act_dim, 16, 1]) for _ in range(2))

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return torch.squeeze(self.q1(x), -1), torch.squeeze(self.q2(x), -1)


def build():
    return Actor(4, 2), Critic(4, 2)


def train(models):
    actor, critic = models
    rng = np.random.default_rng(0)
    target = copy.deepcopy(critic)
    for p in target.parameters():
        p.requires_grad = False
    slow = Actor(4, 2)
    for mine, theirs in zip(slow.parameters(), actor.parameters()):
        mine.data.copy_(theirs.data)
    target_entropy = -torch.prod(torch.Tensor((2,))).item()
    log_alpha = torch.zeros(1, requires_grad=True)
    actor_opt = torch.optim.Adam(list(actor.parameters()), lr=3e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)
    alpha_opt = torch.optim.Adam([log_alpha], lr=3e-3)
    make = lambda *shape: torch.as_tensor(rng.normal(size=shape), dtype=torch.float32)  # noqa: E731
    found = []
    for step in range(10):
        obs, act, next_obs, reward = make(16, 4), make(16, 2).tanh(), make(16, 4), make(16)
        done = torch.as_tensor(rng.random(16) < 0.1).float()
        alpha = log_alpha.exp().item()
        with torch.no_grad():
            next_act, next_logp = actor(next_obs, make(16, 2))
            q = torch.min(*target(next_obs, next_act)) - alpha * next_logp.squeeze(-1)
            backup = reward + 0.99 * (1 - done) * q.view(-1)
        q1, q2 = critic(obs, act)
        critic_loss = F.mse_loss(q1, backup) + F.mse_loss(q2, backup)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        critic.requires_grad_(False)
        pi, logp = actor(obs, make(16, 2))
        actor_loss = ((alpha * logp.squeeze()) - torch.minimum(*critic(obs, pi))).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        critic.requires_grad_(True)
        alpha_loss = (-log_alpha.exp() * (logp.detach() + target_entropy)).mean()
        alpha_opt.zero_grad(set_to_none=False)
        alpha_loss.backward()
        alpha_opt.step()
        with torch.no_grad():
            for p, p_targ in zip(critic.parameters(), target.parameters()):
                p_targ.data.mul_(0.995)
                p_targ.data.add_((1 - 0.995) * p.data)
            for p, p_slow in zip(actor.parameters(), slow.parameters()):
                p_slow.lerp_(p, 0.05)
        if step % 5 == 4:
            for buffer, source in zip(slow.buffers(), actor.buffers()):
                buffer.copy_(source)
        found += [critic_loss.item(), actor_loss.item(), alpha_loss.item(), alpha]
    gap = sum((a - b).norm() for a, b in zip(slow.parameters(), actor.parameters()))
    return [*found, gap.item(), slow(obs, torch.zeros(16, 2))[0].mean().item()]
