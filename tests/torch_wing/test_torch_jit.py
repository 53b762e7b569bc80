"""tutor.jit over a wing's training step: losses and parameters have the bits of eager steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import both

import tutor
import tutor.torch as torch
import tutor.torch.nn.functional as F  # noqa: N812

PROGRAMS = Path(__file__).parent / "programs"


def images(size: int, n: int = 6) -> Any:
    return torch.randn(n, 1, size, size)


def words(most: int, *shape: int) -> Any:
    return torch.randint(1, most, shape)


def adversaries(models: Any, of: Any, real: Any) -> Any:
    generator, critic = models
    fake = generator(torch.ones(6, 6, 1, 1))
    good, bad = critic(real).view(-1), critic(fake).view(-1)
    one = torch.ones_like(good)
    return F.binary_cross_entropy(good, one) + F.binary_cross_entropy(bad, 1 - one)


def diffusion(model: Any, of: Any, x: Any) -> Any:
    t = torch.arange(6)
    keep = of["extract"](model.alphas_cumprod, t, x.shape)
    noise = torch.ones_like(x)
    return F.smooth_l1_loss(noise, model(keep.sqrt() * x + (1 - keep).sqrt() * noise, t))


def distilled(models: Any, of: Any, x: Any) -> Any:
    with torch.no_grad():
        soft = F.softmax(models[1](x), dim=1)
    return F.kl_div(F.log_softmax(models[0](x), dim=1), soft, reduction="batchmean")


def coded(model: Any, of: Any, x: Any) -> Any:
    first, made, _ = model(x)
    return first + F.mse_loss(made, x)


def segmented(model: Any, of: Any, x: Any) -> Any:
    found = model(x)
    wanted = (x[:, 0] > 0).long()
    return F.cross_entropy(found, wanted) + of["dice_loss"](
        F.softmax(found, dim=1), F.one_hot(wanted, found.shape[1]).permute(0, 3, 1, 2).float()
    )


LOSSES = {  # by program: an input, and its loss
    "dcgan": (lambda: images(8), adversaries),
    "ddpm": (lambda: images(8), diffusion),
    "dqn": (lambda: torch.randn(8, 4), lambda m, of, x: m(x).max(1).values.pow(2).mean()),
    "lora": (lambda: torch.randn(8, 4), lambda m, of, x: F.cross_entropy(m(x), x.argmax(1) % 3)),
    "nanogpt": (lambda: words(17, 4, 16), lambda m, of, x: m(x, x.roll(1, 1))[1]),
    "padding_mask": (lambda: words(15, 6, 7), lambda m, of, x: F.cross_entropy(m(x), x.sum(1) % 3)),
    "resnet_amp": (lambda: images(8), lambda m, of, x: m(x).logsumexp(1).mean()),
    "simclr": (lambda: images(6), lambda m, of, x: of["nt_xent"](m(x), m(x.flip(-1)))),
    "unet_amp": (lambda: images(16), segmented),
    "vit": (lambda: images(8), distilled),
    "vqvae": (lambda: images(8), coded),
}  # fmt: skip
OPTIMIZERS = (
    lambda ps: torch.optim.Adam(ps, lr=1e-3, fused=True),
    lambda ps: torch.optim.SGD(ps, lr=1e-2, momentum=0.9, nesterov=True),
    lambda ps: torch.optim.AdamW(ps, lr=1e-3, amsgrad=True),
    lambda ps: torch.optim.RMSprop(ps, lr=1e-3, momentum=0.9),
)


def trained(name: str, compile_: Any) -> tuple[list[Any], Any]:
    """Losses of five steps, the parameters after them, and the step."""
    text = both.translated((PROGRAMS / f"{name}.py").read_text())
    of = both.namespace(text, f"{name}_jit")
    torch.manual_seed(0)
    models = of["build"]()
    row = models if isinstance(models, tuple) else (models,)
    parameters = [p for m in row for p in m.parameters() if p.requires_grad]
    optimizer = OPTIMIZERS[list(LOSSES).index(name) % len(OPTIMIZERS)](parameters)
    make, loss_of = LOSSES[name]

    def step(x: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(models, of, x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss

    run = compile_(step)
    found = [run(make()).item() for _ in range(5)]
    return [*found, *(p.numpy(force=True).tobytes() for p in parameters)], run


@pytest.mark.parametrize("name", LOSSES)
def test_a_recorded_step_leaves_the_bits_of_an_eager_one(name: str) -> None:
    wanted, _ = trained(name, lambda step: step)
    found, run = trained(name, tutor.jit)
    assert found == wanted and len(set(wanted[:5])) > 1
    assert isinstance(run(LOSSES[name][0]()), torch.Tensor)
    assert run.stats()["replayed"] >= 2, run.stats()


def test_a_compiled_module_trains_as_it_does_otherwise() -> None:
    def losses(change: Any) -> list[float]:
        torch.manual_seed(0)
        nn = torch.nn
        model = change(
            nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1))
        )
        assert isinstance(model, nn.Module) and "0.weight" in model.state_dict()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(torch.randn(6, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(torch.compile) == losses(lambda model: model)
    assert losses(torch.compile(fullgraph=True)) == losses(torch.compile(disable=True))
