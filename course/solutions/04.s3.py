class Remembering(Registry):
    """A Registry that looks up each name and dtype once, as long as nothing has changed."""

    def __init__(self):
        super().__init__()
        self.found = {}  # (name, dtype) -> kernel, on the backend that is in use
        self.known = self.backend  # the backend that `found` is about

    def register(self, *args, **kwargs):
        super().register(*args, **kwargs)
        self.found.clear()

    def lookup(self, name, dtype):
        if self.known != self.backend:
            self.found.clear()
            self.known = self.backend
        if (name, dtype) not in self.found:
            self.found[name, dtype] = super().lookup(name, dtype)
        return self.found[name, dtype]
