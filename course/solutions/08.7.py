def train(model, optimizer, batches):
    """One pass over all batches (x, labels); the loss of each step."""
    losses = []
    for x, labels in batches:
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
