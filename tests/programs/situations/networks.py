"""Networks that are edited: layers swapped, modes toggled, dropout changed."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import labels, net, rows, situation, state, trained
from tutor import Tensor, nn, optim


@situation("Sequential edited")
def a_layer_is_appended(jit):
    model, last = net(), nn.Linear(2, 2)
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.append(last)
        yield f(rows(call))


@situation("Sequential edited")
def a_layer_is_replaced(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model[1] = nn.ReLU()
        yield f(rows(call))


@situation("Sequential edited")
def a_layer_is_taken_out(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            del model[1]
        yield f(rows(call))


@situation("Sequential edited")
def layers_change_places(jit):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.layers[0], model.layers[2] = model.layers[2], model.layers[0]
        yield f(rows(call))


@situation("Sequential edited")
def a_layer_is_inserted(jit):
    model = nn.Sequential(nn.Linear(3, 3))
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.insert(0, nn.ReLU())
        yield f(rows(call))


@situation("Sequential edited")
def the_list_of_layers_is_another(jit):
    model = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])

    @jit
    def f(x):
        for layer in model:
            x = layer(x)
        return x

    for call in range(6):
        if call == 3:
            model.layers = [nn.ReLU()]
        yield f(rows(call))


@situation("Sequential edited")
def a_dict_of_heads_has_one_more(jit):
    heads, extra = nn.ModuleDict({"a": nn.Linear(3, 2)}), nn.Linear(3, 2)
    f = jit(lambda x: sum(heads[name](x) for name in heads))
    for call in range(7):
        if call == 3:
            heads["b"] = extra
        if call == 5:
            del heads["a"]
        yield f(rows(call))


@situation("module swapped")
def the_head_of_a_network(jit):
    s = SimpleNamespace(body=nn.Linear(3, 3), head=nn.Linear(3, 2))
    other = nn.Linear(3, 2)
    f = jit(lambda x: s.head(s.body(x)))
    for call in range(6):
        if call == 3:
            s.head = other
        yield f(rows(call))


@situation("module swapped")
def an_activation_of_another_kind(jit):
    s = SimpleNamespace(act=nn.ReLU())
    f = jit(lambda x: s.act(x))
    for act in (nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU(), nn.Sigmoid()):
        s.act = act
        yield f(rows())


@situation("module swapped")
def a_layer_by_a_closure(jit):
    layer = nn.Linear(3, 2)
    f = jit(lambda x: layer(x))
    for call in range(6):
        if call == 3:
            layer = nn.Linear(3, 4)
        yield f(rows(call))


@situation("module swapped")
def two_models_by_name(jit):
    models = {"a": net(), "b": net()}
    f = jit(lambda name, x: models[name](x))
    for call, name in enumerate("aaabab"):
        if call == 4:
            models["a"] = models["b"]
        yield f(name, rows(call))


@situation("module swapped")
def a_model_is_an_argument(jit):
    models = [net(), net()]
    f = jit(lambda model, x: model(x))
    for call in (0, 0, 0, 1, 0, 1):
        yield f(models[call], rows(call))


@situation("module swapped")
def many_models_that_do_not_live_long(jit):
    f = jit(lambda model, x: model(x))
    for call in range(8):
        yield f(nn.Linear(3, 2), rows(call))


# ---- modes ---------------------------------------------------------------------------------------


@situation("train/eval toggled")
def dropout_is_switched_off(jit):
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5))
    f = jit(lambda x: model(x))
    for call in range(8):
        model.train(call < 3 or call == 6)
        yield f(rows(call))


@situation("train/eval toggled")
def a_batch_norm_is_switched(jit):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    f = jit(lambda x: model(x))
    for call in range(8):
        model.train(call < 3 or call == 6)
        yield f(rows(call)), state(model)


@situation("train/eval toggled")
def an_evaluation_within_the_training(jit):
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.1))
    evaluate = jit(lambda x: model(x).argmax(1))
    for call in range(6):
        model.train()
        yield step(rows(call), labels())
        model.eval()
        yield evaluate(rows(call))


@situation("train/eval toggled")
def only_one_layer_is_switched(jit):
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3), nn.Dropout(0.5))
    f = jit(lambda x: model(x))
    for call in range(7):
        model.layers[2].train(call < 3)
        yield f(rows(call))


@situation("train/eval toggled")
def the_mode_is_toggled_inside(jit):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    @jit
    def f(x):
        model.eval()
        y = model(x)
        model.train()
        return y, model(x)

    for call in range(5):
        yield f(rows(call)), model.layers[1].training


@situation("train/eval toggled")
def my_own_module_looks_at_its_mode(jit):
    class Noisy(nn.Module):
        def forward(self, x):
            return x + Tensor.randn(*x.shape) if self.training else x

    model = Noisy()
    f = jit(lambda x: model(x))
    for call in range(7):
        model.train(call not in (3, 5))
        yield f(rows(call))


@situation("dropout p changed")
def p_of_a_layer(jit):
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5))
    f = jit(lambda x: model(x))
    for p in (0.5, 0.5, 0.5, 0.1, 0.0, 0.5, 1.0):
        model.layers[1].p = p
        yield f(rows())


@situation("dropout p changed")
def p_of_all_layers_falls(jit):
    model = nn.Sequential(nn.Dropout(0.8), nn.Linear(3, 8), nn.Dropout(0.8))
    step = trained(jit, model, optim.SGD(nn.get_parameters(model), lr=0.1))
    for call in range(6):
        for layer in model.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = max(0.8 - 0.2 * (call // 2), 0.0)
        yield step(rows(call), labels()), state(model)


@situation("dropout p changed")
def p_is_an_argument(jit):
    f = jit(lambda x, p: nn.functional.dropout(x, p))
    for p in (0.5, 0.5, 0.5, 0.1, 0.9, 0.5):
        yield f(rows(), p)


@situation("dropout p changed")
def p_in_a_configuration(jit):
    c = {"dropout": 0.5}
    f = jit(lambda x: nn.functional.dropout(x, c["dropout"], training=True))
    for p in (0.5, 0.5, 0.5, 0.1, 0.9, 0.5):
        c["dropout"] = p
        yield f(rows())


@situation("dropout p changed")
def p_is_zero_and_then_is_not(jit):
    drop = nn.Dropout(0.0)
    f = jit(lambda x: drop(x))
    for call in range(6):
        drop.p = 0.0 if call < 3 else 0.5
        yield f(rows(call)), Tensor.rand(2)
