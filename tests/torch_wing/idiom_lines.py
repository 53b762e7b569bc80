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

def averaged(**options):
    mean = torch.optim.swa_utils.AveragedModel(lin, **options)
    for _ in range(3):
        with torch.no_grad():
            _ = lin.weight.mul_(0.5), lin.bias.add_(1.0)
        mean.update_parameters(lin)
    return mean.module.weight, mean(x), mean.n_averaged, list(mean.state_dict())

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
averaged()
averaged(avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.9))
averaged(multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5), use_buffers=True)
torch.optim.swa_utils.SWALR
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
x[n[:2], 0] += 1; x
z = torch.zeros(3); z[torch.tensor([0, 0, 1])] += 1; z
z = torch.zeros(3); z[[0, 2]] = torch.tensor([1.0, 2.0]); z
z = torch.zeros(2, 2); z[b[:, :2]] = torch.tensor([5.0, 6.0]); z
z = x.clone(); z[x > 2] = 0; z.sum()
z = x[:, ::2]; z += 1; x
z = x.view(-1); z[0] = 9; x
z = x.T; z[0, 1] = 9; x
z = x.expand(2, 2, 3).contiguous(); z[0, 0, 0] = 9; x
z = x.reshape(-1); z.zero_(); x
z = x.flatten(); z += 1; x
z = x.flip(0); z += 1; x
z = x.diagonal(); z.fill_(0); x
z = torch.diag(x); z += 1; x
z = x.squeeze(); z += 1; x
z = x.chunk(2)[0]; z.zero_(); x
z = x.unbind(1)[0]; z.zero_(); x
z = x.to(torch.float32); z += 1; x
z = x.detach(); z += 1; x
z = x.clone(); z += 1; x
z = x.narrow(1, 0, 1); z.zero_(); x
z = x.select(0, 1); z.mul_(2); x
z = c.transpose(0, 1); z[0] = 0; c.sum()
z = c.permute(2, 0, 1); z.add_(1); c.sum()
z = np.ones(3, np.float32); t = torch.from_numpy(z); t += 1; z.tolist()
z = np.ones(3, np.float32); t = torch.tensor(z); t += 1; z.tolist()
z = np.ones(3, np.float32); t = torch.as_tensor(z); t += 1; z.tolist()
z = x.numpy(); z[0, 0] = 9; x
torch.tensor(np.float64(2.0)).dtype
torch.tensor(np.ones(2)).dtype
torch.tensor([np.float32(1), np.float32(2)]).dtype
torch.tensor([1, True, 2.0])
torch.tensor([[1, 2], [3, 4]]).dtype
torch.tensor(True).dtype
torch.tensor([1 << 40])
torch.tensor((1, 2))
torch.tensor(range(3))
torch.tensor([torch.tensor(1), torch.tensor(2)])
torch.as_tensor([1.0, 2.0])
torch.as_tensor(3)
x.tolist()[0][1] + 1
round(x.mean().item(), 3)
x.mean().item() > 3
x.max().item() == 6
x.sum() == 21
bool((x == x).all())
(x > 2).sum().item()
(x > 2).float().mean()
(x.argmax(1) == torch.tensor([1, 2])).float().mean().item()
(x.argmax(1) == torch.tensor([1, 2])).sum().item() / len(x)
x.max(1)[1].eq(torch.tensor([1, 0])).sum()
torch.max(x, dim=1).indices
torch.max(x, 1)[1].tolist()
x.topk(1, 1, True, True)[1].t()
v.sort(descending=True)[1]
torch.argsort(v, descending=True, stable=True)
torch.sort(v, stable=True)
torch.sort(x, dim=0, descending=True)
v.unique(sorted=True)
torch.unique(v, return_inverse=True, return_counts=True)
torch.cumsum(torch.tensor([True, True]), 0)
torch.sum(b, dtype=torch.float)
torch.mean(i, dtype=torch.float)
i.sum(dtype=torch.int32)
torch.prod(i, 1)
torch.std(v, unbiased=False)
torch.var(v, dim=0, correction=1)
v.var(unbiased=True)
x.std(dim=(0, 1))
x.mean(dim=[0, 1])
x.sum(dim=())
x.amax(dim=())
x.norm(float("inf"))
x.norm("fro")
torch.linalg.norm(x, ord=1)
torch.linalg.norm(x, 2)
torch.linalg.norm(v, ord=1)
torch.linalg.vector_norm(x, dim=(0, 1))
torch.linalg.matrix_norm(x, 1)
torch.linalg.cross(torch.eye(3)[0], torch.eye(3)[1])
torch.dist(x, y)
torch.dist(x, y, 1)
x.dot(x)
v @ v
x @ v[:3]
v[:3] @ x.T
c @ c.transpose(1, 2)
torch.matmul(c, torch.ones(2, 4, 1))
torch.mm(c, c)
torch.bmm(x, x)
torch.einsum("i,j->ij", v, v)
torch.einsum("...ij->...ji", c)
torch.einsum("ij->", x)
torch.einsum("ii->i", torch.eye(3))
torch.einsum("bhd,bhd->bh", c, c)
torch.addmm(v[:2], x, y.T)
torch.add(1, x)
torch.add(x, torch.ones(3), alpha=-1)
torch.mul(x, 2)
torch.pow(x, torch.tensor(2))
torch.pow(torch.tensor(2), 3)
torch.pow(i, 2.0)
x.pow(torch.tensor([1.0, 2.0, 3.0]))
i.pow(2)
2 ** i
i // 0
i % 0
x // 0
torch.tensor([7, -7]) // 2
torch.tensor([7.5, -7.5]) // 2
torch.tensor([7, -7]).fmod(2)
torch.tensor([7, -7]).div(2, rounding_mode="trunc")
torch.tensor(5) / 2
torch.tensor(5) // 2
5 // torch.tensor(2)
5 % torch.tensor([3, 2])
1 / i
2.0 * i
i * True
i + True
i & 1
i | 4
~i
i << 1
i >> 1
b & True
b | False
b * 2
b.sum() + 0.5
-b
+x
abs(x - 3)
x.ne(1).any()
x.eq(x).all().item()
torch.tensor([1.0, float("nan")]).max()
torch.tensor([1.0, float("nan")]).sort().values
torch.tensor([float("nan"), 2.0, 1.0]).argmax()
torch.tensor([float("nan"), 2.0]).clamp(0, 1)
torch.tensor([float("nan"), 2.0]).relu()
torch.tensor([float("nan"), 2.0]).nansum()
torch.tensor([float("nan"), 2.0]).nanmean()
torch.tensor([float("nan"), 2.0, 1.0]).median()
torch.tensor([float("nan"), 2.0, 1.0]).nanmedian()
torch.tensor([1.0, float("inf")]).isfinite()
torch.tensor([-0.5, 0.5, 1.5, 2.5]).round()
torch.tensor([1.7, -1.7]).int()
torch.tensor([1.7, -1.7]).long()
torch.tensor([0.0, 0.5, 2.0]).bool()
torch.tensor([300]).to(torch.uint8)
torch.tensor([-1]).to(torch.uint8)
torch.tensor([200], dtype=torch.uint8) + torch.tensor([100], dtype=torch.uint8)
torch.tensor([200], dtype=torch.uint8).sum()
torch.tensor([200], dtype=torch.uint8) * 2
torch.tensor([200], dtype=torch.uint8) / 2
torch.tensor([200], dtype=torch.uint8).float().mean()
torch.tensor([1, 2], dtype=torch.int8) + torch.tensor([1, 2], dtype=torch.int16)
torch.tensor([1], dtype=torch.uint8) + torch.tensor([1], dtype=torch.int8)
torch.tensor([1.0], dtype=torch.bfloat16) + torch.tensor([1.0], dtype=torch.float16)
torch.tensor([1.0], dtype=torch.float16) * 2
torch.tensor([1.0], dtype=torch.float16) + torch.tensor(1.0)
torch.tensor([1], dtype=torch.int32) * 1.5
torch.tensor([1.0], dtype=torch.float64) + 1
torch.tensor([1]) + torch.tensor(1.5)
torch.tensor(1) + torch.tensor([1.5], dtype=torch.float16)
torch.where(b, x, 1)
torch.where(b, 1.0, i[0, 0])
torch.where(x > 2, i[0, 0], 0)
torch.cat([x.half(), x])
torch.stack([torch.tensor(1), torch.tensor(2.5)])
torch.maximum(i, torch.tensor(2.5))
torch.max(i, torch.tensor(3))
torch.minimum(x, torch.tensor(2))
x.masked_fill(b, True)
i.masked_fill(i > 2, 0)
i.masked_fill(i > 2, 0.5)
i.masked_fill(i > 2, float("-inf"))
x.masked_fill(torch.tensor([True, False, False]), 0)
x.masked_fill(b == 0, -1e9)
x.masked_fill(b.long(), 0)
x.tril() + x.triu()
torch.triu(torch.full((3, 3), float("-inf")), diagonal=1)
torch.ones(3, 3).tril().unsqueeze(0) == 0
torch.arange(3)[None, :] < torch.tensor([1, 3])[:, None]
torch.arange(6).view(2, 3).float()
torch.arange(10)[::2]
torch.arange(10)[-3:]
torch.arange(10)[torch.arange(10) % 2 == 0]
torch.arange(0.1, 0.5, 0.1)
torch.arange(2, 2)
torch.arange(3, 0, -1)
torch.arange(torch.tensor(3))
torch.linspace(-1, 1, 3, dtype=torch.float64)
torch.full((2, 3), float("-inf"))
torch.full([2], 3, dtype=torch.float32)
torch.zeros(2).long()
torch.zeros(())
torch.zeros(0, 3).sum(0)
torch.zeros(0).mean()
torch.zeros(0).sum()
torch.zeros(0).max()
torch.ones(2, 0).shape
torch.eye(3)[[2, 0]]
torch.eye(2).bool()
torch.ones(2, 2).fill_diagonal_(0)
torch.empty(2, 3, dtype=torch.long).shape
torch.randn(2, 3, requires_grad=True).requires_grad
torch.rand(3).ge(0).all()
torch.randint(10, size=(3,)).shape
torch.randint(0, 2, (2, 2), dtype=torch.float).dtype
torch.randn(3, device="cpu").device.type
torch.randn(x.shape).shape
torch.randn(*x.shape).shape
torch.randn(x.size()).shape
torch.zeros(x.shape[0], dtype=torch.bool)
torch.zeros(len(x), x.size(1))
x.new(2, 3).shape
x.size()[0]
x.size()[1:]
x.shape[-1]
x.shape == (2, 3)
x.shape == torch.Size([2, 3])
x.shape[:-1] + (5,)
(*x.shape[:-1], 1)
x.view(*x.shape[:-1], 1, 3).shape
x.view(x.size(0), -1).shape
x.view(2, -1, 1).shape
x.view(torch.Size([3, 2]))
x.reshape(x.shape[0] * x.shape[1])
c.view(2, -1).shape
c.transpose(1, 2).view(2, -1)
c.transpose(1, 2).reshape(2, -1)
c.permute(0, 2, 1).is_contiguous()
c[..., None].shape
c[:, None].shape
c[0, ..., 1]
c[:, -1, :]
c[:, :, 1:3]
c[1][2][3]
c[b[:, 0]]
c[:, torch.tensor([True, False, True])]
c[torch.arange(2), n[:2]]
c[torch.arange(2)[:, None], n[None, :2]].shape
c[..., n]
c[None, ..., None].shape
x[x.argmax(1) == 1]
x[n[:2] == 2]
x[:, [True, False, True]]
x[slice(0, 1)]
x[(0, 1)]
x[1, -1].item()
x[-3]
x[0, 3]
x[::-1]
x.index_select(0, torch.tensor([0, 0]))
x.gather(1, torch.tensor([[0, 0], [1, 2]]))
x.gather(0, torch.tensor([[0, 1, 0]]))
x.gather(1, x.argmax(1, keepdim=True)).squeeze(1)
x.scatter(1, torch.tensor([[0, 1]]), y)
x.scatter(1, torch.tensor([[0], [0]]), torch.tensor([[7.0], [8.0]]))
x.scatter_add(1, torch.tensor([[0, 0, 0], [1, 1, 1]]), torch.ones(2, 3))
x.scatter(1, torch.tensor([[0]]), 2.0, reduce="add")
torch.zeros(3).scatter_reduce_(0, n, v[:3], "amax")
torch.zeros(2, 5).scatter_(1, torch.tensor([[1], [3]]), 1).long()
torch.zeros(3, dtype=torch.long).scatter_add_(0, n, torch.ones(3, dtype=torch.long))
torch.bincount(torch.tensor([0, 2, 2]), minlength=4).float()
torch.repeat_interleave(x, 2, dim=0)
torch.repeat_interleave(torch.arange(3), torch.tensor([2, 0, 1]))
x.repeat(2, 1).shape
x.unsqueeze(1).repeat(1, 2, 1).shape
x.unsqueeze(1).expand(-1, 4, -1).shape
x.expand_as(torch.ones(2, 2, 3)).shape
x.view_as(torch.ones(3, 2))
x.roll((1, 2), (0, 1))
x.split(2, dim=1)
torch.split(v, [1, 3])
torch.chunk(x, 2, dim=1)
torch.hsplit(x, 3)
x.swapaxes(0, 1)
x.moveaxis(0, 1)
torch.movedim(c, (0, 1), (1, 0)).shape
torch.squeeze(torch.ones(1, 2, 1), 0).shape
torch.squeeze(torch.ones(1, 2, 1)).shape
torch.unsqueeze(v, -1).shape
torch.flatten(torch.tensor(1.0)).shape
torch.ravel(c).shape
torch.tril_indices(3, 3, -1)
torch.meshgrid(torch.arange(2), torch.arange(3))
torch.stack(torch.meshgrid(n, n, indexing="xy"), -1).shape
torch.cdist(x, y, p=1)
torch.nn.functional.cosine_similarity(v, v, dim=0)
torch.outer(v, n.float())
torch.softmax(torch.tensor([1.0, float("-inf")]), -1)
torch.logsumexp(torch.full((2, 2), float("-inf")), 1)
torch.sigmoid(torch.tensor([-100.0, 100.0]))
torch.log_softmax(x, -1).exp().sum(-1)
torch.tensor([1e-8]).log1p()
torch.exp(torch.tensor(100.0))
(x / 3).clamp(1e-6, 1 - 1e-6)
x.clamp(y, y + 1)
x.clamp(min=0, max=None)
x.sub(y).abs().mean()
x.rsub(1)
torch.rsub(x, 1)
x.true_divide(2)
x.remainder(2)
x.floor_divide(2)
x.addcmul(x, y)
x.lerp(y, torch.ones(2, 3) / 2)
x.logaddexp(y)
x.exp2()
x.erf()
x.sgn()
x.positive()
x.deg2rad()
x.trunc_(); x
x.add_(1).mul_(2); x
x.copy_(i[:, :1]); x
x.index_add_(0, torch.tensor([0]), torch.ones(1, 3)); x
x.index_copy_(0, torch.tensor([0]), torch.ones(1, 3)); x
x.index_fill_(1, torch.tensor([0]), 0); x
x.index_put_((torch.tensor([0]),), torch.tensor(0.0)); x
x.masked_scatter_(b, torch.arange(4.0)); x
x.fill_(torch.tensor(2.0)); x
x.clamp_min_(3); x
x.log_().exp_(); x
x.logical_not_(); x
i.bitwise_and_(1); i
i.fill_(2.5); i
i.add_(1.5); i
i.div_(2); i
i /= 2; i
b |= True; b
x.requires_grad_().requires_grad
(w * 2).requires_grad
(w > 0).requires_grad
w.detach().is_leaf
w.clone().is_leaf
w.argmax()
w.round().sum().backward(); w.grad
w.sign().sum().backward(); w.grad
w.floor().sum().backward(); w.grad
w.long().float().requires_grad
w.min().backward(); w.grad
torch.tensor([1.0, 3.0, 3.0], requires_grad=True).max().backward()
z = torch.tensor([1.0, 3.0, 3.0], requires_grad=True); z.max().backward(); z.grad
z = torch.tensor([1.0, 3.0, 3.0], requires_grad=True); z.max(0).values.backward(); z.grad
z = torch.tensor([1.0, 3.0, 3.0], requires_grad=True); z.amax(0).backward(); z.grad
z = torch.tensor([1.0, 3.0, 3.0], requires_grad=True); z.median().backward(); z.grad
z = torch.tensor([0.0, 1.0], requires_grad=True); z.abs().sum().backward(); z.grad
z = torch.tensor([0.0, 1.0], requires_grad=True); z.norm().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.norm().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.std().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.sqrt().sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); (z ** 0.5).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); (z ** 2).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.prod().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.relu().sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); z.clamp(0, 1).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.hardtanh(z, 0, 1).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.leaky_relu(z).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.elu(z).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.softplus(z).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.gelu(z).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.mse_loss(z, torch.ones(2)).backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.l1_loss(z, torch.zeros(2)).backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.smooth_l1_loss(z, torch.ones(2)).backward(); z.grad
z = torch.zeros(2, requires_grad=True); torch.maximum(z, z.detach()).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); torch.where(z > 0, z, -z).sum().backward(); z.grad
z = torch.zeros(2, requires_grad=True); F.normalize(z, dim=0).sum().backward(); z.grad
z = torch.zeros(1, 2, requires_grad=True); F.cosine_similarity(z, z + 1).backward(); z.grad
z = torch.ones(2, 2, requires_grad=True); torch.linalg.norm(z).backward(); z.grad
z = torch.ones(4, requires_grad=True); z.view(2, 2)[0].sum().backward(); z.grad
z = torch.ones(4, requires_grad=True); z[[0, 0, 1]].sum().backward(); z.grad
z = torch.ones(4, requires_grad=True); z.index_select(0, n).sum().backward(); z.grad
z = torch.ones(4, requires_grad=True); z.sort().values.cumsum(0).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); z.cummax(0).values.sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); z.unique().sum().backward()
z = torch.ones(3, requires_grad=True); z.kthvalue(2).values.backward(); z.grad
z = torch.ones(3, requires_grad=True); z.mode().values.backward(); z.grad
z = torch.ones(3, requires_grad=True); z.quantile(0.5).backward(); z.grad
z = torch.ones(3, requires_grad=True); z.scatter(0, n[:1], 5.0).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); torch.cat([z, z]).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); torch.stack([z, z * 2]).prod(0).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); F.pad(z, (1, 1)).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); F.dropout(z, 0.0).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); F.embedding(n, z[:, None]).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); (z * z.detach()).sum().backward(); z.grad
z = torch.ones(3, requires_grad=True); z.backward(); z.grad
z = torch.ones(3, requires_grad=True); y2 = z * 2; y2.backward(torch.ones(3)); z.grad
z = torch.ones(3, requires_grad=True); y2 = z * z; z.data.fill_(2); y2.sum().backward(); z.grad
with torch.no_grad(): r = (w * 2).requires_grad; r
with torch.inference_mode(): r = (w * 2).requires_grad; r
with torch.enable_grad(): r = (w * 2).requires_grad; r
with torch.set_grad_enabled(False): r = (w * 2).requires_grad; r
torch.no_grad()(lambda: (w * 2).requires_grad)()
lin.requires_grad_(False).weight.requires_grad
[p.requires_grad for p in lin.requires_grad_(False).parameters()]
lin.weight.grad is None
lin(x).shape
lin(x[0]).shape
lin(c[..., :3]).shape
lin(torch.ones(2, 4))
lin.forward(x)
lin.bias.data.zero_(); lin(x)
lin.weight.data = torch.zeros(2, 3); lin(x)
lin.weight.data[0, 0] = 5; lin(x)
lin.half()(x.half()).dtype
lin.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)}); lin(x)
lin.load_state_dict({"weight": torch.ones(2, 3)})
lin.load_state_dict({"weight": torch.ones(2, 3)}, strict=False); lin.weight.detach()
lin.state_dict()["weight"].requires_grad
z = lin.state_dict()["weight"]; z.zero_(); lin.weight.detach()
copy.deepcopy(lin).weight is lin.weight
copy.deepcopy(lin)(x)
copy.deepcopy(lin.state_dict())["bias"]
nn.Linear(3, 2, bias=False).bias is None
nn.Linear(3, 2, device="cpu", dtype=torch.float64).weight.dtype
nn.Sequential(lin, nn.ReLU(), nn.Linear(2, 1))[:2](x)
nn.Sequential(*[lin for _ in range(1)])(x)
nn.Sequential(lin).append(nn.ReLU())(x)
[type(m).__name__ for m in nn.Sequential(lin, nn.ReLU()).children()]
[n for n, m in nn.Sequential(lin, nn.ReLU()).named_children()]
nn.ModuleList([lin, nn.ReLU()])[-1](y)
[type(m).__name__ for m in nn.ModuleList([lin, nn.ReLU()])]
len(nn.ModuleList([lin]).append(lin))
"a" in nn.ModuleDict({"a": lin})
nn.ModuleDict({"a": lin})["a"](x)
nn.ParameterList([torch.ones(2)])[0].requires_grad
nn.ParameterDict({"a": torch.ones(2)})["a"].requires_grad
nn.Flatten(0)(x)
nn.Unflatten(1, (3, 1))(x).shape
nn.CrossEntropyLoss(reduction="sum")(x, torch.tensor([1, 2]))
nn.CrossEntropyLoss(ignore_index=1)(x, torch.tensor([1, 2]))
nn.CrossEntropyLoss()(x, torch.tensor([-100, -100]))
nn.CrossEntropyLoss()(c, torch.zeros(2, 4, dtype=torch.long))
nn.CrossEntropyLoss()(x, torch.tensor([1, 2]).int())
nn.CrossEntropyLoss()(x, torch.tensor([1.0, 2.0]))
nn.CrossEntropyLoss()(x, F.one_hot(torch.tensor([1, 2]), 3).float())
nn.BCELoss()(x, b.float())
nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]))(x, b.float())
nn.BCEWithLogitsLoss()(x, b)
nn.NLLLoss(ignore_index=1)(F.log_softmax(x, 1), torch.tensor([1, 2]))
nn.MSELoss()(x, y[:1])
nn.MSELoss()(x, i[:, :1])
nn.L1Loss()(x, y)
nn.GaussianNLLLoss()(x, y, torch.ones(2, 3))
nn.PoissonNLLLoss()(x, x)
nn.MarginRankingLoss(margin=0.5)(v, v.flip(0), torch.ones(4))
nn.HingeEmbeddingLoss()(x, torch.where(b, 1.0, -1.0))
nn.CosineEmbeddingLoss()(x, y, torch.tensor([1.0, -1.0]))
nn.SoftMarginLoss()(x, torch.where(b, 1.0, -1.0))
nn.MultiMarginLoss()(x, torch.tensor([1, 2]))
nn.CTCLoss()(torch.zeros(3, 1, 2).log_softmax(2), torch.ones(1, 2).long(), (3,), (2,))
nn.LayerNorm([3, 4])(c)
nn.LayerNorm(3, elementwise_affine=False)(x)
nn.LayerNorm(3, bias=False)(x)
nn.GroupNorm(1, 3)(c)
nn.InstanceNorm1d(3)(c)
nn.RMSNorm(4)(c)
nn.BatchNorm1d(3)(c)
nn.BatchNorm1d(3, affine=False)(x)
nn.BatchNorm1d(3, momentum=None)(x)
nn.BatchNorm1d(3, track_running_stats=False).eval()(x)
nn.BatchNorm2d(3)(c[:, :, :, None]).shape
nn.BatchNorm1d(3)(x[:1])
m = nn.BatchNorm1d(3); _ = m(x); _ = m(x); m.running_mean
m = nn.BatchNorm1d(3); _ = m(x); m.eval()(x)
m = nn.Dropout(0.5); m.eval()(x)
nn.Dropout(p=1.0)(x)
nn.Dropout2d(0.0)(c)
nn.Conv1d(3, 3, 3, groups=3, padding=1)(c).shape
nn.Conv2d(1, 2, (3, 1), stride=(1, 2), padding=(1, 0))(c[:, None]).shape
nn.Conv2d(1, 1, 3, dilation=2, padding=2)(c[:, None]).shape
nn.Conv2d(1, 1, 3, padding="valid")(c[:, None]).shape
nn.Conv1d(3, 2, 2, padding_mode="reflect")
nn.ConvTranspose1d(3, 2, 3, stride=2, padding=1, output_padding=1)(c).shape
nn.MaxPool1d(2, stride=1)(c)
nn.MaxPool2d(kernel_size=2, stride=2, padding=1)(c)
nn.MaxPool2d(2, return_indices=True)(c)
nn.AvgPool2d(2, count_include_pad=False, padding=1)(c)
nn.AdaptiveMaxPool1d(2)(c)
nn.AdaptiveAvgPool2d(1)(c).shape
nn.AdaptiveAvgPool2d((None, 2))(c).shape
nn.Upsample(size=(6, 8), mode="nearest")(c[None]).shape
nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)(c[None])
nn.LSTM(4, 5)(c)[0].shape
nn.LSTM(4, 5, num_layers=2, dropout=0.0)(c)[1][1].shape
nn.LSTMCell(4, 5)(c[0])[0].shape
nn.GRU(4, 5, batch_first=True, bidirectional=True)(c)[0].shape
nn.RNN(4, 5, nonlinearity="relu")(c)[0].shape
nn.LSTM(4, 5, proj_size=2)
nn.MultiheadAttention(4, 2)(c, c, c, need_weights=False)[1] is None
nn.MultiheadAttention(4, 2, batch_first=True)(c, c, c, average_attn_weights=False)[1].shape
nn.MultiheadAttention(4, 2, kdim=3)
nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(c, c).shape
nn.Transformer.generate_square_subsequent_mask(3)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)(c).shape
nn.Embedding(5, 3)(i).shape
nn.Embedding(5, 3, max_norm=1.0)
nn.EmbeddingBag(5, 3)(torch.tensor([[1, 2]])).shape
nn.EmbeddingBag.from_pretrained(torch.ones(5, 3))(torch.tensor([[1, 2]]))
nn.Softmax()(x)
nn.Softplus(beta=2)(x)
nn.Threshold(2.0, 0.0)(x)
nn.Tanh()(x)
nn.Hardswish()(y)
nn.Mish()(y)
nn.GLU()(c)
nn.PairwiseDistance()(x, y)
nn.PixelUnshuffle(2)(torch.ones(1, 1, 4, 4)).shape
nn.ConstantPad1d(1, 2.0)(c)
nn.ReplicationPad2d(1)(c).shape
nn.CircularPad1d(1)(c)
F.relu6(y * 4)
F.hardswish(y)
F.mish(y)
F.celu(y)
F.selu(y)
F.prelu(y, torch.tensor([0.1, 0.2, 0.3]))
F.rrelu(y)
F.logsigmoid(y)
F.softsign(y)
F.softmin(y, dim=1)
F.tanhshrink(y)
F.softshrink(y)
F.hardshrink(y)
F.layer_norm(x, x.shape[1:], torch.ones(3), torch.zeros(3), 1e-3)
F.layer_norm(x, [3], eps=1e-3)
F.batch_norm(x, torch.zeros(3), torch.ones(3))
F.instance_norm(c)
F.rms_norm(x, (3,))
F.local_response_norm(c, 2)
F.nll_loss(F.log_softmax(x, 1), torch.tensor([1, 2]), weight=torch.tensor([1.0, 2.0, 3.0]))
F.l1_loss(x, y, reduction="sum")
F.smooth_l1_loss(x, y, beta=0.5)
F.huber_loss(x, y, delta=0.5)
F.kl_div(F.log_softmax(x, 1), F.log_softmax(y, 1), log_target=True, reduction="batchmean")
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1))
F.binary_cross_entropy(torch.sigmoid(x), b.float(), reduction="none")
F.binary_cross_entropy_with_logits(x, b.float(), weight=torch.tensor([1.0, 2.0, 0.5]))
F.cross_entropy(x, torch.tensor([1, 2]), label_smoothing=0.2, reduction="sum")
F.triplet_margin_loss(x, y, x - y, margin=0.5, swap=True)
F.cosine_embedding_loss(x, y, torch.tensor([1.0, -1.0]), margin=0.1)
F.gaussian_nll_loss(x, y, torch.ones(2, 3), full=True)
F.pad(x, (-1, 1))
F.pad(c[None], (1, 1, 1, 1), "circular")
F.pad(c[None], (1, 1, 1, 1), mode="replicate")
F.conv1d(c, torch.ones(1, 3, 2))
F.conv2d(c[:, None], torch.ones(1, 1, 2, 2), torch.ones(1), 2, 1)
F.conv_transpose1d(c, torch.ones(3, 1, 2), stride=2)
F.max_pool2d(c, 2)
F.max_pool2d(c, 2, stride=1, padding=1)
F.max_pool1d(c, 2, return_indices=True)
F.avg_pool2d(c, 2, ceil_mode=True)
F.adaptive_avg_pool2d(c, (1, 2))
F.adaptive_avg_pool2d(c, 1)
F.interpolate(c[None], scale_factor=2, mode="nearest")
F.interpolate(c[None], size=6, mode="bicubic")
F.interpolate(c, size=2, mode="linear", align_corners=True)
F.interpolate(c[None], scale_factor=0.5, mode="bilinear", antialias=True)
F.grid_sample(c[None], torch.zeros(1, 2, 2, 2), align_corners=True)
F.affine_grid(torch.eye(2, 3)[None], (1, 1, 2, 2), align_corners=False)
F.fold(torch.ones(1, 4, 4), (3, 3), 2)
F.unfold(c[None], (2, 2), padding=1, stride=2)
F.pixel_shuffle(torch.arange(8.0).reshape(1, 4, 1, 2), 2)
F.one_hot(torch.tensor([[0, 2]]), 3)
F.embedding(n, torch.eye(3), padding_idx=0)
F.scaled_dot_product_attention(c, c, c, attn_mask=torch.ones(3, 3).tril().bool())
F.scaled_dot_product_attention(c, c, c, attn_mask=torch.zeros(3, 3), scale=0.1)
F.scaled_dot_product_attention(c, c, c, enable_gqa=True)
F.multi_head_attention_forward
nn.init.xavier_uniform_(torch.empty(2, 3)).shape
nn.init.kaiming_uniform_(torch.empty(2, 3), a=5 ** 0.5).shape
nn.init.normal_(torch.empty(2), std=0.0)
nn.init.ones_(torch.empty(2))
nn.init.eye_(torch.empty(2, 2))
nn.init.orthogonal_(torch.empty(2, 3)).shape
nn.init.trunc_normal_(torch.empty(2), std=0.02).shape
nn.init.uniform_(torch.empty(2), 1.0, 1.0)
nn.utils.vector_to_parameters(torch.zeros(8), lin.parameters()); lin(x)
nn.utils.rnn.pack_padded_sequence(c, torch.tensor([3, 2]), batch_first=True).data
[n for n, _ in nn.utils.weight_norm(lin).named_parameters()]
nn.utils.weight_norm(lin)(x).sum() - lin(x).sum()
list(nn.utils.spectral_norm(lin).state_dict())
torch.linalg.svdvals(nn.utils.parametrizations.spectral_norm(lin).weight)[0].round(decimals=2)
nn.Embedding(5, 3, sparse=True)(torch.tensor([1])).shape
F.ctc_loss(torch.zeros(2, 1, 2), torch.ones(1, 1).long(), [2], [1])
x.unique(dim=0, return_inverse=True)
x.unique_consecutive(return_counts=True)
torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(lin.parameters(), 0.1)).step(1.0)
torch.optim.Adam(lin.parameters(), lr=-1.0)
torch.optim.SGD([], lr=0.1)
torch.optim.SGD(lin, lr=0.1)
torch.optim.SGD(lin.named_parameters(), lr=0.1).param_groups[0]["lr"]
len(torch.optim.SGD(lin.parameters(), 0.1).param_groups)
torch.optim.SGD(lin.parameters(), 0.1).param_groups[0]["params"][0] is lin.weight
torch.optim.SGD(lin.parameters(), 0.1).defaults["lr"]
o = torch.optim.SGD(lin.parameters(), 0.1); o.param_groups[0]["lr"] = 0.5; o.param_groups[0]["lr"]
torch.autograd.grad(w.sum() * 2, [w])
torch.autograd.grad((w * w).sum(), w, retain_graph=True)
torch.autograd.grad(w * 2, w, grad_outputs=torch.ones(3))
torch.autograd.grad(w * 2, w, torch.ones_like(w))
torch.autograd.grad(w.sum(), torch.ones(1, requires_grad=True))
torch.autograd.backward((w * w).sum()); w.grad
torch.autograd.functional.jacobian(lambda a, b: a * b, (v, v))
torch.utils.checkpoint.checkpoint(lambda t: t * 2, w, use_reentrant=False).sum().backward(); w.grad
torch.is_floating_point(x)
torch.is_complex(x)
torch.is_nonzero(torch.tensor(1))
torch.typename(x)
torch.get_num_threads()
torch.initial_seed() >= 0
torch.Generator().manual_seed(3).initial_seed()
torch.random.manual_seed(0) is None
torch.version.cuda
torch.Size([2, 3]).numel()
torch.Size((2, 3)) + torch.Size((1,))
list(torch.Size((2, 3)))
torch.device("cpu", 0).index
torch.device("cpu") == torch.device("cpu")
torch.float32 is torch.float
torch.long == torch.int64
torch.half is torch.float16
torch.pi
torch.inf
torch.e
x.float().dtype is torch.float32
x.dtype in (torch.float16, torch.float32)
x.dtype.itemsize
len(nn.ModuleList([lin]) + nn.ModuleList([lin]))
z = torch.ones(1, 4, requires_grad=True); F.max_pool1d(z, 2).sum().backward(); z.grad
z = torch.ones(1, 2, 4, requires_grad=True); nn.MaxPool2d(2)(z).sum().backward(); z.grad
z = torch.ones(1, 2, 4, requires_grad=True); F.max_pool2d(z, 3, 1, 1).sum().backward(); z.grad
z = torch.ones(1, 4, requires_grad=True); F.adaptive_max_pool1d(z, 2).sum().backward(); z.grad
z = torch.ones(1, 4, requires_grad=True); nn.MaxPool1d(2, return_indices=True)(z)[1]
torch.tensor(np.float32(2.0)).dtype
torch.tensor(np.int32(2)).dtype
x.amin(())
i.prod(dtype=torch.float32)
i.cumsum(0, dtype=torch.int32)
"""

# By line: what is different, and for what reason.
DIFFERENT = {
    "x.dtype.is_floating_point": "a dtype is tutor's own; the bare AttributeError is not silent",
    "x[::-1]": "PyTorch has no such views: what it refuses works",
    "z = torch.ones(3, requires_grad=True); z.unique().sum().backward()":
        "PyTorch has no such derivative: what it refuses works",
    "z = torch.ones(3, requires_grad=True); z.kthvalue(2).values.backward(); z.grad":
        "the position among equal numbers",
    "nn.CrossEntropyLoss()(x, torch.tensor([1, 2]).int())": "what PyTorch refuses works",
    "nn.BCEWithLogitsLoss()(x, b)": "what PyTorch refuses works",
    'torch.device("cpu", 0).index': "there is one CPU: it has no number",
}  # fmt: skip
