// Tests of DigestsTests.
