import math


def block(width):
    """A layer with a norm before it, and a path around both."""
    return Residual(BatchNorm(width), Tensor.relu, started(Linear(width, width), he))


random.seed(0)
champion = Sequential(
    standard,
    started(Linear(784, WIDTH), he),
    *[block(WIDTH) for _ in range(10)],
    BatchNorm(WIDTH),
    Tensor.relu,
    Linear(WIDTH, 10),
)
optimizer, losses = AdamW(champion.parameters(), decay=0.05), []
total = EPOCHS * math.ceil(len(labels) / 64)
for _ in range(EPOCHS):
    for batch in batches(images, labels, 64):
        optimizer.lr = 0.003 * warmup(len(losses), total // 20, total)
        losses += train(champion, optimizer, [batch])
