"""Which value, source line and operation each live byte belongs to."""
