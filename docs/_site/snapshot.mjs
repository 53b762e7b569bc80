// Python's memory as it is when the library has been imported: a page that begins with it has Python
// in a fraction of the time. build.py calls it with the folder of the site.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const site = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(`${site}/pyodide/pyodide.mjs`));
const library = new Uint8Array(readFileSync(`${site}/tutor.zip`));

// All that the first cells need: the library, and what the chapters add to that of the learner.
// No more: a snapshot cannot be larger than the memory that Python begins with, which is seen below.
const FIRST = `
import course.packing, course.unrun, tutor.viz
from course.kernel import settle
from course.library import saving

settle()
saving.everything()
`;

/** A Python that has run `code`, and what that gave. */
async function having(code, options) {
  const python = await loadPyodide({ indexURL: `${site}/pyodide/`, ...options });
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(library, "zip", { extractDir: packages });
  return [python, python.runPython(code)];
}

/** The memory of a Python that has run `code`; it is tried, for one that is too large does not load. */
async function memoryOf(code) {
  const [python] = await having(code, { _makeSnapshot: true });
  const memory = python.makeMemorySnapshot();
  await loadPyodide({ indexURL: `${site}/pyodide/`, _loadSnapshot: memory });
  return memory;
}

/**
 * The same with only what the library imports of Python. What it imports of itself is added to the
 * archive of the library as bytecode, so that the page need not compile it.
 */
async function leanMemory() {
  const [python, names] = await having(`import sys
before = set(sys.modules)
${FIRST}
import py_compile, zipfile
mine = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in ("tutor", "course")}
root = sys.modules["tutor"].__file__.removesuffix("tutor/__init__.py")
with zipfile.ZipFile("/tmp/bytecode.zip", "w") as archive:
    for file in sorted({m.__file__ for m in mine.values() if getattr(m, "__file__", None)}):
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        archive.write(made := py_compile.compile(file, invalidation_mode=mode), made[len(root):])
" ".join(n for n in sys.modules if not {n, n.partition(".")[0]} & {*before, *mine, "__main__"})`);
  writeFileSync(`${site}/bytecode.zip`, python.FS.readFile("/tmp/bytecode.zip"));
  return memoryOf(`import importlib
for name in ${JSON.stringify(names)}.split():
    importlib.import_module(name)`);
}

// The library looks for its compiled backend when it is imported, and a snapshot cannot hold that:
// where the site has it, the page imports the library.
const compiled = statSync(`${site}/simd.wasm`).size > 0;
const memory = compiled ? await leanMemory() : await memoryOf(FIRST).catch(leanMemory);
writeFileSync(`${site}/tutor.snapshot`, gzipSync(memory, { level: 9 }));
process.exit(0);
