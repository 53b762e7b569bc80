# A training step as data: recorded, and made shorter by passes.
# The film shows the Program after each pass that found something.
import tutor
from tutor import Tensor, nn, optim, viz
from tutor.programs.passes import stages

tutor.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
sgd = optim.SGD(model.parameters(), lr=0.1)


@tutor.jit
def step(x, y):
    loss = ((model(x) - y) ** 2).mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    return loss


for _ in range(3):  # run, record, replay
    step(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0], [0.0]]))

frames = []
for name, program in stages(step.recorded):
    print(f"after {name:10} {len(program.steps):3} steps")
    if not frames or len(program.steps) != len(frames[-1].steps):
        frames.append(program)
print()
print(step.program)

viz.film([viz.program(program) for program in frames], 2.0)
