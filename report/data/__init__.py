"""From result files to records: loading, choosing runs, roofs, statistics, ladders. Nothing here draws or writes prose."""
