"""One number, one name, one place or one bound, as people read it, and the pages that explain terms and findings."""
