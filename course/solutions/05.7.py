def record(op):
    """Run the op; let its result remember it where somebody may ask for a gradient."""
    out = run(op)
    if out.buf.dtype in LIMITS and any(x.requires_grad for x in op.inputs):
        out.op, out.requires_grad = op, True
    return out
