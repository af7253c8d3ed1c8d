// Tests of BinaryTests.
