"""What both sides' conventions have in common: what is compared, refused, converted."""
