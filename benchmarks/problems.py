"""What is done with the networks of networks.py: their inputs, a training step, one answer.

As there, `lib` is `torch` or `tutor`, and nothing of either is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks import networks

Inputs = tuple[Any, ...]
Loss = Callable[..., Any]  # (lib, model, *inputs) -> the loss


class Problem(NamedTuple):
    """A network, and what it learns. `make(lib, **sizes)` is the model, `small` has sizes for a
    test; `inputs(lib, batch)` is a batch. `loss` is None where `Adversaries` take the steps.

    `rate` is the optimizer's: large enough that two steps change the loss by far more than
    `tolerance`, by which libraries may differ, and small enough that rounding errors stay small.
    """

    make: Callable[..., Any]
    inputs: Callable[[Any, int], Inputs]
    loss: Loss | None
    optimizer: str
    rate: float
    batch: int
    small: dict[str, Any]
    sizes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    tolerance: float = 1e-4  # of the largest loss, float32

    def model(self, lib: Any, small: bool, **options: Any) -> Any:
        return self.make(lib, **{**self.sizes, **(self.small if small else {}), **options})

    def batches(self, lib: Any, small: bool, answer: bool = False) -> Inputs:
        """The inputs of a step, or of one answer."""
        return self.inputs(lib, 1 if answer else 2 if small else self.batch)

    def trainer(self, lib: Any, model: Any) -> Trainer:
        return Trainer(lib, model, self) if self.loss else Adversaries(lib, model, self)


# ---- inputs and losses ---------------------------------------------------------------------------


def images(lib: Any, batch: int) -> Inputs:
    return lib.randn(batch, 3, 32, 32), lib.randint(0, 10, (batch,))


def digits(lib: Any, batch: int) -> Inputs:
    return lib.rand(batch, 784), lib.randint(0, 10, (batch,))


def segmented(lib: Any, batch: int) -> Inputs:
    return lib.randn(batch, 3, 32, 32), lib.randint(0, 4, (batch, 32, 32))


def noisy(lib: Any, batch: int) -> Inputs:
    """Images, noise, and times from 0 to 1."""
    return lib.randn(batch, 3, 32, 32), lib.randn(batch, 3, 32, 32), lib.rand(batch)


def codes(lib: Any, batch: int) -> Inputs:
    """Images and codes of images."""
    return lib.rand(batch, 3, 32, 32) * 2 - 1, lib.randn(batch, 64, 1, 1)


def ratings(lib: Any, batch: int) -> Inputs:
    return lib.randint(0, 50_000, (batch,)), lib.randint(0, 20_000, (batch,)), lib.rand(batch)


def text(places: int) -> Callable[[Any, int], Inputs]:
    """Characters, and those that follow them."""
    return lambda lib, batch: (
        lib.randint(0, 65, (batch, places)), lib.randint(0, 65, (batch * places,))
    )  # fmt: skip


def classes(lib: Any, model: Any, x: Any, y: Any) -> Any:
    return lib.nn.functional.cross_entropy(model(x), y)


def rating(lib: Any, model: Any, user: Any, item: Any, y: Any) -> Any:
    return lib.nn.functional.mse_loss(model(user, item), y)


def noise(lib: Any, model: Any, x: Any, e: Any, t: Any) -> Any:
    """e is told from cos(a) x + sin(a) e."""
    a = (t * (math.pi / 2))[:, None, None, None]
    return lib.nn.functional.mse_loss(model(lib.cos(a) * x + lib.sin(a) * e, t * 1000), e)


# ---- steps ---------------------------------------------------------------------------------------


OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9}, "AdamW": {"weight_decay": 0.01}, "Adam": {"betas": (0.5, 0.999)},
}  # fmt: skip


def optimizer(lib: Any, problem: Problem, model: Any) -> Any:
    """Each library's fastest: PyTorch's Adam is fused, and its SGD takes all parameters at once."""
    options = dict(OPTIONS[problem.optimizer])
    if lib.__name__ == "torch":
        options["foreach" if problem.optimizer == "SGD" else "fused"] = True
    make = getattr(lib.optim, problem.optimizer)
    return make(list(model.parameters()), lr=problem.rate, **options)


class Trainer:
    """A model and its optimizer. `step` gives the losses, a list."""

    def __init__(self, lib: Any, model: Any, problem: Problem) -> None:
        self.lib, self.model, self.loss = lib, model, problem.loss
        self.optimizer = optimizer(lib, problem, model)

    def step(self, *inputs: Any) -> list[Any]:
        assert self.loss is not None
        self.optimizer.zero_grad()
        loss = self.loss(self.lib, self.model, *inputs)
        loss.backward()
        self.optimizer.step()
        return [loss.detach()]


class Adversaries(Trainer):
    """DCGAN's step: who tells images apart learns first, then who draws them."""

    def __init__(self, lib: Any, model: Any, problem: Problem) -> None:
        self.lib = lib
        self.draw, self.tell = model
        self.optimizers = [optimizer(lib, problem, part) for part in model]

    def judged(self, images: Any, real: bool) -> Any:
        """How far the second network is from saying of all that they are real, or drawn."""
        scores = self.tell(images)
        wanted = self.lib.ones_like(scores) if real else self.lib.zeros_like(scores)
        return self.lib.nn.functional.binary_cross_entropy_with_logits(scores, wanted)

    def step(self, *inputs: Any) -> list[Any]:
        images, codes = inputs
        of_draw, of_tell = self.optimizers
        drawn = self.draw(codes)
        of_tell.zero_grad()
        telling = self.judged(images, True) + self.judged(drawn.detach(), False)
        telling.backward()
        of_tell.step()
        of_draw.zero_grad()
        drawing = self.judged(drawn, True)
        drawing.backward()
        of_draw.step()
        return [telling.detach(), drawing.detach()]


def answering(lib: Any, model: Any) -> Callable[[Any], Any]:
    """The model in mode eval(), without a graph."""
    model.eval()

    def answer(x: Any) -> Any:
        with lib.no_grad():
            return model(x)

    return answer


# ---- rows ----------------------------------------------------------------------------------------

SMALL = {"width": 8}
TINY_GPT = {"width": 16, "layers": 1, "heads": 2}
PROBLEMS = {
    "ResNet-18": Problem(networks.resnet18, images, classes, "SGD", 1e-3, 16, SMALL),
    "VGG-11": Problem(networks.vgg11, images, classes, "SGD", 1e-3, 16, SMALL),
    "U-Net": Problem(networks.unet, segmented, classes, "AdamW", 1e-3, 8, {"widths": (4, 8)}),
    "diffusion U-Net": Problem(networks.denoiser, noisy, noise, "AdamW", 1e-3, 8, SMALL),
    "DCGAN": Problem(
        networks.dcgan, codes, None, "Adam", 2e-4, 16, {"width": 4}, tolerance=2e-3
    ),  # where a gradient is only rounding errors, Adam still takes a step of full length
    "LSTM 256": Problem(
        networks.recurrent, text(64), classes, "AdamW", 1e-3, 32, SMALL, {"kind": "LSTM"}
    ),
    "GRU 256": Problem(
        networks.recurrent, text(64), classes, "AdamW", 1e-3, 32, SMALL, {"kind": "GRU"}
    ),
    "nanoGPT 6 x 384": Problem(
        networks.nanogpt, text(128), classes, "AdamW", 1e-3, 8, TINY_GPT
    ),
    "ViT 6 x 192": Problem(networks.vit, images, classes, "AdamW", 1e-3, 16, TINY_GPT),
    "MLP 4 x 1024, dropout": Problem(networks.mlp, digits, classes, "SGD", 0.05, 256, SMALL),
    "recommender 70,000 x 32": Problem(
        networks.recommender, ratings, rating, "SGD", 1e-2, 512, {"width": 4}
    ),
}  # fmt: skip
ANSWERS = ("LSTM 256", "MLP 4 x 1024, dropout", "ResNet-18", "nanoGPT 6 x 384")
