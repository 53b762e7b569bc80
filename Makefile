# Two commands matter: `make mnist` trains, `make test` tests. Both make their own environment first.
# ARGS is passed on: make test ARGS="-k matmul", make mnist ARGS="--epochs 3".

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CPP    := $(shell find tutor -name '*.cpp' -o -name '*.hpp')
SOURCES := pyproject.toml tutor/backends/simd_cpp/CMakeLists.txt $(CPP)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

# Containers often set it. Then each of the hundreds of processes that tests start would compile the
# library anew, before it does anything.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup-env build mnist chapters examples test opencl lint bench sanitize sanitize-thread fuzz \
        jit-fuzz conformance listings exhaustive onnx-sweep oracle mutants arm64 docs site site-test clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- the environment -----------------------------------------------------------------------------
# The library is installed editable: Python files are used as they stand in this tree. It is built
# again when a C++ source or pyproject.toml has changed.

# What takes long says what it is at, by STEP. What cannot succeed, for want of a compiler, is said
# first: build_backend.py. TUTOR_PURE=1 does without the SIMD backend, and so without a compiler.

STEP := $(PYTHON) .ci/step.py

$(BIN)/pip:
	@$(PYTHON) build_backend.py
	@$(STEP) "making the environment $(VENV)" $(PYTHON) -m venv $(VENV)

define install
	@$(PYTHON) build_backend.py
	@$(STEP) "$(if $(TUTOR_PURE),installing tutor,building the SIMD backend (a few minutes))" \
	    $(BIN)/pip install -v -e .
	@touch $(VENV)/installed
endef

$(VENV)/installed: $(SOURCES) | $(BIN)/pip
	$(install)

# What a target needs beside the library: an extra of pyproject.toml. Asking for it by the name of
# what is installed already spares building the library a second time.
$(VENV)/extra-%: pyproject.toml | $(VENV)/installed
	@$(STEP) "installing the packages of [$*]" $(BIN)/pip install "tutorgrad[$*]"
	@touch $@

setup-env: $(VENV)/installed $(VENV)/extra-dev ## make .venv with the library and all that tests need

build: | $(BIN)/pip ## build and install the library again
	$(install)

# ---- what it is for ------------------------------------------------------------------------------

mnist: $(VENV)/installed $(VENV)/extra-train ## train MNIST on the SIMD backend
	TUTOR_BACKEND=$(if $(TUTOR_PURE),python,simd) $(BIN)/python train_mnist.py $(ARGS)

# Jupyter refuses root, who is all there is in a container, unless it is told; and a machine without
# a screen has no browser to open: then it prints the address alone.
JUPYTER := $(if $(filter 0,$(shell id -u)),--allow-root) \
    $(if $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname))),,--no-browser)

REACH := == open the address that Jupyter prints; if this machine is a remote one, run this first, \
    on yours: ssh -L 8888:localhost:8888 user@machine

chapters: $(VENV)/installed $(VENV)/extra-chapters ## open your copy of the chapters in Jupyter
	$(BIN)/python -m tutor chapters start my-chapters
	@$(if $(findstring no-browser,$(JUPYTER)),echo "$(REACH)")
	cd my-chapters && ../$(BIN)/jupyter lab $(strip $(JUPYTER) $(ARGS)) 00_five_minutes.ipynb

# Without ARGS a sample is run, each case, but not each of them everywhere (tests/sample.py), and all
# of it with FULL=1; up to four processors share them. With ARGS all that they choose is run.
# What needs PyTorch, say, is left out where that is not there. WITH=bench installs the packages of
# that extra first: so .ci/run leaves nothing out.
SHARED := -n auto --maxprocesses 4 --dist worksteal
test: setup-env $(WITH:%=$(VENV)/extra-%) ## run a sample of the tests; all: FULL=1; some: ARGS="tests/ops -k exp"
	$(BIN)/python -m pytest $(or $(ARGS),$(SHARED) $(if $(FULL),,--sample))

opencl: $(VENV)/installed $(VENV)/extra-opencl ## is there a driver for OpenCL that works here?
	$(BIN)/python -c 'import tutor; print(tutor.Tensor([1.0], device="opencl"))'

lint: setup-env ## check style and types of Python and C++
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP) $(wildcard tests/*/*.[ch]pp)

bench: $(VENV)/installed $(VENV)/extra-bench ## measure side by side with NumPy and PyTorch
	$(BIN)/python -m tutor bench $(ARGS)

docs: $(VENV)/installed $(VENV)/extra-docs ## build docs/_build/html/index.html
	@$(STEP) "running the chapters and building the site (a few minutes)" \
	    $(BIN)/python -m sphinx -n -W --keep-going \
	    -d docs/_build/doctrees docs docs/_build/html
	@echo "== open docs/_build/html/index.html"

# Needs npm, from which Pyodide comes (pinned, and checked by its SHA-512).
site: $(VENV)/installed $(VENV)/extra-docs ## build build/site: docs and chapters that run in the browser
	@$(BIN)/python docs/_site/build.py $(ARGS)

# Needs Chromium beside npm (apt-get install chromium). No part of .ci/run: see tests/site/conftest.py.
site-test: site $(VENV)/extra-dev $(VENV)/extra-site ## visit build/site with a real browser
	TUTOR_SITE=build/site $(BIN)/python -m pytest tests/site

# Addresses and undefined behaviour are checked in a build and an environment of their own. Python
# itself is not built with the sanitizer, so its library must be loaded before everything else, and
# has leaks of its own. --capture=sys: a report, after which the process ends, must reach the screen.
# With Clang: make sanitize CXX=clang++
# (SET: pip before 23.1 has no -C for it.)
SET := --config-settings
CHECKED := $(SET)=cmake.build-type=RelWithDebInfo $(SET)=install.strip=false
ASAN := $(if $(findstring clang,$(CXX)),libclang_rt.asan-$(shell uname -m).so,libasan.so)
sanitize: ## run the backends' tests under the address and undefined-behaviour sanitizers
	@test -x $(VENV)-sanitize/bin/pip || $(PYTHON) -m venv $(VENV)-sanitize
	@$(STEP) "building with sanitizers (a few minutes)" \
	    $(VENV)-sanitize/bin/pip install -v -e ".[dev]" $(CHECKED) \
	    $(SET)=build-dir=build/sanitize $(SET)=cmake.define.TUTOR_SANITIZE=ON
	LD_PRELOAD="$$($(CXX) -print-file-name=$(ASAN)) $$($(CXX) -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	    TUTOR_BACKEND=simd $(VENV)-sanitize/bin/python -m pytest --capture=sys tests/backends \
	    tests/testing tests/programs/test_replay.py $(ARGS)

# Data races: the thread pool and kernels called from several Python threads, in a build of their
# own. Without address randomisation, which this sanitizer of GCC 12 does not get along with.
sanitize-thread: ## run the tests of threads under the thread sanitizer
	@test -x $(VENV)-thread/bin/pip || $(PYTHON) -m venv $(VENV)-thread
	@$(STEP) "building with the thread sanitizer (a few minutes)" \
	    $(VENV)-thread/bin/pip install -v -e ".[dev]" $(CHECKED) \
	    $(SET)=build-dir=build/thread $(SET)=cmake.define.TUTOR_SANITIZE_THREAD=ON
	LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" TUTOR_BACKEND=simd \
	    TSAN_OPTIONS=exitcode=66:die_after_fork=0:allocator_may_return_null=1 \
	    setarch -R $(VENV)-thread/bin/python -m pytest --capture=sys \
	    tests/backends/simd_cpp/test_threads.py tests/backends/simd_cpp/test_simd_cpp_border.py \
	    tests/backends/test_step.py tests/ops/test_native_engine.py tests/programs/test_replay.py $(ARGS)

fuzz: setup-env ## throw calls that no sane program makes at the border to C++, for a minute
	$(BIN)/python tests/backends/fuzz.py $(ARGS)

jit-fuzz: setup-env ## random programs about state: does jit leave what Python leaves?
	$(BIN)/python tests/programs/state_fuzz.py $(ARGS)

conformance: setup-env ## measure how simd_cpp agrees with python_ref; writes docs/conformance.md
	$(BIN)/python -m tutor conformance simd --markdown docs/conformance.md $(ARGS)

listings: setup-env $(VENV)/extra-native ## read the loops of some kernels; writes tutor/profiler/listings.txt
	$(BIN)/python .ci/listings.py

exhaustive: setup-env ## measure kernels on every float there is, for hours; writes docs/exhaustive.md
	$(BIN)/python tests/exhaustive/exhaustive.py $(ARGS)

onnx-sweep: setup-env $(VENV)/extra-onnx ## compare ONNX files with onnxruntime; writes docs/onnx.md
	$(BIN)/python -W ignore tests/onnx/sweep.py $(ARGS)

examples: setup-env ## run every example to its end: does it reach what it says? (ARGS="two_moons")
	$(BIN)/python tests/reached.py $(ARGS)

oracle: $(VENV)/extra-bench setup-env ## compare values and gradients with PyTorch's
	$(BIN)/python -m pytest tests/oracle $(ARGS)

# Some of the tests that must notice a bug need PyTorch, ONNX or MPI.
WITNESSES := bench onnx mpich
mutants: setup-env $(patsubst %,$(VENV)/extra-%,$(or $(WITH),$(WITNESSES) $(if $(findstring --python,$(ARGS)),,native))) ## plant known bugs, one at a time: a test must notice each
	$(BIN)/python tests/mutants/plant.py $(ARGS)

# On another CPU, which is emulated: no part of .ci/run. It needs root and Debian: see .ci/arm64.
arm64: ## build for 64-bit Arm, and run conformance, tests and a training there (ARGS="conformance")
	.ci/arm64 $(ARGS)

clean: ## remove all that the targets above have made
	rm -rf $(VENV) $(VENV)-sanitize $(VENV)-thread build dist docs/_build docs/api docs/chapters
	rm -rf *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tutor course tests docs benchmarks -name __pycache__ -exec rm -rf {} +
