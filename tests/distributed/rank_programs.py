"""What ranks run in tests: `python -m tutor ranks 2 rank_programs.py NAME`. Each prints one line of
JSON, what the function of that name returns."""

import contextlib
import json
import sys
import zlib

import train_mnist
import tutor
from tutor import Tensor, data, dist, nn, optim
from tutor.distributed.buckets import BucketSums
from tutor.distributed.sharded import ELEMENTWISE
from tutor.errors import TutorError


def checksum(model, optimizer):
    """One number for all bits of the parameters, buffers and the optimizer's state."""
    state = [t for name, t in sorted(optimizer.state_dict().items()) if isinstance(t, Tensor)]
    tensors = [*nn.state_dict(model).values(), *state]
    return zlib.crc32(b"".join(t.detach().copy().buf.raw for t in tensors))


def normed():
    """A model with all that could tell ranks apart: statistics, and random numbers."""
    tutor.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 3)
    )


def shard():
    return dist.rank(), dist.size()


def small():
    tutor.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 3))


def trained(steps, make, leaves=8, jit=False, batch=25, model=normed):
    """(checksum, last loss, mean loss) after so many steps on 118 samples: of batches of 25, and
    one of 18."""
    model = model()
    parallel = dist.DataParallel(model, leaves, bucket=600, jit=jit)
    optimizer = make(nn.get_parameters(parallel))
    x, y = tutor.randn(118, 6), tutor.randint(0, 3, (118,))
    loader = data.DataLoader((x, y), batch, shuffle=True, seed=1, shard=shard())

    def loss_of(x, y):
        return parallel(x).cross_entropy(y)

    done, losses = 0, []
    while done < steps:
        for x_part, y_part in loader:
            optimizer.zero_grad()
            losses.append(parallel.backward(loss_of, x_part, y_part).item())
            optimizer.step()
            done += 1
    return checksum(model, optimizer), losses[-1], sum(losses) / len(losses)


def adam(params):
    return optim.Adam(params, lr=0.01)


def sgd(params):
    return optim.SGD(params, lr=0.05, momentum=0.9)


def bits():
    """A few steps of each kind."""
    return {
        "sgd": trained(25, sgd),
        "fewer rows than leaves": trained(24, sgd, batch=5, model=small),
        "adam": trained(12, adam),
        "recorded": trained(12, adam, jit=True),
        "sharded": trained(12, lambda params: dist.Sharded(optim.Adam, params, lr=0.01)),
    }


def long():
    """Two hundred steps."""
    return trained(200, adam)


def one_leaf():
    """leaves=None: other bits with each number of ranks, but one training."""
    return trained(24, adam, leaves=None)


# ---- loss.backward() -----------------------------------------------------------------------------


def plain():
    """What loss.backward() leaves, batch after batch, of ranks whose parts are not alike."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    parallel = dist.DataParallel(model, None, bucket=64)
    x, y = Tensor.arange(28, dtype="float32").reshape(7, 4) / 28, Tensor.arange(7) / 7
    rows = data.shard.Shard(*shard()).of(7)
    found = {}

    def loss(a, b):
        return ((parallel(a)[:, 0] - b) ** 2).mean()

    def gradients(name):
        found[name] = [p.grad.tolist() for p in parallel.parameters()]

    loss(x[rows], y[rows]).backward()
    gradients("uneven")
    loss(x[rows], y[rows]).backward()
    gradients("twice")
    for p in parallel.parameters():
        p.grad = None
    with parallel.no_sync():
        loss(x[rows], y[rows]).backward()
    alone = [p.grad.copy() for p in parallel.parameters()]
    found["alone"] = [g.tolist() for g in alone]
    loss(x[rows], y[rows]).backward()
    gradients("after no_sync")
    slopes = tutor.grad(loss(x[rows], y[rows]), parallel.parameters())  # nothing is reduced
    found["grad"] = [g.tolist() for g in slopes]
    gradients("still")
    parallel.backward(loss, x[rows], y[rows])  # no_sync() is over
    gradients("leaf by leaf")
    for p in parallel.parameters():
        p.grad = None
    more = 1 + 2 * dist.rank()  # other shares of the rows than before
    loss(x[:more], y[:more]).backward()
    gradients("other rows")
    return found


class Scores:
    """A model as they come from elsewhere: what goes in and what comes out has names."""

    def __init__(self):
        self.layer = nn.Linear(4, 1)

    def __call__(self, *, batch):
        return {"count": len(batch["x"]), "scores": self.layer(batch["x"])}


def by_name():
    """What loss.backward() leaves of ranks whose parts are not alike, and have names."""
    tutor.manual_seed(0)
    parallel = dist.DataParallel(Scores(), None)
    x = (Tensor.arange(28, dtype="float32").reshape(7, 4) / 28)[data.shard.Shard(*shard()).of(7)]
    (parallel(batch={"x": x})["scores"] ** 2).mean().backward()
    return [p.grad.tolist() for p in parallel.parameters()]


def unused():
    """Parameters that some ranks, or all, do without."""
    tutor.manual_seed(0)
    never, some, always = (nn.Linear(2, 2) for _ in range(3))
    # Of always, listed before some, gradients come first, and wait for those of some.
    parallel = dist.DataParallel([never, always, some], bucket=24)
    params = [p for layer in (never, some, always) for p in layer.parameters()]
    x = tutor.ones(8, 2)[data.shard.Shard(*shard()).of(8)]
    first = dist.rank() == 0

    def loss_of(part):
        return (always(some(part)) if first else always(part)).mean()

    parallel.backward(loss_of, x)
    once = [None if p.grad is None else p.grad.tolist() for p in params]
    for p in params:
        p.grad = None
    loss_of(x).backward()
    again = [None if p.grad is None else p.grad.tolist() for p in params]
    for p in params:
        p.grad = None
    for _ in range(2):  # the second reduces what the first has left, too
        with contextlib.nullcontext() if _ else parallel.no_sync():
            (some(x) if first and not _ else always(x)).mean().backward()
    later = [None if p.grad is None else p.grad.tolist() for p in params]
    return once, again, later


def overlap():
    """In which order gradients come by, and buckets leave."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    parallel = dist.DataParallel(model, bucket=24)  # each layer one
    seen, send = [], BucketSums.send

    def noted(reduction):
        seen.append(f"bucket {len(reduction.sent)} leaves")
        send(reduction)

    BucketSums.send = noted

    def loss_of(x):
        for i, layer in enumerate(model):
            x = layer(x)
            x.register_hook(lambda g, i=i: seen.append(f"backward of {i}"))
        return x.mean()

    x = tutor.ones(8, 2)[data.shard.Shard(*shard()).of(8)]
    parallel.backward(loss_of, x)
    leaf = seen[-(5 + 3) :]
    seen.clear()
    parallel(x).mean().backward()
    return leaf, seen


def hooked():
    """A hook of the user's, and a part that is computed again in backward."""
    tutor.manual_seed(0)
    model = [nn.Linear(4, 4), nn.Linear(4, 2)]
    parallel = dist.DataParallel(model)
    for layer in model:
        layer.weight.register_hook(lambda g: g * 3)  # after that of the DataParallel
    x = tutor.randn(16, 4)[data.shard.Shard(*shard()).of(16)]

    def plain(x):
        return model[1](model[0](x).tanh()).mean()

    def again(x):
        return model[1](tutor.checkpoint(lambda x: model[0](x).tanh(), x)).mean()

    found = []
    for loss_of in (plain, again):
        for p in parallel.parameters():
            p.grad = None
        parallel.backward(loss_of, x)
        found.append([p.grad.tolist() for p in parallel.parameters()])
    return found


def mistakes():
    """What is refused, in words."""
    parallel = dist.DataParallel(nn.Linear(2, 2))
    x, said = tutor.ones(4, 2), {}

    def tell(name, function):
        try:
            function()
            said[name] = "nothing"
        except TutorError as error:
            said[name] = f"{type(error).__name__}: {error}"
        for p in parallel.parameters():
            p.grad = None

    def step():
        parallel(x).mean().backward()

    recorded = tutor.jit(step, strict=True)
    recorded()
    tell("recorded", recorded)
    with parallel.no_sync():
        tell("within", lambda: parallel.backward(lambda x: parallel(x).mean(), x))
    tell("no rows", lambda: parallel.backward(lambda x: parallel(x).mean(), x[:0]))
    tell("several", lambda: parallel.backward(parallel, x))
    tell("leaves", lambda: dist.DataParallel(nn.Linear(2, 2), 1))
    return said


def same_start():
    """Ranks that begin apart: rank 0's numbers are everybody's."""
    tutor.manual_seed(dist.rank())
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    model[1].running_mean.assign(tutor.rand(3))
    model[0].weight = nn.Parameter(tutor.rand(3, 3).T)
    dist.DataParallel(model)
    return [t.tolist() for t in nn.state_dict(model).values()], tutor.rand(2).tolist()


def interrupted():
    """Whether training stops after steps 1 and 10, when Ctrl-C has reached rank 1 alone."""
    interrupt = train_mnist.Interrupt()
    interrupt.asked = dist.rank() == 1
    return [interrupt.asked_of_any(step) for step in (1, 10)]


def sharded():
    """Each optimizer with and without shards: the same bits, and states good for both."""
    found = {}
    for kind in ELEMENTWISE:
        runs = [
            trained(12, lambda params, make=make: make([{"params": params[:2], "lr": 0.005},
                                                        {"params": params[2:]}]), leaves=None)
            for make in (
                lambda groups, kind=kind: kind(groups, lr=0.01),
                lambda groups, kind=kind: dist.Sharded(kind, groups, lr=0.01),
            )
        ]  # fmt: skip
        found[kind.__name__] = runs[0] == runs[1]
    params = [Tensor.ones(3, 5, requires_grad=True), Tensor.ones(2, requires_grad=True)]
    own = dist.Sharded(optim.Adam, params, lr=0.1)
    for p in params:  # no two alike: another rank's piece is no good
        p.grad = (tutor.arange(float(p.numel())) + 1).reshape(p.shape)
    own.step()
    own.lr = 0.5
    state = own.state_dict()
    whole = optim.Adam(params, lr=0.1)
    whole.load_state_dict(state)
    another = dist.Sharded(optim.Adam, params, lr=0.1)
    another.load_state_dict(whole.state_dict())
    found["state"] = sum(t.numel() for t in own.state["m"])
    found["lr"] = [own.lr, whole.lr, another.lr, another.steps]
    found["back"] = all(
        a.tolist() == b.tolist() for a, b in zip(own.state["v"], another.state["v"], strict=True)
    )
    found["moved"] = [p.tolist() for p in params]
    found["missing"] = all(missing(kind) for kind in ELEMENTWISE)
    return found


def missing(kind):
    """Does a Sharded optimizer move as that itself does, where gradients are there now and then;
    and goes on from its state?"""
    runs = []
    for make in (kind, lambda params, lr: dist.Sharded(kind, params, lr=lr)):
        params = [tutor.arange(15.0).requires_grad_(), tutor.ones(2).requires_grad_()]
        own, runs = make(params, lr=0.1), [*runs, []]
        for n in range(8):
            for i, p in enumerate(params):
                p.grad = (p.detach() - n) * 0.5 if (n >> i) % 2 else None
            if n == 5:
                state = own.state_dict()
                own = make(params, lr=0.2)
                own.load_state_dict(state)
            own.step()
            runs[-1].append([p.tolist() for p in params])
    return runs[0] == runs[1]


def dropout():
    """What of the batch is dropped, and where the random numbers stand then, each way to train."""
    inner = nn.Dropout(0.5)
    model = dist.DataParallel(nn.Sequential(nn.Linear(4, 16), inner), leaves=None)
    kept, found = [], {}
    inner.register_forward_hook(lambda layer, given, z: kept.append((z != 0).tolist()))

    def noted(name):
        state = tutor.random.get_state()
        grads = [p.grad.tolist() for p in nn.get_parameters(model)]
        found[name] = {"kept": [*kept], "state": state, "grads": grads}
        kept.clear()

    def plain(rows):
        model(tutor.ones(rows, 4)).mean().backward()

    plain(4)
    noted("plain")
    model.backward(lambda x: model(x).mean(), tutor.ones(4, 4))
    noted("one leaf a rank")
    plain(4 + 4 * dist.rank())
    noted("other rows")
    tutor.manual_seed(1000 + dist.rank())
    plain(4)
    noted("own seeds")
    eight = dist.DataParallel(model.model, leaves=8)
    eight.backward(lambda x: eight(x).mean(), tutor.ones(4, 4))
    noted("leaves")
    return found


if __name__ == "__main__":
    print("RESULT " + json.dumps(globals()[sys.argv[1]]()), flush=True)
