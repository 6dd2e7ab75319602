"""Games as environments for learners: many at once in arrays, or one by PettingZoo's protocol."""
