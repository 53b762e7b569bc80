// What the reductions compute: sum prod mean max min argmax argmin, one op each.
//
// none(position): the partial result of no elements, from that position on; add(partial, term,
// position) includes one more; both(a, b) joins two stretches, b after a; result(partial, count) is
// the answer. LANES is the number of partial results that a block is spread over, see tree.hpp: 32
// for sums and products of floats, and 1 where order changes nothing.
#pragma once

#include <limits>
#include <type_traits>

#include "math/order.hpp"
#include "walk/tree.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// How two partial results become one, apart from the ops, because many share it.
template <class Partial, class Combine>
struct Combined {
    static Partial both(Partial a, Partial b) { return Combine()(a, b); }
};
template <class Key>
struct Larger {
    static Key both(Key a, Key b) { return a < b ? b : a; }
};
template <class Key>
struct Place {
    Key key;
    int64_t position;
};
template <class Key>
struct FirstLarger {
    static Place<Key> both(Place<Key> a, Place<Key> b) { return a.key < b.key ? b : a; }
};

// A sum or a product.
template <class T, class Combine>
struct Fold {
    static constexpr bool exact = std::numeric_limits<T>::is_integer;
    using Wide = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>;
    using Element = T;
    using Partial = std::conditional_t<exact, uint64_t, Computed<T>>;  // unsigned: wraps
    using Term = Partial;
    using Result = std::conditional_t<exact, Wide, T>;
    using How = Combine;
    static constexpr int LANES = exact ? 1 : SUM_LANES;
    static Partial none(int64_t) { return Combine::neutral; }
    static Term of(T x) { return convert<Term>(x); }
    static void add(Partial& all, Term x, int64_t) { all = both(all, x); }
    static Partial of_all(int64_t n, const T* x) {
        Partial all = none(0);
        for (int64_t i = 0; i < n; i++) all = both(all, of(x[i]));
        return all;
    }
    using Join = Combined<Partial, Combine>;
    static Partial both(Partial a, Partial b) { return Join::both(a, b); }
    static Result result(Partial all, int64_t) { return convert<Result>(all); }
};

template <class Combine>
struct Fold<bool, Combine> : Fold<uint8_t, Combine> {
    using Result = int64_t;
    static uint64_t of(uint8_t x) { return x != 0; }
    static uint64_t of_all(int64_t n, const uint8_t* x) {
        uint64_t all = Combine::neutral;
        for (int64_t i = 0; i < n; i++) all = Combine()(all, of(x[i]));
        return all;
    }
    static Result result(uint64_t all, int64_t) { return Result(all); }
};

template <class T>
using Sum = Fold<T, Plus>;
template <class T>
using Prod = Fold<T, Times>;

template <class T>
struct Mean : Sum<T> {
    using F = Computed<T>;
    static T result(F sum, int64_t count) { return convert<T>(sum / F(count)); }
};

// The reduction whose code is the same until the result: they share it.
template <class Op>
struct Alike {
    using type = Op;
};
template <class T>
struct Alike<Mean<T>> {
    using type = Sum<T>;
};

// Types that are not widened wrap, so their sign makes no difference.
template <class T>
using Wrapped = std::conditional_t<sizeof(T) == 8, WithoutSign<T>, T>;

template <bool TURNED, class T>
T most_of(int64_t n, const T* x);

// The smallest is the largest in reversed order: ~key.
template <class T, bool TURNED>
struct Extreme {
    using Order = Ordered<T>;
    using Element = T;
    using Partial = typename Order::Key;
    using Term = Partial;
    using Result = T;
    static constexpr int LANES = 1;
    static Partial none(int64_t) { return std::numeric_limits<Partial>::min(); }
    static Term of(T x) {
        const Term number = Order::number(x);
        return Order::nan_on_top(x, TURNED ? Term(~number) : number);
    }
    static void add(Partial& largest, Term key, int64_t) { largest = both(largest, key); }
    // Of n > 0 elements. Comparing floats as they are takes half the time of comparing keys, but
    // does not tell +0 from -0.
    static Partial of_all(int64_t n, const T* x) {
        if constexpr (std::is_floating_point_v<T>) {
            const T most = most_of<TURNED>(n, x);
            if (most != T(0)) return of(most);
            // It is 0; only a zero can have the better sign, so look for one.
            Partial signs = TURNED ? 0 : -1;
            for (int64_t i = 0; i < n; i++)
                signs = TURNED ? signs | Order::bits(x[i]) : signs & Order::bits(x[i]);
            return of(signs < 0 ? T(-0.0) : T(0));
        } else {
            Partial all = none(0);
            for (int64_t i = 0; i < n; i++) all = both(all, of(x[i]));
            return all;
        }
    }
    using Join = Larger<Partial>;
    static Partial both(Partial a, Partial b) { return Join::both(a, b); }
    static T result(Partial key, int64_t) { return Order::value(TURNED ? Partial(~key) : key); }
};
template <class T>
using Max = Extreme<T, false>;
template <class T>
using Min = Extreme<T, true>;

// Whether elements must become keys to be compared; others can be as they are.
template <class T>
constexpr bool by_keys = is_16_bit_float<T> || std::is_same<T, bool_t>::value;

// The largest (TURNED: smallest) of n > 0 elements, or nan if there is one.
template <bool TURNED, class T>
T most_of(int64_t n, const T* x) {
    if constexpr (by_keys<T>) {
        using Keys = Extreme<T, TURNED>;
        typename Keys::Partial all = Keys::none(0);
        for (int64_t i = 0; i < n; i++) all = Keys::both(all, Keys::of(x[i]));
        return Keys::result(all, n);
    } else {
        constexpr int L = lanes<T>, SIDE_BY_SIDE = 4;  // so that none waits for the one before
        const auto better = [](vec<T> a, vec<T> b) {
            return xsimd::select(TURNED ? b < a : a < b, b, a);
        };
        const auto best = [](T a, T b) { return (TURNED ? b < a : a < b) ? b : a; };
        T most = x[0];
        constexpr int64_t STEP = SIDE_BY_SIDE * L;
        if (n < STEP) {
            for (int64_t i = 0; i < n; i++) {
                if (x[i] != x[i]) return x[i];
                most = best(most, x[i]);
            }
            return most;
        }
        vec<T> all[SIDE_BY_SIDE];
        mask<T> is_nan(false);
        for (int k = 0; k < SIDE_BY_SIDE; k++) all[k] = load(x + k * L);
        const auto add = [&](const T* from) {
#pragma GCC unroll 4
            for (int k = 0; k < SIDE_BY_SIDE; k++) {
                const vec<T> here = load(from + k * L);
                all[k] = better(all[k], here);
                if constexpr (std::is_floating_point<T>::value) is_nan |= here != here;
            }
        };
        for (int64_t i = 0; i + STEP <= n; i += STEP) add(x + i);
        add(x + n - STEP);  // the last ones may come twice
        if (xsimd::any(is_nan)) return std::numeric_limits<T>::quiet_NaN();
        for (int k = SIDE_BY_SIDE / 2; k > 0; k /= 2)
            for (int l = 0; l < k; l++) all[l] = better(all[l], all[l + k]);
        return across(all[0], best);
    }
}

// The position of the first that equals `most`, or that is nan if `most` is.
template <class T>
int64_t first_of(int64_t n, const T* x, T most) {
    int64_t i = 0;
    if constexpr (by_keys<T>) {
        const auto key = [](T number) { return Ordered<T>::zeros_alike(Ordered<T>::key(number)); };
        while (key(x[i]) != key(most)) i++;
    } else {
        constexpr int L = lanes<T>;
        const auto search = [&](const auto& found) {
            while (i + L <= n && !xsimd::any(found(load(x + i)))) i += L;
            while (!found(x[i])) i++;
        };
        if (most != most)
            search([](auto number) { return number != number; });
        else
            search([&](auto number) { return number == decltype(number)(most); });
    }
    return i;
}

template <class T, bool TURNED>
struct ArgExtreme {
    using Keys = Extreme<T, TURNED>;
    using Element = T;
    using Term = typename Keys::Term;
    using Partial = Place<Term>;
    using Join = FirstLarger<Term>;
    using Result = int64_t;
    static constexpr int LANES = 1;
    static Partial none(int64_t position) { return {Keys::none(0), position}; }
    static Term of(T x) { return Ordered<T>::zeros_alike(Keys::of(x)); }
    static Result result(Partial best, int64_t) { return best.position; }
    static T most(int64_t n, const T* x) { return most_of<TURNED>(n, x); }
    static int64_t first(int64_t n, const T* x, T most) { return first_of(n, x, most); }

    // Includes `rows` < 2^31 terms in each of n <= 64 partial results. Keys and positions have one
    // size here, in separate arrays, so that a loop over the columns is vectorized.
    static void add_rows(int64_t rows, int64_t n, const T* x, int64_t row, int64_t column,
                         int64_t position, Partial* to) {
        using Key = std::conditional_t<sizeof(Term) < 4, int32_t, Term>;
        using Place = std::conditional_t<sizeof(Key) == 4, int32_t, int64_t>;
        alignas(64) Key best[64];
        alignas(64) Place place[64];
        for (int64_t c = 0; c < n; c++) best[c] = to[c].key, place[c] = -1;
        const auto add = [&](Place r, int64_t step) {
            TUTOR_INDEPENDENT
            for (int64_t c = 0; c < n; c++) {
                const Key key = of(x[c * step]);
                place[c] = best[c] < key ? r : place[c];
                best[c] = best[c] < key ? key : best[c];
            }
        };
        for (int64_t r = 0; r < rows; r++, x += row)
            column == 1 ? add(static_cast<Place>(r), 1) : add(static_cast<Place>(r), column);
        for (int64_t c = 0; c < n; c++)
            if (place[c] >= 0) to[c] = {static_cast<Term>(best[c]), position + place[c]};
    }
};
template <class T>
using ArgMax = ArgExtreme<T, false>;
template <class T>
using ArgMin = ArgExtreme<T, true>;

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
