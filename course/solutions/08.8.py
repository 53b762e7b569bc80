def accuracy(model, images, labels):
    """The share of images whose largest score is at their label."""
    with no_grad():
        scores = model(images).tolist()
    right = 0
    for row, label in zip(scores, labels, strict=True):
        right += row.index(max(row)) == label
    return right / len(labels)
