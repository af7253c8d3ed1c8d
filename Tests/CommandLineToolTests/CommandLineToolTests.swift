// Tests of CommandLineToolTests.
