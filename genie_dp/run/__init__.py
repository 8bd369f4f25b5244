"""What every long job needs: files written whole, work folders that resume, workers, pages."""
