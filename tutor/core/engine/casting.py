"""Autocast: the dtype in which the ops of this context compute. docs/amp.md shows it.

    with autocast("bfloat16"): ...        # for a block; also as the decorator of a function
    with autocast(enabled=False): ...     # inside it: no casting

16-bit floats take half the memory. Matrix products lose little precision in bfloat16 or float16,
because each sum is formed in float32 and rounded once. Ops that sum many numbers, or whose slope is
steep, stay in float32 (Micikevicius et al. 2018, "Mixed precision training", section 3). REASONS
lists these ops with the reason, RULES is the lookup. All other ops (elementwise, views, selection)
take their operands as they come: float32 combined with a 16-bit float gives float32.

The Engine asks for the operands by the hook `on_op` (tutor/core/op/catalogue.py), its twin in C++
consults RULES, and both only while CASTING is not empty, so autocast costs nothing while it is
unused. The casts are ops, so gradients flow back through them to float32. A backward walk runs
without autocast: each op's gradient is computed in the dtype the op ran in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tutor._storage.array_like import is_tensor
from tutor._util.context_settings import Around, Setting
from tutor.core.op import Op
from tutor.core.op.catalogue import on_op
from tutor.dtype import DType, bfloat16, float16, float32
from tutor.errors import DomainError

LOWER, FULL = "lower", "full"

REASONS: Mapping[str, tuple[str, str]] = {  # ops: (how their operands are cast, why)
    "matmul linear linear_relu conv2d attention": (
        LOWER,
        "products, where the time goes: each result is a sum formed in float32 and rounded once",
    ),
    "sum mean prod scan": (
        FULL,
        "of many numbers: float16 ends at 65504, and bfloat16 stands still at 256 + 1",
    ),
    "softmax log_softmax cross_entropy": (
        FULL,
        "powers of e and their sum; a loss is a small number that must not be rounded away",
    ),
    "layer_norm rms_norm batch_norm group_norm": (
        FULL,
        "a mean and a variance over many numbers, squares that float16 cannot hold",
    ),
    "exp exp2 expm1 log log2 log10 log1p pow sinh cosh tan acos asin logaddexp": (
        FULL,
        "steep: what is rounded before is far off, or beyond 65504, afterwards",
    ),
}
RULES: Mapping[str, str] = {op: rule for ops, (rule, _) in REASONS.items() for op in ops.split()}
NARROW = (float16, bfloat16)

casting: Setting[DType | None] = Setting("tutor.core.engine.casting", None)
CASTING = casting.blocks  # empty unless some context is in an autocast block


def autocast_dtype() -> DType | None:
    """The dtype of the autocast block in force here; None if there is none."""
    return casting.get() if CASTING else None


def operands_of(op: Op) -> tuple[Any, ...]:
    """The operands of an op, cast as its rule requires here."""
    return operands(RULES[op.name], op.inputs) if op.name in RULES else op.inputs


def operands(rule: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an op with that rule, cast as autocast requires here. float64 is not cast."""
    lower = autocast_dtype()
    if lower is None:
        return inputs
    to, of = (lower, (float32, *NARROW)) if rule == LOWER else (float32, NARROW)
    return tuple(
        [x.cast(to) if is_tensor(x) and x.dtype in of and x.dtype is not to else x for x in inputs]
    )


class autocast(Around[DType | None]):  # noqa: N801 - read as a verb: with autocast("bfloat16")
    """`with autocast("bfloat16"):` products, convolutions and attention cast their operands to that
    dtype; sums, losses, norms, powers of e use float32 (tutor.core.engine.casting.RULES).

    Blocks may be nested, and `enabled=False` switches casting off inside one. Each thread and
    asyncio task has its own setting. Also a decorator. In float16 small gradients underflow: use a
    GradScaler. DomainError for a dtype other than float16 and bfloat16.
    """

    does = "cast"

    def __init__(self, dtype: str | DType = bfloat16, enabled: bool = True) -> None:
        to = dtype if isinstance(dtype, DType) else _named(dtype)
        if to not in NARROW or not isinstance(enabled, bool):
            raise DomainError(
                f"autocast({dtype!r:.40}, enabled={enabled!r:.40})",
                "it casts to a 16-bit float, or does nothing",
                'write autocast("bfloat16") or autocast("float16"), enabled=True or False',
            )
        super().__init__(casting, to if enabled else None)


def _named(name: object) -> DType | None:
    return next((dtype for dtype in NARROW if dtype.name == name), None)


on_op.provide(casts=CASTING, operands=operands_of, cast_nothing=partial(casting.variable.set, None))
