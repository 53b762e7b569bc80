import random

COUNT, KINDS, WIDTH = 6, 10, 32


class Sorter(Module):
    """Each place listens to all numbers, and says which of them stands there in the end."""

    def __init__(self):
        self.numbers, self.places = Embedding(KINDS, WIDTH), Places(COUNT, WIDTH)
        self.norm, self.listen = LayerNorm(WIDTH), MultiHead(WIDTH, 4)
        self.then, self.up, self.down = (
            LayerNorm(WIDTH),
            Linear(WIDTH, 64),
            Linear(64, WIDTH),
        )
        self.last = Linear(WIDTH, KINDS)

    def __call__(self, lists):
        x = self.numbers(lists) + self.places(COUNT)
        x = x + self.listen(self.norm(x))
        x = x + self.down(self.up(self.then(x)).relu())
        return self.last(x)


random.seed(0)
net = Sorter()
optimizer = Adam(net.parameters(), lr=0.01)
for step in range(250):
    lists = [[random.randrange(KINDS) for _ in range(COUNT)] for _ in range(64)]
    right = [number for numbers in lists for number in sorted(numbers)]
    optimizer.lr = 0.01 * (1 - step / 250)
    loss = cross_entropy(net(lists).reshape(-1, KINDS), right)
    loss.backward()
    optimizer.step()


def ordered(numbers):
    """The six numbers, the smallest first."""
    with no_grad():
        (scores,) = net([numbers]).tolist()
    return [row.index(max(row)) for row in scores]
