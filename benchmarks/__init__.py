"""Benchmarks: tutor beside what one would else take, in one process, with the same threads.

    python -m tutor bench                      # every suite: a quarter of an hour
    python -m tutor bench --quick              # some rows of every suite: under a minute
    python -m tutor bench matmul mlp --threads 2

Read in this order: measure.py (how a time is taken), equality.py (why results are compared first),
machine.py and peak.c (what this machine could do at most), targets.py (what is asked of tutor),
report.py (the table), then the suites. Instruments of their own are compare.py, amdahl.py,
diagnose.py, energy.py, and roofline.py, which is `python -m tutor roofline`.
"""
