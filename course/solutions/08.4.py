def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.01), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(model(x), [labels[i] for i in order])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
