def fit_line(w, batches):
    """Train w; return the mean loss, the smoothed loss, and all losses."""
    total, smooth, history = 0.0, 0.0, []
    for x, y in batches:
        loss = (w * x - y) ** 2
        loss.backward()
        w.fill([w.item() - 0.02 * w.grad.item()])
        w.grad = None
        number = loss.item()  # no history
        total = number + total
        smooth = number * 0.1 + smooth * 0.9
        history.append(number)
    return total / len(history), smooth, history
