"""Value networks: features, data sets, architectures, training, and networks as evaluators."""
