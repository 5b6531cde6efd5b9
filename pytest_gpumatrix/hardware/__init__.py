"""What a GPU is: capability, profile, the catalogue, detection."""
