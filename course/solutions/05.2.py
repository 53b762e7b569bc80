order = ["y", "w", "v", "u", "a", "b"]
