// The film: what is to be seen after each step, forward op by op, then backward op by op. Pure data.

/** Every Value behind `root` once, with a number, a label and what kind of box it is. */
export function nodesOf(root, leaves, named) {
  const values = root.order([]);
  const names = new Map();
  for (const [name, value] of named) names.set(value, name);
  const leaf = new Set(leaves.values());
  return values.map((value, id) => ({
    id, value,
    name: names.get(value) ?? "",
    kind: value.op ? "op" : leaf.has(value) ? "leaf" : "constant",
    inputs: value.inputs.map((x) => values.indexOf(x)),
  }));
}

/**
 * The frames. Each has: `kind` (start, forward, seed, backward, done), the node it is about, the nodes
 * whose number is `known`, the gradients so far, and for a visit its `shares`: what goes along each edge.
 */
export function framesOf(nodes) {
  const known = new Set(nodes.filter((n) => n.kind !== "op").map((n) => n.id));
  const grads = new Map();
  const frames = [];
  const push = (kind, node = null, shares = []) =>
    frames.push({ kind, node, shares, known: new Set(known), grads: new Map(grads) });

  push("start");
  for (const node of nodes) {
    if (node.kind !== "op") continue;
    known.add(node.id);
    push("forward", node.id);
  }
  const last = nodes.length - 1;
  grads.set(last, 1);
  push("seed", last);
  for (const node of [...nodes].reverse()) {
    if (node.kind !== "op") continue;
    const g = grads.get(node.id) ?? 0;
    const shares = node.inputs.map((to, i) => {
      const slope = node.value.slopes[i];
      grads.set(to, (grads.get(to) ?? 0) + g * slope);
      return { edge: i, to, g, slope, share: g * slope };
    });
    push("backward", node.id, shares);
  }
  push("done");
  return frames;
}

/** A number for people: four digits, no zeros at the end. */
export function short(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  const shown = Number(x.toPrecision(4));
  const size = Math.abs(shown);
  if (shown === 0) return "0";
  return size >= 1e6 || size < 1e-4 ? shown.toExponential(1).replace("e+", "e") : String(shown);
}

/** What a node is called in words: its name, else its op and value. */
export function called(node) {
  return node.name || (node.kind === "op" ? node.value.op : short(node.value.data));
}

/** One sentence for a frame: the caption, and what a screen reader hears. */
export function sentence(frame, nodes) {
  const node = nodes[frame.node];
  const title = node && (node.kind === "op" && node.name ? `${node.value.op} (${node.name})` : called(node));
  switch (frame.kind) {
    case "start": return "The numbers you gave. Nothing is computed yet.";
    case "forward":
      return `Forward: ${title} of ${node.inputs.map((i) => short(nodes[i].value.data)).join(" and ")} is ${short(node.value.data)}. ` +
        `It remembers its inputs, and how fast it grows with each: ${node.value.slopes.map(short).join(" and ")}.`;
    case "seed": return `Backward begins at the result: it grows as fast as itself. Its gradient is 1.`;
    case "backward":
      return `Backward through ${title}: ` + frame.shares.map((s) =>
        `${called(nodes[s.to])} gets ${short(s.g)} × ${short(s.slope)} = ${short(s.share)}`).join("; ") + ".";
    default: return "Done: every number knows how fast the result grows with it. Now move one.";
  }
}
