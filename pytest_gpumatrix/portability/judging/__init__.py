"""What was compiled, held against a device."""
