"""Beliefs of trick-taking games, by the deals that agree with what was observed [Solinas2023, Section 5]."""
