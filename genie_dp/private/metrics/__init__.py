"""How near synthetic rows come to real ones: measures over two corpora, and their report."""
