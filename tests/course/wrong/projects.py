"""Wrong answers to the projects. `ours` is an answer that passes; the rest of our solution's names
are there as well. Nothing is trained again."""

WRONG = {
    "P.1": {
        "the last number": "def foresee(numbers):\n    return numbers[-1]",
        "the mean": "def foresee(numbers):\n    return sum(numbers) / len(numbers)",
        "nothing": "def foresee(numbers):\n    return 0.0",
        "one number too late": "def foresee(numbers):\n    return ours(numbers[:-1])",
        "backward in time": "def foresee(numbers):\n    return ours(numbers[::-1])",
        "half of it": "def foresee(numbers):\n    return ours(numbers) / 2",
        "not a number": "def foresee(numbers):\n    return float('nan')",
        "a list": "def foresee(numbers):\n    return [ours(numbers)]",
        "changes what it was given": "def foresee(numbers):\n    got = ours(numbers)\n"
        "    numbers.append(got)\n    return got",
        "the wave it has learned from": "def foresee(numbers):\n    return past[len(numbers)]",
    },
    "P.2": {
        "as it came": "def decipher(secret, sample):\n    return secret",
        "letters by how often they come": "def decipher(secret, sample):\n"
        "    a, b = ([c for c, _ in Counter(t).most_common() if c != ' ']"
        " for t in (secret, sample))\n"
        "    return ''.join(dict(zip(a, b)).get(c, ' ') for c in secret)",
        "the sample": "def decipher(secret, sample):\n    return sample[: len(secret)]",
        "one letter is always wrong": "def decipher(secret, sample):\n"
        "    return ours(secret, sample).replace('s', 'q')",
        "spaces are lost": "def decipher(secret, sample):\n"
        "    return ours(secret, sample).replace(' ', '')",
        "backward": "def decipher(secret, sample):\n    return ours(secret, sample)[::-1]",
        "a list": "def decipher(secret, sample):\n    return list(ours(secret, sample))",
    },
    "P.3": {
        "the known ones": "def invent(count):\n    return projects.known_names()[:count]",
        "one again and again": "def invent(count):\n    return ours(1) * count",
        "small letters": "def invent(count):\n    return [name.lower() for name in ours(count)]",
        "the dots stay": "def invent(count):\n    return [name + '.' for name in ours(count)]",
        "one is missing": "def invent(count):\n    return ours(count)[1:]",
        "letters by chance": "def invent(count):\n"
        "    return [''.join(random.choices(LETTERS[1:], k=7)).capitalize() for _ in range(count)]",
        "another language": "def invent(count):\n    from tutor.data import names\n"
        "    return [name for name, kind in names(3000) if kind == 'Ekiri'][:count]",
        "half of them known by heart": "def invent(count):\n"
        "    return projects.known_names()[:150] + ours(count - 150)",
        "nothing": "def invent(count):\n    return [''] * count",
    },
    "P.4": {
        "without carrying": "def add(a, b):\n    width = max(len(a), len(b))\n"
        "    pairs = zip(a.zfill(width), b.zfill(width))\n"
        "    return ''.join(str((int(x) + int(y)) % 10) for x, y in pairs)",
        "the last carry is lost": "def add(a, b):\n    return ours(a, b)[-max(len(a), len(b)):]",
        "reversed": "def add(a, b):\n    return ours(a, b)[::-1]",
        "a number": "def add(a, b):\n    return int(ours(a, b))",
        "floating point": "def add(a, b):\n    return str(int(float(a) + float(b)))",
        "as long as the first": "def add(a, b):\n    return ours(a, b[-len(a):])",
        "one column in a hundred is wrong": "def add(a, b):\n    got = ours(a, b)\n"
        "    return got.replace('77', '78')",
        "side by side": "def add(a, b):\n    return a + b",
    },
    "P.5": {
        "the other king is not seen": "def moves(mine, other):\n"
        "    return {s for s in projects.SQUARES if s != mine and projects.near(s, mine)}",
        "off the board": "def moves(mine, other):\n"
        "    return {(mine[0] + a, mine[1] + b) for a, b in STEPS}",
        "it may stay": "def moves(mine, other):\n    return ours(mine, other) | {mine}",
        "kings exchanged": "def moves(mine, other):\n    return ours(other, mine)",
        "rows and columns exchanged": "def moves(mine, other):\n"
        "    return {(b, a) for a, b in ours(mine, other)}",
        "a list": "def moves(mine, other):\n    return sorted(ours(mine, other))",
        "a rook's moves": "def moves(mine, other):\n"
        "    return {s for s in ours(mine, other) if s[0] == mine[0] or s[1] == mine[1]}",
        "nothing": "def moves(mine, other):\n    return set()",
    },
    "P.6": {
        "by chance": "def play(heaps):\n    return random.choice(projects.nim_moves(heaps))",
        "the largest heap altogether": "def play(heaps):\n"
        "    return heaps.index(max(heaps)), max(heaps)",
        "one stick": "def play(heaps):\n    return heaps.index(max(heaps)), 1",
        "what is best for the other one": "def play(heaps):\n"
        "    options = projects.nim_moves(heaps)\n"
        "    return max(options, key=lambda m: now[place[projects.nim_after(heaps, m)]])",
        "takes nothing": "def play(heaps):\n    return 0, 0",
        "more than there is": "def play(heaps):\n    return 0, heaps[0] + 1",
        "the heaps that are left": "def play(heaps):\n"
        "    return projects.nim_after(heaps, ours(heaps))",
        "two heaps only": "def play(heaps):\n"
        "    return min(projects.nim_moves(heaps),"
        " key=lambda m: abs(heaps[0] - heaps[1] - (m[1] if m[0] == 0 else -m[1])))",
    },
    "P.7": {
        "the middle of the sheet": "def read(sheets):\n"
        "    x = Tensor([[s[40 * r + c] / 255 for r in range(6, 34) for c in range(6, 34)]"
        " for s in sheets])\n"
        "    with no_grad():\n        return [s.index(max(s)) for s in net(x).tolist()]",
        "always a one": "def read(sheets):\n    return [1] * len(sheets)",
        "the first one for all": "def read(sheets):\n    return ours(sheets[:1]) * len(sheets)",
        "scores": "def read(sheets):\n    with no_grad():\n"
        "        return net(tensor(sheets)).tolist()",
        "texts": "def read(sheets):\n    return [str(digit) for digit in ours(sheets)]",
        "one is missing": "def read(sheets):\n    return ours(sheets)[1:]",
        "off by one": "def read(sheets):\n    return [(d + 1) % 10 for d in ours(sheets)]",
        "upside down": "def read(sheets):\n    return ours([s[::-1] for s in sheets])",
        "what it has learned": "def read(sheets):\n    return list(labels[: len(sheets)])",
    },
    "P.8": {
        "the mean picture": "packed = (lambda image: b'',"
        " lambda code: bytes(round(255 * m) for m in mean))",
        "fields of 7 by 7": "def small(image):\n"
        "    return bytes(sum(image[28 * (7 * a + r) + 7 * b + c] for r in range(7)"
        " for c in range(7)) // 49 for a in range(4) for b in range(4))\n"
        "def large(code):\n"
        "    return bytes(code[4 * (r // 7) + c // 7] for r in range(28) for c in range(28))\n"
        "packed = (small, large)",
        "all 784 bytes": "packed = (lambda image: image, lambda code: code)",
        "remembers the picture": "kept = []\ndef keep_it(image):\n    kept.append(image)\n"
        "    return bytes([len(kept) % 256])\npacked = (keep_it, lambda code: b'no' * 392)",
        "numbers that are no bytes": "packed = (lambda image: into(tensor([image])).tolist()[0],"
        " restore)",
        "half of the numbers": "packed = (lambda i: squeeze(i)[:8] + bytes([128] * 8), restore)",
        "the other way round": "packed = (restore, squeeze)",
        "one function": "packed = squeeze",
        "lists": "packed = (squeeze, lambda code: list(restore(code)))",
        "the code is reversed": "packed = (squeeze, lambda code: restore(code[::-1]))",
    },
    "P.9": {
        "the known ones": "def compose(count):\n    return projects.melodies(600, seed=1)[:count]",
        "one again and again": "def compose(count):\n    return ours(1) * count",
        "notes by chance": "def compose(count):\n"
        "    return [''.join(random.choices(projects.NOTES, k=16)) for _ in range(count)]",
        "15 notes": "def compose(count):\n    return [notes[:-1] for notes in ours(count)]",
        "backward": "def compose(count):\n    return [notes[::-1] for notes in ours(count)]",
        "as they are drawn, one note for all": "def compose(count):\n"
        "    return ['c' * 16 for _ in range(count)]",
        "one is missing": "def compose(count):\n    return ours(count - 1)",
        "numbers": "def compose(count):\n"
        "    return [[projects.NOTES.index(n) for n in notes] for notes in ours(count)]",
        "an octave too high": "def compose(count):\n    return [n.upper() for n in ours(count)]",
    },
    "P.10": {
        "as they came": "def ordered(numbers):\n    return list(numbers)",
        "sorted": "def ordered(numbers):\n    return sorted(numbers)",
        "sorts in place": "def ordered(numbers):\n    numbers = list(numbers)\n"
        "    numbers.sort()\n    return numbers",
        "sorted by a helper": "def helper(numbers):\n    return sorted(numbers)\n"
        "def ordered(numbers):\n    return helper(numbers)",
        "the largest first": "def ordered(numbers):\n    return ours(numbers)[::-1]",
        "each number once": "def ordered(numbers):\n    return list(dict.fromkeys(ours(numbers)))",
        "backward": "def ordered(numbers):\n    return list(numbers)[::-1]",
        "the first pair only": "def ordered(numbers):\n    a, b, *rest = numbers\n"
        "    return [min(a, b), max(a, b), *rest]",
        "a tensor": "def ordered(numbers):\n    return Tensor(ours(numbers))",
    },
}
