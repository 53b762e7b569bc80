"""A small GPT, which reads a text and writes on like it: python examples/gpt.py

    python examples/gpt.py --text FILE       # any text file; without it, tales that tutor makes up
    python examples/gpt.py --chat            # when it is trained: goes on with what you type
    python examples/gpt.py --resume          # goes on with a training that was stopped
    python examples/gpt.py --text FILE --bpe 1000 --width 128 --layers 4 --dropout 0.1

A text is a row of ids, one for each character, or with --bpe for each piece of a word. From the ids
so far the network tells how likely each id is to be the next. Whoever can tell that can write: draw
the next id, append it, ask again.

Each id becomes a row of numbers: what it is, plus where it stands. Blocks change these rows: by
attention each place takes from the places before it what it asks for, and a small network works on
what it got (Vaswani et al. 2017, "Attention is all you need"; Radford et al. 2019, "Language models
are unsupervised multitask learners"). tutor/nn/transformer.py has a block, line by line.

The result is the loss on tales that it has not read, the mean of -ln p of the id that came: at
most 0.15, within minutes. Whoever knows only which character follows which (bigrams) has 2.0. Of a
new tale it draws which characters were unexpected: those where a tale may go on in several ways,
but not the name of the animal when it comes again.
"""

from __future__ import annotations

import argparse
import codecs
import math
import sys
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import tutor
from tutor import Tensor, data, nn, no_grad, optim, training, viz
from tutor.errors import DataError
from tutor.viz import svg

Vocabulary = data.CharVocab | data.BPE
SIZES = {"block": 256, "width": 96, "heads": 4, "layers": 3, "batch": 8, "epochs": 8, "bpe": 0}


class GPT(nn.Module):
    """ids (N, places) -> for each place a score for each id of the vocabulary, to be the next"""

    def __init__(
        self, vocabulary: int, block: int, width: int, heads: int, layers: int, dropout: float
    ) -> None:
        self.ids, self.places = nn.Embedding(vocabulary, width), nn.Embedding(block, width)
        self.blocks = nn.ModuleList(
            [nn.TransformerBlock(width, heads, dropout=dropout) for _ in range(layers)]
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for table in (self.ids, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: Tensor, caches: list[nn.KVCache] | None = None) -> Tensor:
        count = ids.shape[1]
        places = caches[0].positions(count) if caches else Tensor.arange(count)
        x = self.ids(ids) + self.places(places)
        for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
            x = block(x, cache)
        return self.head(self.norm(x))


class Writer:
    """Draws one id after the other. The caches keep what attention asks of the places before, so
    only the new place is computed; all shapes stay the same, so this is recorded once."""

    def __init__(self, model: GPT, temperature: float, top_k: int) -> None:
        self.model, self.room = model, model.places.num_embeddings
        self.temperature = max(temperature, 1e-3)  # next to 0 only the likeliest is left
        self.top_k = min(top_k or 1 << 30, model.ids.num_embeddings)
        self.caches = [nn.KVCache(self.room) for _ in model.blocks]
        self.next = tutor.jit(self.draw)

    @no_grad()
    def draw(self, id: Tensor) -> Tensor:
        """Read this id (1, 1), and draw the next: of the top_k likeliest, and a low temperature
        prefers the likelier ones."""
        scores = self.model(id, self.caches)[:, -1] / self.temperature
        least = scores.topk(self.top_k)[0][:, -1:]
        return tutor.multinomial((scores < least).where(-math.inf, scores).softmax(-1), 1)

    def write(self, ids: list[int], count: int) -> Iterator[int]:
        """`count` ids that go on with these."""
        self.model.eval()
        text, unread, read = list(ids), len(ids), self.room
        for _ in range(count):
            if read + unread > self.room:  # begin, or begin anew with the last half
                unread, read = min(len(text), max(1, self.room // 2)), 0
                for cache in self.caches:
                    cache.reset()
            for id in text[-unread:]:
                found = self.next(Tensor([[id]]))
            text.append(int(found.item()))
            read, unread = read + unread, 1
            yield text[-1]


def bigram_loss(ids: Tensor, test_ids: Tensor, size: int) -> float:
    """The loss of who has counted which id follows which, p(b | a) = (n_ab + s) / (n_a + s size),
    with the best smoothing s of three."""

    def pairs(row: Tensor) -> Tensor:
        return row[:-1] * size + row[1:]

    counts = Tensor.zeros(size * size).scatter_add(0, pairs(ids), Tensor.ones(len(ids) - 1))
    smoothed = [counts.reshape(size, size) + s for s in (1.0, 0.1, 0.01)]
    shares = [(n / n.sum(1, keepdims=True)).flatten() for n in smoothed]
    return min(-p.index_select(0, pairs(test_ids)).log().mean().item() for p in shares)


@no_grad()
def unexpected(model: GPT, vocabulary: Vocabulary, text: str) -> viz.Picture:
    """A text, each piece as dark as it was unexpected: -ln p of it, after what stands before."""
    ids = Tensor(vocabulary.encode(text)[: model.places.num_embeddings + 1])
    logs = model.eval()(ids[:-1].unsqueeze(0))[0].log_softmax(-1)
    losses = -logs.gather(1, ids[1:].unsqueeze(1))[:, 0]
    title = "how unexpected each piece of a new text was: the darker, the more"
    body, x, y = svg.text(24, 34, title, 15, weight=600), 24, 70
    for id, loss in zip(ids.tolist(), [0.0, *losses.tolist()], strict=True):
        piece = vocabulary.decode([id]).replace("\n", "¶")
        wide = 9 * len(piece)
        if x + wide > 720:
            x, y = 24, y + 28
        shade = f"{min(1.0, loss / 4):.2f}"
        body += svg.rect(x, y - 17, wide, 24, "orange", opacity=shade, rx=0)
        body += svg.text(x, y, piece, 15, mono=True)
        x += wide
    return viz.Picture(body, 744, y + 28, title)


def said(vocabulary: Vocabulary, ids: Iterator[int]) -> Iterator[str]:
    """The text of ids as they come. One of --bpe may be a part of a letter: then it waits."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for id in ids:
        is_char = isinstance(vocabulary, data.CharVocab)
        yield vocabulary.decode([id]) if is_char else decoder.decode(vocabulary.decode_bytes([id]))


def chat(writer: Writer, vocabulary: Vocabulary) -> None:
    """Write on from what is typed, up to an empty line."""
    print("Type how it begins. An empty line ends this.")
    for line in map(str.strip, sys.stdin):
        if not line:
            return
        try:
            ids, written = vocabulary.encode(line), line
        except DataError as error:  # a character that it has never seen
            print(error)
            continue
        print(line, end="")
        for part in said(vocabulary, writer.write(ids, 500)):
            print(part, end="", flush=True)
            if (written := written[-1:] + part).endswith("\n\n"):
                break
        print()


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description="a small GPT")
    options.add_argument("--text", default="", help="the file to learn from (default: tales)")
    options.add_argument("--length", type=int, default=400_000, help="of the tales, in characters")
    for name, size in SIZES.items():
        options.add_argument(f"--{name}", type=int, default=size)
    options.add_argument("--dropout", type=float, default=0.0)
    options.add_argument("--lr", type=float, default=3e-3)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--temperature", type=float, default=0.8)
    options.add_argument("--top-k", type=int, default=20, help="0: any id may be drawn")
    options.add_argument("--resume", action="store_true", help="go on with the run in --out")
    options.add_argument("--chat", action="store_true", help="then write on from what you type")
    options.add_argument("--out", type=Path, default=Path("runs/gpt"))
    return options.parse_args()


def main() -> float:
    args = arguments()
    file, settings = args.out / "gpt.safetensors", {}
    if (args.resume or args.chat) and file.exists():
        settings = tutor.load(file)["settings"]
    fixed = ("text", "length", *SIZES, "dropout", "lr", "seed")
    vars(args).update(settings)
    tutor.manual_seed(args.seed)
    text = Path(args.text).read_text("utf-8") if args.text else data.stories(args.length)
    vocabulary = data.BPE.train(text, args.bpe) if args.bpe else data.CharVocab(text)
    cut = len(text) * 9 // 10
    ids, test_ids = (Tensor(vocabulary.encode(part)) for part in (text[:cut], text[cut:]))
    train = data.text_batches(ids, args.batch, args.block, seed=args.seed)
    test = data.text_batches(test_ids, args.batch, args.block, shuffle=False)
    bigrams = bigram_loss(ids, test_ids, len(vocabulary))

    sizes = args.block, args.width, args.heads, args.layers
    model = GPT(len(vocabulary), *sizes, args.dropout)
    params, steps = nn.get_parameters(model), args.epochs * len(train)
    adam = optim.AdamW(params, args.lr, betas=(0.9, 0.99), weight_decay=0.1)
    schedule = optim.lr_scheduler.warmup_cosine(adam, min(100, steps // 2), steps, 0.05)
    run = training.Run(args.epochs, log=args.out / "log.jsonl")
    state = {"model": model, "adam": adam, "schedule": schedule, "train": train, "run": run}
    if settings:
        tutor.load(file, **state, generator=True)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = model(x).cross_entropy(y)
        adam.zero_grad()
        loss.backward()
        optim.clip_grad_norm_(params, 1.0)
        adam.step()
        return loss

    def save() -> None:
        tutor.save(file, **state, generator=True, settings={n: getattr(args, n) for n in fixed})

    def show(when: str) -> None:
        start, first = time.perf_counter(), text[cut : cut + 1]
        written = first + "".join(said(vocabulary, writer.write(vocabulary.encode(first), 400)))
        speed = 400 / (time.perf_counter() - start)
        print(f"---- written {when} training, {speed:,.0f} ids/s:\n{written}\n----")

    writer = Writer(model, args.temperature, args.top_k)
    numbers = sum(p.numel() for p in params)
    print(f"{len(text):,} characters, {len(vocabulary)} ids, {numbers:,} parameters")
    if not settings:
        show("before")
    for _ in run:
        save()  # a run that is stopped goes on from here
        model.train()
        start = time.perf_counter()
        for x, y in run.batches(train):
            run.note(loss=step(x, y))
            schedule.step()
        speed = len(train) * args.batch * args.block / (time.perf_counter() - start)
        loss = training.evaluate(model, test, lambda scores, y: scores.cross_entropy(y))
        run.note(new_text=loss, ids_per_second=speed)
    save()
    show("after")
    losses = {"bigrams": [(1, bigrams), (args.epochs, bigrams)]}
    for name, noted in (("training", "loss"), ("new text", "new_text")):
        losses[name] = [(epoch["epoch"], epoch[noted]) for epoch in run.history]
    viz.curves(losses, "-ln p of the next id", "epoch").save(args.out / "curves.svg")
    tale = text[cut:].partition("\n\n")[2] or text[cut:]
    unexpected(model, vocabulary, tale).save(args.out / "unexpected.svg")
    result = float(run.history[-1]["new_text"])
    print(f"the loss on new text is {result:.3f} an id, that of bigrams {bigrams:.3f}")
    print(f"wrote {args.out}/gpt.safetensors, curves.svg, unexpected.svg, log.jsonl")
    if args.chat:
        chat(writer, vocabulary)
    return result


if __name__ == "__main__":
    main()
