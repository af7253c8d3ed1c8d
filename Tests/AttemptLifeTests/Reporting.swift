import Testing

/// Records a value that is not the one expected.
func report(_ unexpected: some Any) { Issue.record("unexpected: \(unexpected)") }
