import random

from course import projects

STEPS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


def seen(mine, other):
    """Row and column of both kings, each a one among eight zeros."""
    return [float(place == i) for place in (*mine, *other) for i in range(8)]


random.seed(0)
known = projects.positions(held_out=False)
inputs = Tensor([seen(*position) for position in known])
wanted = []
for mine, other in known:
    legal = projects.king_moves(mine, other)
    wanted.append([1.0 if (mine[0] + a, mine[1] + b) in legal else -1.0 for a, b in STEPS])
wanted = Tensor(wanted)
net = MLP(32, 128, 64, 8)
optimizer = Adam(net.parameters(), lr=0.005)
for step in range(1200):
    chosen = random.sample(range(len(known)), 256)
    optimizer.lr = 0.005 * (1 - step / 1200)
    loss = mse(net(rows(inputs, chosen)), rows(wanted, chosen))
    loss.backward()
    optimizer.step()


def moves(mine, other):
    """The squares to which my king may go."""
    with no_grad():
        (scores,) = net(Tensor([seen(mine, other)])).tolist()
    pairs = zip(STEPS, scores, strict=True)
    return {(mine[0] + a, mine[1] + b) for (a, b), score in pairs if score > 0}
