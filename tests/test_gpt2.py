"""examples/gpt2.py reads a file of Hugging Face's names, and gives PyTorch's logits."""

from __future__ import annotations

import json
import math
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"
save_file = pytest.importorskip("safetensors.torch").save_file

from tutor import Tensor, no_grad  # noqa: E402
from tutor.data.gpt2_bpe import CHARACTERS, GPT2BPE  # noqa: E402
from tutor.errors import DataError  # noqa: E402

ROOT = Path(__file__).parents[1]
EXAMPLE: Any = runpy.run_path(str(ROOT / "examples" / "gpt2.py"))
GPT2: Any = EXAMPLE["GPT2"]
VOCABULARY, PLACES, WIDTH, LAYERS, HEADS = 23, 16, 24, 3, 4


def weights() -> dict[str, Any]:
    """A small random model, with the names and shapes of Hugging Face's files."""
    draw = torch.Generator().manual_seed(0)

    def numbers(*shape: int) -> Any:
        return torch.randn(*shape, generator=draw) * 0.3

    def pair(name: str, *shape: int) -> dict[str, Any]:
        return {f"{name}.weight": numbers(*shape), f"{name}.bias": numbers(shape[-1])}

    found = {"wte.weight": numbers(VOCABULARY, WIDTH), "wpe.weight": numbers(PLACES, WIDTH)}
    for i in range(LAYERS):
        for part, shape in {
            "ln_1": (WIDTH,), "attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH),
            "ln_2": (WIDTH,), "mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH),
        }.items():  # fmt: skip
            found.update(pair(f"h.{i}.{part}", *shape))
        found[f"h.{i}.attn.bias"] = torch.ones(1, 1, PLACES, PLACES).tril()  # a mask
    return {**found, **pair("ln_f", WIDTH)}


def logits(w: dict[str, Any], tokens: Any) -> Any:
    """The architecture, written with PyTorch's functions."""
    f = torch.nn.functional

    def norm(x: Any, name: str) -> Any:
        return f.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    def linear(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    n, t = tokens.shape
    x = w["wte.weight"][tokens] + w["wpe.weight"][:t]
    for i in range(LAYERS):
        each = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(WIDTH, 2)
        q, k, v = (a.reshape(n, t, HEADS, -1).transpose(1, 2) for a in each)
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        later = torch.ones(t, t, dtype=torch.bool).triu(1)
        told = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        x = x + linear(told.transpose(1, 2).reshape(n, t, WIDTH), f"h.{i}.attn.c_proj")
        hidden = f.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(hidden, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


@pytest.fixture(params=["transformer.", ""])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Published files have the prefix, or not, and sometimes the last layer once more."""
    named = {request.param + name: t for name, t in weights().items()}
    if request.param:
        named["lm_head.weight"] = named["transformer.wte.weight"].clone()
    save_file(named, tmp_path / "model.safetensors", {"format": "pt"})
    (tmp_path / "config.json").write_text(json.dumps({"n_head": HEADS}))
    return tmp_path / "model.safetensors"


TOKENS = [[3, 1, 4, 1, 5, 9, 2, 6], [22, 0, 0, 21, 7, 7, 8, 1]]


def test_the_logits_are_those_of_pytorch(file: Path) -> None:
    model = GPT2.from_safetensors(file)
    assert not model.training and len(model.h) == LAYERS
    with no_grad():
        found = torch.tensor(model(Tensor(TOKENS)).numpy())
    wanted = logits(weights(), torch.tensor(TOKENS))
    assert (found - wanted).abs().max() < 2e-5 < wanted.abs().max()


def test_how_many_heads_there_are_is_said_or_read(file: Path) -> None:
    file.with_name("config.json").unlink()
    assert GPT2.from_safetensors(file, heads=HEADS).h[0].attn.heads == HEADS
    assert GPT2.from_safetensors(file).h[0].attn.heads == 1


def test_sampling_with_the_cache_is_sampling_without(file: Path) -> None:
    import tutor

    model = GPT2.from_safetensors(file)
    for settings in ({"temperature": 0}, {"temperature": 0.9}, {"top_k": 5}):
        both = []
        for cached in (True, False):
            tutor.manual_seed(1)
            both.append(model.generate(Tensor(TOKENS), 8, cached=cached, **settings).tolist())
        assert both[0] == both[1]
        assert [row[:8] for row in both[0]] == TOKENS and len(both[0][0]) == 16


def test_the_greedy_choice_is_that_of_pytorch(file: Path) -> None:
    tokens = torch.tensor(TOKENS)
    for _ in range(4):
        tokens = torch.cat([tokens, logits(weights(), tokens)[:, -1].argmax(-1, True)], 1)
    model = GPT2.from_safetensors(file)
    assert model.generate(Tensor(TOKENS), 4, temperature=0).tolist() == tokens.tolist()


def test_what_is_saved_is_read_again(file: Path, tmp_path: Path) -> None:
    model = GPT2.from_safetensors(file)
    model.save_safetensors(tmp_path / "again.safetensors")
    again = GPT2.from_safetensors(tmp_path / "again.safetensors")
    assert again(Tensor(TOKENS)).tolist() == model(Tensor(TOKENS)).tolist()


def test_a_file_of_another_model_is_refused(tmp_path: Path) -> None:
    missing = weights()
    del missing["h.1.ln_2.bias"]
    save_file(missing, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match=r"h\.1\.ln_2\.bias"):
        GPT2.from_safetensors(tmp_path / "model.safetensors")


# ---- text goes in, and text comes out ------------------------------------------------------------

PAIRS = [("l", "o"), ("lo", "w"), ("Ġ", "lo"), ("e", "r")]
BPE = GPT2BPE(
    {
        piece: i
        for i, piece in enumerate([*CHARACTERS, *(a + b for a, b in PAIRS), "<|endoftext|>"])
    },
    PAIRS,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files of a published model, small."""
    GPT2(len(BPE), PLACES, WIDTH, 2, HEADS).save_safetensors(tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"n_head": HEADS}))
    BPE.save(tmp_path)
    return tmp_path


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: Any) -> str:
    monkeypatch.setattr(sys, "argv", ["gpt2.py", *map(str, args), "--temperature", "0"])
    assert EXAMPLE["main"]() < 1e-4
    return capsys.readouterr().out


@pytest.mark.parametrize("prompt", ["low lower, naïve", "<|endoftext|>low"])
def test_a_text_is_written_on(
    folder: Path, prompt: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(monkeypatch, capsys, "--folder", folder, "--text", prompt, "--count", 2)
    ids = BPE.encode(prompt, special=True)
    assert len(ids) < len(prompt.encode())  # pieces, not bytes
    model = GPT2.from_safetensors(folder / "model.safetensors")
    (wanted,) = model.generate(Tensor([ids]), 2, temperature=0).tolist()
    assert BPE.decode(wanted).startswith(prompt) and BPE.decode(wanted) in found


def test_without_a_vocabulary_there_are_numbers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = ("--weights", folder / "model.safetensors", "--count", 2)
    assert "low" in said(monkeypatch, capsys, *weights, "--text", "low")  # it lies beside them
    (folder / "vocab.json").unlink()
    assert "[5, 6, " in said(monkeypatch, capsys, *weights, "--tokens", 5, 6)
    with pytest.raises(SystemExit):
        said(monkeypatch, capsys, *weights, "--text", "low")
    assert "vocab.json and merges.txt" in capsys.readouterr().err
    with pytest.raises(DataError, match=r"vocab\.json"):
        said(monkeypatch, capsys, "--folder", folder, "--tokens", 5)
