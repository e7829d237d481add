"""Pages and plots, from records alone: they work on any machine, also after the fact."""
