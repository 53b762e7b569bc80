"""Observing what runs: the profiler, and TUTOR_DEBUG."""
