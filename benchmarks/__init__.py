"""Benchmarks: tutor beside what one would else take: one process, same threads, dtype and work."""
