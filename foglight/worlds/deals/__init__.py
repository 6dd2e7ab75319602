"""Beliefs in trick-taking games, from the deals that agree with the observations [Solinas2023, Section 5]."""
