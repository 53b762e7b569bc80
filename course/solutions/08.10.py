import random


def batches(images, labels, size):
    """All images and labels, shuffled, `size` at a time."""
    order = random.sample(range(len(labels)), len(labels))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield rows(images, chosen), [labels[i] for i in chosen]
