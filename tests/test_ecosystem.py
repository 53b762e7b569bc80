"""Other libraries on Tensors: SciPy and scikit-learn by the array API, einops, matplotlib. Each
call gives what it gives of arrays; what cannot work is here, too, with what it says."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.errors import GraphError, TutorError
from tutor.testing import gradcheck

for _package in ("scipy", "sklearn", "einops", "array_api_compat", "matplotlib"):
    pytest.importorskip(_package)  # pip install "tutorgrad[dev]"
importlib.import_module("tutor.einops")

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs

rng = np.random.default_rng(0)
DATA = {
    "x": rng.normal(size=(20, 4)), "y": rng.normal(size=(20, 4)), "v": rng.normal(size=30),
    "w": rng.normal(size=30), "p": rng.uniform(0.1, 0.9, 30), "q": rng.uniform(0.1, 0.9, 30),
    "image": rng.normal(size=(12, 12)), "t": rng.normal(size=20),
    "c": rng.integers(0, 2, 20), "d": rng.integers(0, 2, 20), "s": rng.uniform(0.1, 0.9, 20),
    "m": np.eye(4) * 3 + rng.uniform(size=(4, 4)), "g": rng.normal(size=(3, 3)),
    "one": np.array([1.0]), "coefficients": np.array([0.2, 0.5]),
}  # fmt: skip

# What each gives is compared with the same call on arrays. Behind ">": the results are of NumPy's.
SCIPY = """
    special: softmax(x, axis=1); log_softmax(x, axis=1); logsumexp(x, axis=0); expit(v); logit(p)
    special: erf(v); erfc(v); gammaln(p); ndtr(v); ndtri(p); log_ndtr(v); entr(p); xlogy(p, q)
    special: rel_entr(p, q); kl_div(p, q); gammainc(p, q); i0(v); j1(p); gamma(p); psi(p)
    stats: zscore(v); skew(v); kurtosis(v); gmean(p); hmean(p); variation(p); sem(v); tmean(v)
    stats: tvar(v); moment(v, 3); describe(v).variance; entropy(p); iqr(v); rankdata(v); kstat(v)
    stats: quantile(v, 0.3); median_abs_deviation(v); mode(c).mode; circmean(p)
    stats: ttest_ind(v, w).pvalue; ttest_rel(v, w).statistic; ttest_1samp(x, 0.0).pvalue
    stats: pearsonr(v, w).statistic; mannwhitneyu(v, w).pvalue; wilcoxon(v, w).pvalue
    stats: bartlett(v, w).pvalue; levene(v, w).pvalue; f_oneway(v, w).pvalue; normaltest(v).pvalue
    stats: jarque_bera(v).statistic; spearmanr(v, w).statistic >; ks_2samp(v, w).pvalue >
    stats: linregress(v, w).slope >; norm.pdf(v) >; norm.cdf(v) >
    ndimage: gaussian_filter(image, 1.0); gaussian_filter1d(v, 1.0); median_filter(image, 3)
    ndimage: sobel(image); zoom(image, 2); rotate(image, 10); label(image > 0)[0]
    ndimage: uniform_filter(image, 3); convolve(image, g)
    signal: convolve(v, w); correlate(v, w); detrend(v); medfilt(v); find_peaks(v)[0] >
    signal: welch(v, nperseg=16)[1] >; lfilter(coefficients, one, v)
    integrate: trapezoid(v); cumulative_trapezoid(v); simpson(v) >
    integrate: tanhsinh(lambda z: z * z, p * 0, p).integral
    integrate: nsum(lambda k: 1 / (k * k), p * 0 + 1, p * 0 + 30).sum
    differentiate: derivative(lambda z: z * z * z, v).df; jacobian(lambda z: z * z, v[:3]).df
    optimize.elementwise: find_root(lambda z, c: z * z - c, (p * 0, p + 2), args=(p,)).x
    optimize.elementwise: find_minimum(lambda z, c: (z - c)**2, (p - 1, p, p + 1), args=(p,)).x
    optimize: rosen(v); minimize(lambda z: ((z - 1)**2).sum(), v[:3]).x >
    cluster.vq: whiten(x); vq(x, x[:3])[0]; kmeans2(x, x[:3], minit="matrix")[0]
    cluster.hierarchy: linkage(x)
    spatial.distance: pdist(x); cdist(x, y) >
    linalg: inv(m) >; det(m) >; svdvals(m) >
    fft: dct(v)
"""
SKLEARN = """
    preprocessing: StandardScaler().fit_transform(x); MinMaxScaler().fit_transform(x)
    preprocessing: MaxAbsScaler().fit_transform(x); Normalizer().fit_transform(x)
    preprocessing: Binarizer().fit_transform(x); PolynomialFeatures().fit_transform(x)
    preprocessing: KernelCenterer().fit_transform(x @ x.T); LabelEncoder().fit_transform(c)
    decomposition: PCA(2).fit_transform(x); PCA(2, svd_solver="full").fit_transform(x)
    linear_model: Ridge(solver="svd").fit(x, t).coef_; LinearRegression().fit(x, t).coef_
    linear_model: LogisticRegression().fit(x, c).coef_
    naive_bayes: GaussianNB().fit(x, c).predict_proba(x)
    discriminant_analysis: LinearDiscriminantAnalysis().fit(x, c).coef_
    mixture: GaussianMixture(2, random_state=0, init_params="random").fit(x).means_
    kernel_approximation: Nystroem(n_components=5, random_state=0).fit_transform(x)
    preprocessing: RobustScaler().fit_transform(x)
    metrics: matthews_corrcoef(c, d) >
    metrics: r2_score(p, q) >; mean_squared_error(p, q) >; mean_absolute_error(p, q) >
    metrics: explained_variance_score(p, q) >; max_error(p, q) >; accuracy_score(c, d) >
    metrics: f1_score(c, d) >; precision_score(c, d) >; recall_score(c, d) >; log_loss(c, s) >
    metrics: balanced_accuracy_score(c, d) >; zero_one_loss(c, d) >; jaccard_score(c, d) >
    metrics: confusion_matrix(c, d); brier_score_loss(c, s) >; average_precision_score(c, s) >
    metrics.pairwise: cosine_similarity(x, y); euclidean_distances(x, y); rbf_kernel(x, y)
    metrics.pairwise: linear_kernel(x, y); polynomial_kernel(x, y); sigmoid_kernel(x, y)
    metrics.pairwise: manhattan_distances(x, y); paired_cosine_distances(x, y)
    metrics.pairwise: laplacian_kernel(x, y); chi2_kernel(abs(x), abs(y))
    model_selection: train_test_split(x, random_state=0)[0]
"""
# These name dtypes by NumPy's classes.
# What cannot work, and what it says.
REFUSED = {
    "scipy.fft: fft(v)": "complex|tensor of numbers",
    "scipy.fft: rfft(v)": "complex|tensor of numbers",
    "scipy.signal: hilbert(v)": "complex|tensor of numbers",
    "scipy.signal: fftconvolve(v, w)": "complex|tensor of numbers",  # by way of the complex
    "scipy.signal: lfilter([0.2, 0.5], [1.0], np.ones(3) + v[:3].numpy(), zi=v[:1])":
        "Multiple namespaces",  # arrays beside Tensors: SciPy's own rule
    "scipy.interpolate: CubicSpline(np.arange(30.0), v)": "Multiple namespaces",
    # Compiled code that asks for a buffer, which a class written in Python has from 3.12 on.
    "scipy.stats: shapiro(v).pvalue": "bytes-like",
    "sklearn.ensemble: RandomForestClassifier(5, random_state=0).fit(x, c).predict(x)":
        "bytes-like",
    "sklearn.cluster: KMeans(2, random_state=0, n_init=1).fit(x)": "Multiple namespaces",
    "sklearn.metrics: roc_auc_score(c, s)": r"diff\(\) takes 1 positional",  # standard: n=2
}  # fmt: skip


def rows(text, package):
    for line in text.strip().splitlines():
        module, _, calls = line.strip().partition(": ")
        yield from (f"{package}.{module}: {call.strip()}" for call in calls.split(";"))


def call(row, data):
    module, _, expression = row.partition(": ")
    names = vars(importlib.import_module(module)) | data | {"np": np}
    return eval(expression.removesuffix(">").strip(), names)


def close(found, wanted):
    wanted = np.asarray(wanted)
    assert np.shape(found) == wanted.shape
    np.testing.assert_allclose(np.asarray(found, wanted.dtype), wanted, rtol=1e-5, atol=1e-8)


@pytest.fixture
def dispatch():
    """Both packages look at what they are given, and use its own functions."""
    assert os.environ["SCIPY_ARRAY_API"] == "1"  # tests/conftest.py
    with importlib.import_module("sklearn").config_context(array_api_dispatch=True):
        yield


ROWS = [*rows(SCIPY, "scipy"), *rows(SKLEARN, "sklearn")]
PLOTS = ["ax.stackplot(v, [p, q])"]
TENSORS = {name: Tensor(array) for name, array in DATA.items()}


@pytest.mark.parametrize("row", ROWS)
def test_call(row, dispatch):
    found = call(row, TENSORS)
    close(found, call(row, DATA))
    assert isinstance(found, Tensor) is not row.endswith(">")


@pytest.mark.parametrize("row", REFUSED)
def test_what_cannot_work_says_so(row, dispatch):
    with pytest.raises((TutorError, TypeError), match=REFUSED[row]):
        call(row, TENSORS)


def test_there_are_enough_rows():
    assert len(ROWS) > 100


WITH_GRADIENTS = """
    special: softmax(x, axis=1)
    special: logsumexp(x)
    stats: zscore(x)
    integrate: trapezoid(x)
    stats: gmean(x * x)
    optimize: rosen(x)
"""


@pytest.mark.parametrize("row", [*rows(WITH_GRADIENTS, "scipy")])
def test_gradients_flow_through_what_tutor_computes(row, dispatch):
    gradcheck(lambda x: call(row, {"x": x}), DATA["x"][:3])


def test_gradients_that_do_not(dispatch):
    """SciPy's own functions work on the numbers alone, as np.asarray(t) gives them; or they
    overwrite what a gradient needs."""
    x = Tensor(DATA["x"], requires_grad=True)
    assert not call("scipy.special: gamma(x)", {"x": x}).requires_grad
    moments = call("scipy.stats: moment(x, 3)", {"x": x})
    with pytest.raises(GraphError, match="in place"):
        moments.sum().backward()


def test_scipy_by_default_takes_tensors_for_arrays():
    """Without SCIPY_ARRAY_API its results are of NumPy's, or of ufuncs."""
    code = (
        "import scipy.special as s, tutor; t = tutor.Tensor([1.0, 2.0]);"
        "print(type(s.softmax(t)).__name__, type(s.gamma(t)).__name__, s.gamma(t).tolist())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"}
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment,
                           capture_output=True, text=True, check=True)  # fmt: skip
    assert found.stdout.split(maxsplit=2) == ["ndarray", "Tensor", "[1.0, 1.0]\n"]


def test_array_api_compat_finds_the_namespace():
    compat = importlib.import_module("array_api_compat")
    t = Tensor([1.0, 2.0])
    assert compat.is_array_api_obj(t) and not compat.is_numpy_array(t)
    assert compat.array_namespace(t, Tensor(1)) is tutor.array_api
    assert compat.device(t) == "cpu" and compat.to_device(t, "cpu") is t and compat.size(t) == 2


# ---- einops --------------------------------------------------------------------------------------

EINOPS = [
    "rearrange(x, 'a (b c) d -> (d b) c a', b=2)", "rearrange(x, 'a b c -> b (a c)')",
    "rearrange([x, x], 'l a b c -> a (l b) c')", "rearrange(x, 'a b c -> a 1 c b')",
    "reduce(x, 'a b c -> b', 'mean')", "reduce(x, 'a (b k) c -> a b c', 'max', k=2)",
    "reduce(x, 'a b c -> c', 'min')", "reduce(x, 'a b c ->', 'sum')",
    "reduce(x, 'a b c -> a 1 c', 'prod')", "repeat(x, 'a b c -> a (b k) c', k=3)",
    "repeat(x[0, 0], 'c -> new c', new=2)", "pack([x, x[:, 0]], 'a * c')[0]",
    "unpack(x, [[2], [2]], 'a * c')[1]",
]  # fmt: skip
CUBE = rng.normal(size=(2, 4, 3))


@pytest.mark.parametrize("module", ["einops", "einops.array_api"])
@pytest.mark.parametrize("expression", EINOPS)
def test_einops(module, expression):
    def run(x):
        return eval(expression, vars(importlib.import_module(module)) | {"x": x})

    found = run(Tensor(CUBE))
    assert type(found) is Tensor
    close(found, eval(expression, vars(importlib.import_module("einops")) | {"x": CUBE}))
    gradcheck(run, CUBE)


def test_einops_einsum_and_the_rest():
    einops = importlib.import_module("einops")
    x = Tensor(CUBE)
    close(einops.einsum(x, x, "a b c, a b d -> c d"), np.einsum("abc,abd->cd", CUBE, CUBE))
    gradcheck(lambda z: einops.einsum(z, x, "a b c, a b d -> c d"), CUBE)
    for pattern, t in (("a _ c", x), ("a ...", x), ("a ... c", x), ("a 1 c", x[:, :1]), ("...", x)):
        assert einops.parse_shape(t, pattern) == einops.parse_shape(t.numpy(), pattern)
    assert einops.parse_shape(Tensor(3.0), "") == {}
    assert type(einops.asnumpy(x)) is np.ndarray
    assert einops.reduce(x > 0, "a b c -> b", "any").dtype is tutor.bool
    assert einops.rearrange(Tensor([1, 2, 3]), "a -> 1 a").shape == (1, 3)
    with pytest.raises(einops.EinopsError):
        einops.rearrange(x, "a b -> b a")


def test_einops_without_the_import_says_what_it_does_not_know():
    code = ("import tutor, einops, einops.array_api\nt = tutor.Tensor([[1.0, 2.0]])\n"
            "print(einops.array_api.rearrange(t, 'a b -> b a').shape)\n"
            "try: einops.rearrange(t, 'a b -> b a')\nexcept Exception as e: print(e)\n"
            "import tutor.einops; print(einops.rearrange(t, 'a b -> b a').shape)")  # fmt: skip
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, message, last = found.stdout.splitlines()
    assert (first, last) == ("(2, 1)", "(2, 1)")
    assert "unknown to einops" in message


# ---- matplotlib ----------------------------------------------------------------------------------

PLOTS += [
    "ax.hist(v)", "ax.hist(x)", "ax.hist([v, w])", "ax.plot(v)", "ax.plot(v, w)", "ax.plot(x)",
    "ax.scatter(v, w, c=p)", "ax.scatter(v, w, s=p)", "ax.imshow(image)", "ax.bar(v, p)",
    "ax.bar(['a', 'b', 'c'], p[:3])", "ax.fill_between(v, p, p + 1)",
    "ax.errorbar(v, w, yerr=p)", "ax.boxplot(v)", "ax.violinplot(v)", "ax.contour(image)",
    "ax.pcolormesh(image)", "ax.axhline(v[0])", "ax.axvline(v.mean())", "ax.text(p[0], p[1], 'a')",
    "ax.quiver(v, w, p, q)", "ax.step(v, w)", "ax.stem(v)", "ax.pie(p)", "ax.semilogy(p)",
    "ax.hist2d(v, w)", "ax.set_xlim(v.min(), v.max())", "ax.hlines(v, 0, 1)", "ax.set_xticks(v)",
]  # fmt: skip


@pytest.mark.parametrize("plot", PLOTS)
def test_matplotlib_draws_the_same_picture(plot):
    figure = importlib.import_module("matplotlib.figure")
    agg = importlib.import_module("matplotlib.backends.backend_agg")
    pictures = []
    for data in (DATA, TENSORS):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            canvas = agg.FigureCanvasAgg(figure.Figure(figsize=(2, 2), dpi=50))
            eval(plot, {"ax": canvas.figure.subplots(), **data})
            canvas.draw()
        pictures.append(np.asarray(canvas.buffer_rgba()))
    assert np.array_equal(*pictures)
    assert len(np.unique(pictures[0])) > 2  # something is drawn


def test_plots_of_tensors_that_require_grad():
    """Drawing takes numbers out of the graph; what NumPy would compute with is refused instead."""
    figure = importlib.import_module("matplotlib.figure").Figure()
    g = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    figure.subplots().plot(g, g * g)
    figure.canvas.draw()
