"""DataParallel: a model on several ranks, each of which processes its part of every batch.

    model = dist.DataParallel(model)                    # rank 0's parameters, on every rank
    loader = DataLoader(samples, 64, shuffle=True, seed=0, shard=(dist.rank(), dist.size()))
    for x, y in loader:
        optimizer.zero_grad()
        loss = model.backward(lambda x, y: model(x).cross_entropy(y), x, y)
        optimizer.step()                                # the same step on every rank

`backward` adds to every `.grad` the gradient of the mean loss over the whole batch, the rows of all
ranks. It has the same bits on 1, 2, 4 and 8 ranks: leaves.py explains how. The usual call in a
training loop, `loss.backward()`, works as well, with one leaf per rank: ddp_hooks.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tutor import random
from tutor._storage import bounds_checks
from tutor._util import checks
from tutor._util.context_settings import Within
from tutor.data.shard import cut, edges, rows_of
from tutor.distributed.buckets import BYTES, bucketed
from tutor.distributed.collectives import broadcast
from tutor.distributed.ddp_hooks import Walks
from tutor.distributed.leaves import LEAVES, Sums, own_leaves
from tutor.distributed.ranks import rank, size
from tutor.distributed.reduction import ReductionRound, Result
from tutor.dtype import uint64
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.functions.gradients import grad
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.nn.parts import state_of
from tutor.programs.jit import Jitted, jit

LossOf = Callable[..., Tensor]
APART = 48  # leaves draw random numbers 2**48 counter values apart
MOST_FUNCTIONS = 8  # whose recordings are stored


class DataParallel(Module):
    """A model whose gradients are those of the whole batch, of which each rank has a part.

    `model` is any object with parameters; it is called as before, `parallel(x)`, and its parameters
    keep their names. On creation every rank copies rank 0's parameters, buffers and random number
    state.

    leaves    the number of parts of the whole batch: a power of two and a multiple of the number
              of ranks. None: one per rank, which is faster, but the bits depend on the number
              of ranks
    bucket    bytes of gradients in one message
    jit       replay each leaf, as tutor.jit does: `backward` must then get the same loss function
              each time
    """

    def __init__(
        self, model: Any, leaves: int | None = LEAVES, *, bucket: int = BYTES, jit: bool = False
    ) -> None:
        self.model = model
        own = [state.tensor for state in state_of(model)]
        params = [t for t in own if t.requires_grad]
        if not params:
            raise DTypeError(f"DataParallel of a {type(model).__name__}", "it has no parameters",
                             "give an object that holds Tensors that require grad")  # fmt: skip
        state = [t for t in own if not t.requires_grad]
        self.leaves, self.jit = leaves, bool(jit)
        agree([*params, *state])
        walks = Walks(params, bucketed(params, bucket), state)
        _running[self] = ParallelState(own_leaves(leaves, size()), walks)

    # ---- it is the model -------------------------------------------------------------------------

    def forward(self, *inputs: Any, **options: Any) -> Any:
        result = self.model(*inputs, **options)
        running_of(self).walks.watch([inputs, options], result)
        return result

    def named_parts(self) -> Iterator[tuple[Any, Any]]:
        """The model's parts, under the model's own names."""
        model = self.model
        if hasattr(type(model), "named_parts"):
            yield from model.named_parts()
        elif isinstance(model, (list, tuple)):
            yield from enumerate(model)
        else:
            yield from (model if isinstance(model, dict) else vars(model)).items()

    @property
    def training(self) -> bool:
        return bool(getattr(self.model, "training", True))

    @training.setter
    def training(self, mode: bool) -> None:
        if hasattr(self.model, "training"):
            self.model.training = mode

    @property
    def waited(self) -> float:
        """The seconds that this rank has waited for others in reductions."""
        return running_of(self).walks.waited

    def no_sync(self) -> Within[bool]:
        """`with model.no_sync():`: each loss.backward() adds only to this rank's `.grad`. The first
        one afterwards reduces all gradients: on each rank the sum of the means it has seen."""
        return Within(Walks.reduces, False)

    # ---- a batch, leaf by leaf -------------------------------------------------------------------

    def backward(self, loss_of: LossOf, *batch: Any, gradient: float | Tensor = 1.0) -> Tensor:
        """The mean loss over the batch of all ranks; adds its gradients to each `.grad`.

        `batch` is this rank's rows: Tensors of one length, possibly 0, or a batch from a
        DataLoader. `loss_of(*part)` returns the mean loss over some of the rows, one number.
        `gradient` is the initial gradient of backward, for example `scaler.scale(Tensor(1.0))`.
        DistError if the ranks do not come together, DomainError if no rank has a row.
        """
        bounds_checks.opened("to reduce gradients over ranks")
        running = running_of(self)
        running.walks.refuse_apart()
        running.walks.listen()
        before = [p._grad for p in running.walks.params]
        seed, counter = random.get_state()
        running.walks.statistics.begin()
        try:
            with running.walks.paused():
                result = self._leaves(running, loss_of, batch, gradient)
        except BaseException:
            running.walks.statistics.restore()
            running.walks.write(before, None)
            random.set_state((seed, counter))
            raise
        random.set_state((seed, (counter + result.drawn) % 2**64))
        running.walks.write(before, result)
        return Tensor(result.loss, dtype=running.walks.params[0].dtype)

    def _leaves(
        self, running: ParallelState, loss_of: LossOf, batch: Any, gradient: float | Tensor
    ) -> Result:
        """Compute all leaves of this rank and reduce over all ranks."""
        seed, counter = random.get_state()
        ends, current = edges(rows_of(batch), running.own), running.walks.round()
        leaf: Sums = []
        for k in range(running.own):
            start, end = ends[k], ends[k + 1]
            own = (rank() * running.own + k) << APART  # the leaf's own numbers, on any rank
            random.set_state((seed, (counter + own) % 2**64))
            last = current if k == running.own - 1 else None
            scale = Tensor(float(end - start)) * gradient
            leaf = self._leaf(running, last, loss_of, cut(batch, slice(start, end)), scale)
            current.rows += end - start
            current.drawn += (random.get_state()[1] - counter - own) % 2**64
            if last is None:
                current.tree.add(leaf)
        return current.finish(leaf)

    def _leaf(
        self,
        running: ParallelState,
        last: ReductionRound | None,
        loss_of: LossOf,
        part: Any,
        scale: Tensor,
    ) -> Sums:
        """One leaf's terms of the sums. `last` is given for the last leaf, whose gradients are
        passed on as they are computed."""
        walks, rows = running.walks, rows_of(part)
        if not rows:
            return [None] * (len(walks.params) + len(walks.statistics.tensors) + 1)
        if self.jit:
            loss, *gradients = running.replayed(loss_of)(scale, *part)
        else:
            walks.write([None] * len(walks.params), None)
            loss = loss_of(*part)
            check(loss)
            with walks.listening(last if size() > 1 else None):
                loss.backward(scale.cast(loss.dtype).reshape(loss.shape))
            gradients = [p._grad for p in walks.params]
        statistics = walks.statistics.take(rows)
        walks.statistics.restore()
        return [*gradients, *statistics, loss.item() * rows]


class ParallelState:
    """The state of a DataParallel in use."""

    def __init__(self, own: int, walks: Walks) -> None:
        self.own, self.walks = own, walks
        self.jitted: dict[LossOf, Jitted] = {}

    def replayed(self, loss_of: LossOf) -> Jitted:
        """The gradients of a leaf, as a function that tutor.jit replays."""
        if loss_of in self.jitted:
            return self.jitted[loss_of]
        params = self.walks.params

        def leaf(scale: Tensor, *part: Any) -> tuple[Tensor | None, ...]:
            loss = loss_of(*part)
            check(loss)
            seed = scale.cast(loss.dtype).reshape(loss.shape)
            return loss.detach(), *grad(loss, params, seed, allow_unused=True)

        while len(self.jitted) >= MOST_FUNCTIONS:
            self.jitted.pop(next(iter(self.jitted)))
        self.jitted[loss_of] = jit(leaf)
        return self.jitted[loss_of]


# Not attributes of the DataParallel: a change there would make tutor.jit record again.
_running: weakref.WeakKeyDictionary[DataParallel, ParallelState] = weakref.WeakKeyDictionary()


def running_of(parallel: DataParallel) -> ParallelState:
    found = _running.get(parallel)
    if found is None:
        raise DomainError("a copy of a DataParallel", "the gradients of its model are not watched",
                          "make another one, of its model: DataParallel(copy.model)")  # fmt: skip
    return found


def check(loss: object) -> None:
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise ShapeError(
            "DataParallel.backward(loss_of, ...)",
            f"loss_of returned {checks.said(loss)}",
            "let it return one number: the mean loss over the rows that it is given",
        )


def agree(tensors: Sequence[Tensor]) -> None:
    """Copy rank 0's tensors and random number state to all ranks."""
    if size() == 1:
        return
    for t in tensors:
        whole = t.detach().contiguous()
        broadcast(whole)
        if not t.is_contiguous():
            t.assign(whole)
    state = Tensor(list(random.get_state()), dtype=uint64)
    seed, counter = broadcast(state).tolist()
    random.set_state((seed, counter))
