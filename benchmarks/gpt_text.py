"""The GPT of examples/gpt.py beside the same one in PyTorch, on one text, in one process:

    TUTOR_NUM_THREADS=2 OMP_NUM_THREADS=2 python -m benchmarks.gpt_text --text FILE --steps 1000

Both begin with the same weights and are given the same batches. They take turns of `--turn` steps,
and rest between them, so that threads which look for more work disturb nobody. A library's seconds
are those of its own steps: forward, backward, clipping, AdamW (PyTorch's fused one), the new rate.
Then both write, with the keys and values of the places before in memory that is there from the
start; as many ids as a block has places, the best of five times. On a machine that others use, take
one thread: who waits for a thread that does not run loses most.

Without --text it is tales. It prints the losses on text that neither has read, and draws them.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import os
import runpy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

import tutor
from benchmarks.measure import REST
from tutor import data, optim, training, viz

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "gpt.py"))
TOP_K, TEMPERATURE = 20, 0.8


class Attention(nn.Module):  # type: ignore[misc]  # to mypy all of torch is Any
    """With the names of tutor.nn.MultiheadAttention, so that its weights can be loaded."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * width))
        self.out_proj, self.heads = nn.Linear(width, width), heads

    def forward(self, x: Any, cache: Any = None, at: int = 0) -> Any:
        n, length, width = x.shape
        q, k, v = (
            part.view(n, length, self.heads, -1).transpose(1, 2)
            for part in F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        )
        if cache is not None:  # one place at a time
            cache[0][:, :, at : at + 1], cache[1][:, :, at : at + 1] = k, v
            k, v = cache[0][:, :, : at + 1], cache[1][:, :, : at + 1]
        z = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out_proj(z.transpose(1, 2).reshape(n, length, width))


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any, cache: Any = None, at: int = 0) -> Any:
        x = x + self.attention(self.norm1(x), cache, at)
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class GPT(nn.Module):  # type: ignore[misc]
    def __init__(self, vocabulary: int, block: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.ids, self.places = nn.Embedding(vocabulary, width), nn.Embedding(block, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Any, caches: Any = None, at: int = 0) -> Any:
        x = self.ids(ids) + self.places.weight[at : at + ids.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None, at)
        return self.head(self.norm(x))


class Trained:
    """A model, its steps, and how it writes."""

    def steps(self, batches: list[Any], rates: list[float]) -> list[Any]:
        return [self.step(x, y, lr) for (x, y), lr in zip(batches, rates, strict=True)]

    def step(self, x: Any, y: Any, lr: float) -> Any:
        raise NotImplementedError


class Torch(Trained):
    """PyTorch's."""

    def __init__(self, ours: Any, sizes: tuple[int, ...], lr: float) -> None:
        self.model, self.sizes = GPT(*sizes), sizes
        named = {n: torch.from_dlpack(p.detach()).clone() for n, p in ours.named_parameters()}
        self.model.load_state_dict(named)
        self.params = list(self.model.parameters())
        self.adam = torch.optim.AdamW(
            self.params, lr, betas=(0.9, 0.99), weight_decay=0.1, fused=True
        )

    def step(self, x: Any, y: Any, lr: float) -> Any:
        self.adam.param_groups[0]["lr"] = lr
        x, y = torch.from_dlpack(x), torch.from_dlpack(y)
        loss = F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, 1.0)
        self.adam.step()
        return loss.detach()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def loss(self, batches: Any) -> float:
        pairs = [(torch.from_dlpack(x), torch.from_dlpack(y)) for x, y in batches]
        losses = [F.cross_entropy(self.model(x).flatten(0, 1), y.flatten()) for x, y in pairs]
        return float(sum(loss.item() * len(x) for loss, (x, _) in zip(losses, pairs, strict=True))
                     / sum(len(x) for x, _ in pairs))  # fmt: skip

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def write(self, count: int) -> list[int]:
        vocabulary, block, width, heads, layers = self.sizes
        shape = (1, heads, block, width // heads)
        caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(layers)]
        written = [0]
        for at in range(count):
            scores = self.model(torch.tensor([written[-1:]]), caches, at)[:, -1] / TEMPERATURE
            least = scores.topk(min(TOP_K, vocabulary))[0][:, -1:]
            shares = scores.masked_fill(scores < least, -math.inf).softmax(-1)
            written.append(int(torch.multinomial(shares, 1).item()))
        return written[1:]


class Tutor(Trained):
    """tutor's: the step is recorded, as in the example."""

    def __init__(self, model: Any, lr: float, steps: int) -> None:
        self.model, self.params = model, list(model.parameters())
        self.adam = optim.AdamW(self.params, lr, betas=(0.9, 0.99), weight_decay=0.1)
        warm = min(100, max(1, steps // 10))
        self.schedule = optim.lr_scheduler.warmup_cosine(self.adam, warm, max(steps, 2), 0.05)
        self.recorded = tutor.jit(self.learn)
        self.writer = EXAMPLE["Writer"](model, TEMPERATURE, TOP_K)

    def learn(self, x: Any, y: Any) -> Any:
        loss = self.model(x).cross_entropy(y)
        self.adam.zero_grad()
        loss.backward()
        optim.clip_grad_norm_(self.params, 1.0)
        self.adam.step()
        return loss.detach()

    def step(self, x: Any, y: Any, lr: float) -> Any:
        self.adam.lr = lr
        return self.recorded(x, y)

    def loss(self, batches: Any) -> float:
        return training.evaluate(self.model, batches, lambda z, y: z.cross_entropy(y))

    def write(self, count: int) -> list[int]:
        return [*self.writer.write([0], count)]


def rested(run: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of a run, after a rest, and what it gave."""
    time.sleep(REST)
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def compared(args: argparse.Namespace) -> dict[str, Any]:
    text = args.text.read_text("utf-8") if args.text else data.stories(400_000)
    vocabulary, cut = data.CharVocab(text), len(text) * 9 // 10
    ids, test_ids = vocabulary.encode(text[:cut]), vocabulary.encode(text[cut:])
    loader = data.text_batches(ids, args.batch, args.block)
    test = [*itertools.islice(data.text_batches(test_ids, args.batch, args.block), args.tests)]
    tutor.manual_seed(0)
    torch.manual_seed(0)
    sizes = (len(vocabulary), args.block, args.width, args.heads, args.layers)
    ours = Tutor(EXAMPLE["GPT"](*sizes, 0.0), args.lr, args.steps)
    both: dict[str, Any] = {"tutor": ours, "torch": Torch(ours.model, sizes, args.lr)}

    def stream() -> Iterator[Any]:
        while True:
            yield from loader

    batches, seconds = stream(), dict.fromkeys(both, 0.0)
    best = dict.fromkeys(both, math.inf)
    first: dict[str, float] = {}
    points: dict[str, list[tuple[int, float, float]]] = {name: [] for name in both}
    for done in range(0, args.steps, args.turn):
        turn = [*itertools.islice(batches, min(args.turn, args.steps - done))]
        rates = [ours.schedule.at(done + i, args.lr) for i in range(len(turn))]
        for name in sorted(both, reverse=done // args.turn % 2 == 1):
            model = both[name]
            took, losses = rested(functools.partial(model.steps, turn, rates))
            seconds[name] += took
            best[name] = min(best[name], took / len(turn))
            first.setdefault(name, float(losses[0].item()))
            if (done // args.turn) % args.every == 0 or done + args.turn >= args.steps:
                points[name].append((done + len(turn), seconds[name], model.loss(test)))
                print(f"{name}: {done + len(turn)} steps, {seconds[name]:.1f} s, "
                      f"loss on new text {points[name][-1][2]:.4f}", flush=True)  # fmt: skip
    each = args.batch * args.block
    writing = {name: min(rested(functools.partial(m.write, args.block))[0] for _ in range(5))
               for name, m in both.items()}  # fmt: skip
    return {
        "first loss": first, "points": points,
        "ids/s trained, mean": {n: args.steps * each / s for n, s in seconds.items()},
        "ids/s trained, best turn": {n: each / s for n, s in best.items()},
        "ids/s written": {n: args.block / s for n, s in writing.items()},
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description="the GPT of the example, beside PyTorch's")
    options.add_argument("--text", type=Path)
    for name, size in {"block": 256, "width": 96, "heads": 4, "layers": 3, "batch": 8,
                       "steps": 1000, "turn": 10, "every": 10, "tests": 16}.items():  # fmt: skip
        options.add_argument(f"--{name}", type=int, default=size)
    options.add_argument("--lr", type=float, default=3e-3)
    options.add_argument("--out", type=Path, default=Path("runs/gpt_text"))
    args = options.parse_args()
    torch.set_num_threads(int(os.environ.get("TUTOR_NUM_THREADS", "1")))
    found = compared(args)
    points = found.pop("points")
    for what, numbers in found.items():
        ratio = numbers["tutor"] / numbers["torch"]
        print(f"{what}: tutor {numbers['tutor']:,.5g}, torch {numbers['torch']:,.5g}; {ratio:.3f}")
    by_step, by_time = ({n: [(p[i], p[2]) for p in points[n]] for n in points} for i in (0, 1))
    viz.column(
        viz.curves(by_step, "loss on new text", "step"),
        viz.curves(by_time, "loss on new text", "seconds of its own steps"),
    ).save(args.out / "losses.svg")
    print(f"wrote {args.out}/losses.svg")


if __name__ == "__main__":
    main()
