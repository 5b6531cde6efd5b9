"""Say on every change which GPU it breaks, and why."""
