"""Right answers to the exercises of chapter 12, written otherwise than ours."""

RIGHT = {
    "12.1": {
        "two dicts": """
class Characters:
    def __init__(self, text):
        self.id_of, self.pieces = {}, []
        for c in sorted(text):
            if c not in self.id_of:
                self.id_of[c] = len(self.pieces)
                self.pieces.append(c)

    def __len__(self):
        return len(self.id_of)

    def encode(self, text):
        return list(map(self.id_of.__getitem__, text))

    def decode(self, ids):
        text = ""
        for i in ids:
            text += self.pieces[i]
        return text
""",
        "no dict at all": """
class Characters:
    def __init__(self, text):
        self.pieces = sorted(list(set(text)))

    def __len__(self):
        return len(self.pieces)

    def encode(self, text):
        return [self.pieces.index(c) for c in text]

    def decode(self, ids):
        return "".join([self.pieces[i] for i in ids])
""",
        "pieces by a dict that keeps its order": """
class Characters:
    def __init__(self, text):
        self.pieces = list(dict.fromkeys(sorted(text)))
        self.number = dict(zip(self.pieces, range(len(self.pieces))))

    def __len__(self):
        return len(self.number)

    def encode(self, text):
        return list(map(self.number.__getitem__, text))

    def decode(self, ids):
        text = ""
        for i in ids:
            text += self.pieces[i]
        return text
""",
    },
    "12.2": {
        "an iterator that skips": """
def merged(ids, pair, new):
    out, skip = [], False
    for here, behind in zip(ids, list(ids[1:]) + [None]):
        if skip:
            skip = False
        elif (here, behind) == pair:
            out.append(new)
            skip = True
        else:
            out.append(here)
    return out
""",
        "a stack": """
def merged(ids, pair, new):
    out, fresh = [], False
    for i in ids:
        if out and fresh and (out[-1], i) == tuple(pair):
            out[-1], fresh = new, False
        else:
            out.append(i)
            fresh = True
    return out
""",
    },
    "12.3": {
        "a class of its own, with most_common": """
from collections import Counter


class BPE:
    def __init__(self, text, merges):
        self.letters = Characters(text)
        self.pieces, self.merges = list(self.letters.pieces), []
        ids = self.letters.encode(text)
        for _ in range(merges):
            found = Counter(zip(ids, ids[1:])).most_common(1)
            if not found or found[0][1] == 1:
                break
            (a, b), _ = found[0]
            self.merges.append((a, b))
            ids = merged(ids, (a, b), len(self.pieces))
            self.pieces += [self.pieces[a] + self.pieces[b]]

    def __len__(self):
        return len(self.pieces)

    def encode(self, text):
        ids = self.letters.encode(text)
        for k, pair in enumerate(self.merges):
            ids = merged(ids, pair, len(self.letters) + k)
        return ids

    def decode(self, ids):
        return "".join(self.pieces[i] for i in ids)
""",
        "counted by hand": """
class BPE(Characters):
    def __init__(self, text, merges):
        Characters.__init__(self, text)
        self.single = len(self.pieces)
        ids, self.merges = Characters.encode(self, text), []
        while len(self.merges) < merges and len(ids) > 1:
            counts = {}
            for i in range(len(ids) - 1):
                pair = ids[i], ids[i + 1]
                counts[pair] = counts.get(pair, 0) + 1
            best = None
            for pair, n in counts.items():
                if best is None or n > counts[best]:
                    best = pair
            if counts[best] < 2:
                return
            ids = merged(ids, best, len(self.pieces))
            self.pieces.append("".join(self.pieces[i] for i in best))
            self.merges.append(best)

    def encode(self, text):
        ids = Characters.encode(self, text)
        for new in range(self.single, len(self.pieces)):
            ids = merged(ids, self.merges[new - self.single], new)
        return ids
""",
    },
    "12.4": {
        "starts first": """
import random


def excerpts(ids, context, count):
    starts = [random.randint(0, len(ids) - context - 1) for _ in range(count)]
    whole = [ids[s : s + context + 1] for s in starts]
    return [row[:-1] for row in whole], [row[1:] for row in whole]
""",
        "choices": """
import random


def excerpts(ids, context, count):
    places = random.choices(range(len(ids) - context), k=count)
    x, y = [], []
    for p in places:
        x.append([ids[p + i] for i in range(context)])
        y.append([ids[p + 1 + i] for i in range(context)])
    return x, y
""",
        "by floats": """
import random


def excerpts(ids, context, count):
    last = len(ids) - context - 1
    begins = [int(random.random() * (last + 1)) for _ in range(count)]
    rows = [list(ids[at : at + context]) for at in begins]
    return rows, [[ids[at + i + 1] for i in range(context)] for at in begins]
""",
    },
    "12.5": {
        "each step by name": """
class Block(Module):
    def __init__(self, width, heads):
        self.norm1, self.heads = LayerNorm(width), heads
        self.attention = MultiHead(width, heads)
        self.norm2 = LayerNorm(width)
        self.mlp = MLP(width, width * 4, width)

    def __call__(self, x, mask=None):
        told = self.attention(self.norm1(x), mask=mask)
        middle = told + x
        thought = self.mlp(self.norm2(middle))
        return middle + thought
""",
    },
    "12.6": {
        "each part by name": """
class GPT(Module):
    def __init__(self, vocabulary, context, width, heads, layers):
        self.context = context
        self.ids = Embedding(vocabulary, width)
        self.places = Places(context, width)
        self.blocks = []
        for _ in range(layers):
            self.blocks.append(Block(width, heads))
        self.norm = LayerNorm(width)
        self.head = Linear(width, vocabulary)
        self.mask = causal(context)

    def __call__(self, rows):
        n, t = len(rows), len(rows[0])
        stream = self.places(t, 0) + self.ids(rows)
        mask = causal(t)
        for block in self.blocks:
            stream = block(stream, mask)
        return self.head(self.norm(stream))
""",
    },
    "12.7": {
        "views made by Tensor, gradients as numbers": """
class Together:
    def __init__(self, parameters):
        self.all = parameters
        numbers = []
        for p in parameters:
            numbers += list(p.values())
        self.flat = Tensor(numbers, requires_grad=True)
        start = 0
        for p in parameters:
            view = Tensor(self.flat.buf, p.shape, None, start)
            p.buf, p.strides, p.offset = view.buf, view.strides, view.offset
            start = start + p.numel()

    def collect(self):
        numbers = []
        for p in self.all:
            numbers.extend(p.grad.values())
            p.grad = None
        self.flat.grad = Tensor(numbers)
""",
        "slices that are filled": """
class Together:
    def __init__(self, parameters):
        self.parameters = parameters
        self.flat = zeros((sum(p.numel() for p in parameters),))
        self.flat.requires_grad = True
        self.slices, at = [], 0
        for p in parameters:
            n = p.numel()
            self.slices.append(slice(at, at + n))
            with no_grad():
                self.flat[at : at + n].fill(p.values())
            p.buf, p.offset, p.strides = self.flat.buf, at, strides_for(p.shape)
            at += n

    def collect(self):
        g = zeros(self.flat.shape)
        with no_grad():
            for p, part in zip(self.parameters, self.slices):
                g[part].fill(p.grad.values())
                p.grad = None
        self.flat.grad = g
""",
    },
    "12.8": {
        "minus infinity for what is left out": """
import math


def probabilities(scores, temperature=1.0, top_k=None):
    cooled = [s / temperature for s in scores]
    if top_k is not None:
        kept = sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)[:top_k]
        cooled = [s if i in kept else -math.inf for i, s in enumerate(cooled)]
    m = max(cooled)
    e = [math.exp(s - m) for s in cooled]
    return [x / math.fsum(e) for x in e]
""",
        "places of the largest, with numbers kept by place": """
import math


def probabilities(scores, temperature=1.0, top_k=None):
    scaled = [s / temperature for s in scores]
    places = sorted(range(len(scaled)), key=scaled.__getitem__, reverse=True)
    kept = set(places[:top_k])
    top = max(scaled)
    powers = [math.exp(s - top) if i in kept else 0.0 for i, s in enumerate(scaled)]
    return [p / math.fsum(powers) for p in powers]
""",
    },
    "12.9": {
        "drawn by hand": """
import random


def generate(model, ids, count, temperature=1.0, top_k=None):
    text = [*ids]
    with no_grad():
        while len(text) < len(ids) + count:
            seen = text[max(0, len(text) - model.context) :]
            last = model([seen])[0, len(seen) - 1]
            p = probabilities(list(last.values()), temperature, top_k)
            left, drawn = random.random(), 0
            while drawn < len(p) - 1 and left >= p[drawn]:
                left -= p[drawn]
                drawn += 1
            text.append(drawn)
    return text
""",
        "one id after the other, by a running sum": """
import random


def generate(model, ids, count, temperature=1.0, top_k=None):
    written = [*ids]
    with no_grad():
        for _ in range(count):
            seen = written[max(0, len(written) - model.context) :]
            row = model([seen]).tolist()[0][-1]
            shares = probabilities(row, temperature=temperature, top_k=top_k)
            point, at = random.random() * sum(shares), 0
            while at < len(shares) - 1 and point >= shares[at]:
                point -= shares[at]
                at += 1
            written.append(at)
    return written
""",
    },
    "12.10": {
        "another name for the same": "best = model\ntrained = best",
    },
    "12.11": {
        "by log2": """
import math


def bits_per_character(loss, tokens, characters):
    bits = loss * math.log2(math.e)
    return bits * (tokens / characters)
""",
    },
    "12.12": {
        "keys are filled in as numbers": """
class Cache:
    def __init__(self, model):
        self.model, self.count = model, 0
        self.kept = [None for _ in model.blocks]

    def by_head(self, x, heads):
        n, t, w = x.shape
        return x.reshape(n, t, heads, w // heads).transpose(1, 2)

    def attend(self, layer, x):
        heads, a = self.model.blocks[layer].heads, self.model.blocks[layer].attention
        q, k, v = [self.by_head(f(x), heads).tolist()[0] for f in (a.q, a.k, a.v)]
        if self.kept[layer]:
            old_k, old_v = self.kept[layer]
            k = [one + two for one, two in zip(old_k, k)]
            v = [one + two for one, two in zip(old_v, v)]
        self.kept[layer] = k, v
        now = self.count + x.shape[1]
        mask = self.model.mask[self.count : now, :now]
        z = attention(Tensor([q]), Tensor([k]), Tensor([v]), mask)
        return a.out(z.transpose(1, 2).reshape(*x.shape))

    def __call__(self, ids):
        if self.count + len(ids) > self.model.context:
            raise ValueError("no room")
        with no_grad():
            x = self.model.ids([ids]) + self.model.places(len(ids), first=self.count)
            for layer, block in enumerate(self.model.blocks):
                x = x + self.attend(layer, block.norm1(x))
                x = x + block.mlp(block.norm2(x))
            self.count += len(ids)
            return self.model.head(self.model.norm(x))
""",
        "the rows of a mask of its own": """
class Cache:
    def __init__(self, model):
        self.model, self.count = model, 0
        self.keys, self.values = [], []
        for block in model.blocks:
            heads, width = block.heads, block.attention.q.w.shape[0]
            self.keys.append(zeros((1, heads, model.context, width // heads)))
            self.values.append(zeros((1, heads, model.context, width // heads)))

    def attend(self, layer, x):
        part = self.model.blocks[layer].attention
        new, heads = x.shape[1], self.model.blocks[layer].heads
        q = part.q(x).reshape(1, new, heads, -1).transpose(1, 2)
        end = self.count + new
        for kept, linear in ((self.keys, part.k), (self.values, part.v)):
            rows_of = linear(x).reshape(1, new, heads, -1).transpose(1, 2)
            kept[layer][:, :, self.count : end].fill(rows_of.values())
        mask = causal(end)[self.count :]
        weights = listening(q, self.keys[layer][:, :, :end], mask)
        mixed = weights @ self.values[layer][:, :, :end]
        return part.out(mixed.transpose(1, 2).reshape(1, new, -1))

    def __call__(self, ids):
        now = self.count + len(ids)
        if now > self.model.context:
            raise ValueError(f"{now} ids, and room for {self.model.context}: begin a new Cache")
        with no_grad():
            x = self.model.ids([ids]) + self.model.places(len(ids), self.count)
            for layer, block in enumerate(self.model.blocks):
                x = x + self.attend(layer, block.norm1(x))
                x = x + block.mlp(block.norm2(x))
            self.count = now
            return self.model.head(self.model.norm(x))
""",
    },
    "12.13": {
        "in another order": 'faults = {"D": 1, "C": 3, "B": 5, "A": 4}',
    },
    "12.s1": {
        "pairs, sorted": """
def nucleus(probabilities, share):
    pairs = sorted(((p, i) for i, p in enumerate(probabilities)), key=lambda pair: -pair[0])
    out, total, chosen = [0.0] * len(probabilities), 0.0, []
    while total < share:
        p, i = pairs.pop(0)
        total += p
        chosen.append(i)
    for i in chosen:
        out[i] = probabilities[i] / total
    return out
""",
    },
    "12.s2": {
        "a call of its own": """
class Reading(Module):
    def __init__(self, table):
        self.table = table

    def __call__(self, x):
        return x @ self.table.w.T


class Tied(GPT):
    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__(vocabulary, context, width, heads, layers)
        self.head = Reading(self.ids)
""",
    },
}
