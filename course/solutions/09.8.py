from contextlib import contextmanager


@contextmanager
def evaluating(model):
    """A block in which every Module of the model works as it does after training."""
    modules = [part for part in model.parts() if isinstance(part, Module)]
    before = [module.training for module in modules]
    model.train(False)
    try:
        yield model
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training
