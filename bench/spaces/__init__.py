"""Search spaces that others have published, and how long it takes to count and search them."""
