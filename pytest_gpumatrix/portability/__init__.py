"""What would happen elsewhere: launches recorded, compiled and held against limits. Loaded only when asked."""
