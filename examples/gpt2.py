"""GPT-2, as it was published: python examples/gpt2.py --folder gpt2 --text "The answer is"

The folder holds Hugging Face's files (huggingface.co/openai-community/gpt2), which are not fetched
here: model.safetensors, read by its own names, and vocab.json and merges.txt, by which text becomes
tokens and tokens text. --weights names a file of weights alone; prompt and result are numbers of
tokens then. With neither, a small model is made up, written as such a file, and read back: what it
says is nonsense, but by the same road.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import tutor
from tutor import Tensor, nn, no_grad
from tutor.data import GPT2BPE
from tutor.nn import checkpoint
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it


class Conv1D(nn.Module):
    """x W + b: a linear layer whose weight is (in, out), as GPT-2's files have it."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = nn.Parameter(Tensor.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(Tensor.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)

    def forward(self, x: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        rows, places, width = x.shape
        q, k, v = (
            t.reshape(rows, places, self.heads, -1).transpose(1, 2)
            for t in self.c_attn(x).chunk(3, -1)
        )
        if cache is not None:
            k, v = cache.extend(k, v)
        seen = k.shape[2] - places  # a place sees these, itself, and those before it
        mask = Tensor.arange(seen + places) <= Tensor.arange(places).unsqueeze(1) + seen
        if seen:
            told = F.scaled_dot_product_attention(q, k, v, mask)
        else:
            told = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(told.transpose(1, 2).reshape(rows, places, width))


class MLP(nn.Module):
    def __init__(self, width: int) -> None:
        self.c_fc, self.c_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), MLP(width)

    def forward(self, x: Tensor, cache: nn.KVCache | None = None) -> Tensor:
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Tokens (N, places) -> logits (N, places, vocabulary): Radford et al. 2019, "Language models
    are unsupervised multitask learners". The last layer's weight is the embedding's."""

    def __init__(self, vocabulary: int, places: int, width: int, layers: int, heads: int) -> None:
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens: Tensor, cache: list[nn.KVCache] | None = None) -> Tensor:
        """With `cache`, one for each block, tokens are those behind what it has seen."""
        seen = len(cache[0]) if cache else 0
        x = self.wte(tokens) + self.wpe(Tensor.arange(seen, seen + tokens.shape[1]))
        for i, block in enumerate(self.h):
            x = block(x, cache[i] if cache else None)
        return F.linear(self.ln_f(x), self.wte.weight)

    @classmethod
    def from_safetensors(cls, path: str | Path, heads: int | None = None) -> GPT2:
        """The model whose weights are in the file, by Hugging Face's names. Sizes are read from
        their shapes; how many heads there are from `heads`, else from config.json beside the file,
        else there is one for each 64 numbers, as in every GPT-2 that was published."""
        tensors, _ = checkpoint.load(path)
        state = {name.removeprefix("transformer."): t for name, t in tensors.items()}
        masks = (".attn.bias", ".attn.masked_bias")  # constants that some files hold, too
        state = {n: t for n, t in state.items() if not n.endswith(masks) and n != "lm_head.weight"}
        (vocabulary, width), places = state["wte.weight"].shape, state["wpe.weight"].shape[0]
        layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("h."))
        config = Path(path).with_name("config.json")
        if heads is None:
            known = json.loads(config.read_text()) if config.exists() else {}
            heads = int(known.get("n_head", max(width // 64, 1)))
        model = cls(vocabulary, places, width, layers, heads)
        model.load_state_dict(state)
        return model.eval()

    def save_safetensors(self, path: str | Path) -> None:
        """The file that `from_safetensors` reads."""
        named = {f"transformer.{name}": t for name, t in self.state_dict().items()}
        checkpoint.save(path, named, {"format": "pt"})

    @no_grad()
    def generate(
        self, tokens: Tensor, count: int, temperature: float = 1.0, top_k: int | None = None,
        cached: bool = True,
    ) -> Tensor:  # fmt: skip
        """`count` more tokens behind tokens (N, places), drawn one by one; the likeliest ones where
        the temperature is 0. `cached` keeps keys and values, and computes new places alone."""
        cache = [nn.KVCache() for _ in self.h] if cached else None
        new = tokens
        for _ in range(count):
            logits = self(new if cached else tokens, cache)[:, -1]
            if top_k is not None:
                least = logits.topk(min(top_k, logits.shape[1]))[0][:, -1:]
                logits = logits.masked_fill(logits < least, float("-inf"))
            if temperature == 0:
                new = logits.argmax(-1).unsqueeze(1)
            else:
                shares = (logits / temperature).softmax(-1)
                new = tutor.multinomial(shares, 1)
            tokens = tutor.cat([tokens, new], axis=1)
        return tokens


def main() -> float:
    options = argparse.ArgumentParser(description="GPT-2")
    files = options.add_mutually_exclusive_group()
    files.add_argument("--folder", type=Path, help="of model.safetensors, vocab.json, merges.txt")
    files.add_argument("--weights", type=Path, help="a safetensors file of Hugging Face's")
    prompt = options.add_mutually_exclusive_group()
    prompt.add_argument("--text", help="the prompt, where there is a vocabulary")
    prompt.add_argument("--tokens", type=int, nargs="+", default=[0], help="the prompt, as numbers")
    options.add_argument("--count", type=int, default=20, help="how many tokens follow")
    options.add_argument("--temperature", type=float, default=0.8)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/gpt2"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    if args.folder is not None:
        args.weights = args.folder / "model.safetensors"
    elif args.weights is None:
        args.out.mkdir(parents=True, exist_ok=True)
        args.weights = args.out / "made_up.safetensors"
        GPT2(50, 64, 32, layers=2, heads=4).save_safetensors(args.weights)
    model = GPT2.from_safetensors(args.weights)
    print(model)
    beside = args.weights.parent
    bpe = GPT2BPE.load(beside) if args.folder or (beside / "vocab.json").exists() else None
    if args.text is not None:
        if not args.text or bpe is None:
            options.error("--text needs a word, and vocab.json and merges.txt beside the weights")
        args.tokens = bpe.encode(args.text, special=True)
    written = model.generate(Tensor([args.tokens]), args.count, args.temperature, top_k=40)
    (found,) = written.tolist()
    print(found if bpe is None else bpe.decode(found))
    with no_grad():
        cache = [nn.KVCache() for _ in model.h]
        apart = tutor.cat([model(written[:, i : i + 1], cache) for i in range(len(found))], axis=1)
        difference = (apart - model(written)).abs().max().item()
    print(f"with and without the cache the logits differ by {difference:.1e} at most")
    return float(difference)


if __name__ == "__main__":
    main()
