"""What was launched, compiled for another device."""
