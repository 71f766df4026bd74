"""Regression rows reduced to triangular information factors, and the long-run variance of correlated terms."""
