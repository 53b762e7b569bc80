"""The C files of `python -m tutor lab`, and what they have shown once: course/lab.py."""
