"""DQN: a replay memory, a target network by load_state_dict, Huber loss, clipped gradients."""

import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


def build():
    return DQN(4, 2)


def train(policy_net):
    random.seed(0)
    rng = np.random.default_rng(0)
    target_net = DQN(4, 2)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory = ReplayMemory(100)
    for i in range(60):
        state = torch.tensor(rng.normal(size=4), dtype=torch.float32).unsqueeze(0)
        action = torch.tensor([[int(rng.integers(2))]], dtype=torch.long)
        done = rng.random() < 0.2
        next_state = None if done else torch.tensor(
            rng.normal(size=4), dtype=torch.float32
        ).unsqueeze(0)  # fmt: skip
        reward = torch.tensor([float(state[0, action.item()])])
        memory.push(state, action, next_state, reward)
    losses = []
    for _ in range(12):
        batch = Transition(*zip(*memory.sample(16)))
        non_final_mask = torch.tensor(
            tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool
        )
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch, action_batch = torch.cat(batch.state), torch.cat(batch.action)
        reward_batch = torch.cat(batch.reward)
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(16)
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
        expected = (next_state_values * 0.9) + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target_dict, policy_dict = target_net.state_dict(), policy_net.state_dict()
        for key in policy_dict:
            target_dict[key] = policy_dict[key] * 0.1 + target_dict[key] * 0.9
        target_net.load_state_dict(target_dict)
        losses.append(loss.item())
    return losses + policy_net(state_batch).max(1)[1].tolist()
