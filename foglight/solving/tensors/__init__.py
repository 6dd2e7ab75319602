"""Whole games solved and measured on a device of PyTorch: the CPU, or a GPU."""
