"""Weights that are loaded, assigned, moved and replaced."""

from __future__ import annotations

from types import SimpleNamespace

import tutor
from situations.table import labels, net, rows, situation, state, trained, vec
from tutor import Tensor, nn, optim

# ---- weights -------------------------------------------------------------------------------------


@situation("weights loaded")
def a_checkpoint_is_loaded_back(jit):
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    saved = {name: t.copy() for name, t in model.state_dict().items()}
    for call in range(7):
        if call in (3, 5):
            model.load_state_dict(saved)
        yield step(rows(call), labels()), state(model)


@situation("weights loaded", "target networks")
def the_target_network_is_synchronised(jit):
    online, target = net(), net()
    step = trained(jit, online, optim.SGD(online.parameters(), lr=0.5))
    value = jit(lambda x: target(x).max(1))
    for call in range(6):
        if call % 2 == 0:
            target.load_state_dict(online.state_dict())
        yield step(rows(call), labels()), value(rows(call))


@situation("weights loaded")
def a_part_is_loaded(jit):
    model, other = net(), net()
    f = jit(lambda x: model(x))
    for call in range(5):
        if call == 3:
            model.load_state_dict({"0.bias": vec(1, 2, 3, 4)}, strict=False)
        if call == 4:
            model.layers[0].load_state_dict(other.layers[0].state_dict())
        yield f(rows(call))


@situation("weights loaded")
def weights_are_loaded_inside(jit):
    model, other = net(), net()

    @jit
    def f(x):
        model.load_state_dict(other.state_dict())
        return model(x)

    for call in range(5):
        other.layers[0].bias.data.add_(1.0)
        yield f(rows(call)), state(model)


@situation("weights loaded")
def a_running_mean_is_loaded(jit):
    norm = nn.BatchNorm1d(3)
    f = jit(lambda x: norm(x))
    saved = {name: t.copy() for name, t in norm.state_dict().items()}
    for call in range(6):
        if call == 4:
            norm.load_state_dict(saved)
        yield f(rows(call)), state(norm)


@situation("weights assigned")
def a_weight_is_another_tensor(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.layers[0].weight = nn.Parameter(Tensor.ones(4, 3))
        yield f(rows(call))


@situation("weights assigned")
def a_weight_of_another_size(jit):
    model = nn.Linear(3, 2)
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.weight = nn.Parameter(Tensor.ones(5, 3), requires_grad=False)
            model.bias = nn.Parameter(Tensor.zeros(5), requires_grad=False)
        yield f(rows(call))


@situation("weights assigned")
def the_data_of_a_weight_is_written(jit):
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    for call in range(6):
        if call >= 3:
            model.layers[0].weight.data = Tensor.full((4, 3), call / 10)
        yield step(rows(call), labels()), state(model)


@situation("weights assigned")
def two_layers_are_tied(jit):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    sgd = optim.SGD(model.parameters(), lr=0.1)

    @jit
    def step(x):
        for p in model.parameters():
            p.grad = None
        model(x).sum().backward()
        sgd.step()

    for call in range(7):
        if call == 3:
            model.layers[2].weight = model.layers[0].weight
        step(rows(call))
        yield state(model), model.layers[0].weight.grad


@situation("weights assigned")
def the_bias_is_taken_away(jit):
    model = nn.Linear(3, 2)
    model.bias.data.add_(5.0)
    f = jit(lambda x: model(x))
    bias = model.bias
    for call in range(6):
        model.bias = None if call in (3, 4) else bias
        yield f(rows(call))


@situation("dtype moved")
def a_model_in_half_precision(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(7):
        if call == 3:
            model.bfloat16()
        if call == 5:
            model.float()
        yield f(rows(call).cast(model.layers[0].weight.dtype))


@situation("dtype moved")
def arguments_of_other_types(jit):
    f = jit(lambda x: x * 2 + 1)
    for dtype in ("float32", "float32", "float64", "int32", "float16", "float32", "int64"):
        yield f(rows().cast(dtype))


@situation("dtype moved")
def the_dtype_is_a_setting(jit):
    c = SimpleNamespace(dtype="float32")
    f = jit(lambda x: x.cast(c.dtype) / 3)
    for dtype in ("float32", "float32", "float32", "float64", "float16"):
        c.dtype = dtype
        yield f(rows())


@situation("dtype moved")
def a_weight_is_replaced_by_one_in_double(jit):
    s = SimpleNamespace(w=vec())
    f = jit(lambda x: x * s.w)
    for call in range(6):
        if call == 3:
            s.w = s.w.double()
        yield f(vec())


@situation("dtype moved")
def the_backend_changes(jit):
    w = rows()
    f = jit(lambda x: (x @ w.T).tanh())
    for call in range(6):
        with tutor.use_backend("python_ref"):
            yield f(rows(call))
