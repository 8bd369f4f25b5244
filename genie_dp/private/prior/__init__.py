"""What private rows ask for, released with noise once, and said again by the templates."""
