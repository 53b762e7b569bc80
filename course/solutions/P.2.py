import math
import random
from collections import Counter
from itertools import pairwise


def chances_of(text):
    """ln of the chance of each pair of letters."""
    counts, letters = Counter(pairwise(text)), sorted(set(text))
    whole = len(text) - 1 + 0.1 * len(letters) ** 2
    return {(a, b): math.log((counts[a, b] + 0.1) / whole) for a in letters for b in letters}


def likely(key, seen, chances):
    """ln of the chance of what the secret says under this key."""
    return sum(count * chances[key[a], key[b]] for (a, b), count in seen.items())


def climbed(key, seen, chances, roll):
    """How likely the text becomes by exchanging letters of the key, and that key."""
    best, idle = likely(key, seen, chances), 0
    codes = [code for code in key if code != " "]
    while idle < 600:
        a, b = roll.sample(codes, 2)
        key[a], key[b] = key[b], key[a]
        now = likely(key, seen, chances)
        idle += 1
        if now > best:
            best, idle = now, 0
        else:
            key[a], key[b] = key[b], key[a]
    return best, key


def decipher(secret, sample):
    """What the secret says: the key under which its pairs are those of the sample."""
    chances, seen = chances_of(sample), Counter(pairwise(secret))
    codes, letters = [
        [c for c, _ in Counter(t).most_common() if c != " "] for t in (secret, sample)
    ]
    begin = dict(zip(codes, letters, strict=False)) | {" ": " "}
    tries = [climbed(dict(begin), seen, chances, random.Random(n)) for n in range(4)]
    _, key = max(tries, key=lambda found: found[0])
    return "".join(key[code] for code in secret)
