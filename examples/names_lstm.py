"""An LSTM writes names of made-up languages, and tells them apart: python examples/names_lstm.py

It is told a language and the letters so far, and tells how likely each letter is to be the next. So
it writes names of a language: draw a letter, append it, ask again, until the name ends.

And it reads them. How likely a whole name is in a language is the product of how likely its letters
are; and by Bayes' rule, all languages being as frequent,

    p(language | name) = p(name | language) / (sum of p(name | l) over all languages l)

Nobody has trained it for that, and yet three letters are enough for it to be right at 92 % at least
of names that it has not read, and whole names for more than 99 %. The picture shows how its belief
changes letter by letter. It takes some seconds.

The LSTM (Hochreiter & Schmidhuber 1997) keeps a state, and decides at each letter what of it to
forget, what to write into it, and what to show: tutor/nn/recurrent.py has the formulas.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tutor
from tutor import Tensor, data, nn, no_grad, optim, training, viz

END = "."  # before a name, and behind it


class Names(nn.Module):
    """letters (N, L) and languages (N) -> for each place scores (N, L, letters) of the next one"""

    def __init__(self, letters: int, languages: int, width: int) -> None:
        self.letters, self.languages = nn.Embedding(letters, width), nn.Embedding(languages, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, letters: Tensor, languages: Tensor) -> Tensor:
        told, _ = self.lstm(self.letters(letters) + self.languages(languages).unsqueeze(1))
        return self.head(told)


class Alphabet:
    """Names as rows of numbers, all as long as the longest: 0 stands for the end, and behind it."""

    def __init__(self, names: list[str]) -> None:
        self.letters = END + "".join(sorted(set("".join(names)) - {END}))
        self.length = max(map(len, names)) + 1

    def encode(self, names: list[str]) -> tuple[Tensor, Tensor]:
        """What is read, .Kimi..., and what is to be foretold, Kimi.... : (N, length) each."""
        place = {letter: i for i, letter in enumerate(self.letters)}
        rows = [[place[letter] for letter in name.ljust(self.length, END)] for name in names]
        y = Tensor(rows)
        return tutor.cat([Tensor.zeros(len(rows), 1, dtype="int64"), y[:, :-1]], axis=1), y


def log_likelihood(model: Names, x: Tensor, y: Tensor, language: Tensor) -> Tensor:
    """ln p of each letter (N, L). Behind the end of a name there is nothing to foretell: 0."""
    logs = model(x, language).log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
    is_there = tutor.cat([Tensor.ones(len(x), 1, dtype="bool"), x[:, 1:] != 0], axis=1)
    return is_there.where(logs, 0.0)


@no_grad()
def beliefs(model: Names, x: Tensor, y: Tensor, languages: int) -> Tensor:
    """p(language | the letters so far), (N, L, languages)."""
    logs = [
        log_likelihood(model, x, y, Tensor.full((len(x),), i, dtype="int64")).cumsum(1)
        for i in range(languages)
    ]
    return tutor.stack(logs, axis=-1).softmax(-1)


@no_grad()
def write(model: Names, alphabet: Alphabet, language: int, count: int) -> list[str]:
    """`count` names of a language. Of the letters so far nothing but the LSTM's state is kept."""
    told = model.languages(Tensor.full((count, 1), language, dtype="int64"))
    letter, state, written = Tensor.zeros(count, 1, dtype="int64"), None, []
    for _ in range(2 * alphabet.length):
        shown, state = model.lstm(model.letters(letter) + told, state)
        letter = tutor.multinomial(model.head(shown[:, -1]).softmax(-1), 1)
        written.append(letter)
    rows = tutor.cat(written, axis=1).tolist()
    return ["".join(alphabet.letters[i] for i in row).partition(END)[0] for row in rows]


def picture(names: list[str], believed: Tensor, true: Tensor, languages: list[str]) -> viz.Picture:
    """The beliefs letter by letter, of those names at which the right one came latest."""
    late = believed.gather(-1, true.reshape(-1, 1, 1).expand(*believed.shape[:2], 1)).sum((1, 2))
    drawn = []
    for i in late.argsort()[:4].tolist():
        letters = [*names[i], "end"]
        percent = (100 * believed[i, : len(letters)]).round().cast("int64").transpose(0, 1)
        title = f"{names[i]}, of {languages[true[i].item()]}: its belief after each letter, in %"
        drawn.append(viz.heatmap(percent, languages, letters, title))
    return viz.column(*drawn)


def main() -> float:
    options = argparse.ArgumentParser(description="names of made-up languages")
    options.add_argument("--names", type=int, default=8000, help="how many to learn from")
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/names_lstm"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    pairs = list(dict.fromkeys(data.names(args.names, args.seed)))  # each name once
    names, kinds = [name for name, _ in pairs], sorted({kind for _, kind in pairs})
    alphabet, cut = Alphabet(names), len(pairs) * 3 // 4
    x, y = alphabet.encode(names)
    language = Tensor([kinds.index(kind) for _, kind in pairs])
    known, new = ((x[part], y[part], language[part]) for part in (slice(cut), slice(cut, None)))
    loader = data.DataLoader(data.TensorDataset(*known), 50, shuffle=True, seed=args.seed)

    model = Names(len(alphabet.letters), len(kinds), args.width)
    adam = optim.AdamW(nn.get_parameters(model), lr=0.005)
    schedule = optim.lr_scheduler.CosineAnnealingLR(adam, args.epochs * len(loader))

    @tutor.jit
    def step(x: Tensor, y: Tensor, language: Tensor) -> Tensor:
        loss = -log_likelihood(model, x, y, language).sum() / len(x)  # of a whole name
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    run = training.Run(args.epochs, log=args.out / "log.jsonl")
    for _ in run:
        for batch in run.batches(loader):
            run.note(loss=step(*batch))
            schedule.step()
        believed = beliefs(model, new[0], new[1], len(kinds))
        right = (believed.argmax(-1) == new[2].unsqueeze(1)).cast("float32").mean(0).tolist()
        run.note(three_letters=right[2], whole_names=right[-1])

    print("\nNames that it has written, and how many of 100 it had not read:")
    for i, kind in enumerate(kinds):
        written = write(model, alphabet, i, 100)
        unknown = sum(name not in names[:cut] for name in written)
        print(f"    {kind:8} {', '.join(written[:6])}; {unknown}")
    picture(names[cut:], believed, new[2], kinds).save(args.out / "beliefs.svg")
    run.curves().save(args.out / "curves.svg")
    told = f"{right[-1]:.1%}, by three letters {right[2]:.1%}"
    print(f"\nof {len(names) - cut} names that it has not read it knows {told}")
    print(f"wrote {args.out}/beliefs.svg, curves.svg, log.jsonl")
    return float(right[2])


if __name__ == "__main__":
    main()
