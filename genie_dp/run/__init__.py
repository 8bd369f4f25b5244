"""Tools of long jobs: files written whole, work folders that resume, workers, pages."""
