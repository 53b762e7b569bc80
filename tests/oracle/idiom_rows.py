"""What users of PyTorch write around modules, optimizers, schedules, losses and Tensors.

A row is a text that both run: its last line is the answer. `lin(2, 3)` is a Linear with weights
that are not random, `x` a Tensor (4, 2), `train(model, optimizer)` one step on it. A line that is
indented goes on with the row above it.
"""

from __future__ import annotations

MODULES = """
nn.Linear(2, 3).weight.shape
isinstance(nn.Linear(2, 3).weight, nn.Parameter)
isinstance(nn.Linear(2, 3).weight, torch.Tensor)
isinstance(torch.ones(2), nn.Parameter)
isinstance(lin(2, 3).weight.detach(), nn.Parameter)
isinstance(lin(2, 3).weight * 1, nn.Parameter)
isinstance(nn.Parameter(torch.ones(2)), nn.Parameter)
nn.Parameter(torch.ones(2), requires_grad=False).requires_grad
m = lin(2, 3); m.requires_grad_(False); len(list(m.parameters()))
m = lin(2, 3); m.weight.requires_grad = False; [n for n, _ in m.named_parameters()]
m = lin(2, 3); m.requires_grad_(False); m.requires_grad_(True);
    all(p.requires_grad for p in m.parameters())
m = lin(2, 3); [p.requires_grad_(False) for p in m.parameters()];
    [p.requires_grad_(True) for p in m.parameters()]; m.bias.requires_grad
m = lin(2, 3); m.weight.requires_grad = False; sum(p.numel() for p in m.parameters())
m = lin(2, 3); m.weight.requires_grad = False;
    sum(p.numel() for p in m.parameters() if p.requires_grad)
m = lin(2, 3); m.weight = torch.ones(3, 2)
m = lin(2, 3); m.weight = None; list(m.state_dict())
m = lin(2, 3); m.weight = nn.Parameter(torch.ones(3, 2)); m(x)
m = lin(2, 3); m.weight.data = torch.ones(3, 2); m(x)
m = lin(2, 3); m.weight.data.fill_(2.0); m(x)
m = lin(2, 3); m.weight.data *= 2; m(x)
m = lin(2, 3); m.cache = m(x); list(m.state_dict())
m = lin(2, 3); m.cache = m(x); [n for n, _ in m.named_parameters()]
m = lin(2, 3); m.cache = m(x).detach(); list(m.state_dict())
m = lin(2, 3); m.seen = torch.ones(2); [n for n, _ in m.named_buffers()]
m = lin(2, 3); m.seen = torch.ones(2, requires_grad=True); len(list(m.parameters()))
m = lin(2, 3); m.register_buffer("b", torch.ones(2)); list(m.state_dict())
m = lin(2, 3); m.register_buffer("b", torch.ones(2), persistent=False); list(m.state_dict())
m = lin(2, 3); m.register_buffer("b", torch.ones(2)); m.b = torch.zeros(3); m.state_dict()["b"]
m = lin(2, 3); m.register_buffer("b", torch.ones(2)); m.b = m.b * 0.9 + 0.1; list(m.state_dict())
m = lin(2, 3); m.register_buffer("b", torch.ones(2)); m.b = 3
m = lin(2, 3); m.register_buffer("b", None); m.b = torch.ones(1); list(m.state_dict())
m = lin(2, 3); m.register_buffer("b", None); list(m.state_dict())
m = lin(2, 3); m.register_buffer("weight", torch.ones(2))
m = lin(2, 3); m.register_buffer("b", torch.ones(2)); del m.b; list(m.state_dict())
m = lin(2, 3); m.register_parameter("s", torch.ones(1))
m = lin(2, 3); m.register_parameter("s", nn.Parameter(torch.ones(1)));
    [n for n, _ in m.named_parameters()]
m = lin(2, 3); m.register_parameter("s", None); m.s is None
m = lin(2, 3); del m.bias; [n for n, _ in m.named_parameters()]
m = nn.Module(); m.a = lin(1, 1); m.p = nn.Parameter(torch.ones(1)); list(m.state_dict())
m = nn.Module(); m.a = lin(1, 1); m.p = nn.Parameter(torch.ones(1));
    [n for n, _ in m.named_parameters()]
m = nn.Module(); m.a = lin(1, 1); m.register_buffer("c", torch.ones(1));
    m.p = nn.Parameter(torch.ones(1)); list(m.state_dict())
m = nn.Module(); m.a = lin(1, 1); m.b = m.a; list(m.state_dict())
m = nn.Module(); m.a = lin(1, 1); m.b = m.a; [n for n, _ in m.named_parameters()]
m = nn.Module(); m.a = lin(1, 1); m.b = lin(1, 1); m.b.weight = m.a.weight; list(m.state_dict())
m = nn.Module(); m.a = lin(1, 1); m.b = lin(1, 1); m.b.weight = m.a.weight;
    len(list(m.parameters()))
m = nn.Module(); m.a = lin(1, 1); m.b = m.a; [n for n, _ in m.named_modules()]
m = nn.Module(); m.a = lin(1, 1); m.b = m.a; [n for n, _ in m.named_children()]
m = tied(); s = {k: v.clone() for k, v in m.state_dict().items()}; m.load_state_dict(s); len(s)
m = tied(); s = m.state_dict(); s["b.weight"] = torch.ones(2, 2);
    s["a.weight"] = torch.ones(2, 2); m.load_state_dict(s); m.a.weight
m = net(); [n for n, _ in m.named_modules()]
m = net(); [type(c).__name__ for c in m.children()]
m = net(); len(list(m.modules()))
m = net(); m.eval(); [k.training for k in m.modules()]
m = net(); m.eval().training
m = net(); m[0].eval(); m.train(); m[0].training
m = net(); [n for n, p in m.named_parameters() if "bias" in n]
m = net(); m.get_submodule("2").weight.shape
m = net(); m.get_parameter("2.weight").shape
m = net(); m.zero_grad(); m(x).sum().backward(); m[0].weight.grad
m = net(); m(x).sum().backward(); m.zero_grad(); m[0].weight.grad is None
m = net(); seen = []; m.apply(lambda k: seen.append(type(k).__name__)); seen
m = net(); m.double(); m[0].weight.dtype == torch.float64
m = net(); m.to(torch.float64); m(x.double())
m = net(); m(x.double())
m = net(); m(torch.ones(4, 2).long())
m = nn.Conv1d(1, 1, 2); m(torch.ones(1, 1, 4).double())
m = nn.Conv2d(1, 1, 2); m(torch.ones(1, 1, 4, 4).long())
m = nn.LSTM(2, 2); m(torch.ones(3, 1, 2).double())
m = nn.GRUCell(2, 2); m(torch.ones(3, 2).double())
m = nn.Bilinear(2, 2, 1); m(torch.ones(3, 2).double(), torch.ones(3, 2).double())
m = nn.ConvTranspose1d(1, 1, 2); m(torch.ones(1, 1, 4).double())
m = nn.LayerNorm(2); m(x.double())
m = nn.BatchNorm1d(2); m(x.double())
m = nn.MultiheadAttention(2, 1);
    m(torch.ones(3, 1, 2).double(), torch.ones(3, 1, 2).double(), torch.ones(3, 1, 2).double())
m = net(); m.float()(x)
m = net(); m.load_state_dict(net().state_dict()).missing_keys
m = net(); s = net().state_dict(); del s["0.bias"]; m.load_state_dict(s)
m = net(); s = net().state_dict(); del s["0.bias"]; m.load_state_dict(s, strict=False).missing_keys
m = net(); s = net().state_dict(); s["z"] = torch.ones(1);
    m.load_state_dict(s, strict=False).unexpected_keys
m = net(); s = m.state_dict(); s["0.bias"].fill_(7.0); m[0].bias
m = net(); import copy; t = copy.deepcopy(m); t[0].bias.data.fill_(7.0);
    (m[0].bias == t[0].bias).all()
m = net(); import copy; t = copy.deepcopy(m); isinstance(t[0].bias, nn.Parameter)
m = net(); import copy; t = copy.deepcopy(m).requires_grad_(False);
    [a.data.mul_(0.5).add_(0.5 * b.data) for a, b in zip(t.parameters(), m.parameters())];
    t[0].weight
m = net(); list(dict(m.named_parameters()))
m = net(); m.extra_state = 3; list(m.state_dict())
m = net(); hasattr(m, "weight")
m = net(); isinstance(m, nn.Module)
m = net(); m.training = False; m[0].training
m = net(); next(iter(m.parameters())).shape
m = net(); list(m.buffers())
list(Stat()(x).state_dict())
Stat()(x); s = Stat(); s(x); [n for n, _ in s.named_buffers()]
list(Plain().state_dict())
[n for n, _ in Plain().named_parameters()]
Plain().double().shift.dtype == torch.float32
"""

CONTAINERS = """
m = net(); m.head = lin(3, 3); m(x)
m = net(); m.head = lin(3, 3); len(m)
m = net(); m.head = lin(3, 3); list(m.state_dict())
m = net(); m.add_module("head", lin(3, 3)); m(x)
m = net(); m.add_module("3", nn.Tanh()); m(x)
m = net(); setattr(m, "0", lin(2, 3, 2.0)); m(x)
m = net(); setattr(m, "1", nn.Tanh()); [type(k).__name__ for k in m]
m = net(); m[1] = nn.Tanh(); m(x)
m = net(); getattr(m, "0").weight
m = net(); m[-1].weight
m = net(); list(m[1:].state_dict())
m = net(); list(m[:1].state_dict())
m = net(); m[:2](x)
m = net(); del m[1]; m(x)
m = net(); del m[0]; list(m.state_dict())
m = net(); m.append(lin(3, 1)); list(m.state_dict())
m = net(); m.insert(1, lin(3, 3)); list(m.state_dict())
m = net(); m.extend([lin(3, 1), nn.Tanh()]); len(m)
m = net(); m.pop(0); len(m)
m = net() + nn.Sequential(nn.Tanh()); len(m)
m = net(); m.inner = nn.Sequential(lin(3, 2)); m.inner.more = nn.Tanh(); m(x)
m = nn.Sequential(OrderedDict(a=lin(2, 3), b=nn.ReLU())); m.a.weight
m = nn.Sequential(OrderedDict(a=lin(2, 3), b=nn.ReLU())); m.c = lin(3, 1); list(m.state_dict())
m = nn.Sequential(OrderedDict(a=lin(2, 3), b=nn.ReLU())); m.a = lin(2, 3, 3.0); m(x)
m = nn.Sequential(OrderedDict(a=lin(2, 3), b=nn.ReLU())); m[0] = lin(2, 3, 3.0);
    list(m.state_dict())
m = nn.Sequential(OrderedDict(a=lin(2, 3), b=nn.ReLU())); [n for n, _ in m.named_children()]
m = nn.Sequential(); m.add_module("a", lin(2, 3)); m.add_module("b", nn.Tanh()); m(x)
m = nn.Sequential(); len(m)
m = nn.Sequential(*[lin(2, 2) for _ in range(3)]); m(x)
[type(k).__name__ for k in net()]
m = nn.ModuleList([lin(2, 2)]); m.add_module("1", lin(2, 2)); len(m)
m = nn.ModuleList([lin(2, 2)]); m.append(lin(2, 2)); list(m.state_dict())
m = nn.ModuleList([lin(2, 2)]); m += [lin(2, 2)]; len(m)
m = nn.ModuleList([lin(2, 2), nn.ReLU()]); m[0] = nn.Tanh(); list(m.state_dict())
m = nn.ModuleList([lin(2, 2), lin(2, 1)]); list(m[1:].state_dict())
m = nn.ModuleList([lin(2, 2), lin(2, 1)]); m.insert(0, nn.ReLU()); list(m.state_dict())
m = nn.ModuleList([lin(2, 2), lin(2, 1)]); del m[0]; list(m.state_dict())
m = nn.ModuleList([lin(2, 2), lin(2, 1)]); [k.weight.shape for k in m[::-1]]
m = nn.ModuleList(lin(2, i) for i in (1, 2)); [k.weight.shape for k in m]
m = nn.ModuleList([lin(2, 2)]); m(x)
m = nn.ModuleDict({"a": lin(2, 2)}); m.a.weight
m = nn.ModuleDict({"a": lin(2, 2)}); m["a"](x)
m = nn.ModuleDict({"a": lin(2, 2)}); m.b = lin(2, 1); list(m.keys())
m = nn.ModuleDict({"a": lin(2, 2)}); m.b = lin(2, 1); list(m.state_dict())
m = nn.ModuleDict(dict(wte=lin(2, 2), h=nn.ModuleList([lin(2, 2)])));
    [n for n, _ in m.named_parameters()]
m = nn.ModuleDict(dict(wte=lin(2, 2), h=nn.ModuleList([lin(2, 2)]))); m.h[0](m.wte(x))
m = nn.ModuleDict({"a": lin(2, 2)}); m.add_module("b", lin(2, 1)); len(m)
m = nn.ModuleDict({"a": lin(2, 2)}); m.update({"b": nn.Tanh()}); list(m)
m = nn.ModuleDict({"a": lin(2, 2)}); "a" in m, "b" in m
m = nn.ModuleDict({"a": lin(2, 2)}); m.pop("a"); len(m)
m = nn.ModuleDict({"a": lin(2, 2)}); del m["a"]; len(m)
m = nn.ModuleDict([("a", lin(2, 2))]); list(m.keys())
m = nn.ModuleDict({"a": lin(2, 2)}); m.clear(); len(m)
m = nn.ParameterList([torch.ones(2)]); isinstance(m[0], nn.Parameter)
m = nn.ParameterList([torch.ones(2)]); [n for n, _ in m.named_parameters()]
m = nn.ParameterList([nn.Parameter(torch.ones(2))]); m.append(torch.ones(1));
    len(list(m.parameters()))
m = nn.Module(); m.ws = nn.ParameterList([torch.ones(2)]); list(m.state_dict())
m = nn.ParameterDict({"a": torch.ones(2)}); m["a"].requires_grad
"""

OPTIM = """
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); train(m, o); m.weight
m = lin(2, 1); o = optim.SGD(m.named_parameters(), lr=0.1); train(m, o); m.weight
m = lin(2, 1); o = optim.AdamW(m.named_parameters(), lr=0.1); train(m, o); m.weight
m = lin(2, 1); o = optim.SGD([{"params": m.named_parameters(), "lr": 0.5}], lr=0.1); train(m, o);
    m.weight
m = lin(2, 1).requires_grad_(False); o = optim.SGD(m.parameters(), lr=0.1);
    m.requires_grad_(True); train(m, o); m.weight
m = lin(2, 1); m.weight.requires_grad = False; o = optim.Adam(m.parameters(), lr=0.1);
    train(m, o); m.weight
m = lin(2, 1); m.weight.requires_grad = False; o = optim.Adam(m.parameters(), lr=0.1);
    train(m, o); m.weight.requires_grad = True; train(m, o); m.weight
m = lin(2, 1); o = optim.Adam(filter(lambda p: p.requires_grad, m.parameters()), lr=0.1);
    train(m, o); m.bias
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1, momentum=0.9); train(m, o); train(m, o);
    m.weight
m = lin(2, 1);
    o = optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1);
    train(m, o); train(m, o); m.weight
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1, momentum=0.9, dampening=0.5); train(m, o);
    train(m, o); m.weight
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1, maximize=True); train(m, o); m.weight
m = lin(2, 1); o = optim.Adam(m.parameters(), lr=0.1, amsgrad=True); train(m, o); train(m, o);
    m.weight
m = lin(2, 1); o = optim.Adam(m.parameters(), weight_decay=0.1); train(m, o); m.weight
m = lin(2, 1); o = optim.RMSprop(m.parameters()); train(m, o); m.weight
m = lin(2, 1); o = optim.RMSprop(m.parameters(), momentum=0.5, centered=True); train(m, o);
    train(m, o); m.weight
m = lin(2, 1); o = optim.Adagrad(m.parameters(), lr_decay=0.1); train(m, o); train(m, o); m.weight
m = lin(2, 1); o = optim.Adadelta(m.parameters()); train(m, o); m.weight
m = lin(2, 1); o = optim.Adamax(m.parameters()); train(m, o); m.weight
m = lin(2, 1); o = optim.NAdam(m.parameters()); train(m, o); train(m, o); m.weight
m = lin(2, 1); o = optim.RAdam(m.parameters()); [train(m, o) for _ in range(8)]; m.weight
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); o.param_groups[0]["lr"] = 1.0; train(m, o);
    m.weight
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); [g.update(lr=0.5) for g in o.param_groups];
    train(m, o); m.weight
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); len(o.param_groups[0]["params"])
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); o.defaults["lr"]
m = lin(2, 1); o = optim.SGD([m.weight], lr=0.1);
    o.add_param_group({"params": [m.bias], "lr": 0.5}); train(m, o); m.bias
m = lin(2, 1); o = optim.SGD([m.weight], lr=0.1); o.add_param_group({"params": m.bias});
    len(o.param_groups)
m = lin(2, 1); o = optim.SGD([m.weight, m.weight], lr=0.1)
m = lin(2, 1); o = optim.SGD([], lr=0.1)
m = lin(2, 1); o = optim.SGD([m.weight * 2], lr=0.1)
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=-1.0)
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); train(m, o); o.zero_grad();
    m.weight.grad is None
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); train(m, o); o.zero_grad(set_to_none=False);
    m.weight.grad
m = lin(2, 1); o = optim.SGD(m.parameters(), lr=0.1); o.step(lambda: 3.0)
m = lin(2, 1); o = optim.Adam(m.parameters(), lr=0.1); train(m, o);
    o.load_state_dict(o.state_dict()); train(m, o); m.weight
m = lin(2, 1); train(m, optim.SGD(m.parameters(), lr=0.1));
    nn.utils.clip_grad_norm_(m.parameters(), 0.5)
m = lin(2, 1); train(m, optim.SGD(m.parameters(), lr=0.1));
    nn.utils.clip_grad_norm_(m.parameters(), 0.5); m.weight.grad
m = lin(2, 1); train(m, optim.SGD(m.parameters(), lr=0.1));
    nn.utils.clip_grad_value_(m.parameters(), 0.5); m.weight.grad
m = lin(2, 1); m.weight.requires_grad = False; nn.utils.clip_grad_norm_(m.parameters(), 0.5)
m = lin(2, 1); m.weight.requires_grad = False; nn.utils.parameters_to_vector(m.parameters())
rates(lambda o: S.StepLR(o, 2))
rates(lambda o: S.MultiStepLR(o, [1, 3]))
rates(lambda o: S.ExponentialLR(o, 0.9))
rates(lambda o: S.ConstantLR(o, 0.5, 3))
rates(lambda o: S.LinearLR(o, 0.1, 1.0, 4))
rates(lambda o: S.PolynomialLR(o, 4, 2.0))
rates(lambda o: S.CosineAnnealingLR(o, 5, 0.01))
rates(lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2))
rates(lambda o: S.LambdaLR(o, lambda t: 1 / (t + 1)))
rates(lambda o: S.MultiplicativeLR(o, lambda t: 0.9))
rates(lambda o: S.OneCycleLR(o, 1.0, 10))
rates(lambda o: S.OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=5))
rates(lambda o: S.CyclicLR(o, 0.1, 1.0, 3))
rates(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 3), S.ExponentialLR(o, 0.9)], [3]))
rates(lambda o: S.ChainedScheduler([S.LinearLR(o, 0.1, 1.0, 3), S.ExponentialLR(o, 0.9)]))
rates(lambda o: S.StepLR(o, 2), 1)
rates(lambda o: S.MultiStepLR(o, [1, 3]), 1)
rates(lambda o: S.ExponentialLR(o, 0.9), 2)
rates(lambda o: S.ConstantLR(o, 0.5, 3), 1)
rates(lambda o: S.LinearLR(o, 0.1, 1.0, 4), 2)
rates(lambda o: S.LinearLR(o, 0.1, 1.0, 2), 4)
rates(lambda o: S.PolynomialLR(o, 4, 2.0), 1)
rates(lambda o: S.PolynomialLR(o, 3, 2.0), 5)
rates(lambda o: S.CosineAnnealingLR(o, 12, 0.01), 3)
rates(lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2), 2)
rates(lambda o: S.LambdaLR(o, lambda t: 1 / (t + 1)), 2)
rates(lambda o: S.OneCycleLR(o, 1.0, 10), 2)
rates(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 3), S.ExponentialLR(o, 0.9)], [3]), 4)
rates(lambda o: S.ChainedScheduler([S.LinearLR(o, 0.1, 1.0, 3), S.ExponentialLR(o, 0.9)]), 4)
o = sgd(); a, b = S.ExponentialLR(o, 0.9), S.StepLR(o, 2); steps(o, 5, a, b)
o = sgd(); a, b = S.LinearLR(o, 0.1, 1.0, 3), S.CosineAnnealingLR(o, 9); steps(o, 5, a, b)
o = sgd(); s = S.ExponentialLR(o, 0.9); steps(o, 3, s); s.get_last_lr()
o = sgd(); s = S.ExponentialLR(o, 0.9); steps(o, 3, s); s.last_epoch
o = sgd(); s = S.ExponentialLR(o, 0.9); o.param_groups[0]["initial_lr"]
o = sgd(); s = S.ExponentialLR(o, 0.9); steps(o, 3, s); t = S.ExponentialLR(sgd(), 0.9);
    t.load_state_dict(s.state_dict()); t.last_epoch
o = sgd(); s = S.StepLR(o, 2); s.base_lrs
o = sgd(); s = S.ReduceLROnPlateau(o, patience=1); [s.step(1.0) for _ in range(4)];
    o.param_groups[0]["lr"]
o = sgd(); s = S.ReduceLROnPlateau(o, "max", factor=0.5, patience=0);
    [s.step(v) for v in (1.0, 0.5, 2.0)]; o.param_groups[0]["lr"]
"""

LOSSES = """
F.mse_loss(x, x * 2)
F.mse_loss(x, x * 2, reduction="sum")
F.mse_loss(x, x * 2, reduction="none")
F.l1_loss(x, x * 2)
F.smooth_l1_loss(x, x * 2, beta=0.5)
F.huber_loss(x, x * 2, delta=0.5)
F.cross_entropy(x, torch.tensor([0, 1, 0, 1]))
F.cross_entropy(x, torch.tensor([0, 1, -100, 1]))
F.cross_entropy(x, torch.tensor([0, 1, 0, 1]), ignore_index=0)
F.cross_entropy(x, torch.tensor([0, 1, 0, 1]), weight=torch.tensor([1.0, 2.0]))
F.cross_entropy(x, torch.tensor([0, 1, 0, 1]), label_smoothing=0.1)
F.cross_entropy(x, torch.softmax(x, 1))
F.cross_entropy(x[0], torch.tensor(1))
F.cross_entropy(x, torch.tensor([0, 1, 0, 1]), reduction="none")
F.cross_entropy(x, torch.tensor([0.0, 1.0, 0.0, 1.0]))
F.cross_entropy(x, torch.tensor([-100, -100, -100, -100]))
F.nll_loss(F.log_softmax(x, dim=1), torch.tensor([0, 1, 0, 1]))
F.nll_loss(F.log_softmax(x, dim=1), torch.tensor([0, 1, -100, 1]))
F.binary_cross_entropy(torch.sigmoid(x), torch.ones(4, 2))
F.binary_cross_entropy_with_logits(x, torch.ones(4, 2), pos_weight=torch.tensor([1.0, 3.0]))
F.kl_div(F.log_softmax(x, 1), F.softmax(x * 2, 1), reduction="batchmean")
F.kl_div(F.log_softmax(x, 1), F.softmax(x * 2, 1))
F.cosine_similarity(x, x * 2 + 1)
F.cosine_similarity(x, torch.ones(2))
F.cosine_similarity(x[:, :1], x, dim=1)
F.cosine_similarity(x[:1], x, dim=0)
F.cosine_similarity(x[:, None], x[None], dim=-1)
F.cosine_similarity(torch.ones(3), torch.tensor([1.0]), dim=0)
F.pairwise_distance(x, x * 2)
F.triplet_margin_loss(x, x * 2, x * 3)
F.margin_ranking_loss(x[:, 0], x[:, 1], torch.ones(4))
F.gaussian_nll_loss(x, x * 2, torch.ones(4, 2))
F.poisson_nll_loss(x, x.abs())
F.normalize(x, dim=1)
F.softmax(x, dim=-1)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.one_hot(torch.tensor([0, 2]), 3)
F.one_hot(torch.tensor([0, 2]))
F.pad(x, (1, 2))
F.pad(x, (1, 0, 0, 1), value=2.0)
F.interpolate(x[None, None], scale_factor=2)
F.interpolate(x[None], size=5, mode="linear")
F.unfold(torch.ones(1, 1, 3, 3), 2)
F.unfold(torch.ones(0, 1, 3, 3), 2)
F.dropout(x, 0.5, training=False)
F.layer_norm(x, (2,))
F.embedding(torch.tensor([1, 0]), x)
F.linear(x, torch.ones(3, 2))
F.linear(x.double(), torch.ones(3, 2))
F.conv1d(torch.ones(1, 1, 4).double(), torch.ones(1, 1, 2))
F.scaled_dot_product_attention(x[None], x[None], x[None])
F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)
F.max_pool1d(x[None], 2)
F.avg_pool1d(x[None], 2)
F.relu(x)
F.leaky_relu(x, 0.2)
F.softplus(x)
F.glu(x)
F.log_softmax(x, 1)
F.huber_loss(x, torch.ones(4, 1).expand(4, 2))
nn.CrossEntropyLoss()(x, torch.tensor([0, 1, 0, 1]))
nn.MSELoss()(x[:, 0], torch.ones(4))
nn.BCEWithLogitsLoss()(x[:, 0], torch.ones(4))
nn.CosineSimilarity(dim=1)(x, x + 1)
"""

TENSORS = """
t = torch.zeros(3, 4); t[0] = torch.ones(1, 4); t
t = torch.zeros(3, 4); t[:2] = torch.ones(1, 1, 4); t
t = torch.zeros(3, 4); t[0, 0] = torch.ones(1); t
t = torch.zeros(3, 4); t[0] = torch.ones(2, 4); t
t = torch.zeros(3, 4); t[[0, 1]] = torch.ones(1, 2, 4); t
t = torch.zeros(3, 4); t[t == 0] = 1.0; t
t = torch.zeros(3, 4); t[:, 1] += 2; t
t = torch.zeros(3); t[torch.tensor([0, 0])] += 1; t
torch.bincount(torch.tensor([0, 1, 1, 3]))
torch.bincount(torch.tensor([0, 1, 1]), weights=torch.tensor([0.5, 1.0, 2.0]))
torch.bincount(torch.tensor([0, 1, 1]), weights=torch.tensor([0.5, 1.0, 2.0]), minlength=4)
torch.bincount(torch.tensor([0, 1, 1]), minlength=4)
torch.linalg.solve(torch.eye(2), torch.ones(2))
torch.linalg.solve(torch.ones(0, 2, 2), torch.ones(0, 2, 1)).shape
torch.linalg.solve(torch.ones(0, 2, 2), torch.ones(0, 2)).shape
torch.linalg.solve(torch.ones(0, 2, 2), torch.ones(2)).shape
torch.linalg.inv(torch.ones(0, 2, 2)).shape
torch.linalg.solve(torch.ones(0, 0), torch.ones(0, 3)).shape
torch.linalg.solve(torch.eye(2).expand(2, 2, 2) * 2, x[:2])
x.mean()
x.mean(dim=1)
x.mean(1, keepdim=True)
x.sum(dim=(0, 1))
x.argmax(dim=1)
x.argmax()
x.view(-1)
x.view(2, -1).shape
x.t().shape
x.transpose(0, 1).shape
x.permute(1, 0).shape
x.unsqueeze(0).shape
x[None].squeeze(0).shape
x.flatten().shape
x.clamp(0, 1)
x.clamp(min=0.1)
x.pow(2)
x.norm()
x.norm(dim=1)
x.abs().max()
x.std(unbiased=False)
x.var(unbiased=False)
x.cumsum(0)
x.softmax(dim=1)
x.log_softmax(-1)
x.masked_fill(x > 0, 0.0)
x.gather(1, torch.tensor([[0], [1], [0], [1]]))
x.index_select(0, torch.tensor([0, 2]))
x.chunk(2)[0]
x.split(3)[1].shape
x.repeat_interleave(2, dim=0).shape
x.expand(3, 4, 2).shape
x.expand_as(torch.zeros(3, 4, 2)).shape
x.detach().requires_grad
x.clone()
x.item()
x.numel()
x.size()
x.size(0)
x.dim()
x.ndim
x.shape[-1]
x.type_as(torch.ones(1).double()).dtype == torch.float64
x.float().dtype == torch.float32
x.long()
x.int()
x.bool()
x.tolist()
x.new_zeros(2)
x.eq(x).all()
x.ne(x).any()
x.lt(0)
x.T.shape
x @ x.T
x.matmul(x.t())
x.mm(x.t())
x.roll(1, 0)
x.flip(0)
x.tril()
x.triu(1)
x.topk(1, dim=1)
x.sort(dim=0)
x.unbind(0)[0]
x.scatter(1, torch.tensor([[0], [1], [0], [1]]), 5.0)
x.scatter_add(1, torch.tensor([[0], [1], [0], [1]]), torch.ones(4, 1))
x.isnan().any()
x.allclose(x + 1e-9)
x.reshape(2, 4)
x.view_as(torch.ones(2, 4)).shape
x.reshape_as(torch.ones(2, 4)).shape
x.contiguous().is_contiguous()
x.is_floating_point()
x.requires_grad_().requires_grad
x.data.fill_(1.0); x
x.add_(1); x
x.mul_(2).sub_(1)
x.zero_()
x.fill_(3.0)
x.copy_(torch.ones(4, 2))
x.copy_(torch.ones(2))
x.copy_(torch.ones(1, 4, 2))
x.sub(1, alpha=2)
x.add(x, alpha=2)
x.lerp(x + 1, 0.5)
x[:, 0].outer(x[:, 1])
x[:, 0].dot(x[:, 1])
x.prod()
x.logsumexp(dim=1)
x.amax(dim=1)
x.aminmax()
torch.cat([x, x]).shape
torch.cat((x, x), dim=1).shape
torch.stack([x, x], dim=1).shape
torch.where(x > 0, x, torch.zeros(4, 2))
torch.arange(5)
torch.arange(1, 2, 0.25)
torch.linspace(0, 1, 5)
torch.eye(3)
torch.full((2, 2), 3.0)
torch.zeros_like(x)
torch.ones(2, dtype=torch.long)
torch.tensor([1, 2]).dtype == torch.int64
torch.tensor([1.0]).dtype == torch.float32
torch.tensor(1.5).item()
torch.einsum("ij,kj->ik", x, x)
torch.outer(x[:, 0], x[:, 1])
torch.tril(torch.ones(3, 3))
torch.logsumexp(x, 1)
torch.abs(x)
torch.bmm(x[None], x.t()[None]).shape
torch.isclose(x, x).all()
torch.maximum(x, -x)
torch.clamp(x, max=0.0)
torch.sum(x, dim=0, keepdim=True)
torch.argmax(x, dim=1)
torch.allclose(x, x)
torch.equal(x, x)
torch.numel(x)
torch.is_tensor(x)
x.requires_grad_(); (x * 2).sum().backward(); x.grad
x.requires_grad_(); torch.autograd.grad((x * x).sum(), x)[0]
x.requires_grad_(); y = x.detach() * 2; y.requires_grad
x.requires_grad_(); y = x.clone(); y.is_leaf
torch.tensor([5, 7]) / torch.tensor([2, 2])
torch.tensor([5, -7]) // 2
torch.tensor([5, -7]) % 3
torch.ones(2).long() * torch.ones(2)
torch.ones(2, dtype=torch.float64) * 2.0
torch.ones(2, dtype=torch.int32) + torch.ones(2, dtype=torch.int64)
hasattr(x, "cuda_is_not_there")
"""


def rows(table: str) -> list[str]:
    """The rows of a table, each in one line."""
    found: list[str] = []
    for line in table.strip().splitlines():
        if line.startswith(" "):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


ROWS = [row for table in (MODULES, CONTAINERS, OPTIM, LOSSES, TENSORS) for row in rows(table)]
