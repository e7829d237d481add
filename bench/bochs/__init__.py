"""A processor with AMX where there is none: an image that Bochs boots, with kernels and their check in it."""
