"""Lightline for Python: the bridge between PyTorch or JAX and the C++ core."""

__version__ = "0.1.0"
