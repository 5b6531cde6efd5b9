"""What a test launched, kept as JSON lines."""
