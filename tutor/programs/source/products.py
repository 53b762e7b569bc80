"""Products: matmul and linear, in tiles that stay in the processor's registers.

z[i, j] = sum_k x[i, k] * y[k, j]. A tile is six rows of z, two registers wide: its sums grow
together term by term, so that each number read serves several of them. If the columns of y are not
adjacent in memory, like those of a layer's weight, they are first packed that way; for a few rows
this would cost more than it saves: then each of 16 lanes takes every 16th term of a sum, for four
columns at once. Both use fused multiply-add if the CPU has it, so the result is correct within the
class `sum`, not to the bit.
"""

from __future__ import annotations

from collections.abc import Callable

from tutor._storage.layout import Shape
from tutor.backends.codegen.dialect import HALVES
from tutor.backends.codegen.expressions import loaded, stored
from tutor.backends.codegen.loops import Lines, axes_of, block, index, loops, named, summed
from tutor.programs.source.call import Call, Function

ROWS, LANES, COLUMNS = 6, 16, 4
MOST_PACKED = 4096  # terms: half a megabyte on the stack, and more than the L2 cache would keep
ORDER = {2: "zxy", 3: "zxyb"}  # the letters of the operands

End = Callable[[str, str], str]  # (sum, index of its column) -> the number to write


def matmul(call: Call) -> Function:
    """x (..., m, k), y (..., k, n) -> (..., m, n)"""
    y = call.walks[2]
    return product(call, y.strides[-2], y.strides[-1], y.strides[:-2], lambda value, j: value)


def linear(call: Call) -> Function:
    """x (..., k), w (n, k), b (n) -> (..., n)"""
    _, _, w, b = call.walks

    def end(value: str, j: str) -> str:
        bias = loaded(call.step.dtype, f"b[{summed([(j, b.strides[0])])}]")
        value = f"{value} + {bias}"
        return (
            f"relu_{call.c.summed(call.step.dtype)}({value})" if call.step.params["relu"] else value
        )

    return product(call, w.strides[1], w.strides[0], (0,) * (len(call.walks[0].shape) - 2), end)


def product(call: Call, k: int, j: int, lead: Shape, end: End) -> Function:
    """`k`, `j`: y's strides along the terms and the columns; `lead`: along the leading axes."""
    if 0 in call.walks[0].shape:
        return Function()
    made = Product(call, k, j, lead, end)
    by_terms = abs(k) <= 1 < abs(j) and made.terms >= LANES
    return made.in_lanes() if by_terms and made.m < ROWS else made.in_tiles()


class Product:
    """One product: its sizes, the strides of its operands, and its pieces of source."""

    def __init__(self, call: Call, k: int, j: int, lead: Shape, end: End) -> None:
        self.call, self.end, self.dtype = call, end, call.step.dtype
        out, x = call.walks[:2]
        self.kind = call.c.summed(self.dtype)
        self.m = out.shape[-2] if len(out.shape) > 1 else 1
        self.n, self.terms = out.shape[-1], x.shape[-1]
        self.i = (out.strides[-2], x.strides[-2]) if len(out.shape) > 1 else (0, 0)
        self.k, self.j = (x.strides[-1], k), (out.strides[-1], j)
        still = [(0,) * len(lead)] * (len(call.walks) - 3)
        self.lead = named(
            axes_of(out.shape[:-2], out.strides[:-2], x.strides[:-2], lead, *still), "abcdefgh"
        )
        self.letters = ORDER[len(call.walks) - 1]

    # ---- the numbers of a tile: r, c and k are counted within it

    def x(self, row: str, *terms: str) -> str:
        return self.number(f"x[{summed([(row, self.i[1]), *((k, self.k[0]) for k in terms)])}]")

    def y(self, column: str, *terms: str) -> str:
        places = [(column, self.j[1]), *((k, self.k[1]) for k in terms)]
        return self.number(f"y[{summed(places)}]")

    def number(self, place: str) -> str:
        """A factor in its computation type: integers as unsigned ones, which wrap."""
        text = loaded(self.dtype, place)
        whole = self.dtype.is_integer and self.kind != self.call.c.stored[self.dtype]
        return f"({self.kind}){text}" if whole else text

    def added(self, total: str, x: str, y: str) -> Lines:
        """The statement that adds a term to a sum."""
        if self.dtype.is_integer:
            return [f"{total} += {x} * {y};"]
        return [f"{total} = multiply_add_{self.kind}({x}, {y}, {total});"]

    def written(self, row: str, column: str, total: str) -> Lines:
        own = self.call.c.stored[self.dtype]
        value = self.end(total, column)
        if self.dtype.is_integer and own != self.kind:
            value = f"({own}){value}"
        place = f"z[{summed([(row, self.i[0]), (column, self.j[0])])}]"
        return [f"{place} = {stored(self.dtype, value)};"]

    # ---- functions

    def parameters(self, *more: str, packed: bool = False) -> str:
        """Pointers to the operands; `packed`: y is local, and in its computation type."""
        before, behind = self.call.c.pointer
        found = []
        for letter in self.letters:
            own = self.call.c.stored[self.dtype]
            kind = (
                f"const {self.kind}"
                if packed and letter == "y"
                else (f"{before}{'' if letter == 'z' else 'const '}{own}")
            )
            found.append(f"{kind} *{behind}{letter}")
        return ", ".join([*found, *more])

    def moved(self, **by: tuple[str, tuple[int, int]]) -> str:
        """The operands from row i and column j on: the arguments for a piece of the product."""
        (j, (j_z, j_y)), (i, (i_z, i_x)) = by.get("j", ("", (0, 0))), by.get("i", ("", (0, 0)))
        b = self.call.walks[3].strides[0] if len(self.letters) > 3 else 0
        steps = {"z": [(i, i_z), (j, j_z)], "x": [(i, i_x)], "y": [(j, j_y)], "b": [(j, b)]}
        found = []
        for letter in self.letters:
            place = summed([(name, step) for name, step in steps[letter] if name])
            joint = " - " if place.startswith("-") else " + "
            found.append(letter if place == "0" else f"{letter}{joint}{place.removeprefix('-')}")
        return ", ".join(found)

    def called(self, name: str) -> list[Lines]:
        """Calls of the whole product, for each index of the leading axes."""
        arguments = []
        for operand in range(len(self.letters)):
            walk = self.call.walks[operand]
            place = index(operand, self.lead, walk.offset)
            pointer = self.call.names[walk.buf]
            arguments.append(pointer if place == "0" else f"{pointer} + {place}")
        return loops(self.lead, [f"{name}({', '.join(arguments)});"])

    def in_tiles(self) -> Function:
        """Blocks of columns two registers wide, cut into tiles of six rows; and the remainders. If
        the columns of y are not adjacent in memory, they are packed first."""
        tile, columns, whole = (f"{self.call.name}_{w}" for w in ("tile", "columns", "product"))
        kind, wide, packs = self.kind, f"WIDE_{self.kind}", self.packs
        down = f"for (int64_t k = 0; k < {self.terms}; k++)"
        head, every = "for (int r = 0; r < rows; r++)", "for (int c = 0; c < wide; c++)"
        y = f"y[k * {wide} + c]" if packs else self.y("c", "k")
        grow = block(head, block(every, self.added("sum[r][c]", self.x("r", "k"), y)))
        body = [
            [f"{kind} sum[{ROWS}][{wide}] = {{{{0}}}};"],
            block(down, [f"#pragma GCC unroll {ROWS}", *grow]),
            block(head, block(every, self.written("r", "c", "sum[r][c]"))),
        ]
        i, j = {"i": ("i", self.i)}, {"j": ("j", self.j)}
        from_packed = self.moved(**i).replace("y", "packed") if packs else self.moved(**i)
        rows: list[Lines] = []
        if packs:
            rows.append([f"{kind} packed[{self.terms} * {wide}];"])
            rows.append(
                block(down, block(every, [f"packed[k * {wide} + c] = {self.y('c', 'k')};"]))
            )
        rows.append(["int64_t i = 0;"])
        if self.m >= ROWS:
            rows.append(block(f"for (; i + {ROWS} <= {self.m}; i += {ROWS})",
                              [f"{tile}({from_packed}, {ROWS}, wide);"]))  # fmt: skip
        if self.m % ROWS:
            rows.append([f"{tile}({from_packed}, {self.m % ROWS}, wide);"])
        across: list[Lines] = [
            ["int64_t j = 0;"],
            block(f"for (; j + {wide} <= {self.n}; j += {wide})",
                  [f"{columns}({self.moved(**j)}, {wide});"]),
            [f"if (j < {self.n}) {columns}({self.moved(**j)}, {self.n} % {wide});"],
        ]  # fmt: skip
        given = self.parameters("const int rows", "const int wide", packed=packs)
        parts = [
            block(f"INLINE void {tile}({given})", *body),
            block(f"INLINE void {columns}({self.parameters('const int wide')})", *rows),
            block(f"static void {whole}({self.parameters()})", *across),
        ]
        return Function(*self.called(whole), parts=parts)

    @property
    def packs(self) -> bool:
        """Are the columns of y to be packed, in their computation type?"""
        return 0 < self.terms <= MOST_PACKED and (self.j[1] != 1 or self.dtype in HALVES)

    def in_lanes(self) -> Function:
        """Four columns at a time, with 16 lanes per column, each taking every 16th term."""
        whole = f"{self.call.name}_product"
        body = [
            self.columns(COLUMNS) if self.n >= COLUMNS else [],
            self.columns(1) if self.n % COLUMNS else [],
        ]
        loop = block(f"for (int64_t i = 0; i < {self.m}; i++)", ["int64_t j = 0;"],
                     *[lines for lines in body if lines])  # fmt: skip
        return Function(
            *self.called(whole),
            parts=[block(f"static void {whole}({self.parameters()})", loop, braces=True)],
        )

    def columns(self, many: int) -> Lines:
        """The sums of `many` columns of row i, from column j on."""
        names = [f"lane_{n}" for n in range(many)] if many > 1 else ["lane"]
        at = [f"(j + {n})" if n else "j" for n in range(many)]
        every = f"for (int l = 0; l < {LANES}; l++)"
        size, left = self.terms, self.terms % LANES
        arrays = ", ".join(f"{name}[{LANES}] = {{0}}" for name in names)
        body = [
            [f"{self.kind} {arrays};"],
            block(
                f"for (int64_t k = 0; k + {LANES} <= {size}; k += {LANES})",
                block(every, [f"const {self.kind} x_k = {self.x('i', 'k', 'l')};"],
                      *[self.added(f"{name}[l]", "x_k", self.y(j, "k", "l"))
                        for name, j in zip(names, at, strict=True)]),
            ),
        ]  # fmt: skip
        if left:
            body.append(
                block(
                    f"for (int64_t k = {size - left}; k < {size}; k++)",
                    *[self.added(f"{name}[0]", self.x("i", "k"), self.y(j, "k"))
                      for name, j in zip(names, at, strict=True)],
                )
            )  # fmt: skip
        body += [
            self.written("i", j, f"sum_of_lanes_{self.kind}({name})")
            for name, j in zip(names, at, strict=True)
        ]
        step = "j++" if many == 1 else f"j += {many}"
        limit = f"j < {self.n}" if many == 1 else f"j + {many} <= {self.n}"
        return block(f"for (; {limit}; {step})", *body)
