// Tests of SystemIOTests.
