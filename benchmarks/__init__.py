"""Benchmarks: tutor beside what else one would take, in one process, same threads, dtype and work."""
