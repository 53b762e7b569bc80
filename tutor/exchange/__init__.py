"""What other libraries call: NumPy's protocols, the inquiries of the array API."""
