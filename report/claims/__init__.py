"""Claims of the literature: experiments/claims.toml, each checked against the model, the counts and the measurements."""
