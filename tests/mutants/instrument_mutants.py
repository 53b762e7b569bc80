"""Bugs in the instruments of Part III: listings of machine code, counters, labs."""

from mutant import Mutant

CODE, LISTING = "tutor/profiler/machine_code.py", "tutor/profiler/listing.py"
CODE_TESTS = "profiler/test_machine_code.py"
COUNTERS, CACHEGRIND = "tutor/profiler/counters.py", "tutor/profiler/cachegrind.py"
LAB = "course/lab.py"

INSTRUMENT_MUTANTS = [
    # ---- listings --------------------------------------------------------------------------------
    Mutant(
        "the outer loop is listed, too", CODE,
        "if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in real)",
        "if codes",
        CODE_TESTS, "instructions that run once a row are shown as if they ran for each element",
    ),
    Mutant(
        "a way out of a loop is listed with it", CODE,
        "            return [code for code in codes if code.address in kept]",
        "            return codes",
        CODE_TESTS, "half of the loop of add is what happens after it",
    ),
    Mutant(
        "a jump back to a way out is a loop", CODE,
        "if body[0] is codes[a] and any(", "if any(",
        CODE_TESTS, "what runs once is shown as a loop",
    ),
    Mutant(
        "kernels behind a table are not looked at", CODE,
        "waiting += [place] if place in functions else _listed_at(base, place, functions)",
        "waiting += [place]",
        CODE_TESTS, "the listing of a product is that of one vector, not of the micro-kernel",
    ),
    Mutant(
        "the line is that of the outermost call", CODE,
        "            if line is None and HERE in frame[1]:", "            if HERE in frame[1]:",
        CODE_TESTS, "each instruction comes from the loop, none from the formula",
    ),
    Mutant(
        "stored lines are put to other instructions", LISTING,
        "    if known and [line.instruction for line in known.lines] == [",
        "    if known or [line.instruction for line in lines] != [",
        "profiler/test_listing.py", "a build by another compiler is shown with lines of this one",
    ),
    # ---- counters --------------------------------------------------------------------------------
    Mutant(
        "a count that cannot start stays open", COUNTERS,
        "                os.close(self._open.pop(name))", "                self._open.pop(name)",
        "profiler/test_counters.py", "a loop of measurements runs out of descriptors",
    ),
    Mutant(
        "an interrupt leaves counters open", COUNTERS,
        "            self._close()\n            raise", "            raise",
        "profiler/test_counters.py", "they count on, and the block cannot be used again",
    ),
    Mutant(
        "an interrupt at the end leaves counters open", COUNTERS,
        "        finally:\n            self._close()",
        "        finally:\n            self._open = {}",
        "profiler/test_counters.py", "they count on, and the block cannot be used again",
    ),
    Mutant(
        "only loads miss", CACHEGRIND, '("D1mr", "D1mw")', '("D1mr",)',
        "profiler/test_cachegrind.py", "a transpose that writes by columns seems to be free",
    ),
    Mutant(
        "the caches are the machine's", CACHEGRIND,
        '        asked += [f"--{cache}={geometry}" for cache, geometry in CACHES.items()]\n', "",
        "profiler/test_cachegrind.py", "the same program has other counts on the next machine",
    ),
    # ---- labs ------------------------------------------------------------------------------------
    Mutant(
        "a busy machine is judged", LAB,
        "        if max(before, after) <= 1.15 * min(before, after):", "        if best:",
        "course/test_lab.py", "what another program takes is blamed on a flag of the compiler",
        "probes or busy",
    ),
    Mutant(
        "only a machine that slows down is busy", LAB,
        "        if max(before, after) <= 1.15 * min(before, after):",
        "        if after <= 1.15 * before:",
        "course/test_lab.py", "the first candidates are measured while something else still runs",
        "probes",
    ),
    Mutant(
        "candidates do not take turns", LAB,
        "best = [min(known, seconds(work)) for known, work in zip(best, works, strict=True)]",
        "best = [min([k, *(seconds(w) for _ in range(TRIES))]) for k, w in zip(best, works)]",
        "course/test_lab.py", "one of them meets all of what disturbs", "turns",
    ),
    Mutant(
        "the ratio is upside down", LAB,
        "return base / took if faster else took / base",
        "return took / base if faster else base / took",
        "course/test_lab.py", "-Ofast is shown as four times as slow", "ratio",
    ),
    Mutant(
        "flags reach the linker", LAB,
        'self._run(["-shared", code', 'self._run([*flags, "-shared", code',
        "course/test_lab.py", "GCC 12 links what flushes denormal numbers for all of the process",
        "linked",
    ),
    Mutant(
        "a guess changes at the first mistake", LAB,
        "wrong += (state >= 2) != way", "wrong += (state >= 1) != way",
        "course/test_lab.py", "the end of each loop costs two wrong guesses", "counter",
    ),
]  # fmt: skip
