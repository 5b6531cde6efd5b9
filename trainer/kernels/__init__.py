"""The operators that have more than one kernel. Importing this package imports no kernel."""
