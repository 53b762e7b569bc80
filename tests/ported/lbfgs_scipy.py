"""A network trained by L-BFGS of scipy.optimize, which sees one long vector of parameters."""

import numpy as np
import torch
from scipy.optimize import minimize
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def build():
    return nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1)).double()


def train(model):
    x = torch.linspace(-2, 2, 40, dtype=torch.float64).unsqueeze(1)
    y = torch.sin(2 * x)
    criterion = nn.MSELoss()

    def closure(flat):
        vector_to_parameters(torch.from_numpy(flat), model.parameters())
        model.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        return loss.item(), gradient.numpy().astype(np.float64)

    start = parameters_to_vector(model.parameters()).detach().numpy().copy()
    result = minimize(closure, start, jac=True, method="L-BFGS-B", options={"maxiter": 15})
    return [float(result.fun), float(np.abs(result.x).sum())]
