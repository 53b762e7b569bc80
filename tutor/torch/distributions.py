"""torch.distributions: those whose draws, log-probabilities and entropies are Tensor math."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import broadcast_shapes
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import ArgumentError
from tutor.torch.carrier import Plain, Size, promoted, tag, watch
from tutor.torch.making import MADE

LN_2PI = math.log(2 * math.pi)


class Distribution:
    """The base: `sample` draws outside any graph, `log_prob` is differentiable."""

    batch_shape: Any = Size()
    event_shape: Any = Size()

    def __init__(self, *parameters: Any, names: str) -> None:
        """Parameters are numbers or tensors; they are stretched to one shape."""
        tensors = [tag(x) if isinstance(x, Plain) else MADE["tensor"](float(x)) for x in parameters]
        tensors = list(promoted(*tensors))
        self.batch_shape = Size(broadcast_shapes("a distribution", *(t.shape for t in tensors)))
        for name, t in zip(names.split(), tensors, strict=True):
            setattr(self, name, t.expand(tuple(self.batch_shape)))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A draw that gradients flow through."""
        kind = type(self).__name__
        raise ArgumentError(f"{kind}.rsample()", "its draws have no gradient", "write sample()")

    def sample(self, sample_shape: Any = ()) -> Any:
        """A draw outside any graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def drawn_shape(self, sample_shape: Any) -> tuple[int, ...]:
        """The shape of a draw."""
        return (*sample_shape, *self.batch_shape, *self.event_shape)


class Normal(Distribution):
    """Normal, with mean `loc` and standard deviation `scale`."""

    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        super().__init__(loc, scale, names="loc scale")
        self.mean, self.stddev = self.loc, self.scale

    @property
    def variance(self) -> Any:
        """scale**2"""
        return self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + scale z"""
        z = MADE["randn"](self.drawn_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + self.scale * z

    def log_prob(self, value: Any) -> Any:
        """ln of the density."""
        z = (value - self.loc) / self.scale
        return -(z * z) / 2 - self.scale.log() - LN_2PI / 2

    def entropy(self) -> Any:
        """0.5 + 0.5 ln 2 pi + ln scale"""
        return 0.5 + 0.5 * LN_2PI + self.scale.log()

    def cdf(self, value: Any) -> Any:
        """The share below `value`."""
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())


class Bernoulli(Distribution):
    """1 with probability `probs`, or sigmoid(`logits`), else 0."""

    logits: Any

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        one_of("Bernoulli", probs, logits)
        super().__init__(probs if logits is None else logits, names="given")
        given: Any = self.given  # type: ignore[attr-defined]
        self.probs = given if logits is None else given.sigmoid()
        eps = 2.0**-23
        p = given.clamp(eps, 1 - eps) if logits is None else given
        self.logits = p.log() - (-p).log1p() if logits is None else given
        self.mean, self.variance = self.probs, self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """0 or 1."""
        return MADE["bernoulli"](self.probs.detach().expand(self.drawn_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """value ln p + (1 - value) ln(1 - p)"""
        softplus = self.logits.relu() + (-self.logits.abs()).exp().log1p()
        return value * self.logits - softplus

    def entropy(self) -> Any:
        """-p ln p - (1 - p) ln(1 - p)"""
        return -self.log_prob(self.probs)


class Categorical(Distribution):
    """A class, in proportion to `probs`, or exp(`logits`), along the last axis."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        one_of("Categorical", probs, logits)
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(2.0**-23, 1 - 2.0**-23).log()
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.softmax(-1)
        self.batch_shape = Size(self.logits.shape[:-1])

    def sample(self, sample_shape: Any = ()) -> Any:
        """Classes, int64."""
        count = math.prod(sample_shape)
        rows = self.probs.detach().reshape(-1, self.probs.shape[-1])
        drawn = MADE["multinomial"](rows, count, True).T
        return drawn.reshape(self.drawn_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """ln of a class's probability."""
        shape = broadcast_shapes("log_prob", value.shape, self.logits.shape[:-1])
        wide = self.logits.expand((*shape, self.logits.shape[-1]))
        return wide.gather(-1, value.long().expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Any:
        """-sum p ln p"""
        return -(self.logits.clamp(min=-3.4e38) * self.probs).sum(-1)


class Uniform(Distribution):
    """Uniform from `low` to `high`."""

    low: Any
    high: Any

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        super().__init__(low, high, names="low high")

    def rsample(self, sample_shape: Any = ()) -> Any:
        """low + u (high - low)"""
        u = MADE["rand"](self.drawn_shape(sample_shape), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """-ln(high - low) inside"""
        inside = (value >= self.low) & (value < self.high)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def entropy(self) -> Any:
        """ln(high - low)"""
        return (self.high - self.low).log()


class Independent(Distribution):
    """The last axes of a batch as one event: log-probabilities are added."""

    mean = property(lambda self: self.base_dist.mean)
    variance = property(lambda self: self.base_dist.variance)

    def __init__(self, base: Any, count: int, validate_args: Any = None) -> None:
        self.base_dist, self.count = base, count
        cut = len(base.batch_shape) - count
        self.batch_shape, self.event_shape = base.batch_shape[:cut], base.batch_shape[cut:]

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The base's."""
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """The base's."""
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sum over the event."""
        return self.base_dist.log_prob(value).sum(tuple(range(-self.count, 0)))

    def entropy(self) -> Any:
        """The sum over the event."""
        return self.base_dist.entropy().sum(tuple(range(-self.count, 0)))


class MixtureSameFamily(Distribution):
    """Components along the last axis of a batch, drawn by a Categorical."""

    def __init__(self, mixture: Any, component: Any, validate_args: Any = None) -> None:
        self.mixture_distribution, self.component_distribution = mixture, component
        self.batch_shape, self.event_shape = component.batch_shape[:-1], component.event_shape

    def log_prob(self, value: Any) -> Any:
        """ln sum of the weighted densities"""
        wide = value.unsqueeze(-1 - len(self.event_shape))
        inner = self.component_distribution.log_prob(wide)
        return (inner + self.mixture_distribution.logits).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """A draw of the component that the mixture draws."""
        which = self.mixture_distribution.sample(sample_shape)
        drawn = self.component_distribution.sample(sample_shape)
        dim, events = len(sample_shape) + len(self.batch_shape), len(self.event_shape)
        which = which.reshape((*which.shape, *[1] * (1 + events)))
        shape = [*drawn.shape]
        shape[dim] = 1
        return drawn.gather(dim, which.expand(shape)).squeeze(dim)

    @property
    def mean(self) -> Any:
        """The components' means by their probabilities."""
        probs = self.mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *[1] * len(self.event_shape)))
        return (probs * self.component_distribution.mean).sum(-1 - len(self.event_shape))


def one_of(kind: str, probs: Any, logits: Any) -> None:
    """ArgumentError unless exactly one is given."""
    if (probs is None) == (logits is None):
        raise ArgumentError(f"{kind}(probs, logits)", "one of the two is needed", "give one")


def kl_divergence(p, q):
    """sum p ln(p / q), of two of a kind."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale) ** 2
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        return q.log_prob(p.probs) * -1 - p.entropy()
    if isinstance(p, Independent) and isinstance(q, Independent) and p.count == q.count:
        return kl_divergence(p.base_dist, q.base_dist).sum(tuple(range(-p.count, 0)))
    found = f"no formula for {type(p).__name__} and {type(q).__name__}"
    raise ArgumentError("kl_divergence", found, "write (p.log_prob(x) - q.log_prob(x)).mean()")


watch(__name__)
