"""Out-of-memory messages beside the dumps that they belong to, and how they are explained."""
