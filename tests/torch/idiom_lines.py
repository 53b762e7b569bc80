"""One-liners as people write them in PyTorch: each is run with PyTorch and with tutor.torch.

What stands after the last `;` is the result. DIFFERENT says which results differ, and how; all
others are the same, or refused with help.
"""

NAMES = """
x = torch.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])
y = torch.tensor([[0.5, -1.0, 2.0], [2.0, 0.0, -3.0]])
v = torch.tensor([3.0, 1.0, 2.0, 2.0])
i = torch.tensor([[1, 2], [3, 4]])
n = torch.tensor([2, 0, 1])
b = torch.tensor([[True, False, True], [False, True, True]])
e = torch.zeros(0)
c = torch.arange(24.0).reshape(2, 3, 4)
d = torch.tensor([1.0, 2.0], dtype=torch.float64)
w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
lin = nn.Linear(3, 2)
with torch.no_grad():
    _ = lin.weight.copy_(torch.arange(6.0).reshape(2, 3) / 4)
    _ = lin.bias.copy_(torch.tensor([0.5, -0.5]))

def stepped(kind, **options):
    o = getattr(torch.optim, kind)(lin.parameters(), **options)
    for _ in range(3):
        o.zero_grad()
        (lin(x) ** 2).mean().backward()
        o.step()
    return lin.weight, lin.bias

def rates(kind, **options):
    o = torch.optim.SGD(lin.parameters(), lr=0.1, momentum=0.5)
    s = getattr(torch.optim.lr_scheduler, kind)(o, **options)
    found = []
    for _ in range(6):
        o.step()
        s.step()
        found.append(s.get_last_lr()[0])
    return found
"""

LINES = """
x.max()
x.max(1)
x.max(1)[0]
x.max(1, keepdim=True).values
x.max(dim=-1).indices
torch.max(x, y)
torch.max(x, 1)
torch.min(x, dim=0)
x.min(0).values
x.amax(1)
x.amax((0, 1))
x.amin(dim=0, keepdim=True)
x.argmax()
x.argmax(1)
x.argmax(-1, keepdim=True)
torch.argmin(x, dim=0)
x.aminmax()
x.sum()
x.sum(0)
x.sum(1, keepdim=True)
x.sum((0, 1))
x.sum(-1, True)
i.sum()
b.sum()
b.sum(1)
i.float().mean()
i.mean()
x.mean(1)
x.mean((0, 1))
x.prod()
x.prod(1)
i.prod()
x.var()
x.var(0)
x.var(1, unbiased=False)
x.var(1, False)
x.var(dim=1, correction=0)
x.var(False)
x.std()
x.std(0)
x.std(1, keepdim=True)
torch.std(x, 1)
torch.std_mean(x, 1)
torch.var_mean(x)
x.norm()
x.norm(p=1)
x.norm(2, 1)
x.norm(dim=1, keepdim=True)
torch.norm(x, p=2, dim=1)
torch.linalg.norm(x)
torch.linalg.norm(x, dim=1)
torch.linalg.vector_norm(x, 2, 1)
x.median()
x.median(1)
v.median()
v.median(0).values
v.mode()
x.sort()
x.sort(1)
x.sort(0, descending=True)
x.sort(descending=True).values
torch.sort(v)
v.argsort()
v.argsort(descending=True)[:2]
x.topk(2)
x.topk(2, 1)
x.topk(1, dim=0).indices
x.topk(2, largest=False).values
x.kthvalue(2, 1)
x.cumsum(1)
x.cumsum(dim=0)
i.cumsum(0)
x.cumprod(1)
x.cummax(1)
x.cummin(0)
torch.logcumsumexp(x, 1)
x.logsumexp(1)
x.logsumexp(dim=(0, 1))
x.softmax(1)
x.log_softmax(-1)
torch.softmax(x, dim=0)
F.softmax(x, dim=-1)
F.softmax(x, 1, dtype=torch.float64)
F.log_softmax(x, dim=1)
x.quantile(0.5)
x.quantile(torch.tensor([0.25, 0.75]), dim=1)
x.unique()
v.unique(return_counts=True)
v.unique(return_inverse=True)
torch.unique(i)
x.any()
b.any(1)
b.all(dim=0)
b.all()
x.count_nonzero()
x.repeat(2, 2)
x.repeat(2, 1, 1)
v.repeat(3)
v.repeat_interleave(2)
torch.repeat_interleave(v, torch.tensor([1, 0, 2, 1]))
x.repeat_interleave(2, dim=1)
x.tile((2,))
x.expand(2, 2, 3)
x.expand(-1, 3)
v.expand(2, -1)
x.view(-1)
x.view(3, 2)
x.view(-1, 1).size()
x.view((6,))
x.reshape(3, -1)
x.reshape((3, 2))
x.t()
x.T
c.mT
c.permute(2, 0, 1).shape
c.permute((2, 0, 1)).contiguous().view(-1)
c.transpose(0, 1)
torch.transpose(c, 1, 2)
c.swapaxes(0, 2)
c.movedim(0, -1)
c.flatten(1)
c.flatten()
torch.flatten(c, 1, 2)
c.flatten(start_dim=1)
c.unflatten(2, (2, 2))
x.unsqueeze(0)
x[None]
x[:, None, :].shape
x.squeeze()
x.squeeze(0)
x.unsqueeze(1).squeeze(1)
x.unsqueeze(0).squeeze((0, 1))
x.flip(0)
x.flip(0, 1)
x.flip(dims=(1,))
torch.flip(x, [1])
x.fliplr()
x.roll(1, 1)
x.roll(1)
torch.roll(x, shifts=(1, 1), dims=(0, 1))
torch.rot90(x)
x.chunk(2)
x.chunk(3, dim=1)
v.split(3)
x.split([1, 2], dim=1)
torch.tensor_split(v, 3)
x.unbind()
x.unbind(1)
torch.unbind(x, dim=0)
c.select(1, 2)
c.narrow(2, 1, 2)
x.diagonal()
torch.diag(v)
torch.diag(x)
torch.diag_embed(x)
x.tril()
x.triu(1)
torch.tril(torch.ones(3, 3))
torch.triu(torch.ones(3, 3), diagonal=1).bool()
v.unfold(0, 2, 1)
x.nonzero()
b.nonzero()
b.nonzero(as_tuple=True)
torch.nonzero(x > 3)
torch.where(x > 3)
torch.where(x > 3, x, y)
torch.where(x > 3, x, 0.0)
torch.where(b, 1, 0)
x.where(x > 2, torch.tensor(0.0))
torch.argwhere(b)
x.masked_fill(b, -1)
x.masked_fill(x > 3, float("-inf"))
x.masked_select(b)
x[b]
x[x > 2]
x[0]
x[0, 1]
x[:, 1]
x[..., -1]
x[[0, 1], [2, 0]]
x[n[:2]]
x[:, n]
x[-1, ::2]
x[1:, :2]
c[:, [0, 2]]
c[torch.tensor([True, False])]
x[torch.tensor([1, 0], dtype=torch.uint8)]
x.gather(1, i % 3)
torch.gather(x, 1, torch.tensor([[0], [2]]))
x.index_select(1, n)
torch.index_select(x, 0, torch.tensor([1]))
x.take(torch.tensor([0, 5]))
torch.take_along_dim(x, x.argsort(1), dim=1)
x.scatter(1, torch.tensor([[0], [1]]), 9.0)
torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), 1.0)
torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), 1)
torch.zeros(2, 3).scatter_add_(1, torch.tensor([[1, 1], [2, 0]]), x)
torch.zeros(3).index_add_(0, n, torch.ones(3))
torch.zeros(3).scatter_reduce(0, n, torch.ones(3), reduce="sum")
x.index_fill(1, torch.tensor([0]), -1.0)
x.index_copy(0, torch.tensor([1]), torch.zeros(1, 3))
x.index_put((torch.tensor([0]), torch.tensor([1])), torch.tensor(7.0))
x[0] = 0; x
x[:, 1] = torch.tensor([7.0, 8.0]); x
x[b] = -1; x
x[x > 3] *= 2; x
x[0, :2] += 1; x
x += 1; x
x += y; x
x -= d[:1]; x
x *= 2; x
x /= 2; x
i += 1; i
i //= 2; i
i += 1.5; i
x.add_(y); x
x.add_(y, alpha=2); x
x.sub_(1); x
x.mul_(y); x
x.div_(2); x
x.clamp_(2, 4); x
x.clamp_(min=3); x
x.zero_(); x
x.fill_(3); x
x.copy_(y); x
x.copy_(torch.zeros(3)); x
x.neg_(); x
x.exp_(); x
x.sqrt_(); x
x.abs_(); x
x.relu_(); x
x.sigmoid_(); x
x.tanh_(); x
x.pow_(2); x
x.round_(); x
x.masked_fill_(b, 0); x
x.addcmul_(x, y, value=0.5); x
x.addcdiv_(x, y + 10, value=0.5); x
x.lerp_(y, 0.5); x
x.tril_(); x
x.cumsum_(1); x
x.squeeze_(0); x
x.unsqueeze_(0); x
x.t_(); x
x + 1
1 + x
x - y
1 - x
2 / x
x / 2
x // 2
x % 2
-x
x ** 2
2 ** x
x @ y.T
x.matmul(y.t())
torch.mm(x, y.T)
torch.bmm(c, c.transpose(1, 2))
x.mv(torch.ones(3))
torch.dot(v, v)
torch.outer(v, v)
v.dot(v)
c @ torch.ones(4)
torch.einsum("ij,kj->ik", x, y)
torch.einsum("bij->bji", [c])
torch.tensordot(x, y, dims=2)
torch.addmm(torch.ones(2, 2), x, y.T, beta=2, alpha=3)
torch.baddbmm(torch.zeros(2, 3, 3), c, c.mT)
torch.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0, 1.0, 0]), dim=0)
torch.kron(i, i)
x == y
x != y
x > y
x <= 3
x.eq(y)
(x > 2) & (y > 0)
(x > 2) | b
~b
b ^ b
b.logical_not()
torch.logical_and(x > 2, b)
torch.equal(x, x.clone())
torch.equal(x, y)
torch.allclose(x, x + 1e-9)
torch.isclose(x, y)
torch.isnan(x / 0 - x / 0)
torch.isfinite(x / 0)
torch.isinf(x / 0).any()
x.add(1)
x.add(y, alpha=0.5)
torch.add(x, y, alpha=2)
torch.sub(x, 1)
torch.mul(x, y)
torch.div(x, y + 10, rounding_mode="floor")
torch.div(i, 2)
torch.div(i, 2, rounding_mode="trunc")
torch.div(-i, 2, rounding_mode="trunc")
torch.div(-i, 2, rounding_mode="floor")
torch.true_divide(i, 2)
torch.floor_divide(i, 2)
torch.remainder(-i, 3)
torch.fmod(-i, 3)
-i // 2
-i % 3
i / 2
i / i
i * 1.5
i + 0.5
i * x[:, :2]
i + d
(i * torch.ones(2, 2)).dtype
(i + torch.tensor(1.5)).dtype
(x + torch.tensor(1.5, dtype=torch.float64)).dtype
(x[0, :2] + d).dtype
(b + 1).dtype
(b * x).dtype
(b + b)
(i.int() + i).dtype
(x.half() + x).dtype
(x.half() + i[:1, :1]).dtype
(torch.tensor(3) + x).dtype
torch.result_type(i, 1.0)
torch.promote_types(torch.int32, torch.float16)
torch.can_cast(torch.float32, torch.int64)
b - b
1 - b.float()
x.pow(2)
x.pow(0.5)
torch.pow(2, i)
i ** 2
i ** -1
x.sqrt()
x.rsqrt()
x.exp()
x.log()
torch.log1p(x)
torch.log2(x)
x.abs()
x.sign()
x.neg()
x.reciprocal()
x.square()
x.floor()
y.ceil()
y.round()
torch.round(x / 3, decimals=2)
y.trunc()
y.frac()
x.clamp(2, 4)
x.clamp(min=2)
x.clamp(max=torch.tensor([2.0, 3.0, 4.0]))
i.clamp(2, 3)
i.clamp(min=1.5)
torch.clamp(x, 1.5, 4)
x.clip(2, 4)
x.clamp_min(2.0)
torch.maximum(x, y)
torch.minimum(x, y)
x.fmax(y)
x.lerp(y, 0.25)
torch.lerp(x, y, torch.tensor(0.5))
torch.addcmul(x, x, y, value=2)
torch.xlogy(x, x)
torch.atan2(x, y)
torch.hypot(x, y)
torch.sigmoid(x)
torch.tanh(x)
torch.relu(y)
torch.erf(x)
torch.erfc(x)
torch.lgamma(x)
torch.logit(torch.tensor([0.25, 0.5]))
torch.deg2rad(x)
torch.nan_to_num(x / 0)
torch.sinc(y)
torch.heaviside(y, torch.tensor(0.5))
torch.signbit(y)
torch.diff(v)
torch.trapezoid(v)
torch.cdist(x, y)
torch.bincount(torch.tensor([0, 1, 1, 3]))
torch.bincount(n, minlength=5)
torch.bincount(n, weights=torch.ones(3))
torch.histc(x, bins=3, min=0, max=6)
torch.cov(x)
torch.corrcoef(x)
torch.searchsorted(torch.tensor([1.0, 3.0, 5.0]), x)
torch.bucketize(x, torch.tensor([2.0, 4.0]))
torch.isin(i, torch.tensor([1, 4]))
torch.combinations(v, 2)
torch.cartesian_prod(n, n[:2])
torch.meshgrid(n, n[:2], indexing="ij")
torch.meshgrid(n, n[:2], indexing="xy")[0]
torch.cat([x, y])
torch.cat((x, y), dim=1)
torch.cat([i, x[:, :2]])
torch.cat([torch.zeros(0), v])
torch.concat([x, y], 0)
torch.stack([x, y])
torch.stack((x, y), dim=-1)
torch.hstack([x, y])
torch.vstack([v, v])
torch.column_stack([v, v])
torch.block_diag(i, i)
torch.broadcast_tensors(v, torch.zeros(2, 1))
torch.broadcast_shapes((2, 1), (3,))
torch.atleast_2d(v)
torch.tensor(3)
torch.tensor(3.5)
torch.tensor([1, 2.5])
torch.tensor([[True, False]])
torch.tensor([1, 2], dtype=torch.float)
torch.tensor([x[0, 0], x[0, 1]])
torch.tensor([])
torch.tensor(np.array([1.0, 2.0]))
torch.tensor(np.array([1, 2], dtype=np.int32))
torch.as_tensor(np.ones(2, np.float32))
torch.from_numpy(np.arange(3))
torch.Tensor([1, 2])
torch.Tensor(2, 3).shape
torch.FloatTensor([1, 2])
torch.LongTensor([1, 2])
torch.LongTensor(2).shape
torch.BoolTensor([1, 0])
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2, 3], dtype=torch.long)
torch.zeros(x.shape)
torch.zeros(x.size(0), 4)
torch.ones(3, dtype=torch.bool)
torch.empty(2, 3).shape
torch.full((2, 2), 7)
torch.full((2,), 0.5)
torch.full((2,), True)
torch.full_like(x, 3)
torch.zeros_like(i)
torch.ones_like(x, dtype=torch.int)
torch.empty_like(x).shape
torch.rand_like(x).shape
torch.randn_like(x).dtype
torch.arange(5)
torch.arange(1, 7, 2)
torch.arange(0, 1, 0.25)
torch.arange(5.0)
torch.arange(3, dtype=torch.float)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, steps=3)
torch.logspace(0, 2, 3)
torch.eye(3)
torch.eye(2, 3)
torch.eye(3)[n]
x.new_zeros(2)
x.new_ones((2, 2))
x.new_full((2,), 3)
x.new_tensor([1, 2])
i.new_zeros(1).dtype
torch.randn(2, 3).shape
torch.randint(0, 5, (3,)).dtype
torch.randint(5, (2, 2)).shape
torch.randperm(4).sort().values
torch.rand(2, generator=torch.Generator().manual_seed(0)).shape
torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)
torch.bernoulli(torch.tensor([0.0, 1.0]))
torch.normal(0.0, 1.0, size=(2, 2)).shape
torch.normal(torch.zeros(3), 1.0).shape
torch.empty(3).normal_().shape
torch.empty(2, 2).uniform_(2, 2)
torch.tril_indices(3, 3)
torch.triu_indices(2, 3, offset=1)
x.size()
x.size(0)
x.size(-1)
x.shape[0]
x.shape
x.shape.numel()
tuple(x.shape)
list(x.size())
len(x)
x.dim()
x.ndim
x.numel()
torch.numel(x)
x.nelement()
x.stride()
x.is_contiguous()
x.t().is_contiguous()
x.storage_offset()
x.element_size()
x.dtype
i.dtype
x.dtype == torch.float32
x.dtype.is_floating_point
x.is_floating_point()
torch.is_tensor(x)
isinstance(x, torch.Tensor)
isinstance(x.shape, torch.Size)
x.device
x.device.type
str(x.device)
x.device == torch.device("cpu")
torch.device("cpu").type
torch.device("cuda")
x.is_cuda
x.cuda()
x.cpu()
x.to("cpu")
x.to(torch.device("cpu"), non_blocking=True)
x.to(torch.float64)
x.to(dtype=torch.long)
x.to(i)
x.to("cpu", torch.half).dtype
x.double().dtype
x.half().dtype
x.long()
x.int().dtype
x.bool()
x.byte()
x.type(torch.int64)
x.type()
x.type_as(i)
x.float() is x
x.contiguous() is x
x.detach().requires_grad
x.clone()
x.tolist()
x[0, 0].item()
float(x[0, 0])
int(x[0, 1])
bool(x[0, 0] > 0)
bool(x > 0)
x.item()
x.numpy()
w.numpy()
w.detach().numpy()
x.data
x.requires_grad
w.is_leaf
(w * 2).is_leaf
(w * 2).grad_fn is None
w.grad is None
(w * w).sum().backward(); w.grad
w.sum().backward(); w.sum().backward(); w.grad
w.max().backward(); w.grad
w.max(0)[0].backward(); w.grad
w.abs().sum().backward(); w.grad
w.norm().backward(); w.grad
w.clamp(0, 3).sum().backward(); w.grad
w.relu().sum().backward(); w.grad
w.var().backward(); w.grad
w.sort()[0][0].backward(); w.grad
w.topk(2)[0].sum().backward(); w.grad
w.cumsum(0).prod().backward(); w.grad
w.prod().backward(); w.grad
w.std().backward(); w.grad
w.repeat(2).sum().backward(); w.grad
w.expand(2, 3).sum().backward(); w.grad
w[n].sum().backward(); w.grad
w[w > 0].sum().backward(); w.grad
w.masked_fill(w < 0, 0).sum().backward(); w.grad
torch.where(w > 0, w, w * 2).sum().backward(); w.grad
torch.maximum(w, torch.zeros(3)).sum().backward(); w.grad
z = w * 1; z[0] = 5; z.sum().backward(); w.grad
z = w * 2; z += w; z.sum().backward(); w.grad
z = w.clone(); z.mul_(2); z.sum().backward(); w.grad
z = w * 1; z.relu_(); z.sum().backward(); w.grad
z = w * 1; z.clamp_(min=0); (z * z).sum().backward(); w.grad
w += 1
w.add_(1)
w[0] = 1
w.data.add_(1); w.detach()
w.data = torch.zeros(3); w.detach()
with torch.no_grad(): w += 1; w.detach()
z = w.detach(); z[0] = 9; w.detach()
torch.autograd.grad((w ** 3).sum(), w)
torch.autograd.grad((w ** 3).sum(), w, create_graph=True)[0]
torch.autograd.grad(w.sum(), [w, torch.ones(1, requires_grad=True)], allow_unused=True)
torch.autograd.functional.jacobian(lambda t: t * t, torch.tensor([1.0, 2.0]))
torch.autograd.functional.hessian(lambda t: (t ** 3).sum(), torch.tensor([1.0, 2.0]))
w.backward()
w.backward(torch.ones(3)); w.grad
w.backward(gradient=torch.ones(3)); w.grad
z = (w * 2).sum(); z.backward(); z.backward()
z = (w * 2).sum(); z.backward(retain_graph=True); z.backward(); w.grad
h = w.register_hook(lambda g: g * 2); w.sum().backward(); w.grad
h = w.register_hook(lambda g: g * 2); h.remove(); w.sum().backward(); w.grad
z = w * 2; z.retain_grad(); z.sum().backward(); z.grad
w.requires_grad_(False); w.requires_grad
w.requires_grad = False; w.requires_grad
i.requires_grad_()
torch.is_grad_enabled()
torch.set_grad_enabled(True)(lambda: torch.is_grad_enabled())()
lin(x)
lin.weight.shape
lin.bias
[p.shape for p in lin.parameters()]
next(lin.parameters()).shape
len(list(lin.parameters()))
sum(p.numel() for p in lin.parameters())
[k for k, _ in lin.named_parameters()]
list(lin.state_dict())
lin.state_dict()["bias"]
lin.weight.requires_grad
lin.in_features
isinstance(lin, nn.Module)
isinstance(lin.weight, nn.Parameter)
isinstance(lin.weight, torch.Tensor)
lin.train().training
lin.eval().training
lin.zero_grad(); lin.weight.grad
lin(x).sum().backward(); lin.weight.grad
lin.double()(x.double()).dtype
lin(x.double())
lin(i)
lin.to(torch.float64).weight.dtype
lin.weight.data.fill_(1.0); lin(x)
lin.weight = nn.Parameter(torch.ones(2, 3)); lin(x)
lin.weight = torch.ones(2, 3)
nn.Sequential(lin, nn.ReLU())(x)
nn.Sequential(lin, nn.ReLU())[0] is lin
len(nn.Sequential(lin, nn.ReLU()))
list(nn.Sequential(lin, nn.ReLU()).state_dict())
nn.Sequential(OrderedDict([("a", lin), ("r", nn.ReLU())])).a is lin
list(dict(nn.Sequential(nn.Sequential(lin)).named_modules()))
len(list(nn.Sequential(lin, nn.Sequential(nn.ReLU())).modules()))
len(nn.ModuleList([lin, lin]))
list(nn.ModuleList([lin]).state_dict())
list(nn.ModuleDict({"a": lin}).keys())
nn.Identity()(x)
nn.Flatten()(c)
nn.Softmax(dim=1)(x)
nn.LogSoftmax(dim=-1)(x)
nn.Dropout(0.0)(x)
nn.Dropout(0.5).eval()(x)
nn.LayerNorm(3)(x)
nn.BatchNorm1d(3)(x)
nn.BatchNorm1d(3).eval()(x)
m = nn.BatchNorm1d(3); _ = m(x); m.running_var
m = nn.BatchNorm1d(3); _ = m(x); m.num_batches_tracked
nn.GELU()(x)
nn.GELU(approximate="tanh")(x)
nn.SiLU()(x)
nn.LeakyReLU(0.2)(y)
nn.ELU()(y)
nn.Softplus()(x * 10)
nn.Hardtanh()(y)
nn.PReLU()(y)
nn.ReLU(inplace=True)(y); y
nn.Embedding(3, 2).weight.shape
nn.Embedding(3, 2, padding_idx=0)(n)[1]
nn.Embedding.from_pretrained(x)(n[1:2])
nn.MaxPool2d(2)(c)
nn.AvgPool1d(2)(c)
nn.AdaptiveAvgPool1d(1)(c)
nn.AdaptiveAvgPool2d((1, 1))(c)
nn.ZeroPad2d(1)(c).shape
nn.ReflectionPad1d(1)(c)
nn.Upsample(scale_factor=2)(c[None])
nn.PixelShuffle(2)(torch.arange(16.0).reshape(1, 4, 2, 2))
nn.Conv1d(3, 2, 2)(c).shape
nn.Conv2d(3, 8, 3, padding="same")(torch.ones(1, 3, 5, 5)).shape
nn.ConvTranspose2d(3, 2, 2, stride=2)(torch.ones(1, 3, 2, 2)).shape
nn.LSTM(4, 5, batch_first=True)(c)[0].shape
nn.LSTM(4, 5, 2, bidirectional=True)(c)[1][0].shape
nn.GRU(4, 5)(c)[1].shape
nn.MultiheadAttention(4, 2, batch_first=True)(c, c, c)[0].shape
nn.TransformerEncoderLayer(4, 2, batch_first=True)(c).shape
nn.Parameter(torch.ones(2))
nn.Parameter(torch.ones(2), requires_grad=False).requires_grad
nn.MSELoss()(x, y)
nn.MSELoss(reduction="sum")(x, y)
nn.L1Loss(reduction="none")(x, y)
nn.CrossEntropyLoss()(x, torch.tensor([1, -100]))
nn.CrossEntropyLoss(label_smoothing=0.1)(x, torch.tensor([1, 2]))
nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))(x, torch.tensor([1, 2]))
nn.NLLLoss()(F.log_softmax(x, 1), torch.tensor([1, 2]))
nn.BCELoss()(torch.sigmoid(x), b.float())
nn.BCEWithLogitsLoss()(x, b.float())
nn.SmoothL1Loss()(x, y)
nn.HuberLoss()(x, y)
nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x, 1), F.softmax(y, 1))
nn.TripletMarginLoss()(x, y, x + y)
nn.CosineSimilarity(dim=1)(x, y)
F.cross_entropy(x, torch.tensor([1, 2]))
F.cross_entropy(x, F.softmax(y, 1))
F.cross_entropy(x, torch.tensor([1, 2]), reduction="none")
F.cross_entropy(x, torch.tensor([1, 5]))
F.mse_loss(x, y)
F.mse_loss(x, y, size_average=False)
F.binary_cross_entropy_with_logits(x, b.float(), pos_weight=torch.tensor(2.0))
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="sum")
F.relu(y)
F.relu(y, inplace=True); y
F.leaky_relu(y)
F.leaky_relu(y, 0.1, True); y
F.gelu(x)
F.silu(x)
F.softplus(x)
F.sigmoid(x)
F.tanh(x)
F.elu(y, alpha=0.5)
F.normalize(x)
F.normalize(x, dim=0, p=1)
F.cosine_similarity(x, y)
F.cosine_similarity(x[:, None], y[None], dim=-1)
F.pairwise_distance(x, y)
F.one_hot(n)
F.one_hot(n, num_classes=4)
F.pad(x, (1, 1))
F.pad(x, (1, 0, 0, 1), value=-1)
F.pad(c, (1, 1), mode="reflect")
F.dropout(x, 0.5, training=False)
F.dropout(x, p=0.0)
F.linear(x, torch.ones(2, 3))
F.embedding(n, c[0])
F.layer_norm(x, (3,))
F.batch_norm(x, None, None, training=True)
F.group_norm(c, 3)
F.max_pool1d(c, 2)
F.avg_pool1d(c, 2)
F.max_pool2d(c, (1, 2), stride=1)
F.adaptive_avg_pool1d(c, 2)
F.adaptive_max_pool1d(c, 2)
F.interpolate(c, scale_factor=2)
F.interpolate(c[None], size=(2, 2), mode="bilinear", align_corners=False)
F.unfold(c[None], 2)
F.scaled_dot_product_attention(c, c, c)
F.scaled_dot_product_attention(c, c, c, is_causal=True)
F.glu(c, -1)
F.threshold(y, 0.0, 1.0)
F.hardsigmoid(y)
F.gumbel_softmax(x, hard=True).sum(1)
F.softmax(x)
torch.optim.SGD(lin.parameters(), lr=0.1).param_groups[0]["lr"]
isinstance(torch.optim.SGD(lin.parameters(), 0.1), torch.optim.Optimizer)
stepped("SGD")
stepped("SGD", lr=0.1)
stepped("SGD", lr=0.1, momentum=0.9)
stepped("SGD", lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1)
stepped("SGD", lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True)
stepped("SGD", lr=0.1, maximize=True, foreach=True)
stepped("SGD", lr=0.1, differentiable=True)
stepped("Adam")
stepped("Adam", lr=0.1, betas=(0.5, 0.9), eps=1e-6, weight_decay=0.1, amsgrad=True)
stepped("Adam", lr=0.1, fused=False, capturable=False)
stepped("Adam", lr=0.1, decoupled_weight_decay=True)
stepped("AdamW", lr=0.1)
stepped("AdamW", lr=0.1, weight_decay=0.5)
stepped("RMSprop", lr=0.1)
stepped("RMSprop", lr=0.1, momentum=0.9, centered=True)
stepped("Adagrad", lr=0.1, lr_decay=0.1, initial_accumulator_value=0.1)
stepped("Adadelta", lr=0.5)
stepped("NAdam", lr=0.1)
stepped("RAdam", lr=0.1)
stepped("Rprop", lr=0.1)
rates("StepLR", step_size=2, gamma=0.5)
rates("MultiStepLR", milestones=[1, 3])
rates("ExponentialLR", gamma=0.9)
rates("CosineAnnealingLR", T_max=4)
rates("CosineAnnealingLR", T_max=4, eta_min=0.01)
rates("CosineAnnealingWarmRestarts", T_0=3)
rates("LinearLR", start_factor=0.5, total_iters=4)
rates("ConstantLR", factor=0.5, total_iters=2)
rates("PolynomialLR", total_iters=4, power=2.0)
rates("LambdaLR", lr_lambda=lambda t: 0.9 ** t)
rates("OneCycleLR", max_lr=1.0, total_steps=10)
rates("OneCycleLR", max_lr=1.0, epochs=2, steps_per_epoch=5)
rates("MultiplicativeLR", lr_lambda=lambda t: 0.9)
rates("CyclicLR", base_lr=0.1, max_lr=1.0)
torch.optim.SGD([{"params": [lin.bias], "lr": 1.0}], lr=0.1).param_groups[0]["lr"]
lin(x).sum().backward(); torch.nn.utils.clip_grad_norm_(lin.parameters(), 1.0)
lin(x).sum().backward(); torch.nn.utils.clip_grad_value_(lin.parameters(), 0.5); lin.weight.grad
torch.nn.utils.parameters_to_vector(lin.parameters())
nn.init.zeros_(lin.weight); lin(x)
nn.init.constant_(lin.bias, 2.0)
nn.init.calculate_gain("relu")
torch.nn.utils.rnn.pad_sequence([v, v[:2]], batch_first=True)
len(DataLoader(TensorDataset(x, n[:2]), batch_size=1))
[[t.shape for t in batch] for batch in DataLoader(TensorDataset(x, n[:2]), batch_size=2)]
next(iter(DataLoader(TensorDataset(x), batch_size=2)))
[batch for batch in DataLoader([1, 2, 3], batch_size=2)]
[batch for batch in DataLoader([0.5, 1.5], batch_size=2)]
next(iter(DataLoader([{"a": x[0], "b": 1}], batch_size=1)))
[batch for batch in DataLoader(list(range(5)), batch_size=2, drop_last=True)]
[len(part) for part in torch.utils.data.random_split(range(10), [7, 3])]
torch.finfo(torch.float32).eps
torch.finfo(torch.float32).max
torch.finfo(x.dtype).min
torch.iinfo(torch.int64).max
torch.get_default_dtype()
torch.manual_seed(0) is None
torch.cuda.is_available()
torch.cuda.device_count()
torch.backends.mps.is_available()
torch.fft.fft(x)
torch.complex(x, y)
x.to_sparse()
torch.det(i.float())
torch.linalg.inv(i.float())
torch.linalg.solve(i.float(), torch.ones(2))
torch.linalg.det(i.float())
torch.linalg.eigvalsh(torch.eye(2))
torch.linalg.svdvals(x)
torch.linalg.matrix_norm(x)
torch.inverse(i.float())
torch.trace(i)
torch.compile(lin)(x)
torch.func.grad(lambda t: (t ** 3).sum())(x)
torch.func.grad(lambda t, u: (t * u).sum(), argnums=1)(x, y)
torch.func.grad_and_value(lambda t: (t ** 3).sum())(x)
torch.func.vmap(lambda t: t.sum())(x)
torch.func.vmap(lambda t, u: t * u, in_dims=(0, None))(x, v[:3])
torch.func.vmap(torch.dot)(x, y)
torch.vmap(lambda t: (t, t.max()), in_dims=1)(x)
torch.func.vmap(torch.func.grad(lambda t: (t ** 3).sum()))(x)
torch.func.jacrev(lambda t: t * t)(v)
torch.func.hessian(lambda t: (t ** 3).sum())(v)
torch.func.functional_call(lin, {"bias": torch.zeros(2)}, (x,))
torch.func.functional_call(lin, {k: t * 2 for k, t in lin.named_parameters()}, x)
torch.func.jvp(lambda t: t * t, (v,), (v,))
D.Normal(0.0, 1.0).log_prob(x)
D.Normal(x, 2.0).entropy()
D.Normal(x, x).log_prob(0.5)
D.Normal(0.0, 1.0).cdf(x)
D.Normal(x, 1.0).sample().shape
D.Normal(0.0, x).rsample((5,)).shape
D.Normal(w, torch.ones(3)).rsample().requires_grad
D.Normal(w, torch.ones(3)).sample().requires_grad
D.Normal(x, 1.0).mean
D.Normal(x, 2.0).variance
D.Categorical(logits=x).log_prob(torch.tensor([0, 2]))
D.Categorical(logits=x).entropy()
D.Categorical(probs=x).probs
D.Categorical(probs=x).log_prob(torch.tensor(1))
D.Categorical(x).sample().shape
D.Categorical(torch.tensor([0.0, 1.0])).sample((2, 3))
D.Bernoulli(logits=y).log_prob(b.float())
D.Bernoulli(probs=torch.tensor([0.25, 0.5])).log_prob(torch.tensor([1.0, 0.0]))
D.Bernoulli(torch.tensor([0.25, 0.5])).entropy()
D.Bernoulli(torch.tensor([0.0, 1.0])).sample((2,))
D.Uniform(0.0, 2.0).log_prob(torch.tensor(0.5))
D.Uniform(torch.zeros(2), 1.0).sample().shape
D.Independent(D.Normal(x, 1.0), 1).log_prob(y)
D.Independent(D.Normal(x, 1.0), 1).entropy()
D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, 1.0)).log_prob(torch.zeros(2))
D.kl_divergence(D.Normal(x, 1.0), D.Normal(y, 2.0))
D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=y))
D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=y))
D.kl_divergence(D.Independent(D.Normal(x, 1.0), 1), D.Independent(D.Normal(y, 2.0), 1))
D.kl_divergence(D.Normal(x, 1.0), D.Uniform(0.0, 1.0))
D.Gamma(1.0, 1.0)
with torch.autocast("cuda"): r = lin(x).dtype; r
with torch.autocast("cpu", dtype=torch.bfloat16): r = lin(x).dtype; r
f"{x.sum():.2f}"
f"{x[0, 0].item():.3f}"
x.sum().item() + 1
sum(x[0])
max(v)
sorted(v.tolist())
[t.item() for t in v]
a, z = x; a
x in [1]
2.0 in v
np.asarray(x)
np.sqrt(x.numpy())
torch.add(x, y, out=torch.empty(2, 3))
torch.sum(x, axis=1)
x.sum(axis=0)
x.nosuchmethod()
torch.nosuchname
F.nosuch(x)
nn.NoSuch()
lin.nosuch
"""

# By line: what is different, and for what reason.
DIFFERENT = {
    "x.dtype.is_floating_point": "a dtype is tutor's own; the bare AttributeError is not silent",
}
