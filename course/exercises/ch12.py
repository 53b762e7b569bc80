"""Chapter 12, a GPT: thirteen exercises, two challenges, five questions."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from functools import partial
from itertools import pairwise
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.exercises.ch07 import is_tensor, needs_tensor, order_kept
from course.exercises.ch09 import is_quick
from course.library import theirs_or_ours
from course.turns import Steps, scattered, take_turns
from tutor import data
from tutor.errors import DataError

Ids = list[int]


own = partial(theirs_or_ours, chapter=12)


def all_of(judge: Judge, value: Any, type_: type, what: str) -> None:
    """The verdict where something is no list, or has other things in it."""
    found = f"{what} is {kind(value)}; a list is asked for"
    judge.that(isinstance(value, list), found)
    good = all(type(item) is type_ for item in value)
    judge.that(good, f"{what} has other things in it than {type_.__name__}s")


# ---- tokens --------------------------------------------------------------------------------------

TEXTS = ("to be", "hello world", "zebra, apple\n", "aaaa", "Ünten, dörthin? 42!")


@exercise(
    "12.1",
    "Characters",
    answer="Characters",
    minutes=6,
    without=("tutor", "data"),
    hints=(
        "set(text) has each character once, and sorted puts them in order. The place in that list "
        "is the id.",
        "Keep the list for decode; for encode a dict {character: id} is faster than list.index.",
        "self.pieces = sorted(set(text)); self.ids from enumerate(self.pieces). encode is a list "
        "of self.ids[character], decode a ''.join of self.pieces[i].",
    ),
    why_ours="A dict finds an id in one step, however many there are; `list.index` looks through "
    "the list each time. A million characters are encoded at each start.",
)
def check_12_1(judge: Judge, answer: Any) -> None:
    """Characters(text) gives each character of the text an id, 0, 1, 2 ... in the order of sorted;
    encode(text) gives a list of ids, decode(ids) the text again, len how many ids there are."""
    take_turns(*[_characters(judge, answer, text) for text in TEXTS])


def _characters(judge: Judge, answer: Any, text: str) -> Steps:
    """One vocabulary; others come between."""
    made = judge.instance(answer, text)
    pieces = sorted(set(text))
    yield
    found = "it has no list `pieces`: the text asks for the characters, in order, in it"
    judge.that(isinstance(getattr(made, "pieces", None), list), found, given=f"{text!r}")
    judge.equal(made.pieces, pieces, given=f"pieces, for {text!r}")
    judge.equal(judge.run(partial(len, made)), len(pieces), given=f"len, for {text!r}")
    ids = judge.call(made.encode, text, given=f"the vocabulary of {text!r}")
    judge.equal(ids, [pieces.index(c) for c in text], given=f"the vocabulary of {text!r}")
    yield
    other = "".join(reversed(pieces))
    ids = judge.call(made.encode, other, given=f"the vocabulary of {text!r}")
    judge.equal(ids, list(range(len(pieces)))[::-1], given=f"the vocabulary of {text!r}")
    for said in (other, text[:3], ""):
        numbers = [pieces.index(c) for c in said]
        got = judge.call(made.decode, numbers, given=f"the vocabulary of {text!r}")
        judge.equal(got, said, given=f"the vocabulary of {text!r}")


def replaced(ids: Ids, pair: tuple[int, int], new: int) -> Ids:
    """What 12.2 asks for, by another way: the text of the ids, searched from the left."""
    out: Ids = []
    for i in ids:
        if len(out) and out[-1] == -1 - pair[0] and i == pair[1]:
            out[-1] = new
        else:
            out.append(-1 - i if i == pair[0] else i)
    return [-1 - i if i < 0 else i for i in out]


@exercise(
    "12.2",
    "Merge a pair",
    answer="merged",
    minutes=8,
    without=("tutor", "data"),
    hints=(
        "Walk with an index, since a pair takes two steps at once.",
        "At each place: if ids[at] and ids[at + 1] are the pair, append the new id and go on by 2; "
        "else append ids[at] and go on by 1.",
        "A slice ids[at : at + 2] is shorter at the end, and raises nothing, so the last id needs "
        "no case of its own.",
    ),
    why_ours="A `while` with an index that moves by 1 or by 2. The slice of the last id alone has "
    "one element, and can be no pair.",
)
def check_12_2(judge: Judge, merged: Any) -> None:
    """merged(ids, pair, new) is a new list: `new` stands for each place where the two ids of the
    pair stood side by side, found from the left; all else as it was."""
    cases: list[tuple[Ids, tuple[int, int], int]] = [
        ([1, 2, 3], (1, 2), 9),
        ([3, 1, 2], (1, 2), 9),
        ([1, 2, 1, 2, 5, 2, 1], (1, 2), 7),
        ([4, 4, 4], (4, 4), 8),
        ([4, 4, 4, 4, 0], (4, 4), 8),
        ([1, 1, 2], (1, 2), 3),
        ([2, 1], (1, 2), 3),
        ([5], (5, 5), 6),
        ([], (0, 1), 2),
        ([0, 0, 1, 0, 1, 1], (0, 1), 2),
        ([1, 2, 2, 1, 2], (1, 2), 2),
        ([1, 2, 2, 3], (1, 2), 1),
    ]
    roll = random.Random(4)
    for _ in range(12):
        ids = [roll.randrange(3) for _ in range(roll.randrange(2, 14))]
        cases.append((ids, (roll.randrange(3), roll.randrange(3)), 3))
    for ids, pair, new in cases:
        judge.equal(judge.call(merged, ids, pair, new), replaced(ids, pair, new))
    long = [roll.randrange(5) for _ in range(60_000)]
    got = judge.call(merged, long, (1, 1), 5, given="60,000 ids")
    judge.that(got == replaced(long, (1, 1), 5), "of 60,000 ids it is wrong", given="60,000 ids")


class Reference:
    """What 12.3 asks for."""

    def __init__(self, text: str, merges: int) -> None:
        self.pieces = sorted(set(text))
        self.single = {piece: i for i, piece in enumerate(self.pieces)}
        self.merges: list[tuple[int, int]] = []
        ids = [self.single[c] for c in text]
        while len(self.merges) < merges:
            counts = Counter(pairwise(ids)).most_common(1)
            if not counts or counts[0][1] < 2:
                break
            pair = counts[0][0]
            self.merges.append(pair)
            self.pieces.append(self.pieces[pair[0]] + self.pieces[pair[1]])
            ids = replaced(ids, pair, len(self.pieces) - 1)

    def encode(self, text: str) -> Ids:
        ids = [self.single[c] for c in text]
        for number, pair in enumerate(self.merges):
            ids = replaced(ids, pair, len(self.single) + number)
        return ids


@exercise(
    "12.3",
    "Byte pairs",
    answer="BPE",
    minutes=15,
    without=("tutor", "data"),
    hints=(
        "The commonest pair of the ids becomes a piece, and is merged in the ids. Then count anew, "
        "in what the ids are now.",
        "Counter(pairwise(ids)) counts the pairs; max(counts, key=counts.get) is the commonest,"
        " and of equals the first. The new piece is the text of both, put together.",
        "encode begins with the characters' ids, and goes through self.merges in order: "
        "ids = merged(ids, pair, new), where new is the number of characters for the first pair, "
        "one more for the next, and so on.",
    ),
    why_ours="It inherits `decode` and `len` from `Characters`, because both ask `pieces` only. "
    "`encode` repeats what the learning did, merge by merge, so a text is cut as it was then.",
)
def check_12_3(judge: Judge, answer: Any) -> None:
    """BPE(text, merges): Characters with at most `merges` pieces more. Again and again the pair
    that stands side by side most often (two times at least; of equals the first in the text)
    becomes the next id. `merges` lists the pairs, `pieces` the texts of all ids."""
    cases = [
        ("aaabdaaabac", 3, ("aaabdaaabac", "dab", "aab")),
        ("low lower lowest low", 6, ("lowest low", "slow", "ww", "w")),
        ("the cat sat on the mat, the rat sat", 9, ("that cat", "o, the mat", "")),
        ("abcd", 5, ("dcba", "abab")),
        ("aaaa", 2, ("aaaaaaaaa", "a")),
        ("bcxbcybczabwabv", 2, ("abc", "abcab")),
        ("abababab abab", 1, ("ababa", "bab ab")),
        ("", 2, ("",)),
        ("no merges", 0, ("nose",)),
    ]
    take_turns(*[_bpe(judge, answer, *case) for case in cases])


def _bpe(judge: Judge, answer: Any, text: str, merges: int, others: tuple[str, ...]) -> Steps:
    """One vocabulary; others come between."""
    given = f"{merges} merges learned from {text!r}"
    made, wanted = judge.instance(answer, text, merges), Reference(text, merges)
    yield
    for name in ("merges", "pieces"):
        judge.that(hasattr(made, name), f"it has no attribute `{name}`", given=given)
    pairs = [tuple(pair) for pair in judge.run(partial(list, made.merges))]
    judge.equal(pairs, wanted.merges, given=f"the pairs, {given}")
    judge.equal(list(made.pieces), wanted.pieces, given=f"the pieces, {given}")
    judge.equal(judge.run(partial(len, made)), len(wanted.pieces), given=f"len, {given}")
    for other in (text, *others):
        yield
        ids = judge.call(made.encode, other, given=given)
        judge.equal(ids, wanted.encode(other), given=f"encode({other!r}), {given}")
        judge.equal(judge.call(made.decode, ids, given=given), other,
                    given=f"decode, {given}")  # fmt: skip


# ---- what it learns from -------------------------------------------------------------------------


@exercise(
    "12.4",
    "Excerpts",
    answer="excerpts",
    minutes=8,
    without=("tutor", "data"),
    hints=(
        "An excerpt begins at a random place. What follows each of its ids is the same excerpt, "
        "one place further.",
        "ids[start : start + context] is a row, and ids[start + 1 : start + context + 1] what "
        "follows. Where is the last start for which both are whole?",
        "start = random.randrange(len(ids) - context) leaves room for the one id more. Append the "
        "first slice to the rows, and the second to what follows.",
    ),
    why_ours="Two slices, one place apart. `randrange` leaves out its end, and that is the last "
    "place at which an excerpt could begin but for the one id that follows it.",
)
def check_12_4(judge: Judge, excerpts: Any) -> None:
    """excerpts(ids, context, count) gives a pair of lists of `count` rows, `context` ids each:
    neighbours from random places of the text, and what follows each of them."""
    with order_kept():
        random.seed(3)
        for length, context, count in ((30, 4, 3), (12, 1, 5), (12, 6, 8), (9, 8, 2), (40, 7, 1)):
            ids = [100 + 3 * i for i in range(length)]
            given = f"{length} ids, which go up by 3"
            starts: Counter[int] = Counter()
            for _ in range(60):
                got = judge.call(excerpts, ids, context, count, given=given)
                found = f"it gives {kind(got)}; a pair (rows, what follows) is asked for"
                judge.that(isinstance(got, tuple) and len(got) == 2, found, given=given)
                rows, following = got
                all_of(judge, rows, list, "the first of the pair")
                all_of(judge, following, list, "the second of the pair")
                judge.equal([len(row) for row in rows], [context] * count,
                            given=f"how long the rows are, {given}")  # fmt: skip
                for row in rows:
                    inside = [row[0] + 3 * i for i in range(context)]
                    judge.equal(row, inside, given=f"a row, {given}")
                    starts[(row[0] - 100) // 3] += 1
                after = [[i + 3 for i in row] for row in rows]
                judge.equal(following, after, given=f"what follows {rows}, {given}")
            last = length - context - 1
            if last <= 12:
                judge.equal(
                    sorted(starts),
                    list(range(last + 1)),
                    given=f"the places where 60 times {count} rows began, {given}",
                )
                mean = 60 * count / (last + 1)
                for place, often in sorted(starts.items()):
                    found = f"of {60 * count} rows {often} began at place {place}; each of the "
                    found += (
                        f"{last + 1} places should have the same chance, which is about {mean:.0f}"
                    )
                    judge.that(abs(often - mean) < 5.5 * math.sqrt(mean), found, given=given)
        ids = list(range(500))
        orders = []
        for seed in (1, 1, 2):
            random.seed(seed)
            orders.append(judge.call(excerpts, ids, 5, 6, given=f"after random.seed({seed})"))
        judge.that(orders[0] == orders[1], "after the same seed it gives others: use `random`")
        judge.that(orders[0] != orders[2], "whatever the seed, it gives the same excerpts")
        begins = [row[0] for row in orders[0][0]]
        judge.that(len(set(begins)) > 1, "all rows begin at the same place")
        steps = {b - a for a, b in pairwise(begins)}
        found = f"the rows begin at {begins}, always as far from each other: draw each place"
        judge.that(len(steps) > 1, found)


# ---- the model -----------------------------------------------------------------------------------


def stir(module: Any) -> None:
    """Other numbers into all parameters: fresh norms are all alike, and biases are 0."""
    roll = random.Random(8)
    for p in module.parameters():
        p.fill([x + roll.uniform(-0.3, 0.3) for x in p.values()])


def stream(answer: Any, *shape: int) -> Any:
    """Rows for a block: quarters."""
    t = own(answer, "zeros")(shape)
    t.fill([round(8 * math.sin(2.3 * i + 0.1 * i * i)) / 4 for i in range(t.numel())])
    return t


def part_of(thing: Any, *names: str) -> Any:
    """thing.one.other: what stands in the attributes of attributes."""
    return functools.reduce(getattr, names, thing)


def has(judge: Judge, thing: Any, names: str, what: str) -> None:
    for name in names.split():
        judge.that(hasattr(thing, name), f"{what} has no attribute `{name}`")


@exercise(
    "12.5",
    "A block",
    answer="Block",
    minutes=10,
    without=("tutor",),
    hints=(
        "There are two sums, one after the other. Each adds to x what a part of the network makes "
        "of a normed x.",
        "The first: x = x + self.attention(self.norm1(x), mask). The second begins with this new "
        "x, and has no mask: each place by itself.",
        "In __init__: LayerNorm(width), MultiHead(width, heads), LayerNorm(width), and "
        "MLP(width, 4 * width, width). Inherit from Module.",
    ),
    why_ours="Two lines, two sums. What goes along x itself is never normed and never replaced, "
    "so a gradient finds a straight way through any number of blocks.",
)
def check_12_5(judge: Judge, answer: Any) -> None:
    """Block(width, heads)(x, mask): x plus attention of norm1 of x; then that, plus mlp of norm2 of
    that. Attributes heads, norm1, attention (MultiHead), norm2, mlp (MLP, 4 * width between)."""
    take_turns(*[_block(judge, answer, *sizes) for sizes in ((8, 2), (6, 3))])


def _block(judge: Judge, answer: Any, width: int, heads: int) -> Steps:
    """One block; another one comes between."""
    given = f"Block({width}, {heads})"
    with order_kept():
        random.seed(5)
        block = judge.instance(answer, width, heads)
    yield
    has(judge, block, "heads norm1 attention norm2 mlp parameters", given)
    parts = [block.norm1, block.attention, block.norm2, block.mlp]
    judge.that(block.norm1 is not block.norm2, "norm1 and norm2 are one and the same",
               given=given)  # fmt: skip
    sizes = [layer.w.shape for layer in judge.run(partial(part_of, block, "mlp", "layers"))]
    judge.equal(sizes, [(width, 4 * width), (4 * width, width)],
                given=f"the weights of mlp, {given}")  # fmt: skip
    judge.equal(block.heads, heads, given=f"heads, {given}")
    listening = judge.run(partial(block.attention.listens, stream(answer, 1, 3, width)))
    judge.equal(listening.shape[1], heads, given=f"how many heads of its attention listen, {given}")
    count = sum(p.numel() for p in judge.run(block.parameters))
    wanted = sum(p.numel() for part in parts for p in parameters(answer, part))
    judge.equal(count, wanted, given=f"how many weights parameters() has, {given}")
    stir(block)
    x, mask = stream(answer, 2, 5, width), own(answer, "causal")(5)
    expected = judge.run(partial(by_parts, block, x, mask))
    yield
    got = judge.call(block, scattered(x), mask, given=given)
    needs_tensor(judge, got)
    judge.close(got, expected.tolist(), rtol=1e-4, atol=1e-5, given=given,
                mistakes=known_blocks(block, x, mask))  # fmt: skip
    yield
    judge.close(judge.call(block, x, given=f"{given}, no mask"),
                judge.run(partial(by_parts, block, x, None)).tolist(), rtol=1e-4, atol=1e-5,
                given=f"{given}, no mask")  # fmt: skip


def parameters(answer: Any, part: Any) -> Any:
    """All parameters of a part, whether it is a Module or not."""
    holder = own(answer, "Module")()
    holder.part = part
    return holder.parameters()


def known_blocks(block: Any, x: Any, mask: Any) -> dict[str, Any]:
    """What the known mistakes of a block lead to, by its own four parts."""
    heard = x + block.attention(block.norm1(x), mask)
    ways = {
        "attention alone: x was not added to it": lambda: (lambda y: y + block.mlp(block.norm2(y)))(
            block.attention(block.norm1(x), mask)
        ),
        "mlp alone: its x was not added to it": lambda: block.mlp(block.norm2(heard)),
        "without the norms": lambda: (lambda y: y + block.mlp(y))(x + block.attention(x, mask)),
        "the norms behind the sums; each stands before its part": lambda: (
            lambda y: block.norm2(y + block.mlp(y))
        )(block.norm1(x + block.attention(x, mask))),
        "the second part begins with the first x": lambda: heard + block.mlp(block.norm2(x)),
        "attention without the mask": lambda: by_parts(block, x, None),
        "norm1 in both places": lambda: heard + block.mlp(block.norm1(heard)),
    }
    return {words: lambda way=way: way().tolist() for words, way in ways.items()}


def by_parts(block: Any, x: Any, mask: Any) -> Any:
    """What a block gives, by its own four parts."""
    x = x + block.attention(block.norm1(x), mask)
    return x + block.mlp(block.norm2(x))


@exercise(
    "12.6",
    "The GPT",
    answer="GPT",
    minutes=15,
    without=("tutor",),
    hints=(
        "Two tables in front, a list of blocks, a norm, and a last layer with a score for each id "
        "of the vocabulary.",
        "self.ids(rows) has shape (n, t, width), and self.places(t) has (t, width): the sum "
        "stretches over the n rows, as chapter 3 says.",
        "x goes through each block with the mask self.mask[:t, :t], where self.mask is "
        "causal(context); return self.head(self.norm(x)).",
    ),
    why_ours="The mask is made once, for the whole context. For fewer places the view of its upper "
    "left corner is the mask that is needed.",
)
def check_12_6(judge: Judge, answer: Any) -> None:
    """GPT(vocabulary, context, width, heads, layers)(rows), with rows of at most `context` ids,
    gives scores (n, places, vocabulary). Attributes context, mask, ids, places, blocks, norm, head;
    no place sees what comes behind it."""
    take_turns(*[_gpt(judge, answer, sizes) for sizes in ((7, 6, 8, 2, 3), (5, 4, 6, 3, 1))])


def _gpt(judge: Judge, answer: Any, sizes: tuple[int, ...]) -> Steps:
    """One model; another one comes between."""
    vocabulary, context, width, _, layers = sizes
    given = f"GPT{sizes}"
    with order_kept():
        random.seed(6)
        model = judge.instance(answer, *sizes)
    yield
    has(judge, model, "context mask ids places blocks norm head parameters", given)
    judge.equal(len(model.blocks), layers, given=f"how many blocks, {given}")
    judge.equal(len({id(block) for block in model.blocks}), layers,
                given=f"how many different blocks, {given}")  # fmt: skip
    judge.equal(model.context, context, given=f"context, {given}")
    needs_tensor(judge, model.mask, "its `mask` is")
    judge.equal(model.mask.tolist(), own(answer, "causal")(context).tolist(),
                given=f"mask, which is causal(context), {given}")  # fmt: skip
    for name, rows_of in (("ids", vocabulary), ("places", context)):
        shape = judge.run(partial(part_of, model, name, "w", "shape"))
        judge.equal(tuple(shape), (rows_of, width), given=f"the table of {name}, {given}")
    parts = [model.ids, model.places, *model.blocks, model.norm, model.head]
    wanted = sum(p.numel() for part in parts for p in parameters(answer, part))
    count = sum(p.numel() for p in judge.run(model.parameters))
    judge.equal(count, wanted, given=f"how many weights parameters() has, {given}")
    stir(model)
    for places in (context, context - 1, 1):
        rows = [[(3 * i + 2 * j * j + 1) % vocabulary for j in range(places)] for i in (0, 1)]
        yield
        got = judge.call(model, rows, given=given)
        needs_tensor(judge, got)
        judge.equal(tuple(got.shape), (2, places, vocabulary), given=f"the shape, {given}")
        expected = judge.run(partial(whole, answer, model, rows))
        judge.close(got, expected.tolist(), rtol=1e-4, atol=1e-5, given=f"{rows}, {given}")
    first, other = [1, 2, 3, 0], [1, 2, 3, 4]
    before = judge.call(model, [first], given=given).tolist()[0][:3]
    after = judge.call(model, [other], given=given).tolist()[0][:3]
    judge.that(before == after, "the scores of the first three places change with the fourth "
               "id: a place sees what comes behind it", given=given)  # fmt: skip


def whole(answer: Any, model: Any, rows: list[Ids]) -> Any:
    """What a GPT gives, by its own parts."""
    places = len(rows[0])
    x = model.ids(rows) + model.places(places)
    for block in model.blocks:
        x = by_parts(block, x, own(answer, "causal")(places))
    return model.head(model.norm(x))


# ---- faster --------------------------------------------------------------------------------------


@exercise(
    "12.7",
    "One tensor for all weights",
    answer="Together",
    minutes=15,
    without=("tutor", "data"),
    hints=(
        "A view is a Buffer, a shape, strides and an offset. So a parameter becomes a view of "
        "`flat` if you give it flat's Buffer, and an offset.",
        "self.flat.buf.write(at, p.values()) puts its numbers there; then p.buf = self.flat.buf, "
        "p.offset = at, p.strides = strides_for(p.shape); at grows by p.numel().",
        "collect: b''.join of the bytes of contiguous(p.grad) for all p, as in `rows` of chapter "
        "8, into the buf.raw of a tensor of zeros, which becomes flat.grad. Then p.grad = None.",
    ),
    why_ours="The parameters stay the same objects, which the layers hold; only their memory is "
    "another. The gradients are joined as bytes, and no number is looked at.",
)
def check_12_7(judge: Judge, answer: Any) -> None:
    """Together(parameters).flat is one tensor with the numbers of all parameters, which are views
    of it from then on; collect() makes flat.grad of their gradients, and sets those to None."""
    cases: list[tuple[str, list[Any]]] = [
        ("two parameters", [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [7.0, 8.0]]),
        ("a single one", [[0.5, -0.5]]),
        ("four parameters", [[0.25], [[1.0], [2.0]], 3.0, [[[4.0, 5.0]], [[6.0, 7.0]]]]),
    ]
    take_turns(*[_together(judge, answer, *case) for case in cases])


def _together(judge: Judge, answer: Any, given: str, tables: list[Any]) -> Steps:
    """The parameters of one model; others come between."""
    Tensor, permute = own(answer, "Tensor"), own(answer, "permute")
    leaves = [Tensor(table, requires_grad=True) for table in tables]
    if given == "two parameters":
        leaves.append(permute(Tensor([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]), (1, 0)))
        leaves[-1].requires_grad = True
        given = "three parameters, the last of which is a transposed view"
    numbers = [p.tolist() for p in leaves]
    flat_numbers = [x for p in leaves for x in p.values()]
    together = judge.call(answer, list(leaves), changes=True, given=given)
    yield
    has(judge, together, "flat collect", "it")
    flat = together.flat
    needs_tensor(judge, flat, "flat is")
    judge.equal(flat.tolist(), flat_numbers, given=f"flat, {given}")
    judge.equal([p.tolist() for p in leaves], numbers, given=f"the parameters, {given}")
    judge.that(all(p.requires_grad and p.op is None for p in leaves),
               "a parameter does not require grad any more", given=given)  # fmt: skip
    judge.run(partial(flat.fill, [2 * x + 1 for x in flat_numbers]))
    doubled = [2 * x + 1 for p in numbers for x in flattened(p)]
    judge.equal(
        [x for p in leaves for x in p.values()],
        doubled,
        given=f"the parameters, after flat was filled with other numbers, {given}",
    )
    gradients = []
    for number, p in enumerate(leaves):
        g = own(answer, "zeros")(p.shape[::-1])
        g.fill([100.0 * number + i for i in range(p.numel())])
        p.grad = permute(g, tuple(range(len(p.shape)))[::-1])  # no gradient lies row by row
        gradients += p.grad.values()
    yield
    judge.run(together.collect)
    judge.that(is_tensor(flat.grad), "flat has no gradient after collect()", given=given)
    judge.equal(flat.grad.tolist(), gradients, given=f"flat.grad, {given}")
    judge.that(all(p.grad is None for p in leaves),
               "a parameter has its gradient still: it would be added to the next one",
               given=given)  # fmt: skip
    before = flat.tolist()
    judge.run(own(answer, "SGD")([flat], 0.5).step)
    moved = [x - 0.5 * g for x, g in zip(before, gradients, strict=True)]
    judge.close([x for p in leaves for x in p.values()], moved,
                given=f"the parameters, after a step of SGD([flat], 0.5), {given}")  # fmt: skip


def flattened(table: Any) -> list[float]:
    return [x for row in table for x in flattened(row)] if isinstance(table, list) else [table]


# ---- writing -------------------------------------------------------------------------------------


@exercise(
    "12.8",
    "Temperature and top-k",
    answer="probabilities",
    minutes=10,
    without=("tutor", "data", "softmax"),
    hints=(
        "The temperature divides the scores, before anything else happens to them.",
        "A score that is not among the top_k largest gets the probability 0, and the others share "
        "the whole: leave its power out of the sum.",
        "math.exp((s - max(scores)) / temperature) cannot overflow. The least score that may stay "
        "is sorted(scores)[-top_k]; put 0.0 for what is below. Divide all by their sum.",
    ),
    why_ours="The highest score is taken away before the division, so the largest power is 1, "
    "however low the temperature. What is left out is left out of the sum as well.",
)
def check_12_8(judge: Judge, probabilities: Any) -> None:
    """probabilities(scores, temperature=1.0, top_k=None): a list, the softmax of the scores divided
    by the temperature; with top_k, of the top_k largest only, and 0.0 for all others."""
    scores = [2.0, -1.0, 0.5, 3.0, 1.25]
    cases: list[tuple[list[float], float, int | None]] = [
        (scores, 1.0, None), (scores, 0.5, None), (scores, 2.0, None), (scores, 1.0, 2),
        (scores, 0.7, 3), (scores, 1.5, 1), (scores, 1.0, 5), (scores, 1.0, 9), ([0.0], 1.0, 1),
        ([-3.0, -2.0, -5.0, -4.0], 0.8, 2), ([1e4, 0.0, 9_999.0], 1.0, None),
        ([2.0, 1.0, 0.0], 0.001, None), ([-2e4, -2e4 + 1], 1.0, 2), ([0.1, 0.2, 0.3], 50.0, None),
    ]  # fmt: skip
    for row, temperature, top_k in cases:
        got = judge.call(probabilities, row, temperature, top_k)
        all_of(judge, got, float, "what it gives")
        wanted = cooled(row, temperature, top_k)
        everyone = cooled(row, temperature, None)
        mistakes = {
            "scores times the temperature, which divides them": partial(
                cooled, row, 1 / temperature, top_k
            ),
            "without the temperature": partial(cooled, row, 1.0, top_k),
            "those that are left do not share the whole: their sum is not 1": [
                p if w else 0.0 for p, w in zip(everyone, wanted, strict=True)
            ],
            "nobody is left out: top_k": everyone,
            "one more is kept than top_k": partial(cooled, row, temperature, (top_k or 0) + 1),
            "divided by the temperature after the softmax": [p / temperature for p in everyone],
        }
        judge.close(got, wanted, rtol=1e-6, atol=1e-12, mistakes=mistakes)
    judge.close(judge.call(probabilities, scores), cooled(scores, 1.0, None))
    likely = [0.5, 0.25, 0.125, 0.125]
    given = "scores that look like probabilities, and are scores"
    judge.close(judge.call(probabilities, likely, given=given), cooled(likely, 1.0, None),
                given=given)  # fmt: skip


def cooled(scores: list[float], temperature: float, top_k: int | None) -> list[float]:
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    kept = order[: top_k or len(scores)]
    powers = {i: math.exp((scores[i] - max(scores)) / temperature) for i in kept}
    return [powers.get(i, 0.0) / math.fsum(powers.values()) for i in range(len(scores))]


class Said:
    """A model that is asked, and takes down what it was asked. After i it expects i + 1."""

    def __init__(self, answer: Any, vocabulary: int, context: int, rises: float) -> None:
        self.vocabulary, self.context, self.rises = vocabulary, context, rises
        self.asked: list[list[Ids]] = []
        self.recorded = 0
        self.one = own(answer, "Tensor")([1.0], requires_grad=True)
        self.zeros = own(answer, "zeros")

    def __call__(self, rows: Any) -> Any:
        self.asked.append([list(row) for row in rows])
        numbers: list[float] = []
        for row in self.asked[-1]:
            for i in row:
                wanted = (i + 1) % self.vocabulary
                numbers += [self.rises * (j == wanted) for j in range(self.vocabulary)]
        scores = self.zeros((len(rows), len(rows[0]), self.vocabulary))
        scores.fill(numbers)
        scores = scores * self.one
        self.recorded += scores.op is not None
        return scores

    def __repr__(self) -> str:
        return "model"


class Fixed(Said):
    """A model that always gives the same scores."""

    def __init__(self, answer: Any, scores: list[float]) -> None:
        super().__init__(answer, len(scores), 4, 0.0)
        self.scores = scores

    def __call__(self, rows: Any) -> Any:
        scores = self.zeros((len(rows), len(rows[0]), self.vocabulary))
        scores.fill(self.scores * (len(rows) * len(rows[0])))
        return scores


@exercise(
    "12.9",
    "Write on",
    answer="generate",
    minutes=10,
    without=("tutor", "data", "Cache"),
    hints=(
        "Ask the model, draw one id, put it behind the others; again and again.",
        "The model sees the last `model.context` ids only: ids[-model.context :]. It wants a list "
        "of rows, and here there is one. Of its scores only those of the last place matter.",
        "scores = model([ids[-model.context :]])[0, -1].tolist(), under no_grad; weights = "
        "probabilities(scores, temperature, top_k); ids += random.choices(range(len(weights)), "
        "weights).",
    ),
    why_ours="`list(ids)` makes a list of its own, so the caller's stays as it was. "
    "`random.choices` gives a list of one, which `+=` puts behind the others.",
)
def check_12_9(judge: Judge, generate: Any) -> None:
    """generate(model, ids, count, temperature=1.0, top_k=None): the ids, and `count` more, each
    drawn from what the model says about what follows its last `model.context` ids."""
    with order_kept():
        random.seed(2)
        for ids, count, context in (([3], 4, 8), ([1, 4, 2], 9, 5), ([0, 5], 0, 3), ([2, 3], 6, 1)):
            model = Said(generate, 7, context, 60.0)
            given = f"a model that expects i + 1 after i, with a context of {context}"
            wanted = ids + [(ids[-1] + 1 + i) % 7 for i in range(count)]
            began = list(ids)
            got = judge.call(generate, model, ids, count, changes=True, given=given)
            judge.equal(ids, began, given="the caller's list of ids, afterwards")
            all_of(judge, got, int, "what it gives")
            judge.equal(got, wanted, given=given)
            longest = max((len(row) for rows in model.asked for row in rows), default=0)
            judge.that(longest <= context, f"the model was asked about {longest} ids at once",
                       given=given)  # fmt: skip
            seen = [wanted[: len(ids) + i][-context:] for i in range(count)]
            judge.equal([rows[-1] for rows in model.asked], seen,
                        given=f"what the model was asked, {given}")  # fmt: skip
            judge.that(not model.recorded, "the Engine has recorded it. Which block records "
                       "nothing?", given=given)  # fmt: skip
        shares = [0.5, 0.3, 0.2]
        scores = [math.log(share) + 2.0 for share in shares]  # no logarithms of probabilities
        pair = [judge.call(generate, Fixed(generate, scores), [0], 30, changes=True) for _ in "ab"]
        judge.that(pair[0] != pair[1], "two calls draw the same 30 ids: is there a seed in it?")
        for temperature, top_k in ((1.0, None), (0.4, None), (1.0, 2)):
            given = f"a model that always says {shares}, temperature {temperature}, top_k {top_k}"
            model = Fixed(generate, scores)
            got = judge.call(generate, model, [0], 700, temperature, top_k, changes=True,
                             given=given)[1:]  # fmt: skip
            for i, share in enumerate(cooled(scores, temperature, top_k)):
                found = got.count(i) / 700
                judge.that(abs(found - share) < 0.09, f"{i} was drawn in {found:.0%} of 700 cases;"
                           f" it should be about {share:.0%}", given=given)  # fmt: skip


# ---- the number to beat --------------------------------------------------------------------------

QUICK = is_quick()
DEMANDED = {"shakespeare": 1.70, "grammar": 0.50}  # nats per character
MOST = 300_000  # weights


@functools.cache
def unread(size: int) -> tuple[str, list[str], str] | None:
    """Of the chapter's two texts the one with so many different characters: its name, these, and a
    text that nobody has learned from."""
    for name, limit in (("grammar", 200_000), ("shakespeare", 0)):
        try:
            book = data.load_text(name, 20_000 if QUICK else limit)
        except DataError:
            continue  # nobody has it here
        characters = sorted(set(book.text))
        if len(characters) == size:
            fresh = data.grammar(100_000, seed=2_026) if name == "grammar" else book.test
            lines = fresh.splitlines(keepends=True)
            return name, characters, "".join(line for line in lines if set(line) <= set(characters))
    return None


def mean_loss(model: Any, ids: Ids, context: int, most: int) -> float:
    """The mean of -ln p of the id that comes, at all places of windows from all over the text."""
    starts = list(range(0, len(ids) - context, context))
    starts = starts[:: max(1, len(starts) // most)]
    losses: list[float] = []
    for at in range(0, len(starts), 16):
        batch = starts[at : at + 16]
        scores = model([ids[s : s + context] for s in batch]).tolist()
        for start, rows in zip(batch, scores, strict=True):
            for i, row in enumerate(rows):
                top = max(row)
                powers = math.fsum(math.exp(x - top) for x in row)
                losses.append(top + math.log(powers) - row[ids[start + i + 1]])
    return math.fsum(losses) / len(losses)


@exercise(
    "12.10",
    "The number to beat",
    answer="trained",
    minutes=5,
    hints=(
        "The model that you have trained above is called `model`. Give it this name, too. What is "
        "measured is its loss on a text that it has never read.",
        "If it falls short, train longer: STEPS stands at the top of the chapter. The loss falls "
        "most where the rate goes down, at the end.",
        "More width helps more than more layers, at the same number of weights, and a larger batch "
        "helps where there is time. The scaling section has the price of each.",
    ),
    why_ours="It is the model that the chapter has trained. The check runs it on text that it has "
    "not learned from, and works the loss out of its scores itself.",
    seconds=20.0,
)
def check_12_10(judge: Judge, trained: Any) -> None:
    """`trained` is a model of at most 300,000 weights with a `context`, which takes rows of ids and
    gives scores; on text that it has not read its loss is at most the one demanded."""
    judge.that(
        callable(trained) and hasattr(trained, "context") and hasattr(trained, "parameters"),
        f"it is {kind(trained)}; a model with `context` and `parameters` is asked for",
    )
    count = sum(p.numel() for p in judge.run(trained.parameters))
    judge.that(count <= MOST, f"it has {count:,} weights, more than {MOST:,}")
    context = trained.context
    places = min(context, 32)
    scores = judge.call(trained, [[0] * places], changes=True, given=f"{places} times the id 0")
    needs_tensor(judge, scores)
    shaped = len(scores.shape) == 3 and scores.shape[:2] == (1, places)
    found = (
        f"its scores for one row of {places} ids have the shape {tuple(scores.shape)}; asked for"
    )
    judge.that(shaped, f"{found} is (1, {places}, vocabulary)")
    size = scores.shape[-1]
    book = unread(size)
    found = f"it has scores for {size} ids, which is neither the number of characters of tiny "
    judge.that(book is not None, f"{found}Shakespeare nor of the sentences that tutor makes")
    assert book is not None
    name, characters, text = book
    number = {c: i for i, c in enumerate(characters)}
    ids = [number[c] for c in text]
    scores = judge.call(trained, [ids[:places]], changes=True, given=f"{places} characters")
    changed = [*ids[: places - 1], (ids[places - 1] + 1) % size]
    again = judge.call(trained, [changed], changes=True, given="the last character is another one")
    found = "the scores of earlier places change with the last character: it sees the future"
    judge.that(apart(scores.tolist()[0][:-1], again.tolist()[0][:-1]) < 1e-3, found)
    most = 8 if QUICK else 320
    loss = judge.run(partial(mean_loss, trained, ids, context, most))
    demanded = math.log(size) - 0.02 if QUICK else DEMANDED[name]
    judge.compared += 1
    if not loss <= demanded:
        rows = {
            "demanded": f"at most {demanded:.3f} nats per character of a text that it has not read",
            "found": f"{loss:.3f}, with {count:,} weights. One that knows nothing has "
            f"{math.log(size):.2f}",
        }
        judge.fail(rows, f"the text {name}")


def apart(one: Any, other: Any) -> float:
    """The largest difference of two tables."""
    pairs = zip(one, other, strict=True)
    return max(abs(float(x) - float(y)) for a, b in pairs for x, y in zip(a, b, strict=True))


@exercise(
    "12.11",
    "Bits per character",
    answer="bits_per_character",
    minutes=5,
    hints=(
        "How many nats are lost on the whole text? And how many characters divide them?",
        "A mean times how many there are is the sum. A bit is ln 2 nats, so there are fewer nats "
        "than bits.",
        "loss * tokens / characters are nats per character; divide by math.log(2).",
    ),
    why_ours="The whole loss is the same text's, however it was cut. So it is divided by what does "
    "not depend on the cutting.",
)
def check_12_11(judge: Judge, bits_per_character: Any) -> None:
    """bits_per_character(loss, tokens, characters): the text's whole loss, `loss` nats for each of
    its tokens, in bits, divided by its characters."""
    for loss, tokens, characters in (
        (math.log(2), 10, 10), (math.log(2), 5, 10), (1.0, 1000, 2500), (4.17, 300, 300),
        (0.0, 7, 9), (2.5, 1, 4), (3.25, 411, 1024),
    ):  # fmt: skip
        got = judge.call(bits_per_character, loss, tokens, characters)
        bits = loss / math.log(2)
        mistakes = {
            "nats for each character: a bit is ln 2 nats": loss * tokens / characters,
            "times ln 2, where it divides": loss * math.log(2) * tokens / characters,
            "bits for each token": bits,
            "divided by the tokens, times the characters": bits * characters / tokens,
            "the loss of one token, divided by all characters": bits / characters,
            "the bits of the whole text": bits * tokens,
        }  # fmt: skip
        judge.close(got, bits * tokens / characters, rtol=1e-9, mistakes=mistakes)


# ---- the cache -----------------------------------------------------------------------------------


class Watching:
    """An MLP of a block, which counts the places that go through it."""

    def __init__(self, mlp: Any) -> None:
        self.mlp, self.places = mlp, 0

    def __call__(self, x: Any) -> Any:
        self.places += x.shape[1]
        return self.mlp(x)


@exercise(
    "12.12",
    "The cache",
    answer="Cache",
    minutes=20,
    without=("tutor", "data"),
    hints=(
        "New rows ask all rows that there are so far. So the queries are new ones only; keys and "
        "values are those that are kept, with the new ones behind them.",
        "before is self.count, now is before + x.shape[1]. A view kept[:, :, before:now] is where "
        "the new keys belong: there are zeros, and add_ adds in place.",
        "q = attending.q(x).reshape(1, places, heads, -1).transpose(1, 2), and so on. After the "
        "writing attention(q, keys[:, :, :now], values[:, :, :now], mask[before:now, :now]); then "
        "back by transpose(1, 2).reshape(*x.shape), and through attending.out.",
    ),
    why_ours="The memory is there from the beginning, and full of zeros. So to write is to add in "
    "place to a view, with what chapters 3 and 8 have built, and nothing is ever copied.",
)
def check_12_12(judge: Judge, answer: Any) -> None:
    """Cache(model)(ids) gives the scores (1, places, vocabulary) of new ids, which come behind all
    that it was given before: those that the model would give for all of them at once. Each id goes
    through the model once."""
    for sizes in ((7, 9, 8, 2, 2), (5, 6, 6, 3, 1)):
        vocabulary, context = sizes[:2]
        with order_kept():
            random.seed(9)
            model = own(answer, "GPT")(*sizes)
        stir(model)
        watching = [Watching(block.mlp) for block in model.blocks]
        spare = judge.instance(answer, model)
        judge.call(spare, [1, 2, 3], changes=True)
        for ids, parts in (
            ([(2 * i * i + 1) % vocabulary for i in range(context)], [1] * context),
            ([(3 * i + 2) % vocabulary for i in range(context)], [3, 1, context - 4]),
            ([(i * i) % vocabulary for i in range(context - 1)], [context - 1]),
            ([(i * i + i) % vocabulary for i in range(4)], [2, 2]),
        ):
            given = f"GPT{sizes}, the ids {ids} in parts of {parts}"
            expected = judge.run(partial(model, [ids])).tolist()[0]
            for block, watched in zip(model.blocks, watching, strict=True):
                block.mlp, watched.places = watched, 0
            cache, at = judge.instance(answer, model), 0
            for part in parts:
                scores = judge.call(cache, ids[at : at + part], changes=True, given=given)
                needs_tensor(judge, scores)
                judge.equal(tuple(scores.shape), (1, part, vocabulary), given=f"shape, {given}")
                judge.close(scores.tolist()[0], expected[at : at + part], rtol=1e-4, atol=1e-5,
                            given=f"scores {at} to {at + part}, {given}")  # fmt: skip
                judge.that(scores.op is None, "the Engine has recorded it", given=given)
                at += part
                if at == 3 and spare is not None:  # another one reads between
                    block_mlps = [block.mlp for block in model.blocks]
                    for block, watched in zip(model.blocks, watching, strict=True):
                        block.mlp = watched.mlp
                    judge.call(spare, [4], changes=True)
                    for block, mlp in zip(model.blocks, block_mlps, strict=True):
                        block.mlp = mlp
            for block, watched in zip(model.blocks, watching, strict=True):
                block.mlp = watched.mlp
                judge.that(watched.places == len(ids), f"{watched.places} places went through a "
                           f"block, for {len(ids)} ids", given=given)  # fmt: skip
        judge.raises(ValueError, partial(overfill, answer, model), given=f"GPT{sizes}, and more "
                     f"than {context} ids", called="cache(ids)")  # fmt: skip


def overfill(answer: Any, model: Any) -> None:
    cache = answer(model)
    for _ in range(model.context + 1):
        cache([1])


# ---- bug hunt ------------------------------------------------------------------------------------


@exercise(
    "12.13",
    "Four writers",
    answer="faults",
    minutes=8,
    hints=(
        "One of them reads its own text from memory, word for word: whose loss was measured on "
        "what it had learned from? One writes the same letter again and again.",
        "A writer whose three samples are the same to the letter, whatever the temperature, does "
        "not use it. One begins like the right one, and goes astray with the first id that comes "
        "out of the cache.",
        "The one that repeats what it reads has learned what stands there in place of what "
        "follows: fault 1. The one with the low loss and the old text is fault 5.",
    ),
    why_ours="A forgets where it stands, B knows a page by heart, C cannot tell cold from hot, and "
    "D has learned to repeat.",
)
def check_12_13(judge: Judge, faults: Any) -> None:
    """`faults` has the number of a fault, from 1 to 6, for each of A, B, C and D."""
    right = {"A": 4, "B": 5, "C": 3, "D": 1}
    judge.that(isinstance(faults, dict), "it is no dict, as the cell gave it")
    judge.that(sorted(faults, key=str) == sorted(right), "its keys are not A, B, C and D")
    judge.that(all(isinstance(n, int) and 1 <= n <= 6 for n in faults.values()),
               "its values are not numbers from 1 to 6")  # fmt: skip
    count = sum(faults[name] == right[name] for name in right)
    judge.that(count == 4, f"{count} of the 4 are right")


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "12.s1",
    "The nucleus",
    answer="nucleus",
    minutes=10,
    without=("tutor", "data"),
    hints=(
        "Begin with the likeliest, and take one after the other until they are enough.",
        "sorted(range(n), key=lambda i: -probabilities[i]) are the places, the likeliest first.",
        "Add up as you go, stop as soon as the sum is at least `share`; divide what is kept by "
        "that sum, and give 0.0 to the others.",
    ),
    why_ours="The loop ends with the one that makes the share full, so at least one is always "
    "kept, and the sum that it needs for the division is there already.",
)
def check_12_s1(judge: Judge, nucleus: Any) -> None:
    """nucleus(probabilities, share): the likeliest, as few as have together at least `share`,
    divided by their sum; 0.0 for all others, in the order of the input."""
    table = [0.1, 0.4, 0.05, 0.3, 0.15]
    for row, share in (
        (table, 0.5), (table, 0.3), (table, 0.75), (table, 0.8), (table, 0.999), ([1.0], 0.2),
        ([0.02, 0.9, 0.08], 0.95), ([0.25, 0.125, 0.5, 0.125], 0.5), ([0.6, 0.4], 0.01),
    ):  # fmt: skip
        order = sorted(range(len(row)), key=lambda i: -row[i])
        kept: list[int] = []
        while sum(row[i] for i in kept) < share:
            kept.append(order[len(kept)])
        whole_share = math.fsum(row[i] for i in kept)
        wanted = [p / whole_share if i in kept else 0.0 for i, p in enumerate(row)]
        fewer, more = set(kept[:-1]), {*kept, *order[: len(kept) + 1]}
        mistakes = {
            "those that are kept do not share the whole": [
                p if i in kept else 0.0 for i, p in enumerate(row)
            ],
            "one too few: together they have less than the share": [
                p / math.fsum(row[k] for k in fewer) if i in fewer else 0.0
                for i, p in enumerate(row)
            ] if fewer else [],
            "one too many: without the last one they have the share already": [
                p / math.fsum(row[k] for k in more) if i in more else 0.0
                for i, p in enumerate(row)
            ],
            "in the order of the size; that of the input is asked for": sorted(wanted)[::-1],
        }  # fmt: skip
        judge.close(judge.call(nucleus, row, share), wanted, mistakes=mistakes)


@exercise(
    "12.s2",
    "One table, read twice",
    answer="Tied",
    minutes=10,
    without=("tutor",),
    hints=(
        "The score of an id is how well the last row fits to the id's own row: a product of the "
        "two. For all ids at once that is x @ ids.w.T.",
        "Inherit from GPT, let it make everything, and put something else in the place of head.",
        "After super().__init__(...), set self.head = lambda x: x @ self.ids.w.T.",
    ),
    why_ours="Only `head` is another one, and it has no weights of its own, so `parameters()` "
    "finds the table once. Its gradient arrives from both ends, and the Engine adds them up.",
)
def check_12_s2(judge: Judge, answer: Any) -> None:
    """Tied(vocabulary, context, width, heads, layers): a GPT whose scores are the products of the
    last rows with the rows of the table `ids`; it has no weights for a last layer."""
    for sizes in ((7, 6, 8, 2, 2), (11, 4, 6, 3, 1)):
        vocabulary, _, width, _, _ = sizes
        given = f"Tied{sizes}"
        with order_kept():
            random.seed(6)
            plain = own(answer, "GPT")(*sizes)
            model = judge.instance(answer, *sizes)
        has(judge, model, "ids places blocks norm parameters", given)
        stir(model)
        saved = parameters(answer, plain.head)
        wanted = sum(p.numel() for p in plain.parameters()) - sum(p.numel() for p in saved)
        found = judge.run(model.parameters)
        judge.equal(sum(p.numel() for p in found), wanted, given=f"the weights, {given}")
        rows = [[(3 * i + j + 1) % vocabulary for j in range(4)] for i in (0, 1)]
        got = judge.call(model, rows, given=given)
        needs_tensor(judge, got)
        x = judge.run(partial(stem, answer, model, rows))
        table = model.ids.w.tolist()
        expected = [[[math.fsum(a * b for a, b in zip(place, row, strict=True)) for row in table]
                     for place in places] for places in x.tolist()]  # fmt: skip
        judge.close(got, expected, rtol=1e-4, atol=1e-4, given=given)
        judge.run(partial(squared_back, got))
        shape = (vocabulary, width)
        judge.that(is_tensor(model.ids.w.grad) and tuple(model.ids.w.grad.shape) == shape,
                   "no gradient arrives in the table", given=given)  # fmt: skip


def squared_back(scores: Any) -> None:
    (scores * scores).sum().backward()


def stem(answer: Any, model: Any, rows: list[Ids]) -> Any:
    """What arrives at the last layer."""
    head, model.head = model.head, lambda x: x
    try:
        return whole(answer, model, rows)
    finally:
        model.head = head


# ---- questions -----------------------------------------------------------------------------------

question(
    "12.q1",
    "A batch has 32 rows of 64 ids. How many predictions does one step learn from?",
    right=2048,
    why="each place of each row foretells what follows it: 32 times 64",
    tempting={
        32: "that would be one for each row; but each of its 64 places foretells the next id",
        64: "those are the places of one row, and there are 32 rows",
        2016: "the last place of a row foretells too: what follows it is in the labels",
    },
)
question(
    "12.q2",
    "One model has perplexity 6 per character, another 40 per piece of about 2 characters. Which "
    "foretells the text better?",
    choices={
        "a": "the first: 6 is less than 40",
        "b": "the second: a piece of two characters, at 6 each, would have 36",
        "c": "the first: 36 is less than 40, so per character it is the better one",
    },
    right="c",
    why="two characters at 6 each are one choice out of 36, and that is less than 40; more "
    "exactly, bits per character decide",
    tempting={
        "a": "that compares one character with two: the second has to foretell more at a time",
        "b": "36 is right, but what is it compared with? The second has 40 for the same two "
        "characters, which is worse",
    },
)
question(
    "12.q3",
    "The temperature goes towards 0. What is written?",
    choices={
        "a": "at each place the likeliest id",
        "b": "at each place any id, all equally likely",
        "c": "nothing: one cannot divide by 0",
    },
    right="a",
    why="differences of scores grow without limit, so all of the probability goes to the highest",
    tempting={
        "b": "that is what a very high temperature does: all differences shrink to nothing",
        "c": "0 itself is no temperature, but 0.001 is one, and next to it",
    },
)
question(
    "12.q4",
    "From one id on, 64 ids are written, the slow way, by a model with room for all of them. How "
    "many places go through it in all?",
    right=2080,
    why="1 + 2 + ... + 64 = 64 times 65 / 2; with a cache there are 64",
    tempting={
        64: "that is with a cache, where each id goes through once",
        4096: "that would be 64 places each time; but the text begins with one",
        2016: "that is 1 + 2 + ... + 63; the last of the 64 asks about 64 places",
    },
)
question(
    "12.q5",
    "A model's loss is 0.2 on the text that it has learned from, and 3.1 on another one by the "
    "same author. What has it learned?",
    choices={
        "a": "the language of that author, as the 0.2 shows",
        "b": "a text by heart",
        "c": "nothing at all, as the 3.1 shows",
    },
    right="b",
    why="what it knows helps with that one text only",
    tempting={
        "a": "then it would help with the other text, too, which is in the same language",
        "c": "a loss of 0.2 is far below what knowing nothing gives, so it has learned something",
    },
)
