// `.grad`: the twin of the end of a walk in tutor/core/engine/backward.py.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "engine/edges.hpp"
#include "engine/run.hpp"
#include "engine/walk.hpp"

namespace tutor {

namespace {

bool has_zero(PyObject* strides) {
    for (Py_ssize_t d = 0; strides && PyTuple_Check(strides) && d < PyTuple_GET_SIZE(strides);
         ++d) {
        int64_t stride;
        if (!read_whole(PyTuple_GET_ITEM(strides, d), &stride) || stride == 0) return true;
    }
    return false;
}

// A tensor, and a gradient in memory that is this tensor's alone.
struct Share {
    Ref tensor, fresh, old, sum;
};

bool own(PyObject* arrived, PyObject* seed, std::vector<Share>* shares) {
    std::unordered_set<PyObject*> handed_out{part(seed, T_BUF)};
    PyObject *tensor, *g;
    for (Py_ssize_t at = 0; PyDict_Next(arrived, &at, &tensor, &g);) {
        if (!is_tensor(tensor) || !is_tensor(g) || !part(g, T_BUF)) return false;
        shares->push_back({Ref::to(tensor), Ref::to(g), {}, {}});
    }
    for (Share& share : *shares) {
        PyObject* fresh = share.fresh.get();
        if (handed_out.count(part(fresh, T_BUF)) || has_zero(part(fresh, T_STRIDES))) {
            share.fresh = Ref(run_named("copy", fresh, nullptr, nullptr));
            if (!share.fresh) return false;
        }
        handed_out.insert(part(share.fresh.get(), T_BUF));
    }
    return true;
}

// Computes what each `.grad` becomes.
bool add_up(std::vector<Share>& shares) {
    for (Share& share : shares) {
        PyObject* old = part(share.tensor.get(), T_GRAD);
        share.old = Ref::to(old ? old : Py_None);
        share.sum = share.old.get() == Py_None
                        ? Ref::to(share.fresh.get())
                        : Ref(PyNumber_Add(share.old.get(), share.fresh.get()));
        if (!share.sum) return false;
    }
    return true;
}

}  // namespace

// Adds to the `.grad` of all tensors at once. If another thread has stored a gradient meanwhile, it
// starts over and adds to that.
bool store(PyObject* arrived, PyObject* seed) {
    std::vector<Share> shares;
    if (!own(arrived, seed, &shares)) return false;
    auto unchanged = [](const Share& share) {
        return part(share.tensor.get(), T_GRAD) == share.old.get();
    };
    do {
        if (!add_up(shares)) return false;
    } while (!std::all_of(shares.begin(), shares.end(), unchanged));
    for (Share& share : shares)  // share.old holds the old one, so no Python runs here
        given.tensor.put(share.tensor.get(), T_GRAD, share.sum.release());
    return true;
}

}  // namespace tutor
