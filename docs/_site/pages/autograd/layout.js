// Where the boxes stand: in layers, each op one layer behind the latest of its inputs, each leaf just
// before its first reader; long edges bend through the layers between. Few crossings by the usual
// trick: each box goes to the mean place of its neighbours, some times over, one way and the other.

const SWEEPS = 12;

/** { at: [{layer, slot}] per node, bends: Map("to:i" -> [{layer, slot}]), layers, slots } */
export function arrange(nodes) {
  const layer = nodes.map(() => 0);
  for (const node of nodes)
    if (node.inputs.length) layer[node.id] = 1 + Math.max(...node.inputs.map((i) => layer[i]));
  for (const node of nodes) {
    if (node.inputs.length) continue;
    const readers = nodes.filter((n) => n.inputs.includes(node.id)).map((n) => layer[n.id]);
    if (readers.length) layer[node.id] = Math.min(...readers) - 1;
  }

  // A place is a node, or the bend of a long edge in one layer.
  const places = nodes.map((node) => ({ layer: layer[node.id], before: [], after: [], slot: 0 }));
  const chains = new Map();
  const link = (a, b) => { a.after.push(b); b.before.push(a); };
  for (const node of nodes)
    node.inputs.forEach((input, i) => {
      const chain = [];
      let from = places[input];
      for (let l = layer[input] + 1; l < layer[node.id]; l++) {
        const bend = { layer: l, before: [], after: [], slot: 0, bend: true };
        link(from, bend);
        chain.push(bend);
        from = bend;
      }
      link(from, places[node.id]);
      chains.set(`${node.id}:${i}`, chain);
    });

  const all = [...places, ...[...chains.values()].flat()];
  const layers = 1 + Math.max(...all.map((p) => p.layer));
  const rows = Array.from({ length: layers }, (_, l) => all.filter((p) => p.layer === l));
  rows.forEach((row) => row.forEach((p, i) => { p.slot = i; }));
  const mean = (list) => list.reduce((sum, p) => sum + p.slot, 0) / list.length;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    for (const row of forward ? rows : [...rows].reverse()) {
      const wish = new Map(row.map((p) => {
        const near = forward ? p.before : p.after;
        return [p, near.length ? mean(near) : p.slot];
      }));
      row.sort((a, b) => wish.get(a) - wish.get(b));
      spread(row, wish);
    }
  }
  const low = Math.min(...all.map((p) => p.slot));
  for (const p of all) p.slot -= low;
  return { at: places, bends: chains, layers, slots: 1 + Math.max(...all.map((p) => p.slot)) };
}

/** As near to the wishes as can be with a distance of 1 between boxes (bends may be nearer). */
function spread(row, wish) {
  const gap = (a, b) => (a.bend && b.bend ? 0.5 : a.bend || b.bend ? 0.75 : 1);
  const blocks = []; // neighbours that touch move as one, to the mean of what they wish
  for (const p of row) {
    let block = { items: [p], offsets: [0], sum: wish.get(p), length: 0 };
    while (blocks.length) {
      const before = blocks.at(-1);
      const step = gap(before.items.at(-1), block.items[0]);
      const start = block.sum / block.items.length;
      if (before.sum / before.items.length + before.length + step <= start + 1e-9) break;
      blocks.pop();
      const shift = before.length + step;
      block = {
        items: [...before.items, ...block.items],
        offsets: [...before.offsets, ...block.offsets.map((o) => o + shift)],
        sum: before.sum + block.sum - shift * block.items.length,
        length: shift + block.length,
      };
    }
    blocks.push(block);
  }
  for (const { items, offsets, sum } of blocks)
    items.forEach((p, i) => { p.slot = sum / items.length + offsets[i]; });
}
