x = 0.0
for step in range(20):
    here = Tensor(x, requires_grad=True)
    loss = (here - -4.0) ** 2
    loss.backward()
    x = x - 0.1 * here.grad.item()
reached = x
