"""What everything stands on: layouts, keys, literals, checks, files, settings."""
