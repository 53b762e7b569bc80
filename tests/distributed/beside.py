"""A program for ranks: collectives with wait=False come to their end beside it, in their order."""

from __future__ import annotations

import time

import tutor
from tutor import Tensor, dist

rank, size = dist.rank(), dist.size()
dist.barrier()

# While this rank asks nothing of tutor, the numbers change.
x = tutor.full((1_500_000,), float(rank + 1))
handle = dist.all_reduce(x, wait=False)
end = time.monotonic() + 20
while not handle.done and time.monotonic() < end:
    sum(range(1000))
assert handle.done
assert handle.wait() is x
assert x[-1].item() == size * (size + 1) / 2

# Several are under way, and a call that waits comes after them.
xs = [tutor.full((40_000,), float(10 * i + rank)) for i in range(5)]
handles = [dist.all_reduce(x, wait=False) for x in xs]
gathered = dist.all_gather(Tensor([rank]), wait=False)
first = dist.broadcast(xs[0], size - 1)
assert all(handle.done for handle in handles) and first is xs[0]
for i, x in enumerate(xs):
    assert x[7].item() == size * 10 * i + sum(range(size)), (i, x)
assert gathered.wait().tolist() == [[r] for r in range(size)]

# What is used in a block of its own is used there.
with tutor.use_backend("python_ref"):
    seen = []
    with tutor.watch(lambda step, go: (seen.append(tutor.registry.current()), go())):
        dist.reduce_scatter(tutor.ones(size * 2), wait=False).wait()
    assert set(seen) == {"python_ref"}, seen

# The program ends, and what it has started still comes to its end, as the others need it to.
print(f"beside {rank}", flush=True)
last = dist.all_reduce(tutor.ones(500_000), wait=rank == 1)
