# Two half moons, which no straight line parts.
# Plain Python does this, without a compiler: it takes some seconds.
import tutor
from tutor import Tensor, data, nn, no_grad, optim, viz

tutor.manual_seed(0)
x, y = data.moons(120, noise=0.12, seed=0)
model = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))
adam = optim.Adam(model.parameters(), lr=0.05)

losses = []
for _ in range(120):
    adam.zero_grad()
    loss = model(x).cross_entropy(y)
    loss.backward()
    adam.step()
    losses.append(loss.item())
print(f"the loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last")


def second(points):
    """The probability of the second moon at each of these points."""
    with no_grad():
        return model(Tensor(points)).softmax(-1)[:, 1]


viz.column(
    viz.boundary(x, y, second, "the border it found"),
    viz.curves({"loss": losses}),
)
