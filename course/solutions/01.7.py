import struct


def pack(numbers, dtype):
    """The bytes of some numbers; those that do not fit the dtype are converted."""
    layout = f"{len(numbers)}{FORMATS[dtype]}"
    try:
        return struct.pack(layout, *numbers)
    except (struct.error, OverflowError):
        return struct.pack(layout, *[convert(x, dtype) for x in numbers])
