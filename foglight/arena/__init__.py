"""Matches between agents: the referee, who alone holds the true world, and the statistics of many games."""
