"""Rows of the ops that move elements."""

import numpy as np
from case import Case

import tutor
from tutor import apply

KEY = (slice(None, None, -1), None, 1, ..., slice(0, 3, 2))
windows_of = np.lib.stride_tricks.sliding_window_view

CASES = [
    Case("reshape", lambda x: x.reshape(3, -1), ((2, 3),), lambda x: x.reshape(3, 2)),
    Case("reshape", lambda x: x.T.reshape(6), ((2, 3),), lambda x: x.T.reshape(6)),
    Case(
        "squeeze", lambda x: x.unsqueeze(1).squeeze(), ((2, 3),), lambda x: x
    ),
    Case("permute", lambda x: x.permute(2, 0, 1), ((2, 3, 4),), lambda x: x.transpose(2, 0, 1)),
    Case("permute", lambda x: x.T, ((2, 3, 4),), lambda x: x.T),
    Case("transpose", lambda x: x.transpose(0, -1), ((2, 3, 4),), lambda x: x.swapaxes(0, 2)),
    Case("transpose", lambda x: x.mT, ((2, 3, 4),), lambda x: x.swapaxes(1, 2)),
    Case("unsqueeze", lambda x: x.T.unsqueeze(1), ((2, 3),), lambda x: x.T[:, None]),
    Case("unsqueeze", lambda x: x.unsqueeze(-1), ((2, 3),), lambda x: x[..., None]),
    Case("squeeze", lambda x: x.squeeze(), ((1, 3, 1),), lambda x: x.squeeze()),
    Case("squeeze", lambda x: x.squeeze((0, -1)), ((1, 3, 1),), lambda x: x.squeeze((0, 2))),
    Case(
        "expand", lambda x: x.expand(4, 2, 3), ((2, 1),), lambda x: np.broadcast_to(x, (4, 2, 3))
    ),
    Case("index", lambda x: x[KEY], ((3, 4, 2, 5),), lambda x: x[KEY]),
    Case("index", lambda x: x[-1, 0], ((3, 4),), lambda x: x[-1, 0]),
    Case(
        "index", lambda x: x.flip(0).shrink(((1, 3), (0, 2))), ((3, 4),),
        lambda x: x[::-1][1:, :2],
    ),
    Case(
        "pad", lambda x: x.pad(((1, 0), (0, 2)), value=3), ((2, 3),),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3),
    ),
    Case(
        "cat", lambda x, y: tutor.cat([x, y.T, x], axis=1), ((2, 3), (1, 2)),
        lambda x, y: np.concatenate([x, y.T, x], axis=1),
    ),
    Case("cat", lambda x, y: tutor.stack([x, y], axis=-1), ((2, 3), (2, 3)),
         lambda x, y: np.stack([x, y], axis=-1)),
    Case("place",
         lambda x: apply("place", x, view="index", shape=(4, 5), key=(1, slice(4, None, -2))),
         ((3,),)),
    Case("place", lambda x: apply("place", x, view="diagonal", shape=(3, 4), k=1, axis1=0, axis2=1),
         ((3,),)),
    Case("put", lambda x, y: apply("put", x, y, sizes=(2, 3), strides=(4, -1), start=6),
         ((3, 4), (2, 3))),
    Case("strided", lambda x: apply("strided", x, sizes=(2, 3), strides=(4, -1), start=6),
         ((3, 4),), lambda x: x[1:, 2::-1]),
    Case("strided", lambda x: apply("strided", x, sizes=(4, 2), strides=(1, 1), start=0),
         ((2, 3),), lambda x: windows_of(x.flatten()[:5], 2, 0)),
    Case("diagonal", lambda x: x.diagonal(), ((3, 4),), np.diagonal),
    Case("diagonal", lambda x: x.diagonal(-1, 2, 0), ((3, 2, 4),), lambda x: x.diagonal(-1, 2, 0)),
    Case("windows", lambda x: x.unfold(0, 3), ((6, 2),), lambda x: windows_of(x, 3, 0)),
    Case(
        "windows", lambda x: x.unfold(1, 2, step=3, dilation=2), ((2, 9),),
        lambda x: windows_of(x, 3, 1)[:, ::3, ::2],
    ),
    Case("fold", lambda x: apply("fold", x, shape=(2, 6), axis=1, step=2, dilation=1),
         ((2, 2, 3),)),
    Case("movedim", lambda x: x.movedim((0, 2), (2, 1)), ((2, 3, 4),),
         lambda x: np.moveaxis(x, (0, 2), (2, 1))),
    Case("flatten", lambda x: x.T.flatten(0, 1), ((2, 3, 4),), lambda x: x.T.reshape(12, 2)),
    Case("split", lambda x: x.split(2)[1] * x.split((1, 4))[0], ((5,),), lambda x: x[2:4] * x[:1]),
    Case("split into many", lambda x: x.split((1, 2, 0, 3, 1, 2), 1)[3] * x.split(1, 1)[7],
         ((2, 9),), lambda x: x[:, 3:6] * x[:, 7:8]),
    Case("chunk", lambda x: x.chunk(3, axis=1)[1], ((2, 7),), lambda x: x[:, 3:6]),
    Case("pad", lambda x: x.pad(((2, 1),), mode="reflect"), ((4,),),
         lambda x: np.pad(x, (2, 1), mode="reflect")),
    Case("pad", lambda x: x.pad(((1, 2), (3, 0)), mode="edge"), ((2, 3),),
         lambda x: np.pad(x, ((1, 2), (3, 0)), mode="edge")),
    Case("tile", lambda x: x.tile(2, 3), ((3,),), lambda x: np.tile(x, (2, 3))),
    Case("tile", lambda x: x.tile(2), ((2, 3),), lambda x: np.tile(x, 2)),
    Case("repeat", lambda x: x.repeat(2), ((2, 3),), lambda x: x.repeat(2)),
    Case("repeat", lambda x: x.repeat([1, 0, 2], axis=1), ((2, 3),),
         lambda x: x.repeat([1, 0, 2], 1)),
    Case("roll", lambda x: x.roll(2), ((2, 3),), lambda x: np.roll(x, 2)),
    Case("roll", lambda x: x.roll((1, -1), axis=(0, 1)), ((2, 3),),
         lambda x: np.roll(x, (1, -1), (0, 1))),
    Case("tril", lambda x: x.tril(-1), ((2, 3, 4),), lambda x: np.tril(x, -1)),
    Case("triu", lambda x: x.triu(1), ((3, 4),), lambda x: np.triu(x, 1)),
]  # fmt: skip
