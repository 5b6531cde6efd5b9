"""Which architectures installed libraries carry, and which devices that leaves out."""
