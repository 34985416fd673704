"""MetaWorld: fifty tasks of one Sawyer arm on one table, and the scripted experts that come with them."""
