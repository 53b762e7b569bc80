"""Planted wrong answers, by chapter."""
