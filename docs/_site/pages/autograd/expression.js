// The Python that one may write into the page: lines such as `y = x * w + b`, of names, numbers,
// + - * / ** ( ) and .exp() .log() .tanh() .relu(). Names that nobody has set are the numbers to drag.
//
//   const program = parse("y = x * w\n(y - 3) ** 2");
//   program.free                       // ["x", "w"]
//   run(program, { x: 2, w: 0.5 })     // { root: Value, leaves: Map, named: Map }

import { PythonError, Value, power } from "./value.js";

const METHODS = ["exp", "log", "tanh", "relu"];
const TOKEN = /[ \t]*(?:(#[^\n]*)|((?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|(\*\*|[-+*\/().=\n;])|(\S))/uy;
const MOST = 60; // operations: more cannot be read in a picture

function tokens(source) {
  const found = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  while (at < source.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (!match) break; // spaces at the end
    at = TOKEN.lastIndex;
    const [, comment, number, name, sign, other] = match;
    if (other !== undefined) throw wrong(`"${other}" is not known here`);
    if (number !== undefined) found.push({ kind: "number", value: Number(number.replaceAll("_", "")) });
    else if (name !== undefined) found.push({ kind: "name", value: name });
    else if (comment === undefined) found.push({ kind: sign === ";" ? "\n" : sign });
  }
  return found;
}

function wrong(what) {
  return new PythonError("SyntaxError", `${what}. Write names, numbers, + - * / ** ( ) and ` +
    METHODS.map((m) => `.${m}()`).join(" "));
}

/** The statements as trees, and the names that are used before they are set. */
export function parse(source) {
  const list = tokens(source);
  let at = 0;
  const next = () => list[at]?.kind;
  const take = (kind) => {
    if (next() !== kind) throw wrong(`${kind} is missing ${list[at] ? `before ${shown(list[at])}` : "at the end"}`);
    return list[at++];
  };
  const shown = (token) => (token.value === undefined ? (token.kind === "\n" ? "the end of the line" : token.kind) : token.value);

  const sum = () => chain(product, ["+", "-"]);
  const product = () => chain(factor, ["*", "/"]);
  function chain(part, signs) {
    let left = part();
    while (signs.includes(next())) left = { op: list[at++].kind, left, right: part() };
    return left;
  }
  function factor() {
    if (next() === "-" || next() === "+") return { op: `unary ${list[at++].kind}`, left: factor() };
    const base = call();
    return next() === "**" ? (at++, { op: "**", left: base, right: factor() }) : base;
  }
  function call() {
    let value = atom();
    while (next() === ".") {
      at++;
      const name = take("name").value;
      if (!METHODS.includes(name)) throw wrong(`.${name} is not known here`);
      take("(");
      take(")");
      value = { op: name, left: value };
    }
    return value;
  }
  function atom() {
    if (next() === "number") return { number: list[at++].value };
    if (next() === "name") return { name: list[at++].value };
    if (next() === "(") {
      at++;
      const inside = sum();
      take(")");
      return inside;
    }
    throw wrong(list[at] ? `${shown(list[at])} cannot stand here` : "something is missing at the end");
  }

  const statements = [];
  while (at < list.length) {
    if (next() === "\n") { at++; continue; }
    const target = next() === "name" && list[at + 1]?.kind === "=" ? list[at].value : null;
    if (target !== null) at += 2;
    statements.push({ target, tree: sum() });
    if (at < list.length) {
      if (next() !== "\n") throw wrong(`${shown(list[at])} cannot stand here`);
      at++;
    }
  }
  if (!statements.length) throw wrong("there is nothing to compute");
  return { statements, free: free(statements) };
}

function free(statements) {
  const set = new Set(), found = [];
  const visit = (tree) => {
    if (tree.name !== undefined && !set.has(tree.name) && !found.includes(tree.name)) found.push(tree.name);
    if (tree.left) visit(tree.left);
    if (tree.right) visit(tree.right);
  };
  for (const { target, tree } of statements) {
    visit(tree);
    if (target !== null) set.add(target);
  }
  return found;
}

/** Compute: `root` is the last line's Value, `leaves` has the free names, `named` all names. */
export function run(program, numbers) {
  const leaves = new Map(program.free.map((name) => [name, new Value(Number(numbers[name] ?? 1))]));
  const named = new Map(leaves);
  let last = null;
  for (const { target, tree } of program.statements) {
    last = compute(tree, named);
    if (target !== null) named.set(target, last);
  }
  if (!(last instanceof Value))
    throw new PythonError("TypeError", "this is a plain number: without a name in it, there is nothing to drag");
  if (last.order([]).length > 2 * MOST)
    throw new PythonError("ValueError", `this has more than ${MOST} operations: too many for a picture`);
  return { root: last, leaves, named };
}

function compute(tree, named) {
  if (tree.number !== undefined) return tree.number;
  if (tree.name !== undefined) return named.get(tree.name);
  const x = compute(tree.left, named);
  const y = tree.right && compute(tree.right, named);
  const mine = x instanceof Value, theirs = y instanceof Value;
  switch (tree.op) {
    case "+": return mine ? x.add(y) : theirs ? y.add(x) : x + y;
    case "*": return mine ? x.mul(y) : theirs ? y.mul(x) : x * y;
    case "-": return mine ? x.sub(y) : theirs ? y.rsub(x) : x - y;
    case "/":
      if (mine) return x.div(y);
      if (theirs) return y.rdiv(x);
      if (y === 0) throw new PythonError("ZeroDivisionError", `${x} / ${y} divides by zero`);
      return x / y;
    case "**":
      if (mine) return x.pow(y);
      if (theirs) throw new PythonError("TypeError", "an exponent is a plain number here, not a Value");
      return power(x, y);
    case "unary -": return mine ? x.neg() : -x;
    case "unary +":
      if (mine) throw new PythonError("TypeError", "a Value has no unary +: leave it out");
      return x;
    default:
      if (!mine) throw new PythonError("AttributeError", `a plain number has no .${tree.op}()`);
      return x[tree.op]();
  }
}
