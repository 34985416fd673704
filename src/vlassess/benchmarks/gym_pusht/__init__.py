"""PushT, through the gymnasium bridge."""
