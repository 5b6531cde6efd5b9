"""A verdict as one HTML page that asks nothing of anywhere else."""
