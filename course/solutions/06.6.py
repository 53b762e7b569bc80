from contextlib import contextmanager


@contextmanager
def no_grad():
    """A block in which nothing is recorded."""
    before, engine.recording = engine.recording, False
    try:
        yield
    finally:
        engine.recording = before
