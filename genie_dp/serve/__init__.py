"""Local web pages and services; needs the extra `serve`."""
