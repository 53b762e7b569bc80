from collections import Counter
from itertools import pairwise


class BPE(Characters):
    """Characters, and pieces that grew out of the pairs which a text has most often."""

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
        ids, new = super().encode(text), len(self.ids)
        for pair in self.merges:
            ids = merged(ids, pair, new)
            new += 1
        return ids
