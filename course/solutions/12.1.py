class Characters:
    """An id for each character of a text, in the order of their code points."""

    def __init__(self, text):
        self.pieces = sorted(set(text))
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}

    def __len__(self):
        return len(self.pieces)

    def encode(self, text):
        return [self.ids[character] for character in text]

    def decode(self, ids):
        return "".join(self.pieces[i] for i in ids)
