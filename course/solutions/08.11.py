import struct


def read_idx(payload):
    """The numbers of an IDX file of unsigned bytes, as a tensor."""
    count = payload[3]  # of axes
    shape = struct.unpack_from(f">{count}I", payload, 4)  # > for the highest byte first
    t = zeros(shape, "uint8")
    t.buf.raw[:] = payload[4 + 4 * count :]
    return t
