class Module:
    """Something that holds parameters, or others that do."""

    training = True

    def parts(self):
        """Itself, what it holds, what that holds, and so on: each once, in order."""
        found, waiting = {}, [self]
        while waiting:
            part = waiting.pop()
            if id(part) in found:
                continue
            found[id(part)] = part
            inside = []
            if isinstance(part, dict):
                inside = list(part.values())
            elif isinstance(part, list | tuple):
                inside = list(part)
            elif hasattr(part, "__dict__") and not isinstance(part, Tensor | type):
                inside = list(vars(part).values())
            waiting += reversed(inside)  # the first of them is looked at next
        return list(found.values())

    def parameters(self):
        return [t for t in self.parts() if isinstance(t, Tensor) and t.requires_grad]

    def train(self, on=True):
        for part in self.parts():
            if isinstance(part, Module):
                part.training = on
        return self
