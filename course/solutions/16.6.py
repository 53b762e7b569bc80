keeping = "AEFIJ"
