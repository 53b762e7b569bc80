jax = {
    "Op": "jax/_src/core.py:430",
    "record": "jax/_src/core.py:302",
    "apply": "jax/_src/core.py:447",
    "walk": "jax/_src/interpreters/ad.py:253",
    "collect": "jax/_src/interpreters/ad.py:791",
    "fit": "jax/_src/lax/lax.py:2247",
}
