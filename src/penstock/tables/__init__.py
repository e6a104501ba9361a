"""Where rows end: the only place that knows a table format."""
