"""The policy contract, what a model author writes, and the same behind a socket."""
