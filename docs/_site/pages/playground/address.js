// Code in an address: packed by deflate, in the letters that an address may have.
//
//   location.hash = await pack("print(1)");      // "code=KyjKzCvRMNQEAA"
//   await unpack("code=KyjKzCvRMNQEAA")          // "print(1)", or null for what is no code

const MOST = 200_000; // characters: whoever makes an address could pack a thousand times as many

async function through(stream, bytes) {
  const source = new Blob([bytes]).stream().pipeThrough(stream);
  const parts = [];
  let size = 0;
  for (const reader = source.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) { await reader.cancel(); throw new RangeError("too long"); }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The fragment of an address that has this code. */
export async function pack(code) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(code));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `code=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The code of such a fragment (with its "#" or without); null where it has none, or was cut. */
export async function unpack(fragment) {
  const [, letters] = /^#?code=([\w-]+)$/.exec(fragment) ?? [];
  if (letters === undefined) return null;
  try {
    const text = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const code = await through(new DecompressionStream("deflate-raw"), bytes);
    return new TextDecoder("utf-8", { fatal: true }).decode(code);
  } catch {
    return null;
  }
}
