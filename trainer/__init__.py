"""A small speedrun GPT trainer: fast kernels where the device has them, PyTorch everywhere else."""
