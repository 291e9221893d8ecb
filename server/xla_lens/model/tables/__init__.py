"""The files of a dump set (`dump_files`), and the tables that they are joined into (`dump_set`)."""
