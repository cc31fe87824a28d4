// Quarto's search fetches its index, which a browser refuses to a page from a file: there it comes as a script.
fuseIndex = new Fuse({{ documents }}, kFuseIndexOptions);
