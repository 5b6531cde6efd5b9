"""Following and replacing what other packages define."""
