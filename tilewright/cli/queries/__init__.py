"""What the commands find out, as plain data, a file for what it is about."""
