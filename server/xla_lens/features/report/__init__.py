"""Reports: what they contain (`options`), their facts (`facts`), and the pages that editors show (`pages`)."""
