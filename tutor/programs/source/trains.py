"""A recorded training step as a standalone C program that trains on MNIST digits.

    write(step, "mnist-in-c")    # a jitted step(images, labels): train.c and memory.bin

train.c is `step.source()` with a `main`. memory.bin has the initial contents of the memories:
weights, optimizer state and constants, one after another, in this machine's number format; so the
initial weights are not part of the source. The images are read in order, a batch at a time, from
IDX files (http://yann.lecun.com/exdb/mnist).
"""

from __future__ import annotations

import math
from pathlib import Path

from tutor._storage.memory import kept
from tutor.backends.codegen.dialect import C99
from tutor.data.sets.mnist import SHAPES
from tutor.dtype import float32, uint8
from tutor.errors import RecordError
from tutor.programs.jit import Jitted
from tutor.programs.source.text import functions_of, source

PIXELS = math.prod(SHAPES["train"][0][1:])

HEADERS = "#include <math.h>\n"
MORE_HEADERS = "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"

MAIN = """
/* Training: {batch} digits a step, in the order in which the files have them. */

enum {{ MEMORIES = {slots}, BATCH = {batch}, PIXELS = {pixels} }};

/* The bytes of each memory, and whether memory.bin has what stands in it at the beginning. */
static const int64_t nbytes[MEMORIES] = {{{nbytes}}};
static const char is_held[MEMORIES] = {{{held}}};

static void stop(const char *path, const char *why) {{
    fprintf(stderr, "%s: %s\\n", path, why);
    exit(1);
}}

static void fill(void *memory, int64_t count, FILE *file, const char *path) {{
    if (fread(memory, 1, count, file) != (size_t)count) stop(path, "it ends too early");
}}

static FILE *opened(const char *path) {{
    FILE *file = fopen(path, "rb");
    if (file == NULL) stop(path, "it cannot be read");
    return file;
}}

/* A number of an IDX file: four bytes, the highest first. */
static int64_t number(FILE *file, const char *path) {{
    uint8_t bytes[4];
    fill(bytes, 4, file, path);
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}}

int main(int argc, char **argv) {{
    if (argc < 4) {{
        fprintf(stderr, "usage: %s memory.bin IMAGES LABELS [STEPS], both unzipped\\n", argv[0]);
        return 2;
    }}
    void *memory[MEMORIES];
    FILE *state = opened(argv[1]), *images = opened(argv[2]), *labels = opened(argv[3]);
    for (int n = 0; n < MEMORIES; n++) {{
        memory[n] = calloc(1, nbytes[n] > 0 ? nbytes[n] : 1);
        if (memory[n] == NULL) stop(argv[0], "there is not so much memory");
        if (is_held[n]) fill(memory[n], nbytes[n], state, argv[1]);
    }}
    if (number(images, argv[2]) != 2051) stop(argv[2], "it has no images in the IDX format");
    if (number(labels, argv[3]) != 2049) stop(argv[3], "it has no labels in the IDX format");
    const int64_t count = number(images, argv[2]), rows = number(images, argv[2]);
    if (rows * number(images, argv[2]) != PIXELS) stop(argv[2], "its images have another size");
    if (number(labels, argv[3]) != count) stop(argv[3], "it has not one label for each image");
    const int64_t most = argc > 4 ? strtoll(argv[4], NULL, 10) : count / BATCH;
    {images} *x = memory[{x}];
    {labels} *y = memory[{y}];
    const float *loss = memory[{loss}];
    static uint8_t bytes[BATCH * PIXELS];
    for (int64_t step = 0; step < most && step < count / BATCH; step++) {{
        fill(bytes, BATCH * PIXELS, images, argv[2]);
        for (int64_t i = 0; i < BATCH * PIXELS; i++)
            x[i] = bytes[i]{scaled};
        fill(bytes, BATCH, labels, argv[3]);
        for (int64_t i = 0; i < BATCH; i++)
            y[i] = bytes[i];
        const int32_t refused = run(memory);
        if (refused >= 0) {{
            fprintf(stderr, "step %d of the Program found a number that it has no result for\\n",
                    (int)refused);
            return 1;
        }}
        printf("%lld %.9g\\n", (long long)step, *loss);
    }}
    return 0;
}}
"""


def write(step: Jitted, folder: str | Path) -> Path:
    """Write train.c and memory.bin into the folder, creating it; returns the path of train.c.

    RecordError for a function that has not been recorded yet, or does not fit MNIST: its arguments
    must be images, float32 from 0 to 1 or uint8, and integer labels, one for each image; its first
    result must be the loss, a float32; and it must have no step that `source` leaves to the library
    (random numbers, sorting, windows).
    """
    program, results = step.program, step._trace().results
    loss = results[0].slot if results else None
    at = {slot: n for n, slot in enumerate(program.slots)}
    inputs = [slot for slot in program.slots if slot.role == "input"]
    images = [s for s in inputs if s.dtype in (float32, uint8) and s.count % PIXELS == 0]
    labels = [s for s in inputs if s.dtype.is_integer and s not in images]
    batch = images[0].count // PIXELS if images else 0
    if len(inputs) != 2 or len(images) != 1 or [s.count for s in labels] != [batch]:
        found = ", ".join(f"{s.count} {s.dtype.name}" for s in inputs)
        raise _no_training(f"its arguments are {found or 'none'}",
                           f"give it images of {PIXELS} numbers, and as many labels")  # fmt: skip
    if loss is None or loss.count != 1 or loss.dtype is not float32:
        raise _no_training("what it returns first is not one float32", "return the loss")
    if None in functions_of(program):
        number = functions_of(program).index(None)
        raise _no_training(f"step {number}, {program.steps[number].kernel}, is the library's",
                           "leave out dropout and other random numbers")  # fmt: skip
    held = [slot for slot in program.slots if slot.role in ("state", "constant")]
    text = source(program).replace(HEADERS, MORE_HEADERS, 1) + MAIN.format(
        batch=batch, pixels=PIXELS, slots=len(at), x=at[images[0]], y=at[labels[0]], loss=at[loss],
        images=C99.stored[images[0].dtype], labels=C99.stored[labels[0].dtype],
        scaled="" if images[0].dtype is uint8 else " / 255.0f",
        nbytes=", ".join(str(slot.nbytes) for slot in program.slots),
        held=", ".join(str(int(slot in held)) for slot in program.slots),
    )  # fmt: skip
    to = Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    memory = [kept(slot.value, "what is to be written", reading=True).raw for slot in held]
    (to / "memory.bin").write_bytes(b"".join(part.tobytes() for part in memory))
    (to / "train.c").write_text(text, encoding="utf-8")
    return to / "train.c"


def _no_training(found: str, do: str) -> RecordError:
    return RecordError("to write a training step as a program on MNIST", found, do)
