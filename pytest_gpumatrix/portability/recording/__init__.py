"""What a test launches, seen while it runs."""
