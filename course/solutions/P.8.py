import random

from course import projects

NUMBERS = 16

random.seed(0)
images, _ = projects.drawn(1500, seed=1)
mean = [sum(pixels) / len(images) / 255 for pixels in zip(*images, strict=True)]


def tensor(images):
    return Tensor([[p / 255 - m for p, m in zip(image, mean, strict=True)] for image in images])


pictures = tensor(images)
into, back = Linear(784, NUMBERS), Linear(NUMBERS, 784)
optimizer = Adam([into.w, into.b, back.w, back.b], lr=0.003)
for _ in range(12):
    for batch, _ in batches(pictures, [0] * len(images), 64):
        loss = mse(back(into(batch)), batch)
        loss.backward()
        optimizer.step()
with no_grad():
    codes = into(pictures).tolist()
low, high = [min(c) for c in zip(*codes, strict=True)], [max(c) for c in zip(*codes, strict=True)]


def squeeze(image):
    """784 bytes as 16."""
    with no_grad():
        (code,) = into(tensor([image])).tolist()
    parts = [(c - a) / (b - a) for c, a, b in zip(code, low, high, strict=True)]
    return bytes(max(0, min(255, round(255 * part))) for part in parts)


def restore(code):
    """16 bytes as 784."""
    numbers = [a + byte / 255 * (b - a) for byte, a, b in zip(code, low, high, strict=True)]
    with no_grad():
        (pixels,) = back(Tensor([numbers])).tolist()
    return bytes(max(0, min(255, round(255 * (p + m)))) for p, m in zip(pixels, mean, strict=True))


packed = (squeeze, restore)
