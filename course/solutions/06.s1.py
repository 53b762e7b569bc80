class Freed:
    """Stands where an op was, when the walk has passed it."""

    inputs = ()

    def backward(self, g):
        raise ValueError("this graph was freed by a first walk; retain_graph=True keeps it")


class Freeing(Engine):
    """An Engine that lets go of the graph as soon as it has walked it."""

    def backward(self, root, create_graph=False, retain_graph=False):
        """As Engine does; afterwards the graph is gone, unless it is to be retained."""
        passed = [t for t in self.order(root) if t.op]
        super().backward(root, create_graph)
        if not (retain_graph or create_graph):
            for t in passed:
                t.op = Freed()
