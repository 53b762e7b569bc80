"""The exercises and questions of each chapter, with hints, solution and check."""
