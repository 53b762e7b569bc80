"""Planted wrong answers to the exercises of chapter 12."""

from wrong import edit

WRONG = {
    "12.1": {
        "a set has no order": edit("sorted(set(text))", "sorted(set(text), reverse=True)"),
        "in the order of first use": edit("sorted(set(text))", "list(dict.fromkeys(text))"),
        "each character again and again": edit("sorted(set(text))", "sorted(text)"),
        "the ids begin at 1": edit(
            "enumerate(self.pieces)}",
            "enumerate(self.pieces, 1)}",
            "self.pieces[i] for",
            "self.pieces[i - 1] for",
        ),
        "decode gives a list": edit(
            '"".join(self.pieces[i] for i in ids)', "[self.pieces[i] for i in ids]"
        ),
        "decode puts spaces between": edit('"".join', '" ".join'),
        "how long the text is": edit(
            "self.pieces = sorted(set(text))",
            "self.count, self.pieces = len(text), sorted(set(text))",
            "return len(self.pieces)",
            "return self.count",
        ),
        "code points in place of ids": edit(
            "self.ids[character]",
            "ord(character)",
            "self.pieces[i] for",
            "chr(i) for",
        ),
        "encode gives a set": edit(
            "[self.ids[character] for character in text]",
            "{self.ids[character] for character in text}",
        ),
        "one id for upper and lower case": edit(
            "set(text)", "set(text.lower())", "in text]", "in text.lower()]"
        ),
        "`pieces` is no list, but a dict": edit(
            "self.pieces = sorted(set(text))",
            "self.pieces = dict(enumerate(sorted(set(text))))",
            "enumerate(self.pieces)",
            "enumerate(self.pieces.values())",
        ),
        "no `pieces`: the characters have another name": """
class Characters:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.ids = {c: i for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars)

    def encode(self, text):
        return [self.ids[c] for c in text]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)
""",
        "the vocabulary belongs to the class": edit(
            "        self.pieces = sorted(set(text))\n        self.ids = ",
            "        Characters.pieces = sorted(set(text))\n        Characters.ids = ",
        ),
    },
    "12.2": {
        "the pair's second is kept": edit("at += 2", "at += 1"),
        "the pair in any order": edit(
            "tuple(ids[at : at + 2]) == pair",
            "tuple(ids[at : at + 2]) in (pair, pair[::-1])",
        ),
        "only the first pair": """
def merged(ids, pair, new):
    for at in range(len(ids) - 1):
        if (ids[at], ids[at + 1]) == pair:
            return ids[:at] + [new] + ids[at + 2 :]
    return list(ids)
""",
        "from the right": """
def merged(ids, pair, new):
    out, at = [], len(ids)
    while at > 0:
        if tuple(ids[max(at - 2, 0) : at]) == pair:
            out.append(new)
            at -= 2
        else:
            out.append(ids[at - 1])
            at -= 1
    return out[::-1]
""",
        "the last id is lost": edit("while at < len(ids):", "while at < len(ids) - 1:"),
        "the caller's list is changed": """
def merged(ids, pair, new):
    at = 0
    while at < len(ids) - 1:
        if (ids[at], ids[at + 1]) == pair:
            ids[at : at + 2] = [new]
        at += 1
    return ids
""",
        "merged again with what was merged": """
def merged(ids, pair, new):
    out = []
    for i in ids:
        if out and (out[-1], i) == pair:
            out[-1] = new
        else:
            out.append(i)
    return out
""",
        "both ids wherever they stand": edit(
            "tuple(ids[at : at + 2]) == pair", "ids[at] == pair[0]"
        ),
        "by places that were counted before": edit(
            "def merged(ids, pair, new):",
            "def merged(ids, pair, new, known={}):\n"
            "    key = len(ids), pair\n"
            "    if key in known:\n"
            "        return known[key]",
            "    return out",
            "    known[key] = out\n    return out",
        ),
    },
    "12.3": {
        "all pairs counted once, at the beginning": edit(
            "        while len(self.merges) < merges:\n            counts = Counter(pairwise(ids))",
            "        counts = Counter(pairwise(ids))\n        while len(self.merges) < merges:",
            "            self.merges.append(pair)",
            "            counts[pair] = 0\n            self.merges.append(pair)",
        ),
        "the rarest pair": edit(
            "max(counts, key=counts.get, default=None)", "min(counts, key=counts.get, default=None)"
        ),
        "of equals the last": edit(
            "max(counts, key=counts.get, default=None)",
            "max(list(counts)[::-1], key=counts.get, default=None)",
        ),
        "pairs that occur once are merged, too": edit("counts[pair] < 2", "counts[pair] < 1"),
        "encode leaves the characters": edit("            ids = merged(ids, pair, new)\n", ""),
        "encode merges the last pair first": edit(
            "        for pair in self.merges:\n            ids = merged(ids, pair, new)",
            "        new += len(self.merges)\n        for pair in self.merges[::-1]:\n"
            "            ids = merged(ids, pair, new - 1)",
            "new += 1",
            "new -= 1",
        ),
        "encode takes the longest piece": """
from collections import Counter
from itertools import pairwise


class BPE(Characters):
    def __init__(self, text, merges):
        super().__init__(text)
        self.merges, ids = [], Characters.encode(self, text)
        while len(self.merges) < merges:
            counts = Counter(pairwise(ids))
            pair = max(counts, key=counts.get, default=None)
            if pair is None or counts[pair] < 2:
                break
            self.merges.append(pair)
            self.pieces.append(self.pieces[pair[0]] + self.pieces[pair[1]])
            ids = merged(ids, pair, len(self) - 1)

    def encode(self, text):
        ids, at = [], 0
        while at < len(text):
            fits = [i for i, piece in enumerate(self.pieces) if text.startswith(piece, at)]
            best = max(fits, key=lambda i: len(self.pieces[i]))
            ids.append(best)
            at += len(self.pieces[best])
        return ids
""",
        "one merge too many": edit("len(self.merges) < merges", "len(self.merges) <= merges"),
        "the pieces are put together the wrong way round": edit(
            "self.pieces[pair[0]] + self.pieces[pair[1]]",
            "self.pieces[pair[1]] + self.pieces[pair[0]]",
        ),
        "texts in place of pairs of ids": edit(
            "self.merges.append(pair)",
            "self.merges.append((self.pieces[pair[0]], self.pieces[pair[1]]))",
            "ids = merged(ids, pair, new)",
            "ids = merged(ids, (self.pieces.index(pair[0]), self.pieces.index(pair[1])), new)",
        ),
        "the merges belong to the class": edit(
            "self.merges, ids = [], Characters.encode(self, text)",
            "BPE.merges, ids = [], Characters.encode(self, text)",
        ),
    },
    "12.4": {
        "the labels are the ids themselves": edit(
            "ids[start + 1 : start + context + 1]", "ids[start : start + context]"
        ),
        "two places further": edit(
            "len(ids) - context)",
            "len(ids) - context - 1)",
            "ids[start + 1 : start + context + 1]",
            "ids[start + 2 : start + context + 2]",
        ),
        "one place back": edit(
            "random.randrange(len(ids) - context)",
            "random.randrange(1, len(ids) - context)",
            "ids[start + 1 : start + context + 1]",
            "ids[start - 1 : start + context - 1]",
        ),
        "the last place is never a start": edit(
            "len(ids) - context)", "max(len(ids) - context - 1, 1))"
        ),
        "the first place is never a start": edit(
            "randrange(len(ids) - context)", "randrange(1, len(ids) - context)"
        ),
        "the last label is missing now and then": edit(
            "len(ids) - context)", "len(ids) - context + 1)"
        ),
        "all rows are the same": """
import random


def excerpts(ids, context, count):
    start = random.randrange(len(ids) - context)
    seen = ids[start : start + context]
    return [seen] * count, [ids[start + 1 : start + context + 1]] * count
""",
        "one flat list": edit("following.append(", "following.extend("),
        "only the label of the last place": edit(
            "ids[start + 1 : start + context + 1]", "[ids[start + context]]"
        ),
        "a seed of its own": edit("random.randrange", "random.SystemRandom().randrange"),
        "every row begins where the last one ended": """
import random


def excerpts(ids, context, count):
    starts = [k * context % (len(ids) - context) for k in range(count)]
    return ([ids[s : s + context] for s in starts],
            [ids[s + 1 : s + context + 1] for s in starts])
""",
        "the last place gets what is beyond the end": edit(
            "start = random.randrange(len(ids) - context)",
            "start = min(random.randrange(len(ids)), len(ids) - context - 1)",
        ),
        "one place is drawn, the others follow it": edit(
            "    for _ in range(count):\n        start = random.randrange(len(ids) - context)\n",
            "    first = random.randrange(len(ids) - context)\n"
            "    for n in range(count):\n"
            "        start = (first + n) % (len(ids) - context)\n",
        ),
        "places near the middle are likelier": edit(
            "start = random.randrange(len(ids) - context)",
            "start = (random.randrange(len(ids) - context) + "
            "random.randrange(len(ids) - context)) // 2",
        ),
    },
    "12.5": {
        "no sum around attention": edit(
            "x = x + self.attention(self.norm1(x), mask)", "x = self.attention(self.norm1(x), mask)"
        ),
        "no sum around the mlp": edit(
            "return x + self.mlp(self.norm2(x))", "return self.mlp(self.norm2(x))"
        ),
        "the mask is forgotten": edit("self.norm1(x), mask)", "self.norm1(x))"),
        "norms after the sums": edit(
            "x = x + self.attention(self.norm1(x), mask)",
            "x = self.norm1(x + self.attention(x, mask))",
            "return x + self.mlp(self.norm2(x))",
            "return self.norm2(x + self.mlp(x))",
        ),
        "the first norm twice": edit("self.mlp(self.norm2(x))", "self.mlp(self.norm1(x))"),
        "one norm for both": edit(
            "self.norm2, self.mlp = LayerNorm(width), MLP(width, 4 * width, width)",
            "self.norm2, self.mlp = self.norm1, MLP(width, 4 * width, width)",
        ),
        "both begin with the same x": edit(
            "x = x + self.attention(self.norm1(x), mask)\n        return x +",
            "return x + self.attention(self.norm1(x), mask) +",
        ),
        "the mlp first": edit(
            "x = x + self.attention(self.norm1(x), mask)",
            "x = x + self.mlp(self.norm2(x))",
            "return x + self.mlp(self.norm2(x))",
            "return x + self.attention(self.norm1(x), mask)",
        ),
        "an mlp no wider than the stream": edit(
            "MLP(width, 4 * width, width)", "MLP(width, width, width)"
        ),
        "the normed x is added": edit(
            "x = x + self.attention(self.norm1(x), mask)",
            "x = self.norm1(x)\n        x = x + self.attention(x, mask)",
        ),
        "one head whatever was asked": edit("MultiHead(width, heads)", "MultiHead(width, 1)"),
        "norm1 belongs to the class": edit(
            "        self.norm1, self.attention = LayerNorm(width), MultiHead(width, heads)",
            "        Block.norm1, self.attention = LayerNorm(width), MultiHead(width, heads)",
        ),
    },
    "12.6": {
        "no mask": edit("x = block(x, self.mask[:count, :count])", "x = block(x)"),
        "no places": edit("self.ids(rows) + self.places(count)", "self.ids(rows)"),
        "the last norm is forgotten": edit("self.head(self.norm(x))", "self.head(x)"),
        "one block again and again": edit(
            "[Block(width, heads) for _ in range(layers)]", "[Block(width, heads)] * layers"
        ),
        "only the first block": edit("in self.blocks:", "in self.blocks[:1]:"),
        "the scores of the last place only": edit(
            "return self.head(self.norm(x))", "return self.head(self.norm(x))[:, -1]"
        ),
        "probabilities in place of scores": edit(
            "return self.head(self.norm(x))", "return softmax(self.head(self.norm(x)))"
        ),
        "every row goes on from the last": edit(
            "x = block(x, self.mask[:count, :count])",
            "x = x + block(x, self.mask[:count, :count])",
        ),
        "the mask of the far corner": edit(
            "self.mask[:count, :count]", "self.mask.T[:count, :count]"
        ),
        "places counted from the end of the context": edit(
            "self.places(count)", "self.places(count, self.context - count)"
        ),
        "a table of places as long as the vocabulary": edit(
            "Places(context, width)", "Places(max(vocabulary, context) + 1, width)"
        ),
        "`mask` is None, and made again each time": edit(
            "self.context, self.mask = context, causal(context)",
            "self.context, self.mask = context, None",
            "self.mask[:count, :count]",
            "causal(count)",
        ),
        "the mask belongs to the class": edit(
            "self.context, self.mask = context, causal(context)",
            "self.context, GPT.mask = context, causal(context)",
        ),
        "the blocks belong to the class": edit(
            "        self.blocks = [Block", "        GPT.blocks = [Block"
        ),
    },
    "12.7": {
        "a copy, and the parameters go on alone": edit(
            "            p.buf, p.strides, p.offset = self.flat.buf, strides_for(p.shape), at\n", ""
        ),
        "every parameter at the beginning": edit(
            "self.flat.buf, strides_for(p.shape), at\n", "self.flat.buf, strides_for(p.shape), 0\n"
        ),
        "the strides of a transposed parameter stay": edit(
            "p.buf, p.strides, p.offset = self.flat.buf, strides_for(p.shape), at",
            "p.buf, p.offset = self.flat.buf, at",
        ),
        "the numbers are not copied": edit("            self.flat.buf.write(at, p.values())\n", ""),
        "the gradients stay": edit("            p.grad = None\n", ""),
        "gradients in the order of their memory": edit("g = contiguous(p.grad)", "g = p.grad"),
        "the last parameter first": edit(
            "        for p in self.parameters:\n            g =",
            "        for p in self.parameters[::-1]:\n            g =",
        ),
        "new tensors in a list of its own": edit(
            "            p.buf, p.strides, p.offset = self.flat.buf, strides_for(p.shape), at\n",
            "            self.parameters[self.parameters.index(p)] = Tensor(\n"
            "                self.flat.buf, p.shape, None, at, requires_grad=True)\n",
        ),
        "flat gets the gradient in place of its numbers": edit(
            'self.flat.grad.buf.raw[:] = b"".join(pieces)',
            'self.flat.buf.raw[:] = b"".join(pieces)',
        ),
        "flat belongs to the class": edit(
            "        self.flat = zeros(", "        Together.flat = zeros("
        ),
    },
    "12.8": {
        "after the softmax": edit(
            "(s - highest) / temperature",
            "s - highest",
            "power / whole for",
            "power / whole / temperature for",
        ),
        "times the temperature": edit("highest) / temperature", "highest) * temperature"),
        "raises: it overflows": edit("(s - highest) / temperature", "s / temperature"),
        "the least likely are kept": edit(
            "sorted(scores)[-top_k]",
            "sorted(scores)[top_k - 1]",
            "s >= least",
            "(s <= least or least == -math.inf)",
        ),
        "one more than top_k": edit("sorted(scores)[-top_k]", "sorted(scores)[-top_k - 1]"),
        "one fewer than top_k": edit("if s >= least", "if s > least"),
        "what is left is not divided anew": edit(
            "whole = sum(powers)",
            "whole = sum(math.exp((s - highest) / temperature) for s in scores)",
        ),
        "a score of 0 for what is left out": edit(
            "else 0.0", "else math.exp(-highest / temperature)"
        ),
        "sorted": edit("for s in scores]", "for s in sorted(scores)]"),
        "the temperature squared": edit("highest) / temperature", "highest) / temperature**2"),
        "those that are left do not share the whole": edit(
            "    powers = [math.exp((s - highest) / temperature) if s >= least "
            "else 0.0 for s in scores]\n"
            "    whole = sum(powers)\n",
            "    every = [math.exp((s - highest) / temperature) for s in "
            "scores]\n"
            "    whole = sum(every)\n"
            "    powers = [p if s >= least else 0.0 for p, s in zip(every, "
            "scores)]\n",
        ),
        "what looks like probabilities is left as it is": edit(
            "    highest = max(scores)\n",
            "    if top_k is None and min(scores) >= 0 and abs(sum(scores) - "
            "1) < 1e-9 and len(scores) > 1:\n"
            "        return list(scores)\n"
            "    highest = max(scores)\n",
        ),
    },
    "12.9": {
        "always the likeliest": edit(
            "ids += random.choices(range(len(weights)), weights)",
            "ids.append(weights.index(max(weights)))",
        ),
        "the scores of the first place": edit("[0, -1]", "[0, 0]"),
        "the whole text is asked about": edit("ids[-model.context :]", "ids"),
        "only the last id is asked about": edit("ids[-model.context :]", "ids[-1:]"),
        "the first of the context": edit("ids[-model.context :]", "ids[: model.context]"),
        "one place fewer than there is room for": edit(
            "ids[-model.context :]", "ids[-max(model.context - 1, 1) :]"
        ),
        "the caller's list grows": edit("    ids = list(ids)\n", ""),
        "only what is new": edit(
            "    ids = list(ids)\n",
            "    ids, known = list(ids), len(ids)\n",
            "return ids",
            "return ids[known:]",
        ),
        "the Engine records": edit(
            "with no_grad():\n            scores", "if True:\n            scores"
        ),
        "the temperature is not handed on": edit(
            "probabilities(scores, temperature, top_k)", "probabilities(scores, 1.0, top_k)"
        ),
        "top_k is not handed on": edit(
            "probabilities(scores, temperature, top_k)", "probabilities(scores, temperature)"
        ),
        "all ids equally likely": edit("range(len(weights)), weights)", "range(len(weights)))"),
        "one too many": edit("range(count)", "range(count + 1)"),
        "a seed in it": edit("    ids = list(ids)\n", "    ids = list(ids)\n    random.seed(0)\n"),
        "scores are taken for logarithms of probabilities": edit(
            "weights = probabilities(scores, temperature, top_k)",
            "least = sorted(scores)[-top_k] if top_k else min(scores)\n"
            "        weights = [2.718281828 ** (s / temperature) if s >= least "
            "else 0.0 for s in scores]\n"
            "        weights += [max(0.0, 1 - sum(weights))]\n"
            "        weights = weights[:-1] if sum(weights[:-1]) <= 1.001 else "
            "[1.0] * len(scores)",
        ),
    },
    "12.10": {
        "a model that has not learned": "trained = GPT(len(characters), CONTEXT, WIDTH, 2, 1)",
        "a number": "trained = reached",
        "too large": "trained = GPT(len(characters), CONTEXT, 176, 4, 1)",
        "it sees the future": """
class Peeking(GPT):
    def __call__(self, rows):
        scores = zeros((len(rows), len(rows[0]), len(characters)))
        scores.fill([40.0 * (i == j) for row in rows for j in [*row[1:], 0]
                     for i in range(len(characters))])
        return scores


trained = Peeking(len(characters), CONTEXT, WIDTH, HEADS, LAYERS)
""",
        "scores of the last place only": """
class Last(GPT):
    def __call__(self, rows):
        return super().__call__(rows)[:, -1]


trained = Last(len(characters), CONTEXT, WIDTH, HEADS, LAYERS)
""",
        "a vocabulary of another text": "trained = GPT(len(characters) + 3, 8, 8, 2, 1)",
        "it says how likely, and should give scores": """
class Certain(GPT):
    def __call__(self, rows):
        return super().__call__(rows) * 0


trained = Certain(len(characters), CONTEXT, WIDTH, HEADS, LAYERS)
""",
    },
    "12.11": {
        "nats": edit("(characters * math.log(2))", "characters"),
        "times ln 2": edit("(characters * math.log(2))", "characters * math.log(2)"),
        "per token": edit("loss * tokens / (characters * math.log(2))", "loss / math.log(2)"),
        "tokens and characters exchanged": edit(
            "loss * tokens / (characters * math.log(2))",
            "loss * characters / (tokens * math.log(2))",
        ),
        "the perplexity": edit(
            "loss * tokens / (characters * math.log(2))", "math.exp(loss) * tokens / characters"
        ),
        "the logarithm of the loss": edit(
            "loss * tokens / (characters * math.log(2))",
            "math.log2(loss + 1) * tokens / characters",
        ),
        "whole characters": edit("loss * tokens / (", "loss * tokens // ("),
    },
    "12.12": {
        "only the new places are asked": edit(
            "found = attention(q, keys[:, :, :now], values[:, :, :now], mask)",
            "found = attention(q, k, v, self.model.mask[: now - before, : now - before])",
        ),
        "no mask": edit("values[:, :, :now], mask)", "values[:, :, :now])"),
        "the mask of the first places": edit(
            "self.model.mask[before:now, :now]", "self.model.mask[: now - before, :now]"
        ),
        "the values are not kept": edit("        add_(values[:, :, before:now], v)\n", ""),
        "keys in place of values": edit(
            "add_(values[:, :, before:now], v)", "add_(values[:, :, before:now], k)"
        ),
        "everything is put at the beginning": edit(
            "add_(keys[:, :, before:now], k)",
            "add_(keys[:, :, : now - before], k)",
            "add_(values[:, :, before:now], v)",
            "add_(values[:, :, : now - before], v)",
        ),
        "the last layer is forgotten": edit("return attending.out(", "return ("),
        "the heads are not put back in order": edit(
            "found.transpose(1, 2).reshape(*x.shape)", "found.reshape(*x.shape)"
        ),
        "places that begin at 0 again": edit("(len(ids), self.count)", "(len(ids))"),
        "everything behind is seen as well": edit(
            "found = attention(q, keys[:, :, :now], values[:, :, :now], mask)",
            "found = attention(q, keys, values)",
        ),
        "it never counts": edit("            self.count = now\n", ""),
        "all of it again, each time": """
class Cache:
    def __init__(self, model):
        self.model, self.ids = model, []

    def __call__(self, ids):
        self.ids += ids
        if len(self.ids) > self.model.context:
            raise ValueError("full")
        with no_grad():
            return self.model([self.ids])[:, -len(ids) :]
""",
        "one memory for all layers": edit(
            "self.keys[layer], self.values[layer]", "self.keys[0], self.values[0]"
        ),
        "keys and values belong to the class": edit(
            "        self.keys, self.values = [], []\n",
            "        Cache.keys, Cache.values = [], []\n",
        ),
        "the count belongs to the class": edit(
            "        self.model, self.count = model, 0\n",
            "        self.model = model\n        Cache.count = 0\n",
            "            self.count = now\n",
            "            Cache.count = now\n",
        ),
    },
    "12.13": {
        "D saw its answer": 'faults = {"A": 4, "B": 5, "C": 3, "D": 2}',
        "A and D exchanged": 'faults = {"A": 1, "B": 5, "C": 3, "D": 4}',
        "B saw its answer": 'faults = {"A": 4, "B": 2, "C": 3, "D": 1}',
        "A keeps the least likely": 'faults = {"A": 6, "B": 5, "C": 3, "D": 1}',
        "in order": 'faults = {"A": 1, "B": 2, "C": 3, "D": 4}',
        "letters in place of numbers": 'faults = {"A": "4", "B": "5", "C": "3", "D": "1"}',
        "a list": "faults = [4, 5, 3, 1]",
        "one is missing": 'faults = {"A": 4, "B": 5, "C": 3}',
    },
    "12.s1": {
        "one too few": edit(
            "        kept.append(i)\n        together += probabilities[i]\n"
            "        if together >= share:\n            break\n",
            "        if together + probabilities[i] > share and kept:\n            break\n"
            "        kept.append(i)\n        together += probabilities[i]\n",
        ),
        "not divided anew": edit("p / together", "p"),
        "all that are at least the share": """
def nucleus(probabilities, share):
    kept = [p if p >= share else 0.0 for p in probabilities]
    return [p / (sum(kept) or 1.0) for p in kept]
""",
        "in the order of the list": edit("key=lambda i: -probabilities[i]", "key=lambda i: i"),
        "the least likely first": edit("-probabilities[i]", "probabilities[i]"),
        "sorted": edit(
            "[p / together if i in kept else 0.0 for i, p in enumerate(probabilities)]",
            "[probabilities[i] / together if i in kept else 0.0 for i in order]",
        ),
    },
    "12.s2": {
        "the head stays": edit("\n        self.head = lambda x: x @ self.ids.w.T", ""),
        "a copy of the table": edit(
            "self.head = lambda x: x @ self.ids.w.T",
            "table = self.ids.w.detach() * 1\n        self.head = lambda x: x @ table.T",
        ),
        "the table of places": edit("self.ids.w.T", "self.places.w.T"),
        "a bias, too": edit(
            "self.head = lambda x: x @ self.ids.w.T",
            "self.bias = Tensor([0.0] * vocabulary, requires_grad=True)\n"
            "        self.head = lambda x: x @ self.ids.w.T + self.bias",
        ),
        "divided by the width": edit("x @ self.ids.w.T", "x @ self.ids.w.T * (1 / width)"),
        "the table is found in the class": edit(
            "        self.head = lambda x: x @ self.ids.w.T",
            "        Tied.table = self.ids\n        self.head = lambda x: x @ Tied.table.w.T",
        ),
    },
}
