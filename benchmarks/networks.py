"""Real networks, each in one source for both libraries: `lib` is the module `torch` or `tutor`.

A function makes a model with the layers of `lib.nn` and `lib.nn.functional`; the sizes are those of
the rows in benchmarks/problems.py. Nothing is imported here, so that a process can load one library
alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def resnet18(lib: Any, width: int = 64, classes: int = 10) -> Any:
    """ResNet-18 (He et al. 2015) for images of 32 x 32: the first convolution has stride 1."""
    nn, relu = lib.nn, lib.nn.functional.relu

    def convolution(inside: int, out: int, size: int, stride: int = 1) -> list[Any]:
        conv = nn.Conv2d(inside, out, size, stride=stride, padding=size // 2, bias=False)
        return [conv, nn.BatchNorm2d(out)]

    class Block(nn.Module):  # type: ignore[misc,name-defined]  # lib is Any
        """relu(two convolutions of x + x), where x is projected if its shape changes"""

        def __init__(self, inside: int, out: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Sequential(*convolution(inside, out, 3, stride))
            self.second = nn.Sequential(*convolution(out, out, 3))
            project = inside != out or stride != 1
            self.shortcut = nn.Sequential(*(convolution(inside, out, 1, stride) if project else ()))

        def forward(self, x: Any) -> Any:
            out = self.second(relu(self.first(x)))
            out = out + self.shortcut(x)
            return relu(out)

    widths = [width, width, 2 * width, 4 * width, 8 * width]
    blocks: list[Any] = []
    for i, (inside, out) in enumerate(pairwise(widths)):
        blocks += [Block(inside, out, 1 + (i > 0)), Block(out, out, 1)]
    return nn.Sequential(
        *convolution(3, width, 3), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes),
    )  # fmt: skip


def vgg11(lib: Any, width: int = 64, classes: int = 10) -> Any:
    """VGG-11 (Simonyan & Zisserman 2014) with batch norm, for images of 32 x 32."""
    nn, layers, inside = lib.nn, [], 3
    for factor, pool in ((1, 1), (2, 1), (4, 0), (4, 1), (8, 0), (8, 1), (8, 0), (8, 1)):
        out = factor * width
        layers += [nn.Conv2d(inside, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] * pool
        inside = out
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(inside, classes))


def mlp(lib: Any, width: int = 1024, layers: int = 4, p: float = 0.5) -> Any:
    """784 - width - ... - width - 10, with dropout behind each hidden layer"""
    nn, parts = lib.nn, []
    for inside, out in pairwise([784, *[width] * layers]):
        parts += [nn.Linear(inside, out), nn.ReLU(), nn.Dropout(p)]
    return nn.Sequential(*parts, nn.Linear(width, 10))


def recommender(lib: Any, users: int = 50_000, items: int = 20_000, width: int = 32) -> Any:
    """The rating of an item by a user, from a row of a table for each"""
    nn = lib.nn

    class Recommender(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)
            self.judge = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, user: Any, item: Any) -> Any:
            both = lib.cat([self.users(user), self.items(item)], 1)
            return self.judge(both).squeeze(1)

    return Recommender()


def recurrent(lib: Any, kind: str, width: int = 256, vocabulary: int = 65) -> Any:
    """A model of characters: embedding, nn.LSTM or nn.GRU, and the scores of the next character.
    ids (n, places) -> (n * places, vocabulary)"""
    nn = lib.nn

    class Recurrent(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(vocabulary, width)
            self.layer = getattr(nn, kind)(width, width, batch_first=True)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, ids: Any) -> Any:
            states, _ = self.layer(self.table(ids))
            return self.head(states).flatten(0, 1)

    return Recurrent()


def block(lib: Any, width: int, heads: int, causal: bool) -> Any:
    """A block of a transformer, norms first: x + attention(norm(x)), then x + mlp(norm(x))"""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def attention(self, x: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = (
                t.reshape(n, length, heads, width // heads).transpose(1, 2)
                for t in self.qkv(x).chunk(3, 2)
            )
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.out(seen.transpose(1, 2).reshape(n, length, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    return Block()


def nanogpt(
    lib: Any, width: int = 384, layers: int = 6, heads: int = 6, places: int = 128,
    vocabulary: int = 65,
) -> Any:  # fmt: skip
    """GPT as in nanoGPT (Karpathy 2022): the scores are products with the table of the inputs.
    ids (n, places) -> (n * places, vocabulary)"""
    nn, F = lib.nn, lib.nn.functional

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
            self.blocks = nn.Sequential(*[block(lib, width, heads, True) for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            for table in (self.tokens, self.places):
                nn.init.normal_(table.weight, std=0.02)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.places(lib.arange(ids.shape[1]))
            x = self.norm(self.blocks(x))
            return F.linear(x, self.tokens.weight).flatten(0, 1)

    return GPT()


def vit(lib: Any, width: int = 192, layers: int = 6, heads: int = 3, patch: int = 4) -> Any:
    """A vision transformer (Dosovitskiy et al. 2020) for images of 32 x 32; it reads the mean of
    all patches."""
    nn, places = lib.nn, (32 // patch) ** 2

    class ViT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, stride=patch)
            self.places = nn.Parameter(0.02 * lib.randn(1, places, width))
            self.blocks = nn.Sequential(*[block(lib, width, heads, False) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2) + self.places
            return self.head(self.norm(self.blocks(x)).mean(1))

    return ViT()


def unet(lib: Any, widths: Sequence[int] = (32, 64, 128), inside: int = 3, out: int = 4) -> Any:
    """U-Net (Ronneberger et al. 2015) with GroupNorm and SiLU: the class of each pixel"""
    nn = lib.nn

    def double(inside: int, out: int) -> Any:
        layers: list[Any] = []
        for n in (inside, out):
            conv = nn.Conv2d(n, out, 3, padding=1)
            layers += [conv, nn.GroupNorm(min(8, out // 2), out), nn.SiLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            pairs = list(pairwise(widths))
            self.first = double(inside, widths[0])
            self.down = nn.ModuleList([double(a, b) for a, b in pairs])
            up = [nn.ConvTranspose2d(b, a, 4, stride=2, padding=1) for a, b in reversed(pairs)]
            self.up = nn.ModuleList(up)
            self.merge = nn.ModuleList([double(2 * a, a) for a, _ in reversed(pairs)])
            self.pool, self.last = nn.MaxPool2d(2), nn.Conv2d(widths[0], out, 1)

        def forward(self, x: Any) -> Any:
            x, kept = self.first(x), []
            for down in self.down:
                kept.append(x)
                x = down(self.pool(x))
            for up, merge in zip(self.up, self.merge, strict=True):
                x = merge(lib.cat([up(x), kept.pop()], 1))
            return self.last(x)

    return UNet()


def denoiser(lib: Any, width: int = 32, heads: int = 4) -> Any:
    """The U-Net of a diffusion model (Ho et al. 2020), which is told the time t: the noise in x.
    Half of the size, with attention, is the lowest level."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        """Two convolutions of the norm of x, which hear the time between them, and x"""

        def __init__(self, inside: int, out: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(4, inside), nn.GroupNorm(4, out)
            self.conv1 = nn.Conv2d(inside, out, 3, padding=1)
            self.conv2 = nn.Conv2d(out, out, 3, padding=1)
            self.time = nn.Linear(4 * width, out)
            self.shortcut = nn.Identity() if inside == out else nn.Conv2d(inside, out, 1)

        def forward(self, x: Any, code: Any) -> Any:
            h = self.conv1(F.silu(self.norm1(x))) + self.time(code)[:, :, None, None]
            return self.conv2(F.silu(self.norm2(h))) + self.shortcut(x)

    class Denoiser(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU())
            self.first, self.down = nn.Conv2d(3, width, 3, padding=1), Block(width, width)
            self.halve = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
            self.low = Block(2 * width, 2 * width)
            self.look = block(lib, 2 * width, heads, False)
            self.upsample = nn.Upsample(scale_factor=2)
            self.up, self.last = Block(3 * width, width), nn.Conv2d(width, 3, 3, padding=1)
            rates = lib.arange(width // 2) * (-math.log(10_000) / (width // 2))
            self.register_buffer("rates", lib.exp(rates))

        def forward(self, x: Any, t: Any) -> Any:
            angles = t[:, None] * self.rates
            code = self.time(lib.cat([lib.sin(angles), lib.cos(angles)], 1))
            high = self.down(self.first(x), code)
            low = self.low(self.halve(high), code)
            n, c, h, w = low.shape
            low = self.look(low.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, c, h, w)
            return self.last(self.up(lib.cat([self.upsample(low), high], 1), code))

    return Denoiser()


def dcgan(lib: Any, width: int = 32, code: int = 64) -> Any:
    """The two networks of a DCGAN (Radford et al. 2015) for images of 32 x 32: one draws an image
    from a code (n, code, 1, 1), one tells drawn images from real ones."""
    nn = lib.nn
    sizes = [4 * width, 2 * width, width]
    draw: list[Any] = [nn.ConvTranspose2d(code, sizes[0], 4, bias=False)]
    for inside, out in pairwise(sizes):
        draw += [nn.BatchNorm2d(inside), nn.ReLU()]
        draw += [nn.ConvTranspose2d(inside, out, 4, stride=2, padding=1, bias=False)]
    draw += [nn.BatchNorm2d(width), nn.ReLU()]
    draw += [nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1), nn.Tanh()]
    tell: list[Any] = [nn.Conv2d(3, width, 4, stride=2, padding=1), nn.LeakyReLU(0.2)]
    for out, inside in reversed(list(pairwise(sizes))):
        tell += [nn.Conv2d(inside, out, 4, stride=2, padding=1, bias=False)]
        tell += [nn.BatchNorm2d(out), nn.LeakyReLU(0.2)]
    tell += [nn.Conv2d(sizes[0], 1, 4), nn.Flatten(0)]
    return nn.ModuleList([nn.Sequential(*draw), nn.Sequential(*tell)])
