import random


def generate(model, ids, count, temperature=1.0, top_k=None):
    """The ids, and `count` more that the model goes on with."""
    ids = list(ids)
    for _ in range(count):
        with no_grad():
            scores = model([ids[-model.context :]])[0, -1].tolist()
        weights = probabilities(scores, temperature, top_k)
        ids += random.choices(range(len(weights)), weights)
    return ids
