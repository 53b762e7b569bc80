def stuck(moment):
    """A shortest order after which no thread can go on, though not all have ended; or None."""
    waiting, seen = [((), moment)], {moment.state}
    for order, now in waiting:
        ready = now.ready()
        if not ready and not now.ended:
            return order
        for i in ready:
            then = now.step(i)
            if then.state not in seen:
                seen.add(then.state)
                waiting.append(((*order, i), then))
    return None
