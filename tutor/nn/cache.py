"""The cache of attention: keys and values of earlier places, computed only once."""

from __future__ import annotations

from tutor._storage import layout
from tutor._util.keyword_aliases import spelled
from tutor.errors import GraphError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import cat


@spelled
class KVCache:
    """The keys and values of the places seen so far, so that generating one place after another
    need not recompute them. `attention(x, cache=cache)` takes only new places, and appends them.

    `KVCache()` grows: each call copies its contents, as much memory traffic as reading them.
    `KVCache(places)` allocates memory for that many places at once, and each call writes into it.
    No shape changes from call to call, and the number of places seen is a Tensor, so one function
    under tutor.jit, recorded once, writes every place. It keeps no graph: call it under no_grad.

    >>> from tutor import Tensor, nn, no_grad
    >>> cache, block = nn.KVCache(8), nn.TransformerBlock(4, 2)
    >>> with no_grad():
    ...     for _ in range(3):
    ...         z = block(Tensor.randn(1, 1, 4), cache)
    >>> len(cache)
    3
    """

    def __init__(self, places: int | None = None) -> None:
        self.places = None if places is None else layout.positive(places, "KVCache(places=...)")
        self.keys: Tensor | None = None  # (N, heads, S, D): S is `places`, or how many were seen
        self.values: Tensor | None = None
        self.count = Tensor(0, device="cpu")  # of the places written

    def __len__(self) -> int:
        """The number of places seen."""
        if self.places is not None:
            return int(self.count.item())
        return 0 if self.keys is None else self.keys.shape[2]

    def positions(self, length: int) -> Tensor:
        """The positions of the next `length` places, counted from 0: (length,) int64."""
        here = None if self.keys is None else self.keys.device
        at = Tensor.arange(length, device=here)
        return at + (len(self) if self.places is None else self.count)

    def reset(self) -> None:
        """Begin another sequence. The memory is reused, so recorded functions still work."""
        if self.places is None or self.keys is None or self.values is None:
            self.keys = self.values = None
            return
        for held in (self.count, self.keys, self.values):
            held.assign(held.like(0))  # hidden places have weight 0, but 0 * nan would be nan

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, with the new ones appended."""
        if self.keys is not None and self.keys.shape[:2] != keys.shape[:2]:
            raise ShapeError(
                f"attention with a cache of {self.keys.shape[0]} sequences",
                f"the new places are of {keys.shape[0]}",
                "take a new KVCache() for other sequences",
            )
        if self.places is not None:
            return self.write(keys, values, self.places)
        if self.keys is not None and self.values is not None:
            keys, values = cat([self.keys, keys], axis=2), cat([self.values, values], axis=2)
        self.keys, self.values = keys, values
        return keys, values

    def write(self, keys: Tensor, values: Tensor, places: int) -> tuple[Tensor, Tensor]:
        """Write new keys and values into the allocated memory."""
        if keys.requires_grad or values.requires_grad:
            raise GraphError(
                f"attention with KVCache({places}), which is written into",
                "a gradient would be asked for of what was there before",
                "call it under tutor.no_grad(), or use KVCache(), which grows",
            )
        if self.keys is None or self.values is None:
            n, heads, _, width = keys.shape
            self.keys = keys.like(0, (n, heads, places, width))
            self.values = values.like(0, (n, heads, places, values.shape[-1]))
        at = self.positions(keys.shape[2])
        try:
            self.keys[:, :, at] = keys
            self.values[:, :, at] = values
        except OutOfRangeError as error:
            raise OutOfRangeError(
                f"attention with KVCache({places})",
                f"{keys.shape[2]} new places are more than there is room for",
                "reset() it and give the last places again, or take a larger one",
            ) from error
        self.count.assign(self.count + keys.shape[2])
        return self.keys, self.values

    def hidden(self, length: int, is_causal: bool) -> Tensor | None:
        """Where each of the last `length` places must not look, (length, S) bools; None: nowhere.
        With is_causal no place looks at later ones; no place looks at unwritten memory."""
        if self.places is None:
            if self.keys is None or not is_causal or length == 1:
                return None
            keys = self.keys.shape[2]
            places = Tensor.arange(keys, device=self.keys.device)
            return places > places[keys - length :].unsqueeze(1)
        last, here = self.count - 1, None if self.keys is None else self.keys.device
        if is_causal:
            last = last + Tensor.arange(1 - length, 1, device=here).unsqueeze(1)
        hidden: Tensor = Tensor.arange(self.places, device=here) > last.reshape((-1, 1))
        return hidden.expand((length, self.places))
