"""Where agents meet: the referee, who alone knows the true world, and matches with their statistics."""
