def nucleus(probabilities, share):
    """The likeliest, as few as together have at least this share; the others get 0."""
    order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
    kept, together = [], 0.0
    for i in order:
        kept.append(i)
        together += probabilities[i]
        if together >= share:
            break
    return [p / together if i in kept else 0.0 for i, p in enumerate(probabilities)]
