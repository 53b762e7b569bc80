def train_in_parts(model, optimizer, batches, size):
    """As `train`, but no more than `size` images go through the network at a time."""
    losses = []
    for x, labels in batches:
        whole = 0.0
        for start in range(0, len(labels), size):
            part = labels[start : start + size]
            loss = cross_entropy(model(x[start : start + size]), part) * (len(part) / len(labels))
            loss.backward()  # adds to the gradients that are there
            whole += loss.item()
        optimizer.step()
        losses.append(whole)
    return losses
