"""Seeing what happens: the profiler, and TUTOR_DEBUG."""
