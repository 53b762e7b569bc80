// The 60 lines of value.py once more, so that the page answers at once and needs no Python. The two are
// held equal by tests/docs/test_autograd_page.py: same numbers, same gradients, same kinds of error.
// Keep the order of what is computed as it is there.

export class PythonError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = kind;
  }
}

/** x ** n as Python has it for floats: JavaScript returns Infinity or NaN where Python raises. */
export function power(x, n) {
  if (n === 0 || x === 1) return 1;
  if (x === 0 && n < 0) throw new PythonError("ZeroDivisionError", `${x} ** ${n} divides by zero`);
  if (x < 0 && Number.isFinite(x) && Number.isFinite(n) && !Number.isInteger(n))
    throw new PythonError("TypeError", `${x} ** ${n} is a complex number`);
  if (x === -1 && !Number.isFinite(n) && !Number.isNaN(n)) return 1;
  return finite(x ** n, x, n, `${x} ** ${n}`);
}

function finite(result, x, n, what) {
  if (!Number.isFinite(result) && Number.isFinite(x) && Number.isFinite(n))
    throw new PythonError("OverflowError", `${what} is too large for a float`);
  return result;
}

/** f"{n:g}": six digits at most, and no zeros at the end. */
export function general(n) {
  if (!Number.isFinite(n)) return Number.isNaN(n) ? "nan" : n > 0 ? "inf" : "-inf";
  if (n === 0) return Object.is(n, -0) ? "-0" : "0";
  const [digits, exponent] = n.toExponential(5).split("e");
  if (exponent >= -4 && exponent < 6) return String(Number(n.toPrecision(6)));
  const sign = exponent < 0 ? "-" : "+";
  return `${Number(digits)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A number that remembers what it was computed from. */
export class Value {
  constructor(data, inputs = [], slopes = [], op = "") {
    this.data = data;
    this.grad = 0;
    this.inputs = inputs;
    this.slopes = slopes;
    this.op = op;
  }

  add(other) {
    const [x, y] = [this, asValue(other)];
    return new Value(x.data + y.data, [x, y], [1, 1], "+");
  }

  mul(other) {
    const [x, y] = [this, asValue(other)];
    return new Value(x.data * y.data, [x, y], [y.data, x.data], "*");
  }

  pow(n) {
    if (n instanceof Value)
      throw new PythonError("TypeError", "an exponent is a plain number here, not a Value");
    const slope = n ? n * power(this.data, n - 1) : 0;
    return new Value(power(this.data, n), [this], [slope], `**${general(n)}`);
  }

  exp() {
    const z = finite(Math.exp(this.data), this.data, 0, `exp(${this.data})`);
    return new Value(z, [this], [z], "exp");
  }

  log() {
    if (this.data <= 0)
      throw new PythonError("ValueError", `log(${this.data}): only positive numbers have one`);
    return new Value(Math.log(this.data), [this], [1 / this.data], "log");
  }

  tanh() {
    const z = Math.tanh(this.data);
    return new Value(z, [this], [1 - z * z], "tanh");
  }

  relu() {
    return new Value(0 > this.data ? 0 : this.data, [this], [Number(this.data > 0)], "relu");
  }

  neg() { return this.mul(-1); }
  sub(y) { return this.add(asValue(y).mul(-1)); }
  rsub(y) { return this.mul(-1).add(y); }
  div(y) { return this.mul(asValue(y).pow(-1)); }
  rdiv(y) { return this.pow(-1).mul(y); }

  backward() {
    this.grad = 1;
    for (const value of this.order([]).reverse())
      value.inputs.forEach((x, i) => { x.grad += value.grad * value.slopes[i]; });
  }

  order(found) {
    if (!found.includes(this)) {
      for (const x of this.inputs) x.order(found);
      found.push(this);
    }
    return found;
  }
}

export function asValue(x) {
  return x instanceof Value ? x : new Value(x);
}
